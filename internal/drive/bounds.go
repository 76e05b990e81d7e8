package drive

import (
	"context"
	"fmt"
	"slices"

	"foundry/graph"
	"foundry/internal/workspace"
	"foundry/runner"
)

// This file looks at the workspace: snapshots, what a visit changed, and putting it back.

// snapshot keeps the workspace as it is. The start of a phase is remembered for its boundary.
func (d *driver) snapshot(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	e := d.named(c, runner.SnapshotTaken)
	if d.watching && c.ID.Phase < 0 {
		e.Purpose = c.Purpose.String() // nobody goes back to it
		send(e)
		return
	}
	snap, err := d.look(ctx, c, &e, send)
	if err != nil {
		send(failed(c, e.Phase, fmt.Errorf("taking a snapshot of the workspace: %w", err)))
		return
	}
	e.Purpose, e.Tree, e.Ref = c.Purpose.String(), snap.Tree, snap.Ref
	if c.Purpose == runner.ForAsk {
		e.Text = d.world(ctx, s, c).Context // the question may show it
	}
	if c.Purpose == runner.ForStart && !d.isApart(e.Phase) {
		d.remember(c, snap)
		d.lookOutside(ctx, c)
	}
	send(e)
}

func (d *driver) remember(c runner.Command, s workspace.Snapshot) {
	d.snapMu.Lock()
	defer d.snapMu.Unlock()
	d.snaps[visitKey{c.ID.Phase, c.ID.Visit}] = s
}

// startOf is the snapshot before a visit, in its workspace: remembered, or found in the log by its ref after a resume.
func (d *driver) startOf(ctx context.Context, c runner.Command) (workspace.Snapshot, error) {
	d.snapMu.Lock()
	s, ok := d.snaps[visitKey{c.ID.Phase, c.ID.Visit}]
	d.snapMu.Unlock()
	if ok {
		return s, nil
	}
	name := d.g().Phases[c.ID.Phase].Name
	ref := ""
	for _, e := range d.Record.Events() {
		starts := e.Kind == runner.SnapshotTaken && e.Purpose == runner.ForStart.String() || e.Kind == runner.ApartMade
		if starts && e.Phase == name && e.Visit == c.ID.Visit && ofTree(d.treeOf(c), e.Ref) {
			ref = e.Ref
		}
	}
	if ref == "" {
		return s, fmt.Errorf("the record has no snapshot from before %s@%d", name, c.ID.Visit)
	}
	s, err := d.treeOf(c).Reload(ctx, ref)
	if err == nil {
		d.remember(c, s)
	}
	return s, err
}

// boundary looks at what the visit changed and undoes what it may not have changed.
func (d *driver) boundary(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	ph := &d.g().Phases[c.ID.Phase]
	if !ph.Apart { // what is undone here must not be missed by who did it and is looked at next
		d.lookMu.Lock()
		defer d.lookMu.Unlock()
	}
	start, err := d.startOf(ctx, c)
	if err != nil {
		send(failed(c, ph.Name, err))
		return
	}
	start.For = c.ID.String()
	commits := ph.Commits || ph.Kind == graph.Commit
	got, err := d.treeOf(c).Enforce(ctx, start, runner.Boundary(d.g(), s, c.ID.Phase), commits)
	if err != nil {
		send(failed(c, ph.Name, fmt.Errorf("checking what %s changed: %w", ph.Name, err)))
		return
	}
	e := d.named(c, runner.BoundaryChecked)
	e.Tree, e.Ref, e.Changed = got.End.Tree, got.End.Ref, changedPaths(got.Changes)
	d.seen(d.treeOf(c), got.End)
	d.snapMu.Lock()
	d.ends[visitKey{c.ID.Phase, c.ID.Visit}] = got.End
	d.snapMu.Unlock()
	for _, note := range got.Notes {
		w := d.named(c, runner.Warned)
		w.Text = note
		send(w)
	}
	if !d.isolated() {
		got.Violations = d.ownViolations(s, c, got.Violations, send)
	}
	if len(got.Violations) > 0 {
		e.Kept = got.Before.Ref // what was undone is still in it
	}
	e.Outside = violations(got.Violations)
	if !d.isApart(ph.Name) {
		e.Outside = d.blame(s, c, e.Outside)
	}
	e.Outside = append(e.Outside, d.sayOutside(ctx, c, send)...)
	d.isLooked(c, true)
	send(e)
}

// ownViolations are those that the phase itself speaks of. In the checkout a person may be at work at the same time:
// what changed there and the agent's report does not name is said, and nobody is blamed for it.
func (d *driver) ownViolations(s runner.State, c runner.Command, all []workspace.Violation, send func(...runner.Event)) []workspace.Violation {
	ph := &d.g().Phases[c.ID.Phase]
	claims := ph.Envelope.Claims(runner.Envelope(s, c.ID.Phase))
	var own []workspace.Violation
	for i, v := range all {
		if slices.Contains(claims, v.Path) {
			own = append(own, v)
			continue
		}
		e := d.named(c, runner.OutsideChanged)
		e.Text = v.Path + " was " + v.Change
		if v.Change == "head" || v.Change == "index" {
			e.Text = v.Path + " has changed"
		}
		e.Text += fmt.Sprintf(", which %s may not do (%s); it may have been somebody else", ph.Name, v.Reason)
		if i == mostOutside {
			e.Text = fmt.Sprintf("and %d more", len(all)-i)
		}
		if i <= mostOutside {
			send(e)
		}
	}
	return own
}

// changedPaths lists both sides of a rename.
func changedPaths(changes []workspace.Change) []string {
	out := []string{}
	for _, ch := range changes {
		if ch.From != "" {
			out = append(out, ch.From)
		}
		out = append(out, ch.Path)
	}
	return out
}

// undo puts the workspace back to where the visit began. What is put back is kept under a ref.
func (d *driver) undo(ctx context.Context, c runner.Command, send func(...runner.Event)) {
	e := d.named(c, runner.UndoDone)
	start, err := d.startOf(ctx, c)
	if err == nil {
		var now workspace.Snapshot
		if now, err = d.treeOf(c).Snapshot(ctx); err == nil && d.isolated() {
			e.Ref, err = now.Ref, d.treeOf(c).Restore(ctx, start)
			if now.Tree == start.Tree {
				e.Text = "it had changed nothing"
			}
		} else if err == nil {
			e.Text = "isolation is off: what it changed stays"
			start = now
		}
	}
	if err != nil {
		send(failed(c, e.Phase, fmt.Errorf("putting back what %s changed: %w", e.Phase, err)))
		return
	}
	d.seen(d.treeOf(c), start)
	e.Tree = start.Tree
	send(e)
}
