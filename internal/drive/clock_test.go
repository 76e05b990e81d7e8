package drive

import (
	"context"
	"testing"
	"time"

	"foundry/runner"
)

// TestWhatCountsAsWork follows the clock of a run: a command counts, and so does a turn until it waits for a person; a
// question that is put does not, and neither does the time between two processes.
func TestWhatCountsAsWork(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	d := &driver{Config: Config{Now: func() time.Time { return now }}, working: map[runner.ID]context.CancelFunc{}, asking: map[runner.ID]bool{}}
	turn, ask, command := runner.ID{Kind: runner.SendTurn}, runner.ID{Kind: runner.PutAsk}, runner.ID{Kind: runner.StartCommand}
	for _, step := range []struct {
		what   string
		change func()
		passes time.Duration
		want   time.Duration
	}{
		{"nothing runs", func() {}, time.Minute, 0},
		{"a command", func() { d.working[command] = nil }, 2 * time.Minute, 2 * time.Minute},
		{"a turn beside it", func() { d.working[turn] = nil }, time.Minute, 3 * time.Minute},
		{"the command has ended", func() { delete(d.working, command) }, time.Minute, 4 * time.Minute},
		{"the turn asks for permission", func() { d.asking[turn] = true }, time.Hour, 4 * time.Minute},
		{"it was answered", func() { delete(d.asking, turn) }, time.Minute, 5 * time.Minute},
		{"a person is asked", func() { delete(d.working, turn); d.working[ask] = nil }, time.Hour, 5 * time.Minute},
	} {
		step.change()
		d.clock()
		now = now.Add(step.passes)
		if got := d.atWork(); got != step.want {
			t.Errorf("%s: %v, want %v", step.what, got, step.want)
		}
	}
	events := []runner.Event{{Kind: runner.RunStarted, At: now}, {Kind: runner.TurnEnded, At: now.Add(time.Minute), Busy: 60_000},
		{Kind: runner.RunResumed, At: now.Add(time.Hour), Busy: 60_000}, {Kind: runner.GrantGiven, Limit: "time", Grant: 30, At: now.Add(2 * time.Hour)}}
	if busy, granted := spent(events); busy != time.Minute || granted != 30*time.Second {
		t.Errorf("an earlier process: %v and %v", busy, granted)
	}
}
