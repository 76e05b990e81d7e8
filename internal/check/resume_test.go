package check

import (
	"testing"

	"pgregory.net/rapid"

	"foundry/runner"
)

// TestRunsGoOnAfterAnEdit has a person edit the workspace while questions are open, and when the run was rejected, which
// they resume a few times, edited or not. The run ends each time, as a replay has it.
func TestRunsGoOnAfterAnEdit(t *testing.T) {
	t.Parallel()
	resumed, edits := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := randomPipelines(t)
		g := tryCompile(text)
		if g == nil {
			t.Skip("does not compile")
		}
		f := &fate{seed: rapid.SliceOfN(rapid.IntRange(0, 11), 40, 40).Draw(t, "fate")}
		p := &player{t: t, g: g, f: f, pick: func(int) int { return 0 }, s: runner.New(g), at: newRounds(), edits: 2}
		p.feed(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: "run_1", Pipeline: "p", Jobs: 2}})
		p.toTheEnd()
		edits += 2 - p.edits
		for range 3 {
			back, missing, err := runner.Replay(g, p.log, nil)
			if err != nil || len(missing) > 0 {
				t.Fatalf("replay: %v, %d missing\n%s", err, len(missing), text)
			}
			if got, want := story(g, back, nil), story(g, p.s, nil); got != want {
				t.Fatalf("replay is in another state: %s, not %s", got, want)
			}
			if p.s.View().Status != runner.RunRejected {
				break
			}
			resumed++
			p.open, p.edits = nil, 1
			if rapid.Bool().Draw(t, "edited") {
				edits++
				p.feed(runner.Event{Kind: runner.WorkspaceEdited, Tree: "another"})
			}
			p.feed(runner.Event{Kind: runner.RunResumed})
			p.toTheEnd()
		}
	})
	if resumed == 0 || edits == 0 {
		t.Fatalf("%d resumes, %d edits", resumed, edits)
	}
	t.Logf("%d resumes, %d edits", resumed, edits)
}
