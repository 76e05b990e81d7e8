package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// aside makes a worktree for a phase, as a driver does.
func (f *fix) aside(name string) *Tree {
	f.t.Helper()
	t, err := f.repo.AddWorktree(ctx, WorktreeSpec{Run: "r1." + name, Commit: f.base, Detached: true, Scratch: []string{"node_modules"}})
	if err != nil {
		f.t.Fatal(err)
	}
	return t
}

func (f *fix) asides() string {
	f.t.Helper()
	list, err := f.repo.Aside("r1")
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Join(list, " ")
}

// left is what there is of worktrees: directories, git's entries, private indexes.
func (f *fix) left() string {
	f.t.Helper()
	return strings.Join(strings.Fields(f.sh(f.root, "for d in .foundry-worktrees .git/worktrees .git/foundry; do ls $d 2>/dev/null | grep -v lock || true; done")), " ")
}

func TestTakeDown(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	one := f.aside("build.1")
	s, err := one.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	f.sh(one.Dir(), "echo work >a.txt; mkdir shut; echo x >shut/x; chmod 500 shut")
	two := f.aside("build.2")
	if got := f.asides(); got != "build.1 build.2" {
		t.Errorf("aside are %q", got)
	}
	if dir := f.repo.AsideDir("r1", "build.2"); dir != two.Dir() {
		t.Errorf("it is in %s, and should be in %s", two.Dir(), dir)
	}
	for range 2 { // the second time there is nothing
		if err := f.repo.TakeDown(ctx, "r1", "build.1"); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.left(); got != "r1 r1.build.2 r1 r1.build.2 r1 r1.build.2" {
		t.Errorf("left are %s", got)
	}
	if at := f.sh(f.root, "git rev-parse refs/foundry/r1.build.1/1"); at != s.Commit {
		t.Errorf("its snapshot is at %s instead of %s", at, s.Commit)
	}
	if err := f.repo.TakeDown(ctx, "r1", "build.2"); err != nil {
		t.Fatal(err)
	}
	if got := f.asides(); got != "" {
		t.Errorf("aside are %q", got)
	}
	for _, name := range []string{"", "a/b", "..", "rebase", "landing", "x.lock", "x."} {
		if err := f.repo.TakeDown(ctx, "r1", name); err == nil {
			t.Errorf("%q was taken down", name)
		}
	}
	if _, err := os.Stat(filepath.Join(f.tree.Dir(), "a.txt")); err != nil {
		t.Error("the run's own worktree was touched")
	}
	f.snapshot()
}

// Whatever a process that was killed has left of one is found and taken down.
func TestTakeDownOfParts(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"no directory":    "rm -rf .foundry-worktrees/r1.b.1",
		"no entry":        "rm -rf .git/worktrees/r1.b.1",
		"no index":        "rm -rf .git/foundry/r1.b.1",
		"no link":         "rm .foundry-worktrees/r1.b.1/.git",
		"only an index":   "rm -rf .foundry-worktrees/r1.b.1 .git/worktrees/r1.b.1",
		"only files":      "rm -rf .git/foundry/r1.b.1 .git/worktrees/r1.b.1",
		"only an entry":   "rm -rf .foundry-worktrees/r1.b.1 .git/foundry/r1.b.1",
		"an entry begun":  "rm -rf .foundry-worktrees/r1.b.1 .git/foundry/r1.b.1; rm .git/worktrees/r1.b.1/gitdir",
		"a place cut off": "rm -rf .foundry-worktrees/r1.b.1 .git/foundry/r1.b.1; printf /cut >.git/worktrees/r1.b.1/gitdir; head -c 5 .git/worktrees/r1/gitdir >.git/worktrees/r1.b.1/gitdir",
		"locks":           "touch .git/worktrees/r1.b.1/index.lock .git/worktrees/r1.b.1/HEAD.lock",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := withTree(t)
			f.aside("b.1")
			f.sh(f.root, script)
			if got := f.asides(); got != "b.1" {
				t.Errorf("aside are %q", got)
			}
			if err := f.repo.TakeDown(ctx, "r1", "b.1"); err != nil {
				t.Fatal(err)
			}
			if got := f.left(); got != "r1 r1 r1" {
				t.Errorf("left are %s", got)
			}
			f.aside("b.1")
		})
	}
}

// Phases begin at the same time, work at the same time, and do not see each other.
func TestAsidesAtTheSameTime(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	start := f.snapshot()
	before, err := f.repo.Outside(ctx, "main")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	trees := make([]*Tree, 4)
	for i := range trees {
		wg.Go(func() {
			tree, err := f.repo.AddWorktree(ctx, WorktreeSpec{Run: "r1.p." + string(rune('1'+i)), Commit: f.base, Detached: true})
			if err != nil {
				t.Error(err)
				return
			}
			trees[i] = tree
			s, err := tree.Snapshot(ctx)
			if err == nil {
				err = os.WriteFile(filepath.Join(tree.Dir(), "src/own"), []byte{byte('1' + i)}, 0o644)
			}
			if err != nil {
				t.Error(err)
				return
			}
			e, err := tree.Enforce(ctx, s, onlySrc, false)
			if err != nil || len(e.Violations) > 0 || len(e.Changes) != 1 {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	f.sh(trees[0].Dir(), "git commit -qm mine --allow-empty; git add -A")
	now, err := f.repo.Outside(ctx, "main")
	if err != nil {
		t.Fatal(err)
	}
	if seen := now.Since(before); len(seen) > 0 {
		t.Errorf("outside changed %q", seen)
	}
	if e := f.enforce(start, onlySrc); len(e.Violations)+len(e.Changes) > 0 {
		t.Errorf("the run's own worktree changed: %+v", e)
	}
	if dirty, err := f.repo.Dirty(ctx); err != nil || len(dirty) > 0 {
		t.Errorf("the checkout is dirty: %q, %v", dirty, err)
	}
	if status := f.sh(f.root, "git status --porcelain"); status != "" {
		t.Errorf("git sees %q", status)
	}
	list, err := f.repo.Worktrees(ctx)
	if err != nil || len(list) != 6 || slices.ContainsFunc(list[1:], func(w Worktree) bool { return w.Run != "r1" }) {
		t.Errorf("%+v, %v", list, err)
	}
	remains, err := f.repo.Remains(ctx)
	if err != nil || len(remains) != 1 || remains[0].Refs != 9 || !slices.Equal(remains[0].Aside, []string{"p.1", "p.2", "p.3", "p.4"}) {
		t.Errorf("%+v, %v", remains, err)
	}
	if runs, err := f.repo.Runs(ctx); err != nil || !slices.Equal(runs, []string{"r1"}) {
		t.Errorf("%q, %v", runs, err)
	}
}

// In a checkout the worktrees of phases lie below it, and are no part of it.
func TestAsideOfACheckout(t *testing.T) {
	t.Parallel()
	f := newRepo(t).open()
	var err error
	if f.base, _, err = f.repo.Head(ctx); err != nil {
		t.Fatal(err)
	}
	if f.tree, err = f.repo.Checkout(ctx, "r1"); err != nil {
		t.Fatal(err)
	}
	start := f.snapshot()
	tree := f.aside("b.1")
	f.sh(tree.Dir(), "echo x >new; echo y >a.txt")
	if s := f.snapshot(); s.N != start.N {
		t.Errorf("the checkout is another: %+v", s)
	}
	if err := f.repo.TakeDown(ctx, "r1", "b.1"); err != nil {
		t.Fatal(err)
	}
	if got := f.left(); got != "r1" {
		t.Errorf("left are %s", got)
	}
}

// A run goes with all of its worktrees, and nothing that is in them is lost.
func TestRemovalWithAsides(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	f.snapshot()
	worked := f.aside("b.1")
	if _, err := worked.Snapshot(ctx); err != nil {
		t.Fatal(err)
	}
	f.sh(worked.Dir(), "echo work >src/s.go; mkdir -p node_modules; echo x >node_modules/x; echo secret >made.env")
	fresh := f.aside("b.2") // nobody has worked there
	f.sh(fresh.Dir(), "echo copied >copied.env")
	f.aside("b.3")
	f.sh(f.root, "rm .git/worktrees/r1.b.3/gitdir; rm -rf .foundry-worktrees/r1.b.3 .git/foundry/r1.b.3; git worktree add -q --detach .foundry-worktrees/r1.rebase")
	var blocked *BlockedError
	if err := f.repo.RemoveWorktree(ctx, "r1", nil); !errors.As(err, &blocked) || !slices.Equal(blocked.Paths, []string{"made.env"}) {
		t.Fatalf("not refused: %v", err)
	}
	if got := f.asides(); got != "b.1 b.2 b.3" {
		t.Errorf("aside are %q", got)
	}
	f.sh(worked.Dir(), "rm made.env")
	if err := f.repo.RemoveWorktree(ctx, "r1", nil); err != nil {
		t.Fatal(err)
	}
	if got := f.left(); got != "" {
		t.Errorf("left are %s", got)
	}
	if got := f.sh(f.root, "git show $(git for-each-ref --format='%(refname)' refs/foundry/r1.b.1/ | tail -1):src/s.go"); got != "work" {
		t.Errorf("what was made there is %q", got)
	}
}

// What a take-down that was cut off has left does not keep a run from being discarded.
func TestDiscardWithPartsOfAsides(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"files gone": "cd .foundry-worktrees/r1.b.1; rm -rf .git src", "all files gone": "rm -rf .foundry-worktrees/r1.b.1", "entry gone": "rm -rf .foundry-worktrees/r1.b.1 .git/worktrees/r1.b.1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := withTree(t)
			f.snapshot()
			if _, err := f.aside("b.1").Snapshot(ctx); err != nil {
				t.Fatal(err)
			}
			f.sh(f.root, script)
			if _, _, err := f.repo.Discard(ctx, DiscardSpec{Run: "r1", Branch: "foundry/r1", Base: "main"}); err != nil {
				t.Fatal(err)
			}
			if got := f.left(); got != "" {
				t.Errorf("left are %s", got)
			}
			// Nothing of the run can be found afterwards, and all of another run whose id begins the same.
			f.sh(f.root, "git update-ref refs/foundry/r12/1 HEAD; git update-ref refs/foundry/r12.b.1/1 HEAD; mkdir -p .foundry-worktrees/.lost/r1 .foundry-worktrees/.lost/r1.b.1 .foundry-worktrees/.lost/r12")
			if err := f.repo.Prune(ctx, "r1"); err != nil {
				t.Fatal(err)
			}
			if got := strings.Fields(f.sh(f.root, "git for-each-ref --format='%(refname)' refs/foundry; ls .foundry-worktrees/.lost")); !slices.Equal(got, []string{"refs/foundry/r12.b.1/1", "refs/foundry/r12/1", "r12"}) {
				t.Errorf("there are %q", got)
			}
		})
	}
}

// A sweep takes away only what is proven to be elsewhere, in each of the worktrees.
func TestCleanWithAsides(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	start := f.snapshot()
	tree, err := f.repo.AddWorktree(ctx, WorktreeSpec{Run: "r1.b.1", Commit: start.Commit, Detached: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Snapshot(ctx); err != nil {
		t.Fatal(err)
	}
	try := func() error {
		t.Helper()
		remains, err := f.repo.Remains(ctx)
		if err != nil || len(remains) != 1 || !remains[0].Worktree() || !slices.Equal(remains[0].Aside, []string{"b.1"}) {
			t.Fatalf("%+v, %v", remains, err)
		}
		return f.repo.Clean(ctx, remains[0], nil)
	}
	for script, words := range map[string]string{
		"echo work >a.txt":                   "what is not committed in " + tree.Dir(),
		"git commit -q --allow-empty -m new": "are in no other branch",
		"echo x >made.env":                   "ignored files made by the run",
	} {
		f.sh(tree.Dir(), script)
		var blocked *BlockedError
		if err := try(); !errors.As(err, &blocked) || !strings.Contains(err.Error(), words) {
			t.Errorf("after %s: %v", script, err)
		}
		f.sh(tree.Dir(), "git reset -q --hard "+start.Commit+"; rm -f made.env")
	}
	f.sh(f.root, "rm -rf .foundry-worktrees/r1 .git/worktrees/r1 .git/foundry/r1; git branch -D -q foundry/r1") // the phase's is all that is left
	if err := try(); err != nil {
		t.Fatal(err)
	}
	if got := f.left(); got != "" {
		t.Errorf("left are %s", got)
	}
}

func TestMadeIgnored(t *testing.T) {
	t.Parallel()
	f := withTree(t)
	tree := f.aside("b.1")
	f.sh(tree.Dir(), "echo copied >copied.env")
	if _, err := tree.Snapshot(ctx); err != nil {
		t.Fatal(err)
	}
	made := func(want ...string) {
		t.Helper()
		if list, err := tree.MadeIgnored(ctx); err != nil || !slices.Equal(list, want) {
			t.Errorf("made were %q (%v), want %q", list, err, want)
		}
	}
	made()
	f.sh(tree.Dir(), "mkdir -p node_modules .foundry-handoff deep; echo x >node_modules/x; echo x >'deep/new\nline.env'; echo x >made.env; echo x >.foundry-handoff/x; echo x >plain; echo more >>copied.env")
	made("deep/new\nline.env", "made.env")
	checkout, err := f.repo.Checkout(ctx, "r2")
	if err != nil {
		t.Fatal(err)
	}
	f.sh(f.root, "echo x >made.env")
	if list, err := checkout.MadeIgnored(ctx); err != nil || len(list) > 0 {
		t.Errorf("of the checkout: %q, %v", list, err)
	}
}
