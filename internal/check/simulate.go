// Package check owns the pipeline test: a compiled graph driven by given outcomes, without a model, a process
// or git. The machine is the real one; only the world is made up.
package check

import (
	"fmt"
	"slices"

	"foundry/graph"
	"foundry/runner"
)

// Given is one made-up outcome: of an agent's turn, a command, a criterion or a question.
type Given struct {
	Reply   string // an agent's reply
	Stop    runner.Stop
	Exit    int
	Output  string
	Timeout bool
	Approve bool
	Note    string // of a rejection
	Changed []string
	Looked  bool              // Changed was given: an empty list is an unchanged tree
	Gates   map[string]string // outcomes by gate; those not named pass
	Tokens  int
	Cost    float64
	Repeat  bool // serves all that follow
}

// World answers a machine's commands from what is given.
type World struct {
	Phases   map[string][]Given // by phase
	Criteria map[string][]Given
	Pick     func(n int) int // which of n outstanding commands is answered next; nil: the first

	served map[string]int
	trees  int
	last   map[string]Given // by phase: the outcome that its boundary and gates look at
}

// Run is a finished simulation.
type Run struct {
	State  runner.State
	Events []runner.Event // facts and decisions, in order
	Path   []string       // one entry a visit
	Parked bool
}

// Simulate runs a pipeline to its end, or until it waits for something that is not given. An error says
// which outcome was missing.
func Simulate(g *graph.Graph, info runner.RunInfo, w *World) (Run, error) {
	w.served, w.last = map[string]int{}, map[string]Given{}
	s := runner.New(g)
	var out Run
	var open []runner.Command
	feed := func(e runner.Event) error {
		e.Seq = len(out.Events) + 1
		out.Events = append(out.Events, e)
		next, cmds, err := runner.Step(g, s, e)
		if err != nil {
			return err
		}
		s = next
		for _, c := range cmds {
			if c.ID.Kind == runner.Record {
				c.Event.Seq = len(out.Events) + 1
				out.Events = append(out.Events, c.Event)
				if c.Event.Kind == runner.PhaseStarted {
					out.Path = append(out.Path, c.Event.Phase)
				}
				continue
			}
			open = append(open, c)
		}
		return nil
	}
	err := feed(runner.Event{Kind: runner.RunStarted, Run: &info})
	for err == nil && len(open) > 0 {
		i := 0
		if w.Pick != nil {
			i = w.Pick(len(open))
		}
		c := open[i]
		open = slices.Delete(open, i, i+1)
		if c.ID.Kind == runner.End {
			break
		}
		if c.ID.Kind == runner.Park {
			out.Parked = true
			continue
		}
		var facts []runner.Event
		if facts, err = w.answer(g, s, c); err == nil {
			out.Parked = false
			for _, f := range facts {
				if err = feed(f); err != nil {
					break
				}
			}
		}
		open = slices.DeleteFunc(open, func(c runner.Command) bool { return !stillWanted(g, s, c) })
	}
	out.State = s
	return out, err
}

// stillWanted drops what the machine has taken back, as a driver would stop it.
func stillWanted(g *graph.Graph, s runner.State, c runner.Command) bool {
	return slices.ContainsFunc(runner.Outstanding(g, s), func(o runner.Command) bool { return o.ID == c.ID })
}

// answer makes the facts that a command asks for.
func (w *World) answer(g *graph.Graph, s runner.State, c runner.Command) ([]runner.Event, error) {
	e := runner.Event{Visit: c.ID.Visit, Attempt: c.ID.Attempt, Turn: c.ID.Turn}
	if c.ID.Phase >= 0 {
		e.Phase = g.Phases[c.ID.Phase].Name
	}
	switch c.ID.Kind {
	case runner.MakeWorkspace:
		e.Kind = runner.WorkspaceReady
	case runner.TakeSnapshot:
		e.Kind, e.Tree, e.Purpose = runner.SnapshotTaken, w.tree(), c.Purpose.String()
	case runner.SendTurn:
		given, err := w.next(w.Phases, e.Phase, "turn")
		if err != nil {
			return nil, err
		}
		w.last[e.Phase] = given
		w.touch(given)
		e.Kind = runner.TurnEnded
		e.Reply = &runner.Reply{Stop: given.Stop, Text: given.Reply, Tokens: given.Tokens, Cost: given.Cost, CostKnown: true}
		if given.Stop == "" {
			e.Reply.Stop = runner.StopEnd
		}
		if given.Reply == "" && e.Reply.Stop != runner.StopEnd {
			e.Reply.Error = "given as " + string(given.Stop)
		}
	case runner.CheckBoundary:
		given := w.last[e.Phase]
		e.Kind, e.Tree, e.Changed, e.Unknown = runner.BoundaryChecked, w.tree(), given.Changed, !given.Looked
	case runner.JudgeGates:
		return w.gates(g, c, e), nil
	case runner.StartCommand:
		return w.command(g, c, e)
	case runner.PutAsk:
		given, err := w.next(w.Phases, e.Phase, "answer")
		if err != nil {
			return nil, err
		}
		e.Kind, e.Answer, e.Text = runner.AskAnswered, "reject", given.Note
		if given.Approve {
			e.Answer = "approve"
		}
	case runner.UndoPhase:
		w.trees++
		e.Kind, e.Tree = runner.UndoDone, w.tree()
	case runner.CheckCriterion:
		name := g.Criteria[c.ID.N%len(g.Criteria)].Name
		given, err := w.next(w.Criteria, name, "outcome of criterion")
		if err != nil {
			return nil, err
		}
		e.Kind, e.Criterion, e.Outcome = runner.CriterionDone, name, "failed"
		if codes := g.Criteria[c.ID.N%len(g.Criteria)].Command; codePasses(codes.ExitCodes, codes.Nonzero, given.Exit) {
			e.Outcome = "passed"
		}
		e.Result = &runner.CommandResult{Command: name, Exit: given.Exit, Output: given.Output, Before: c.Before}
	case runner.StopWork:
		return nil, nil
	default:
		return nil, fmt.Errorf("BUG: command %s has no made-up answer", c.ID)
	}
	return []runner.Event{e}, nil
}

func codePasses(codes []int, nonzero bool, exit int) bool {
	if nonzero {
		return exit > 0
	}
	return (len(codes) == 0 && exit == 0) || slices.Contains(codes, exit)
}

func (w *World) command(g *graph.Graph, c runner.Command, e runner.Event) ([]runner.Event, error) {
	ph := &g.Phases[c.ID.Phase]
	e.Kind = runner.CommandEnded
	if ph.Kind != graph.Code && len(w.Phases[e.Phase]) == 0 {
		e.Result = &runner.CommandResult{Command: ph.Name}
		return []runner.Event{e}, nil
	}
	given, err := w.next(w.Phases, e.Phase, "run")
	if err != nil {
		return nil, err
	}
	w.last[e.Phase] = given
	if len(given.Changed) > 0 || (g.Phases[c.ID.Phase].Declared && !given.Looked) {
		w.trees++
	}
	e.Result = &runner.CommandResult{Command: ph.Name, Exit: given.Exit, Output: given.Output, Timeout: given.Timeout}
	if given.Timeout {
		e.Result.Exit = -1
	}
	e.Result.Outputs, e.Result.Missing = runner.ReadOutputs(ph.Outputs, given.Output)
	return []runner.Event{e}, nil
}

func (w *World) gates(g *graph.Graph, c runner.Command, e runner.Event) []runner.Event {
	var out []runner.Event
	for _, gate := range g.Phases[c.ID.Phase].Gates {
		e.Kind, e.Gate, e.Outcome = runner.GateChecked, gate.Spec.Name, "passed"
		switch said := w.last[e.Phase].Gates[gate.Spec.Name]; {
		case said == "fail" || said == "failed":
			e.Outcome = "failed"
		case said == "empty":
			e.Outcome = "empty"
		}
		out = append(out, e)
	}
	return out
}

// next serves the next entry of a list.
func (w *World) next(lists map[string][]Given, name, what string) (Given, error) {
	list, n := lists[name], w.served[what+" "+name]
	w.served[what+" "+name]++
	switch {
	case n < len(list):
		return list[n], nil
	case len(list) > 0 && list[len(list)-1].Repeat:
		return list[len(list)-1], nil
	}
	return Given{}, fmt.Errorf("%s %d of %s is not given", what, n+1, name)
}

// Left names what was given and never asked for; a repeated entry never is left over.
func (w *World) Left() []string {
	var out []string
	for what, lists := range map[string]map[string][]Given{"turn": w.Phases, "run": w.Phases, "answer": w.Phases} {
		for name, list := range lists {
			if n, ok := w.served[what+" "+name]; ok && n < len(list) && !list[len(list)-1].Repeat {
				out = append(out, fmt.Sprintf("%s: %d of %d", name, len(list)-n, len(list)))
			}
		}
	}
	slices.Sort(out)
	return out
}

func (w *World) touch(g Given) {
	if !g.Looked || len(g.Changed) > 0 {
		w.trees++
	}
}

func (w *World) tree() string { return fmt.Sprintf("tree-%d", w.trees) }
