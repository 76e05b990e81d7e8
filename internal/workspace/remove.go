package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What is removed is first kept, or is known to be kept elsewhere. An error on the way to knowing that is a
// refusal.

// RemoveWorktree removes the worktree of a run, and those that phases of it had to themselves and that were left. What
// is in them and not ignored is first kept by a snapshot of each. It refuses with a *BlockedError when ignored files
// would be lost that were made since setup, outside the scratch directories. It is no error when there is no worktree.
func (r *Repo) RemoveWorktree(ctx context.Context, run string, scratch []string) error {
	if err := r.removeWorktree(ctx, run, scratch, false); err != nil {
		return fmt.Errorf("remove the worktree of %s: %w", run, err)
	}
	return nil
}

func (r *Repo) removeWorktree(ctx context.Context, run string, scratch []string, force bool) error {
	if err := checkRun(run); err != nil {
		return err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	asides, err := r.asides(run)
	if err != nil {
		return err
	}
	var names []string
	for _, a := range asides {
		names = append(names, AsideOf(run, a))
		if err := r.keepAside(ctx, AsideOf(run, a), scratch, force); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(r.worktreeDir(run)); err == nil {
		if err := r.keepContent(ctx, run, scratch, force); err != nil {
			return err
		}
	}
	// From here on it is finished, whatever becomes of ctx. The run's own goes last: as long as it is there, somebody who
	// was cut off here is sent here again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longTime)
	defer cancel()
	names = append(names, AsideOf(run, replaying), run)
	for _, name := range names {
		if err := r.removePlace(name); err != nil {
			return err
		}
	}
	if err := r.unmark(run); err != nil {
		return err
	}
	return r.verifyRemoved(ctx, names)
}

// keepContent takes a snapshot and refuses when something would be lost all the same.
func (r *Repo) keepContent(ctx context.Context, run string, scratch []string, force bool) error {
	t, err := r.OpenWorktree(ctx, WorktreeSpec{Run: run})
	if err != nil {
		return err
	}
	if err := t.Verify(ctx); err != nil {
		last, lerr := t.Reload(ctx, fmt.Sprint(t.next-1))
		if lerr != nil {
			return err
		}
		if _, merr := t.mend(ctx, last); merr != nil {
			return merr
		}
	}
	based, before := t.shadow.state.Based, t.shadow.state.Ignored
	snap, err := t.Snapshot(ctx)
	if err != nil || force {
		return err
	}
	t.shadow.state.Based, t.shadow.state.Ignored = based, before
	if err := t.ignoredLost(ctx, scratch); err != nil {
		return err
	}
	return t.nestedLost(ctx, snap)
}

// ignoredLost refuses when there are ignored files outside scratch that were made since setup.
func (t *Tree) ignoredLost(ctx context.Context, scratch []string) error {
	made, err := t.madeIgnored(ctx, scratch)
	if err != nil || len(made) == 0 {
		return err
	}
	return &BlockedError{Reason: "ignored files made by the run would be lost with its worktree", Paths: made,
		Hint: "copy what you need out of " + t.dir + ", or name the directory in worktree.scratch"}
}

// nestedLost refuses when a nested repository has commits that exist only there.
func (t *Tree) nestedLost(ctx context.Context, snap Snapshot) error {
	b := &BlockedError{Reason: "nested repositories would be lost with the worktree", Hint: "push or move them out of " + t.dir}
	for d, at := range snap.meta.Nested {
		out, err := t.git.line(ctx, "rev-parse", "-q", "--verify", "HEAD:"+d)
		if at != "" && err == nil && out == at {
			continue // a submodule at the commit that is recorded for it
		}
		b.Paths = append(b.Paths, d)
	}
	slices.Sort(b.Paths)
	if len(b.Paths) > 0 {
		return b
	}
	return nil
}

// verifyRemoved checks that disk and git agree that worktrees are gone.
func (r *Repo) verifyRemoved(ctx context.Context, names []string) error {
	list, err := r.Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		dir := r.worktreeDir(name)
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is still there", dir)
		}
		if slices.ContainsFunc(list, func(w Worktree) bool { return w.Dir == dir }) {
			return fmt.Errorf("git still lists %s", dir)
		}
	}
	return nil
}

// DeleteBranch deletes a branch that is at the commit at. It refuses with a *BlockedError when the branch has
// moved, is checked out, or when no other ref would still hold its commits.
func (r *Repo) DeleteBranch(ctx context.Context, branch, at string) error {
	if err := r.deleteBranch(ctx, branch, at); err != nil {
		return fmt.Errorf("delete the branch %s: %w", branch, err)
	}
	return nil
}

func (r *Repo) deleteBranch(ctx context.Context, branch, at string) error {
	full := "refs/heads/" + branch
	// Nobody but the process that has the run writes to its branch: a lock there is that of a git that was killed. One
	// that cannot be removed git names when it comes to it.
	os.Remove(r.branchLock(branch))
	now, err := r.ref(ctx, full)
	if err != nil || now == "" {
		return err
	}
	if now != at {
		return &BlockedError{Reason: fmt.Sprintf("%q is at %s, not at %s", branch, now, at)}
	}
	list, err := r.Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, w := range list {
		if w.Branch == branch {
			return &BlockedError{Reason: fmt.Sprintf("%q is checked out in %s", branch, w.Dir)}
		}
	}
	out, err := r.git.read(ctx, "for-each-ref", "--format=%(refname)", "--contains", at)
	if err != nil {
		return err
	}
	held := slices.ContainsFunc(strings.Fields(string(out)), func(name string) bool { return name != full })
	if !held {
		return &BlockedError{Reason: fmt.Sprintf("no other branch holds the commits of %q", branch), Hint: "discard the run instead, which keeps them"}
	}
	return r.git.write(ctx, "update-ref", "--no-deref", "-d", full, at)
}

// branchLock is where git's lock on a branch is.
func (r *Repo) branchLock(branch string) string {
	return filepath.Join(r.common, "refs/heads", filepath.FromSlash(branch)+".lock")
}

// BranchLeft reports whether a run's branch is there, or the lock of a git that was killed while it deleted it:
// DeleteBranch takes both away.
func (r *Repo) BranchLeft(ctx context.Context, branch string) (bool, error) {
	if _, err := os.Lstat(r.branchLock(branch)); err == nil {
		return true, nil
	}
	now, err := r.ref(ctx, "refs/heads/"+branch)
	return now != "", err
}

// Kept returns the commit that a discard, or a merge that replayed commits, kept of a run's branch; "" when there is none.
func (r *Repo) Kept(ctx context.Context, run string) (string, error) {
	return r.ref(ctx, refOf(run, "kept"))
}

// DiscardSpec says which run is dropped.
type DiscardSpec struct {
	Run     string
	Branch  string   // short; empty for a detached worktree
	Base    string   // short; empty when the run began at a commit
	Scratch []string // see WorktreeSpec
	Force   bool     // also lose ignored files made since setup
}

// Discard removes the worktree and the branch of a run. Its commits and its last state stay reachable: the
// branch's tip under the ref that is returned (empty without a branch), the state under the snapshots. The notes
// name locks of git that a landing or a discard of the run that was cut off may have left.
func (r *Repo) Discard(ctx context.Context, s DiscardSpec) (ref string, notes []string, err error) {
	if err := checkRun(s.Run); err != nil {
		return "", nil, err
	}
	if ref, notes, err = r.discard(ctx, s); err != nil {
		return ref, notes, fmt.Errorf("discard %s: %w", s.Run, err)
	}
	return ref, notes, nil
}

func (r *Repo) discard(ctx context.Context, s DiscardSpec) (ref string, notes []string, err error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return "", nil, err
	}
	_, notes, err = r.unfinished(ctx, s.Run)
	unlock()
	if err != nil {
		return "", notes, err
	}
	tip := ""
	if s.Branch != "" {
		if tip, err = r.ref(ctx, "refs/heads/"+s.Branch); err != nil {
			return "", notes, err
		}
		ref = refOf(s.Run, "kept")
	}
	switch {
	case tip != "":
		if err := r.git.write(ctx, "update-ref", "--no-deref", "-m", "foundry: discard", ref, tip); err != nil {
			return "", notes, fmt.Errorf("keep its commits: %w", err)
		}
	case s.Branch != "": // an earlier discard was cut off behind it
		kept, err := r.Kept(ctx, s.Run)
		if err != nil {
			return "", notes, err
		}
		if kept == "" {
			ref = ""
		}
		notes = lockNotes(r.locksOn(ctx, s.Base))
	}
	if err := r.removeWorktree(ctx, s.Run, s.Scratch, s.Force); err != nil {
		return ref, notes, err
	}
	if s.Branch != "" {
		err = r.deleteBranch(ctx, s.Branch, tip)
	}
	return ref, notes, err
}

// Prune deletes every ref of a run and of worktrees that phases of it had to themselves: snapshots, and what a discard
// kept; and git directories that were taken out of its worktrees. Nothing of the run can be shown or restored afterwards.
func (r *Repo) Prune(ctx context.Context, run string) error {
	if err := checkRun(run); err != nil {
		return err
	}
	out, err := r.git.read(ctx, "for-each-ref", "--format=delete %(refname) %(objectname)", refOf(run, ""), refOf(AsideOf(run, "*"), "*"))
	if err != nil {
		return fmt.Errorf("prune %s: %w", run, err)
	}
	if len(out) == 0 {
		return nil
	}
	if _, err := r.git.do(ctx, call{args: []string{"update-ref", "--no-deref", "--stdin"}, stdin: out, writes: true}); err != nil {
		return fmt.Errorf("prune %s: %w", run, err)
	}
	lost := filepath.Join(r.home, worktreesDir, ".lost")
	list, err := os.ReadDir(lost)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("prune %s: %w", run, err)
	}
	for _, e := range list {
		if owner, _ := ownerOf(e.Name()); owner != run {
			continue
		}
		if err := removeTree(filepath.Join(lost, e.Name())); err != nil {
			return fmt.Errorf("prune %s: %w", run, err)
		}
	}
	return nil
}

// Runs returns the runs that have refs in this repository, sorted.
func (r *Repo) Runs(ctx context.Context) ([]string, error) {
	out, err := r.git.read(ctx, "for-each-ref", "--format=%(refname)", "refs/foundry/")
	if err != nil {
		return nil, fmt.Errorf("list the runs that have refs: %w", err)
	}
	var runs []string
	for _, name := range strings.Fields(string(out)) {
		if place, _, ok := strings.Cut(strings.TrimPrefix(name, "refs/foundry/"), "/"); ok {
			run, _ := ownerOf(place)
			runs = append(runs, run)
		}
	}
	slices.Sort(runs)
	return slices.Compact(runs), nil
}
