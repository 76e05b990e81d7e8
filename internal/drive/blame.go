package drive

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"foundry/internal/workspace"
	"foundry/runner"
)

// This file finds out whose doing a change is, as far as the calls of agents tell. Several phases that may write nothing
// can be at work in one workspace: what one of them changes is found when the first of them is looked at. And beside a
// worktree a person may be at work too.

// blame says of each violation that was found while other phases were at work against whom it is held: against the
// one whose call names the path, else against each, for nobody can tell.
func (d *driver) blame(s runner.State, c runner.Command, found []runner.Violation) []runner.Violation {
	others := slices.DeleteFunc(s.Beside(d.g(), c.ID.Phase), d.wasLooked)
	if len(others) == 0 {
		return found
	}
	all := append([]runner.AtWork{{Phase: d.g().Phases[c.ID.Phase].Name, Visit: c.ID.Visit}}, others...)
	for i := range found {
		v := &found[i]
		var named, each []string
		for _, w := range all {
			each = append(each, w.Phase)
			if d.called(w.Phase, w.Visit, v.Path, filepath.Join(d.Tree.Dir(), filepath.FromSlash(v.Path))) {
				named = append(named, w.Phase)
			}
		}
		if v.By = each; len(named) > 0 {
			v.By = named
		}
	}
	return found
}

// isLooked notes whether a visit has been looked at since it worked last.
func (d *driver) isLooked(c runner.Command, looked bool) {
	d.snapMu.Lock()
	defer d.snapMu.Unlock()
	d.looked[visitKey{c.ID.Phase, c.ID.Visit}] = looked
}

func (d *driver) wasLooked(w runner.AtWork) bool {
	id, _ := d.g().Lookup(w.Phase)
	d.snapMu.Lock()
	defer d.snapMu.Unlock()
	return d.looked[visitKey{id, w.Visit}]
}

// called says whether a call of a visit that may have written names a path, in one of its spellings.
func (d *driver) called(phase string, visit int, spellings ...string) bool {
	for _, e := range d.Record.Events() {
		if e.Kind != runner.Activity || e.Tool == nil || e.Phase != phase || e.Visit != visit || e.Outcome == "refused" {
			continue
		}
		switch e.Tool.Kind {
		case "read", "fetch", "think":
			continue
		}
		for _, path := range spellings {
			for _, p := range e.Tool.Paths {
				if p == path {
					return true
				}
			}
			if mentions(e.Tool.Command, path) {
				return true
			}
		}
	}
	return false
}

// mentions says whether a command has a path in it that is not a part of another one.
func mentions(command, path string) bool {
	const inPaths = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"
	for rest := command; ; {
		i := strings.Index(rest, path)
		if i < 0 {
			return false
		}
		before, after := rest[:i], rest[i+len(path):]
		before = strings.TrimSuffix(before, "./")
		if (before == "" || !strings.ContainsRune(inPaths, rune(before[len(before)-1]))) && (after == "" || !strings.ContainsRune(inPaths, rune(after[0]))) {
			return true
		}
		rest = after
	}
}

// trespass is a change outside the workspace as a violation of the phase whose call names it; ok is false when none does.
func (d *driver) trespass(c runner.Command, what workspace.OutsideChange) (v runner.Violation, ok bool) {
	if what.Path == "" {
		return v, false // a ref, which calls do not name
	}
	abs := filepath.Join(d.Repo.Root(), filepath.FromSlash(what.Path))
	spellings := []string{abs}
	if rel, err := filepath.Rel(d.treeOf(c).Dir(), abs); err == nil {
		spellings = append(spellings, rel)
	}
	name := d.g().Phases[c.ID.Phase].Name
	if !d.called(name, c.ID.Visit, spellings...) {
		return v, false
	}
	return runner.Violation{Path: abs, Change: what.Change, Reason: "outside the workspace", Note: fmt.Sprintf("a call of %s names it; foundry changes nothing there, so put it back", name)}, true
}
