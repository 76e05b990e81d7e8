package workspace

import (
	"context"
	"fmt"
	"strconv"
	"strings"
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

// LineCount is how many lines of a file differ between two trees.
type LineCount struct {
	Path           string
	Added, Removed int  // 0 for binary files
	Binary         bool // git did not count lines
}

// NumStat returns how many lines of each file differ between two trees or commits.
func (r *Repo) NumStat(ctx context.Context, from, to string) ([]LineCount, error) {
	out, err := r.show(ctx, from, to, "--numstat", "--no-renames", "-z")
	if err != nil {
		return nil, fmt.Errorf("compare %s with %s: %w", from, to, err)
	}
	lines, err := fields(out)
	if err != nil {
		return nil, fmt.Errorf("compare %s with %s: %w", from, to, err)
	}
	var list []LineCount
	for _, line := range lines {
		cells := strings.SplitN(line, "\t", 3)
		if len(cells) < 3 {
			return nil, fmt.Errorf("compare %s with %s: git answered %q", from, to, line)
		}
		c := LineCount{Path: cells[2], Binary: cells[0] == "-"}
		c.Added, _ = strconv.Atoi(cells[0])
		c.Removed, _ = strconv.Atoi(cells[1])
		list = append(list, c)
	}
	return list, nil
}

// Tracked lists the paths that git tracks in the workspace.
func (t *Tree) Tracked(ctx context.Context) ([]string, error) {
	out, err := t.git.read(ctx, "ls-files", "-z")
	if err != nil {
		return nil, fmt.Errorf("list the tracked files: %w", err)
	}
	return fields(out)
}
