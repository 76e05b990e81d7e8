package runner_test

import (
	"strings"
	"testing"

	. "foundry/runner"
)

// once feeds how a run of a phase with repeat ended.
func (sc *script) once(name string, round, exit int) {
	sc.t.Helper()
	e := sc.about(name, CommandEnded)
	e.Result = &CommandResult{Command: name, Exit: exit, Round: round, Of: 3}
	sc.feed(e)
}

func TestRepeat(t *testing.T) {
	t.Parallel()
	const flaky = `    phases:
      - {id: test, run: make test, repeat: 3}
      - {id: after, run: make all}
`
	t.Run("passes when all pass", func(t *testing.T) {
		t.Parallel()
		sc := begin(t, flaky, RunInfo{})
		for round := 1; round <= 3; round++ {
			sc.want("command test")
			if n := sc.wants[0].ID.N; n != round-1 {
				t.Errorf("run %d has passed %d times", round, n)
			}
			sc.once("test", round, 0)
		}
		sc.want("command after")
		if n := sc.s.Phase(0).Visits; n != 1 {
			t.Errorf("%d visits", n)
		}
	})
	t.Run("ends with the first failure", func(t *testing.T) {
		t.Parallel()
		sc := begin(t, flaky, RunInfo{})
		sc.once("test", 1, 0)
		sc.once("test", 2, 7)
		if sc.status("test") != Fail {
			t.Errorf("test is %s", sc.status("test"))
		}
		if ended := sc.log[len(sc.log)-4:]; !strings.Contains(picked(ended, PhaseEnded).Text, "exit 7 in run 2 of 3") {
			t.Errorf("%+v", ended)
		}
	})
	t.Run("a late end of an earlier run counts for nothing", func(t *testing.T) {
		t.Parallel()
		sc := begin(t, flaky, RunInfo{})
		sc.once("test", 1, 0)
		sc.once("test", 1, 0)
		if n := Outstanding(sc.g, sc.s)[0].ID.N; n != 1 {
			t.Errorf("it has passed %d times", n)
		}
	})
	t.Run("what was cut off begins the row anew", func(t *testing.T) {
		t.Parallel()
		sc := begin(t, flaky, RunInfo{})
		sc.once("test", 1, 0)
		sc.feed(Event{Kind: RunInterrupted})
		sc.feed(Event{Kind: RunResumed})
		sc.want("command test")
		if n := sc.wants[0].ID.N; n != 0 {
			t.Errorf("it has passed %d times", n)
		}
	})
	t.Run("what is up to date passes at once", func(t *testing.T) {
		t.Parallel()
		sc := begin(t, flaky, RunInfo{})
		e := sc.about("test", CommandEnded)
		e.Result, e.Reused = &CommandResult{Command: "test", Round: 3, Of: 3}, &Reused{Run: "run_0", Phase: "test", Visit: 1}
		sc.feed(e)
		sc.want("command after")
	})
}

func picked(events []Event, k Kind) Event {
	for _, e := range events {
		if e.Kind == k {
			return e
		}
	}
	return Event{}
}
