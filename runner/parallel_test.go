package runner_test

import (
	"strings"
	"testing"

	. "foundry/runner"
)

// runs names the phases that are running, in the order of the list.
func (sc *script) runs(want string) {
	sc.t.Helper()
	var got []string
	for _, ph := range sc.g.Phases {
		if sc.status(ph.Name) == Running {
			got = append(got, ph.Name)
		}
	}
	if strings.Join(got, " ") != want {
		sc.t.Fatalf("%q run, wanted %q", got, want)
	}
}

// A failure that no rule took leaves out what depends on it, wherever the rest is; keep_going runs it all the same, and
// the run is not accepted.
func TestParallelFailure(t *testing.T) {
	t.Parallel()
	const phases = `    phases:
      - {id: bad, run: make}
      - {id: after, run: make}
      - {id: last, run: make}
      - {id: side, run: make, needs: []}
      - {id: beside, run: make}
`
	sc := begin(t, phases, RunInfo{Jobs: 4})
	sc.runs("bad side")
	sc.exit("bad", 1)
	sc.runs("side")
	if sc.status("after") != NotRun || sc.status("last") != NotRun {
		t.Errorf("after is %s, last %s", sc.status("after"), sc.status("last"))
	}
	sc.exit("side", 0)
	sc.runs("beside")
	sc.exit("beside", 0)
	sc.verdict()
	sc.end(RunRejected, "unmatched")

	sc = begin(t, phases, RunInfo{Jobs: 4, KeepGoing: true})
	sc.exit("bad", 1)
	sc.runs("after side")
	sc.exit("side", 0)
	sc.exit("after", 0)
	sc.runs("last beside")
	sc.exit("last", 0)
	sc.exit("beside", 0)
	sc.verdict()
	sc.end(RunRejected, "unmatched")
}

// fail_fast stops what runs and starts nothing any more.
func TestParallelFailFast(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    fail_fast: true
    phases:
      - {id: bad, run: make, needs: []}
      - {id: slow, run: make, needs: []}
      - {id: later, run: make}
`, RunInfo{Jobs: 4})
	sc.runs("bad slow")
	sc.exit("bad", 1)
	sc.want("stop slow")
	sc.exit("slow", 0)
	if sc.status("slow") != Stopped || sc.status("later") != NotRun {
		t.Errorf("slow is %s, later %s", sc.status("slow"), sc.status("later"))
	}
	sc.end(RunRejected, "unmatched")
}

// A jump back waits until nothing else can start, then queues its target and what depends on that, and nothing else.
func TestParallelJumpWaits(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: base, run: make}
      - {id: quick, run: make, needs: [base], route: ["on fail -> base retry 1"]}
      - {id: behind, run: make, needs: [quick]}
      - {id: slow, run: make, needs: [base]}
      - {id: other, run: make, needs: []}
      - {id: late, run: make, needs: [other]}
`, RunInfo{Jobs: 4})
	sc.runs("base other")
	sc.exit("base", 0)
	sc.runs("quick slow other")
	sc.exit("quick", 1)
	sc.runs("slow other")
	sc.exit("slow", 0)
	sc.exit("other", 0)
	sc.runs("late")
	sc.exit("late", 0)
	sc.runs("base")
	for name, visits := range map[string]int{"base": 2, "quick": 1, "behind": 0, "slow": 1, "other": 1, "late": 1} {
		queued := name == "quick" || name == "behind" || name == "slow"
		if got := sc.visits(name); got != visits || (sc.status(name) == Queued) != queued {
			t.Errorf("%s: %d visits, %s", name, got, sc.status(name))
		}
	}
	sc.exit("base", 0)
	sc.runs("quick slow")
	sc.exit("slow", 0)
	sc.exit("quick", 0)
	sc.exit("behind", 0)
	sc.verdict()
	sc.end(RunAccepted, "")
}

// Writers take turns in the order of the list, with readers too whose tree is looked at; which of them could start
// first does not matter.
func TestParallelWriters(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: gate, run: make}
      - {id: first, run: make, needs: [gate], writes: [a]}
      - {id: second, agent: coder, needs: [], prompt: x}
      - {id: look, agent: critic, needs: [], prompt: x}
      - {id: third, run: make, needs: [], writes: [b]}
`, RunInfo{Jobs: 8})
	sc.runs("gate")
	sc.exit("gate", 0)
	for _, name := range []string{"first", "third"} {
		sc.runs(name)
		sc.starts(name)
		sc.exit(name, 0)
		sc.bounds(name)
		if name == "first" {
			sc.runs("second")
			sc.agent("second", success)
			sc.runs("look")
			sc.agent("look", `{"status": "success", "approved": true}`)
		}
	}
	sc.verdict()
	sc.end(RunAccepted, "")
}

// What a phase may not have changed may be the work of one that ran beside it: both answer for it.
func TestParallelDoubt(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: one, run: make, writes: []}
      - {id: two, run: make, writes: [], needs: []}
`, RunInfo{Jobs: 4})
	sc.feed(Event{Kind: SnapshotTaken, Phase: "one", Visit: 1, Attempt: 1, Tree: "t"})
	sc.feed(Event{Kind: SnapshotTaken, Phase: "two", Visit: 1, Attempt: 1, Tree: "t"})
	sc.runs("one two")
	sc.exit("one", 0)
	sc.feed(Event{Kind: BoundaryChecked, Phase: "one", Visit: 1, Attempt: 1, Tree: "t", Outside: []Violation{{Path: "README", Change: "changed", Reason: "read-only", Undone: true, By: []string{"one", "two"}}}})
	said := false
	for _, e := range sc.log {
		said = said || e.Kind == Warned && strings.Contains(e.Text, `"README" was changed while several phases were at work; it is held against one, two`)
	}
	if !said || sc.status("one") != Fail || sc.status("two") != Running {
		t.Errorf("said %t; one is %s, two %s", said, sc.status("one"), sc.status("two"))
	}
	sc.exit("two", 0)
	sc.bounds("two")
	if sc.status("two") != Fail {
		t.Errorf("two is %s", sc.status("two"))
	}
}
