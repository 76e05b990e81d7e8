package graph

import (
	"path"
	"slices"
	"strings"

	"foundry/diag"
	"foundry/schema"
)

// This file says what an agent's sandbox has to hold. One process of an agent may work in several phases, so only what
// all of them have in common can be kept from it.

// checkSandbox reports paths of `sandbox.write` that could not mean what their author meant.
func checkSandbox(list *diag.List, write schema.Texts) {
	for i := range write.Items {
		t := &write.Items[i]
		why, hint := "", ""
		switch v := t.Value; {
		case v == "":
			why, hint = "a path is not empty", `write "." for the whole workspace`
		case strings.HasPrefix(v, "$"), strings.HasPrefix(v, "{{"):
			why, hint = "a path has no variables, and %q begins with one", "write it out; ~/ is the home directory"
		case strings.HasPrefix(v, "~") && v != "~" && !strings.HasPrefix(v, "~/"):
			why, hint = "%q is no path of this user", "write ~/ and the path from the home directory, or an absolute path"
		case strings.ContainsAny(v, "*?[{\x00"):
			why, hint = "sandbox.write takes paths, and %q is a pattern", "name the directory; all below it may be written then"
		case slices.Contains(strings.Split(v, "/"), ".."):
			why, hint = "%q leads through \"..\"", "write an absolute path, or one from the top of the workspace or from ~/"
		default:
			continue
		}
		if strings.Contains(why, "%q") {
			list.Report(diag.BadGlob, t.Span(), why, t.Value).Hintf("%s", hint)
		} else {
			list.Report(diag.BadGlob, t.Span(), "%s", why).Hintf("%s", hint)
		}
	}
}

// Confinement is what all phases in which an agent may work have in common.
type Confinement struct {
	Protect []string // globs that none of them may write
	Dirs    []string // the directories that such a glob covers as a whole, from the top of the workspace; "." is all
	Commits bool     // one of them may commit
}

// Confinement says what can be kept from the process of an agent, which may serve several phases.
func (g *Graph) Confinement(agent int) Confinement {
	var out Confinement
	first := true
	for i := range g.Phases {
		ph := &g.Phases[i]
		if ph.Work() != AgentWork || !g.worksIn(agent, ph) {
			continue
		}
		var globs []string
		if g.onlyReviews(agent, ph) {
			globs = append(globs, "**")
		} else {
			out.Commits = out.Commits || ph.Commits
		}
		for _, r := range ph.Boundary.Protect {
			if !slices.Contains(globs, r.Glob) {
				globs = append(globs, r.Glob)
			}
		}
		if first {
			out.Protect, first = globs, false
			continue
		}
		out.Protect = slices.DeleteFunc(out.Protect, func(p string) bool { return !slices.Contains(globs, p) })
	}
	for _, p := range out.Protect {
		if dir, ok := wholeDir(p); ok && !slices.Contains(out.Dirs, dir) {
			out.Dirs = append(out.Dirs, dir)
		}
	}
	return out
}

// worksIn says whether the process of an agent may come to work in a phase.
func (g *Graph) worksIn(agent int, ph *Phase) bool {
	return g.sameSession(agent, g.WorkersOf(ph.ID))
}

// onlyReviews says that an agent comes to a phase to judge it, and so may write nothing there.
func (g *Graph) onlyReviews(agent int, ph *Phase) bool {
	return !g.sameSession(agent, g.AndFallbacks(ph.Agent))
}

func (g *Graph) sameSession(agent int, among []int) bool {
	return slices.ContainsFunc(among, func(a int) bool { return g.Agents[a].Session == g.Agents[agent].Session })
}

// wholeDir is the directory all of which a pattern covers.
func wholeDir(pattern string) (string, bool) {
	dir := pattern
	for _, end := range []string{"/**/*", "/**", "/"} {
		if d, ok := strings.CutSuffix(pattern, end); ok {
			dir = d
			break
		}
	}
	switch {
	case pattern == "**" || pattern == "**/*":
		return ".", true
	case dir == pattern || !literal(dir):
		return "", false
	}
	return path.Clean(dir), true
}
