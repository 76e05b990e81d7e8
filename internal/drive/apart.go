package drive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"foundry/graph"
	"foundry/internal/workspace"
	"foundry/runner"
)

// This file has the worktrees that visits of phases have to themselves: making them, merging the work in them into the
// run's workspace, and taking them down. A worktree is there from worktree.made until its visit is over; all snapshots
// of it stay. The merge can be made again after a death in the middle of it: what is merged, and into what, is known
// from the log, and not from what is found.

// aside is the name of a visit's own worktree within its run.
func aside(phase string, visit int) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, runner.FileName(phase))
	if name != phase { // two names may come to the same
		sum := sha256.Sum256([]byte(phase))
		name = fmt.Sprintf("%s-%s", name[:min(len(name), 40)], hex.EncodeToString(sum[:4]))
	}
	return fmt.Sprintf("%s.%d", name, visit)
}

// ownTree is the worktree that a visit has to itself.
type ownTree struct {
	tree  *workspace.Tree
	phase string
	visit int
}

// isApart says whether visits of a phase have worktrees to themselves.
func (d *driver) isApart(phase string) bool {
	id, ok := d.g().Lookup(phase)
	return ok && d.g().Phases[id].Apart
}

// treeOf is the workspace that a command is about: the run's, or that of its visit.
func (d *driver) treeOf(c runner.Command) *workspace.Tree {
	return d.treeIn(c.ID.Phase, c.ID.Visit)
}

// treeIn is the workspace of a visit; of the run as a whole for phase -1.
func (d *driver) treeIn(phase graph.PhaseID, visit int) *workspace.Tree {
	if phase < 0 || !d.g().Phases[phase].Apart {
		return d.Tree
	}
	name := d.g().Phases[phase].Name
	d.snapMu.Lock()
	defer d.snapMu.Unlock()
	t, ok := d.asides[aside(name, visit)]
	if !ok {
		panic(fmt.Sprintf("BUG: the worktree of %s@%d is not open", name, visit))
	}
	return t.tree
}

// ofTree says whether a ref is a snapshot of a workspace.
func ofTree(t *workspace.Tree, ref string) bool {
	return ref != "" && path.Base(path.Dir(ref)) == t.Run()
}

// makeApart makes the worktree that a visit has to itself.
func (d *driver) makeApart(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	e := d.named(c, runner.ApartMade)
	a, ok := s.Apart(d.g(), c.ID.Phase)
	if !ok {
		panic("BUG: " + e.Phase + " has no worktree to itself")
	}
	t, err := d.raise(ctx, e.Phase, c.ID.Visit, a.Ref, a.Tree)
	if err == nil {
		err = d.setUp(ctx, t, s, e.Phase, c.ID.Visit, send)
	}
	var start workspace.Snapshot
	if err == nil {
		start, err = t.Snapshot(ctx)
	}
	if e.Base = start.Tree; err == nil && a.LeftBase != "" {
		start, err = d.addRemains(ctx, t, start, a, &e)
	}
	switch {
	case ctx.Err() != nil: // nobody wants it any more
		send(d.named(c, runner.ApartMade))
		return
	case err != nil:
		send(failed(c, e.Phase, fmt.Errorf("making the worktree of %s: %w", e.Phase, err)))
		return
	}
	e.Tree, e.Ref, e.Worktree = start.Tree, start.Ref, t.Dir()
	d.remember(c, start)
	d.lookOutside(ctx, c)
	send(e)
}

// raise makes the worktree of a visit, with the files of a tree, where the run's branch was at one of its snapshots. What
// there is of it already was begun by a process that is gone.
func (d *driver) raise(ctx context.Context, phase string, visit int, ref, tree string) (*workspace.Tree, error) {
	from, err := d.Tree.Reload(ctx, ref)
	if err != nil {
		return nil, err
	}
	name := aside(phase, visit)
	g := d.g()
	t, err := d.Repo.AddWorktree(ctx, workspace.WorktreeSpec{Run: workspace.AsideOf(d.Record.ID(), name), Commit: from.Head, Detached: true, Scratch: g.Project.Scratch, Again: true})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(watch(t, g), t.Prepare(ctx, g.Project.Copy, g.Project.Link)); err != nil {
		return nil, err
	}
	now, err := t.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.Become(ctx, now, tree); err != nil {
		return nil, err
	}
	d.snapMu.Lock()
	d.asides[name] = ownTree{t, phase, visit}
	d.snapMu.Unlock()
	return t, nil
}

// setUp runs the commands that prepare a worktree.
func (d *driver) setUp(ctx context.Context, t *workspace.Tree, s runner.State, phase string, visit int, send func(...runner.Event)) error {
	return settingUp{g: d.g(), record: d.Record, tree: t, info: *s.View().Info, environ: d.Environ, guard: d.Guard, force: d.Force, phase: phase, visit: visit}.
		commands(ctx, func(e runner.Event) { send(e) })
}

// addRemains brings into a fresh worktree what fits of the work of an earlier visit that was not merged.
func (d *driver) addRemains(ctx context.Context, t *workspace.Tree, start workspace.Snapshot, a runner.Apart, e *runner.Event) (workspace.Snapshot, error) {
	both, err := d.Repo.Combine(ctx, a.LeftBase, start.Tree, a.LeftTree)
	if err != nil {
		return start, err
	}
	if both.Tree != start.Tree {
		e.Text = "it has what the visit before it had changed, as far as that fits"
		if err := t.Become(ctx, start, both.Tree); err != nil {
			return start, err
		}
	}
	return t.Snapshot(ctx)
}

// mergeBack merges the work of a visit into the run's workspace, or says where it conflicts and changes nothing.
func (d *driver) mergeBack(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	e := d.named(c, runner.MergedBack)
	a, ok := s.Apart(d.g(), c.ID.Phase)
	if !ok {
		panic("BUG: " + e.Phase + " has no worktree to itself")
	}
	if err := d.merge(ctx, a, c, &e, send); err != nil {
		if ctx.Err() == nil {
			send(failed(c, e.Phase, fmt.Errorf("merging the work of %s: %w", e.Phase, err)))
		}
		return
	}
	send(e)
}

func (d *driver) merge(ctx context.Context, a runner.Apart, c runner.Command, e *runner.Event, send func(...runner.Event)) error {
	end, err := d.endSnapshot(ctx, c)
	if err != nil {
		return err
	}
	e.Kept = end.Ref
	both, err := d.Repo.Combine(ctx, a.Base, a.Run, a.End)
	if err != nil {
		return err
	}
	for _, no := range both.Conflicts {
		e.Outside = append(e.Outside, runner.Violation{Path: no.Path, Change: "conflict", Reason: no.Why})
	}
	if len(both.Conflicts) > 0 {
		return nil
	}
	found, err := d.Tree.Snapshot(ctx)
	if err != nil {
		return err
	}
	if err := d.sayForeign(ctx, a.Run, found, both.Tree, send); err != nil {
		return err
	}
	if err := d.Tree.Become(ctx, found, both.Tree); err != nil {
		return err
	}
	now, err := d.Tree.Snapshot(ctx)
	if err != nil {
		return err
	}
	d.seen(d.Tree, now)
	changes, err := d.Tree.Changes(ctx, a.Run, now.Tree)
	if err != nil {
		return err
	}
	e.Tree, e.Ref, e.Combined = now.Tree, now.Ref, a.Run != a.Tree
	e.Changed = slices.DeleteFunc(changedPaths(changes), func(p string) bool { return !isWork(p) })
	d.sayIgnored(ctx, c, send)
	return nil
}

// sayForeign tells of files in the run's workspace that are neither as the run left them nor as the merge wants them:
// nothing of the run works there now. They are put right, and stay under the ref.
func (d *driver) sayForeign(ctx context.Context, was string, found workspace.Snapshot, wanted string, send func(...runner.Event)) error {
	if found.Tree == was || found.Tree == wanted {
		return nil
	}
	since, err := d.Tree.Changes(ctx, was, found.Tree)
	if err != nil {
		return err
	}
	left, err := d.Tree.Changes(ctx, found.Tree, wanted)
	if err != nil {
		return err
	}
	open := map[string]bool{}
	for _, p := range changedPaths(left) {
		open[p] = true
	}
	var foreign []string
	for _, p := range changedPaths(since) {
		if open[p] {
			foreign = append(foreign, p)
		}
	}
	if len(foreign) > 0 {
		send(runner.Event{Kind: runner.Warned, Ref: found.Ref, Changed: foreign,
			Text: fmt.Sprintf("%s changed in the run's workspace while only phases with worktrees of their own were at work; it was put back, and is kept at %s", strings.Join(foreign, ", "), found.Ref)})
	}
	return nil
}

// sayIgnored tells which files of a visit stay behind since git ignores them.
func (d *driver) sayIgnored(ctx context.Context, c runner.Command, send func(...runner.Event)) {
	made, err := d.treeOf(c).MadeIgnored(ctx)
	if err != nil || len(made) == 0 {
		return // nothing depends on it
	}
	e := d.named(c, runner.Warned)
	e.Text = fmt.Sprintf("ignored files that %s made are not merged: %s", e.Phase, strings.Join(made[:min(len(made), 5)], ", "))
	if n := len(made) - 5; n > 0 {
		e.Text += fmt.Sprintf(", and %d more", n)
	}
	send(e)
}

// reopenApart opens the worktrees of the visits that were under way in an earlier process. One that is gone is made anew,
// with the files of the newest snapshot that there is of it.
func (d *driver) reopenApart(ctx context.Context) error {
	if d.Tree == nil || !d.isolated() {
		return nil
	}
	s := d.interrupted()
	made := map[string]runner.Event{}
	newest := map[string]int{}
	for _, e := range d.Record.Events() {
		name := aside(e.Phase, e.Visit)
		if e.Kind == runner.ApartMade {
			made[name] = e
		}
		if n, err := strconv.Atoi(path.Base(e.Ref)); err == nil && path.Base(path.Dir(e.Ref)) == workspace.AsideOf(d.Record.ID(), name) {
			newest[name] = max(newest[name], n)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		e := made[name]
		id, ok := d.g().Lookup(e.Phase)
		if !ok || !s.UnderWay(id, e.Visit) {
			continue
		}
		t, err := d.Repo.OpenWorktree(ctx, workspace.WorktreeSpec{Run: workspace.AsideOf(d.Record.ID(), name), Detached: true, Scratch: d.g().Project.Scratch})
		if err == nil {
			err = errors.Join(watch(t, d.g()), t.Verify(ctx))
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, workspace.ErrBrokenLink) {
			err = d.raiseAgain(ctx, s, id, e, newest[name])
		} else if err == nil {
			d.asides[name] = ownTree{t, e.Phase, e.Visit}
		}
		if err != nil {
			return fmt.Errorf("opening the worktree of %s: %w", e.Phase, err)
		}
	}
	return d.sweepApart()
}

// raiseAgain makes a worktree anew that is not there any more.
func (d *driver) raiseAgain(ctx context.Context, s runner.State, id graph.PhaseID, made runner.Event, newest int) error {
	a, _ := s.Apart(d.g(), id)
	ref := path.Dir(made.Ref) + "/" + strconv.Itoa(newest)
	tree, err := d.Repo.TreeAt(ctx, ref)
	if err != nil {
		return err
	}
	t, err := d.raise(ctx, made.Phase, made.Visit, a.Ref, tree)
	if err != nil {
		return err
	}
	err = d.setUp(ctx, t, s, made.Phase, made.Visit, func(events ...runner.Event) { d.err = errors.Join(d.err, d.append(events...)) })
	return errors.Join(err, d.err, d.append(runner.Event{Kind: runner.Warned, Phase: made.Phase, Visit: made.Visit,
		Text: fmt.Sprintf("the worktree of %s was gone; it was made anew, as it was at %s", made.Phase, ref)}))
}

// asidesOver are the worktrees of visits that are over.
func (d *driver) asidesOver() []string {
	d.snapMu.Lock()
	defer d.snapMu.Unlock()
	var out []string
	for name, of := range d.asides {
		if id, ok := d.g().Lookup(of.phase); !ok || !d.state.UnderWay(id, of.visit) {
			out = append(out, name)
			delete(d.asides, name)
		}
	}
	return out
}

// takeDown removes the worktree of a visit that is over.
func (d *driver) takeDown(name string) error {
	return d.Repo.TakeDown(context.Background(), d.Record.ID(), name)
}

// sweepApart takes down what a process that died has left of visits that were over.
func (d *driver) sweepApart() error {
	names, err := d.Repo.Aside(d.Record.ID())
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if _, open := d.asides[name]; !open {
			errs = append(errs, d.takeDown(name))
		}
	}
	return errors.Join(errs...)
}
