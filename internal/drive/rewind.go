package drive

import (
	"context"
	"errors"
	"fmt"

	"foundry/graph"
	"foundry/internal/workspace"
	"foundry/runner"
)

// This file takes a run's workspace back to the beginning of an earlier visit. The log says so first: a process that
// dies in between leaves a run whose resume does the rest.

// Rewind goes back. c.Tree is the run's workspace, e names the phase and the fact (To); then and now are the states
// from there and at present. The event that was logged is returned: its Kept still has what was there.
func Rewind(ctx context.Context, c Config, then, now runner.State, missing []runner.Event, e runner.Event) (runner.Event, error) {
	d := newDriver(c, now)
	if err := errors.Join(d.append(missing...), d.endLeft()); err != nil {
		return e, err
	}
	if err := c.Tree.Verify(ctx); err != nil {
		return e, fmt.Errorf("looking at the run's workspace: %w", err)
	}
	target, err := c.Tree.Reload(ctx, e.Ref)
	if err != nil {
		return e, fmt.Errorf("finding the snapshot from before %s: %w", e.Phase, err)
	}
	kept, err := c.Tree.Snapshot(ctx)
	if err != nil {
		return e, fmt.Errorf("keeping the workspace as it is: %w", err)
	}
	e.Ref, e.Tree, e.Kept = target.Ref, target.Tree, kept.Ref
	_, decisions, err := runner.Rewound(c.Graph, then, now, e)
	if err != nil {
		return e, err
	}
	log := []runner.Event{e}
	for _, cmd := range decisions {
		log = append(log, *cmd.Event)
	}
	if err := errors.Join(d.append(log...), c.Record.Sync()); err != nil {
		return e, err
	}
	return log[0], d.restore(ctx, target)
}

// restore brings the workspace to where a rewind wants it, and says so in the log.
func (d *driver) restore(ctx context.Context, to workspace.Snapshot) error {
	if err := d.Tree.Restore(ctx, to); err != nil {
		return fmt.Errorf("going back to %s: %w", to.Ref, err)
	}
	d.seen(d.Tree, to)
	return errors.Join(d.append(runner.Event{Kind: runner.Restored, Ref: to.Ref, Tree: to.Tree}), d.Record.Sync())
}

// finishRewind does what a rewind left undone whose process died.
func (d *driver) finishRewind(ctx context.Context) error {
	ref := ""
	for _, e := range d.Record.Events() {
		switch e.Kind {
		case runner.RunRewound:
			ref = e.Ref
		case runner.Restored, runner.RunResumed:
			ref = ""
		}
	}
	if ref == "" {
		return nil
	}
	to, err := d.Tree.Reload(ctx, ref)
	if err != nil {
		return fmt.Errorf("finding the snapshot that the run goes back to: %w", err)
	}
	if _, err := d.Tree.Snapshot(ctx); err != nil {
		return fmt.Errorf("keeping the workspace as it is: %w", err)
	}
	return d.restore(ctx, to)
}

// Before is the ref of the snapshot from right before a visit whose event has the number start. between names
// commands that ran since that snapshot was taken, whose changes it does not have.
func Before(g *graph.Graph, events []runner.Event, phase string, start int) (ref string, between []string) {
	starts := map[string]string{}
	for i, e := range events {
		if e.Seq > start {
			if e.Kind == runner.SnapshotTaken && e.Phase == phase && e.Visit == events[start-1].Visit && e.Purpose == runner.ForStart.String() {
				return e.Ref, nil // from the visit itself
			}
			if e.Kind == runner.PhaseStarted && e.Phase == phase {
				break
			}
			continue
		}
		key := fileName(e.Phase, e.Visit, "")
		switch e.Kind {
		case runner.SnapshotTaken, runner.BoundaryChecked, runner.ReviewChecked, runner.MergedBack, runner.RunRewound:
			if e.Ref == "" || e.OfOwnTree() {
				continue
			}
			ref, between = e.Ref, nil
			if e.Purpose == runner.ForStart.String() {
				starts[key] = e.Ref
			}
		case runner.UndoDone:
			if starts[key] != "" && !e.OfOwnTree() {
				ref, between = starts[key], nil
			}
		case runner.CommandEnded:
			if ph, ok := g.Expect(e.Phase); ok && ph.Kind == graph.Code && !ph.Apart && e.Seq < start && i > 0 {
				between = append(between, e.Phase)
			}
		}
	}
	if ref == "" && len(between) == 0 {
		ref = "1" // the run's first, taken for the first command
	}
	return ref, between
}
