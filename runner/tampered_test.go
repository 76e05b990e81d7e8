package runner_test

import (
	"testing"

	. "foundry/runner"
)

// kept is a snapshot's finding that a command changed what nobody may write.
var kept = []Violation{{Path: "go.sum", Change: "changed", Reason: "protected", Undone: true}}

func TestACommandThatPassedOverAProtectedPathHasFailed(t *testing.T) {
	t.Parallel()

	// Acceptance names it: its end is looked at, and its routes take the failure.
	sc := begin(t, `    accept: passed("test")
    phases:
      - {id: test, run: make, route: [on fail -> test retry 1]}
`, RunInfo{})
	sc.feed(Event{Kind: CommandEnded, Phase: "test", Visit: 1, Attempt: 1, Result: &CommandResult{}})
	e := sc.about("test", SnapshotTaken)
	e.Tree, e.Outside, e.Suspects = "t", kept, []string{"test"}
	sc.feed(e)
	sc.want("command test")
	sc.feed(Event{Kind: CommandEnded, Phase: "test", Visit: 2, Attempt: 1, Result: &CommandResult{}})
	e = sc.about("test", SnapshotTaken)
	e.Tree = "t"
	sc.feed(e)
	sc.verdict()
	sc.end(RunAccepted, "")

	// It is found out when the next phase begins, which does not run then.
	sc = begin(t, `    phases:
      - {id: make, run: make}
      - {id: build, agent: coder}
`, RunInfo{})
	sc.feed(Event{Kind: CommandEnded, Phase: "make", Visit: 1, Attempt: 1, Result: &CommandResult{}})
	sc.want("snapshot build")
	e = sc.about("build", SnapshotTaken)
	e.Tree, e.Outside, e.Suspects = "t", kept, []string{"make"}
	sc.feed(e)
	if sc.status("make") != Fail || sc.status("build") != NotRun {
		t.Errorf("make is %s, build is %s", sc.status("make"), sc.status("build"))
	}
	sc.verdict()
	sc.end(RunRejected, ReasonUnmatched)
	sc.feed(Event{Kind: RunResumed})
	sc.want("command make")

	// It is found out at the verdict.
	sc = begin(t, `    phases:
      - {id: make, run: make}
`, RunInfo{})
	sc.feed(Event{Kind: CommandEnded, Phase: "make", Visit: 1, Attempt: 1, Result: &CommandResult{}})
	sc.feed(Event{Kind: SnapshotTaken, Tree: "t", Outside: kept, Suspects: []string{"make"}})
	sc.end(RunRejected, ReasonUnmatched)
	if _, missing, err := Replay(sc.g, sc.log, nil); err != nil || len(missing) > 0 {
		t.Errorf("replay: %v, %d missing", err, len(missing))
	}

	// A criterion proved nothing either.
	sc = begin(t, `    accept: passed("make")
    criteria: [{name: builds, run: make}]
    phases:
      - {id: make, run: make}
`, RunInfo{})
	criterion := func(before bool) {
		sc.feed(Event{Kind: CriterionDone, Criterion: "builds", Outcome: "passed", Result: &CommandResult{Before: before}})
	}
	criterion(true)
	sc.feed(Event{Kind: CommandEnded, Phase: "make", Visit: 1, Attempt: 1, Result: &CommandResult{}})
	e = sc.about("make", SnapshotTaken)
	e.Tree = "t"
	sc.feed(e)
	criterion(false)
	sc.feed(Event{Kind: SnapshotTaken, Tree: "t", Outside: kept, Suspects: []string{"criterion builds"}})
	sc.end(RunRejected, ReasonCriterion)
}

func TestUntilHoldsAcrossJumpsAndAResumeGoesOnBehindIt(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: build, run: make}
      - {id: test, run: make, route: [on fail -> build retry 1]}
      - {id: lint, run: make, needs: [build]}
      - {id: ship, run: make, needs: [test, lint]}
`, RunInfo{Until: "test"})
	sc.exit("build", 0)
	sc.exit("test", 1)
	sc.want("command build")
	sc.exit("build", 0)
	sc.exit("test", 0)
	sc.verdict()
	sc.end(RunAccepted, "")
	if !sc.s.Partial() || sc.status("lint") != NotRun {
		t.Fatalf("partial: %t, lint is %s", sc.s.Partial(), sc.status("lint"))
	}
	sc.feed(Event{Kind: RunResumed})
	sc.want("command lint")
	sc.exit("lint", 0)
	sc.exit("ship", 0)
	sc.verdict()
	sc.end(RunAccepted, "")
	if sc.s.Partial() {
		t.Error("nothing is left out any more")
	}
}
