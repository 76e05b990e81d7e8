package drive

import (
	"context"
	"fmt"
	"strings"

	"foundry/glob"
	"foundry/graph"
	"foundry/internal/workspace"
	"foundry/runner"
)

// This file looks at the workspace: snapshots, what a visit changed, and putting it back.

// snapshot keeps the workspace as it is. The start of a phase is remembered for its boundary.
func (d *driver) snapshot(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	snap, err := d.look(ctx, c, send)
	e := d.named(c, runner.SnapshotTaken)
	if err != nil {
		send(failed(c, e.Phase, fmt.Errorf("taking a snapshot of the workspace: %w", err)))
		return
	}
	e.Purpose, e.Tree, e.Ref = c.Purpose.String(), snap.Tree, snap.Ref
	if c.Purpose == runner.ForAsk {
		e.Text = d.world(ctx, s).Context // the question may show it
	}
	if c.Purpose == runner.ForStart {
		d.remember(c, snap)
	}
	send(e)
}

// look takes a snapshot and, with it, catches up on commands that ran since the last one without a boundary of
// their own: what they changed is said, and what nobody may write is put back.
func (d *driver) look(ctx context.Context, c runner.Command, send func(...runner.Event)) (workspace.Snapshot, error) {
	d.snapMu.Lock()
	last, since := d.last, d.since
	d.snapMu.Unlock()
	if last == nil || len(since) == 0 {
		snap, err := d.Tree.Snapshot(ctx)
		if err == nil {
			d.seen(snap)
		}
		return snap, err
	}
	var bounds glob.Boundary
	for _, p := range since {
		bounds.Protect = append(bounds.Protect, d.Graph.Phases[p].Boundary.Protect...)
	}
	got, err := d.Tree.Enforce(ctx, *last, bounds, true)
	if err != nil {
		return got.End, err
	}
	d.seen(got.End)
	name := d.Graph.Phases[since[len(since)-1]].Name
	for _, v := range got.Violations {
		send(runner.Event{Kind: runner.Warned, Phase: name, Text: fmt.Sprintf("%q was %s: %s; undone: %t", v.Path, v.Change, v.Reason, v.Undone)})
	}
	var tracked []string
	for _, ch := range got.Changes {
		if ch.Kind != workspace.Created {
			tracked = append(tracked, ch.Path)
		}
	}
	if len(tracked) > 0 {
		send(runner.Event{Kind: runner.Warned, Phase: name, Changed: tracked, Text: fmt.Sprintf("undeclared-write: %s changed %s without declaring `writes`", name, strings.Join(tracked, ", "))})
	}
	return got.End, nil
}

// seen notes the newest snapshot: nothing has run since.
func (d *driver) seen(s workspace.Snapshot) {
	d.snapMu.Lock()
	defer d.snapMu.Unlock()
	d.last, d.since = &s, nil
}

func (d *driver) remember(c runner.Command, s workspace.Snapshot) {
	d.snapMu.Lock()
	defer d.snapMu.Unlock()
	d.snaps[visitKey{c.ID.Phase, c.ID.Visit}] = s
}

// startOf is the snapshot before a visit: remembered, or found in the log by its ref after a resume.
func (d *driver) startOf(ctx context.Context, c runner.Command) (workspace.Snapshot, error) {
	d.snapMu.Lock()
	s, ok := d.snaps[visitKey{c.ID.Phase, c.ID.Visit}]
	d.snapMu.Unlock()
	if ok {
		return s, nil
	}
	name := d.Graph.Phases[c.ID.Phase].Name
	ref := ""
	for _, e := range d.Record.Events() {
		if e.Kind == runner.SnapshotTaken && e.Phase == name && e.Visit == c.ID.Visit && e.Purpose == runner.ForStart.String() {
			ref = e.Ref
		}
	}
	if ref == "" {
		return s, fmt.Errorf("the record has no snapshot from before %s@%d", name, c.ID.Visit)
	}
	s, err := d.Tree.Reload(ctx, ref)
	if err == nil {
		d.remember(c, s)
	}
	return s, err
}

// boundary looks at what the visit changed and undoes what it may not have changed.
func (d *driver) boundary(ctx context.Context, c runner.Command, send func(...runner.Event)) {
	ph := &d.Graph.Phases[c.ID.Phase]
	start, err := d.startOf(ctx, c)
	if err != nil {
		send(failed(c, ph.Name, err))
		return
	}
	commits := ph.Commits || ph.Kind == graph.Commit
	got, err := d.Tree.Enforce(ctx, start, ph.Boundary, commits)
	if err != nil {
		send(failed(c, ph.Name, fmt.Errorf("checking what %s changed: %w", ph.Name, err)))
		return
	}
	e := d.named(c, runner.BoundaryChecked)
	e.Tree, e.Ref, e.Changed = got.End.Tree, got.End.Ref, changedPaths(got.Changes)
	d.seen(got.End)
	d.snapMu.Lock()
	d.ends[visitKey{c.ID.Phase, c.ID.Visit}] = got.End.Tree
	d.snapMu.Unlock()
	for _, note := range got.Notes {
		w := d.named(c, runner.Warned)
		w.Text = note
		send(w)
	}
	if len(got.Violations) > 0 {
		e.Kept = got.Before.Ref // what was undone is still in it
	}
	for _, v := range got.Violations {
		e.Outside = append(e.Outside, runner.Violation{Path: v.Path, Change: v.Change, Reason: v.Reason, Undone: v.Undone, Note: v.Note})
	}
	send(e)
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

// undo puts the workspace back to where the visit began.
func (d *driver) undo(ctx context.Context, c runner.Command, send func(...runner.Event)) {
	e := d.named(c, runner.UndoDone)
	start, err := d.startOf(ctx, c)
	if err == nil {
		err = d.Tree.Restore(ctx, start)
	}
	if err != nil {
		send(failed(c, e.Phase, fmt.Errorf("putting back what %s changed: %w", e.Phase, err)))
		return
	}
	d.seen(start)
	e.Tree = start.Tree
	send(e)
}
