package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"foundry/glob"
	"foundry/internal/workspace"
)

// fileName spreads files over a thousand directories.
func fileName(i int) string { return fmt.Sprintf("d%02d/e%02d/file%05d.txt", i%20, i/20%50, i) }

// changing is the pipeline of which a run's memory is measured: a phase with a boundary that changes ten files.
const changing = `version: 1
pipelines:
  p:
    phases:
      - id: change
        run: for i in 0 1 2 3 4 5 6 7 8 9; do echo new >d0$i/e00/new.txt; done
        writes: ["d*/**"]
`

// BenchmarkBoundary checks what a phase changed: 10 of so many files, all within its boundary. The check finds
// the changes, keeps them as a tree and a commit, and judges each path. The floor is one `git status` of the
// same worktree; x-spent is the ratio of the processor time that each used, with what it started. peak-MB is the memory of a whole run over the same files, of Foundry and of any git it calls.
func BenchmarkBoundary(b *testing.B) {
	for _, files := range []int{20000, 100000} {
		b.Run(fmt.Sprintf("%d-files", files), func(b *testing.B) { boundary(b, files) })
	}
}

func boundary(b *testing.B, files int) {
	const changes = 10
	content := map[string]string{"foundry.yaml": changing}
	for i := range files {
		content[fileName(i)] = fmt.Sprintf("the first text of file %d\n", i)
	}
	dir := repository(b, content)
	peak := peakMemory(run(b, dir, foundry(), "up", "p", "--output", "json"))

	ctx := b.Context()
	repo, err := workspace.Open(ctx, dir)
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
	if err := tree.Watch([]string{"foundry.yaml"}); err != nil { // as a run does for its pipeline files
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
			if err := os.WriteFile(filepath.Join(tree.Dir(), fileName(i*files/changes)), []byte(text), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		round++
	}
	status, check := never(), never()
	var statusWork, checkWork []float64
	rounds(b, 10, func() {
		change()
		from := spent()
		status.time(func() { run(b, tree.Dir(), "git", "status", "--porcelain", "-z") })
		between := spent()
		statusWork = append(statusWork, float64(between-from))
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
		checkWork = append(checkWork, float64(spent()-between))
	})
	report(b, status.ms(), check.ms())
	if floor := slices.Min(statusWork); floor > 0 {
		b.ReportMetric(slices.Min(checkWork)/floor, "x-spent")
	}
	if peak > 0 {
		b.ReportMetric(float64(peak)/(1<<20), "peak-MB")
	}
}

// spent is the processor time of this process and of what it started; 0 where it is not known.
func spent() time.Duration {
	own, _ := processorTime()
	others, _ := childrenTime()
	return own + others
}
