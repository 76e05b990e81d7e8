package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// bigRepo is a worktree with 20,000 tracked files, whose index is settled.
func bigRepo(b *testing.B) *Tree {
	b.Helper()
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for d := range 1000 {
		sub := filepath.Join(dir, fmt.Sprintf("d%d/s%d", d%50, d))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for i := range 20 {
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%d.go", i)), fmt.Appendf(nil, "package x // %d %d\n", d, i), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	c := exec.Command("sh", "-ec", "git init -q && git add -A && git commit -qm base")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatal(err, string(out))
	}
	r, err := Open(ctx, dir)
	if err != nil {
		b.Fatal(err)
	}
	head, _, err := r.Head(ctx)
	if err != nil {
		b.Fatal(err)
	}
	t, err := r.AddWorktree(ctx, WorktreeSpec{Run: "r1", Commit: head, Branch: "foundry/r1"})
	if err != nil {
		b.Fatal(err)
	}
	for range 2 { // once the entries are older than the index, nothing is compared by content any more
		time.Sleep(1100 * time.Millisecond)
		touchTen(b, t, "settle")
		if _, err := t.Snapshot(ctx); err != nil {
			b.Fatal(err)
		}
		c := exec.Command("git", "status", "--porcelain")
		c.Dir = t.Dir()
		if err := c.Run(); err != nil {
			b.Fatal(err)
		}
	}
	return t
}

func touchTen(b *testing.B, t *Tree, text string) {
	b.Helper()
	for i := range 10 {
		if err := os.WriteFile(filepath.Join(t.Dir(), fmt.Sprintf("d%d/s%d/f3.go", i, i)), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// A snapshot after ten files changed, beside the status it must be compared with.
func BenchmarkSnapshot20000(b *testing.B) {
	t := bigRepo(b)
	b.Run("status", func(b *testing.B) {
		for i := range b.N {
			b.StopTimer()
			touchTen(b, t, fmt.Sprint("status", i))
			b.StartTimer()
			c := exec.Command("git", "status", "--porcelain", "-z")
			c.Dir = t.Dir()
			if err := c.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ten changed", func(b *testing.B) {
		for i := range b.N {
			b.StopTimer()
			touchTen(b, t, fmt.Sprint("snapshot", i))
			b.StartTimer()
			if _, err := t.Snapshot(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("none changed", func(b *testing.B) {
		for range b.N {
			if _, err := t.Snapshot(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("enforce ten changed", func(b *testing.B) {
		for i := range b.N {
			b.StopTimer()
			start, err := t.Snapshot(ctx)
			if err != nil {
				b.Fatal(err)
			}
			touchTen(b, t, fmt.Sprint("enforce", i))
			b.StartTimer()
			e, err := t.Enforce(ctx, start, onlySrc, false)
			if err != nil || len(e.Violations) != 10 {
				b.Fatal(err, len(e.Violations))
			}
		}
	})
}
