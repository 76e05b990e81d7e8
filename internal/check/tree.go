package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"foundry/graph"
	"foundry/runner"
)

// This file keeps the made-up workspace: the files whose text was given, what has changed since the run began,
// and a name for each state that a phase left behind.

// tree is the workspace at one instant. It is a value: what a visit changes makes a new one.
type tree struct {
	n       int                // its name; two trees of one number are equal
	files   map[string]*string // known texts; nil for a deleted file
	changed map[string]bool    // every path that some visit changed
}

func (t tree) name() string { return "tree-" + strconv.Itoa(t.n) }

type visitKey struct {
	phase graph.PhaseID
	n     int
}

// visit is what a phase did since it was entered.
type visit struct {
	start   tree
	own     *tree // of one with a worktree of its own: what is there now
	newest  Given
	changed map[string]bool
	wrote   map[string]bool // paths whose text was given
	files   bool            // some turn of it gave files
}

// paths are what the visit changed, sorted.
func (v *visit) paths() []string { return slices.Sorted(maps.Keys(v.changed)) }

func (w *World) visit(c runner.Command) *visit {
	key := visitKey{c.ID.Phase, c.ID.Visit}
	v, ok := w.visits[key]
	if !ok {
		v = &visit{start: w.tree, changed: map[string]bool{}, wrote: map[string]bool{}}
		w.visits[key] = v
	}
	return v
}

// place is the workspace that a visit works in: its own, or the run's.
func (w *World) place(v *visit) *tree {
	if v.own != nil {
		return v.own
	}
	return &w.tree
}

// name is the name of a tree that the machine is told.
func (w *World) name(t tree) string {
	w.named[t.name()] = t
	return t.name()
}

// makeApart makes the workspace that a visit has to itself: as the visit's group found the run's, and with what an earlier
// visit has left.
func (w *World) makeApart(g *graph.Graph, s runner.State, c runner.Command) (base, start string) {
	from, ok := s.Apart(g, c.ID.Phase)
	if !ok {
		panic(fmt.Sprintf("BUG: %s has no worktree of its own", c.ID))
	}
	v := w.visit(c)
	v.start = w.with(w.named[from.Tree], w.named[from.LeftBase], w.named[from.LeftTree])
	own := v.start
	v.own = &own
	return from.Tree, w.name(own)
}

// mergeBack merges the work of such a visit into the run's workspace, unless the visit's newest entry says where it
// does not fit.
func (w *World) mergeBack(g *graph.Graph, s runner.State, c runner.Command) []runner.Violation {
	from, ok := s.Apart(g, c.ID.Phase)
	if !ok {
		panic(fmt.Sprintf("BUG: %s has no worktree of its own", c.ID))
	}
	var out []runner.Violation
	for _, path := range slices.Sorted(slices.Values(w.visit(c).newest.Conflict)) {
		out = append(out, runner.Violation{Path: path, Change: "conflict", Reason: "both changed it"})
	}
	if len(out) == 0 {
		w.tree = w.with(w.tree, w.named[from.Base], w.named[from.End])
	}
	return out
}

// with is a tree with what was changed between two others.
func (w *World) with(t, base, work tree) tree {
	if base.n == work.n {
		return t
	}
	if t.n == base.n {
		return work
	}
	out := tree{files: maps.Clone(t.files), changed: maps.Clone(t.changed)}
	if out.files == nil {
		out.files, out.changed = map[string]*string{}, map[string]bool{}
	}
	for path, text := range work.files {
		if was, ok := base.files[path]; !ok || was != text {
			out.files[path] = text
		}
	}
	maps.Copy(out.changed, work.changed)
	w.trees++
	out.n = w.trees
	return out
}

// keepLimits undoes what a visit changed against the limits of a plan.
func (w *World) keepLimits(g *graph.Graph, s runner.State, c runner.Command) []runner.Violation {
	v, limits := w.visit(c), runner.LimitsOf(g, s, c.ID.Phase)
	if len(limits) == 0 {
		return nil
	}
	var out []runner.Violation
	for _, path := range v.paths() {
		if why, ok := runner.Allows(limits, path); !ok {
			out = append(out, runner.Violation{Path: path, Change: "changed", Reason: why, Undone: true})
		}
	}
	if len(out) == 0 {
		return nil
	}
	w.trees++
	t := tree{n: w.trees, files: maps.Clone(w.place(v).files), changed: maps.Clone(w.place(v).changed)}
	for _, x := range out {
		delete(v.changed, x.Path)
		delete(v.wrote, x.Path)
		delete(t.files, x.Path)
		delete(t.changed, x.Path)
		if was, ok := v.start.files[x.Path]; ok {
			t.files[x.Path] = was
		}
		if v.start.changed[x.Path] {
			t.changed[x.Path] = true
		}
	}
	*w.place(v) = t
	return out
}

// worked takes what a turn or a command did to the workspace. Where nothing is said of what a writer changed, the
// tree is one that nothing equals. What a reader changes is undone, and a commit changes no file.
func (w *World) worked(ph *graph.Phase, c runner.Command, given Given) {
	v, reader := w.visit(c), !ph.Writer || ph.Kind == graph.Commit
	v.newest = given
	v.files = v.files || given.HasFiles
	if (given.Looked || reader) && len(given.Changed) == 0 && len(given.Files) == 0 {
		return
	}
	t := tree{n: w.place(v).n, files: maps.Clone(w.place(v).files), changed: maps.Clone(w.place(v).changed)}
	if t.files == nil {
		t.files, t.changed = map[string]*string{}, map[string]bool{}
	}
	change := func(path string) { v.changed[path], t.changed[path] = true, true }
	for _, f := range given.Files {
		v.wrote[f.Path] = true
		if t.files[f.Path] = nil; !f.Delete {
			text := f.Text
			t.files[f.Path] = &text
		}
		if !given.Looked {
			change(f.Path)
		}
	}
	for _, path := range given.Changed {
		change(path)
	}
	if !given.Looked || len(given.Changed) > 0 {
		w.trees++
		t.n = w.trees
	}
	*w.place(v) = t
}
