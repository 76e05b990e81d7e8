package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A landing that is killed between its first file and the move of the base leaves a checkout that is neither here nor
// there. So it is marked before it begins, and the next one that finds the mark takes it back first. Only
// what the landing itself can have left is touched: a file that a person has written since is in the way. The mark
// stays until the worktree goes, so that one that was made and not told is known as well.

// landingMark ends the name of the file that is the mark.
const landingMark = "landing"

// landing is the mark.
type landing struct {
	run, base, from, to string
}

func (r *Repo) landingPath(run string) string {
	return filepath.Join(r.common, "foundry", AsideOf(run, landingMark))
}

// mark notes that a landing begins.
func (r *Repo) mark(l landing) error {
	return replaceFile(r.landingPath(l.run), []byte(l.base+"\n"+l.from+"\n"+l.to+"\n"), 0o600)
}

// unmark notes that there is none.
func (r *Repo) unmark(run string) error {
	err := os.Remove(r.landingPath(run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// unfinished takes back what a landing of the run that was cut off has left in the checkout that has the base, or
// returns the landing when it was made. The notes name locks of git that it may have left too: nobody but a person can
// know that they are nobody's.
func (r *Repo) unfinished(ctx context.Context, run string) (landed *landing, notes []string, err error) {
	text, err := os.ReadFile(r.landingPath(run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("look for a landing that was cut off: %w", err)
	}
	f := strings.Split(string(text), "\n")
	if len(f) != 4 {
		return nil, nil, r.unmark(run) // torn: it had not begun
	}
	l := landing{run, f[0], f[1], f[2]}
	m := &merging{r: r, s: MergeSpec{Run: run, Base: l.base, BranchPoint: l.from}}
	m.Commit = l.to
	if err := m.findTarget(ctx); err != nil {
		return nil, nil, err
	}
	now, err := r.ref(ctx, "refs/heads/"+l.base)
	if err != nil {
		return nil, nil, err
	}
	if now == l.from && m.target.workTree != "" {
		if err := m.halfDone(ctx); err != nil {
			return nil, nil, fmt.Errorf("take back a landing that was cut off: %w", err)
		}
	}
	if now != l.from && now != "" {
		a, err := r.git.do(ctx, call{args: []string{"merge-base", "--is-ancestor", l.to, now}, ok: 1})
		if err != nil || a.exit == 0 {
			return &l, lockNotes(m.leftLocks()), err
		}
	}
	return nil, lockNotes(m.leftLocks()), r.unmark(run)
}

// halfDone takes a half-made update of the checkout back.
func (m *merging) halfDone(ctx context.Context) error {
	var err error
	if m.incoming, err = m.r.git.diffTrees(ctx, m.s.BranchPoint, m.Commit); err != nil {
		return err
	}
	entries, err := m.indexEntries(ctx)
	if err != nil {
		return err
	}
	b := &BlockedError{Reason: "a landing of this run was cut off, and since then these were changed in " + m.target.workTree,
		Hint: "put your changes aside, bring the files back (git checkout HEAD -- PATH), then merge again"}
	for _, c := range m.incoming {
		ours, err := m.ours(ctx, c, entries)
		if err != nil {
			return err
		}
		if !ours {
			b.Paths = append(b.Paths, c.Path)
		}
	}
	if len(b.Paths) > 0 {
		return b
	}
	return m.takeBack(ctx)
}

// ours reports whether index and file are as they were, as they come in, or in between.
func (m *merging) ours(ctx context.Context, c Change, entries map[string]entry) (bool, error) {
	e, tracked := entries[c.Path]
	old, incoming := c.Kind != Created, c.Kind != Deleted
	if tracked && !(old && e.blob == c.oldBlob) && !(incoming && e.blob == c.newBlob) {
		return false, nil
	}
	full := filepath.Join(m.target.workTree, c.Path)
	var data []byte
	switch kind, _ := kindAt(m.target.workTree, c.Path); kind {
	case "none", "beyond":
		return true, nil // git takes the old file away before it writes the new one
	case "dir":
		return m.onlyIncoming(c.Path)
	case "file":
		if old && m.r.sameBytes(full, c.oldBlob) {
			return true, nil
		}
		var err error
		if data, err = os.ReadFile(full); err != nil {
			return false, err
		}
	case "symlink":
		to, err := os.Readlink(full)
		if err != nil {
			return false, err
		}
		data = []byte(to)
	default:
		return false, nil
	}
	for _, blob := range []string{c.newBlob, c.oldBlob} {
		if (blob == c.newBlob && !incoming) || (blob == c.oldBlob && !old) {
			continue
		}
		whole, err := m.target.read(ctx, "cat-file", "--filters", "--path="+c.Path, blob)
		if err != nil {
			return false, err
		}
		if bytes.HasPrefix(whole, data) {
			return true, nil
		}
	}
	return false, nil
}

// LeftLocks names locks of git that a landing on the base, or the deletion of a branch, which was cut off may have left.
func (r *Repo) LeftLocks(ctx context.Context, base string) []string {
	return lockNotes(r.locksOn(ctx, base))
}

func (r *Repo) locksOn(ctx context.Context, base string) []LockError {
	m := &merging{r: r, s: MergeSpec{Base: base}}
	if err := m.findTarget(ctx); err != nil {
		return nil // it only looks for what to say
	}
	return m.leftLocks()
}

// allLocks puts beside a lock that was in the way of a landing the others that are, so that a person need not meet
// them one by one.
func (r *Repo) allLocks(ctx context.Context, base string, err error) {
	var lock *LockError
	if !errors.As(err, &lock) {
		return
	}
	met, err := os.Lstat(lock.Path)
	if err != nil {
		return // it is gone; the next attempt tells
	}
	lock.Also = slices.DeleteFunc(r.locksOn(ctx, base), func(l LockError) bool {
		st, err := os.Lstat(l.Path)
		return err != nil || os.SameFile(met, st)
	})
}

// onlyIncoming reports whether a directory holds nothing but files that come in.
func (m *merging) onlyIncoming(dir string) (bool, error) {
	only := true
	err := filepath.WalkDir(filepath.Join(m.target.workTree, dir), func(full string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(m.target.workTree, full)
		only = only && slices.ContainsFunc(m.incoming, func(c Change) bool { return c.Kind == Created && c.Path == filepath.ToSlash(rel) })
		return err
	})
	return only, err
}

// leftLocks finds the locks of git where a landing works.
func (m *merging) leftLocks() []LockError {
	paths := []string{filepath.Join(m.r.common, "packed-refs.lock"), filepath.Join(m.r.common, "refs/heads", filepath.FromSlash(m.s.Base)+".lock")}
	if m.target.gitDir != "" {
		paths = append(paths, filepath.Join(m.target.gitDir, "HEAD.lock"), filepath.Join(m.target.gitDir, "index.lock"))
	}
	var locks []LockError
	for _, p := range paths {
		if _, err := os.Lstat(p); err == nil {
			locks = append(locks, LockError{Path: p, Age: age(p)})
		}
	}
	return locks
}

func lockNotes(locks []LockError) []string {
	var notes []string
	for _, l := range locks {
		notes = append(notes, "git was cut off here before: "+l.Error())
	}
	return notes
}
