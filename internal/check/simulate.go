// Package check owns the pipeline test: a compiled graph driven by given outcomes, without a model, a process
// or git. The machine is the real one; only the world is made up.
package check

import (
	"errors"
	"slices"

	"foundry/graph"
	"foundry/runner"
)

// Run is a finished simulation.
type Run struct {
	State  runner.State
	Events []runner.Event // facts and decisions, in order
	Path   []string       // one entry a visit
	Parked bool           // it waits for something that only a person, or time, can give
}

// Simulate runs a pipeline to its end, or until it waits. A *NotGivenError says which outcome was missing; the
// run up to there is returned with it.
func Simulate(g *graph.Graph, info runner.RunInfo, w *World) (Run, error) {
	w.reset()
	sim := simulation{g: g, w: w, s: runner.New(g)}
	err := sim.feed(runner.Event{Kind: runner.RunStarted, Run: &info})
	for err == nil && len(sim.open) > 0 {
		i := 0
		if w.Pick != nil {
			i = w.Pick(len(sim.open))
		}
		c := sim.open[i]
		sim.open = slices.Delete(sim.open, i, i+1)
		if c.ID.Kind == runner.End {
			break
		}
		if c.ID.Kind != runner.Park {
			err = sim.carryOut(c)
		}
		sim.drop()
	}
	status := sim.s.View().Status
	sim.out.Parked = err == nil && (status == runner.RunWaiting || status == runner.RunPaused)
	sim.out.State = sim.s
	return sim.out, err
}

// simulation is a run under way.
type simulation struct {
	g    *graph.Graph
	w    *World
	s    runner.State
	out  Run
	open []runner.Command
}

// feed tells the machine a fact and takes down what it makes of it.
func (sim *simulation) feed(e runner.Event) error {
	e.Seq = len(sim.out.Events) + 1
	sim.out.Events = append(sim.out.Events, e)
	next, cmds, err := runner.Step(sim.g, sim.s, e)
	if err != nil {
		return err
	}
	sim.s, sim.g = next, next.Graph(sim.g)
	for _, c := range cmds {
		if c.ID.Kind != runner.Record {
			sim.open = append(sim.open, c)
			continue
		}
		c.Event.Seq = len(sim.out.Events) + 1
		sim.out.Events = append(sim.out.Events, *c.Event)
		if c.Event.Kind == runner.PhaseStarted {
			sim.out.Path = append(sim.out.Path, c.Event.Phase)
		}
	}
	return nil
}

// carryOut answers a command. A question that nobody answers stays open when the run may park.
func (sim *simulation) carryOut(c runner.Command) error {
	facts, err := sim.w.answer(sim.g, sim.s, c)
	var missing *NotGivenError
	if c.ID.Kind == runner.PutAsk && sim.w.Park && errors.As(err, &missing) {
		return nil
	}
	for _, f := range facts {
		if err == nil {
			err = sim.feed(f)
		}
	}
	return err
}

// drop takes out what the machine has taken back, as a driver would stop it.
func (sim *simulation) drop() {
	if len(sim.open) == 0 {
		return
	}
	wanted := runner.Outstanding(sim.g, sim.s)
	sim.open = slices.DeleteFunc(sim.open, func(c runner.Command) bool { return !isAmong(c, wanted) })
}

func isAmong(c runner.Command, list []runner.Command) bool {
	return slices.ContainsFunc(list, func(o runner.Command) bool { return o.ID == c.ID })
}
