package runner_test

import (
	"reflect"
	"strings"
	"testing"

	"foundry/builtins"
	"foundry/diag"
	"foundry/graph"
	. "foundry/runner"
	"foundry/schema"
)

const head = `version: 1
project: {harness: script}
agents:
  coder: {extends: builtin/builder, script: [{reply: x}]}
  spare: {extends: builtin/builder, script: [{reply: x}]}
  fragile: {extends: builtin/builder, script: [{reply: x}], fallback: [spare]}
  critic: {extends: builtin/reviewer, script: [{reply: x}]}
pipelines:
  p:
`

// script drives the machine by hand: facts go in, what it wants done comes out.
type script struct {
	t     *testing.T
	g     *graph.Graph
	s     State
	log   []Event
	wants []Command
}

func begin(t *testing.T, pipeline string, info RunInfo) *script {
	t.Helper()
	doc, found := schema.Decode(diag.NewSource("foundry.yaml", head+pipeline))
	ships, _ := schema.Decode(diag.NewSource(builtins.Name, builtins.YAML()))
	g, more := graph.New(doc, ships, graph.Files{Path: "foundry.yaml"}).Compile("p")
	found.Merge(more)
	if found.HasErrors() {
		t.Fatal(found.Sorted())
	}
	info.ID, info.Pipeline = "run_1", "p"
	sc := &script{t: t, g: g, s: New(g)}
	sc.feed(Event{Kind: RunStarted, Run: &info})
	sc.feed(Event{Kind: WorkspaceReady})
	return sc
}

// feed takes a fact in and checks that the state before it stayed as it was.
func (sc *script) feed(e Event) {
	sc.t.Helper()
	e.Seq = len(sc.log) + 1
	sc.log = append(sc.log, e)
	before := sc.s
	shadow := sc.picture(before)
	next, commands, err := Step(sc.g, sc.s, e)
	if err != nil {
		sc.t.Fatal(err)
	}
	if !reflect.DeepEqual(shadow, sc.picture(before)) {
		sc.t.Fatalf("%s changed the state that it was given", e.Kind)
	}
	sc.s, sc.wants = next, nil
	for _, c := range commands {
		if c.ID.Kind == Record {
			c.Event.Seq = len(sc.log) + 1
			sc.log = append(sc.log, *c.Event)
		} else {
			sc.wants = append(sc.wants, c)
		}
	}
}

func (sc *script) picture(s State) []any {
	out := []any{s.View()}
	for i := range sc.g.Phases {
		out = append(out, s.Phase(graph.PhaseID(i)))
	}
	for _, c := range Outstanding(sc.g, s) {
		out = append(out, c)
	}
	return out
}

// about starts a fact of a phase's current visit.
func (sc *script) about(name string, k Kind) Event {
	id, ok := sc.g.Lookup(name)
	if !ok {
		sc.t.Fatalf("no phase %s", name)
	}
	v := sc.s.Phase(id)
	return Event{Kind: k, Phase: name, Visit: v.Visits, Attempt: v.Attempt}
}

func (sc *script) want(texts ...string) {
	sc.t.Helper()
	var got []string
	for _, c := range sc.wants {
		name := ""
		if c.ID.Phase >= 0 {
			name = " " + sc.g.Phases[c.ID.Phase].Name
		}
		got = append(got, c.ID.Kind.String()+name)
	}
	if strings.Join(got, ", ") != strings.Join(texts, ", ") {
		sc.t.Fatalf("wanted %q, got %q", texts, got)
	}
}

func (sc *script) status(name string) Status {
	id, _ := sc.g.Lookup(name)
	return sc.s.Phase(id).Status
}

func (sc *script) end(status RunStatus, reason string) {
	sc.t.Helper()
	if v := sc.s.View(); v.Status != status || !strings.HasPrefix(v.Reason, reason) {
		sc.t.Errorf("ended %s, %s: %s; want %s, %s", v.Status, v.Reason, v.Text, status, reason)
	}
}

// agent plays a whole turn of an agent phase whose snapshot is wanted.
func (sc *script) agent(name, reply string) {
	sc.t.Helper()
	e := sc.about(name, SnapshotTaken)
	e.Tree = "tree"
	sc.feed(e)
	sc.reply(name, 1, reply)
	sc.bounds(name)
}

func (sc *script) reply(name string, turn int, text string) {
	e := sc.about(name, TurnEnded)
	e.Turn, e.Reply = turn, &Reply{Stop: StopEnd, Text: text}
	sc.feed(e)
}

func (sc *script) bounds(name string) {
	e := sc.about(name, BoundaryChecked)
	e.Tree = UnknownTree
	sc.feed(e)
}

func (sc *script) exit(name string, code int) {
	e := sc.about(name, CommandEnded)
	e.Result = &CommandResult{Command: name, Exit: code, Output: "out of " + name}
	sc.feed(e)
	if len(sc.wants) == 1 && sc.wants[0].Purpose == ForEnd { // acceptance names the phase
		end := sc.about(name, SnapshotTaken)
		end.Tree = "after " + name
		sc.feed(end)
	}
}

func (sc *script) verdict() {
	sc.feed(Event{Kind: SnapshotTaken, Tree: "last", Purpose: ForVerdict.String()})
}

const success = `{"status": "success"}`

func TestCommandsOfARepairLoop(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: build, agent: coder}
      - {id: test, run: make test, route: ["on fail -> build retry 1"]}
`, RunInfo{})
	sc.want("snapshot build")
	start := sc.about("build", SnapshotTaken)
	start.Tree = "one"
	sc.feed(start)
	sc.want("turn build")
	sc.reply("build", 1, success)
	sc.want("boundary build")
	sc.bounds("build")
	sc.want("command test")
	sc.exit("test", 1)
	sc.want("snapshot") // before the jump back
	sc.feed(Event{Kind: SnapshotTaken, Tree: "two"})
	sc.want("snapshot build")
	sc.agent("build", success)
	sc.exit("test", 0)
	sc.want("snapshot") // for the verdict
	sc.verdict()
	sc.want("end")
	sc.end(RunAccepted, "")
}

func TestStaleFactsChangeNothing(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: build, agent: coder}
`, RunInfo{})
	before := sc.picture(sc.s)
	for _, e := range []Event{
		{Kind: TurnEnded, Phase: "build", Visit: 1, Attempt: 1, Turn: 1, Reply: &Reply{Stop: StopEnd, Text: success}},
		{Kind: BoundaryChecked, Phase: "build", Visit: 1, Attempt: 1},
		{Kind: SnapshotTaken, Phase: "build", Visit: 2, Tree: "x"},
		{Kind: AskAnswered, Phase: "build", Visit: 1, Answer: "approve"},
		{Kind: CriterionDone, Criterion: "none", Outcome: "passed"},
		{Kind: SnapshotTaken, Tree: "x"},
		{Kind: RunStarted, Run: &RunInfo{ID: "run_2"}},
	} {
		sc.feed(e)
		if got := sc.picture(sc.s); !reflect.DeepEqual(before, got) {
			t.Fatalf("%s changed the state: %v, was %v", e.Kind, got, before)
		}
		if last := sc.log[len(sc.log)-1]; last.Kind != Warned {
			t.Errorf("%s was not recorded as a warning", e.Kind)
		}
	}
	if _, _, err := Step(sc.g, sc.s, Event{Kind: TurnEnded, Phase: "nobody"}); err == nil {
		t.Error("a fact of an unknown phase was taken")
	}
}

func TestKillLatches(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: test, run: make test}
`, RunInfo{})
	sc.feed(Event{Kind: RunKilled, Who: "me"})
	sc.want("stop test")
	sc.exit("test", 0)
	sc.want("end")
	sc.end(RunKill, "")
	if sc.status("test") != Stopped {
		t.Errorf("test is %s", sc.status("test"))
	}
	sc.feed(Event{Kind: RunResumed})
	sc.verdict()
	sc.end(RunKill, "")
}

func TestNoTurnBeyondTheBudget(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    limits: {turns: 2}
    phases:
      - {id: build, agent: coder}
`, RunInfo{})
	e := sc.about("build", SnapshotTaken)
	e.Tree = "tree"
	sc.feed(e)
	sc.reply("build", 1, "prose")
	sc.want("turn build")
	sc.reply("build", 2, "prose")
	sc.want("undo build")
	sc.feed(sc.about("build", UndoDone))
	sc.end(RunRejected, "budget:turns")
	if v := sc.s.View(); v.Turns != 2 {
		t.Errorf("%d turns", v.Turns)
	}
	sc.feed(Event{Kind: GrantGiven, Limit: "turns", Grant: 2})
	sc.feed(Event{Kind: RunResumed})
	sc.agent("build", success)
	sc.verdict()
	sc.end(RunAccepted, "")
}

func TestFallbackIsStickyForTheVisit(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: build, agent: fragile}
`, RunInfo{})
	e := sc.about("build", SnapshotTaken)
	e.Tree = "tree"
	sc.feed(e)
	if name := sc.g.Agents[sc.wants[0].Agent].Name; name != "fragile" {
		t.Fatalf("first %s", name)
	}
	f := sc.about("build", TurnEnded)
	f.Turn, f.Reply = 1, &Reply{Stop: StopError, Error: "it crashed"}
	sc.feed(f)
	sc.want("turn build")
	if c := sc.wants[0]; sc.g.Agents[c.Agent].Name != "spare" || c.Purpose != ForPrompt {
		t.Errorf("then %+v", c)
	}
	sc.reply("build", 2, "prose")
	if c := sc.wants[0]; sc.g.Agents[c.Agent].Name != "spare" || c.Purpose != ForEnvelope {
		t.Errorf("the correction went to %+v", c)
	}
	g := sc.about("build", TurnEnded)
	g.Turn, g.Reply = 3, &Reply{Stop: StopError, Error: "this one too"}
	sc.feed(g)
	sc.bounds("build")
	sc.end(RunFailed, "infrastructure")
}

func TestUsageLimitPausesAndSpendsNothing(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: build, agent: coder}
`, RunInfo{})
	e := sc.about("build", SnapshotTaken)
	e.Tree = "tree"
	sc.feed(e)
	turns := sc.s.View().Turns
	f := sc.about("build", TurnEnded)
	f.Turn, f.Reply = 1, &Reply{Stop: StopLimit, Error: "come back later"}
	sc.feed(f)
	sc.end(RunPaused, "")
	sc.want("park")
	sc.feed(Event{Kind: RunResumed})
	sc.want("turn build")
	if got := sc.s.View().Turns; got != turns {
		t.Errorf("%d turns, was %d", got, turns)
	}
	sc.reply("build", 1, success)
	sc.bounds("build")
	sc.verdict()
	sc.end(RunAccepted, "")
}

// A run that is paused can be ended, and other work under way is brought to its end before it rests.
func TestPausedBesideOtherWork(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: one, agent: critic, needs: []}
      - {id: two, agent: spare, writes: [], needs: []}
      - {id: last, run: make}
`, RunInfo{Jobs: 2})
	sc.starts("one")
	sc.starts("two")
	limit := sc.about("one", TurnEnded)
	limit.Turn, limit.Reply = 1, &Reply{Stop: StopLimit}
	sc.feed(limit)
	sc.want()
	sc.end(RunPaused, "")
	sc.reply("two", 1, success)
	sc.want("boundary two")
	sc.bounds("two")
	sc.want("park")
	sc.feed(Event{Kind: RunKilled})
	sc.want("undo one")
	u := sc.about("one", UndoDone)
	u.Tree = "tree"
	sc.feed(u)
	sc.end(RunKill, "")
	sc.replays()
}

func TestInterruptHoldsAndResumeSendsAgain(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: one, run: make}
      - {id: two, run: make}
`, RunInfo{})
	sc.exit("one", 0)
	sc.want("command two")
	sc.feed(Event{Kind: RunInterrupted})
	if got := Outstanding(sc.g, sc.s); len(got) != 0 {
		t.Errorf("an interrupted run wants %v", got)
	}
	sc.feed(Event{Kind: RunResumed})
	sc.want("command two")
	sc.exit("two", 0)
	sc.verdict()
	sc.end(RunAccepted, "")
}

func TestBlockedWaitsForANote(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: build, agent: coder}
      - {id: test, run: make}
`, RunInfo{})
	sc.agent("build", `{"status": "blocked", "blocked": {"reason": "no key", "needs": "a key"}}`)
	sc.want("park")
	sc.end(RunWaiting, "")
	if sc.status("test") != Blocked {
		t.Errorf("test is %s", sc.status("test"))
	}
	sc.feed(Event{Kind: RunResumed, Text: "the key is in .env"})
	sc.want("snapshot build")
	id, _ := sc.g.Lookup("build")
	if v := sc.s.Phase(id); v.Given != "the key is in .env" {
		t.Errorf("given %q", v.Given)
	}
	sc.agent("build", success)
	sc.exit("test", 0)
	sc.verdict()
	sc.end(RunAccepted, "")
}

func TestDetourIsOneVisitWithAllFeedback(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    accept: phases.mend.visits == 1
    phases:
      - {id: a, run: make, needs: [], route: ["on fail -> mend with \"A\""]}
      - {id: b, run: make, needs: [], route: ["on fail -> mend with \"B\""]}
      - {id: c, run: make, needs: [a, b]}
      - {id: mend, detour: true, run: make}
`, RunInfo{Jobs: 2})
	sc.want("command a", "command b")
	sc.exit("b", 1)
	if sc.status("mend") != Queued {
		t.Fatal("the detour did not wait for a")
	}
	sc.exit("a", 1)
	sc.want("command mend")
	id, _ := sc.g.Lookup("mend")
	if given := sc.s.Phase(id).Given; !strings.Contains(given, "a (round 1):\nA") || !strings.Contains(given, "b (round 1):\nB") {
		t.Errorf("given %q", given)
	}
	sc.exit("mend", 0)
	if sc.status("c") != NotRun {
		t.Errorf("c is %s", sc.status("c"))
	}
	sc.verdict()
	sc.end(RunAccepted, "")
}

func TestForwardJumpLeavesOutWhatLiesBetween(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    accept: passed("d")
    phases:
      - {id: a, run: make, route: ["on pass -> d"]}
      - {id: b, run: make}
      - {id: side, run: make, needs: [a]}
      - {id: hangs, run: make, needs: [b]}
      - {id: d, run: make, needs: [b]}
`, RunInfo{})
	sc.exit("a", 0)
	if sc.status("b") != NotRun || sc.status("hangs") != NotRun {
		t.Errorf("b is %s, hangs is %s", sc.status("b"), sc.status("hangs"))
	}
	sc.want("command side")
	sc.exit("side", 0)
	sc.want("command d")
	sc.exit("d", 0)
	sc.verdict()
	sc.end(RunAccepted, "")
}

func TestFailFastTakesTheFirstJumpAtOnce(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    fail_fast: true
    phases:
      - {id: base, run: make}
      - {id: quick, run: make, needs: [base], route: ["on fail -> base retry 1"]}
      - {id: slow, run: make, needs: [base]}
`, RunInfo{Jobs: 2})
	sc.exit("base", 0)
	sc.want("command quick", "command slow")
	sc.exit("quick", 1)
	sc.want("stop slow")
	sc.exit("slow", 0)
	sc.want("command base")
	sc.exit("base", 0)
	sc.exit("quick", 0)
	sc.exit("slow", 0)
	sc.verdict()
	sc.end(RunAccepted, "")
}

func TestOptionalFailureIsUndoneAndSkipped(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: bench, run: make, optional: true, route: ["on skip -> last"]}
      - {id: sub, run: make}
      - {id: last, run: make}
`, RunInfo{})
	e := sc.about("bench", SnapshotTaken)
	e.Tree = "tree"
	sc.feed(e)
	sc.exit("bench", 1)
	sc.bounds("bench")
	sc.want("undo bench")
	sc.feed(sc.about("bench", UndoDone))
	if sc.status("bench") != Skipped || sc.status("sub") != NotRun {
		t.Errorf("bench is %s, sub is %s", sc.status("bench"), sc.status("sub"))
	}
	sc.want("command last")
}

func TestCriteriaDecideTooAndAreCheckedFirst(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[string]struct {
		status RunStatus
		reason string
	}{"passed": {RunAccepted, ""}, "failed": {RunRejected, "criterion"}, "unverified": {RunRejected, "criterion"}} {
		sc := begin(t, `    criteria: [{name: holds, run: make check}]
    phases:
      - {id: a, run: make}
`, RunInfo{})
		sc.want("criterion")
		sc.feed(Event{Kind: CriterionDone, Criterion: "holds", Outcome: "failed", Result: &CommandResult{Exit: 1, Before: true}})
		sc.exit("a", 0)
		sc.want("criterion")
		sc.feed(Event{Kind: CriterionDone, Criterion: "holds", Outcome: outcome, Result: &CommandResult{}})
		sc.verdict()
		sc.end(want.status, want.reason)
	}
}

func TestRejectedRunsGoOnWhereTheyEnded(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: a, run: make}
      - {id: b, run: make}
      - {id: c, run: make}
`, RunInfo{})
	sc.exit("a", 0)
	sc.exit("b", 1)
	sc.verdict()
	sc.end(RunRejected, "unmatched")
	sc.feed(Event{Kind: RunResumed})
	sc.want("command b")
	sc.exit("b", 0)
	sc.exit("c", 0)
	sc.verdict()
	sc.end(RunAccepted, "")
	if id, _ := sc.g.Lookup("a"); sc.s.Phase(id).Visits != 1 {
		t.Error("a was run again")
	}
}

func TestReplayFindsWhatIsMissingAndWhatWasForged(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: a, run: make}
      - {id: b, run: make}
`, RunInfo{})
	sc.exit("a", 0)
	cut := sc.log[:len(sc.log)-1]
	s, missing, err := Replay(sc.g, cut, nil)
	if err != nil || len(missing) != 1 || missing[0].Kind != PhaseStarted {
		t.Errorf("missing %v, %v", missing, err)
	}
	if !reflect.DeepEqual(sc.picture(s), sc.picture(sc.s)) {
		t.Error("the replayed state is another one")
	}
	forged := append(append([]Event{}, sc.log...), Event{Kind: PhaseEnded, Phase: "b", Visit: 1, Status: "success"})
	if _, _, err := Replay(sc.g, forged, nil); err == nil {
		t.Error("a decision that the machine did not take was accepted")
	}
}

func TestAPersonsWordIsProgress(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: build, agent: coder}
      - {id: test, run: make, route: ["on fail -> build retry 2"]}
      - {id: ship, ask: "Ship?", route: ["on reject -> build retry 1"]}
`, RunInfo{})
	jump := func() { sc.feed(Event{Kind: SnapshotTaken, Tree: "the same"}) }
	sc.agent("build", success)
	sc.exit("test", 1)
	jump()
	sc.agent("build", success)
	sc.exit("test", 0)
	shown := sc.about("ship", SnapshotTaken)
	shown.Tree = "shown"
	sc.feed(shown)
	no := sc.about("ship", AskAnswered)
	no.Answer, no.Text = "reject", "shorter"
	sc.feed(no)
	jump()
	sc.agent("build", success)
	sc.exit("test", 1)
	jump()
	sc.want("snapshot build")
	sc.agent("build", success)
	sc.exit("test", 1)
	sc.end(RunRejected, "spent")
}

// A budget that a turn uses up while it goes on stops it; what it spent counts once, with its end.
func TestBudgetInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    limits: {tokens: 1000, cost: 2}
    phases:
      - {id: build, agent: coder}
      - {id: test, run: make test}
`, RunInfo{})
	start := sc.about("build", SnapshotTaken)
	start.Tree = "one"
	sc.feed(start)
	for _, c := range []struct {
		tokens int
		cost   float64
		want   string
	}{{999, 1.99, ""}, {1000, 0, "tokens"}, {0, 2, "cost"}, {5000, 9, "tokens"}} {
		if limit, text := sc.s.Exhausted(sc.g, c.tokens, c.cost); limit != c.want || (text == "") != (c.want == "") {
			t.Errorf("%d tokens and %g: %q %q, want %q", c.tokens, c.cost, limit, text, c.want)
		}
	}
	sc.feed(Event{Kind: BudgetReached, Limit: "tokens", Text: "1200 of 1000 tokens used, in the middle of a turn"})
	sc.want("stop build")
	e := sc.about("build", TurnEnded)
	e.Turn, e.Reply = 1, &Reply{Stop: StopCancelled, Error: "the turn was stopped", Tokens: 1200}
	sc.feed(e)
	sc.want("undo build")
	undo := sc.about("build", UndoDone)
	undo.Tree = "one"
	sc.feed(undo)
	sc.end(RunRejected, "budget:tokens")
	if v := sc.s.View(); v.Tokens != 1200 || v.Text != "1200 of 1000 tokens used, in the middle of a turn" {
		t.Errorf("the run says %d tokens, %q", v.Tokens, v.Text)
	}
	s, missing, err := Replay(sc.g, sc.log, nil)
	if err != nil || len(missing) > 0 || s.View().Reason != "budget:tokens" || s.View().Tokens != 1200 {
		t.Errorf("replayed it is %+v, %v, %v", s.View(), missing, err)
	}
}
