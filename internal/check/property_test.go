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
	"foundry/runner"
	"foundry/schema"
)

// randomPipeline writes a pipeline of up to nine phases with needs, detours, jumps of every kind, finish,
// optional and when. Most of what it writes compiles; what does not is thrown away.
func randomPipeline(t *rapid.T) string {
	n := rapid.IntRange(2, 9).Draw(t, "phases")
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nproject: {harness: script}\nagents:\n  coder: {extends: builtin/builder, script: [{reply: x}]}\n  critic: {extends: builtin/reviewer, script: [{reply: x}]}\npipelines:\n  p:\n")
	if rapid.IntRange(0, 5).Draw(t, "flag") == 0 {
		b.WriteString("    keep_going: true\n")
	}
	b.WriteString("    phases:\n")
	name := func(i int) string { return fmt.Sprintf("p%d", i) }
	detour := make([]bool, n)
	for i := range n {
		detour[i] = i > 0 && rapid.IntRange(0, 5).Draw(t, "detour") == 0
	}
	for i := range n {
		fmt.Fprintf(&b, "      - id: %s\n", name(i))
		kind := rapid.SampledFrom([]string{"run", "run", "agent", "critic", "ask"}).Draw(t, "kind")
		switch kind {
		case "run":
			b.WriteString("        run: make\n")
		case "agent":
			b.WriteString("        agent: coder\n")
		case "critic":
			b.WriteString("        agent: critic\n")
		case "ask":
			b.WriteString("        ask: well?\n")
		}
		if detour[i] {
			b.WriteString("        detour: true\n")
		} else if i > 0 && rapid.Bool().Draw(t, "has needs") {
			var needs []string
			for j := range i {
				if !detour[j] && rapid.IntRange(0, 2).Draw(t, "need") == 0 {
					needs = append(needs, name(j))
				}
			}
			fmt.Fprintf(&b, "        needs: [%s]\n", strings.Join(needs, ", "))
		}
		if kind != "ask" && !detour[i] && rapid.IntRange(0, 6).Draw(t, "optional") == 0 {
			b.WriteString("        optional: true\n")
		}
		rules := rapid.IntRange(0, 2).Draw(t, "rules")
		if rules == 0 {
			continue
		}
		b.WriteString("        route:\n")
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
			fmt.Fprintf(&b, "          - on %s -> %s\n", trigger, rule)
		}
	}
	return b.String()
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
	seed []int
}

func (f *fate) roll(name string, visit, turn int) int {
	h := 17
	for _, c := range name {
		h = h*31 + int(c)
	}
	h = h*31 + visit*7 + turn
	return f.seed[((h%len(f.seed))+len(f.seed))%len(f.seed)]
}

// play runs a graph with outcomes from fate; pick chooses which outstanding command is answered next. It
// fails when a run does not end within the bound.
func play(t *rapid.T, g *graph.Graph, f *fate, jobs int, pick func(n int) int) (runner.State, []runner.Event) {
	s := runner.New(g)
	var log []runner.Event
	var open []runner.Command
	trees := 0
	feed := func(e runner.Event) {
		e.Seq = len(log) + 1
		log = append(log, e)
		before, _ := json.Marshal(s.View())
		next, cmds, err := runner.Step(g, s, e)
		if err != nil {
			t.Fatalf("step: %v", err)
		}
		if after, _ := json.Marshal(s.View()); string(before) != string(after) {
			t.Fatalf("step changed its input: %s, %s", before, after)
		}
		s = next
		for _, c := range cmds {
			if c.ID.Kind == runner.Record {
				log = append(log, c.Event)
			} else {
				open = append(open, c)
			}
		}
	}
	feed(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: "run_1", Pipeline: "p", Jobs: jobs}})
	for steps := 0; ; steps++ {
		if steps > 20000 {
			t.Fatalf("the run does not end\n%s", g.Text())
		}
		open = slices.DeleteFunc(open, func(c runner.Command) bool { return !stillWanted(g, s, c) })
		if s.View().Ended {
			return s, log
		}
		// Questions are answered when nothing else is outstanding, in list order: the order of answers is a
		// person's, not the engine's.
		var work []int
		asks := -1
		for i, c := range open {
			switch c.ID.Kind {
			case runner.PutAsk:
				if asks < 0 || c.ID.Phase < open[asks].ID.Phase {
					asks = i
				}
			case runner.Park:
			default:
				work = append(work, i)
			}
		}
		i := asks
		if len(work) > 0 {
			i = work[pick(len(work))]
		}
		if i < 0 {
			t.Fatalf("the run is stuck in %s\n%s\n%v", s.View().Status, g.Text(), open)
		}
		c := open[i]
		open = slices.Delete(open, i, i+1)
		e := runner.Event{Visit: c.ID.Visit, Attempt: c.ID.Attempt, Turn: c.ID.Turn}
		if c.ID.Phase >= 0 {
			e.Phase = g.Phases[c.ID.Phase].Name
		}
		roll := f.roll(e.Phase, c.ID.Visit, c.ID.Turn)
		switch c.ID.Kind {
		case runner.MakeWorkspace:
			e.Kind = runner.WorkspaceReady
		case runner.TakeSnapshot:
			trees++
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
			e.Reply = &runner.Reply{Stop: runner.StopEnd, Text: text}
		case runner.CheckBoundary:
			e.Kind, e.Tree = runner.BoundaryChecked, runner.UnknownTree
		case runner.StartCommand:
			e.Kind, e.Result = runner.CommandEnded, &runner.CommandResult{Exit: roll % 2}
		case runner.UndoPhase:
			e.Kind = runner.UndoDone
		case runner.PutAsk:
			e.Kind, e.Answer = runner.AskAnswered, []string{"approve", "reject"}[roll%2]
		case runner.StopWork:
			continue
		default:
			t.Fatalf("unexpected %s", c.ID)
		}
		feed(e)
	}
}

// stillWanted says whether a command is still to be carried out.
func stillWanted(g *graph.Graph, s runner.State, c runner.Command) bool {
	return isAmong(c, runner.Outstanding(g, s))
}

// story is what must not depend on the order in which things end: each phase's visits with their feedback
// and ends, and the verdict.
func story(s runner.State, log []runner.Event) string {
	by := map[string][]string{}
	for _, e := range log {
		switch e.Kind {
		case runner.PhaseStarted:
			by[e.Phase] = append(by[e.Phase], fmt.Sprintf("start@%d %q", e.Visit, e.Feedback))
		case runner.PhaseEnded, runner.PhaseSkipped:
			by[e.Phase] = append(by[e.Phase], fmt.Sprintf("%s@%d %s", e.Kind, e.Visit, e.Status))
		}
	}
	var names []string
	for name := range by {
		names = append(names, name)
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
	compiled, aborted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := randomPipeline(t)
		g := tryCompile(text)
		if g == nil {
			t.Skip("does not compile")
		}
		compiled++
		f := &fate{seed: rapid.SliceOfN(rapid.IntRange(0, 11), 40, 40).Draw(t, "fate")}
		s, log := play(t, g, f, 1, func(int) int { return 0 })
		want := story(s, log)
		for i := range g.Phases {
			if v := s.Phase(graph.PhaseID(i)).Visits; v > g.Bound.Visits[i] {
				t.Fatalf("%s was visited %d times; the bound is %d\n%s", g.Phases[i].Name, v, g.Bound.Visits[i], text)
			}
		}
		if s.View().Reason == runner.ReasonAbort || s.View().Reason == runner.ReasonSpent {
			aborted++ // an abort is at once: what else ran by then is the order's
		}
		for round := range 3 {
			order := rapid.SliceOfN(rapid.IntRange(0, 1000), 30, 30).Draw(t, "order")
			i := 0
			s2, log2 := play(t, g, f, 1+round*3, func(n int) int { i++; return order[i%len(order)] % n })
			got := story(s2, log2)
			if s.View().Reason == runner.ReasonAbort || s.View().Reason == runner.ReasonSpent {
				if s2.View().Status != s.View().Status {
					t.Fatalf("another verdict\n%s\n--- want\n%s--- got\n%s", text, want, got)
				}
				continue
			}
			if got != want {
				t.Fatalf("another order, another run\n%s\n--- want\n%s--- got\n%s", text, want, got)
			}
			if _, missing, err := runner.Replay(g, log2); err != nil || len(missing) > 0 {
				t.Fatalf("replay: %v, %v missing\n%s", err, missing, text)
			}
		}
	})
	if compiled == 0 {
		t.Fatal("no random pipeline compiled")
	}
	t.Logf("%d pipelines, %d of them aborted", compiled, aborted)
}
