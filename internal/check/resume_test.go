package check

import (
	"testing"

	"pgregory.net/rapid"

	"foundry/runner"
)

// TestRunsThatWereRejectedGoOn resumes runs that were rejected, a few times, often after a person has edited the workspace,
// to their end each time, and compares with a replay.
func TestRunsThatWereRejectedGoOn(t *testing.T) {
	t.Parallel()
	tried, touched := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := randomPipelines(t)
		g := tryCompile(text)
		if g == nil {
			t.Skip("does not compile")
		}
		f := &fate{seed: rapid.SliceOfN(rapid.IntRange(0, 11), 40, 40).Draw(t, "fate")}
		s, log := play(t, g, f, 2, func(int) int { return 0 })
		for range 3 {
			if s.View().Status != runner.RunRejected {
				break
			}
			tried++
			p := &player{t: t, g: s.Graph(g), f: f, pick: func(int) int { return 0 }, s: s, log: log, at: newRounds()}
			for i := range log {
				p.at.add(p.g, &log[i])
			}
			if rapid.Bool().Draw(t, "edited") {
				touched++
				p.feed(runner.Event{Kind: runner.WorkspaceEdited, Tree: "another"})
			}
			p.feed(runner.Event{Kind: runner.RunResumed})
			s, log = p.toTheEnd()
			back, missing, err := runner.Replay(g, log, nil)
			if err != nil || len(missing) > 0 {
				t.Fatalf("replay: %v, %d missing\n%s", err, len(missing), text)
			}
			if got, want := story(g, back, nil), story(g, s, nil); got != want {
				t.Fatalf("replay is in another state: %s, not %s", got, want)
			}
		}
	})
	if tried == 0 || touched == 0 {
		t.Fatalf("%d runs were resumed, %d of them after an edit", tried, touched)
	}
	t.Logf("%d runs were resumed, %d of them after an edit", tried, touched)
}
