package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"foundry/builtins"
	"foundry/diag"
	"foundry/graph"
	"foundry/internal/seed"
	"foundry/runner"
	"foundry/schema"
)

var _ = seed.FromEnvironment()

// randomPipelines writes a pipeline p of up to nine phases with needs, detours, jumps of every kind, finish,
// optional, lists that phases are repeated over, and often calls of smaller ones, one of which calls another. Most of what it writes compiles; what
// does not is thrown away.
func randomPipelines(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("version: 1\nproject: {harness: script}\nagents:\n  coder: {extends: builtin/builder, script: [{reply: x}]}\n  critic: {extends: builtin/reviewer, script: [{reply: x}]}\n  judge: {extends: critic, fallback: [critic]}\n")
	b.WriteString("  thinker: {extends: builtin/planner, script: [{reply: x}]}\npipelines:\n")
	kinds := []string{"run", "run", "agent", "critic", "ask", "plan", "each run", "each agent"}
	most := 9
	if rapid.Bool().Draw(t, "calls") {
		randomPipeline(t, &b, "inner", rapid.IntRange(1, 4).Draw(t, "phases"), kinds)
		randomPipeline(t, &b, "middle", rapid.IntRange(1, 3).Draw(t, "phases"), append(kinds, "call inner", "call inner"))
		kinds = append(kinds, "call inner", "call middle", "call middle", "each call inner", "each call middle")
		most = 6
	}
	randomPipeline(t, &b, "p", rapid.IntRange(2, most).Draw(t, "phases"), kinds)
	return b.String()
}

func randomPipeline(t *rapid.T, b *strings.Builder, pipeline string, n int, kinds []string) {
	fmt.Fprintf(b, "  %s:\n", pipeline)
	switch rapid.IntRange(0, 9).Draw(t, "flag") {
	case 0:
		b.WriteString("    keep_going: true\n")
	case 1:
		b.WriteString("    accept: last_phase_pass\n")
	case 2:
		b.WriteString("    criteria: [{name: builds, run: make}, {name: quiet, run: make, required: false}]\n")
	case 3:
		b.WriteString("    fail_fast: true\n")
	}
	b.WriteString("    limits: {turns: 100000}\n") // where a budget ends a run is the order's
	fmt.Fprintf(b, "    params: {list: {type: list, default: %s}}\n    phases:\n", rapid.SampledFrom([]string{"[a, b]", "[a, b]", "[]"}).Draw(t, "list"))
	name := func(i int) string { return fmt.Sprintf("p%d", i) }
	detour := make([]bool, n)
	for i := range n {
		detour[i] = i > 0 && rapid.IntRange(0, 5).Draw(t, "detour") == 0
	}
	var plans []int
	for i := range n {
		fmt.Fprintf(b, "      - id: %s\n", name(i))
		kind, repeated := strings.CutPrefix(rapid.SampledFrom(kinds).Draw(t, "kind"), "each ")
		plan, apart := -1, false
		if repeated {
			in := "params.list"
			if len(plans) > 0 && !detour[i] && rapid.IntRange(0, 3).Draw(t, "of a plan") > 0 {
				plan = rapid.SampledFrom(plans).Draw(t, "plan")
				in = "phases." + name(plan) + ".envelope.steps"
			}
			fmt.Fprintf(b, "        each: {in: %s, limit: 3, require: %s}\n", in, rapid.SampledFrom([]string{"all", "all", "any"}).Draw(t, "require"))
		}
		switch kind {
		case "plan":
			b.WriteString("        agent: thinker\n")
			if !detour[i] {
				plans = append(plans, i)
			}
		case "run":
			b.WriteString("        run: make\n")
			if rapid.IntRange(0, 3).Draw(t, "writes") == 0 {
				b.WriteString("        writes: [out/**]\n")
				apart = aside(t, b)
			}
		case "agent":
			b.WriteString("        agent: coder\n")
			apart = aside(t, b)
		case "critic":
			b.WriteString("        agent: critic\n")
		case "ask":
			b.WriteString("        ask: well?\n")
		default:
			fmt.Fprintf(b, "        call: %s\n", strings.TrimPrefix(kind, "call "))
		}
		if (kind == "agent" || kind == "critic") && rapid.IntRange(0, 3).Draw(t, "session") == 0 {
			b.WriteString("        session: fresh\n")
		}
		if (kind == "agent" || kind == "critic") && rapid.IntRange(0, 2).Draw(t, "review") == 0 {
			fmt.Fprintf(b, "        review: judge\n        review_retries: %d\n        revert_rejected: %v\n",
				rapid.IntRange(0, 2).Draw(t, "review retries"), rapid.Bool().Draw(t, "revert"))
		}
		if (kind == "agent" || kind == "critic") && rapid.IntRange(0, 3).Draw(t, "gates") == 0 {
			b.WriteString("        gates: [files_non_empty]\n")
		}
		if detour[i] {
			b.WriteString("        detour: true\n")
		} else if i > 0 && rapid.Bool().Draw(t, "has needs") {
			var needs []string
			for j := range i {
				if !detour[j] && (j == plan || rapid.IntRange(0, 2).Draw(t, "need") == 0) {
					needs = append(needs, name(j))
				}
			}
			fmt.Fprintf(b, "        needs: [%s]\n", strings.Join(needs, ", "))
		}
		if kind != "ask" && !detour[i] && rapid.IntRange(0, 6).Draw(t, "optional") == 0 {
			b.WriteString("        optional: true\n")
		}
		randomRules(t, b, n, i, detour, name, repeated, apart)
	}
}

// aside lets some of what writes work in worktrees of its own.
func aside(t *rapid.T, b *strings.Builder) bool {
	apart := rapid.Bool().Draw(t, "parallel")
	if apart {
		b.WriteString("        parallel: worktree\n")
	}
	return apart
}

func randomRules(t *rapid.T, b *strings.Builder, n, i int, detour []bool, name func(int) string, repeated, apart bool) {
	rules := rapid.IntRange(0, 2).Draw(t, "rules")
	again := repeated && rapid.Bool().Draw(t, "items again")
	mends := apart && rapid.IntRange(0, 2).Draw(t, "conflicts again") > 0
	if rules == 0 && !again && !mends {
		return
	}
	b.WriteString("        route:\n")
	if mends {
		target := name(i)
		if repeated {
			target = "self"
		}
		fmt.Fprintf(b, "          - on fail when reason == \"conflict\" -> %s retry %d\n", target, rapid.IntRange(1, 2).Draw(t, "retry"))
	}
	if again {
		fmt.Fprintf(b, "          - on fail -> self retry %d\n", rapid.IntRange(1, 2).Draw(t, "retry"))
	}
	for range rules {
		trigger := rapid.SampledFrom([]string{"pass", "fail", "fail", "fail", "reject", "any", "skip"}).Draw(t, "trigger")
		target := rapid.IntRange(-2, n-1).Draw(t, "target")
		rule := ""
		switch {
		case target == -2:
			rule = "finish"
		case target == -1:
			rule = "next"
			if detour[i] {
				rule = "finish"
			}
		case detour[target] && target != i:
			rule = name(target)
		case target <= i:
			rule = fmt.Sprintf("%s retry %d", name(target), rapid.IntRange(1, 2).Draw(t, "retry"))
		default:
			rule = name(target)
		}
		fmt.Fprintf(b, "          - on %s -> %s\n", trigger, rule)
	}
}

func tryCompile(text string) *graph.Graph {
	doc, found := schema.Decode(diag.NewSource("foundry.yaml", text))
	if found.HasErrors() {
		return nil
	}
	ships, _ := schema.Decode(diag.NewSource(builtins.Name, builtins.YAML()))
	g, _ := graph.New(doc, ships, graph.Files{Path: "foundry.yaml"}).Compile("p")
	return g
}

// fate answers commands as a function of the phase and its visit alone, so that the same run can be played
// in any order.
type fate struct {
	seed  []int
	fixed map[string]int // by visit
}

func (f *fate) roll(visit string, turn int) int {
	if n, ok := f.fixed[visit]; ok {
		return n
	}
	h := 17
	for _, c := range visit {
		h = h*31 + int(c)
	}
	h = h*31 + turn
	return f.seed[((h%len(f.seed))+len(f.seed))%len(f.seed)]
}

// rounds names visits by what leads to them: a phase of a call by the visit of the call and by its visits since.
type rounds struct {
	visits map[string]int // of the log so far
	base   map[string]int // when the call around a phase began last
}

func newRounds() *rounds { return &rounds{map[string]int{}, map[string]int{}} }

func (r *rounds) add(g *graph.Graph, e *runner.Event) {
	if e.Kind != runner.PhaseStarted {
		return
	}
	if r.visits[e.Phase] = e.Visit; e.Visit == 1 {
		r.base[e.Phase] = 0 // an item of an edited pipeline is counted anew
	}
	id, ok := g.Lookup(e.Phase)
	for i := range g.Phases {
		if ok && g.Phases[id].Body() != nil && g.Inside(id, graph.PhaseID(i)) {
			r.base[g.Phases[i].Name] = r.visits[g.Phases[i].Name]
		}
	}
}

func (r *rounds) name(g *graph.Graph, phase string, visit int) string {
	out := ""
	id, ok := g.Lookup(phase)
	for ok {
		ph := &g.Phases[id]
		if ph.Name != phase {
			visit = r.visits[ph.Name]
		}
		out = fmt.Sprintf("%s@%d", ph.Local, visit-r.base[ph.Name]) + "/" + out
		id, ok = ph.Owner, ph.Owner >= 0
	}
	return out
}

// tester is a test, or one case of a property.
type tester interface {
	Fatalf(format string, args ...any)
}

// player runs a graph with outcomes from fate; pick chooses which outstanding command is answered next.
type player struct {
	t    tester
	g    *graph.Graph
	f    *fate
	pick func(n int) int
	s    runner.State
	log  []runner.Event
	open []runner.Command
	at   *rounds

	instead func(c runner.Command, e *runner.Event) // changes an answer; may be nil
	sees    func(c runner.Command)                  // sees each command as it comes; may be nil
	lift    string                                  // what a person says to a run that waits for one; "" when nobody does
	edits   int                                     // how often a person edits the workspace before they answer
}

func play(t tester, g *graph.Graph, f *fate, jobs int, pick func(n int) int) (runner.State, []runner.Event) {
	p := &player{t: t, g: g, f: f, pick: pick, s: runner.New(g), at: newRounds()}
	p.feed(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: "run_1", Pipeline: "p", Jobs: jobs}})
	return p.toTheEnd()
}

// playOn goes on with a run of which only the beginning of the log is left, as after a kill.
func playOn(t tester, g *graph.Graph, f *fate, log []runner.Event, pick func(n int) int) (runner.State, []runner.Event) {
	s, missing, err := runner.Replay(g, log, nil)
	if err != nil {
		t.Fatalf("replay: %v", err)
	}
	p := &player{t: t, g: s.Graph(g), f: f, pick: pick, s: s, log: append(slices.Clone(log), missing...), at: newRounds()}
	for i := range p.log {
		p.at.add(p.g, &p.log[i])
	}
	if !s.View().Ended {
		p.feed(runner.Event{Kind: runner.RunResumed})
	}
	return p.toTheEnd()
}

func (p *player) feed(e runner.Event) {
	e.Seq = len(p.log) + 1
	p.log = append(p.log, e)
	before, _ := json.Marshal(p.s.View())
	next, cmds, err := runner.Step(p.g, p.s, e)
	if err != nil {
		p.t.Fatalf("step: %v", err)
	}
	if after, _ := json.Marshal(p.s.View()); string(before) != string(after) {
		p.t.Fatalf("step changed its input: %s, %s", before, after)
	}
	p.s, p.g = next, next.Graph(p.g)
	for _, c := range cmds {
		if c.ID.Kind == runner.Record {
			p.log = append(p.log, *c.Event)
			p.at.add(p.g, c.Event)
		} else {
			p.open = append(p.open, c)
			if p.sees != nil {
				p.sees(c)
			}
		}
	}
}

// toTheEnd fails when the run does not end.
func (p *player) toTheEnd() (runner.State, []runner.Event) {
	for range 20000 {
		if p.once() {
			return p.s, p.log
		}
	}
	p.t.Fatalf("the run does not end\n%s", p.g.Text())
	return p.s, p.log
}

// once carries one command out, and says whether the run has ended.
func (p *player) once() (ended bool) {
	p.open = slices.DeleteFunc(p.open, func(c runner.Command) bool { return !stillWanted(p.g, p.s, c) })
	if p.s.View().Ended {
		return true
	}
	// Questions are answered when nothing else is outstanding, in list order: the order of answers is a
	// person's, not the engine's.
	var work []int
	i := -1
	for j, c := range p.open {
		switch c.ID.Kind {
		case runner.PutAsk:
			if i < 0 || c.ID.Phase < p.open[i].ID.Phase {
				i = j
			}
		case runner.Park:
		default:
			work = append(work, j)
		}
	}
	if len(work) > 0 {
		i = work[p.pick(len(work))]
	}
	if status := p.s.View().Status; i < 0 && p.lift != "" && (status == runner.RunWaiting || status == runner.RunPaused) {
		e := runner.Event{Kind: runner.RunResumed}
		if status == runner.RunWaiting {
			e.Text = p.lift
		}
		p.open = nil
		p.feed(e)
		return false
	}
	if i < 0 {
		p.t.Fatalf("the run is stuck in %s\n%s\n%v", p.s.View().Status, p.g.Text(), p.open)
	}
	c := p.open[i]
	p.open = slices.Delete(p.open, i, i+1)
	if c.ID.Kind != runner.StopWork {
		p.feed(p.answer(c))
	}
	return false
}

func (p *player) answer(c runner.Command) runner.Event {
	e := runner.Event{Visit: c.ID.Visit, Attempt: c.ID.Attempt, Turn: c.ID.Turn}
	if c.ID.Phase >= 0 {
		e.Phase = p.g.Phases[c.ID.Phase].Name
	}
	roll := p.f.roll(p.at.name(p.g, e.Phase, c.ID.Visit), c.ID.Turn)
	switch c.ID.Kind {
	case runner.MakeWorkspace:
		e.Kind = runner.WorkspaceReady
	case runner.TakeSnapshot:
		e.Kind, e.Tree = runner.SnapshotTaken, runner.UnknownTree
	case runner.SendTurn:
		e.Kind = runner.TurnEnded
		text := `{"status": "success", "approved": true}`
		switch roll % 4 {
		case 1:
			text = `{"status": "success", "approved": false}`
		case 2:
			text = `{"status": "fail", "approved": true}`
		}
		if p.g.Phases[c.ID.Phase].Envelope.Name == "plan" {
			text = strings.Replace(text, "}", `, "steps": `+plans[roll%len(plans)]+"}", 1)
		}
		e.Reply = &runner.Reply{Stop: runner.StopEnd, Text: text}
		if c.Purpose.Reviews() {
			e.Reply = answerOf(roll)
		}
	case runner.CheckReview:
		e.Kind = runner.ReviewChecked
		e.Checks = runner.CheckCited(runner.Cited(p.s, c.ID.Phase), nil, func(path string) bool { return path == "a.go" })
	case runner.CheckBoundary:
		e.Kind, e.Tree = runner.BoundaryChecked, runner.UnknownTree
	case runner.StartCommand:
		e.Kind, e.Result = runner.CommandEnded, &runner.CommandResult{Exit: roll % 2}
	case runner.UndoPhase:
		e.Kind = runner.UndoDone
	case runner.MakeApart:
		e.Kind, e.Base, e.Tree = runner.ApartMade, runner.UnknownTree, runner.UnknownTree
	case runner.MergeBack:
		if e.Kind, e.Tree = runner.MergedBack, runner.UnknownTree; roll%5 == 0 {
			e.Outside = []runner.Violation{{Path: "a.go", Change: "conflict", Reason: "both changed it"}}
		}
	case runner.CheckCriterion:
		list := p.g.BodyOf(c.ID.Phase).Criteria
		e.Kind, e.Criterion, e.Outcome = runner.CriterionDone, list[c.ID.N%len(list)].Name, []string{"passed", "failed"}[min(roll%3, 1)]
		e.Result = &runner.CommandResult{Before: c.Before}
	case runner.PutAsk:
		e.Kind, e.Answer = runner.AskAnswered, []string{"approve", "reject"}[roll%2]
	case runner.JudgeGates:
		e.Kind, e.Gate, e.Outcome = runner.GateChecked, "files_non_empty", []string{"passed", "passed", "failed"}[roll%3]
	default:
		p.t.Fatalf("unexpected %s", c.ID)
	}
	if p.instead != nil {
		p.instead(c, &e)
	}
	return e
}

// answerOf is what a reviewer comes up with.
func answerOf(roll int) *runner.Reply {
	switch roll % 6 {
	case 0:
		return &runner.Reply{Stop: runner.StopEnd, Text: `{"verdict": "fail", "reason": "no test", "evidence": []}`}
	case 1:
		return &runner.Reply{Stop: runner.StopEnd, Text: `{"verdict": "pass", "reason": "", "evidence": ["b.go"]}`}
	case 2:
		return &runner.Reply{Stop: runner.StopError, Error: "it crashed"}
	case 3:
		return &runner.Reply{Stop: runner.StopEnd, Text: `{"verdict": "unreachable", "reason": "no way to tell", "evidence": []}`}
	}
	return &runner.Reply{Stop: runner.StopEnd, Text: `{"verdict": "pass", "reason": "", "evidence": ["a.go:12"]}`}
}

// plans are steps that planners answer with: a few orders, nothing, and what is no plan.
var plans = []string{
	`[{"id": "a"}, {"id": "b"}, {"id": "c"}]`, `[{"id": "a", "needs": ["c"]}, {"id": "b"}, {"id": "c", "needs": ["b"]}]`, `[{"id": "c"}, {"id": "d", "needs": ["c"]}]`,
	`[]`, `[{"id": "a"}]`, `[{"id": "a"}, {"id": "a"}]`, `[{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}]`,
}

// stillWanted says whether a command is still to be carried out.
func stillWanted(g *graph.Graph, s runner.State, c runner.Command) bool {
	return isAmong(c, runner.Outstanding(g, s))
}

// story is what must not depend on the order in which things end: each phase's visits with their feedback
// and ends, and the verdict. A call that was ended at once, by a rule that was spent, ends the same way in any
// order, but what else of it ran by then, and what it says of it, is the order's.
func story(g *graph.Graph, s runner.State, log []runner.Event) string {
	g = s.Graph(g)
	by := map[string][]string{}
	cut, at := false, newRounds()
	marks := map[string]map[string]int{} // by call: how much was told of each phase when it began
	for i := range log {
		e := &log[i]
		cut = cut || e.Kind == runner.PhaseEnded && e.Reason == runner.ReasonSpent
	}
	for i := range log {
		e := &log[i]
		switch e.Kind {
		case runner.PhaseStarted:
			feedback := e.Feedback
			if cut {
				feedback = ""
			}
			by[e.Phase] = append(by[e.Phase], fmt.Sprintf("start %s %q", at.name(g, e.Phase, e.Visit), feedback))
			at.add(g, e)
			marks[e.Phase] = map[string]int{}
			for name, told := range by {
				marks[e.Phase][name] = len(told)
			}
		case runner.PhaseEnded, runner.PhaseSkipped:
			for name := range by {
				if e.Reason == runner.ReasonSpent && strings.HasPrefix(name, e.Phase+"/") {
					by[name] = by[name][:marks[e.Phase][name]]
				}
			}
			by[e.Phase] = append(by[e.Phase], fmt.Sprintf("%s %s %s", e.Kind, at.name(g, e.Phase, e.Visit), e.Status))
		}
	}
	var names []string
	for name, told := range by {
		if len(told) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(by[name], ", "))
	}
	v := s.View()
	fmt.Fprintf(&b, "%s %s %s\n", v.Status, v.Reason, v.Text)
	return b.String()
}

func TestRunsEndWithinTheBoundWhateverTheOrder(t *testing.T) {
	t.Parallel()
	compiled, aborted, called, grown := 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := randomPipelines(t)
		g := tryCompile(text)
		if g == nil {
			t.Skip("does not compile")
		}
		compiled++
		if len(g.Own) < len(g.Phases) {
			called++
		}
		f := &fate{seed: rapid.SliceOfN(rapid.IntRange(0, 11), 40, 40).Draw(t, "fate")}
		s, log := play(t, g, f, 1, func(int) int { return 0 })
		checkBound(t, g, s)
		if len(s.Graph(g).Phases) > len(g.Phases) {
			grown++
		}
		want := story(g, s, log)
		// An abort, and fail_fast, are at once: what else ran by then is the order's.
		atOnce := s.View().Reason == runner.ReasonAbort || s.View().Reason == runner.ReasonSpent
		if atOnce {
			aborted++
		}
		for round := range 3 {
			order := rapid.SliceOfN(rapid.IntRange(0, 1000), 30, 30).Draw(t, "order")
			i := 0
			s2, log2 := play(t, g, f, 1+round*3, func(n int) int { i++; return order[i%len(order)] % n })
			checkBound(t, g, s2)
			if _, missing, err := runner.Replay(g, log2, nil); err != nil || len(missing) > 0 {
				t.Fatalf("replay: %v, %v missing\n%s", err, missing, text)
			}
			got := story(g, s2, log2)
			switch {
			case strings.Contains(text, "fail_fast"):
			case atOnce:
				if s2.View().Status != s.View().Status {
					t.Fatalf("another verdict\n%s\n--- want\n%s--- got\n%s", text, want, got)
				}
			case got != want:
				t.Fatalf("another order, another run\n%s\n--- want\n%s--- got\n%s", text, want, got)
			}
		}
		cut := rapid.IntRange(1, len(log)).Draw(t, "cut")
		s3, log3 := playOn(t, g, f, log[:cut], func(int) int { return 0 })
		if got := story(g, s3, log3); got != want {
			t.Fatalf("killed after %d of %d events it goes another way\n%s\n--- want\n%s--- got\n%s", cut, len(log), text, want, got)
		}
	})
	if compiled == 0 || called == 0 || grown == 0 && !testing.Short() {
		t.Fatalf("%d random pipelines compiled, %d with calls, %d had items", compiled, called, grown)
	}
	t.Logf("%d pipelines, %d of them with calls, %d had items, %d aborted", compiled, called, grown, aborted)
}

func checkBound(t tester, g *graph.Graph, s runner.State) {
	total := 0
	g = s.Graph(g)
	for i := range g.Phases {
		v := s.Phase(graph.PhaseID(i)).Visits
		if total += v; v > g.Bound.Visits[i] {
			t.Fatalf("%s was visited %d times; the bound is %d\n%s", g.Phases[i].Name, v, g.Bound.Visits[i], g.Text())
		}
	}
	if total > g.Bound.Phases || s.View().Turns > g.Bound.Turns {
		t.Fatalf("%d visits and %d turns; the bound is %d and %d\n%s", total, s.View().Turns, g.Bound.Phases, g.Bound.Turns, g.Text())
	}
}
