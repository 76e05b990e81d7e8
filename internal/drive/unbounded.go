package drive

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"foundry/glob"
	"foundry/graph"
	"foundry/internal/workspace"
	"foundry/runner"
)

// This file bounds the programs whose phase has no boundary of its own: commands without `writes`, criteria,
// and the commands of gates. A snapshot before and after each would cost more than most of them; so the next
// snapshot that somebody reads catches up with all that ran since the one before.

// unbounded is a program that ran, or began to, since the newest snapshot.
type unbounded struct {
	phase   string // "" for a criterion of the run, the call for one of a called pipeline
	name    string // as a warning names it
	protect []glob.Rule
	running *bool // whether it still does; nil for one of an earlier process
}

// begins notes that a program without a boundary is about to run, and ends that it has ended. There is a snapshot from
// before it, if need be one made for it. In a worktree of its own it is looked at with its phase.
func (d *driver) begins(ctx context.Context, c runner.Command, name string, protect []glob.Rule) (ends func(), err error) {
	if d.watching || d.treeOf(c) != d.Tree {
		return func() {}, nil
	}
	if err := d.firstSnapshot(ctx); err != nil {
		return nil, err
	}
	d.snapMu.Lock()
	defer d.snapMu.Unlock()
	running := true
	d.since = append(d.since, unbounded{d.named(c, "").Phase, name, protect, &running})
	return func() {
		d.snapMu.Lock()
		running = false
		d.snapMu.Unlock()
	}, nil
}

// firstSnapshot makes sure that there is a snapshot. Of programs that begin together one takes it.
func (d *driver) firstSnapshot(ctx context.Context) error {
	d.firstMu.Lock()
	defer d.firstMu.Unlock()
	d.snapMu.Lock()
	there := d.last != nil
	d.snapMu.Unlock()
	if there {
		return nil
	}
	snap, err := d.Tree.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("taking a snapshot of the workspace: %w", err)
	}
	d.seen(d.Tree, snap)
	return nil
}

// seen notes the newest snapshot of the run's workspace: nothing has run since but what still does.
func (d *driver) seen(t *workspace.Tree, s workspace.Snapshot) {
	if t != d.Tree {
		return
	}
	d.snapMu.Lock()
	defer d.snapMu.Unlock()
	d.last, d.edit = &s, nil
	d.since = slices.DeleteFunc(slices.Clone(d.since), func(u unbounded) bool { return u.running == nil || !*u.running })
}

// look takes a snapshot and, with it, catches up on programs that ran since the last one without a boundary of
// their own: changes that they did not declare are said, and what nobody may write is put back. That is told to the
// machine with e, the fact about the snapshot: a command that passed over a file which nobody may write has proved
// nothing. In the checkout it may have been a person, so there it is only said.
func (d *driver) look(ctx context.Context, c runner.Command, e *runner.Event, send func(...runner.Event)) (workspace.Snapshot, error) {
	d.snapMu.Lock()
	last, since := d.last, d.since
	d.snapMu.Unlock()
	if last == nil || len(since) == 0 {
		snap, err := d.Tree.Snapshot(ctx)
		if err == nil {
			d.seen(d.Tree, snap)
		}
		return snap, err
	}
	var bounds glob.Boundary
	for _, u := range since {
		bounds.Protect = append(bounds.Protect, u.protect...)
	}
	start := *last
	start.For = c.ID.String()
	got, err := d.Tree.Enforce(ctx, start, bounds, true)
	if err != nil {
		return got.End, err
	}
	d.seen(d.Tree, got.End)
	by := since[len(since)-1]
	if !d.isolated() {
		d.sayChanged(got, by, send)
		return got.End, nil
	}
	if len(got.Violations) > 0 {
		e.Kept, e.Outside, e.Suspects = got.Before.Ref, violations(got.Violations), suspects(since)
	}
	var tracked []string
	for _, ch := range got.Changes {
		if ch.Kind != workspace.Created {
			tracked = append(tracked, ch.Path)
		}
	}
	if len(tracked) > 0 {
		send(runner.Event{Kind: runner.Warned, Phase: by.phase, Reason: undeclaredWrite, Changed: tracked, Text: fmt.Sprintf("undeclared-write: %s changed %s without declaring `writes`", by.name, strings.Join(tracked, ", "))})
	}
	return got.End, nil
}

// undeclaredWrite is the reason of the warning about tracked files that a command changed.
const undeclaredWrite = "undeclared-write"

// suspects names what ran: phases by their name, criteria of the run as "criterion NAME".
func suspects(since []unbounded) []string {
	var out []string
	for _, u := range since {
		name := u.phase
		if name == "" {
			name = u.name
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func violations(list []workspace.Violation) []runner.Violation {
	var out []runner.Violation
	for _, v := range list {
		out = append(out, runner.Violation{Path: v.Path, Change: v.Change, Reason: v.Reason, Undone: v.Undone, Note: v.Note})
	}
	return out
}

// sayChanged says what changed in the checkout while programs ran. Whether it was them nobody can tell.
func (d *driver) sayChanged(got workspace.Enforced, by unbounded, send func(...runner.Event)) {
	for _, v := range got.Violations {
		send(runner.Event{Kind: runner.OutsideChanged, Phase: by.phase, Text: fmt.Sprintf("%s was %s while %s ran (%s); it may have been somebody else", v.Path, v.Change, by.name, v.Reason)})
	}
}

// recall finds, from the log of an earlier process, the newest snapshot and what ran since. A snapshot that was
// made for a program alone is in no event; it is the run's first.
func (d *driver) recall(ctx context.Context) error {
	if d.Tree == nil || d.g().Isolation == graph.Checkout {
		return nil
	}
	starts := map[string]string{}
	ref := ""
	var since []unbounded
	var edit *edited
	for _, e := range d.Record.Events() {
		key := fileName(e.Phase, e.Visit, "")
		switch e.Kind {
		case runner.SnapshotTaken, runner.BoundaryChecked, runner.ReviewChecked, runner.MergedBack:
			if e.Ref == "" || e.OfOwnTree() {
				continue
			}
			ref, since, edit = e.Ref, nil, nil
			if e.Purpose == runner.ForStart.String() {
				starts[key] = e.Ref
			}
		case runner.WorkspaceEdited:
			if edit = (&edited{ref: e.Ref, after: len(since)}); len(since) == 0 {
				ref = e.Ref
			}
		case runner.RunRewound:
			ref, since, edit = e.Ref, nil, nil
		case runner.UndoDone:
			if starts[key] != "" && !e.OfOwnTree() {
				ref, since, edit = starts[key], nil, nil
			}
		case runner.PhaseStarted:
			if id, ok := d.g().Lookup(e.Phase); ok && d.g().Phases[id].Kind == graph.Code && !d.g().Phases[id].Apart {
				since = append(since, unbounded{e.Phase, e.Phase, runner.Boundary(d.g(), d.state, id).Protect, nil})
			}
		case runner.CriterionDone:
			call, ok := d.g().Lookup(e.Phase)
			if !ok {
				call = -1
			}
			since = append(since, unbounded{e.Phase, "criterion " + e.Criterion, d.g().BodyOf(call).Protect, nil})
		}
	}
	if len(since) == 0 {
		return nil
	}
	none := ref == ""
	if none {
		ref = "1"
	}
	s, err := d.Tree.Reload(ctx, ref)
	if err != nil && none {
		return nil // it was cut off before that snapshot, and so before the program
	}
	if err != nil {
		return fmt.Errorf("finding the newest snapshot of the run: %w", err)
	}
	d.snapMu.Lock()
	defer d.snapMu.Unlock()
	d.last, d.since, d.edit = &s, since, edit
	return nil
}

// edited is what a person had made of the workspace after programs had run since the newest snapshot: ref has both.
type edited struct {
	ref   string
	after int // how many of driver.since had run before it
}

// newestBefore is the ref of the workspace as it was before a command of a phase began, when nothing else can have
// changed it since; "" when that cannot be told.
func (d *driver) newestBefore(phase string) string {
	if d.last == nil {
		return ""
	}
	ref, since := d.last.Ref, d.since
	if d.edit != nil {
		ref, since = d.edit.ref, since[d.edit.after:]
	}
	if slices.ContainsFunc(since, func(u unbounded) bool { return u.phase != phase }) {
		return ""
	}
	return ref
}
