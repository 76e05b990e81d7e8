package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLandingCutOff makes what a kill in the middle of a landing leaves, lets a person work on it, and merges again.
func TestLandingCutOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		left    string   // by the landing, in the checkout
		person  string   // what somebody did since
		blocked []string // paths that are in the way
	}{
		"before the first file":          {"", "", nil},
		"a file is gone":                 {"rm a.txt", "", nil},
		"a file is empty":                {": >a.txt", "", nil},
		"a file is cut off":              {"printf 'a\\nag' >a.txt", "", nil},
		"some files are new":             {"echo agent >>a.txt; rm b.txt", "", nil},
		"all files are new":              {"echo agent >>a.txt; rm b.txt; mkdir d; echo n >d/n", "", nil},
		"files and index are new":        {"echo agent >>a.txt; rm b.txt; mkdir d; echo n >d/n; git add -A", "", nil},
		"only a directory is new":        {"mkdir d", "", nil},
		"a person put it right":          {"echo agent >>a.txt; rm b.txt", "git checkout -q HEAD -- a.txt b.txt", nil},
		"a person finished a file":       {"echo agent >>a.txt", "echo mine >>a.txt", []string{"a.txt"}},
		"a person wrote what was gone":   {"rm b.txt", "echo mine >b.txt", []string{"b.txt"}},
		"a person staged something else": {"", "echo mine >a.txt; git add a.txt", []string{"a.txt"}},
		"a person made a directory":      {"rm b.txt", "mkdir b.txt; echo mine >b.txt/f", []string{"b.txt"}},
		"a person's file is elsewhere":   {"echo agent >>a.txt; mkdir d", "echo mine >d/other", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := withTree(t)
			f.agent("echo agent >>a.txt; rm b.txt; mkdir d; echo n >d/n")
			s := f.snapshot()
			f.sh(f.tree.Dir(), "git add -A; git commit -qm work")
			to := f.sh(f.tree.Dir(), "git rev-parse HEAD")
			if err := f.repo.mark(landing{"r1", "main", f.base, to}); err != nil {
				t.Fatal(err)
			}
			f.sh(f.root, c.left)
			f.sh(f.root, c.person)
			before := disk(t, f.root)
			_, err := f.repo.Merge(ctx, f.merge(s.Tree))
			var blocked *BlockedError
			if errors.As(err, &blocked) && slices.Equal(blocked.Paths, c.blocked) {
				if d := differing(before, disk(t, f.root)); len(d) > 0 {
					t.Errorf("touched %q", d)
				}
				return
			}
			if err != nil || c.blocked != nil {
				t.Fatalf("got %v, want %q in the way", err, c.blocked)
			}
			f.sh(f.root, `test "$(cat a.txt)" = "$(printf 'a\nagent')"; test ! -e b.txt; test -e d/n; ! git status --porcelain | grep -v -e d/other; test $(git rev-parse main) = `+to)
		})
	}
}

// TestLandingNotTold merges again after a landing that was made and that nobody heard of, with the base further on.
func TestLandingNotTold(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.agent("echo agent >>a.txt")
	s := f.snapshot()
	first, err := f.repo.Merge(ctx, f.merge(s.Tree))
	if err != nil {
		t.Fatal(err)
	}
	f.sh(f.root, "echo later >later; git add later; git commit -qm later")
	again, err := f.repo.Merge(ctx, f.merge(s.Tree))
	if err != nil || again.Commit != first.Commit || !slices.Equal(again.Files, first.Files) {
		t.Errorf("got %+v, %v, want %+v", again, err, first)
	}
	if err := f.repo.RemoveWorktree(ctx, "r1", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(f.root, ".git/foundry/r1.landing")); err == nil {
		t.Error("the mark is left")
	}
}

// TestMarkCutOff is killed while it marks a landing: who comes next takes away what is not whole, and nothing else.
func TestMarkCutOff(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(f *fix) error{
		"merge": func(f *fix) error { _, err := f.repo.Merge(ctx, f.merge(f.snapshot().Tree)); return err },
		"discard": func(f *fix) error {
			_, _, err := f.repo.Discard(ctx, DiscardSpec{Run: "r1", Branch: "foundry/r1"})
			return err
		},
		"removal": func(f *fix) error { return f.repo.RemoveWorktree(ctx, "r1", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := withTree(t)
			f.agent("echo agent >>a.txt")
			f.sh(f.root, "printf main >.git/foundry/.foundry-tmp-1; : >.git/foundry/r2.landing; mkdir .git/foundry/.foundry-tmp-d")
			if err := next(f); err != nil {
				t.Fatal(err)
			}
			f.sh(f.root, "test ! -e .git/foundry/.foundry-tmp-1 -a -e .git/foundry/r2.landing -a -d .git/foundry/.foundry-tmp-d")
		})
	}
}

// TestBranchDeletionCutOff leaves what a git does that is killed while it deletes a run's branch: the lock that only the
// run can have goes, the one that others use too is named.
func TestBranchDeletionCutOff(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.agent("echo agent >>a.txt; git commit -qam work")
	spec := DiscardSpec{Run: "r1", Branch: "foundry/r1", Base: "main"}
	first, notes, err := f.repo.Discard(ctx, spec)
	if err != nil || len(notes) > 0 {
		t.Fatalf("%q, %v", notes, err)
	}
	left := func(want bool) {
		t.Helper()
		if got, err := f.repo.BranchLeft(ctx, "foundry/r1"); err != nil || got != want {
			t.Errorf("a branch is left: %v, %v", got, err)
		}
	}
	left(false)
	f.sh(f.root, "mkdir -p .git/refs/heads/foundry; : >.git/refs/heads/foundry/r1.lock; : >.git/packed-refs.lock")
	left(true)
	again, notes, err := f.repo.Discard(ctx, spec)
	if err != nil || again != first || first == "" {
		t.Errorf("got %q, %v, want %q", again, err, first)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], filepath.Join(f.root, ".git/packed-refs.lock")+" (") {
		t.Errorf("notes: %q", notes)
	}
	left(false)
	f.sh(f.root, "test -e .git/packed-refs.lock")
}
