package drive

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"foundry/glob"
	"foundry/graph"
	"foundry/internal/harness"
	"foundry/internal/process"
	"foundry/internal/workspace"
)

// This file says what an agent in a sandbox may write. The kernel knows only directories with all below them, and has
// no exceptions: a directory that holds one which is kept is granted entry by entry, so that no new name can be made
// directly in it. What cannot be said so is left to the check of the boundary, which follows each turn in any case.

// Ground is where an agent works, as far as its sandbox has to know.
type Ground struct {
	Top      string   // the workspace; the checkout while the worktree is not made yet
	Isolated bool     // the workspace is a worktree of its own
	Admin    string   // the git directory of the worktree; "" while there is none
	Root     string   // the user's checkout
	Home     string   // the directory that holds the records of all runs
	Common   string   // the repository's git directory
	Session  string   // the agent's own directory in the record; "" while there is none
	Env      []string // what the agent's program is started with
}

// Reach is a path that an agent in a sandbox may write, with all below it, and what it is.
type Reach struct{ Path, What string }

// Sandbox is what an agent may write.
type Sandbox struct {
	Whole   bool     // the workspace, as a whole
	Inside  []string // else the paths in it, absolute
	Kept    []string // the directories of the workspace that the kernel keeps from it, from its top
	Narrow  []string // those in which no new name can be made, from its top; "." is the top
	Checked []string // protected patterns that are left to the check
	Outside []Reach
	Temp    string // what TMPDIR has to be, as no directory for temporary files can be granted; "" is as it was
}

// SandboxOf says what an agent that has a sandbox may write there. It makes nothing: what is not there is not granted.
func SandboxOf(g *graph.Graph, agent int, at Ground) (Sandbox, error) {
	var s Sandbox
	at.Top = resolved(at.Top)
	has := g.Confinement(agent)
	if err := s.inside(has, at); err != nil {
		return s, fmt.Errorf("find out what the sandbox of agent %q may write: %w", g.Agents[agent].Name, err)
	}
	s.outside(g, agent, has.Commits, at)
	return s, nil
}

// Paths is all that is granted, for the kernel.
func (s *Sandbox) Paths() []string {
	out := slices.Clone(s.Inside)
	for _, r := range s.Outside {
		out = append(out, r.Path)
	}
	return out
}

// inside grants the workspace without the directories that are protected as a whole.
func (s *Sandbox) inside(has graph.Confinement, at Ground) error {
	top, dirs := at.Top, has.Dirs
	if !at.Isolated {
		dirs = append(slices.Clip(dirs), ".git", ".foundry", ".foundry-worktrees")
	}
	for _, dir := range dirs {
		if info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(dir))); err == nil && info.IsDir() && !glob.InHandoff(dir) {
			s.Kept = append(s.Kept, dir)
		}
	}
	for _, p := range has.Protect {
		if !slices.ContainsFunc(s.Kept, func(dir string) bool { return dir == "." || glob.Base(p) == dir || strings.HasPrefix(p, dir+"/") }) {
			s.Checked = append(s.Checked, p)
		}
	}
	switch {
	case slices.Contains(s.Kept, "."):
	case len(s.Kept) == 0:
		s.Whole, s.Inside = true, []string{top}
	default:
		if err := s.entries(top, "."); err != nil {
			return err
		}
	}
	if !s.Whole {
		s.Inside = append(s.Inside, filepath.Join(top, glob.Handoff))
	}
	return nil
}

// entries grants what a directory holds, one by one, without what is kept.
func (s *Sandbox) entries(top, dir string) error {
	list, err := os.ReadDir(filepath.Join(top, filepath.FromSlash(dir)))
	if err != nil {
		return err
	}
	s.Narrow = append(s.Narrow, dir)
	for _, e := range list {
		name := path.Join(dir, e.Name())
		switch {
		case slices.Contains(s.Kept, name), e.Type()&os.ModeSymlink != 0, name == ".git", name == glob.Handoff:
		case slices.ContainsFunc(s.Kept, func(k string) bool { return strings.HasPrefix(k, name+"/") }):
			if err := s.entries(top, name); err != nil {
				return err
			}
		default:
			s.Inside = append(s.Inside, filepath.Join(top, filepath.FromSlash(name)))
		}
	}
	return nil
}

// outside grants what lies outside the workspace, and what `write` names.
func (s *Sandbox) outside(g *graph.Graph, agent int, commits bool, at Ground) {
	a := &g.Agents[agent]
	var want []Reach
	add := func(what, path string) {
		if path != "" {
			want = append(want, Reach{path, what})
		}
	}
	add("its own directory in the record", at.Session)
	add("git's objects", filepath.Join(at.Common, "objects"))
	if at.Isolated {
		add("the worktree's index", at.Admin)
	}
	if commits && at.Isolated {
		for _, dir := range runBranches(at.Common) {
			add("the branches of runs", dir)
		}
	}
	info, _ := harness.Find(a.Harness)
	for _, p := range info.State {
		add("state of "+a.Harness, p.In(at.Env))
	}
	for _, p := range caches() {
		add("cache", p.In(at.Env))
	}
	for _, dir := range tempDirs(at.Env) {
		add("temporary files", dir)
	}
	for _, name := range devices() {
		add("device", name)
	}
	want = slices.DeleteFunc(want, func(r Reach) bool { return holdsRepository(r.Path, at) })
	for _, w := range a.Sandbox.Write {
		add("write", writePath(w, at))
	}
	s.Outside = granted(want, at)
	if temp := tempDirs(at.Env)[0]; at.Session != "" && !slices.ContainsFunc(s.Outside, func(r Reach) bool { return below(r.Path, resolved(temp)) }) {
		s.Temp = filepath.Join(at.Session, "tmp")
	}
}

// granted are the paths that are there, led through links. What lies below another one is left out: an agent that may
// write that one could have put a link there, which would lead to more.
func granted(want []Reach, at Ground) []Reach {
	slices.SortStableFunc(want, func(a, b Reach) int { return cmp.Compare(len(a.Path), len(b.Path)) })
	var out []Reach
	var named []string
	for _, r := range want {
		if slices.ContainsFunc(named, func(n string) bool { return below(n, r.Path) }) {
			continue
		}
		real := r.Path
		if !below(at.Top, r.Path) { // in the workspace nothing is led through links, for the same reason
			var err error
			if real, err = filepath.EvalSymlinks(r.Path); err != nil {
				continue
			}
		}
		if _, err := os.Lstat(real); err != nil {
			continue
		}
		named = append(named, r.Path)
		out = append(out, Reach{real, r.What})
	}
	return out
}

// OutsideWorkspace says that an entry of `sandbox.write` is no path from the top of the workspace.
func OutsideWorkspace(w string) bool { return strings.HasPrefix(w, "~") || filepath.IsAbs(w) }

// writePath is the path that an entry of `sandbox.write` means; "" when there is no home directory to begin it.
func writePath(w string, at Ground) string {
	if rest, ok := strings.CutPrefix(w, "~"); ok {
		home, _ := process.Lookup(at.Env, "HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		return filepath.Join(home, filepath.FromSlash(rest))
	}
	if filepath.IsAbs(w) {
		return filepath.Clean(w)
	}
	return filepath.Join(at.Top, filepath.FromSlash(w))
}

// holdsRepository says that the repository, or what Foundry keeps of its runs, lies in a directory.
func holdsRepository(dir string, at Ground) bool {
	dir = resolved(dir)
	return slices.ContainsFunc([]string{at.Root, at.Home, at.Common}, func(p string) bool { return below(dir, resolved(p)) })
}

// below says that a path is a directory, or lies in it.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// confine makes the sandbox of an agent that is about to be started in a workspace. The variables are for its environment.
func (d *driver) confine(tree *workspace.Tree, agent int, session string, env []string) (*process.Confine, []string, error) {
	a := &d.g().Agents[agent]
	if a.Sandbox == nil {
		return nil, nil, nil
	}
	at := Ground{Top: tree.Dir(), Isolated: tree.Isolated(), Admin: tree.GitDir(), Root: d.Repo.Root(), Home: d.Repo.Home(), Common: d.Repo.CommonDir(), Session: session, Env: env}
	// What the agent would make itself it could not make in there.
	needed := []string{session, filepath.Join(tree.Dir(), glob.Handoff)}
	if at.Isolated && d.g().Confinement(agent).Commits {
		needed = append(needed, runBranches(at.Common)...)
	}
	for _, dir := range needed {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, nil, fmt.Errorf("make a directory that agent %q needs in its sandbox: %w", a.Name, err)
		}
	}
	info, _ := harness.Find(a.Harness)
	for _, p := range append(info.State, caches()[0]) {
		if dir := p.In(env); dir != "" && !p.File {
			os.MkdirAll(dir, 0o700) // where that cannot be done the agent could not have done it either
		}
	}
	if err := makeInside(at.Top, a.Sandbox.Write); err != nil {
		return nil, nil, fmt.Errorf("make a directory that agent %q may write: %w", a.Name, err)
	}
	s, err := SandboxOf(d.g(), agent, at)
	if err != nil {
		return nil, nil, err
	}
	var own []string
	if s.Temp != "" {
		if err := os.MkdirAll(s.Temp, 0o700); err != nil {
			return nil, nil, fmt.Errorf("make a directory for the temporary files of agent %q: %w", a.Name, err)
		}
		own = []string{"TMPDIR=" + s.Temp}
	}
	return &process.Confine{Paths: s.Paths()}, own, nil
}

// makeInside makes the directories that `write` names in the workspace: the agent may not be able to.
func makeInside(top string, write []string) (err error) {
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, w := range write {
		if OutsideWorkspace(w) {
			continue
		}
		name := filepath.FromSlash(path.Clean(w))
		if _, err := root.Lstat(name); err == nil {
			continue
		}
		if err := root.MkdirAll(name, 0o777); err != nil {
			return err
		}
	}
	return nil
}
