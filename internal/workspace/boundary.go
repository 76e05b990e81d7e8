package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"foundry/glob"
)

// Enforce is the boundary of a phase: it compares the workspace with the snapshot from the phase's start,
// path by path, and brings back what the phase was not allowed to change. It believes bytes, not status: a
// file that was dirty before counts when it changed again, a commit hides nothing, and an ignore rule made
// in the phase hides nothing.

// Enforce checks what changed since start against b and undoes what is not allowed. commits allows new
// commits on the run's branch. What was undone is still in the snapshot Before. In the checkout (no
// isolation) nothing is undone; the violations say so.
func (t *Tree) Enforce(ctx context.Context, start Snapshot, b glob.Boundary, commits bool) (Enforced, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := &enforcing{t: t, start: start, boundary: b}
	if err := e.run(ctx, commits); err != nil {
		return e.Enforced, fmt.Errorf("check the boundary of %s: %w", t.dir, err)
	}
	return e.Enforced, nil
}

// enforcing is one call of Enforce.
type enforcing struct {
	Enforced
	t        *Tree
	start    Snapshot
	boundary glob.Boundary
	plain    []Change        // what changed since the start, without renames
	matched  map[string]bool // those that an ignore rule matches
	asked    bool            // matched is known
	steps    []step
	undoing  map[string]int // path: its violation
	ahead    bool           // HEAD has new commits that are allowed
}

func (e *enforcing) run(ctx context.Context, commits bool) error {
	if err := e.mend(ctx); err != nil {
		return err
	}
	exclude, err := e.excludeAtStart(ctx)
	if err != nil {
		return err
	}
	if err := e.t.syncExcludes(exclude); err != nil {
		return err
	}
	if err := e.look(ctx); err != nil {
		return err
	}
	e.End = e.Before
	if err := e.gitState(ctx, commits); err != nil {
		return err
	}
	if err := e.ignored(ctx); err != nil {
		return err
	}
	e.judge()
	if len(e.Violations) == 0 {
		return nil
	}
	if err := e.undoAll(ctx); err != nil {
		return err
	}
	slices.SortStableFunc(e.Violations, func(a, b Violation) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// mend restores the link to the repository before anything else is looked at.
func (e *enforcing) mend(ctx context.Context) error {
	note, err := e.t.mend(ctx, e.start)
	if note != "" {
		e.LinkBroken = true
		v := Violation{Path: ".git", Change: "changed", Reason: "protected (.git belongs to git): " + note, Undone: err == nil}
		e.Violations = append(e.Violations, v)
	}
	return err
}

// excludeAtStart returns info/exclude as it was at the start; never nil.
func (e *enforcing) excludeAtStart(ctx context.Context) ([]byte, error) {
	f, ok := e.start.meta.Own[".git/info/exclude"]
	if !ok {
		return []byte{}, nil
	}
	if data, known := e.t.own.excludes[f.Blob]; known {
		return data, nil
	}
	blobs, err := e.t.shadow.git.blobs(ctx, []string{f.Blob})
	if err != nil {
		return nil, err
	}
	if data := blobs[f.Blob]; data != nil {
		return data, nil
	}
	return []byte{}, nil
}

// look takes the snapshot of what the phase left, and finds out meanwhile what changed since the start. Which
// changes are ignored it asks at the same time only if the phase has not touched the configuration of git.
func (e *enforcing) look(ctx context.Context) error {
	tree, m, err := e.t.tree(ctx, &e.start)
	if err != nil {
		return err
	}
	if e.plain, err = e.t.compare(ctx, e.start.Tree, tree); err != nil {
		return err
	}
	var errs [3]error
	var wg sync.WaitGroup
	if maps.Equal(m.Own, e.start.meta.Own) {
		e.asked = true
		wg.Go(func() { e.matched, errs[0] = e.t.matched(ctx, e.plain) })
	}
	wg.Go(func() { e.Changes, errs[1] = e.t.count(ctx, e.start.Tree, tree, e.plain) })
	e.Before, errs[2] = e.t.keep(ctx, tree, m, &e.start)
	wg.Wait()
	return errors.Join(errs[:]...)
}

// ignored marks the changes that are ignored, once git's own state is as it must be.
func (e *enforcing) ignored(ctx context.Context) (err error) {
	if !e.asked {
		if e.matched, err = e.t.matched(ctx, e.plain); err != nil {
			return err
		}
	}
	return e.t.markIgnored(ctx, e.Changes, e.matched)
}

// judge finds the violations among the changes.
func (e *enforcing) judge() {
	e.undoing = map[string]int{}
	endings := map[string]bool{}
	for _, c := range e.Changes {
		endings[c.Path] = c.EOLOnly
	}
	for _, c := range e.plain {
		if why, ok := e.boundary.Check(c.Path); !ok {
			c.EOLOnly = endings[c.Path]
			e.violation(c, why)
		}
	}
	e.special()
}

// violation records a change that must be undone.
func (e *enforcing) violation(c Change, why string) {
	s := step{path: c.Path, mode: c.OldMode}
	if c.Kind != Created {
		s.blob = c.oldBlob
	}
	v := Violation{Path: c.Path, Change: c.Kind.String(), Reason: why}
	if c.EOLOnly {
		v.Note = "line endings only"
	}
	e.undoing[c.Path] = len(e.Violations)
	e.steps = append(e.steps, s)
	e.Violations = append(e.Violations, v)
}

// special finds pipes, sockets and devices that came or went.
func (e *enforcing) special() {
	was, is := e.start.meta.Special, e.Before.meta.Special
	for _, p := range slices.Sorted(maps.Keys(is)) {
		if was[p] == is[p] {
			continue
		}
		why, ok := e.boundary.Check(p)
		if ok {
			e.Notes = append(e.Notes, fmt.Sprintf("%q is a %s; it is in no snapshot", p, is[p]))
			continue
		}
		if i, known := e.undoing[p]; known { // a file was replaced by it
			e.Violations[i].Change = TypeChanged.String()
			continue
		}
		e.undoing[p] = len(e.Violations)
		e.steps = append(e.steps, step{path: p, mode: nothing})
		e.Violations = append(e.Violations, Violation{Path: p, Change: Created.String(), Reason: why, Note: "a " + is[p]})
	}
	for _, p := range slices.Sorted(maps.Keys(was)) {
		if _, there := is[p]; there {
			continue
		}
		if why, ok := e.boundary.Check(p); !ok {
			if _, known := e.undoing[p]; !known {
				e.Violations = append(e.Violations, Violation{Path: p, Change: Deleted.String(), Reason: why, Note: "a " + was[p] + " cannot be put back"})
			}
		}
	}
}

// undoAll brings the paths back, takes a new snapshot, and compares: what was to be undone must be as at the
// start, everything else as the phase left it.
func (e *enforcing) undoAll(ctx context.Context) error {
	t := e.t
	if t.checkout {
		for i := range e.Violations {
			e.Violations[i].Note = note(e.Violations[i].Note, "isolation is off, so Foundry changes nothing here")
		}
		return nil
	}
	if err := t.verify(ctx); err != nil {
		return err
	}
	if err := t.undo(ctx, e.steps, e.start.meta.Empty); err != nil {
		return err
	}
	for _, s := range e.steps {
		if s.note != "" {
			v := &e.Violations[e.undoing[s.path]]
			v.Note = note(v.Note, s.note)
		}
	}
	var err error
	if e.End, err = t.take(ctx, &e.start); err != nil {
		return err
	}
	return e.prove(ctx)
}

// prove finds out what an undo really did.
func (e *enforcing) prove(ctx context.Context) error {
	t := e.t
	left, err := t.compare(ctx, e.start.Tree, e.End.Tree)
	if err != nil {
		return err
	}
	still := map[string]bool{}
	for _, c := range left {
		still[c.Path] = true
	}
	for p := range e.End.meta.Special {
		still[p] = still[p] || e.start.meta.Special[p] != e.End.meta.Special[p]
	}
	for p, i := range e.undoing {
		v := &e.Violations[i]
		v.Undone = !still[p]
		if still[p] && v.Note == "" {
			v.Note = "it was not as before after the undo"
		}
	}
	moved, err := t.compare(ctx, e.Before.Tree, e.End.Tree)
	if err != nil {
		return err
	}
	for _, c := range moved {
		if _, ok := e.undoing[c.Path]; !ok {
			return fmt.Errorf("undoing what was not allowed has also changed %q; as the phase left it, it is in %s", c.Path, e.Before.Ref)
		}
	}
	e.Changes, err = t.describe(ctx, e.start.Tree, e.End.Tree, left)
	return err
}

func note(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// Restore brings the whole workspace back to a snapshot: files, HEAD, branch and index. What there was is
// kept by a snapshot of its own. It refuses in the checkout.
func (t *Tree) Restore(ctx context.Context, s Snapshot) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.checkout {
		return &BlockedError{Reason: "isolation is off: Foundry puts nothing back in the checkout", Hint: "restore the files by hand from " + s.Ref}
	}
	e := &enforcing{t: t, start: s, undoing: map[string]int{}}
	if err := e.restore(ctx); err != nil {
		return fmt.Errorf("restore %s to %s: %w", t.dir, s.Ref, err)
	}
	return nil
}

func (e *enforcing) restore(ctx context.Context) error {
	t := e.t
	if _, err := t.mend(ctx, e.start); err != nil {
		return err
	}
	if err := t.syncExcludes(nil); err != nil {
		return err
	}
	var err error
	if e.Before, err = t.take(ctx, nil); err != nil {
		return err
	}
	if err := e.gitState(ctx, false); err != nil {
		return err
	}
	diff, err := t.compare(ctx, e.start.Tree, e.Before.Tree)
	if err != nil {
		return err
	}
	for _, c := range diff {
		e.violation(c, "")
	}
	for p := range e.Before.meta.Special {
		if _, known := e.undoing[p]; !known && e.start.meta.Special[p] == "" {
			e.undoing[p] = len(e.Violations)
			e.steps = append(e.steps, step{path: p, mode: nothing})
			e.Violations = append(e.Violations, Violation{Path: p})
		}
	}
	if err := t.undo(ctx, e.steps, e.start.meta.Empty); err != nil {
		return err
	}
	if e.End, err = t.take(ctx, nil); err != nil {
		return err
	}
	if err := e.prove(ctx); err != nil {
		return err
	}
	for _, v := range e.Violations {
		if _, ok := e.undoing[v.Path]; ok && !v.Undone {
			return fmt.Errorf("%q is not as it was: %s", filepath.Join(t.dir, v.Path), v.Note)
		}
	}
	return nil
}
