package drive

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"

	"foundry/graph"
	"foundry/runner"
)

// This file makes the workspace of a run that is resumed fit for what is outstanding.

// putBack looks at the workspace before a resume. What an unfinished turn or command had changed is kept
// under a ref, and the workspace goes back to where that turn or command began. A run that was at rest keeps
// what a person changed meanwhile: it is recorded, and voids what saw the old tree.
func (d *driver) putBack(ctx context.Context) error {
	// What the process before left running must not write beside what comes now.
	if err := d.endLeft(); err != nil {
		return err
	}
	if d.Tree == nil {
		return nil
	}
	if err := d.Tree.Verify(ctx); err != nil {
		return fmt.Errorf("looking at the run's workspace: %w", err)
	}
	if err := d.finishRewind(ctx); err != nil {
		return err
	}
	if v := d.state.View(); !v.Ended {
		cut, err := d.undoCutOff(ctx)
		if cut || err != nil {
			return err
		}
	}
	return d.compare(ctx)
}

// undoCutOff puts back what turns, commands and gates had changed that were cut off, and says whether any was.
func (d *driver) undoCutOff(ctx context.Context) (cut bool, err error) {
	var restarts []string // since the pipeline was edited
	if d.Edited != nil {
		restarts = runner.Restarts(d.g(), d.Edited, d.interrupted())
	}
	for _, c := range runner.Outstanding(d.g(), d.interrupted()) {
		restart := c.ID.Phase >= 0 && slices.Contains(restarts, d.g().Phases[c.ID.Phase].Name)
		if c.ID.Kind != runner.SendTurn && c.ID.Kind != runner.StartCommand && c.ID.Kind != runner.JudgeGates && !restart {
			continue
		}
		cut = true
		if err := d.undoUnfinished(ctx, c, restart); err != nil {
			return cut, err
		}
	}
	return cut, d.uncheck(ctx)
}

// compare records what a person changed while the run was at rest. What a phase had changed that the world stopped is
// nobody's to tell from that.
func (d *driver) compare(ctx context.Context) error {
	v := d.state.View()
	if v.Tree == "" || v.Tree == runner.UnknownTree || d.watching {
		return nil
	}
	switch v.Status {
	case runner.RunWaiting, runner.RunPaused, runner.RunRejected, runner.RunAccepted:
	case runner.RunFailed:
		for i := range d.g().Phases {
			if d.state.Phase(graph.PhaseID(i)).Status == runner.Stopped && v.Reason != runner.ReasonOrphaned {
				return nil
			}
		}
	default:
		return nil
	}
	now, err := d.Tree.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("looking at the run's workspace: %w", err)
	}
	if now.Tree == v.Tree {
		return nil
	}
	changes, err := d.Tree.Changes(ctx, v.Tree, now.Tree)
	if err != nil {
		return fmt.Errorf("comparing the run's workspace with its last snapshot: %w", err)
	}
	if len(d.since) == 0 {
		d.seen(d.Tree, now)
	}
	d.take(ctx, runner.Event{Kind: runner.WorkspaceEdited, Tree: now.Tree, Ref: now.Ref, Changed: changedPaths(changes)})
	return d.err
}

// uncheck brings back what a boundary check that was cut off had undone already: else the check that is made again
// would find nothing to blame.
func (d *driver) uncheck(ctx context.Context) error {
	if d.g().Isolation == graph.Checkout {
		return nil
	}
	newest := map[string]int{} // that the log knows, by workspace
	for _, e := range d.Record.Events() {
		if n, err := strconv.Atoi(path.Base(e.Ref)); err == nil {
			newest[path.Dir(e.Ref)] = max(newest[path.Dir(e.Ref)], n)
		}
	}
	for _, c := range runner.Outstanding(d.g(), d.interrupted()) {
		if c.ID.Kind != runner.CheckBoundary && c.ID.Kind != runner.CheckReview && c.ID.Kind != runner.TakeSnapshot {
			continue
		}
		tree := d.Tree
		if c.ID.Kind != runner.TakeSnapshot { // of a visit with a worktree of its own it is what that is made from
			tree = d.treeOf(c)
		}
		before, ok, err := tree.CutOff(ctx, c.ID.String())
		if err == nil && ok && before.N > newest[path.Dir(before.Ref)] {
			err = tree.Restore(ctx, before)
		}
		if err != nil {
			return fmt.Errorf("going back to before the boundary of %s was checked: %w", d.g().Phases[c.ID.Phase].Name, err)
		}
	}
	return nil
}

// interrupted is the state as its process left it: an interruption holds everything back, a resume does not.
func (d *driver) interrupted() runner.State {
	s, _, err := runner.Step(d.g(), d.state, runner.Event{Kind: runner.RunResumed})
	if err != nil {
		return d.state
	}
	return s
}

// undoUnfinished keeps what a cut-off turn, command or gate had changed, and goes back to the newest snapshot of
// its visit; to its first when the phase restarts. A command without one goes back to the newest of the run when nothing
// else ran since; else what it changed cannot be told from what others did, and stays.
func (d *driver) undoUnfinished(ctx context.Context, c runner.Command, restart bool) error {
	name := d.g().Phases[c.ID.Phase].Name
	if d.isApart(name) && (c.ID.Kind == runner.TakeSnapshot || c.ID.Kind == runner.MakeApart) {
		return nil // its worktree is not there yet
	}
	tree := d.treeOf(c)
	ref := ""
	for _, e := range d.Record.Events() {
		if restart && ref != "" {
			break
		}
		if e.Phase == name && e.Visit == c.ID.Visit && ofTree(tree, e.Ref) && (e.Kind == runner.SnapshotTaken || e.Kind == runner.ApartMade || e.Kind == runner.BoundaryChecked || e.Kind == runner.ReviewChecked) {
			ref = e.Ref
		}
	}
	if ref == "" && tree == d.Tree {
		ref = d.newestBefore(name)
	}
	if ref == "" {
		return nil
	}
	to, err := tree.Reload(ctx, ref)
	if err != nil {
		return fmt.Errorf("finding the snapshot from before %s: %w", name, err)
	}
	now, err := tree.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("keeping what %s had changed: %w", name, err)
	}
	if now.Tree == to.Tree || d.g().Isolation == graph.Checkout {
		return nil
	}
	if err := d.append(runner.Event{Kind: runner.Warned, Phase: name, Visit: c.ID.Visit, Ref: now.Ref, Tree: now.Tree,
		Text: fmt.Sprintf("%s was cut off; what it had changed is kept at %s and undone in the workspace", name, now.Ref)}); err != nil {
		return err
	}
	if err := tree.Restore(ctx, to); err != nil {
		return fmt.Errorf("going back to before %s: %w", name, err)
	}
	d.seen(tree, to)
	return nil
}
