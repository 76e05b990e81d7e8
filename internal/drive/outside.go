package drive

import (
	"context"
	"fmt"

	"foundry/graph"
	"foundry/runner"
)

// This file looks at what lies beside a run's worktree while an agent works: the user's checkout and the refs that
// all worktrees share. What changes there is said and never undone, since a person may be at work there; it is held
// against a phase only when one of its calls names it.

// mostOutside bounds how many such changes one visit reports.
const mostOutside = 50

// lookOutside remembers what is there when an agent's visit begins. A look that fails is no reason to stop.
func (d *driver) lookOutside(ctx context.Context, c runner.Command) {
	if !d.watchesOutside(c) {
		return
	}
	if o, err := d.Repo.Outside(ctx, d.base()); err == nil {
		d.snapMu.Lock()
		d.outside[visitKey{c.ID.Phase, c.ID.Visit}] = o
		d.snapMu.Unlock()
	}
}

// sayOutside reports what has changed there since, and returns what is held against the phase.
func (d *driver) sayOutside(ctx context.Context, c runner.Command, send func(...runner.Event)) (own []runner.Violation) {
	d.snapMu.Lock()
	before, ok := d.outside[visitKey{c.ID.Phase, c.ID.Visit}]
	d.snapMu.Unlock()
	if !ok {
		return nil
	}
	now, err := d.Repo.Outside(ctx, d.base())
	if err != nil {
		return nil
	}
	d.snapMu.Lock()
	d.outside[visitKey{c.ID.Phase, c.ID.Visit}] = now // a further attempt reports what is new
	d.snapMu.Unlock()
	list := now.Since(before)
	for i, what := range list {
		e := d.named(c, runner.OutsideChanged)
		e.Text = what.String()
		if v, ok := d.trespass(c, what); ok {
			own = append(own, v)
			continue
		}
		if i == mostOutside {
			e.Text = fmt.Sprintf("and %d more", len(list)-i)
		}
		send(e)
		if i == mostOutside {
			break
		}
	}
	return own
}

func (d *driver) watchesOutside(c runner.Command) bool {
	return d.g().Isolation != graph.Checkout && d.g().Phases[c.ID.Phase].Kind == graph.AgentWork
}

// base is the branch that the run merges into; it moves as people work.
func (d *driver) base() string {
	for _, e := range d.Record.Events() {
		if e.Kind == runner.RunStarted && e.Run != nil {
			return e.Run.Base
		}
	}
	return ""
}
