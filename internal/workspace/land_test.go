package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAddWorktree(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	if f.tree.Dir() != filepath.Join(f.root, ".foundry-worktrees", "r1") {
		t.Errorf("at %s", f.tree.Dir())
	}
	if out := f.sh(f.root, "git status --porcelain; cat .git/info/exclude | tail -3; git config --local --get-regexp 'branch.*' || :"); out != "/.foundry/\n/.foundry-worktrees/\n/.foundry-handoff/" {
		t.Errorf("the repository: %q", out)
	}
	list, err := f.repo.Worktrees(ctx)
	if err != nil || len(list) != 2 || list[0].Run != "" || list[1].Run != "r1" || list[1].Branch != "foundry/r1" || list[1].Head != f.base {
		t.Errorf("worktrees: %+v %v", list, err)
	}
	if names, err := f.repo.Branches(ctx); err != nil || !slices.Equal(names, []string{"main"}) {
		t.Errorf("branches: %q %v", names, err)
	}
	var blocked *BlockedError
	if _, err := f.repo.AddWorktree(ctx, f.spec()); !errors.As(err, &blocked) {
		t.Errorf("a second time: %v", err)
	}
	if _, err := f.repo.AddWorktree(ctx, WorktreeSpec{Run: "r2", Commit: f.base, Branch: "foundry/r1"}); !errors.As(err, &blocked) {
		t.Errorf("a branch that exists: %v", err)
	}
	for _, run := range []string{"", "..", "a/b", "-x", ".hidden", "a b", "x.lock", "a..b"} {
		if _, err := f.repo.AddWorktree(ctx, WorktreeSpec{Run: run, Commit: f.base, Branch: "foundry/x"}); err == nil {
			t.Errorf("the run %q was taken", run)
		}
	}
	d, err := f.repo.AddWorktree(ctx, WorktreeSpec{Run: "r3", Commit: f.base, Detached: true})
	if err != nil {
		t.Fatal(err)
	}
	if out := f.sh(d.Dir(), "git rev-parse HEAD; git symbolic-ref -q HEAD || :"); out != f.base {
		t.Errorf("detached: %q", out)
	}
	if s, err := d.Snapshot(ctx); err != nil || s.Branch != "" || s.Head != f.base {
		t.Errorf("snapshot of a detached one: %+v %v", s, err)
	}
}

func TestParallelWorktrees(t *testing.T) {
	t.Parallel()
	f := newRepo(t).open()
	f.base, _, _ = f.repo.Head(ctx)
	var wg sync.WaitGroup
	for _, run := range []string{"p1", "p2", "p3", "p4"} {
		wg.Go(func() {
			r, err := Open(ctx, f.root)
			if err == nil {
				_, err = r.AddWorktree(ctx, WorktreeSpec{Run: run, Commit: f.base, Branch: "foundry/" + run})
			}
			if err != nil {
				t.Errorf("%s: %v", run, err)
			}
		})
	}
	wg.Wait()
	if list, err := f.repo.Worktrees(ctx); err != nil || len(list) != 5 {
		t.Errorf("%d worktrees, %v", len(list), err)
	}
}

// traces lists what a failed creation has left behind.
func (f *fix) traces() string {
	f.t.Helper()
	return f.sh(f.root, "ls -A .foundry-worktrees .git/worktrees 2>/dev/null || :; ls .git/foundry | grep -v lock || :; git for-each-ref refs/heads/foundry refs/foundry; git worktree list | tail -n +2")
}

func TestFailedCreationLeavesNothing(t *testing.T) {
	t.Parallel()
	t.Run("required filter fails", func(t *testing.T) {
		t.Parallel()
		f := newRepo(t)
		f.sh(f.root, `echo '*.bin filter=big' >.gitattributes; printf pointer >x.bin; git add -A; git commit -qm f; git config filter.big.smudge false; git config filter.big.clean cat; git config filter.big.required true`)
		f.open()
		f.base, _, _ = f.repo.Head(ctx)
		_, err := f.repo.AddWorktree(ctx, f.spec())
		if err == nil || !strings.Contains(err.Error(), "smudge filter big failed") {
			t.Errorf("got %v", err)
		}
		if left := f.traces(); left != "" {
			t.Errorf("left %q", left)
		}
	})
	t.Run("no such commit", func(t *testing.T) {
		t.Parallel()
		f := newRepo(t).open()
		f.base = strings.Repeat("1", 40)
		if _, err := f.repo.AddWorktree(ctx, f.spec()); err == nil {
			t.Error("made from nothing")
		}
		if left := f.traces(); left != "" {
			t.Errorf("left %q", left)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		f := newRepo(t)
		f.sh(f.root, `echo '*.bin filter=slow' >.gitattributes; printf x >x.bin; git add -A; git commit -qm f; git config filter.slow.smudge 'sleep 60'; git config filter.slow.clean cat`)
		f.open()
		f.base, _, _ = f.repo.Head(ctx)
		c, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		if _, err := f.repo.AddWorktree(c, f.spec()); err == nil {
			t.Error("made although it was cancelled")
		}
		if left := f.traces(); left != "" {
			t.Errorf("left %q", left)
		}
	})
	t.Run("branch is locked", func(t *testing.T) {
		t.Parallel()
		f := newRepo(t).open()
		f.base, _, _ = f.repo.Head(ctx)
		f.sh(f.root, "mkdir -p .git/refs/heads/foundry; : >.git/refs/heads/foundry/r1.lock; : >.git/index.lock; : >.git/config.lock")
		_, err := f.repo.AddWorktree(ctx, f.spec())
		var lock *LockError
		if !errors.As(err, &lock) || !strings.HasSuffix(lock.Path, "refs/heads/foundry/r1.lock") || lock.Age == "" {
			t.Errorf("got %v", err)
		}
		if left := f.traces(); left != "" {
			t.Errorf("left %q", left)
		}
		// The other locks are of no concern to a new worktree.
		f.sh(f.root, "rm .git/refs/heads/foundry/r1.lock")
		if _, err := f.repo.AddWorktree(ctx, f.spec()); err != nil {
			t.Errorf("under locks of the checkout: %v", err)
		}
		f.sh(f.root, "test -f .git/index.lock -a -f .git/config.lock")
	})
}

func TestHooksDoNotRun(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]string{"failing": "exit 7", "hanging": "exec sleep 600", "dirtying": "echo gen >generated.txt"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			f.sh(f.root, `mkdir -p .git/hooks; for h in post-checkout pre-commit commit-msg post-commit post-merge pre-merge-commit reference-transaction post-index-change; do printf '#!/bin/sh\n`+hook+`\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done
				git config commit.gpgsign true; git config gpg.program /no/such/gpg; git config core.editor 'sleep 600'`)
			f.add()
			if _, err := os.Lstat(filepath.Join(f.tree.Dir(), "generated.txt")); err == nil {
				t.Error("a hook ran")
			}
			f.agent("echo x >>src/s.go")
			s := f.snapshot()
			if _, err := f.repo.Merge(ctx, f.merge(s.Tree)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCommitWithHooks(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, `mkdir -p .git/hooks; printf '#!/bin/sh\ngrep -q good && exit 0; echo "no good" >&2; exit 1\n' >/dev/null
		printf '#!/bin/sh\ngrep -q good "$1" || { echo "message must be good" >&2; exit 1; }\n' >.git/hooks/commit-msg; chmod +x .git/hooks/commit-msg; git config commit.gpgsign true; git config gpg.program /no/such/gpg`)
	f.add()
	f.agent("echo x >>src/s.go; echo n >new; echo s >s.env; git init -q nested; echo q >nested/q")
	if _, err := f.tree.Commit(ctx, "bad", true); err == nil || !strings.Contains(err.Error(), "message must be good") {
		t.Errorf("a hook that refuses: %v", err)
	}
	done, err := f.tree.Commit(ctx, "good\n\n# not a comment", true)
	if err != nil || done.Nothing {
		t.Fatal(err, done)
	}
	sha := done.Commit
	same(t, "notes", done.Notes, []string{"hooks ran: commit-msg", "not signed, although commit.gpgSign is set: nobody is there to unlock a key"})
	if out := f.sh(f.tree.Dir(), "git rev-parse HEAD; git log -1 --format=%an:%B; git show --name-only --format="); out != sha+"\nT:good\n\n# not a comment\n\nnew\nsrc/s.go" {
		t.Errorf("got %q", out)
	}
	if again, err := f.tree.Commit(ctx, "good", true); again.Commit != sha || !again.Nothing || err != nil {
		t.Errorf("nothing to commit: %+v %v", again, err)
	}
	f.agent("echo y >>src/s.go; : >\"$(git rev-parse --git-path index.lock)\"")
	if done, err := f.tree.Commit(ctx, "bad", false); err != nil || done.Nothing || !strings.Contains(strings.Join(done.Notes, "\n"), "hooks did not run, as project.hooks says: commit-msg") {
		t.Errorf("without hooks, under a stale lock: %+v %v", done, err)
	}
	f.agent(`sed -i 's/$/\r/' a.txt`)
	if done, err := f.tree.Commit(ctx, "good", true); err != nil || !done.Nothing {
		t.Errorf("line endings only: %+v %v", done, err)
	}
	f.agent("git rm -q b.txt; mv src/s.go src/t.go; chmod +x a.txt; ln -s a.txt link")
	if _, err := f.tree.Commit(ctx, "good", false); err != nil {
		t.Fatal(err)
	}
	if out := f.sh(f.tree.Dir(), "git show --name-status --no-renames --format="); out != "M\ta.txt\nD\tb.txt\nA\tlink\nD\tsrc/s.go\nA\tsrc/t.go" {
		t.Errorf("got %q", out)
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, "echo S=1 >.env; chmod 600 .env; echo T=2 >test.env; mkdir -p node_modules/x sub; echo m >node_modules/x/m; echo U >sub/u.env; echo untracked >untracked")
	f.add()
	if err := f.tree.Prepare(ctx, []string{".env", "sub/*.env", "missing.env", "a.txt"}, []string{"node_modules"}); err != nil {
		t.Fatal(err)
	}
	now := disk(t, f.tree.Dir())
	if now[".env"] != "f 600 S=1\n" || now["sub/u.env"] != "f 644 U\n" || now["node_modules"] != "l "+f.root+"/node_modules" || now["test.env"] != "" {
		t.Errorf("got %q", now)
	}
	if notes := strings.Join(f.tree.Notes(), "\n"); !strings.Contains(notes, `"missing.env"`) || !strings.Contains(notes, `"a.txt" is already`) {
		t.Errorf("notes %q", notes)
	}
	for _, bad := range []string{"../x", "/etc/passwd", ".git/config", "."} {
		if err := f.tree.Prepare(ctx, []string{bad}, nil); err == nil {
			t.Errorf("%q was copied", bad)
		}
	}
	// Copied files are bounded although they are ignored; the link is no change, and is not committed.
	e := f.checkBoundary("echo evil >.env; rm sub/u.env", onlySrc, "changed .env", "deleted sub/u.env")
	if len(e.Changes) > 0 {
		t.Errorf("changes %+v", e.Changes)
	}
	if done, err := f.tree.Commit(ctx, "x", false); !done.Nothing || err != nil {
		t.Errorf("committed %s", f.sh(f.tree.Dir(), "git show --name-only"))
	}
}

// merge is the spec of a merge of the run into main.
func (f *fix) merge(tree string) MergeSpec {
	return MergeSpec{Run: "r1", Branch: "foundry/r1", Base: "main", BranchPoint: f.base, Tree: tree, Message: "work of r1"}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, "mkdir old; echo o >old/o; echo l >lib; chmod +x src/s.go; git add -A; git commit -qm more")
	f.add()
	f.agent("echo x >>src/s.go; git commit -qam first; echo new >'src/n w.go'; rm b.txt; rm -r old; rm lib; mkdir lib; echo in >lib/in; chmod +x a.txt; ln -s a.txt link; echo s >s.env; mkdir .foundry-handoff; echo h >.foundry-handoff/h")
	f.sh(f.root, "echo mine >notes; echo edit >>.gitignore; git add notes; echo more >>notes")
	user := disk(t, f.root)
	s := f.snapshot()
	res, err := f.repo.Merge(ctx, f.merge(s.Tree))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.txt", "b.txt", "lib", "lib/in", "link", "old/o", "src/n w.go", "src/s.go"}
	same(t, "files", res.Files, want)
	if res.Checkout != f.root {
		t.Errorf("checkout %q", res.Checkout)
	}
	same(t, "changed on disk", differing(user, disk(t, f.root)), want)
	for p, d := range disk(t, f.tree.Dir()) {
		if slices.Contains(want, p) && disk(t, f.root)[p] != d {
			t.Errorf("%q in the checkout is %q, in the worktree %q", p, disk(t, f.root)[p], d)
		}
	}
	if out := f.sh(f.root, "echo; git status --porcelain; git rev-parse main foundry/r1; git log --format=%s"); out != "M .gitignore\nAM notes\n"+res.Commit+"\n"+res.Commit+"\nwork of r1\nfirst\nmore\nbase" {
		t.Errorf("git says %q", out)
	}
	again, err := f.repo.Merge(ctx, f.merge(s.Tree))
	if err != nil || again.Commit != res.Commit {
		t.Errorf("a second time: %+v %v", again, err)
	}
}

func TestMergeIntoNoCheckout(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.sh(f.root, "git switch -q -c feature; echo x >a.txt")
	f.agent("echo y >a.txt")
	before := disk(t, f.root)
	res, err := f.repo.Merge(ctx, f.merge(f.snapshot().Tree))
	if err != nil || res.Checkout != "" {
		t.Fatal(res, err)
	}
	if d := differing(before, disk(t, f.root)); len(d) > 0 {
		t.Errorf("touched %q", d)
	}
	if out := f.sh(f.root, "git show main:a.txt; git status --porcelain"); out != "y\n M a.txt" {
		t.Errorf("git says %q", out)
	}
}

func TestMergeIntoAnotherWorktree(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	second := filepath.Join(filepath.Dir(f.root), "second")
	f.sh(f.root, "git switch -q -c feature; git worktree add -q ../second main")
	f.agent("echo n >src/n.go")
	res, err := f.repo.Merge(ctx, f.merge(f.snapshot().Tree))
	if err != nil || res.Checkout != second {
		t.Fatal(res, err)
	}
	if out := f.sh(second, "git status --porcelain; cat src/n.go"); out != "n" {
		t.Errorf("git says %q", out)
	}
	if out := f.sh(f.root, "git status --porcelain"); out != "" {
		t.Errorf("the other checkout: %q", out)
	}
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, setup, reason string
		paths               []string
	}{
		{"ahead", "echo u >u.txt; git add -A; git commit -qm user", `"main" moved by 1 commit`, nil},
		{"rewound", "git commit -q --amend -m rewritten", `"main" no longer contains`, nil},
		{"gone", "git switch -q -c other; git branch -qD main", `"main" does not exist any more`, nil},
		{"dirty", "echo d >>a.txt; echo unrelated >>.gitignore", "uncommitted changes", []string{"a.txt"}},
		{"staged", "echo d >>a.txt; git add a.txt", "staged changes", []string{"a.txt"}},
		{"staged and back", "echo d >>a.txt; git add a.txt; git cat-file blob HEAD:a.txt >a.txt", "staged changes", []string{"a.txt"}},
		{"deleted", "rm a.txt", "uncommitted changes", []string{"a.txt"}},
		{"assume-unchanged", "git update-index --assume-unchanged a.txt; echo d >>a.txt", "uncommitted changes", []string{"a.txt"}},
		{"untracked", "mkdir -p new; echo mine >new/n.go", "untracked files", []string{"new/n.go"}},
		{"ignored", "mkdir -p new; echo mine >new/x.env; echo n >new/n.go", "untracked files and ignored files", []string{"new/n.go", "new/x.env"}},
		{"a file where a directory must be", "echo mine >new", "untracked files", []string{"new"}},
		{"a link where a directory must be", "ln -s /tmp new", "untracked files", []string{"new"}},
		{"a directory where a file must be", "mkdir -p new/n.go; echo mine >new/n.go/x", "untracked files", []string{"new/n.go"}},
		{"merging", "git switch -q -c t; echo t >b.txt; git commit -qam t; git switch -q main; git merge -q --no-ff --no-commit t", "another operation", nil},
		{"rebasing", "git switch -q -c t HEAD; echo t >b.txt; git commit -qam t; git switch -q main; git branch keep; echo m >b.txt; git commit -qam m; git rebase -q t >/dev/null 2>&1 || :; git update-ref refs/heads/main keep", "is being rebased", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := withTree(t)
			f.agent("echo agent >>a.txt; mkdir new; echo n >new/n.go; echo e >new/x.env; git add -f new/x.env; git commit -qam work")
			s := f.snapshot()
			f.sh(f.root, tt.setup)
			state := "git for-each-ref refs/heads/main; cksum <.git/index; git status --porcelain"
			before, git := disk(t, f.root), f.sh(f.root, state)
			_, err := f.repo.Merge(ctx, f.merge(s.Tree))
			var blocked *BlockedError
			if !errors.As(err, &blocked) {
				t.Fatalf("not refused: %v", err)
			}
			if !strings.Contains(blocked.Reason, tt.reason) || !slices.Equal(blocked.Paths, tt.paths) || blocked.Hint == "" {
				t.Errorf("got %q %q hint %q", blocked.Reason, blocked.Paths, blocked.Hint)
			}
			if d := differing(before, disk(t, f.root)); len(d) > 0 || f.sh(f.root, state) != git {
				t.Errorf("touched: %q\n%s\n%s", d, git, f.sh(f.root, state))
			}
			f.sh(f.root, "git rev-parse -q --verify foundry/r1 && test -d .foundry-worktrees/r1")
		})
	}
}

func TestMergeOnlyWhatWasJudged(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.agent("echo work >>src/s.go")
	s := f.snapshot()
	f.agent("echo later >>a.txt")
	var blocked *BlockedError
	if _, err := f.repo.Merge(ctx, f.merge(s.Tree)); !errors.As(err, &blocked) || !slices.Equal(blocked.Paths, []string{"a.txt"}) {
		t.Fatalf("got %v", err)
	}
	f.agent("git checkout -q a.txt; mkdir .foundry-handoff; echo x >.foundry-handoff/x; echo made >made.env")
	if _, err := f.repo.Merge(ctx, f.merge(s.Tree)); err != nil {
		t.Errorf("what agents hand over and what is ignored does not count: %v", err)
	}
	if out := f.sh(f.root, "git show --name-only --format= main"); out != "src/s.go" {
		t.Errorf("merged %q", out)
	}
}

func TestMergeWithNestedWork(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.snapshot()
	f.agent("git init -q nest; cd nest; echo x >x; git add -A; git commit -qm x")
	var blocked *BlockedError
	if _, err := f.repo.Merge(ctx, f.merge(f.snapshot().Tree)); !errors.As(err, &blocked) || !slices.Equal(blocked.Paths, []string{"nest"}) {
		t.Errorf("got %v", err)
	}
}

func TestMergeWithLineEndingConversion(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, `printf '* text=auto eol=crlf\n' >.gitattributes; git add -A; git commit -qm eol; rm -r *.txt src; git checkout -q .`)
	f.add()
	f.agent(`printf 'new\r\nlines\r\n' >a.txt`)
	if _, err := f.repo.Merge(ctx, f.merge(f.snapshot().Tree)); err != nil {
		t.Fatal(err)
	}
	if got := disk(t, f.root)["a.txt"]; got != "f 644 new\r\nlines\r\n" {
		t.Errorf("in the checkout: %q", got)
	}
	if out := f.sh(f.root, "git cat-file blob main:a.txt | od -c | head -1; git status --porcelain"); !strings.Contains(out, `n   e   w  \n`) || strings.Contains(out, "M ") {
		t.Errorf("git has %q", out)
	}
}

func TestHalfDoneMergeIsFinished(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.agent("echo agent >>a.txt; mkdir new; echo n >new/n.go; rm b.txt; git add -A; git commit -qm work")
	s := f.snapshot()
	// As after a crash between the files and the branch.
	f.sh(f.root, "git read-tree -m -u main foundry/r1")
	res, err := f.repo.Merge(ctx, f.merge(s.Tree))
	if err != nil {
		t.Fatal(err)
	}
	if out := f.sh(f.root, "git status --porcelain; git rev-parse main"); out != res.Commit {
		t.Errorf("git says %q", out)
	}
}

func TestFailedUpdateIsTakenBack(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, `echo one >x.bin; echo '*.bin filter=big' >.gitattributes; git add -A; git commit -qm f; git config filter.big.clean cat; git config filter.big.smudge cat; git config filter.big.required true`)
	f.add()
	f.agent("echo agent >>a.txt; rm b.txt; mkdir aa; echo n >aa/n; echo two >x.bin; git add -A; git commit -qm work")
	s := f.snapshot()
	f.sh(f.root, `git config filter.big.smudge 'grep -v two'; echo unrelated >u`)
	before := disk(t, f.root)
	_, err := f.repo.Merge(ctx, f.merge(s.Tree))
	if err == nil || !strings.Contains(err.Error(), "is as it was") {
		t.Fatalf("got %v", err)
	}
	if d := differing(before, disk(t, f.root)); len(d) > 0 {
		t.Errorf("differs in %q", d)
	}
	if out := f.sh(f.root, "git status --porcelain; git rev-parse main"); out != "?? u\n"+f.base {
		t.Errorf("git says %q", out)
	}
}

func TestRemoveWorktree(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.agent("echo setup >setup.env; mkdir -p data node_modules; echo 1 >node_modules/one")
	if err := f.tree.Baseline(ctx); err != nil {
		t.Fatal(err)
	}
	f.agent("echo work >>a.txt; echo result >result.env; mkdir -p node_modules/deep; echo 2 >node_modules/deep/two; mkdir ro; echo x >ro/x; chmod 500 ro")
	var blocked *BlockedError
	if err := f.repo.RemoveWorktree(ctx, "r1", nil); !errors.As(err, &blocked) || !slices.Equal(blocked.Paths, []string{"result.env"}) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Lstat(filepath.Join(f.tree.Dir(), "result.env")); err != nil {
		t.Error("it was lost")
	}
	if err := f.repo.RemoveWorktree(ctx, "r1", []string{"*.env"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(f.tree.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Error("still on disk")
	}
	if list, _ := f.repo.Worktrees(ctx); len(list) != 1 {
		t.Errorf("still listed: %+v", list)
	}
	if out := f.sh(f.root, "for r in $(git for-each-ref --format='%(refname)' --sort=-creatordate refs/foundry/r1); do git show $r:a.txt; done | grep work | head -1"); out != "work" {
		t.Errorf("uncommitted work was lost: %q", out)
	}
	if err := f.repo.RemoveWorktree(ctx, "r1", nil); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if err := f.repo.DeleteBranch(ctx, "foundry/r1", f.base); err != nil {
		t.Errorf("the branch: %v", err)
	}
	if left := f.sh(f.root, "git branch --list 'foundry/*'"); left != "" {
		t.Errorf("left %q", left)
	}
}

func TestDeleteBranchKeepsCommits(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	var blocked *BlockedError
	if err := f.repo.DeleteBranch(ctx, "foundry/r1", f.base); !errors.As(err, &blocked) {
		t.Errorf("checked out: %v", err)
	}
	f.sh(f.root, "git branch alone; git switch -q alone; git commit -q --allow-empty -m only; git switch -q main")
	tip := f.sh(f.root, "git rev-parse alone")
	if err := f.repo.DeleteBranch(ctx, "alone", f.base); !errors.As(err, &blocked) {
		t.Errorf("moved: %v", err)
	}
	if err := f.repo.DeleteBranch(ctx, "alone", tip); !errors.As(err, &blocked) {
		t.Errorf("nothing else holds it: %v", err)
	}
}

func TestDiscard(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	if err := f.tree.Baseline(ctx); err != nil {
		t.Fatal(err)
	}
	f.agent("echo work >>a.txt; git commit -qam work; echo more >>b.txt; echo r >result.env")
	var blocked *BlockedError
	if _, _, err := f.repo.Discard(ctx, DiscardSpec{Run: "r1", Branch: "foundry/r1"}); !errors.As(err, &blocked) {
		t.Fatalf("ignored files were lost: %v", err)
	}
	ref, _, err := f.repo.Discard(ctx, DiscardSpec{Run: "r1", Branch: "foundry/r1", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if out := f.sh(f.root, "git log -1 --format=%s "+ref+"; git branch --list 'foundry/*'; ls .foundry-worktrees 2>/dev/null || :"); out != "work" {
		t.Errorf("got %q", out)
	}
	if runs, err := f.repo.Runs(ctx); err != nil || !slices.Equal(runs, []string{"r1"}) {
		t.Errorf("runs %q %v", runs, err)
	}
	if out := f.sh(f.root, "for r in $(git for-each-ref --format='%(refname)' refs/foundry); do git show $r:b.txt; done | grep more | head -1"); out != "more" {
		t.Error("uncommitted work was lost")
	}
	if err := f.repo.Prune(ctx, "r1"); err != nil {
		t.Fatal(err)
	}
	if left := f.sh(f.root, "git for-each-ref refs/foundry"); left != "" {
		t.Errorf("left %q", left)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.agent("mkfifo p; ln -s a.txt in; ln -s /etc/passwd out; ln -s nowhere broken; ln -s ../.. up; head -c 100 /dev/zero >zero; : >empty")
	for p, want := range map[string]FileInfo{
		"a.txt": {Exists: true, Type: "file", Size: 2, Data: []byte("a\n")}, "./src/../a.txt": {Exists: true, Type: "file", Size: 2, Data: []byte("a\n")},
		"none": {}, "a.txt/x": {}, "src": {Exists: true, Type: "dir"}, "p": {Exists: true, Type: "fifo"},
		"in": {Exists: true, Type: "symlink", Size: 2, Data: []byte("a\n")}, "out": {Exists: true, Type: "symlink", Problem: "links out of the workspace"},
		"up/a.txt": {Exists: true, Type: "file", Problem: "links out of the workspace"}, "broken": {Exists: true, Type: "symlink", Problem: "a link that leads nowhere"},
		"/etc/passwd": {Problem: "absolute path"}, "../../a.txt": {Problem: "leaves the workspace"}, "src/../../x": {Problem: "leaves the workspace"}, "": {Problem: "empty path"},
		"zero": {Exists: true, Type: "file", Size: 100, Data: make([]byte, 10), Truncated: true}, "empty": {Exists: true, Type: "file"},
	} {
		got := f.tree.Files([]string{p}, 10)[p]
		if got.Exists != want.Exists || got.Type != want.Type || got.Problem != want.Problem || got.Truncated != want.Truncated || string(got.Data) != string(want.Data) || want.Type == "file" && want.Problem == "" && got.Size != want.Size {
			t.Errorf("%q: got %+v", p, got)
		}
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	s := f.snapshot()
	f.agent("echo x >>a.txt; mkdir .foundry-handoff; echo h >.foundry-handoff/h; git mv b.txt c.txt; printf 'a\\0b' >bin")
	e := f.snapshot()
	diff, err := f.repo.ShowDiff(ctx, s.Tree, e.Tree, false)
	if err != nil || !strings.Contains(string(diff), "+x\n") || !strings.Contains(string(diff), "rename to c.txt") || strings.Contains(string(diff), "handoff") || strings.Contains(string(diff), "\x1b") {
		t.Errorf("%v\n%s", err, diff)
	}
	if diff, err = f.repo.ShowDiff(ctx, s.Tree, e.Tree, true); err != nil || !strings.Contains(string(diff), "\x1b[32m+") {
		t.Errorf("colours: %v\n%s", err, diff)
	}
	stat, err := f.repo.Stat(ctx, s.Tree, e.Tree)
	if err != nil || !strings.Contains(stat, "a.txt") || !strings.Contains(stat, "3 files changed") {
		t.Errorf("%v\n%s", err, stat)
	}
	changes, err := f.tree.Changes(ctx, s.Tree, e.Tree)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, strings.TrimSpace(c.Kind.String()+" "+c.Path+" "+c.From))
	}
	same(t, "changes", got, []string{"created .foundry-handoff/h", "changed a.txt", "created bin", "renamed c.txt b.txt"})
	if data, err := f.repo.FileAt(ctx, e.Tree, "a.txt"); string(data) != "a\nx\n" || err != nil {
		t.Errorf("%q %v", data, err)
	}
}

func TestOutside(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.sh(f.root, "echo mine >>b.txt; git branch feature; git tag old; echo gone >gone")
	before, err := f.repo.Outside(ctx, "main")
	if err != nil {
		t.Fatal(err)
	}
	f.agent("echo evil >>../../a.txt; echo more >>../../b.txt; rm ../../gone; echo n >../../new; git tag v9; git branch -f feature HEAD; git tag -d old >/dev/null; echo w >>b.txt; git stash -q; git commit -q --allow-empty -m x")
	f.sh(f.root, "git commit -q --allow-empty -m 'the base may move'; git branch -f feature main")
	after, err := f.repo.Outside(ctx, "main")
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, c := range after.Since(before) {
		said = append(said, c.String())
	}
	same(t, "outside", said, []string{"a.txt changed", "b.txt changed", "gone deleted", "new created", "refs/heads/feature moved", "refs/stash created", "refs/tags/old deleted", "refs/tags/v9 created"})
	if again := after.Since(after); len(again) > 0 {
		t.Errorf("no difference: %v", again)
	}
}

func TestUnusualFormats(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]string{
		"sha256":       "rm -rf .git; git init -q --object-format=sha256; git add -A; git commit -qm base",
		"split index":  "git config core.splitIndex true; git update-index --split-index; git commit -q --allow-empty -m x",
		"index v4":     "git update-index --index-version 4; git config index.version 4",
		"fsmonitor":    "git config core.fsmonitor 'echo /; exit 0'; git update-index --fsmonitor; git config core.untrackedCache true; git status >/dev/null",
		"no file mode": "git config core.fileMode false",
		"packed":       "git pack-refs --all; git gc -q",
		"alternates":   "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			if name == "alternates" {
				f.sh(filepath.Dir(f.root), "mv repo store; git clone -q -s store repo; cd repo; git checkout -q main")
			} else {
				f.sh(f.root, setup)
			}
			f.add()
			e := f.checkBoundary("chmod +x b.txt; echo x >>a.txt; echo ok >>src/s.go; echo n >new", onlySrc, "changed a.txt", "mode b.txt", "created new")
			if _, err := f.repo.Merge(ctx, f.merge(e.End.Tree)); err != nil {
				t.Fatal(err)
			}
			if out := f.sh(f.root, "git show --name-only --format= main; cat src/s.go; git fsck --no-dangling 2>&1 | grep -v '^notice\\|^Checking' || :"); out != "src/s.go\ns\nok" {
				t.Errorf("got %q", out)
			}
		})
	}
}

func TestMergeUnderALock(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.agent("echo agent >>a.txt; rm b.txt; echo n >n")
	s := f.snapshot()
	f.sh(f.root, ": >.git/index.lock; : >.git/worktrees/r1/index.lock")
	before := disk(t, f.root)
	_, err := f.repo.Merge(ctx, f.merge(s.Tree))
	var lock *LockError
	if !errors.As(err, &lock) || lock.Path != filepath.Join(f.root, ".git/index.lock") || lock.Age == "" || len(lock.Also) > 0 {
		t.Errorf("got %v", err)
	}
	if d := differing(before, disk(t, f.root)); len(d) > 0 {
		t.Errorf("touched %q", d)
	}
	f.sh(f.root, "rm .git/index.lock; test -z \"$(git status --porcelain)\"; test $(git rev-parse main) = "+f.base)
	if _, err := f.repo.Merge(ctx, f.merge(s.Tree)); err != nil {
		t.Error(err)
	}
}
