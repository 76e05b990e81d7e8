package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A snapshot is a git tree of everything in a workspace that is not ignored, with the literal bytes of every
// file, and a commit that keeps it under refs/foundry/<run>/<n>. It costs about what one git status costs:
// git and a scan of the directories, side by side, find what differs from the private index, and only that is read.

// Tree is the workspace of one run. Its methods may be called from several goroutines, one works at a time.
type Tree struct {
	repo     *Repo
	run      string
	dir      string
	admin    string // git directory of the worktree
	link     string // content of the .git file; empty for the checkout
	branch   string // full name; empty when detached or for the checkout
	checkout bool   // isolation is off: nothing is ever put back
	git      git    // pinned to the worktree

	mu       sync.Mutex
	shadow   *shadow
	scan     *scanner
	own      owner
	next     int // number of the next snapshot
	last     *Snapshot
	trees    *trees
	now      string                // the tree of the private index with the overlay
	over     map[string]difference // where the files differ from the private index
	saved    identity              // of the real index when it was last copied
	copied   string
	notes    []string
	hookTime time.Duration // a commit with the user's hooks may take so long
}

// Dir returns the directory of the workspace.
func (t *Tree) Dir() string { return t.dir }

// GitDir returns the git directory of the workspace: of a worktree, its own one.
func (t *Tree) GitDir() string { return t.admin }

// Run returns the id of the run that the workspace belongs to.
func (t *Tree) Run() string { return t.run }

// Isolated reports whether this is a worktree of its own, not the user's checkout.
func (t *Tree) Isolated() bool { return !t.checkout }

// Watch adds globs of files that snapshots must hold even when they are ignored: protected ones, and the ones
// copied into the worktree. It must be called before the snapshot that a later check starts from.
func (t *Tree) Watch(globs []string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.watch(globs)
}

func (t *Tree) watch(globs []string) error {
	old := len(t.shadow.state.Watch)
	for _, g := range globs {
		if !slices.Contains(t.shadow.state.Watch, g) {
			t.shadow.state.Watch = append(t.shadow.state.Watch, g)
		}
	}
	if len(t.shadow.state.Watch) == old {
		return nil
	}
	return t.shadow.save()
}

// Snapshot takes and keeps the state of the workspace. When nothing differs from the last snapshot, that one
// is returned again.
func (t *Tree) Snapshot(ctx context.Context) (Snapshot, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.verify(ctx); err != nil {
		return Snapshot{}, err
	}
	if err := t.syncExcludes(nil); err != nil {
		return Snapshot{}, err
	}
	s, err := t.take(ctx, nil)
	if err != nil {
		return s, fmt.Errorf("take a snapshot of %s: %w", t.dir, err)
	}
	if !t.shadow.state.Based && !t.checkout {
		if err := t.baseline(ctx); err != nil {
			return s, err
		}
	}
	return s, nil
}

// take makes a snapshot. start, when it is given, is the snapshot whose ignore rules count.
func (t *Tree) take(ctx context.Context, start *Snapshot) (Snapshot, error) {
	tree, m, err := t.tree(ctx, start)
	if err != nil {
		return Snapshot{}, err
	}
	return t.keep(ctx, tree, m, start)
}

// keep makes a snapshot of a tree, unless the last one says the same.
func (t *Tree) keep(ctx context.Context, tree string, m meta, start *Snapshot) (Snapshot, error) {
	why := ""
	if start != nil && (tree != start.Tree || !start.meta.equal(m)) {
		why = start.For // it is found by that, so it has to be one of its own
	}
	if why == "" && t.last != nil && t.last.Tree == tree && t.last.meta.equal(m) {
		return *t.last, nil
	}
	return t.write(ctx, tree, m, why)
}

// tree makes the tree of the workspace as it is.
func (t *Tree) tree(ctx context.Context, start *Snapshot) (string, meta, error) {
	if err := t.ready(ctx); err != nil {
		return "", meta{}, err
	}
	var m meta
	var headErr, ownErr error
	var wg sync.WaitGroup
	wg.Go(func() { m.Head, m.Branch, headErr = t.headState(ctx) })
	s, err := t.survey(ctx)
	if err == nil {
		m.Own, ownErr = t.own.state(t.shadow.store)
	}
	wg.Wait()
	if err = errors.Join(err, headErr, ownErr); err != nil {
		return "", m, err
	}
	if err := t.apply(ctx, s); err != nil {
		return "", m, err
	}
	m.Empty = s.scan.empty
	if m.Hidden, err = t.hidden(s.scan.rules); err != nil {
		return "", m, err
	}
	other := false
	if start != nil {
		if other, err = t.otherRules(ctx, *start, m.Hidden); err != nil {
			return "", m, err
		}
	}
	if other {
		if s.scan, err = t.underRules(ctx, *start); err != nil {
			return "", m, err
		}
		maps.DeleteFunc(m.Hidden, func(p, _ string) bool { return t.over[p].mode != "" })
	}
	m.Special = s.scan.special
	if m.Nested, err = t.nested(ctx, s.scan.nested); err != nil {
		return "", m, err
	}
	m.Busy = busy(t.admin)
	if m.Index, err = t.saveIndex(); err != nil {
		return "", m, err
	}
	return t.now, m, nil
}

// write makes the commit of a snapshot and its ref. why is what it is found by, if anything.
func (t *Tree) write(ctx context.Context, tree string, m meta, why string) (Snapshot, error) {
	kept, err := t.own.keep(t.trees, m.Own)
	if err != nil {
		return Snapshot{}, err
	}
	parents := []string{kept}
	if m.Head != "" {
		parents = []string{m.Head, kept}
	}
	s := Snapshot{N: t.next, Ref: refOf(t.run, strconv.Itoa(t.next)), Tree: tree, Head: m.Head, Branch: m.Branch, meta: m}
	title := fmt.Sprintf("foundry snapshot %d of %s", s.N, t.run)
	if why != "" {
		title += ", " + why
	}
	if s.Commit, err = t.shadow.store.commit(tree, fmt.Sprintf("%s\n\n%s\n", title, m.encode()), parents...); err != nil {
		return Snapshot{}, err
	}
	if err := t.repo.git.write(ctx, "update-ref", "--no-deref", "-m", "foundry: snapshot", s.Ref, s.Commit, strings.Repeat("0", len(s.Commit))); err != nil {
		return Snapshot{}, fmt.Errorf("keep the snapshot: %w", err)
	}
	t.next++
	t.last = &s
	return s, nil
}

// CutOff finds the workspace as it was before an Enforce that was cut off: the first snapshot that it
// took, by the For of the snapshot that it compared with. ok is false when it had not begun, or changed nothing.
func (t *Tree) CutOff(ctx context.Context, why string) (s Snapshot, ok bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out, err := t.repo.git.read(ctx, "for-each-ref", "--format=%(refname) %(contents:subject)", refOf(t.run, ""))
	if err != nil {
		return s, false, fmt.Errorf("look for a boundary that was cut off: %w", err)
	}
	first := 0
	for _, line := range strings.Split(string(out), "\n") {
		ref, title, _ := strings.Cut(line, " ")
		if n, err := strconv.Atoi(path.Base(ref)); err == nil && strings.HasSuffix(title, ", "+why) && (first == 0 || n < first) {
			first = n
		}
	}
	if first == 0 {
		return s, false, nil
	}
	s, err = t.reload(ctx, strconv.Itoa(first))
	return s, err == nil, err
}

// refOf is a ref of a run.
func refOf(run, name string) string { return "refs/foundry/" + run + "/" + name }

// Reload returns a snapshot that this or an earlier process took, by its number or its ref.
func (t *Tree) Reload(ctx context.Context, ref string) (Snapshot, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reload(ctx, ref)
}

func (t *Tree) reload(ctx context.Context, ref string) (Snapshot, error) {
	if _, err := strconv.Atoi(ref); err == nil {
		ref = refOf(t.run, ref)
	}
	n, err := strconv.Atoi(path.Base(ref))
	if err != nil || ref != refOf(t.run, strconv.Itoa(n)) {
		return Snapshot{}, fmt.Errorf("load a snapshot: %q is no snapshot of %s", ref, t.run)
	}
	s := Snapshot{N: n, Ref: ref}
	if s.Commit, err = t.repo.ref(ctx, ref); err != nil {
		return Snapshot{}, err
	}
	if s.Commit == "" {
		return Snapshot{}, fmt.Errorf("load a snapshot: %s does not exist", ref)
	}
	raw, err := t.shadow.git.read(ctx, "cat-file", "commit", s.Commit)
	if err != nil {
		return Snapshot{}, fmt.Errorf("load the snapshot %s: %w", ref, err)
	}
	header, message, _ := strings.Cut(string(raw), "\n\n")
	s.Tree = strings.TrimPrefix(strings.SplitN(header, "\n", 2)[0], "tree ")
	_, body, ok := strings.Cut(message, "\n\n")
	if s.meta, err = decodeMeta(body); !ok || err != nil {
		return Snapshot{}, fmt.Errorf("load the snapshot %s: its commit is not one of Foundry's", ref)
	}
	s.Head, s.Branch = s.meta.Head, s.meta.Branch
	return s, nil
}
