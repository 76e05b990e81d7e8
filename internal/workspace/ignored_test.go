package workspace

import (
	"errors"
	"testing"

	"foundry/glob"
)

// A rule that hides a file from git after it was judged must neither leave it out of the merge nor let it go with
// the worktree.
func TestMergeOfFilesThatAreIgnoredNow(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.agent("echo n >new.txt; echo more >>a.txt")
	s := f.snapshot()
	f.sh(f.root, "echo new.txt >>.git/info/exclude")
	_, err := f.repo.Merge(ctx, f.merge(s.Tree))
	var blocked *BlockedError
	if !errors.As(err, &blocked) {
		t.Fatalf("merged: %v", err)
	}
	same(t, "named", blocked.Paths, []string{"new.txt"})
	f.agent("git add -f new.txt")
	res, err := f.repo.Merge(ctx, f.merge(s.Tree))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "files", res.Files, []string{"a.txt", "new.txt"})
	if err := f.repo.RemoveWorktree(ctx, "r1", nil); err != nil {
		t.Errorf("the worktree stays: %v", err)
	}
}

// What the work's own rules ignore is not committed, and keeps the worktree.
func TestMergeOfWorkThatIgnores(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	start := f.snapshot()
	f.agent("echo '*.log' >>.gitignore; echo x >x.log; mkdir node_modules; echo m >node_modules/m")
	e := f.enforce(start, glob.Boundary{})
	res, err := f.repo.Merge(ctx, f.merge(e.End.Tree))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "files", res.Files, []string{".gitignore"})
	var blocked *BlockedError
	if err := f.repo.RemoveWorktree(ctx, "r1", nil); !errors.As(err, &blocked) {
		t.Fatalf("the worktree was taken away: %v", err)
	}
	same(t, "kept", blocked.Paths, []string{"x.log"})
}
