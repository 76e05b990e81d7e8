package workspace

import (
	"context"
	"fmt"
)

// This file brings a worktree to a state that another run left.

// Held says whether a ref still holds a tree, with all that is in it.
func (r *Repo) Held(ctx context.Context, ref, tree string) bool {
	now, err := r.TreeAt(ctx, ref)
	return err == nil && now == tree
}

// TreeAt is the tree that a ref holds.
func (r *Repo) TreeAt(ctx context.Context, ref string) (string, error) {
	tree, err := r.git.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{tree}")
	if err != nil {
		return "", fmt.Errorf("read the tree of %s: %w", ref, err)
	}
	return tree, nil
}

// Become changes the files of the worktree to those of a tree, path by path; at is the newest snapshot. The branch and
// the index stay as they are. In the checkout it is refused, as every undo is.
func (t *Tree) Become(ctx context.Context, at Snapshot, tree string) error {
	at.Tree = tree
	if err := t.Restore(ctx, at); err != nil {
		return fmt.Errorf("bring the worktree to an earlier result: %w", err)
	}
	return nil
}
