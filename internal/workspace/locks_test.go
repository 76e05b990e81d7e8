package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A git that is killed while it opens a lock leaves it behind. The run that comes back to such a lock of its
// own goes on.
func TestLocksOfAGitThatWasKilled(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	first := f.snapshot()
	for _, name := range []string{"refs/foundry/r1/2.lock", "refs/heads/foundry/r1.lock", "worktrees/r1/HEAD.lock", "worktrees/r1/index.lock"} {
		path := filepath.Join(f.repo.CommonDir(), filepath.FromSlash(name))
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := f.repo.OpenWorktree(ctx, f.spec())
	if err != nil {
		t.Fatal(err)
	}
	f.tree = tree
	f.agent("echo changed >a.txt")
	if s := f.snapshot(); s.N != 2 || s.Tree == first.Tree {
		t.Errorf("the snapshot after the lock is %+v", s)
	}
	if done, err := f.tree.Commit(ctx, "work", true); err != nil || done.Nothing || !strings.Contains(strings.Join(done.Notes, "\n"), "index.lock") {
		t.Errorf("the commit after the locks: %+v, %v", done, err)
	}
}
