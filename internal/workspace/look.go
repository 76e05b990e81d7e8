package workspace

import (
	"context"
	"fmt"
)

// This file answers questions about commits and trees for those who show a run. None of it changes anything.

// WorktreeDir returns where a run's worktree is, or would be.
func (r *Repo) WorktreeDir(run string) string { return r.worktreeDir(run) }

// FileAt returns a file as a commit has it, byte for byte. path is relative to the root of the repository.
func (r *Repo) FileAt(ctx context.Context, commit, path string) ([]byte, error) {
	out, err := r.git.read(ctx, "cat-file", "blob", commit+":"+path)
	if err != nil {
		return nil, fmt.Errorf("read %s at %s: %w", path, commit, err)
	}
	return out, nil
}

// NumStat returns how many lines of each file differ between two trees or commits, as `added<TAB>removed<TAB>path`.
func (r *Repo) NumStat(ctx context.Context, from, to string) (string, error) {
	out, err := r.show(ctx, from, to, "--numstat", "--no-renames")
	if err != nil {
		return "", fmt.Errorf("compare %s with %s: %w", from, to, err)
	}
	return string(out), nil
}

// Tracked lists the paths that git tracks in the workspace.
func (t *Tree) Tracked(ctx context.Context) ([]string, error) {
	out, err := t.git.read(ctx, "ls-files", "-z")
	if err != nil {
		return nil, fmt.Errorf("list the tracked files: %w", err)
	}
	return fields(out)
}
