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

// A phase of a run may work in a worktree to itself. It is made like a run's own, under the name RUN.NAME, and taken
// down when the phase is over.

// TakeDown removes a worktree that a phase had to itself, with its entry and its private index. Its snapshots stay. It
// may be gone already, or half made.
func (r *Repo) TakeDown(ctx context.Context, run, name string) error {
	unlock, err := r.lock(ctx)
	if err != nil {
		return fmt.Errorf("take down the worktree %s of %s: %w", name, run, err)
	}
	defer unlock()
	id := run + "." + name
	if err := errors.Join(r.takeAway(r.worktreeDir(id)), os.RemoveAll(r.shadowDir(id))); err != nil {
		return fmt.Errorf("take down the worktree %s of %s: %w", name, run, err)
	}
	return nil
}

// Aside lists the names of the worktrees that phases of a run had to themselves and of which something is there.
func (r *Repo) Aside(run string) ([]string, error) {
	var names []string
	for _, dir := range []string{filepath.Join(r.home, worktreesDir), filepath.Join(r.common, "foundry")} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list the worktrees of %s: %w", run, err)
		}
		for _, e := range entries {
			if name, ok := strings.CutPrefix(e.Name(), run+"."); ok && e.IsDir() && name != "rebase" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// MadeIgnored lists the ignored files outside scratch directories that were made since the baseline.
func (t *Tree) MadeIgnored(ctx context.Context) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list, err := t.keptIgnored(ctx, t.shadow.state.Scratch)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(p string) bool {
		_, old := slices.BinarySearch(t.shadow.state.Ignored, p)
		return old
	}), nil
}
