package drive

import (
	"context"
	"errors"
	"fmt"

	"foundry/graph"
	"foundry/runner"
)

// This file ends a run that no process carries out any more: one that was killed while it was at rest, or whose
// process is gone. It ends as it would have if its process had heard of it: what was cut off is stopped, put back
// and kept under a ref, and nothing new is started.

// Close ends such a run with a fact: run.killed, or world.failed. Processes that the run left are ended first. c.Tree
// is nil when the run has no workspace that could be put back; the fact alone is then recorded.
func Close(ctx context.Context, c Config, s runner.State, missing []runner.Event, fact runner.Event) (err error) {
	d := newDriver(c, s)
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		stop()
		d.drain()
	}()
	if err := errors.Join(d.append(missing...), d.endLeft()); err != nil {
		return err
	}
	if d.Tree != nil {
		if err := d.Tree.Verify(work); err != nil {
			d.Tree = nil
			if err := d.append(runner.Event{Kind: runner.Warned, Text: fmt.Sprintf("the workspace is left as it is: %v", err)}); err != nil {
				return err
			}
		}
	}
	if d.Tree == nil || s.View().Ended {
		return Note(c.Graph, c.Record, d.state, nil, c.Now, fact)
	}
	if err := errors.Join(d.recall(work), d.reopenApart(work)); err != nil {
		return err
	}
	d.still = true // what is outstanding has been cut off
	d.take(work, fact)
	d.still = false
	d.ended = d.state.View().Ended
	for _, cmd := range runner.Outstanding(c.Graph, d.state) {
		d.cutOff(work, cmd)
	}
	for d.err == nil && !d.ended && len(d.working) > 0 {
		d.report(work, <-d.facts)
	}
	return errors.Join(d.err, d.Record.Sync())
}

// cutOff answers for a command whose process is gone: a turn, a command and gates as stopped, what concerns the
// workspace alone by doing it.
func (d *driver) cutOff(work context.Context, c runner.Command) {
	const gone = "its process was gone"
	switch c.ID.Kind {
	case runner.SendTurn:
		e := d.named(c, runner.TurnEnded)
		e.Turn, e.Reply = c.ID.Turn, &runner.Reply{Stop: runner.StopCancelled, Error: gone}
		e.Agent, e.Harness, e.Model = d.g().Agents[c.Agent].Name, d.g().Agents[c.Agent].Harness, d.g().Model(c.ID.Phase, c.Agent)
		if c.Purpose.Reviews() {
			e.Purpose = c.Purpose.String()
		}
		d.take(work, e)
	case runner.StartCommand:
		e := d.named(c, runner.CommandEnded)
		e.Result = &runner.CommandResult{Command: d.g().Phases[c.ID.Phase].Script.Label, Exit: -1, Notes: []string{gone}}
		d.take(work, e)
	case runner.CheckCriterion:
		list := d.g().BodyOf(c.ID.Phase).Criteria
		e := d.named(c, runner.CriterionDone)
		cr := &list[c.ID.N%len(list)]
		e.Criterion, e.Outcome, e.Optional = cr.Name, "unverified", !cr.Required
		e.Result = &runner.CommandResult{Exit: -1, Notes: []string{gone}, Before: c.Before}
		d.take(work, e)
	case runner.JudgeGates:
		ph, judged := &d.g().Phases[c.ID.Phase], 0
		for _, e := range d.Record.Events() {
			if e.Kind == runner.GateChecked && e.Phase == ph.Name && e.Visit == c.ID.Visit && e.Attempt == c.ID.Attempt {
				judged++
			}
		}
		for _, g := range ph.Gates[min(judged, len(ph.Gates)):] {
			e := d.named(c, runner.GateChecked)
			e.Gate, e.Outcome = g.Spec.Name, "failed"
			d.take(work, e)
		}
	case runner.MakeApart:
		d.take(work, d.named(c, runner.ApartMade))
	case runner.TakeSnapshot, runner.CheckBoundary, runner.CheckReview, runner.UndoPhase, runner.MergeBack:
		d.start(work, c)
	}
}

// isolated says whether the run works in a worktree of its own, where things can be put back.
func (d *driver) isolated() bool { return d.g().Isolation != graph.Checkout }
