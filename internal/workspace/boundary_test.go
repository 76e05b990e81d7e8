package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"foundry/glob"
)

// checkBoundary takes a snapshot, lets an agent work, enforces, and compares with what the disk says: the
// paths that must have been undone are as before, all others as the agent left them.
func (f *fix) checkBoundary(script string, b glob.Boundary, want ...string) Enforced {
	f.t.Helper()
	start := f.snapshot()
	before := disk(f.t, f.tree.Dir())
	f.agent(script)
	after := disk(f.t, f.tree.Dir())
	e := f.enforce(start, b)
	now := disk(f.t, f.tree.Dir())
	same(f.t, "violations", violated(f.t, e), want)
	for _, p := range differing(before, now) {
		if _, ok := b.Check(p); !ok {
			f.t.Errorf("%q is not as before: %q, was %q", p, now[p], before[p])
		}
	}
	for _, p := range differing(after, now) {
		if _, ok := b.Check(p); ok {
			f.t.Errorf("%q was touched: %q, was %q", p, now[p], after[p])
		}
	}
	if again := f.enforce(start, b); len(again.Violations) > 0 {
		f.t.Errorf("a second check finds %+v", again.Violations)
	}
	return e
}

func TestOddNames(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, "printf 1 >' lead'; git add -A; git commit -qm lead")
	f.add()
	names := []string{"new\nline.txt", "sp ace.txt", `"q".txt`, "a -> b", "café.txt", `back\slash`, "tab\tx", "-rf", "--", "*.txt", ":(top)a.txt", "trail ", "\xff\xfe"}
	script := "printf bad >' lead'\n"
	want := []string{"changed  lead"}
	for _, n := range names {
		script += "printf bad >./'" + n + "'\n"
		want = append(want, "created "+n)
	}
	e := f.checkBoundary(script+"printf 'ok\\n' >'src/ü -> [x] ok.go'", onlySrc, want...)
	same(t, "changes", changed(e), []string{"created src/ü -> [x] ok.go"})
}

func TestNamesThatArePathspecs(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, "mkdir 'p[1]' p1; echo x >'p[1]/f'; echo y >p1/f; git add -A; git commit -qm p")
	f.add()
	f.checkBoundary(`echo good >>src/s.go; echo new >src/new.go; echo bad >'*'; echo bad >':(top)*'; echo bad >":(glob)x"; echo bad >:x
		git --literal-pathspecs rm -q 'p[1]/f'; git commit -qm 'drop p[1]'`, onlySrc,
		"created *", "created :(top)*", "created :(glob)x", "created :x", "deleted p[1]/f", "head .git/HEAD")
}

func TestAlreadyDirty(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.agent("echo earlier >>a.txt; echo note >notes.md; mkdir tmpd; echo 1 >tmpd/one")
	e := f.checkBoundary(`echo agent >>a.txt; echo agent >>notes.md; echo 2 >tmpd/two
		printf 'B\n' >b.txt; touch -r .gitignore b.txt`, onlySrc,
		"changed a.txt", "changed notes.md", "created tmpd/two", "changed b.txt")
	if out := f.sh(f.root, "git show "+e.Before.Ref+":notes.md"); out != "note\nagent" {
		t.Errorf("what was undone is not kept: %q", out)
	}
}

func TestUntouchedIsNoChange(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	start := f.snapshot()
	f.agent("touch a.txt; cp b.txt x; mv x b.txt; git status >/dev/null; mkdir -p empty/deep; echo z >z; rm z")
	e := f.enforce(start, glob.Boundary{Writes: []glob.Layer{{}}})
	if len(e.Violations)+len(e.Changes) > 0 || e.End.Tree != start.Tree {
		t.Errorf("got %+v %+v", e.Violations, e.Changes)
	}
	if again := f.snapshot(); again.Tree != start.Tree {
		t.Error("the next snapshot has another tree")
	}
}

func TestKindsOfChange(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, "mkdir lib; echo 1 >lib/one; echo 2 >lib/two; ln -s one lib/link; echo x >lib/run; chmod +x lib/run; seq 50 >long; git add -A; git commit -qm more")
	f.add()
	f.checkBoundary(`chmod +x a.txt; chmod -x lib/run; rm b.txt; git mv long src/long; ln -sf two lib/link
		rm lib/one; mkdir lib/one; echo deep >lib/one/deep; rm lib/two; ln -s ../../../.. lib/two; rm -rf src/s.go; mkdir -p new/d; echo n >new/d/n`, onlySrc,
		"mode a.txt", "mode lib/run", "deleted b.txt", "deleted long", "changed lib/link", "deleted lib/one", "created lib/one/deep", "type lib/two", "created new/d/n")
	if _, err := os.Lstat(filepath.Join(f.tree.Dir(), "new")); err == nil {
		t.Error("a directory that the phase made is still there")
	}
}

func TestDirectoryBecomesLink(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, "mkdir lib; echo 1 >lib/one; git add -A; git commit -qm lib")
	f.add()
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "one"), []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.checkBoundary("rm -r lib; ln -s "+outside+" lib; echo evil >lib/new", onlySrc, "created lib", "deleted lib/one")
	if got := disk(t, outside); got["one"] != "f 644 mine\n" || got["new"] != "f 644 evil\n" {
		t.Errorf("an undo went through a link: %q", got)
	}
}

func TestAllowedPathInTheWay(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, "mkdir -p src/lib; echo 1 >src/lib/keep; git add -A; git commit -qm lib")
	f.add()
	start := f.snapshot()
	f.agent("rm -r src/lib; echo now a file >src/lib")
	b := glob.Boundary{Protect: []glob.Rule{{Glob: "src/lib/keep", Why: "project.protect"}}, Writes: onlySrc.Writes}
	e := f.enforce(start, b)
	if len(e.Violations) != 1 || e.Violations[0].Undone || !strings.Contains(e.Violations[0].Note, `"src/lib" is now a file`) {
		t.Errorf("got %+v", e.Violations)
	}
	if !strings.Contains(e.Violations[0].Reason, "project.protect") {
		t.Errorf("reason %q", e.Violations[0].Reason)
	}
}

func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.checkBoundary("mkfifo pipe; mkdir deep; mkfifo deep/pipe; rm a.txt; mkfifo a.txt; mkfifo src/ok", onlySrc,
		"created pipe", "created deep/pipe", "type a.txt")
}

func TestHiddenFromStatus(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.agent("echo old >local.env")
	if err := f.tree.Watch([]string{"*.env"}); err != nil {
		t.Fatal(err)
	}
	e := f.checkBoundary(`echo SECRET >k.env; echo new >local.env
		ex=$(git rev-parse --git-path info/exclude); echo hidden.sh >>"$ex"; echo x >hidden.sh
		git update-index --skip-worktree a.txt; echo evil >a.txt
		git update-index --assume-unchanged b.txt; echo evil >b.txt
		git config core.fileMode false; chmod +x .gitignore
		git config status.showUntrackedFiles no; echo y >plain.txt
		printf '#!/bin/sh\n' >"$(git rev-parse --git-common-dir)/hooks/post-checkout"`, onlySrc,
		"created k.env", "changed local.env", "created hidden.sh", "changed a.txt", "changed b.txt", "mode .gitignore", "created plain.txt",
		"index a.txt", "index b.txt", "changed .git/config", "changed .git/info/exclude", "created .git/hooks/post-checkout")
	if out := f.sh(f.tree.Dir(), "git ls-files -v a.txt b.txt; git config core.fileMode; cat $(git rev-parse --git-common-dir)/info/exclude; ls $(git rev-parse --git-common-dir)/hooks"); !strings.HasPrefix(out, "H a.txt\nH b.txt\ntrue") || strings.Contains(out, "hidden.sh") || strings.Contains(out, "post-checkout\n") {
		t.Errorf("left behind: %q", out)
	}
	if len(e.Before.meta.Own) == 0 {
		t.Error("git's own files are not kept")
	}
}

func TestIgnoreRulesOfThePhaseDoNotHide(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		want         []string
	}{
		{"a rule at the root", "echo 'evil*' >>.gitignore; echo x >evil.sh; mkdir evild; echo y >evild/y", []string{"changed .gitignore", "created evil.sh", "created evild/y"}},
		{"a directory that hides itself", "mkdir -p hid/deep; echo '*' >hid/.gitignore; echo x >hid/evil.sh; echo y >hid/deep/y", []string{"created hid/.gitignore", "created hid/evil.sh", "created hid/deep/y"}},
		{"a rule that shows", "printf '' >.gitignore; mkdir node_modules; echo x >node_modules/x; echo s >s.env", []string{"changed .gitignore"}},
		{"a cache that hides itself", "mkdir .cache_x; printf 'Signature: 8a477f597d28d172789f06886806bc55\n' >.cache_x/CACHEDIR.TAG; echo '*' >.cache_x/.gitignore; echo x >.cache_x/x", nil},
		{"rules removed altogether", "rm .gitignore; echo s >s.env; echo p >p.txt", []string{"deleted .gitignore", "created p.txt"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := withTree(t)
			start := f.snapshot()
			f.agent(tt.script)
			same(t, "violations", violated(t, f.enforce(start, onlySrc)), tt.want)
			if again := f.enforce(start, onlySrc); len(again.Violations) > 0 || again.End.Tree != start.Tree {
				t.Errorf("a second check finds %+v", again.Violations)
			}
		})
	}
	t.Run("self-hiding at the start stays hidden", func(t *testing.T) {
		t.Parallel()
		f := withTree(t)
		f.agent("mkdir .venv; echo '*' >.venv/.gitignore; echo 1 >.venv/one")
		start := f.snapshot()
		f.agent("echo 2 >.venv/two; echo x >src/x; echo '!two' >>.venv/.gitignore")
		e := f.enforce(start, onlySrc)
		same(t, "violations", violated(t, e), nil)
		same(t, "changes", changed(e), []string{"created src/x"})
	})
}

func TestAgentUsedGit(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	head := f.sh(f.tree.Dir(), "git rev-parse HEAD")
	e := f.checkBoundary(`echo x >forbidden.txt; git add -A; git commit -qm sneaky; git commit -q --amend -m rewritten
		git switch -q -c other; echo y >>a.txt; echo ok >>src/s.go; git commit -qam more
		git branch -f foundry/r1 main; git tag v9; git config user.name Mallory`, onlySrc,
		"created forbidden.txt", "changed a.txt", "head .git/HEAD", "changed .git/config")
	same(t, "changes", changed(e), []string{"changed src/s.go"})
	if out := f.sh(f.tree.Dir(), "git symbolic-ref HEAD; git rev-parse HEAD; git status --porcelain"); out != "refs/heads/foundry/r1\n"+head+"\n M src/s.go" {
		t.Errorf("git state: %q", out)
	}
	if out := f.sh(f.root, "git log --format=%s -1 "+e.Before.Ref+"^1"); out != "more" {
		t.Errorf("the agent's commit is not kept: %q", out)
	}
}

func TestCommitsWhereTheyAreAllowed(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	start := f.snapshot()
	f.agent("echo ok >>src/s.go; git commit -qam fine; echo bad >>a.txt; git commit -qam bad")
	e, err := f.tree.Enforce(ctx, start, onlySrc, true)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "violations", violated(t, e), []string{"changed a.txt"})
	if out := f.sh(f.tree.Dir(), "git log --format=%s; git status --porcelain"); out != "bad\nfine\nbase\n M a.txt" {
		t.Errorf("got %q", out)
	}
	start = f.snapshot()
	f.agent("git reset -q --hard HEAD~2; echo ok >>src/s.go; git commit -qam instead")
	if e, err = f.tree.Enforce(ctx, start, onlySrc, true); err != nil {
		t.Fatal(err)
	}
	if got := violated(t, e); len(got) != 1 || got[0] != "head .git/HEAD" {
		t.Errorf("a rewrite: %q", got)
	}
}

func TestStagingIsNoViolation(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	e := f.checkBoundary("echo ok >>src/s.go; git add -A", onlySrc)
	if len(e.Notes) == 0 {
		t.Error("that the index was put back is not said")
	}
	if out := f.sh(f.tree.Dir(), "git diff --cached --name-only"); out != "" {
		t.Errorf("still staged: %q", out)
	}
}

func TestUnfinishedMergeIsPutBack(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, "git checkout -q -b side; echo side >a.txt; git commit -qam side; git checkout -q main; echo main >a.txt; git commit -qam main")
	f.add()
	f.checkBoundary("git merge side >/dev/null 2>&1 || :", onlySrc, "changed a.txt", "head .git/HEAD")
	if out := f.sh(f.tree.Dir(), "git status"); strings.Contains(out, "merg") || !strings.Contains(out, "nothing to commit") {
		t.Errorf("got %q", out)
	}
}

func TestBrokenLink(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"gone":            "rm .git; echo x >c.txt",
		"init over it":    "rm .git; git init -q; git add -A; git commit -qm mine; echo x >c.txt",
		"points up":       "printf 'gitdir: ../../.git\n' >.git; echo x >c.txt",
		"entry gone":      `rm -r "$(git rev-parse --absolute-git-dir)"; echo x >c.txt`,
		"a link":          "rm .git; ln -s ../../.git .git; echo x >c.txt",
		"everything gone": `d=$PWD; cd /; rm -rf "$d"`,
		"a file instead":  `d=$PWD; cd /; rm -rf "$d"; echo x >"$d"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := withTree(t)
			f.sh(f.root, "echo 'user work' >a.txt")
			user := disk(t, f.root)
			start := f.snapshot()
			before := disk(t, f.tree.Dir())
			f.agent(script)
			if err := f.tree.Verify(ctx); !errors.Is(err, ErrBrokenLink) {
				t.Fatalf("the broken link is not seen: %v", err)
			}
			if _, err := f.tree.Snapshot(ctx); !errors.Is(err, ErrBrokenLink) {
				t.Fatalf("a snapshot was taken all the same: %v", err)
			}
			e := f.enforce(start, glob.Boundary{Writes: []glob.Layer{{}}})
			if !e.LinkBroken || e.Violations[0].Path != ".git" {
				t.Errorf("got %+v", e)
			}
			if d := differing(before, disk(t, f.tree.Dir())); len(d) > 0 {
				t.Errorf("the worktree differs in %q", d)
			}
			if d := differing(user, disk(t, f.root)); len(d) > 0 {
				t.Errorf("the user's checkout differs in %q", d)
			}
			if out := f.sh(f.tree.Dir(), "git rev-parse --show-toplevel; git symbolic-ref HEAD; git status --porcelain"); out != f.tree.Dir()+"\nrefs/heads/foundry/r1" {
				t.Errorf("git says %q", out)
			}
		})
	}
}

func TestSubmodule(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(filepath.Dir(f.root), "git init -q sub; cd sub; echo l >l.txt; git add -A; git commit -qm l")
	f.sh(f.root, "git submodule --quiet add ../sub lib; git commit -qm sm")
	f.add()
	f.agent("git submodule --quiet update --init")
	e := f.checkBoundary(`echo x >>lib/l.txt; echo y >lib/new.txt; git config submodule.lib.ignore all
		cd lib; git add -A; git commit -qm inside; echo z >later.txt`, onlySrc,
		"changed lib/l.txt", "created lib/new.txt", "created lib/later.txt", "nested lib", "changed .git/config")
	if out := f.sh(f.tree.Dir()+"/lib", "git status --porcelain; git log --format=%s; git for-each-ref --format='%(refname) %(subject)' refs/foundry"); !strings.HasPrefix(out, "l\nrefs/foundry/r1/") || !strings.HasSuffix(out, "inside") {
		t.Errorf("inside: %q", out)
	}
	_ = e
}

func TestNestedRepository(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.checkBoundary(`git init -q empty; git init -q deep/nest; cd deep/nest; echo x >x; git add -A; git commit -qm x; echo y >y; mkdir z; git init -q z/inner; echo q >z/inner/q`, onlySrc,
		"nested empty", "nested deep/nest", "nested deep/nest/z/inner", "created deep/nest/x", "created deep/nest/y", "created deep/nest/z/inner/q")
	lost, _ := filepath.Glob(filepath.Join(f.root, worktreesDir, ".lost/r1/*/git/HEAD"))
	if len(lost) != 3 {
		t.Errorf("kept %q", lost)
	}
	// A repository made over tracked files hides nothing either.
	f.checkBoundary("cd src; git init -q; echo bad >../bad; echo ok >ok", glob.Boundary{Writes: []glob.Layer{{Globs: []string{"src/*.go", "src/ok"}}}}, "nested src", "created bad")
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		// Root reads everything; what is left to see is that nothing breaks.
		t.Log("running as root")
	}
	f := newRepo(t)
	f.sh(f.root, "mkdir lib; echo 1 >lib/one; git add -A; git commit -qm lib")
	f.add()
	start := f.snapshot()
	f.agent("chmod 000 a.txt; echo x >lib/new; mkdir shut; echo x >shut/x; chmod 000 shut; echo n >n; chmod 000 n; chmod 500 lib")
	same(t, "violations", violated(t, f.enforce(start, onlySrc)), []string{"created lib/new", "created shut/x", "created n"})
	now := disk(t, f.tree.Dir())
	for _, p := range []string{"lib/new", "shut/x", "n"} {
		if _, there := now[p]; there {
			t.Errorf("%s is still there", p)
		}
	}
}

func TestCaseOnly(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs a file system that tells case apart")
	}
	f := withTree(t)
	f.checkBoundary("git mv a.txt A.txt; printf B >B.txt", onlySrc, "created A.txt", "created B.txt", "deleted a.txt")
}

func TestLineEndings(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, `printf '* text=auto eol=crlf\n' >.gitattributes; git add -A; git commit -qm eol`)
	f.add()
	if got := disk(t, f.tree.Dir())["a.txt"]; got != "f 644 a\r\n" {
		t.Fatalf("the worktree was made without conversion: %q", got)
	}
	start := f.snapshot()
	f.agent(`sed -i 's/\r$//' a.txt src/s.go; printf 'b\r\nc\r\n' >b.txt`)
	e := f.enforce(start, glob.Boundary{})
	var got []string
	for _, c := range e.Changes {
		got = append(got, fmt.Sprintf("%s %s %t", c.Kind, c.Path, c.EOLOnly))
	}
	same(t, "changes", got, []string{"changed a.txt true", "changed src/s.go true", "changed b.txt false"})
	f.enforce(start, onlySrc)
	now := disk(t, f.tree.Dir())
	if now["a.txt"] != "f 644 a\r\n" || now["b.txt"] != "f 644 b\r\n" || now["src/s.go"] != "f 644 s\n" {
		t.Errorf("after the undo: %q", now)
	}
}

func TestPhantomChangeIsNone(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, `printf 'x\r\ny\r\n' >c.txt; git add -A; git commit -qm c; echo '* text=auto' >.gitattributes; git add .gitattributes; git commit -qm attr`)
	f.add()
	e := f.checkBoundary("touch c.txt; echo ok >>src/s.go", onlySrc)
	same(t, "changes", changed(e), []string{"changed src/s.go"})
	if done, err := f.tree.Commit(ctx, "work", false); done.Nothing || err != nil {
		t.Fatal(done, err)
	}
	if out := f.sh(f.tree.Dir(), "git show --name-only --format="); out != "src/s.go" {
		t.Errorf("committed %q", out)
	}
}

func TestFilteredFile(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, `echo '*.rot filter=rot' >.gitattributes; git config filter.rot.smudge 'tr a-z n-za-m'; git config filter.rot.clean 'tr a-z n-za-m'; git config filter.rot.required true
		echo hello >x.rot; git add -A; git commit -qm rot`)
	f.add()
	if got := disk(t, f.tree.Dir())["x.rot"]; got != "f 644 hello\n" {
		t.Fatalf("smudged to %q", got)
	}
	f.checkBoundary("touch x.rot; echo ok >>src/s.go", onlySrc)
	f.checkBoundary("echo uryyb >x.rot", onlySrc, "changed x.rot")
}

func TestHandoffIsInSnapshotsOnly(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	e := f.checkBoundary("mkdir -p .foundry-handoff/a; echo note >.foundry-handoff/a/n; echo ok >>src/s.go", onlySrc)
	if out := f.sh(f.root, "git show "+e.End.Ref+":.foundry-handoff/a/n"); out != "note" {
		t.Errorf("not in the snapshot: %q", out)
	}
	f.agent("git add -A -f")
	if _, err := f.tree.Commit(ctx, "work", false); err != nil {
		t.Fatal(err)
	}
	if out := f.sh(f.tree.Dir(), "git show --name-only --format="); out != "src/s.go" {
		t.Errorf("committed %q", out)
	}
}

func TestCheckoutIsNeverTouched(t *testing.T) {
	t.Parallel()
	f := newRepo(t).open()
	f.sh(f.root, "echo mine >>b.txt; git add b.txt; echo more >>b.txt; echo u >untracked")
	var err error
	if f.tree, err = f.repo.Checkout(ctx, "r2"); err != nil {
		t.Fatal(err)
	}
	start := f.snapshot()
	f.agent("echo x >>a.txt; echo ok >>src/s.go; git commit -qm c src")
	before := disk(t, f.root)
	git := f.sh(f.root, "git status --porcelain; git rev-parse HEAD; cat .git/index | cksum")
	e := f.enforce(start, onlySrc)
	if len(e.Violations) != 2 || e.Violations[0].Undone || e.Violations[1].Undone || !strings.Contains(e.Violations[1].Note, "isolation is off") {
		t.Errorf("got %+v", e.Violations)
	}
	same(t, "changes", changed(e), []string{"changed a.txt", "changed src/s.go"})
	var blocked *BlockedError
	if err := f.tree.Restore(ctx, start); !errors.As(err, &blocked) {
		t.Errorf("restore: %v", err)
	}
	if d := differing(before, disk(t, f.root)); len(d) > 0 || f.sh(f.root, "git status --porcelain; git rev-parse HEAD; cat .git/index | cksum") != git {
		t.Errorf("touched %q", d)
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.agent("echo early >early.txt; mkdir -p .foundry-handoff; echo 1 >.foundry-handoff/n")
	start := f.snapshot()
	before := disk(t, f.tree.Dir())
	f.agent("echo x >>a.txt; rm early.txt; echo 2 >.foundry-handoff/n; git add -A; git commit -qm c; git checkout -q -b elsewhere; mkfifo p; echo n >n")
	// Another process takes over, as after a crash.
	f.open()
	tree, err := f.repo.OpenWorktree(ctx, WorktreeSpec{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := tree.Reload(ctx, start.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if s.Tree != start.Tree || s.Head != start.Head || s.Branch != start.Branch || s.N != start.N {
		t.Errorf("loaded %+v, was %+v", s, start)
	}
	if err := tree.Restore(ctx, s); err != nil {
		t.Fatal(err)
	}
	if d := differing(before, disk(t, f.tree.Dir())); len(d) > 0 {
		t.Errorf("differs in %q", d)
	}
	if out := f.sh(f.tree.Dir(), "git symbolic-ref HEAD; git status --porcelain"); out != "refs/heads/foundry/r1\n?? early.txt" {
		t.Errorf("git says %q", out)
	}
	if out := f.sh(f.root, "git show refs/foundry/r1/2:n; git log -1 --format=%s refs/foundry/r1/2^1"); out != "n\nc" {
		t.Errorf("what there was is not kept: %q", out)
	}
	if _, err := tree.Reload(ctx, "99"); err == nil {
		t.Error("a snapshot that does not exist was loaded")
	}
}

func TestTamperedSnapshotArea(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	start := f.snapshot()
	// An index that claims that everything is unchanged.
	f.agent(`echo evil >a.txt
		GIT_DIR="$(git rev-parse --git-common-dir)/foundry/r1" GIT_OBJECT_DIRECTORY="$(git rev-parse --git-common-dir)/objects" GIT_WORK_TREE=. git update-index --assume-unchanged a.txt`)
	same(t, "violations", violated(t, f.enforce(start, onlySrc)), []string{"changed a.txt"})
}

func TestSparseCheckout(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(f.root, "git sparse-checkout set --no-cone /a.txt")
	f.add()
	if _, err := os.Lstat(filepath.Join(f.tree.Dir(), "b.txt")); err == nil {
		t.Skip("this git gives a worktree everything")
	}
	start := f.snapshot()
	if out := f.sh(f.root, "git ls-tree -r --name-only "+start.Ref); !strings.Contains(out, "b.txt") {
		t.Errorf("what is left out counts as deleted: %q", out)
	}
	if notes := strings.Join(f.tree.Notes(), "\n"); !strings.Contains(notes, "sparse") {
		t.Errorf("notes %q", notes)
	}
	f.agent("echo x >b.txt; mkdir src; echo ok >src/s.go")
	e := f.enforce(start, onlySrc)
	same(t, "violations", violated(t, e), []string{"changed b.txt"})
	same(t, "changes", changed(e), []string{"changed src/s.go"})
}

func TestSameSecond(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	// Same size, all within one tick of the clock.
	for i := range 5 {
		start := f.snapshot()
		if err := os.WriteFile(filepath.Join(f.tree.Dir(), "a.txt"), []byte{byte('0' + i), '\n'}, 0o644); err != nil {
			t.Fatal(err)
		}
		e := f.enforce(start, onlySrc)
		if len(e.Violations) != 1 {
			t.Fatalf("round %d: %+v", i, e)
		}
	}
}

func TestOldTimesInOneSecond(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.snapshot()
	for _, text := range []string{"1", "2", "3", "4"} {
		start := f.snapshot()
		f.agent("printf '" + text + "\\n' >src/s.go; touch -d 2001-02-03 src/s.go")
		e := f.enforce(start, onlySrc)
		same(t, "changes", changed(e), []string{"changed src/s.go"})
	}
}

func TestHardLinkIsNotWrittenThrough(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	outside := filepath.Join(f.root, "keep")
	if err := os.WriteFile(outside, []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	start := f.snapshot()
	if err := os.Remove(filepath.Join(f.tree.Dir(), "a.txt")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Link(outside, filepath.Join(f.tree.Dir(), "a.txt")); err != nil {
		t.Skip(err)
	}
	same(t, "violations", violated(t, f.enforce(start, onlySrc)), []string{"changed a.txt"})
	if b, _ := os.ReadFile(outside); string(b) != "mine\n" {
		t.Errorf("the other name of the file now has %q", b)
	}
}

// What a snapshot knows besides its tree survives a change of process, whatever bytes the paths are.
func TestOddNamesInAnotherProcess(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.agent("git init -q '\xff%41'; mkdir -p 'e\xfe'; mkdir '\xfd'; printf '*\n\xff\n' >'\xfd/.gitignore'; mkfifo 'p\xfc'; printf x >'\xffi.env'")
	if err := f.tree.Watch([]string{"*.env"}); err != nil {
		t.Fatal(err)
	}
	start := f.snapshot()
	f.open()
	tree, err := f.repo.OpenWorktree(ctx, f.spec())
	if err != nil {
		t.Fatal(err)
	}
	f.tree = tree
	got, err := tree.Reload(ctx, start.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if !got.meta.equal(start.meta) {
		t.Errorf("loaded %+v, was %+v", got.meta, start.meta)
	}
	if e := f.enforce(got, glob.Boundary{Writes: []glob.Layer{{}}}); len(e.Violations) > 0 || e.End.Tree != start.Tree {
		t.Errorf("nothing changed, but %+v", e.Violations)
	}
}
