package workspace

import (
	"crypto/sha1"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"foundry/glob"
	"foundry/internal/seed"
)

var _ = seed.FromEnvironment()

// Random trees, random agents and random boundaries, judged by an oracle that knows nothing of git's ways of
// finding changes: it copies all bytes before the agent, after it and after the enforcement, and compares. The
// number of scenarios is FOUNDRY_SCENARIOS.

// scenarios is how many there are when nothing else is said; .ci/run asks for more.
const scenarios = 40

func scenariosAsked(t *testing.T) int {
	s := os.Getenv("FOUNDRY_SCENARIOS")
	if s == "" {
		return scenarios
	}
	total, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("FOUNDRY_SCENARIOS: %v", err)
	}
	return total
}

func TestModel(t *testing.T) {
	t.Parallel()
	total := scenariosAsked(t)
	const workers = 4
	each := (total + workers - 1) / workers
	if err := flag.Set("rapid.checks", strconv.Itoa(each)); err != nil { // the only test of this package that has any
		t.Fatal(err)
	}
	var ran atomic.Int64
	t.Run("scenarios", func(t *testing.T) {
		for i := range workers {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					for range i { // with one seed for all, each worker has cases of its own
						rapid.Uint64().Draw(t, "shift")
					}
					scenario(t)
					ran.Add(1)
				})
			})
		}
	})
	if n := ran.Load(); !t.Failed() && !testing.Short() && n < int64(total) {
		t.Errorf("%d scenarios were tried instead of %d: give the test more time with -timeout", n, total)
	}
}

// scenario is one run of one phase.
func scenario(t *rapid.T) {
	w := newWorld(t)
	defer os.RemoveAll(w.home)
	for range rapid.IntRange(1, 6).Draw(t, "files") {
		w.edit(true)
	}
	w.commitBase()
	w.addWorktree()
	for range rapid.IntRange(0, 4).Draw(t, "edits before") {
		w.edit(true)
	}
	if rapid.IntRange(0, 3).Draw(t, "staged before") == 0 {
		w.git("add", "-A")
	}
	b, commits := w.boundary()
	if err := w.tree.Watch(watchedBy(b)); err != nil {
		t.Fatal(err)
	}
	start, err := w.tree.Snapshot(ctx)
	if err != nil {
		t.Fatalf("snapshot: %v", err)
	}
	was := w.observe()
	outside, user := disk2(t, w.outside), disk2(t, w.root)
	w.sameTree("the start", start.Tree, was.heldUnder(b))

	for range rapid.IntRange(1, 7).Draw(t, "edits") {
		if rapid.IntRange(0, 3).Draw(t, "kind of edit") == 0 {
			w.useGit()
		} else {
			w.edit(false)
		}
	}
	now := w.observe()
	now.rules, now.entries = was.rules, was.entries // what the phase did to them does not count in it
	if rapid.IntRange(0, 3).Draw(t, "another process") == 0 {
		start = w.reopen(start)
	}
	e, err := w.tree.Enforce(ctx, start, b, commits)
	if err != nil {
		t.Fatalf("enforce: %v", err)
	}
	end := w.observe()
	w.judge(verdict{was: was, now: now, end: end, b: b, commits: commits}, e)
	for _, d := range []struct {
		name string
		dir  string
		was  map[string]string
	}{{"what links lead to", w.outside, outside}, {"the checkout", w.root, user}} {
		if diff := differing(d.was, disk2(t, d.dir)); len(diff) > 0 && !w.meddled {
			t.Errorf("%s differs in %q", d.name, diff)
		}
	}
	again, err := w.tree.Enforce(ctx, start, b, commits)
	if err != nil {
		t.Fatalf("enforce again: %v", err)
	}
	for _, v := range again.Violations {
		if v.Undone {
			t.Errorf("a second check finds %+v", v)
		}
	}
	if again.End.Tree != e.End.Tree {
		t.Errorf("a second check leaves another tree")
	}
	if out, err := w.try(w.root, "git", "fsck", "--no-dangling", "--no-reflogs", "--no-progress"); err != nil {
		t.Errorf("the repository is damaged: %v\n%s", err, out)
	}
}

// watchedBy are the ignored files that a run watches: those that are protected.
func watchedBy(b glob.Boundary) []string {
	var globs []string
	for _, r := range b.Protect {
		globs = append(globs, r.Glob)
	}
	return globs
}

// boundary draws what the phase may do.
func (w *world) boundary() (b glob.Boundary, commits bool) {
	t := w.t
	switch rapid.IntRange(0, 4).Draw(t, "writes") {
	case 0: // everything
	case 1:
		b.Writes = []glob.Layer{{}}
	default:
		var globs []string
		for range rapid.IntRange(1, 3).Draw(t, "globs") {
			globs = append(globs, rapid.SampledFrom([]string{"src/**", "lib/", "*.txt", "**/*.txt", "src/*", ".gitignore", "[[]x]", "d d/**", "x.env"}).Draw(t, "glob"))
		}
		b.Writes = []glob.Layer{{Globs: globs}}
	}
	if rapid.Bool().Draw(t, "protect") {
		b.Protect = []glob.Rule{{Glob: rapid.SampledFrom([]string{"a.txt", "src/**", "**/*.env", "x.env", "lib/", "*"}).Draw(t, "protected"), Why: "protect"}}
	}
	commits = rapid.Bool().Draw(t, "commits")
	t.Logf("boundary %+v, commits %t", b, commits)
	return b, commits
}

// verdict is what the oracle knows: three copies of everything, and what was allowed.
type verdict struct {
	was, now, end state
	b             glob.Boundary
	commits       bool
}

// bounded returns every path that counts, at any of the three moments.
func (v verdict) bounded() []string {
	paths := map[string]bool{}
	for _, s := range []state{v.was, v.now} {
		for p := range s.files {
			if s.counts(p, v.b) {
				paths[p] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// judge compares the outcome of an enforcement with the oracle's.
func (w *world) judge(v verdict, e Enforced) {
	t := w.t
	var want, changes []string
	undone := map[string]bool{}
	for _, p := range v.bounded() {
		was, now := v.was.files[p], v.now.files[p]
		if was.same(now) {
			continue
		}
		if _, ok := v.b.Check(p); ok {
			continue
		}
		want = append(want, kindOf(was, now)+" "+p)
		undone[p] = true
	}
	all := maps.Clone(v.was.files)
	maps.Copy(all, v.now.files)
	maps.Copy(all, v.end.files)
	for _, p := range slices.Sorted(maps.Keys(all)) {
		was, now, end := v.was.files[p], v.now.files[p], v.end.files[p]
		switch {
		case undone[p] && !end.same(was):
			if !v.inTheWay(p, undone) || reported(e, p).Undone {
				t.Errorf("%q is not as before: %v, was %v", p, end, was)
			}
		case !undone[p] && !end.same(now):
			t.Errorf("%q was touched: %v, was %v", p, end, now)
		case !undone[p] && now.kind == "file" && end.id != now.id:
			t.Errorf("%q was written anew although nothing in it was to be undone", p)
		}
		if (v.was.counts(p, v.b) || v.now.counts(p, v.b)) && !was.plain().same(end.plain()) {
			changes = append(changes, p)
		}
	}
	want = append(want, w.wantGit(v)...)
	var got, stay []string
	for _, x := range e.Violations {
		got = append(got, x.Change+" "+x.Path)
		if x.Reason == "" || !x.Undone && x.Note == "" {
			t.Errorf("not explained: %+v", x)
		}
		if i := v.inTheWay(x.Path, undone); !x.Undone && !i {
			t.Errorf("not undone: %+v", x)
		}
	}
	for _, c := range e.Changes {
		stay = append(stay, c.Path)
		if c.From != "" {
			stay = append(stay, c.From)
		}
	}
	sameIn(t, "violations", got, want)
	sameIn(t, "changes", stay, changes)
	w.sameTree("what the phase left", e.Before.Tree, v.now.heldUnder(v.b))
	rest := v.end
	rest.rules, rest.entries = v.was.rules, v.was.entries
	w.sameTree("the end", e.End.Tree, rest.heldUnder(v.b))
}

// inTheWay reports whether something that the phase may have made stands where p has to be put back.
func (v verdict) inTheWay(p string, undone map[string]bool) bool {
	for q := range v.now.files {
		if !undone[q] && (strings.HasPrefix(p, q+"/") || strings.HasPrefix(q, p+"/")) {
			return true
		}
	}
	for d := range v.now.nested { // a repository that the phase may have made holds more than the files that count
		if v.keepsNested(d) && (d == p || strings.HasPrefix(d, p+"/") || strings.HasPrefix(p, d+"/")) {
			return true
		}
	}
	return false
}

// keepsNested reports whether a nested repository stays: it was there, or is allowed, or ignored.
func (v verdict) keepsNested(d string) bool {
	_, ok := v.b.Check(d)
	return ok || v.was.nested[d] || v.now.ignored(d, true)
}

func reported(e Enforced, p string) Violation {
	for _, v := range e.Violations {
		if v.Path == p {
			return v
		}
	}
	return Violation{}
}

// kindOf is the word for a change.
func kindOf(was, now file) string {
	switch {
	case was.kind == "":
		return "created"
	case now.kind == "":
		return "deleted"
	case was.kind != now.kind:
		return "type"
	case was.data == now.data:
		return "mode"
	}
	return "changed"
}

// wantGit says what must be reported of git's own state, and checks that it is as it must be.
func (w *world) wantGit(v verdict) []string {
	t := w.t
	var want []string
	if v.now.link != v.was.link {
		want = append(want, "changed .git")
	}
	if v.end.link != v.was.link {
		t.Errorf("the link is %q, was %q", v.end.link, v.was.link)
	}
	ahead := v.commits && v.now.branch == v.was.branch && v.now.head != v.was.head && w.descends(v.was.head, v.now.head) && !v.now.busy
	moved := v.now.branch != v.was.branch || v.now.head != v.was.head || v.now.busy
	stays := v.was
	if ahead {
		stays = v.now
	} else if moved {
		want = append(want, "head .git/HEAD")
	}
	if v.end.branch != stays.branch || v.end.head != stays.head || v.end.busy {
		t.Errorf("HEAD is at %s on %q, must be at %s on %q", v.end.head, v.end.branch, stays.head, stays.branch)
	}
	for p, flag := range v.now.flags {
		if v.was.flags[p] != flag {
			want = append(want, "index "+p)
		}
	}
	if len(v.end.flags) > len(v.was.flags) {
		t.Errorf("flags on index entries are left: %v", v.end.flags)
	}
	if !ahead && !maps.Equal(v.end.staged, v.was.staged) {
		t.Errorf("the index has %v, had %v", v.end.staged, v.was.staged)
	}
	for name, text := range v.now.own {
		if old, had := v.was.own[name]; !had {
			want = append(want, "created "+name)
		} else if old != text {
			want = append(want, "changed "+name)
		}
	}
	for name := range v.was.own {
		if _, has := v.now.own[name]; !has {
			want = append(want, "deleted "+name)
		}
	}
	if !maps.Equal(v.end.own, v.was.own) {
		t.Errorf("git's own files are %q, were %q", v.end.own, v.was.own)
	}
	for d := range v.now.nested {
		if !v.keepsNested(d) {
			want = append(want, "nested "+d)
			if v.end.nested[d] {
				t.Errorf("the repository %q is still there", d)
			}
		} else if !v.end.nested[d] {
			t.Errorf("the repository %q was taken away", d)
		}
	}
	return want
}

// descends asks git whether b contains a.
func (w *world) descends(a, b string) bool {
	return exec.Command("git", "-C", w.root, "merge-base", "--is-ancestor", a, b).Run() == nil
}

// sameTree checks that a tree has exactly the given files, by mode and by the id of their bytes.
func (w *world) sameTree(what, tree string, files map[string]file) {
	w.t.Helper()
	out, err := w.try(w.root, "git", "ls-tree", "-r", "-z", "--full-tree", tree)
	if err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	var got, want []string
	for rec := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if rec != "" {
			got = append(got, rec)
		}
	}
	for p, f := range files {
		mode := map[string]string{"file": "100644", "exec": "100755", "symlink": "120000"}[f.full()]
		want = append(want, fmt.Sprintf("%s blob %x\t%s", mode, sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(f.data), f.data))), p))
	}
	sameIn(w.t, "the tree of "+what, got, want)
}

func sameIn(t *rapid.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got  %q\n want %q", what, got, want)
	}
}

// disk2 is disk for a scenario.
func disk2(t *rapid.T, root string) map[string]string {
	m := map[string]string{}
	for p, f := range copyOf(t, root) {
		if top, _, _ := strings.Cut(p, "/"); top != worktreesDir && top != recordsDir {
			m[p] = f.full() + " " + f.data
		}
	}
	return m
}

// copyOf reads everything below a directory except what is git's.
func copyOf(t *rapid.T, root string) map[string]file {
	files := map[string]file{}
	var walk func(rel string)
	walk = func(rel string) {
		entries, err := os.ReadDir(filepath.Join(root, rel))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			p := path.Join(rel, e.Name())
			if e.Name() == ".git" || rel == "" && e.Name() == worktreesDir {
				continue
			}
			if e.IsDir() {
				walk(p)
				continue
			}
			files[p] = fileAt(t, filepath.Join(root, p))
		}
	}
	walk("")
	return files
}
