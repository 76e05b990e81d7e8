package runner_test

import (
	"testing"

	. "foundry/runner"
)

// parked is a run that waits at a question, behind work with gates and a review.
func parked(t *testing.T, more string) *script {
	sc := begin(t, `    phases:
      - {id: plan, agent: coder}
      - {id: build, agent: coder, gates: [files_non_empty, diff_matches_claims], review: critic`+more+`}
      - {id: test, run: make}
      - {id: ship, ask: "ship?"}
`, RunInfo{})
	sc.agent("plan", success)
	sc.agent("build", success)
	sc.gates("build", "passed", "passed")
	sc.review("build", 2, "pass")
	sc.exit("test", 0)
	shown := sc.about("ship", SnapshotTaken)
	shown.Tree = "shown"
	sc.feed(shown)
	sc.want("ask ship", "park")
	sc.feed(Event{Kind: WorkspaceEdited, Tree: "edited"})
	sc.feed(Event{Kind: RunResumed})
	sc.want("snapshot build")
	sc.statuses("plan success, build running, test queued, ship queued")
	start := sc.about("build", SnapshotTaken)
	start.Tree = "edited"
	sc.feed(start)
	sc.want("gates build")
	if of := sc.wants[0].Of; of != 1 {
		t.Errorf("it judges the work of visit %d", of)
	}
	return sc
}

func (sc *script) gates(name string, outcomes ...string) {
	for i, gate := range []string{"files_non_empty", "diff_matches_claims"} {
		e := sc.about(name, GateChecked)
		e.Gate, e.Outcome = gate, outcomes[i]
		sc.feed(e)
	}
}

func (sc *script) review(name string, turn int, verdict string) {
	sc.t.Helper()
	sc.want("turn " + name)
	sc.reply(name, turn, `{"verdict": "`+verdict+`", "reason": "so", "evidence": ["a.go"]}`)
	e := sc.about(name, ReviewChecked)
	e.Tree, e.Checks = "tree", CheckCited([]string{"a.go"}, nil, func(string) bool { return true })
	sc.feed(e)
}

// Gates and review of work are given again in an edited workspace, and the agent has no turn.
func TestEditedWorkspaceVoidsGatesAndReviews(t *testing.T) {
	t.Parallel()
	sc := parked(t, "")
	sc.gates("build", "passed", "passed")
	sc.review("build", 1, "pass")
	sc.want("command test")
	sc.exit("test", 0)
	sc.want("snapshot ship")
	sc.statuses("plan success, build success, test success, ship running")
	sc.replayed()
}

// What they find is told to the agent, as behind any other attempt.
func TestEditedWorkspaceMayNeedItsAgentAgain(t *testing.T) {
	t.Parallel()
	sc := parked(t, ", retries: 1")
	sc.gates("build", "failed", "passed")
	sc.want("turn build")
	if w := sc.wants[0]; w.Purpose != ForCheck || w.Of != 0 {
		t.Errorf("got %+v", w)
	}
	sc.reply("build", 1, success)
	sc.bounds("build")
	sc.gates("build", "passed", "passed")
	sc.review("build", 2, "fail")
	sc.want("turn build")
	sc.reply("build", 3, success)
	sc.bounds("build")
	sc.gates("build", "passed", "passed")
	sc.review("build", 4, "fail")
	sc.statuses("plan success, build fail, test not_run, ship not_run")
	sc.replayed()

	// Without attempts left it has failed; and a kill puts nothing of the work back.
	sc = parked(t, ", review_retries: 0")
	sc.gates("build", "passed", "failed")
	sc.statuses("plan success, build fail, test not_run, ship not_run")
	sc = parked(t, "")
	sc.feed(Event{Kind: RunKilled})
	sc.gates("build", "passed", "passed")
	sc.want("undo build")
	if v := sc.s.Phase(1); v.Tree != "edited" {
		t.Errorf("it goes back to %s", v.Tree)
	}
}
