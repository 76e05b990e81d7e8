package live

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"foundry/gates"
	"foundry/graph"
	"foundry/runner"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const id = "run_261130_a1b2c3"

// tape gives a model the messages of a run: each call of at sets the clock, each on adds events of a visit.
type tape struct {
	*Model
	now time.Time
}

func play(g *graph.Graph, o Options) *tape {
	o.Graph, o.Run = g, id
	l := &tape{New(o), noon}
	l.add(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: id, Pipeline: g.Pipeline, Request: "add subtraction to the calculator\nand test it",
		Isolation: "worktree", Base: "main", Branch: "foundry/" + id}})
	for i := range g.Phases {
		l.on(g.Phases[i].Name, 0, runner.Event{Kind: runner.PhaseQueued})
	}
	return l
}

func (l *tape) at(seconds float64) *tape {
	l.now = noon.Add(time.Duration(seconds * float64(time.Second)))
	l.Update(Tick{l.now})
	return l
}

func (l *tape) add(events ...runner.Event) *tape {
	for _, e := range events {
		e.At = l.now
		l.Update(Event{e})
	}
	return l
}

func (l *tape) on(phase string, visit int, events ...runner.Event) *tape {
	for _, e := range events {
		e.Phase, e.Visit = phase, visit
		l.add(e)
	}
	return l
}

func (l *tape) size(width, height int) *tape {
	l.Update(Size{width, height})
	return l
}

// keys presses keys by their names; what is no name is typed.
func (l *tape) keys(names ...string) (last Effect) {
	for _, n := range names {
		k := Key{Name: n}
		if len([]rune(n)) == 1 {
			k.Text = n
		}
		last = l.Update(k)
	}
	return last
}

func (l *tape) typed(text string) *tape {
	for _, r := range text {
		l.Update(Key{Name: string(r), Text: string(r)})
	}
	return l
}

var entered = runner.Event{Kind: runner.PhaseStarted}

func ended(status, reason, text string) runner.Event {
	return runner.Event{Kind: runner.PhaseEnded, Status: status, Reason: reason, Text: text}
}

func turn(tokens int) []runner.Event {
	return []runner.Event{{Kind: runner.TurnStarted, Agent: "coder", Harness: "command"},
		{Kind: runner.TurnEnded, Reply: &runner.Reply{Stop: runner.StopEnd, Tokens: tokens, Cost: 0.02, CostKnown: true}}}
}

func reply(text string) runner.Event {
	return runner.Event{Kind: runner.EnvelopeAccepted, Envelope: json.RawMessage(text)}
}

func command(exit int, output string) runner.Event {
	return runner.Event{Kind: runner.CommandEnded, File: "logs/test.log", Result: &runner.CommandResult{Command: "go test ./...", Exit: exit, Output: output, Millis: 1240}}
}

// repair is a pipeline of all kinds of phases.
func repair() *graph.Graph {
	g := &graph.Graph{Agents: []graph.Agent{{Name: "planner"}, {Name: "coder"}, {Name: "reviewer"}}}
	g.Pipeline = "plan-build-test"
	for i, ph := range []graph.Phase{
		{Name: "plan", Kind: graph.AgentWork},
		{Name: "build", Kind: graph.AgentWork, Agent: 1, Description: "writes the code", Needs: []graph.PhaseID{0}},
		{Name: "test", Kind: graph.Code, Script: graph.Script{Label: "go test ./..."}, Needs: []graph.PhaseID{1}},
		{Name: "checks", Kind: graph.Calls, Needs: []graph.PhaseID{2}},
		{Name: "checks/lint", Local: "lint", Kind: graph.Code, Script: graph.Script{Label: "golangci-lint run"}, Owner: 3},
		{Name: "review", Kind: graph.AgentWork, Agent: 2, Needs: []graph.PhaseID{3}},
		{Name: "ship", Kind: graph.Ask, Needs: []graph.PhaseID{5}},
		{Name: "rescue", Kind: graph.AgentWork, Agent: 1, Detour: true, Routers: []graph.PhaseID{2}},
	} {
		ph.ID = graph.PhaseID(i)
		if ph.Local == "" {
			ph.Local, ph.Owner = ph.Name, -1
		}
		g.Phases = append(g.Phases, ph)
	}
	return g
}

const failures = "=== RUN TestSub\n--- FAIL: TestSub (0.00s)\n    calc_test.go:7: got -1, want 1\nFAIL\nexit status 1\nFAIL\tcalc\t0.003s\n"

// toRepair is a run whose test failed once; the second test runs.
func toRepair(o Options) *tape {
	l := play(repair(), o)
	l.at(0.2).add(runner.Event{Kind: runner.WorkspaceReady})
	l.on("plan", 1, entered).on("plan", 1, turn(4100)...).at(8).on("plan", 1, reply(`{"status":"success","summary":"one step: write Sub"}`), ended("success", "", ""))
	l.on("build", 1, entered).on("build", 1, turn(8200)...).at(27).on("build", 1, reply(`{"status":"success","summary":"first try"}`),
		runner.Event{Kind: runner.GateChecked, Gate: "diff_matches_claims", Outcome: "passed", Checks: []gates.Check{{Item: "calc.go", OK: true}}}, ended("success", "", ""))
	rule := runner.Event{Rule: `on fail when exit == 1 -> build retry 2 with tail(output, 40)`, Target: "build", Used: 1, Of: 2, Seen: []runner.Seen{{Term: "exit == 1", Value: "true"}}}
	pending, taken := rule, rule
	pending.Kind, taken.Kind = runner.RoutePending, runner.RouteTaken
	l.on("test", 1, entered).at(28.3).on("test", 1, command(1, failures), ended("fail", "exit", "exit 1"), pending, taken)
	for _, p := range []string{"build", "test", "checks", "review", "ship"} {
		l.on(p, 2, runner.Event{Kind: runner.PhaseQueued})
	}
	l.on("build", 2, entered).on("build", 2, turn(1800)...).at(39).on("build", 2, reply(`{"status":"success","summary":"operands fixed"}`), ended("success", "", ""))
	l.on("test", 2, entered).at(41.6)
	l.Update(Output{"test", 2, strings.Split("=== RUN   TestAdd\n--- PASS: TestAdd (0.00s)\n=== RUN   TestSub", "\n")})
	return l
}

// toAsk is the same run when a person is asked.
func toAsk(o Options) *tape {
	l := toRepair(o)
	l.on("test", 2, command(0, "ok\n"), ended("success", "", ""))
	l.on("checks", 1, runner.Event{Kind: runner.PhaseStarted, Calls: "lint-all"}).on("checks/lint", 1, entered).at(47).on("checks/lint", 1, command(0, ""), ended("success", "", "")).
		on("checks", 1, ended("success", "", ""))
	l.on("review", 1, entered).on("review", 1, turn(12400)...).at(71).on("review", 1, reply(`{"status":"success","approved":true,"summary":"does what was asked"}`), ended("success", "", ""))
	l.on("ship", 1, entered, runner.Event{Kind: runner.AskRaised, Text: "Ship it?\nIt is Friday, and the change touches the public interface of the calculator."})
	l.Update(Asked{Question{"ship", "Ship it?\nIt is Friday, and the change touches the public interface of the calculator.", "foundry diff " + id}})
	return l.at(75)
}

// long is a run of sixty phases of which two run at once and some have been entered several times.
func long(o Options) *tape {
	g := &graph.Graph{}
	g.Pipeline = "migrate"
	for i := range 60 {
		name := fmt.Sprintf("step-%02d", i+1)
		g.Phases = append(g.Phases, graph.Phase{ID: graph.PhaseID(i), Name: name, Local: name, Owner: -1, Kind: graph.Code, Script: graph.Script{Label: "./" + name + ".sh"}})
	}
	l := play(g, o)
	for i := range 40 {
		name := g.Phases[i].Name
		for visit := 1; visit <= 1+i%4; visit++ {
			l.on(name, visit, entered).at(float64(i*4+visit)).on(name, visit, command(0, "done\n"), ended("success", "", ""))
		}
	}
	return l.on("step-41", 1, entered).on("step-42", 1, entered).at(170)
}
