package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A snapshot is a git tree of everything in a workspace that is not ignored, with the literal bytes of every
// file, and a commit that keeps it under refs/foundry/<run>/<n>. It costs about what one git status costs:
// two calls side by side find what differs from the private index, and only that is read.

// meta is what a snapshot knows besides its tree. It is written into the message of its commit.
type meta struct {
	Head    string             `json:"head,omitempty"`
	Branch  string             `json:"branch,omitempty"`
	Own     map[string]ownFile `json:"own,omitempty"`
	Special map[string]string  `json:"special,omitempty"` // path: fifo, socket, device
	Nested  map[string]string  `json:"nested,omitempty"`  // nested repository: its HEAD, or ""
	Empty   []string           `json:"empty,omitempty"`   // empty directories
	Hidden  map[string]string  `json:"hidden,omitempty"`  // .gitignore files that hide their own directory: digest
	Busy    []string           `json:"busy,omitempty"`    // operations that HEAD is in the middle of
	Index   string             `json:"index,omitempty"`   // the file in the snapshot area that is a copy of the index
}

// Tree is the workspace of one run. Its methods may be called from several goroutines, one works at a time.
type Tree struct {
	repo     *Repo
	run      string
	dir      string
	admin    string // git directory of the worktree
	link     string // content of the .git file; empty for the checkout
	branch   string // full name; empty when detached or for the checkout
	commit   string // branch point; empty for the checkout
	checkout bool   // isolation is off: nothing is ever put back
	git      git    // pinned to the worktree

	mu     sync.Mutex
	shadow *shadow
	scan   *scanner
	own    owner
	next   int // number of the next snapshot
	last   *Snapshot
	forced map[string]identity // ignored files that were put in because they are watched
	recent map[string]identity // files whose next change git might not see, see unsure
	saved  identity            // of the real index when it was last copied
	copied string
	notes  []string
}

// Dir returns the directory of the workspace.
func (t *Tree) Dir() string { return t.dir }

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
	t.last = nil
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
	tree, m, notes, err := t.tree(ctx, start)
	if err != nil {
		return Snapshot{}, err
	}
	if t.last != nil && t.last.Tree == tree && t.last.meta.equal(m) {
		return *t.last, nil
	}
	return t.store(ctx, tree, m, notes)
}

// equal reports whether two metas say the same.
func (m meta) equal(o meta) bool {
	return m.Head == o.Head && m.Branch == o.Branch && maps.Equal(m.Own, o.Own) && maps.Equal(m.Special, o.Special) && maps.Equal(m.Nested, o.Nested) &&
		slices.Equal(m.Empty, o.Empty) && maps.Equal(m.Hidden, o.Hidden) && slices.Equal(m.Busy, o.Busy) && m.Index == o.Index
}

// tree brings the private index up to date and writes it.
func (t *Tree) tree(ctx context.Context, start *Snapshot) (string, meta, []string, error) {
	if err := t.ready(ctx); err != nil {
		return "", meta{}, nil, err
	}
	var m meta
	var headErr, ownErr error
	var wg sync.WaitGroup
	wg.Go(func() { m.Head, m.Branch, headErr = t.headState(ctx) })
	s, err := t.survey(ctx)
	if err == nil {
		m.Own, ownErr = t.own.state(ctx, t.shadow.git)
	}
	wg.Wait()
	if err = errors.Join(err, headErr, ownErr); err != nil {
		return "", m, nil, err
	}
	tree, err := t.apply(ctx, s)
	if err != nil {
		return "", m, nil, err
	}
	if start != nil {
		if tree, err = t.underRules(ctx, *start, tree, s); err != nil {
			return "", m, nil, err
		}
	}
	m.Special, m.Empty, m.Hidden = s.scan.special, s.scan.empty, s.scan.hidden
	if m.Nested, err = t.nested(ctx, s.scan.nested); err != nil {
		return "", m, nil, err
	}
	m.Busy = busy(t.admin)
	if m.Index, err = t.saveIndex(); err != nil {
		return "", m, nil, err
	}
	return tree, m, s.scan.notes, nil
}

// ready makes sure that there is a private index that can be believed.
func (t *Tree) ready(ctx context.Context) error {
	s := t.shadow
	switch {
	case !s.state.Ready:
		if err := s.fill(ctx, t.git, t.admin); err != nil {
			return err
		}
	case !s.trusted():
		// Another process had it, or somebody else wrote it: only its list of paths is used, every file is
		// read again.
		if err := s.distrust(ctx, t.last); err != nil {
			return err
		}
	}
	if s.bulk != 0 && time.Now().Unix() > s.bulk {
		// Entries that are as young as the index are compared by content each time, until it is written later.
		now := time.Now().Unix()
		if err := s.git.write(ctx, "update-index", "-q", "--refresh", "--force-write-index"); err != nil {
			var ge *GitError
			if !errors.As(err, &ge) || ge.Exit != 1 { // 1: something needs an update, which is what comes next
				return err
			}
		}
		s.touched()
		if st, err := os.Stat(s.indexPath()); err == nil && st.ModTime().Unix() >= now && s.bulk > 1 {
			s.bulk = 0
		} else {
			s.bulk = now
		}
	}
	if t.scan.tracked == nil {
		out, err := s.git.read(ctx, "ls-files", "-z")
		if err != nil {
			return err
		}
		paths, err := fields(out)
		if err != nil {
			return err
		}
		t.scan.setTree(nil)
		t.scan.addPaths(paths)
	}
	return nil
}

// distrust makes the index forget what it knows of the files.
func (s *shadow) distrust(ctx context.Context, last *Snapshot) error {
	if _, err := os.Stat(s.indexPath() + ".lock"); err == nil {
		os.Remove(s.indexPath() + ".lock") // of a call that was killed; nobody else writes here
	}
	tree := ""
	if last != nil {
		tree = last.Tree
	} else {
		a, err := s.git.do(ctx, call{args: []string{"write-tree", "--missing-ok"}, writes: true, ok: 128})
		if err != nil {
			return err
		}
		tree = strings.TrimSpace(string(a.out))
		if a.exit != 0 {
			s.state.Ready = false
			return errors.New("the snapshot area is damaged; the next attempt makes it anew")
		}
	}
	os.Remove(s.indexPath())
	if err := s.git.write(ctx, "read-tree", tree); err != nil {
		return err
	}
	s.bulk = 1
	s.touched()
	return nil
}

// survey is what differs from the private index.
type survey struct {
	changed   []string // entries that changed, went, or are of another type now
	untracked []string // files without an entry that are not ignored
	scan      found
}

// survey asks git and the file system side by side.
func (t *Tree) survey(ctx context.Context) (survey, error) {
	var s survey
	var errs [3]error
	var wg sync.WaitGroup
	wg.Go(func() { s.changed, errs[0] = t.changedEntries(ctx) })
	wg.Go(func() { s.untracked, errs[1] = t.untracked(ctx) })
	s.scan, errs[2] = t.scan.scan(ctx, t.checkIgnore)
	wg.Wait()
	return s, errors.Join(errs[:]...)
}

func (t *Tree) changedEntries(ctx context.Context) ([]string, error) {
	out, err := t.shadow.git.read(ctx, "diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all")
	if err != nil {
		return nil, err
	}
	paths, err := fields(out)
	if err != nil {
		return nil, err
	}
	if again := t.unsure(); len(again) > 0 {
		// An entry whose time stamps seem to match would be kept as it is, so it goes first.
		if err := t.shadow.update(ctx, again, "--force-remove"); err != nil {
			return nil, err
		}
		paths = append(paths, again...)
	}
	for _, p := range t.shadow.state.Sparse {
		if _, err := os.Lstat(filepath.Join(t.dir, p)); err == nil {
			if err := t.shadow.update(ctx, []string{p}, "--no-skip-worktree"); err != nil {
				return nil, err
			}
			t.shadow.state.Sparse = slices.DeleteFunc(slices.Clone(t.shadow.state.Sparse), func(q string) bool { return q == p })
			paths = append(paths, p)
		}
	}
	return paths, nil
}

// untracked lists files without an entry. A directory that cannot be read is made readable, not passed over.
func (t *Tree) untracked(ctx context.Context) ([]string, error) {
	for attempt := 0; ; attempt++ {
		a, err := t.shadow.git.do(ctx, call{args: []string{"ls-files", "-o", "--exclude-standard", "-z"}})
		if err != nil {
			return nil, err
		}
		paths, err := fields(a.out)
		if err != nil {
			return nil, err
		}
		if !strings.Contains(a.stderr, "could not open directory") {
			return paths, nil
		}
		if attempt > 0 {
			return nil, fmt.Errorf("list the files: %s", strings.TrimSpace(a.stderr))
		}
		makeReadable(t.dir)
	}
}

// makeReadable gives the owner back the right to read every directory.
func makeReadable(root string) {
	filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			if st, serr := os.Lstat(p); serr == nil && st.Mode().Perm()&0o700 != 0o700 {
				os.Chmod(p, st.Mode().Perm()|0o700)
				if err != nil {
					makeReadable(p)
				}
			}
		}
		return nil
	})
}

// checkIgnore asks git which of the paths an ignore rule matches; a directory ends in a slash.
func (t *Tree) checkIgnore(ctx context.Context, paths []string) (map[string]bool, error) {
	return t.shadow.git.checkIgnore(ctx, paths)
}

func (g git) checkIgnore(ctx context.Context, paths []string, more ...string) (map[string]bool, error) {
	// check-ignore takes paths, not pathspecs, and refuses to be told so.
	g.env = append(slices.Clone(g.env), "GIT_LITERAL_PATHSPECS=0")
	args := append([]string{"check-ignore", "-z", "--stdin"}, more...)
	a, err := g.do(ctx, call{args: args, stdin: nul(paths), ok: 1})
	if err != nil {
		return nil, fmt.Errorf("ask which paths are ignored: %w", err)
	}
	hits, err := fields(a.out)
	if err != nil {
		return nil, fmt.Errorf("ask which paths are ignored: %w", err)
	}
	m := make(map[string]bool, len(hits))
	for _, h := range hits {
		m[h] = true
	}
	return m, nil
}

// apply writes what the survey found into the private index and returns its tree.
func (t *Tree) apply(ctx context.Context, s survey) (string, error) {
	add := append(slices.Clone(s.changed), s.untracked...)
	if slices.ContainsFunc(add, func(p string) bool { return path.Base(p) == ".gitignore" }) {
		t.scan.forgetIgnored()
	}
	more, err := t.nestedFiles(s.scan.nested, s.untracked)
	if err != nil {
		return "", err
	}
	wanted, err := t.watched(ctx)
	if err != nil {
		return "", err
	}
	add = append(append(add, more...), wanted...)
	if err := t.index(ctx, add); err != nil {
		return "", err
	}
	if t.last != nil && len(add) == 0 {
		return t.last.Tree, nil
	}
	return t.writeTree(ctx)
}

// index brings the entries of some paths up to date with the files.
func (t *Tree) index(ctx context.Context, paths []string) error {
	var add, remove []string
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		if strings.HasSuffix(p, "/") {
			continue // a nested repository; its files come one by one
		}
		switch kind, st := kindAt(t.dir, p); kind {
		case "file":
			if st.Mode().Perm()&0o400 == 0 {
				os.Chmod(filepath.Join(t.dir, p), st.Mode().Perm()|0o400)
			}
			add = append(add, p)
		case "symlink":
			add = append(add, p)
		default:
			remove = append(remove, p)
		}
	}
	if len(remove) > 0 {
		if err := t.shadow.update(ctx, remove, "--force-remove"); err != nil {
			return err
		}
	}
	if len(add) > 0 {
		if err := t.shadow.update(ctx, add, "--add", "--replace", "--remove"); err != nil {
			return err
		}
		t.scan.addPaths(add)
		t.remember(add)
	}
	return nil
}

// remember notes files whose modification time was set back. Git compares time stamps by the second, and
// reads a file again when it is as young as the index; a file that was written twice in one second, with its
// old time put back each time, would pass.
func (t *Tree) remember(paths []string) {
	now := time.Now().UnixNano()
	for _, p := range paths {
		id, err := identify(filepath.Join(t.dir, p))
		if err == nil && id.ctime > now-2*int64(time.Second) && id.mtime < id.ctime-int64(time.Millisecond) {
			t.recent[p] = id
		}
	}
}

// unsure returns those of the remembered files that have changed since.
func (t *Tree) unsure() []string {
	var changed []string
	for p, was := range t.recent {
		if id, err := identify(filepath.Join(t.dir, p)); err != nil || id != was {
			changed = append(changed, p)
		}
		if was.ctime < time.Now().UnixNano()-2*int64(time.Second) {
			delete(t.recent, p)
		}
	}
	return changed
}

func (t *Tree) writeTree(ctx context.Context) (string, error) {
	a, err := t.shadow.git.do(ctx, call{args: []string{"write-tree", "--missing-ok"}, writes: true})
	t.shadow.touched() // it may have kept the ids of subtrees
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(a.out)), nil
}

// watched returns ignored files that snapshots must hold and that are not known as they are now.
func (t *Tree) watched(ctx context.Context) ([]string, error) {
	var list []string
	look := func(p string) {
		if id, err := identify(filepath.Join(t.dir, p)); err == nil && (id.mode.IsRegular() || id.mode&fs.ModeSymlink != 0) && t.forced[p] != id {
			t.forced[p] = id
			list = append(list, p)
		}
	}
	filepath.WalkDir(filepath.Join(t.dir, handoffDir), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if rel, err := filepath.Rel(t.dir, p); err == nil {
				look(rel)
			}
		}
		return nil
	})
	var wild []string
	for _, g := range t.shadow.state.Watch {
		if strings.ContainsAny(g, `*?[{\`) || strings.HasSuffix(g, "/") {
			wild = append(wild, g)
		} else {
			look(g)
		}
	}
	if len(wild) == 0 {
		return list, nil
	}
	ignored, err := t.ignoredFiles(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range ignored {
		if watches(wild, p) {
			look(p)
		}
	}
	return list, nil
}

// ignoredFiles lists every ignored file.
func (t *Tree) ignoredFiles(ctx context.Context) ([]string, error) {
	out, err := t.shadow.git.read(ctx, "ls-files", "-o", "-i", "--exclude-standard", "-z")
	if err != nil {
		return nil, fmt.Errorf("list the ignored files: %w", err)
	}
	return fields(out)
}

// store makes the commit of a snapshot and its ref.
func (t *Tree) store(ctx context.Context, tree string, m meta, notes []string) (Snapshot, error) {
	kept, err := t.own.keep(ctx, t.shadow.git, m.Own)
	if err != nil {
		return Snapshot{}, err
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic("BUG: workspace: " + err.Error())
	}
	parents := []string{kept}
	if m.Head != "" {
		parents = []string{m.Head, kept}
	}
	s := Snapshot{N: t.next, Ref: refOf(t.run, strconv.Itoa(t.next)), Tree: tree, Head: m.Head, Branch: m.Branch, Notes: notes, meta: m}
	message := fmt.Sprintf("foundry snapshot %d of %s\n\n%s\n", s.N, t.run, b)
	if s.Commit, err = t.shadow.git.commitTree(ctx, tree, message, parents...); err != nil {
		return Snapshot{}, err
	}
	if err := t.repo.git.write(ctx, "update-ref", "--no-deref", "-m", "foundry: snapshot", s.Ref, s.Commit, strings.Repeat("0", len(s.Commit))); err != nil {
		return Snapshot{}, fmt.Errorf("keep the snapshot: %w", err)
	}
	t.next++
	t.last = &s
	return s, nil
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
	if !ok || json.Unmarshal([]byte(body), &s.meta) != nil {
		return Snapshot{}, fmt.Errorf("load the snapshot %s: its commit is not one of Foundry's", ref)
	}
	s.Head, s.Branch = s.meta.Head, s.meta.Branch
	return s, nil
}
