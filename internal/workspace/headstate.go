package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Besides files a phase can change what git itself holds: HEAD, the branch, the index, nested repositories,
// configuration, hooks. A phase that may not commit finds all of it as it was, with its work in the files.

// gitState compares what git holds with the start, and puts it back.
func (e *enforcing) gitState(ctx context.Context, commits bool) error {
	for _, check := range []func(context.Context) error{
		func(ctx context.Context) error { return e.head(ctx, commits) },
		e.indexFlags, e.nestedRepos, e.ownFiles,
	} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// head puts HEAD and the run's branch back.
func (e *enforcing) head(ctx context.Context, commits bool) error {
	was, is := e.start, e.Before
	newOps := slices.DeleteFunc(slices.Clone(is.meta.Busy), func(op string) bool { return slices.Contains(was.meta.Busy, op) })
	what := ""
	switch {
	case is.Branch != was.Branch:
		what = "HEAD was switched to " + headName(is)
	case is.Head != was.Head:
		ahead, err := e.t.descends(ctx, was.Head, is.Head)
		if err != nil {
			return err
		}
		switch {
		case ahead && commits && len(newOps) == 0:
			e.ahead = true
			return nil
		case ahead:
			what = "new commits on " + headName(is)
		default:
			what = headName(is) + " was moved to a commit that does not contain the one it was at"
		}
	case len(newOps) > 0:
		what = "git was left in the middle of something (" + strings.Join(newOps, ", ") + ")"
	default:
		return nil
	}
	v := Violation{Path: ".git/HEAD", Change: "head", Reason: what}
	if !commits {
		v.Reason += "; this phase may not commit"
	}
	if e.t.checkout {
		e.Violations = append(e.Violations, v)
		return nil
	}
	if err := e.t.putBackHead(ctx, was, newOps); err != nil {
		return fmt.Errorf("put HEAD back: %w", err)
	}
	v.Undone = true
	v.Note = "the work is still in the files"
	if is.Head != was.Head {
		v.Note += "; the commits are kept by " + is.Ref
	}
	e.Violations = append(e.Violations, v)
	return nil
}

func headName(s Snapshot) string {
	if s.Branch == "" {
		return "a detached HEAD"
	}
	return strings.TrimPrefix(s.Branch, "refs/heads/")
}

// descends reports whether commit b contains commit a.
func (t *Tree) descends(ctx context.Context, a, b string) (bool, error) {
	if a == "" || b == "" {
		return a == "", nil
	}
	r, err := t.git.do(ctx, call{args: []string{"merge-base", "--is-ancestor", a, b}, ok: 1})
	if err != nil {
		return false, fmt.Errorf("compare two commits: %w", err)
	}
	return r.exit == 0, nil
}

// putBackHead makes HEAD and the branch what they were at a snapshot. The files are not touched.
func (t *Tree) putBackHead(ctx context.Context, was Snapshot, ops []string) error {
	for _, op := range ops {
		if err := os.RemoveAll(filepath.Join(t.admin, op)); err != nil {
			return err
		}
	}
	t.dropHeadLocks()
	if was.Branch == "" {
		if err := t.git.write(ctx, "update-ref", "--no-deref", "-m", "foundry: put back", "HEAD", was.Head); err != nil {
			return err
		}
		return t.putBackIndex(ctx, was)
	}
	if err := t.git.write(ctx, "symbolic-ref", "-m", "foundry: put back", "HEAD", was.Branch); err != nil {
		return err
	}
	if err := t.git.write(ctx, "update-ref", "--no-deref", "-m", "foundry: put back", was.Branch, was.Head); err != nil {
		return err
	}
	return t.putBackIndex(ctx, was)
}

// dropLock removes a lock file in the run's own entry. The processes of the run are dead when this is called,
// and nobody else works there.
func (t *Tree) dropLock(name string) bool {
	return !t.checkout && os.Remove(filepath.Join(t.admin, name)) == nil
}

// dropHeadLocks removes the locks of HEAD and of the run's own branch.
func (t *Tree) dropHeadLocks() {
	t.dropLock("HEAD.lock")
	if !t.checkout && t.branch != "" {
		os.Remove(filepath.Join(t.repo.common, filepath.FromSlash(t.branch)+".lock"))
	}
}

// putBackIndex makes the real index what it was at a snapshot.
func (t *Tree) putBackIndex(ctx context.Context, was Snapshot) error {
	t.dropLock("index.lock")
	path := filepath.Join(t.admin, "index")
	t.saved, t.copied = identity{}, ""
	data, err := os.ReadFile(filepath.Join(t.shadow.dir, was.meta.Index))
	if was.meta.Index != "" && err == nil {
		if err := replaceFile(path, data, 0o644); err != nil {
			return err
		}
		t.saved, err = identify(path)
		t.copied = was.meta.Index
		return err
	}
	os.Remove(path) // it may be no index at all, which git would not replace
	if was.Head == "" {
		return t.git.write(ctx, "read-tree", "--empty")
	}
	if err := t.git.write(ctx, "read-tree", "--reset", was.Head); err != nil {
		return err
	}
	_, err = t.git.do(ctx, call{args: []string{"update-index", "-q", "--refresh"}, ok: 1, writes: true})
	return err
}

// indexFlags finds entries that the phase marked so that git no longer looks at their files, and puts the
// index back when it holds anything else than at the start. What the phase left is in a copy; the index itself
// may have been put back with HEAD.
func (e *enforcing) indexFlags(ctx context.Context) error {
	t := e.t
	if t.checkout || e.start.meta.Index == e.Before.meta.Index || e.start.meta.Index == "" {
		return nil
	}
	was, err := t.entries(ctx, filepath.Join(t.shadow.dir, e.start.meta.Index))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var is []string
	readable := e.Before.meta.Index != ""
	if readable {
		if is, err = t.entries(ctx, filepath.Join(t.shadow.dir, e.Before.meta.Index)); err != nil {
			readable = false // the phase left something that is no index
		}
	}
	if readable && slices.Equal(was, is) {
		return nil
	}
	flagged, err := hiding(was, is)
	if err != nil {
		return err
	}
	switch {
	case !e.ahead:
		err = t.putBackIndex(ctx, e.start)
	case readable:
		err = t.clearFlags(ctx, flagged)
	default:
		err = t.putBackIndex(ctx, Snapshot{Head: e.Before.Head})
	}
	if err != nil {
		return fmt.Errorf("put the index back: %w", err)
	}
	if len(flagged) == 0 {
		if e.start.Head == e.Before.Head {
			e.Notes = append(e.Notes, "what was staged is no longer staged; it is still in the files")
		}
		return nil
	}
	for _, p := range flagged {
		e.Violations = append(e.Violations, Violation{Path: p, Change: "index", Reason: "marked so that git does not look at it (assume-unchanged or skip-worktree)", Undone: true})
	}
	return nil
}

// clearFlags makes git look at files again, in an index that otherwise stays as it is.
func (t *Tree) clearFlags(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	t.dropLock("index.lock")
	for _, flag := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
		if _, err := t.git.do(ctx, call{args: []string{"update-index", flag, "-z", "--stdin"}, stdin: nul(paths), writes: true}); err != nil {
			return err
		}
	}
	return nil
}

// entries lists an index file.
func (t *Tree) entries(ctx context.Context, index string) ([]string, error) {
	if _, err := os.Stat(index); err != nil {
		return nil, err
	}
	a, err := t.git.do(ctx, call{args: []string{"ls-files", "-s", "-v", "-z"}, env: []string{"GIT_INDEX_FILE=" + index}})
	if err != nil {
		return nil, fmt.Errorf("read an index: %w", err)
	}
	return fields(a.out)
}

// hiding returns the paths whose entries have a flag that they did not have before.
func hiding(was, is []string) ([]string, error) {
	before := map[string]byte{}
	for _, rec := range was {
		e, err := parseEntry(rec)
		if err != nil {
			return nil, err
		}
		before[e.path] = e.tag
	}
	var paths []string
	for _, rec := range is {
		e, err := parseEntry(rec)
		if err != nil {
			return nil, err
		}
		if flag := 'a' <= e.tag && e.tag <= 'z' || e.tag == 'S'; flag && before[e.path] != e.tag {
			paths = append(paths, e.path)
		}
	}
	return paths, nil
}

// nestedRepos finds repositories that appeared inside the workspace, went, or are at another commit.
func (e *enforcing) nestedRepos(ctx context.Context) error {
	was, is := e.start.meta.Nested, e.Before.meta.Nested
	for _, d := range slices.Sorted(maps.Keys(is)) {
		old, known := was[d]
		if known && old == is[d] {
			continue
		}
		why, ok := e.boundary.Check(d)
		if ok {
			continue
		}
		v := Violation{Path: d, Change: "nested", Reason: why}
		switch {
		case e.t.checkout:
		case !known:
			kept, err := e.t.takeAwayNested(d)
			v.Undone = err == nil
			v.Note = "its git directory is kept at " + kept
			if err != nil {
				v.Note = "its git directory could not be moved away: " + err.Error()
			}
		case old == "":
			v.Note = "it has its first commit, which stays"
		default:
			err := e.t.putBackNested(ctx, d, old, is[d])
			v.Undone = err == nil
			v.Note = "what it was at is kept by a ref of its own"
			if err != nil {
				v.Note = "it could not be put back: " + err.Error()
			}
		}
		e.Violations = append(e.Violations, v)
	}
	for _, d := range slices.Sorted(maps.Keys(was)) {
		if _, there := is[d]; there {
			continue
		}
		if why, ok := e.boundary.Check(d); !ok {
			e.Violations = append(e.Violations, Violation{Path: d, Change: "nested", Reason: why, Note: "its git directory is gone and cannot be put back"})
		}
	}
	return nil
}

// ownFiles puts git's own files back.
func (e *enforcing) ownFiles(ctx context.Context) error {
	was, is := e.start.meta.Own, e.Before.meta.Own
	names := slices.Sorted(maps.Keys(was))
	for name := range is {
		if _, ok := was[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		old, had := was[name]
		now, has := is[name]
		if had == has && old == now {
			continue
		}
		v := Violation{Path: name, Reason: "protected (.git belongs to git)"}
		switch {
		case !had:
			v.Change = Created.String()
		case !has:
			v.Change = Deleted.String()
		default:
			v.Change = Modified.String()
		}
		if !e.t.checkout {
			if err := e.t.putBackOwn(ctx, name, old, had); err != nil {
				v.Note = "it could not be put back: " + err.Error()
			} else {
				v.Undone, v.Note = true, "as the phase left it, it is kept by "+e.Before.Ref
			}
		}
		e.Violations = append(e.Violations, v)
	}
	return nil
}

// putBackOwn writes one of git's own files as it was, or removes it.
func (t *Tree) putBackOwn(ctx context.Context, name string, was ownFile, had bool) error {
	path := t.own.place(name)
	if !had {
		return os.Remove(path)
	}
	blobs, err := t.shadow.git.blobs(ctx, []string{was.Blob})
	if err != nil {
		return err
	}
	switch was.Mode {
	case "120000":
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return os.Symlink(string(blobs[was.Blob]), path)
	case "100755":
		return replaceFile(path, blobs[was.Blob], 0o755)
	}
	return replaceFile(path, blobs[was.Blob], 0o644)
}
