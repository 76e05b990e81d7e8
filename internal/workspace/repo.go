// Package workspace is everything Foundry does with git: worktrees for runs, snapshots of what is in them,
// the boundary of a phase, and the way of a run's work to its base branch. It uses plumbing only, trusts
// neither the user's configuration nor anything an agent can change, and loses nothing: what it takes away
// is first kept under refs/foundry/.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"foundry/internal/atomicfile"
)

// Repo is a repository with a checkout. Its methods may be called from several goroutines.
type Repo struct {
	root   string // of the checkout, symlinks resolved
	gitDir string // of this checkout
	common string // shared by all worktrees
	home   string // holds the records and worktrees of runs; see Home
	git    git    // pinned to this checkout
	ver    version
	format string // sha1 or sha256
}

// Names at the root of a repository that belong to Foundry.
const (
	recordsDir   = ".foundry"
	worktreesDir = ".foundry-worktrees"
	handoffDir   = ".foundry-handoff"
)

// Open finds the repository that dir is in. A repository without commits can be opened; what needs a commit
// then fails with ErrNoCommits. Errors wrap ErrGitMissing, ErrGitTooOld, ErrNotRepository, ErrBare or
// ErrUnsafeOwner where they are the cause.
func Open(ctx context.Context, dir string) (*Repo, error) { return OpenIn(ctx, dir, os.Environ()) }

// OpenIn is Open with an environment for the calls of git instead of Foundry's own. PATH in it says which
// git is used.
func OpenIn(ctx context.Context, dir string, env []string) (*Repo, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the repository: %w", err)
	}
	if st, err := os.Stat(abs); err != nil || !st.IsDir() {
		return nil, fmt.Errorf("open the repository: %s is not a directory", abs)
	}
	g := git{env: gitEnv(env), dir: abs, lockWait: lockTime}
	r := &Repo{}
	words, err := g.line(ctx, "version")
	if err != nil {
		return nil, fmt.Errorf("open the repository: %w", err)
	}
	if r.ver, err = parseVersion(words); err != nil {
		return nil, err
	}
	if r.ver.less(oldest) {
		return nil, fmt.Errorf("%w: this is %s, %s or newer is needed", ErrGitTooOld, r.ver, oldest)
	}
	// An older git answers --show-object-format with the words themselves; it has no other format than sha1.
	facts, err := g.line(ctx, "rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--show-object-format")
	if err != nil {
		var ge *GitError
		if errors.As(err, &ge) && strings.Contains(ge.Stderr, "not a git repository") {
			return nil, fmt.Errorf("%s: %w", abs, ErrNotRepository)
		}
		return nil, fmt.Errorf("open the repository at %s: %w", abs, err)
	}
	r.format = "sha1"
	switch f := strings.Split(facts, "\n"); {
	case len(f) != 3:
		return nil, fmt.Errorf("open the repository at %s: git answered %q", abs, facts)
	case f[0] == "true":
		return nil, fmt.Errorf("%s: %w", abs, ErrBare)
	case f[1] != "true":
		return nil, fmt.Errorf("%s is inside a git directory, not in a checkout: %w", abs, ErrNotRepository)
	case f[2] == "sha256":
		r.format = f[2]
	}
	if err := r.places(ctx, g); err != nil {
		return nil, fmt.Errorf("open the repository at %s: %w", abs, err)
	}
	r.home = Home(r.root)
	r.git = git{env: g.env, dir: r.root, gitDir: r.gitDir, workTree: r.root, lockWait: lockTime}
	return r, nil
}

// places finds the three directories of a checkout. A directory may have a line break in its name, so each is
// asked for by itself, unless the answer leaves no doubt.
func (r *Repo) places(ctx context.Context, g git) error {
	questions := []string{"--show-toplevel", "--git-dir", "--git-common-dir"}
	out, err := g.line(ctx, append([]string{"rev-parse"}, questions...)...)
	if err != nil {
		return err
	}
	answers := strings.Split(out, "\n")
	if len(answers) != len(questions) {
		answers = nil
		for _, q := range questions {
			p, err := g.line(ctx, "rev-parse", q)
			if err != nil {
				return err
			}
			answers = append(answers, p)
		}
	}
	for i, to := range []*string{&r.root, &r.gitDir, &r.common} {
		p := answers[i]
		if !filepath.IsAbs(p) {
			p = filepath.Join(g.dir, p)
		}
		if *to, err = filepath.EvalSymlinks(p); err != nil {
			return err
		}
	}
	return nil
}

// Home returns the directory that holds the records and the worktrees of runs, which is the same for all checkouts
// of the repository.
func (r *Repo) Home() string { return r.home }

// Root returns the top directory of the checkout, with symlinks resolved.
func (r *Repo) Root() string { return r.root }

// CommonDir returns the git directory that all worktrees share.
func (r *Repo) CommonDir() string { return r.common }

// Version returns the version of git, as 2.39.5.
func (r *Repo) Version() string { return r.ver.String() }

// Head returns the commit that is checked out and the short name of its branch, which is empty when HEAD is
// detached. Without a commit the error wraps ErrNoCommits, and branch is still returned.
func (r *Repo) Head(ctx context.Context) (sha, branch string, err error) { return r.git.head(ctx) }

func (g git) head(ctx context.Context) (sha, branch string, err error) {
	a, err := g.do(ctx, call{args: []string{"symbolic-ref", "-q", "HEAD"}, ok: 1})
	if err != nil {
		return "", "", fmt.Errorf("read HEAD: %w", err)
	}
	branch = strings.TrimPrefix(strings.TrimSpace(string(a.out)), "refs/heads/")
	a, err = g.do(ctx, call{args: []string{"rev-parse", "-q", "--verify", "HEAD^{commit}"}, ok: 1})
	if err != nil {
		return "", branch, fmt.Errorf("read HEAD: %w", err)
	}
	if a.exit != 0 {
		return "", branch, fmt.Errorf("read HEAD: %w", ErrNoCommits)
	}
	return strings.TrimSpace(string(a.out)), branch, nil
}

// Resolve returns the commit that ref names, and the short name of the branch when it is one. An empty ref is
// what is checked out. When nothing has that name the error wraps ErrNoSuchRef and lists the branches there
// are.
func (r *Repo) Resolve(ctx context.Context, ref string) (sha, branch string, err error) {
	if ref == "" || ref == "HEAD" {
		return r.Head(ctx)
	}
	if strings.HasPrefix(ref, "-") {
		return "", "", fmt.Errorf("%w: %q", ErrNoSuchRef, ref)
	}
	short := strings.TrimPrefix(ref, "refs/heads/")
	if sha, err = r.ref(ctx, "refs/heads/"+short); err != nil {
		return "", "", err
	}
	if sha != "" {
		return sha, short, nil
	}
	a, err := r.git.do(ctx, call{args: []string{"rev-parse", "-q", "--verify", ref + "^{commit}"}, ok: 1})
	var ge *GitError
	if err != nil && !(errors.As(err, &ge) && ge.Exit == 128) {
		return "", "", fmt.Errorf("resolve %q: %w", ref, err)
	}
	if err == nil && a.exit == 0 {
		return strings.TrimSpace(string(a.out)), "", nil
	}
	names, berr := r.Branches(ctx)
	if berr != nil {
		return "", "", berr
	}
	if len(names) == 0 {
		return "", "", fmt.Errorf("resolve %q: %w", ref, ErrNoCommits)
	}
	const most = 10
	list := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		list += ", …"
	}
	return "", "", fmt.Errorf("%w: %q; the branches are %s", ErrNoSuchRef, ref, list)
}

// ref returns the commit a full ref name points to, and "" when there is no such ref.
func (r *Repo) ref(ctx context.Context, full string) (string, error) {
	a, err := r.git.do(ctx, call{args: []string{"show-ref", "--verify", "-s", "--", full}, ok: 1})
	if err != nil {
		var ge *GitError
		if errors.As(err, &ge) && strings.Contains(ge.Stderr, "not a valid ref") {
			return "", nil
		}
		return "", fmt.Errorf("read %s: %w", full, err)
	}
	return strings.TrimSpace(string(a.out)), nil
}

// Branches returns the short names of all local branches except those of runs, sorted.
func (r *Repo) Branches(ctx context.Context) ([]string, error) {
	out, err := r.git.read(ctx, "for-each-ref", "--format=%(refname)", "refs/heads/")
	if err != nil {
		return nil, fmt.Errorf("list the branches: %w", err)
	}
	var names []string
	for _, l := range strings.Fields(string(out)) {
		if name := strings.TrimPrefix(l, "refs/heads/"); !strings.HasPrefix(name, "foundry/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Dirty returns the paths of the checkout that differ from HEAD or are untracked and not ignored, sorted.
// Foundry's own paths are not among them.
func (r *Repo) Dirty(ctx context.Context) ([]string, error) {
	quiet, err := r.withoutFilters(ctx)
	if err != nil {
		return nil, err
	}
	st, err := r.git.status(ctx, "all", append(quiet, "-c", "core.fsmonitor=false")...)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, s := range st {
		if top, _, _ := strings.Cut(s.path, "/"); top == recordsDir || top == worktreesDir || top == handoffDir {
			continue
		}
		paths = append(paths, s.path)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// withoutFilters are the settings under which git starts none of the content filters that are configured: they are
// programs of the repository's, and a look at it executes nothing of it. A file with a filter is then compared as it
// is, and may look changed when it was only touched.
func (r *Repo) withoutFilters(ctx context.Context) ([]string, error) {
	a, err := r.git.do(ctx, call{args: []string{"config", "-z", "--name-only", "--get-regexp", `^filter\..*\.(clean|smudge|process|required)$`}, ok: 1})
	if err != nil {
		return nil, fmt.Errorf("read which filters are configured: %w", err)
	}
	var out []string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(a.out), "\x00"), "\x00") {
		switch {
		case name == "":
		case strings.HasSuffix(name, ".required"):
			out = append(out, "-c", name+"=false")
		default:
			out = append(out, "-c", name+"=")
		}
	}
	return out, nil
}

// status is one entry of git status: x is the index against HEAD, y the file against the index.
type status struct {
	path string
	x, y byte
}

// status reads the state of a checkout. untracked is all or no. With settings of its own it executes nothing that the
// repository configures, and does not look into submodules.
func (g git) status(ctx context.Context, untracked string, settings ...string) ([]status, error) {
	submodules := "--ignore-submodules=none"
	if len(settings) > 0 {
		submodules = "--ignore-submodules=dirty" // git would start itself in them, without the settings
	}
	out, err := g.read(ctx, append(append([]string{"-c", "core.fileMode=true"}, settings...), "status", "--porcelain=v1", "-z", "--no-renames", submodules, "--untracked-files="+untracked)...)
	if err != nil {
		return nil, fmt.Errorf("read the status of %s: %w", g.workTree, err)
	}
	recs, err := fields(out)
	if err != nil {
		return nil, fmt.Errorf("read the status of %s: %w", g.workTree, err)
	}
	list := make([]status, 0, len(recs))
	for _, rec := range recs {
		if len(rec) < 4 || rec[2] != ' ' {
			return nil, fmt.Errorf("read the status of %s: git answered %q", g.workTree, rec)
		}
		list = append(list, status{path: rec[3:], x: rec[0], y: rec[1]})
	}
	return list, nil
}

// excluded are the lines that Foundry has in info/exclude.
var excluded = []string{"/" + recordsDir + "/", "/" + worktreesDir + "/", "/" + handoffDir + "/"}

// Exclude makes git ignore Foundry's own directories, through info/exclude and never through a tracked file.
func (r *Repo) Exclude(context.Context) error {
	path := filepath.Join(r.common, "info", "exclude")
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("exclude Foundry's directories: %w", err)
	}
	have := strings.Split(strings.ReplaceAll(string(old), "\r\n", "\n"), "\n")
	text := string(old)
	for _, l := range excluded {
		if slices.Contains(have, l) {
			continue
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += l + "\n"
	}
	if text == string(old) {
		return nil
	}
	dropTemporary(filepath.Dir(path), time.Hour) // a young one can be another Foundry's that is at work
	if err := replaceFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("exclude Foundry's directories: %w", err)
	}
	return nil
}

// dropTemporary removes what a replaceFile that was killed has left in a directory of the repository, when it is
// older than that. Zero is for those whom nobody can disturb there.
func dropTemporary(dir string, older time.Duration) {
	left, _ := os.ReadDir(dir) // one that cannot be read has nothing to tidy up
	for _, e := range left {
		if !atomicfile.IsTemporary(e) {
			continue
		}
		if st, err := e.Info(); err == nil && (older == 0 || time.Since(st.ModTime()) > older) {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// replaceFile writes a file in one step, and makes the directories above it.
func replaceFile(path string, data []byte, perm os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, data, perm)
}

// Worktrees lists all worktrees of the repository; the first is the main one.
func (r *Repo) Worktrees(ctx context.Context) ([]Worktree, error) {
	out, err := r.git.read(ctx, r.listArgs()...)
	if err != nil {
		return nil, fmt.Errorf("list the worktrees: %w", err)
	}
	sep := "\n"
	if !r.ver.less(version{2, 36}) {
		sep = "\x00"
	}
	var list []Worktree
	for _, block := range strings.Split(string(out), sep+sep) {
		var w Worktree
		for _, l := range strings.Split(block, sep) {
			key, val, _ := strings.Cut(l, " ")
			switch key {
			case "worktree":
				w.Dir = val
			case "HEAD":
				w.Head = val
			case "branch":
				w.Branch = strings.TrimPrefix(val, "refs/heads/")
			case "bare":
				w.Bare = true
			case "prunable":
				w.Prunable = true
			}
		}
		if w.Dir == "" {
			continue
		}
		if _, err := os.Lstat(w.Dir); err != nil {
			w.Missing = true
		}
		if run, err := filepath.Rel(filepath.Join(r.home, worktreesDir), w.Dir); err == nil && run != "." && !strings.Contains(run, "/") && run != ".." {
			w.Run, _ = ownerOf(run)
		}
		list = append(list, w)
	}
	return list, nil
}

// listArgs asks for NUL between fields where git can do that.
func (r *Repo) listArgs() []string {
	args := []string{"worktree", "list", "--porcelain"}
	if !r.ver.less(version{2, 36}) {
		args = append(args, "-z")
	}
	return args
}
