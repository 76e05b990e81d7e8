package runner_test

import (
	"strings"
	"testing"

	. "foundry/runner"
)

const checked = `  checked:
    criteria: [{name: first, run: make}, {name: second, run: make}]
    phases:
      - {id: build, agent: coder}
      - {id: test, run: make}
      - {id: never, run: make, when: "false"}
`

// criteria answers the checks of criteria, of the run or of a call; "" is none.
func (sc *script) criteria(call string, before bool, outcomes ...string) {
	sc.t.Helper()
	for i, name := range []string{"first", "second"} {
		if outcomes[i] == "" {
			continue
		}
		e := Event{Kind: CriterionDone}
		if call != "" {
			e = sc.about(call, CriterionDone)
		}
		e.Criterion, e.Outcome, e.Result = name, outcomes[i], &CommandResult{Before: before}
		sc.feed(e)
	}
}

// A run that a criterion rejected checks again what did not hold, and what comes behind that. No phase runs.
func TestResumeChecksCriteriaAgain(t *testing.T) {
	t.Parallel()
	sc := begin(t, strings.TrimPrefix(checked, "  checked:\n"), RunInfo{})
	sc.criteria("", true, "failed", "failed")
	sc.agent("build", success)
	sc.exit("test", 0)
	sc.criteria("", false, "passed", "failed")
	sc.verdict()
	sc.end(RunRejected, "criterion")
	sc.feed(Event{Kind: RunResumed})
	sc.want("criterion")
	sc.criteria("", false, "", "failed")
	sc.verdict()
	sc.end(RunRejected, "criterion")

	// What a person changed is judged first, and then by all criteria.
	sc.feed(Event{Kind: WorkspaceEdited, Tree: "edited"})
	sc.feed(Event{Kind: RunResumed})
	sc.want("command test")
	sc.statuses("build success, test running, never queued")
	sc.exit("test", 0)
	sc.want("criterion")
	sc.criteria("", false, "passed", "passed")
	sc.verdict()
	sc.end(RunAccepted, "")
	if n := sc.visits("build"); n != 1 {
		t.Errorf("build was entered %d times", n)
	}
	sc.replayed()
}

// The same in a call, which is entered where it was.
func TestResumeChecksCriteriaOfACallAgain(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: sub, call: checked}
      - {id: last, run: make}
`+checked, RunInfo{})
	sc.criteria("sub", true, "failed", "failed")
	sc.agent("sub/build", success)
	sc.exit("sub/test", 0)
	sc.criteria("sub", false, "passed", "failed")
	sc.verdict()
	sc.end(RunRejected, "unmatched")
	sc.feed(Event{Kind: RunResumed})
	sc.want("criterion sub")
	sc.criteria("sub", false, "", "failed")
	sc.verdict()
	sc.feed(Event{Kind: WorkspaceEdited, Tree: "edited"})
	sc.feed(Event{Kind: RunResumed})
	sc.want("command sub/test")
	sc.exit("sub/test", 0)
	sc.criteria("sub", false, "passed", "passed")
	sc.want("command last")
	if n := sc.visits("sub/build"); n != 1 {
		t.Errorf("sub/build was entered %d times", n)
	}
	sc.replayed()
}

// What had passed before the phase that ended the run is judged again after an edit, before that phase; work of agents is not
// done again, although what it depends on is.
func TestResumeJudgesAnEditedWorkspaceFirst(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: base, run: make}
      - {id: build, agent: coder}
      - {id: lint, run: make}
      - {id: test, run: make, route: ["on fail -> abort"]}
`, RunInfo{Jobs: 4})
	sc.exit("base", 0)
	sc.agent("build", success)
	sc.exit("lint", 0)
	sc.exit("test", 1)
	sc.end(RunRejected, "abort")
	sc.feed(Event{Kind: WorkspaceEdited, Tree: "edited"})
	sc.feed(Event{Kind: RunResumed})
	sc.want("command base")
	sc.exit("base", 0)
	sc.want("command lint")
	sc.exit("lint", 0)
	sc.want("command test")
	sc.exit("test", 0)
	sc.verdict()
	sc.end(RunAccepted, "")
	sc.replayed()
}

// Of several phases that failed none has to be resumed by itself; nor of several items.
func TestResumeGoesOnAtAllThatFailed(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: a, run: make, needs: []}
      - {id: b, run: make, needs: []}
      - {id: c, run: make, needs: []}
      - {id: sub, call: inner, needs: []}
      - {id: many, each: {in: lines("x\ny\nz"), limit: 3}, run: make, needs: []}
      - {id: last, run: make, needs: [a, b, c, sub, many]}
  inner:
    phases:
      - {id: d, run: make, needs: []}
      - {id: e, run: make, needs: []}
`, RunInfo{Jobs: 9})
	sc.g = sc.s.Graph(sc.g)
	for name, code := range map[string]int{"a": 1, "b": 0, "c": 1, "sub/d": 1, "sub/e": 1, "many[x]": 1, "many[y]": 0, "many[z]": 1} {
		sc.exit(name, code)
	}
	sc.verdict()
	sc.end(RunRejected, "unmatched")
	sc.feed(Event{Kind: RunResumed})
	sc.want("command a", "command c", "command sub/d", "command sub/e", "command many[x]", "command many[z]")
	for _, name := range []string{"a", "c", "sub/d", "sub/e", "many[x]", "many[z]"} {
		sc.exit(name, 0)
	}
	sc.want("command last")
}

// How many phases run at a time may change with a resume, and stays so, whatever the run goes back to.
func TestResumeChangesJobs(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: a, run: make, needs: []}
      - {id: b, run: make, needs: []}
`, RunInfo{Jobs: 1})
	sc.want("command a")
	sc.feed(Event{Kind: RunInterrupted})
	sc.feed(Event{Kind: RunResumed, Jobs: 3, Agents: 1})
	sc.want("command a", "command b")
	sc.feed(Event{Kind: RunInterrupted})
	sc.feed(Event{Kind: RunResumed})
	sc.want("command a", "command b")
	sc.replayed()
	fact, _, _ := Beginning(sc.log, "a", 1)
	then, _, err := Replay(sc.g, sc.log[:fact], nil)
	if err != nil {
		t.Fatal(err)
	}
	back, _, err := Rewound(sc.g, then, sc.s, Event{Kind: RunRewound, Phase: "a", To: fact})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []State{sc.s, back} {
		if v := s.View(); v.Info.Jobs != 3 || v.Info.Agents != 1 {
			t.Errorf("it has %d jobs, %d of them agents", v.Info.Jobs, v.Info.Agents)
		}
	}
}

// A jump that a budget could not pay is taken once more is granted, and what led to it is not done again: in the run's own
// pipeline, in a call, and in what an item calls.
func TestResumeTakesTheJumpThatDidNotFit(t *testing.T) {
	t.Parallel()
	for name, pipeline := range map[string]string{
		"": `    limits: {turns: 1}
    phases:
      - {id: build, agent: coder}
      - {id: test, run: make test, route: ["on fail -> build retry 1"]}
`,
		"sub": `    limits: {turns: 1}
    phases:
      - {id: sub, call: looped}
      - {id: last, run: make}
` + looped,
		"sub/deep": `    limits: {turns: 1}
    phases:
      - {id: sub, call: outer}
  outer:
    phases:
      - {id: deep, call: looped}
` + looped,
		"each[x]": `    limits: {turns: 1}
    phases:
      - {id: each, call: looped, each: {in: lines("x"), limit: 1}}
` + looped,
	} {
		sc := begin(t, pipeline, RunInfo{})
		sc.g = sc.s.Graph(sc.g)
		in := func(phase string) string { return strings.TrimPrefix(name+"/"+phase, "/") }
		sc.agent(in("build"), success)
		sc.exit(in("test"), 1)
		sc.end(RunRejected, "budget:turns")
		sc.feed(Event{Kind: GrantGiven, Limit: "turns", Grant: 5})
		sc.feed(Event{Kind: RunResumed})
		if name == "" {
			sc.want("snapshot")
			sc.feed(Event{Kind: SnapshotTaken, Tree: "two"})
		} else {
			sc.want("snapshot " + name)
			sc.tree(name, "two")
		}
		sc.want("snapshot " + in("build"))
		if n := sc.visits(in("test")); n != 1 {
			t.Errorf("%s was entered %d times", in("test"), n)
		}
		sc.agent(in("build"), success)
		sc.exit(in("test"), 0)
		if sc.status(in("test")) != Success {
			t.Errorf("%s is %s", in("test"), sc.status(in("test")))
		}
	}
}

// The end of a run names the phase that its reason speaks of, in list order, whatever failed last.
func TestEndNamesTheCulprit(t *testing.T) {
	t.Parallel()
	for want, pipeline := range map[string]string{
		"b":       "{id: a, run: make, needs: []}, {id: b, run: make, needs: []}, {id: c, run: make, needs: []}",
		"c":       `{id: a, run: make, needs: []}, {id: b, run: make, needs: [], route: ["on fail -> next"]}, {id: c, run: make, needs: []}`,
		"sub/y":   "{id: a, run: make, needs: []}, {id: sub, call: inner, needs: []}, {id: c, run: make, needs: []}",
		"many[y]": `{id: a, run: make, needs: []}, {id: many, each: {in: lines("x\ny\nz"), limit: 3}, run: make, needs: []}, {id: c, run: make, needs: []}`,
	} {
		sc := begin(t, "    phases: ["+pipeline+"]\n  inner:\n    phases: [{id: x, run: make, needs: []}, {id: y, run: make, needs: []}, {id: z, run: make, needs: []}]\n", RunInfo{Jobs: 9})
		sc.g = sc.s.Graph(sc.g)
		for _, name := range []string{"a", "sub/x", "many[x]"} {
			if _, ok := sc.g.Lookup(name); ok {
				sc.exit(name, 0)
			}
		}
		for _, name := range []string{"c", "sub/z", "many[z]", "b", "sub/y", "many[y]"} {
			if _, ok := sc.g.Lookup(name); ok {
				sc.exit(name, 1)
			}
		}
		sc.verdict()
		sc.end(RunRejected, "unmatched")
		if last := sc.log[len(sc.log)-1]; last.Kind != RunEnded || last.Culprit != want {
			t.Errorf("%s names %q, want %s", last.Kind, last.Culprit, want)
		}
	}
}

// A run that was accepted up to --until goes on, and judges what was edited since.
func TestResumeBehindUntilJudgesAnEditedWorkspace(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: build, agent: coder}
      - {id: test, run: make}
      - {id: last, run: make}
`, RunInfo{Until: "test"})
	sc.agent("build", success)
	sc.exit("test", 0)
	sc.verdict()
	sc.end(RunAccepted, "")
	sc.feed(Event{Kind: WorkspaceEdited, Tree: "edited"})
	sc.feed(Event{Kind: RunResumed})
	sc.want("command test")
	sc.exit("test", 0)
	sc.want("command last")
	sc.exit("last", 0)
	sc.verdict()
	sc.end(RunAccepted, "")
	sc.replayed()
}
