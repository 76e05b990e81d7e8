package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"foundry/glob"
	"foundry/internal/workspace"
)

// BenchmarkBoundary checks what a phase changed: 10 of 20,000 files, all within its boundary. The check finds
// the changes, keeps them as a tree and a commit, and judges each path. The floor is one `git status` of the
// same worktree.
func BenchmarkBoundary(b *testing.B) {
	const files, changes = 20000, 10
	name := func(i int) string { return fmt.Sprintf("d%02d/e%02d/file%05d.txt", i%20, i/20%50, i) }
	content := map[string]string{}
	for i := range files {
		content[name(i)] = fmt.Sprintf("the first text of file %d\n", i)
	}
	ctx := b.Context()
	repo, err := workspace.Open(ctx, repository(b, content))
	if err != nil {
		b.Fatal(err)
	}
	head, _, err := repo.Head(ctx)
	if err != nil {
		b.Fatal(err)
	}
	tree, err := repo.AddWorktree(ctx, workspace.WorktreeSpec{Run: "run_bench", Commit: head, Branch: "foundry/run_bench"})
	if err != nil {
		b.Fatal(err)
	}
	start, err := tree.Snapshot(ctx)
	if err != nil {
		b.Fatal(err)
	}
	bounds := glob.Boundary{Writes: []glob.Layer{{Globs: []string{"d*/**"}, Why: "writes"}}}
	round := 0
	change := func() {
		for i := range changes {
			text := fmt.Sprintf("text %d of file %d\n", round, i)
			if err := os.WriteFile(filepath.Join(tree.Dir(), name(i*files/changes)), []byte(text), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		round++
	}
	status, check := never(), never()
	rounds(b, 10, func() {
		change()
		status.time(func() { run(b, tree.Dir(), "git", "status", "--porcelain", "-z") })
		check.time(func() {
			got, err := tree.Enforce(ctx, start, bounds, false)
			if err != nil {
				b.Fatal(err)
			}
			if len(got.Changes) != changes || len(got.Violations) > 0 {
				b.Fatalf("%d changes and %d violations were found", len(got.Changes), len(got.Violations))
			}
			start = got.End
		})
	})
	report(b, status.ms(), check.ms())
}
