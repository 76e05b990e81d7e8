package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"foundry/glob"
	"foundry/internal/process"
)

// Tests work on real repositories. Nothing of the user's git configuration reaches them, and nothing they do
// leaves their temporary directory.

func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "workspace-home-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	config := "[user]\n\tname = T\n\temail = t@example.invalid\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n[gc]\n\tauto = 0\n"
	if err := os.WriteFile(filepath.Join(home, "gitconfig"), []byte(config), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "GIT_") {
			os.Unsetenv(name)
		}
	}
	for k, v := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_GLOBAL": filepath.Join(home, "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1"} {
		os.Setenv(k, v)
	}
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// fix is a repository with a worktree for the run r1.
type fix struct {
	t    *testing.T
	root string
	repo *Repo
	tree *Tree
	base string // the commit of main that the run began at
}

var ctx = context.Background()

// newRepo makes a repository: a.txt, b.txt, src/s.go, and a .gitignore.
func newRepo(t *testing.T) *fix {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fix{t: t, root: filepath.Join(dir, "repo")}
	if err := os.CopyFS(f.root, os.DirFS(template())); err != nil {
		t.Fatal(err)
	}
	f.sh(f.root, "git update-index -q --refresh")
	return f
}

// template makes the repository that all tests begin with, once.
var template = sync.OnceValue(func() string {
	dir := filepath.Join(os.Getenv("HOME"), "template")
	c := exec.Command("sh", "-ec", "git init -q --template= "+dir+" && cd "+dir+" && mkdir .git/info .git/hooks && touch .git/info/exclude && echo a >a.txt && echo b >b.txt && mkdir src && echo s >src/s.go && printf '*.env\\nnode_modules/\\n' >.gitignore && git add -A && git commit -qm base")
	if out, err := c.CombinedOutput(); err != nil {
		panic(fmt.Sprint(err, string(out)))
	}
	return dir
})

// open opens the repository.
func (f *fix) open() *fix {
	f.t.Helper()
	var err error
	if f.repo, err = Open(ctx, f.root); err != nil {
		f.t.Fatal(err)
	}
	f.repo.git.lockWait = 200 * time.Millisecond
	return f
}

// add makes the worktree.
func (f *fix) add() *fix {
	f.t.Helper()
	f.open()
	var err error
	if f.base, _, err = f.repo.Head(ctx); err != nil {
		f.t.Fatal(err)
	}
	if f.tree, err = f.repo.AddWorktree(ctx, f.spec()); err != nil {
		f.t.Fatal(err)
	}
	return f
}

func (f *fix) spec() WorktreeSpec {
	return WorktreeSpec{Run: "r1", Commit: f.base, Branch: "foundry/r1", Scratch: []string{"node_modules"}}
}

func withTree(t *testing.T) *fix { t.Helper(); return newRepo(t).add() }

// sh runs a shell script and returns its output.
func (f *fix) sh(dir, script string) string {
	f.t.Helper()
	c := exec.Command("sh", "-ec", script)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		f.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// agent runs a script in the worktree, as an agent would.
func (f *fix) agent(script string) { f.t.Helper(); f.sh(f.tree.Dir(), script) }

func (f *fix) snapshot() Snapshot {
	f.t.Helper()
	s, err := f.tree.Snapshot(ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// onlySrc is the boundary of most tests.
var onlySrc = glob.Boundary{Writes: []glob.Layer{{Globs: []string{"src/**"}}}}

func (f *fix) enforce(start Snapshot, b glob.Boundary) Enforced {
	f.t.Helper()
	e, err := f.tree.Enforce(ctx, start, b, false)
	if err != nil {
		f.t.Fatal(err)
	}
	return e
}

// disk is what is really there: one line for each path, `f 644 content`.
func disk(t *testing.T, root string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if rel == ".git" || rel == recordsDir || rel == worktreesDir {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		st, err := os.Lstat(p)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			if d.Name() == ".git" {
				return fs.SkipDir
			}
		case st.Mode().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			m[rel] = fmt.Sprintf("f %o %s", st.Mode().Perm(), b)
		case st.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(p)
			m[rel] = "l " + to
		default:
			m[rel] = typeName(st.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// differing lists the paths in which two disks differ.
func differing(a, b map[string]string) []string {
	var list []string
	for p := range a {
		if a[p] != b[p] {
			list = append(list, p)
		}
	}
	for p := range b {
		if _, ok := a[p]; !ok {
			list = append(list, p)
		}
	}
	sort.Strings(list)
	return list
}

// violated returns `change path` of each violation, and fails for any that was not undone.
func violated(t *testing.T, e Enforced) []string {
	t.Helper()
	var list []string
	for _, v := range e.Violations {
		list = append(list, v.Change+" "+v.Path)
		if !v.Undone {
			t.Errorf("not undone: %+v", v)
		}
		if v.Reason == "" {
			t.Errorf("no reason: %+v", v)
		}
	}
	sort.Strings(list)
	return list
}

func changed(e Enforced) []string {
	var list []string
	for _, c := range e.Changes {
		list = append(list, c.Kind.String()+" "+c.Path)
	}
	return list
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Clone(got), slices.Clone(want)
	sort.Strings(got)
	sort.Strings(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got  %q\n want %q", what, got, want)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	parent := filepath.Dir(f.root)
	f.sh(parent, "mkdir plain && git init -q empty && git clone -q --bare repo bare && git -C repo worktree add -q ../linked -b side")
	f.sh(parent, "ln -s repo alias")
	for _, tt := range []struct {
		dir  string
		root string
		err  error
	}{
		{"repo", "repo", nil}, {"repo/src", "repo", nil}, {"alias", "repo", nil}, {"linked", "linked", nil}, {"empty", "empty", nil},
		{"plain", "", ErrNotRepository}, {"bare", "", ErrBare}, {"repo/.git", "", ErrNotRepository},
	} {
		r, err := Open(ctx, filepath.Join(parent, tt.dir))
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", tt.dir, err, tt.err)
			continue
		}
		if err == nil && r.Root() != filepath.Join(parent, tt.root) {
			t.Errorf("%s: root %s", tt.dir, r.Root())
		}
	}
	empty, err := Open(ctx, filepath.Join(parent, "empty"))
	if err != nil {
		t.Fatal(err)
	}
	if _, branch, err := empty.Head(ctx); !errors.Is(err, ErrNoCommits) || branch != "main" {
		t.Errorf("head of an empty repository: %q, %v", branch, err)
	}
	if _, _, err := empty.Resolve(ctx, "main"); !errors.Is(err, ErrNoCommits) {
		t.Errorf("resolve in an empty repository: %v", err)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	f := newRepo(t).open()
	f.sh(f.root, "git branch feature && git tag v1 && git branch foundry/old")
	head := f.sh(f.root, "git rev-parse HEAD")
	for _, tt := range []struct{ ref, branch string }{{"", "main"}, {"main", "main"}, {"HEAD", "main"}, {"refs/heads/feature", "feature"}, {"v1", ""}, {head[:10], ""}} {
		sha, branch, err := f.repo.Resolve(ctx, tt.ref)
		if err != nil || sha != head || branch != tt.branch {
			t.Errorf("%q: %s %q %v", tt.ref, sha, branch, err)
		}
	}
	for _, ref := range []string{"trunk", "-x", "no such"} {
		if _, _, err := f.repo.Resolve(ctx, ref); !errors.Is(err, ErrNoSuchRef) {
			t.Errorf("%q: %v", ref, err)
		} else if ref == "trunk" && !strings.Contains(err.Error(), "feature, main") {
			t.Errorf("the branches are not named: %v", err)
		}
	}
	f.sh(f.root, "git checkout -q --detach")
	if sha, branch, err := f.repo.Head(ctx); sha != head || branch != "" || err != nil {
		t.Errorf("detached: %s %q %v", sha, branch, err)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]version{
		"git version 2.39.5": {2, 39, 5}, "git version 2.39.5 (Apple Git-154)": {2, 39, 5}, "git version 2.47.0.windows.1": {2, 47, 0},
		"git version 2.25": {2, 25, 0}, "git version 2.50.0-rc1": {2, 50, 0},
	} {
		if v, err := parseVersion(s); err != nil || v != want {
			t.Errorf("%q: %v %v", s, v, err)
		}
	}
	if _, err := parseVersion("git is not here"); err == nil {
		t.Error("nonsense was taken for a version")
	}
}

// fakeGit puts a git into a PATH that behaves badly where the script says so.
func fakeGit(t *testing.T, script string) []string {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	text := "#!/bin/sh\n" + script + "\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return process.Environ(os.Environ(), []string{"PATH=" + bin + ":" + os.Getenv("PATH")})
}

func TestGitThatFailsIsNoAnswer(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	if _, err := OpenIn(ctx, f.root, fakeGit(t, `case "$*" in *version) echo "git version 1.8.3.1"; exit 0;; esac`)); !errors.Is(err, ErrGitTooOld) {
		t.Errorf("old: %v", err)
	}
	if _, err := OpenIn(ctx, f.root, []string{"PATH=" + t.TempDir()}); !errors.Is(err, ErrGitMissing) {
		t.Errorf("missing: %v", err)
	}
	if _, err := OpenIn(ctx, f.root, fakeGit(t, `case " $* " in *" rev-parse "*) echo "fatal: detected dubious ownership in repository at '/x'" >&2; exit 128;; esac`)); !errors.Is(err, ErrUnsafeOwner) {
		t.Errorf("dubious: %v", err)
	}
	for name, script := range map[string]string{
		"fails":   `case " $* " in *" status "*) echo "fatal: no" >&2; exit 128;; esac`,
		"killed":  `case " $* " in *" status "*) kill -KILL $$;; esac`,
		"partial": `case " $* " in *" status "*) printf ' M a.txt\0?? b'; exit 0;; esac`,
		"garbage": `case " $* " in *" status "*) printf 'x\0'; exit 0;; esac`,
	} {
		r, err := OpenIn(ctx, f.root, fakeGit(t, script))
		if err != nil {
			t.Fatal(err)
		}
		if paths, err := r.Dirty(ctx); err == nil {
			t.Errorf("%s: taken for an answer: %q", name, paths)
		}
	}
	r, err := OpenIn(ctx, f.root, fakeGit(t, `echo "warning: unable to access '/root/.config'" >&2`))
	if err != nil {
		t.Fatal(err)
	}
	f.sh(f.root, "echo x >>a.txt; echo n >new")
	if paths, err := r.Dirty(ctx); err != nil || !slices.Equal(paths, []string{"a.txt", "new"}) {
		t.Errorf("a warning: %q %v", paths, err)
	}
}

func TestVariablesOfAnOuterGit(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	other := filepath.Join(filepath.Dir(f.root), "other")
	f.sh(filepath.Dir(f.root), "git init -q other && cd other && echo o >o.txt && git add -A && git commit -qm o")
	env := append(os.Environ(), "GIT_DIR="+other+"/.git", "GIT_INDEX_FILE="+other+"/.git/index", "GIT_PREFIX=x/", "GIT_WORK_TREE="+other, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.bare", "GIT_CONFIG_VALUE_0=true")
	r, err := OpenIn(ctx, f.root, env)
	if err != nil {
		t.Fatal(err)
	}
	f.repo = r
	f.base, _, _ = r.Head(ctx)
	if f.tree, err = r.AddWorktree(ctx, f.spec()); err != nil {
		t.Fatal(err)
	}
	start := f.snapshot()
	f.agent("echo x >>src/s.go; echo y >>a.txt")
	same(t, "violations", violated(t, f.enforce(start, onlySrc)), []string{"changed a.txt"})
	if _, err := f.tree.Commit(ctx, "work", true); err != nil {
		t.Fatal(err)
	}
	if out := f.sh(other, "git status --porcelain; git ls-files"); out != "o.txt" {
		t.Errorf("the other repository was touched: %q", out)
	}
	if out := f.sh(f.tree.Dir(), "git ls-files"); !strings.HasPrefix(out, ".gitignore\na.txt") {
		t.Errorf("the worktree's index: %q", out)
	}
}

func TestExclude(t *testing.T) {
	t.Parallel()
	f := newRepo(t).open()
	path := filepath.Join(f.root, ".git/info/exclude")
	if err := os.WriteFile(path, []byte("# mine\n*.swp"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.repo.Exclude(ctx); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := os.ReadFile(path)
	if want := "# mine\n*.swp\n/.foundry/\n/.foundry-worktrees/\n/.foundry-handoff/\n"; string(got) != want {
		t.Errorf("got %q", got)
	}
	f.sh(f.root, "mkdir .foundry .foundry-handoff && touch .foundry/x .foundry-handoff/y && test -z \"$(git status --porcelain)\"")
}
