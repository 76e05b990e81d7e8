package runner_test

import (
	"reflect"
	"strings"
	"testing"

	"foundry/graph"
	. "foundry/runner"
)

// looped is a pipeline with a loop, for p to call.
const looped = `  looped:
    accept: passed("test")
    phases:
      - {id: build, agent: coder}
      - {id: test, run: make test, route: ["on fail -> build retry 1"]}
`

func (sc *script) visits(name string) int {
	id, _ := sc.g.Lookup(name)
	return sc.s.Phase(id).Visits
}

func (sc *script) statuses(want string) {
	sc.t.Helper()
	var got []string
	for i := range sc.g.Phases {
		got = append(got, sc.g.Phases[i].Name+" "+sc.s.Phase(graph.PhaseID(i)).Status.String())
	}
	if text := strings.Join(got, ", "); text != want {
		sc.t.Errorf("got  %s\nwant %s", text, want)
	}
}

// tree answers the snapshot that a jump of a call waits for.
func (sc *script) tree(call, tree string) {
	e := sc.about(call, SnapshotTaken)
	e.Tree, e.Purpose = tree, ForJump.String()
	sc.feed(e)
}

// replayed checks that the log alone leads to the same state.
func (sc *script) replayed() {
	sc.t.Helper()
	s, missing, err := Replay(sc.g, sc.log, nil)
	if err != nil || len(missing) > 0 {
		sc.t.Fatalf("replay: %v, %v missing", err, missing)
	}
	got, want := sc.picture(s), sc.picture(sc.s)
	if !reflect.DeepEqual(got, want) {
		sc.t.Fatalf("replay: %v, want %v", got, want)
	}
}

func TestCommandsOfACall(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    accept: passed("sub")
    phases:
      - {id: sub, call: looped}
      - {id: last, run: make}
`+looped, RunInfo{})
	sc.want("snapshot sub/build")
	sc.agent("sub/build", success)
	sc.exit("sub/test", 1)
	sc.want("snapshot sub") // before the jump back in the call
	sc.replayed()
	sc.tree("sub", "two")
	sc.want("snapshot sub/build")
	sc.agent("sub/build", success)
	sc.exit("sub/test", 0)
	sc.want("snapshot sub") // acceptance names the call
	end := sc.about("sub", SnapshotTaken)
	end.Tree = "after"
	sc.feed(end)
	sc.want("command last")
	sc.exit("last", 0)
	sc.verdict()
	sc.end(RunAccepted, "")
	sc.replayed()
}

func TestNoProgressInACall(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    accept: passed("last")
    phases:
      - {id: sub, call: looped, route: ["on fail when reason == \"no_progress\" -> next"]}
      - {id: last, run: make}
`+strings.Replace(looped, "retry 1", "retry 5", 1), RunInfo{})
	sc.agent("sub/build", success)
	sc.exit("sub/test", 1)
	sc.tree("sub", "same")
	sc.agent("sub/build", success)
	sc.exit("sub/test", 1)
	sc.tree("sub", "same")
	sc.want("command last")
	sc.statuses("sub fail, sub/build success, sub/test fail, last running")
}

// An abort in a call stops what runs in it, at once, and nothing outside.
func TestAbortInACallStopsTheCallAlone(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: beside, run: make, needs: []}
      - {id: sub, call: inner, needs: [], route: ["on fail -> next"]}
      - {id: last, run: make, needs: [beside, sub]}
  inner:
    phases:
      - {id: a, run: make, needs: [], route: ["on fail -> abort \"no\""]}
      - {id: b, run: make, needs: []}
      - {id: deep, call: deeper, needs: []}
      - {id: c, run: make, needs: [b]}
  deeper:
    phases:
      - {id: d, run: make}
`, RunInfo{Jobs: 9})
	sc.exit("sub/a", 1)
	sc.want("stop sub/b", "stop sub/deep/d")
	sc.exit("sub/b", 0)
	sc.statuses("beside running, sub running, sub/a fail, sub/b stopped, sub/deep running, sub/deep/d running, sub/c queued, last queued")
	sc.exit("sub/deep/d", 0)
	sc.statuses("beside running, sub fail, sub/a fail, sub/b stopped, sub/deep stopped, sub/deep/d stopped, sub/c not_run, last queued")
	sc.exit("beside", 0)
	sc.want("command last")
	sc.replayed()
}

func TestKillInACall(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: sub, call: looped}
      - {id: last, run: make}
`+looped, RunInfo{})
	sc.agent("sub/build", success)
	sc.feed(Event{Kind: RunKilled, Who: "me"})
	sc.want("stop sub/test")
	sc.exit("sub/test", 0)
	sc.want("end")
	sc.end(RunKill, "")
	sc.statuses("sub stopped, sub/build success, sub/test stopped, last not_run")
}

func TestInterruptedCallGoesOn(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: sub, call: looped}
`+looped, RunInfo{})
	sc.agent("sub/build", success)
	sc.feed(Event{Kind: RunInterrupted})
	s, _, err := Replay(sc.g, sc.log, nil)
	if err != nil {
		t.Fatal(err)
	}
	sc.s = s
	sc.feed(Event{Kind: RunResumed})
	sc.want("command sub/test")
	sc.exit("sub/test", 0)
	sc.verdict()
	sc.end(RunAccepted, "")
	if sc.visits("sub") != 1 || sc.visits("sub/build") != 1 {
		t.Error("something was run again")
	}
}

// A run that a call's failure ended goes on in the call, at the phase that ended it; with one more round if granted.
func TestResumeGoesOnInTheCall(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    accept: passed("sub")
    phases:
      - {id: first, run: make}
      - {id: sub, call: middle}
  middle:
    phases:
      - {id: prep, run: make}
      - {id: deep, call: looped}
`+looped, RunInfo{})
	sc.exit("first", 0)
	sc.exit("sub/prep", 0)
	sc.agent("sub/deep/build", success)
	sc.exit("sub/deep/test", 1)
	sc.tree("sub/deep", "one")
	sc.agent("sub/deep/build", success)
	sc.exit("sub/deep/test", 1)
	end := sc.about("sub", SnapshotTaken)
	end.Tree = "after"
	sc.feed(end)
	sc.verdict()
	sc.end(RunRejected, "unmatched")
	sc.feed(Event{Kind: GrantGiven, Limit: "retry", Rule: "sub/deep/test -> sub/deep/build", Grant: 1})
	sc.feed(Event{Kind: RunResumed})
	sc.want("command sub/deep/test")
	sc.exit("sub/deep/test", 1)
	sc.tree("sub/deep", "two")
	sc.agent("sub/deep/build", success)
	sc.exit("sub/deep/test", 0)
	end = sc.about("sub", SnapshotTaken)
	end.Tree = "after"
	sc.feed(end)
	sc.verdict()
	sc.end(RunAccepted, "")
	if sc.visits("first") != 1 || sc.visits("sub/prep") != 1 || sc.visits("sub/deep") != 2 || sc.visits("sub/deep/build") != 3 {
		t.Errorf("visits: first %d, prep %d, deep %d, build %d", sc.visits("first"), sc.visits("sub/prep"), sc.visits("sub/deep"), sc.visits("sub/deep/build"))
	}
	sc.replayed()
}

// A person may say where to go on: in a call that passed, or at the call as a whole.
func TestResumeFromAPhaseOfACall(t *testing.T) {
	t.Parallel()
	pipeline := `    accept: passed("last")
    phases:
      - {id: sub, call: inner}
      - {id: last, run: make}
  inner:
    phases:
      - {id: a, run: make}
      - {id: b, run: make}
`
	for from, want := range map[string]string{
		"sub/b": "sub running, sub/a success, sub/b running, last queued",
		"sub":   "sub running, sub/a running, sub/b queued, last queued",
		"last":  "sub success, sub/a success, sub/b success, last running",
	} {
		sc := begin(t, pipeline, RunInfo{})
		sc.exit("sub/a", 0)
		sc.exit("sub/b", 0)
		sc.exit("last", 1)
		sc.verdict()
		sc.end(RunRejected, "unmatched")
		sc.feed(Event{Kind: RunResumed, Phase: from})
		sc.statuses(want)
		sc.replayed()
	}
}

func TestBlockedInACallWaitsForANote(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: sub, call: looped}
      - {id: last, run: make}
`+looped, RunInfo{})
	sc.agent("sub/build", `{"status": "blocked", "blocked": {"reason": "no key"}}`)
	if v := sc.s.View(); v.Status != RunWaiting {
		t.Fatal(v.Status)
	}
	sc.statuses("sub running, sub/build blocked, sub/test blocked, last queued")
	sc.feed(Event{Kind: RunResumed, Text: "the key is in .env"})
	sc.want("snapshot sub/build")
	id, _ := sc.g.Lookup("sub/build")
	if given := sc.s.Phase(id).Given; given != "the key is in .env" {
		t.Errorf("given %q", given)
	}
	sc.agent("sub/build", success)
	sc.exit("sub/test", 0)
	sc.want("command last")
}

// A jump that does not wait stops a call that it queues again, with what runs in it.
func TestFailFastStopsACall(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    fail_fast: true
    phases:
      - {id: base, run: make}
      - {id: quick, run: make, needs: [base], route: ["on fail -> base retry 1"]}
      - {id: sub, call: inner, needs: [base]}
  inner:
    phases:
      - {id: a, run: make}
      - {id: b, run: make}
      - {id: c, run: make, needs: []}
`, RunInfo{Jobs: 3})
	sc.exit("base", 0)
	sc.want("command quick", "command sub/a", "command sub/c")
	sc.exit("quick", 1)
	sc.want("stop sub/a", "stop sub/c")
	sc.exit("sub/a", 0)
	sc.want() // nothing of what is to stop starts any more
	sc.exit("sub/c", 0)
	sc.want("command base")
	sc.statuses("base running, quick queued, sub queued, sub/a queued, sub/b queued, sub/c queued")
	sc.exit("base", 0)
	sc.exit("quick", 0)
	sc.exit("sub/a", 0)
	sc.exit("sub/b", 0)
	sc.exit("sub/c", 0)
	sc.verdict()
	sc.end(RunAccepted, "")
	sc.replayed()
}

// What a call judged is judged again when somebody edited the workspace while a question was open.
func TestEditedWorkspaceVoidsWhatACallJudged(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: sub, call: looped}
      - {id: ship, ask: "ship?"}
`+looped, RunInfo{})
	sc.agent("sub/build", success)
	sc.exit("sub/test", 0)
	shown := sc.about("ship", SnapshotTaken)
	shown.Tree = "shown"
	sc.feed(shown)
	sc.want("ask ship", "park")
	sc.feed(Event{Kind: WorkspaceEdited, Tree: "other"})
	sc.want("command sub/test")
	sc.statuses("sub running, sub/build success, sub/test running, ship queued")
	sc.exit("sub/test", 0)
	if sc.visits("sub/build") != 1 || sc.visits("sub") != 2 {
		t.Errorf("build was visited %d times, sub %d times", sc.visits("sub/build"), sc.visits("sub"))
	}
	sc.replayed()
}

// The workspace is the run's: when it cannot be looked at for a jump in a call, the run fails.
func TestWorldFailsInACall(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: sub, call: looped, route: ["on fail -> next"]}
      - {id: last, run: make}
`+looped, RunInfo{})
	sc.agent("sub/build", success)
	sc.exit("sub/test", 1)
	sc.want("snapshot sub")
	broken := sc.about("sub", WorldFailed)
	broken.Text = "disk full"
	sc.feed(broken)
	sc.want("end")
	sc.end(RunFailed, "infrastructure")
	sc.statuses("sub stopped, sub/build success, sub/test fail, last not_run")
	sc.feed(Event{Kind: RunResumed})
	sc.want("command sub/test")
}

// The agent of a call that begins again is sent the whole prompt, and nothing of what its phases came to before.
func TestPromptsOfACallBeginAfresh(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: sub, call: inner, set: {round: "{{feedback}}"}}
      - {id: check, run: make, route: ["on fail -> sub retry 1 with output"]}
  inner:
    params: {round: {type: text, default: ""}}
    phases:
      - {id: build, agent: coder, prompt: "Do it. {{params.round}}", inputs: [test]}
      - {id: test, run: make}
`, RunInfo{})
	prompt := func() string {
		t.Helper()
		start := sc.about("sub/build", SnapshotTaken)
		start.Tree = "tree"
		sc.feed(start)
		sc.want("turn sub/build")
		m, err := Prompt(sc.g, sc.s, sc.wants[0], World{}, true)
		if err != nil {
			t.Fatal(err)
		}
		told := sc.about("sub/build", TurnStarted)
		told.Turn, told.Inputs = 1, m.Inputs
		sc.feed(told)
		return m.Text
	}
	first := prompt()
	sc.reply("sub/build", 1, success)
	sc.bounds("sub/build")
	sc.exit("sub/test", 0)
	sc.exit("check", 1)
	second := prompt()
	for i, text := range []string{first, second} {
		if !strings.Contains(text, "Do it.") || !strings.Contains(text, "## test\n\n(not available)") {
			t.Errorf("prompt %d:\n%s", i+1, text)
		}
	}
	if strings.Contains(first, "out of check") || !strings.Contains(second, "Do it. out of check") {
		t.Errorf("the feedback of the call is in the wrong prompt:\n%s\n%s", first, second)
	}
}
