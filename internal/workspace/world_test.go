package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"foundry/glob"
)

// The world of a scenario: a repository, a worktree, and an agent that does what it likes there, drawn at
// random from few names, so that its deeds meet each other.

type world struct {
	t       *rapid.T
	home    string // everything is below it
	root    string
	outside string // what links lead to
	names   []string
	repo    *Repo
	tree    *Tree
	meddled bool // the agent wrote to the checkout by git, which is its own concern
	texts   int
}

// file is one path on the disk.
type file struct {
	kind string // file, symlink, fifo; empty when there is nothing
	exec bool
	data string
	id   identity
}

func (f file) same(g file) bool { return f.kind == g.kind && f.exec == g.exec && f.data == g.data }
func (f file) special() bool    { return f.kind != "" && f.kind != "file" && f.kind != "symlink" }

// plain is what a tree can hold of it.
func (f file) plain() file {
	if f.special() {
		return file{}
	}
	return f
}

func (f file) full() string {
	if f.exec {
		return "exec"
	}
	return f.kind
}
func (f file) String() string { return fmt.Sprintf("%s %q", f.full(), f.data) }

func fileAt(t *rapid.T, full string) file {
	st, err := os.Lstat(full)
	if err != nil {
		t.Fatal(err)
	}
	f := file{kind: typeName(st.Mode()), id: identityOf(st)}
	f.id.ctime, f.id.mode = 0, 0
	switch f.kind {
	case "file":
		b, err := os.ReadFile(full)
		if err != nil {
			t.Fatal(err)
		}
		f.data, f.exec = string(b), st.Mode()&0o100 != 0
	case "symlink":
		f.data, _ = os.Readlink(full)
	}
	return f
}

// state is everything there is at one moment.
type state struct {
	files        map[string]file
	entries      map[string]bool // paths in the index
	rules        []string        // the lines of .gitignore
	link         string          // the .git file
	head, branch string
	busy         bool
	flags        map[string]string // index entries with a flag
	staged       map[string]string // index entries
	own          map[string]string // configuration, hooks, excludes
	nested       map[string]bool
}

// ignored says by hand what the rules of scenarios mean: names anywhere, names of directories anywhere, and
// one directory at the root.
func (s state) ignored(p string, dir bool) bool {
	parts := strings.Split(p, "/")
	for i, part := range parts {
		isDir := dir || i < len(parts)-1
		for _, r := range s.rules {
			name, wantsDir := strings.CutSuffix(r, "/")
			name, rooted := strings.CutPrefix(name, "/")
			if wantsDir && !isDir || rooted && i > 0 {
				continue
			}
			if suffix, any := strings.CutPrefix(name, "*"); any && strings.HasSuffix(part, suffix) || name == part {
				return true
			}
		}
	}
	return false
}

// counts reports whether a path is bounded: it has an index entry, or no rule matches it, or it is protected.
func (s state) counts(p string, b glob.Boundary) bool {
	if top, _, _ := strings.Cut(p, "/"); top == recordsDir {
		return false
	}
	return s.entries[p] || !s.ignored(p, false) || slices.ContainsFunc(b.Protect, func(r glob.Rule) bool { return glob.Match(r.Glob, p) && !s.files[p].special() })
}

// heldUnder are the files that a snapshot must hold.
func (s state) heldUnder(b glob.Boundary) map[string]file {
	m := map[string]file{}
	for p, f := range s.files {
		if s.counts(p, b) && !f.special() {
			m[p] = f
		}
	}
	return m
}

func newWorld(t *rapid.T) *world {
	home, err := os.MkdirTemp("", "world-")
	if err == nil {
		home, err = filepath.EvalSymlinks(home)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home, root: filepath.Join(home, "repo"), outside: filepath.Join(home, "outside")}
	w.must(os.CopyFS(w.root, os.DirFS(template())))
	w.must(os.MkdirAll(filepath.Join(w.outside, "dir"), 0o755))
	w.must(os.WriteFile(filepath.Join(w.outside, "dir/one"), []byte("mine\n"), 0o644))
	dirs := rapid.SampledFrom([]string{"src", "lib", "LIB", "p[1]", "d d", "-d", "node_modules", "build", "\xffd", "new\ndir", "src/deep", "x.env", ":(top)", ".git~1"})
	names := rapid.SampledFrom([]string{"a.txt", "A.txt", "b.txt", "sp ace", "-rf", "--", "new\nline", ":(top)a.txt", "*", "[x]", `"q"`, `back\slash`, "tab\tx", " lead", "trail ",
		"\xff\xfe", "caf\u00e9", "cafe\u0301", "x.env", "a -> b", "#x", "!x", "s.go", "\u2028", "%2F", "build", "Src"})
	d1, d2 := dirs.Draw(t, "dir"), dirs.Draw(t, "dir")
	for i := range 9 {
		n := names.Draw(t, "name")
		w.names = append(w.names, []string{n, d1 + "/" + n, d2 + "/" + n, d1 + "/" + d2 + "/" + n}[i%4])
	}
	w.names = append(w.names, d1, d2, d1+"/"+d2, "a.txt", "src/s.go")
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// dir is where the agent works: the checkout until there is a worktree.
func (w *world) dir() string {
	if w.tree != nil {
		return w.tree.Dir()
	}
	return w.root
}

func (w *world) try(dir, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}

// git calls git as an agent would; it may fail.
func (w *world) git(args ...string) {
	_, err := w.try(w.dir(), "git", args...)
	w.t.Logf("git %q: %v", args, err)
}

// commitBase commits what there is, with rules and attributes drawn at random.
func (w *world) commitBase() {
	rules := rapid.SampledFrom([]string{"*.env\nnode_modules/\n", "*.env\n/build/\n", "node_modules/\n/lib/\n", ""}).Draw(w.t, "rules")
	w.must(os.WriteFile(filepath.Join(w.root, ".gitignore"), []byte(rules), 0o644))
	if a := rapid.SampledFrom([]string{"", "", "* text=auto eol=crlf\n", "* text=auto\n", "*.txt filter=rot ident\n"}).Draw(w.t, "attributes"); a != "" {
		w.must(os.WriteFile(filepath.Join(w.root, ".gitattributes"), []byte(a), 0o644))
		w.git("config", "filter.rot.smudge", "tr a-z n-za-m")
		w.git("config", "filter.rot.clean", "tr a-z n-za-m")
	}
	w.git("add", "-A")
	w.git("commit", "-qm", "start")
	w.t.Logf("rules %q", rules)
}

func (w *world) addWorktree() {
	var err error
	w.repo, err = Open(ctx, w.root)
	w.must(err)
	head, _, err := w.repo.Head(ctx)
	w.must(err)
	w.tree, err = w.repo.AddWorktree(ctx, WorktreeSpec{Run: "r1", Commit: head, Branch: "foundry/r1"})
	w.must(err)
	w.t.Logf("the worktree is made")
}

// reopen is what a process does that takes over after a crash.
func (w *world) reopen(start Snapshot) Snapshot {
	var err error
	w.repo, err = Open(ctx, w.root)
	w.must(err)
	w.tree, err = w.repo.OpenWorktree(ctx, WorktreeSpec{Run: "r1"})
	w.must(err)
	s, err := w.tree.Reload(ctx, start.Ref)
	w.must(err)
	return s
}

// name draws one of the scenario's paths.
func (w *world) name() string { return rapid.SampledFrom(w.names).Draw(w.t, "path") }

// room makes way for something at p and returns where that is.
func (w *world) room(p string) string {
	at := w.dir()
	parts := strings.Split(p, "/")
	for _, part := range parts[:len(parts)-1] {
		at = filepath.Join(at, part)
		if st, err := os.Lstat(at); err == nil && !st.IsDir() {
			w.must(os.Remove(at))
		}
		w.must(os.MkdirAll(at, 0o755))
	}
	full := filepath.Join(at, parts[len(parts)-1])
	if st, err := os.Lstat(full); err == nil && !st.Mode().IsRegular() {
		w.must(os.RemoveAll(full))
	}
	return full
}

func (w *world) text() string {
	w.texts++
	return rapid.SampledFrom([]string{"one\n", "two\n", "one\r\n", "a\nb\nc\nd\ne\nf\n", "", "\x00\x01", fmt.Sprintf("text %d\n", w.texts)}).Draw(w.t, "text")
}

// regular says what stands at p, never beyond a link, and whether that is a file.
func (w *world) regular(p string) (os.FileInfo, bool) {
	kind, st := kindAt(w.dir(), p)
	return st, kind == "file"
}

// edit changes one path on the disk, and nothing that a link on the way leads to. early keeps to what may be there
// before a phase.
func (w *world) edit(early bool) {
	t, p := w.t, w.name()
	full := filepath.Join(w.dir(), p)
	op := rapid.SampledFrom([]string{"write", "write", "write", "append", "delete", "rename", "chmod", "link", "swap", "mkdir", "fifo", "back in time", "hard link", "shut"}).Draw(t, "edit")
	if early && (op == "fifo" || op == "shut") {
		op = "write"
	}
	done := ""
	switch op {
	case "write":
		done = w.text()
		w.must(os.WriteFile(w.room(p), []byte(done), 0o644))
	case "append":
		f, err := os.OpenFile(w.room(p), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		w.must(err)
		f.WriteString("more\n")
		f.Close()
	case "delete":
		if kind, _ := kindAt(w.dir(), p); kind != "none" && kind != "beyond" {
			w.must(os.RemoveAll(full))
		}
	case "rename":
		to := w.name()
		if kind, _ := kindAt(w.dir(), p); kind != "none" && kind != "beyond" && to != p && !strings.HasPrefix(to, p+"/") && !strings.HasPrefix(p, to+"/") {
			dest := w.room(to)
			if kind, _ := kindAt(w.dir(), p); kind != "none" && kind != "beyond" { // making room may have taken it away
				done = fmt.Sprint(to, os.Rename(full, dest))
			}
		}
	case "chmod":
		if st, ok := w.regular(p); ok {
			w.must(os.Chmod(full, st.Mode().Perm()^0o111))
		}
	case "link", "swap":
		done = rapid.SampledFrom([]string{"nowhere", w.outside, filepath.Join(w.outside, "dir"), ".", "../..", "src", "a.txt", "/nowhere"}).Draw(t, "to")
		to := w.room(p)
		w.must(os.RemoveAll(to))
		w.must(os.Symlink(done, to))
	case "mkdir":
		to := w.room(p)
		w.must(os.RemoveAll(to))
		w.must(os.MkdirAll(filepath.Join(to, "empty"), 0o755))
	case "fifo":
		to := w.room(p)
		w.must(os.RemoveAll(to))
		_, err := w.try(w.home, "mkfifo", "--", to)
		w.must(err)
	case "back in time":
		if st, ok := w.regular(p); ok && st.Size() > 0 {
			b, _ := os.ReadFile(full)
			b[0] ^= 1
			w.must(os.WriteFile(full, b, st.Mode().Perm()))
			w.must(os.Chtimes(full, time.Time{}, st.ModTime()))
		}
	case "hard link":
		if _, ok := w.regular(p); ok {
			to := w.name()
			if to != p && !strings.HasPrefix(to, p+"/") && !strings.HasPrefix(p, to+"/") {
				dest := w.room(to)
				w.must(os.RemoveAll(dest))
				done = fmt.Sprint(to, os.Link(full, dest))
			}
		}
	case "shut":
		if kind, _ := kindAt(w.dir(), p); kind == "file" || kind == "dir" {
			w.must(os.Chmod(full, 0o100))
		}
	}
	t.Logf("%s %q %q", op, p, done)
}

// useGit is an agent that works with git, or against it.
func (w *world) useGit() {
	t, p := w.t, w.name()
	op := rapid.SampledFrom([]string{"commit", "commit", "amend", "stash", "branch", "detach", "reset", "soft reset", "untrack", "assume", "skip", "gitlink", "init", "junk git",
		"rules", "deep rules", "attributes", "config", "hook", "exclude", "no link", "init over", "merging", "lock", "junk index", "add", "stray branch"}).Draw(t, "git")
	t.Logf("%s %q", op, p)
	common := filepath.Join(w.root, ".git")
	switch op {
	case "add":
		w.git("add", "-A", "-f")
	case "commit":
		w.git("add", "-A")
		w.git("commit", "-qm", "work")
	case "amend":
		w.git("commit", "-q", "--amend", "--allow-empty", "-am", "other words")
	case "stash":
		w.git("stash", "-u")
	case "branch":
		w.git("checkout", "-q", "-b", "other")
	case "stray branch":
		w.git("checkout", "-q", "--orphan", "stray")
	case "detach":
		w.git("checkout", "-q", "--detach")
	case "reset":
		w.git("reset", "-q", "--hard", "HEAD~1")
	case "soft reset":
		w.git("reset", "-q", "--soft", "HEAD~1")
	case "untrack":
		w.git("--literal-pathspecs", "rm", "-rq", "--cached", "--", p)
	case "assume":
		w.git("update-index", "--assume-unchanged", "--", p)
	case "skip":
		w.git("update-index", "--skip-worktree", "--", p)
	case "gitlink":
		w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+","+p)
	case "init":
		dir := w.room(p)
		w.must(os.RemoveAll(dir))
		w.must(os.MkdirAll(dir, 0o755))
		w.must(os.WriteFile(filepath.Join(dir, "in"), []byte("inside\n"), 0o644))
		out, err := w.try(dir, "sh", "-ec", "git init -q . && git add -A && git commit -qm in")
		t.Log(out, err)
	case "junk git":
		w.must(os.WriteFile(w.room(p+"/.git"), []byte("gitdir: ../nowhere\n"), 0o644))
	case "rules":
		w.must(os.WriteFile(w.room(".gitignore"), []byte(rapid.SampledFrom([]string{"*\n", "", "/src/\n*.txt\n", "!*\n"}).Draw(t, "new rules")), 0o644))
	case "deep rules":
		w.must(os.WriteFile(w.room(path.Join(path.Dir(p), ".gitignore")), []byte(rapid.SampledFrom([]string{"*\n", "*.txt\n", "!*\n"}).Draw(t, "new rules")), 0o644))
	case "attributes":
		w.must(os.WriteFile(w.room(".gitattributes"), []byte("* text eol=crlf filter=rot\n"), 0o644))
	case "config":
		for _, kv := range []string{"core.fileMode=false", "status.showUntrackedFiles=no", "core.ignoreCase=true", "core.excludesFile=/dev/stdin", "core.fsmonitor=false"} {
			k, v, _ := strings.Cut(kv, "=")
			w.git("config", k, v)
		}
	case "hook":
		w.must(os.WriteFile(filepath.Join(common, "hooks/post-checkout"), []byte("#!/bin/sh\n"), 0o755))
	case "exclude":
		w.must(os.WriteFile(filepath.Join(common, "info/exclude"), []byte("*\n"), 0o644))
	case "no link":
		w.must(os.RemoveAll(filepath.Join(w.dir(), ".git")))
		w.meddled = true // from now on git climbs to the checkout
	case "init over":
		w.must(os.RemoveAll(filepath.Join(w.dir(), ".git")))
		w.git("init", "-q")
	case "merging":
		os.WriteFile(filepath.Join(common, "worktrees/r1/MERGE_HEAD"), []byte(strings.Repeat("1", 40)+"\n"), 0o644)
	case "lock":
		os.WriteFile(filepath.Join(common, "worktrees/r1/index.lock"), nil, 0o644)
	case "junk index":
		os.WriteFile(filepath.Join(common, "worktrees/r1/index"), []byte("junk"), 0o644)
	}
}

// observe copies everything there is.
func (w *world) observe() state {
	t := w.t
	dir, admin := w.dir(), filepath.Join(w.root, ".git/worktrees/r1")
	s := state{files: copyOf(t, dir), entries: map[string]bool{}, flags: map[string]string{}, staged: map[string]string{}, own: map[string]string{}, nested: map[string]bool{}}
	if b, err := os.ReadFile(filepath.Join(dir, ".gitignore")); err == nil {
		s.rules = strings.Fields(string(b))
	}
	s.link = "gone"
	if b, err := os.ReadFile(filepath.Join(dir, ".git")); err == nil {
		s.link = string(b)
	}
	g := []string{"--git-dir=" + admin, "--work-tree=" + dir}
	if out, err := w.try(dir, "git", append(g, "ls-files", "-s", "-v", "-z")...); err == nil {
		for rec := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
			info, p, ok := strings.Cut(rec, "\t")
			if !ok {
				continue
			}
			s.staged[p] = info
			if !strings.Contains(info, " 160000 ") {
				s.entries[p] = true
			}
			if info[0] != 'H' && info[0] != 'M' {
				s.flags[p] = info[:1]
			}
		}
	}
	if b, err := os.ReadFile(filepath.Join(admin, "HEAD")); err == nil {
		s.branch, _ = strings.CutPrefix(strings.TrimSpace(string(b)), "ref: ")
		if s.branch == strings.TrimSpace(string(b)) {
			s.branch = ""
		}
	}
	out, err := w.try(dir, "git", append(g, "rev-parse", "-q", "--verify", "HEAD")...)
	if err == nil {
		s.head = strings.TrimSpace(out)
	}
	for _, op := range operations {
		if _, err := os.Lstat(filepath.Join(admin, op)); err == nil {
			s.busy = true
		}
	}
	for _, name := range []string{"config", "info/exclude", "hooks/post-checkout"} {
		if b, err := os.ReadFile(filepath.Join(w.root, ".git", name)); err == nil {
			s.own[".git/"+name] = string(b)
		}
	}
	filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" && filepath.Dir(p) != dir {
			rel, _ := filepath.Rel(dir, filepath.Dir(p))
			s.nested[rel] = true
		}
		return err
	})
	return s
}
