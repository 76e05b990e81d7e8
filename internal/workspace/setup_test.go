package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What the setup of a worktree leaves untracked is in no commit and no merge, unless work changes it; and it is no
// obstacle to a merge, with the worktree or without.
func TestWhatTheSetupLeaves(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, agent, after, merged string
	}{
		{"untouched", "echo x >>src/s.go", "", "src/s.go"},
		{"one changed", "echo x >>gen/a", "", "gen/a"},
		{"one deleted", "rm gen/a; echo x >>src/s.go", "", "src/s.go"},
		{"one made executable", "chmod +x gen/a", "", "gen/a"},
		{"one staged by hand", "git add gen/a", "", "gen/a"},
		{"the worktree is gone", "echo x >>src/s.go; git commit -qam w", "git worktree remove --force .foundry-worktrees/r1", "src/s.go"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := withTree(t)
			f.agent("mkdir gen venv; echo a >gen/a; echo b >gen/b; ln -s gen/a link; echo lock >>b.txt")
			if err := f.tree.Baseline(ctx); err != nil {
				t.Fatal(err)
			}
			notes := strings.Join(f.tree.Notes(), "\n")
			if !strings.Contains(notes, `untracked files, which no commit takes up unless a phase changes them: "gen/a", "gen/b", "link"`) ||
				!strings.Contains(notes, `the setup changed tracked files, and a commit will hold that: "b.txt"`) {
				t.Errorf("notes %q", notes)
			}
			f.agent("git checkout -q b.txt; " + tt.agent)
			s := f.snapshot()
			f.sh(f.root, tt.after)
			if tt.after == "" {
				done, err := f.tree.Commit(ctx, "work", false)
				if err != nil || done.Nothing || !strings.Contains(strings.Join(done.Notes, "\n"), "as the setup left it") {
					t.Fatalf("%+v %v", done, err)
				}
			}
			f.repo = newRepoAt(t, f)
			if _, err := f.repo.Merge(ctx, f.merge(s.Tree)); err != nil {
				t.Fatal(err)
			}
			if out := f.sh(f.root, "git diff --name-only "+f.base+" main"); out != tt.merged {
				t.Errorf("merged %q", out)
			}
			if err := f.repo.RemoveWorktree(ctx, "r1", nil); err != nil {
				t.Error(err)
			}
			if tt.after == "" && !strings.Contains(f.sh(f.root, "git for-each-ref --format='%(refname)' refs/foundry | xargs -n1 git ls-tree -r --name-only"), "gen/b") {
				t.Error("what the setup left is in no snapshot")
			}
		})
	}
}

// newRepoAt opens the repository as another process would.
func newRepoAt(t *testing.T, f *fix) *Repo {
	t.Helper()
	r, err := Open(ctx, f.root)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHooksThatAreNotThere(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, "git config core.hooksPath .husky/_; mkdir -p .husky/_; echo '_' >.husky/.gitignore; git add -A; git commit -qm husky")
	f.add()
	f.agent("echo x >>a.txt")
	done, err := f.tree.Commit(ctx, "work", true)
	if err != nil || len(done.Notes) != 1 || !strings.HasPrefix(done.Notes[0], "no hook ran: core.hooksPath names") {
		t.Errorf("%q %v", done.Notes, err)
	}
}

// A hook that does not end takes a commit down with it, and leaves neither a commit nor a lock.
func TestHookThatHangs(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, `printf '#!/bin/sh\n: >"$(git rev-parse --git-common-dir)/reached"; exec sleep 600\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`)
	f.add()
	f.tree.hookTime = 300 * time.Millisecond
	f.agent("echo x >>a.txt")
	if _, err := f.tree.Commit(ctx, "work", true); err == nil || !strings.Contains(err.Error(), "did not end in time") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(f.root, ".git/reached")); err != nil {
		t.Error("the hook did not run")
	}
	if out := f.sh(f.tree.Dir(), "git rev-parse HEAD; ls $(git rev-parse --git-dir)"); !strings.HasPrefix(out, f.base) || strings.Contains(out, ".lock") {
		t.Errorf("left %q", out)
	}
	if done, err := f.tree.Commit(ctx, "work", false); err != nil || done.Nothing {
		t.Errorf("afterwards: %+v %v", done, err)
	}
}

// A git that says it made a commit and did not is not believed.
func TestCommitThatDidNotHappen(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	r, err := OpenIn(ctx, f.root, fakeGit(t, `case " $* " in *" commit "*) exit 0;; esac`))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := r.OpenWorktree(ctx, f.spec())
	if err != nil {
		t.Fatal(err)
	}
	f.agent("echo x >>a.txt")
	if _, err := tree.Commit(ctx, "work", true); err == nil || !strings.Contains(err.Error(), "HEAD is where it was") {
		t.Errorf("got %v", err)
	}
}

// Whatever git cannot answer on the way to taking something away is a refusal, and nothing has been touched.
func TestNothingIsRemovedOnAnError(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"for-each-ref", "worktree list", "ls-files", "rev-parse", "update-ref", "show-ref", "diff-files"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			f := withTree(t)
			f.agent("echo x >>a.txt; git commit -qam work; echo more >>b.txt")
			tip := f.sh(f.root, "git rev-parse foundry/r1")
			before := disk(t, f.tree.Dir())
			r, err := OpenIn(ctx, f.root, fakeGit(t, `[ -e `+f.root+`/.git/fail ] && case " $* " in *" `+command+` "*) echo "fatal: no" >&2; exit 128;; esac`))
			if err != nil {
				t.Fatal(err)
			}
			f.sh(f.root, ": >.git/fail")
			_, _, derr := r.Discard(ctx, DiscardSpec{Run: "r1", Branch: "foundry/r1"})
			berr := r.DeleteBranch(ctx, "foundry/r1", tip)
			if derr == nil || berr == nil {
				t.Errorf("discard: %v; delete the branch: %v", derr, berr)
			}
			f.sh(f.root, "rm .git/fail; git rev-parse -q --verify foundry/r1")
			if command == "worktree list" {
				return // it is asked when the worktree is gone, to see that it is
			}
			if d := differing(before, disk(t, f.tree.Dir())); len(d) > 0 || !slices.Contains(strings.Fields(f.sh(f.root, "git worktree list")), f.tree.Dir()) {
				t.Errorf("touched %q", d)
			}
		})
	}
}

// What a run changed is counted from the commit that it began at.
func TestChangesSinceACommit(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.agent("echo x >>src/s.go")
	list, err := f.tree.Changes(ctx, f.base, f.snapshot().Tree)
	if err != nil || len(list) != 1 || list[0].Path != "src/s.go" {
		t.Errorf("%+v %v", list, err)
	}
}
