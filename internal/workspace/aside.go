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

// A phase can have a worktree to itself, beside that of its run. It is made as a run's is (AddWorktree, detached), and all
// that belongs to it is named by the id of the run, a dot, and a name of its own: directory, entry, private index, refs.
// The id of a run has no dot, so whose something is stands before the first one.

// replaying is the name of the worktree in which a landing replays commits. Nobody but the landing works there.
const replaying = "rebase"

// ownerOf returns the run that a worktree, a private index or refs of this name belong to, and what it is called in that
// run; "" of the run itself.
func ownerOf(name string) (run, aside string) {
	run, aside, _ = strings.Cut(name, ".")
	return run, aside
}

// AsideOf is the name, in directories and refs, of a worktree that a phase of a run has to itself.
func AsideOf(run, name string) string { return run + "." + name }

// AsideDir returns where a worktree that a phase has to itself is, or would be.
func (r *Repo) AsideDir(run, name string) string { return r.worktreeDir(AsideOf(run, name)) }

// TakeDown removes a worktree that a phase had to itself, with its entry and its private index. Its snapshots stay under
// refs/foundry/. It may be gone already, or half-made. Not for the run's own worktree.
func (r *Repo) TakeDown(ctx context.Context, run, name string) error {
	if err := r.takeDown(ctx, AsideOf(run, name)); err != nil {
		return fmt.Errorf("take down the worktree %s of %s: %w", name, run, err)
	}
	return nil
}

func (r *Repo) takeDown(ctx context.Context, name string) error {
	if err := checkRun(name); err != nil {
		return err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return r.retract(ctx, WorktreeSpec{Run: name, Detached: true})
}

// Aside lists the names of the worktrees that phases of a run have or had to themselves and that are still there, whole
// or not: a directory, an entry, or a private index. They are sorted.
func (r *Repo) Aside(run string) ([]string, error) {
	names, err := r.asides(run)
	if err != nil {
		return nil, fmt.Errorf("list the worktrees of phases of %s: %w", run, err)
	}
	return names, nil
}

func (r *Repo) asides(run string) ([]string, error) {
	var names []string
	for _, dir := range []string{filepath.Join(r.home, worktreesDir), filepath.Join(r.common, "foundry"), filepath.Join(r.common, "worktrees")} {
		list, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range list {
			name := e.Name()
			if dir == filepath.Join(r.common, "worktrees") {
				name = r.placeOf(filepath.Join(dir, name))
			}
			if owner, aside := ownerOf(name); e.IsDir() && owner == run && aside != "" && aside != replaying {
				names = append(names, aside)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// placeOf returns the name of the worktree of Foundry's that an entry of git's is for; "" for any other. Of one that was
// only begun git's own name for it is believed.
func (r *Repo) placeOf(admin string) string {
	top := filepath.Join(r.home, worktreesDir)
	name := filepath.Base(admin)
	b, err := os.ReadFile(filepath.Join(admin, "gitdir"))
	if dir := filepath.Dir(strings.TrimSpace(string(b))); err == nil && filepath.Dir(dir) == top {
		return filepath.Base(dir)
	}
	if r.begunEntry(filepath.Join(top, name)) == admin {
		return name
	}
	return ""
}

// keepAside is keepContent for a worktree that a phase had to itself. A phase begins with a snapshot: before the first
// one nobody has worked there.
func (r *Repo) keepAside(ctx context.Context, name string, scratch []string, force bool) error {
	dir := r.worktreeDir(name)
	if _, err := os.Lstat(dir); err != nil {
		return nil
	}
	n, err := r.nextSnapshot(ctx, name)
	if err != nil || n == 1 {
		return err
	}
	return r.keepContent(ctx, name, scratch, force)
}

// MadeIgnored lists the ignored files that were made since the baseline, outside the scratch directories: what goes with
// the worktree and is in no commit and no snapshot. It is empty for the checkout, which stays.
func (t *Tree) MadeIgnored(ctx context.Context) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.checkout {
		return nil, nil
	}
	if err := t.syncExcludes(nil); err != nil {
		return nil, err
	}
	if err := t.ready(ctx); err != nil {
		return nil, fmt.Errorf("list the ignored files: %w", err)
	}
	return t.madeIgnored(ctx, nil)
}

// madeIgnored is MadeIgnored with further scratch directories.
func (t *Tree) madeIgnored(ctx context.Context, scratch []string) ([]string, error) {
	list, err := t.keptIgnored(ctx, slices.Concat(t.shadow.state.Scratch, scratch))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(p string) bool {
		_, had := slices.BinarySearch(t.shadow.state.Ignored, p)
		return t.shadow.state.Based && had
	}), nil
}
