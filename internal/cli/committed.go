package cli

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"foundry/graph"
	"foundry/internal/drive"
	"foundry/internal/workspace"
)

// A run's worktree holds what is committed. An agent's program that lies in the checkout alone is found there
// by every check, and missing, or an older one, where it is started. This file looks for that.

// uncommitted is a file of the repository that starts an agent and is not in the commit that a run begins at
// as it is in the checkout.
type uncommitted struct {
	agent string
	path  string // from the top of the repository
	known bool   // an older one is in the commit
	first bool   // it is the program itself, not an argument of it
}

func (u uncommitted) String() string {
	if u.known {
		return u.path + " differs from the committed one, and a run's worktree has the committed one"
	}
	return u.path + " is not committed, so a run's worktree does not have it"
}

func (u uncommitted) fix() string { return "git add " + u.path + " && git commit" }

// hopeless says that the program cannot be started: it is not in the commit at all, and nothing makes or brings
// it when the worktree is made.
func (u uncommitted) hopeless(g *graph.Graph) bool {
	return u.first && !u.known && len(g.Project.Setup)+len(g.Project.Copy)+len(g.Project.Link) == 0
}

// uncommittedPrograms lists them for the agents of a graph. What git ignores is for worktree.copy and the
// like, and not looked at. dirty is asked for what is not committed when there is reason to.
func (s *session) uncommittedPrograms(repo *workspace.Repo, g *graph.Graph, commit string, dirty func() ([]string, error)) []uncommitted {
	var out []uncommitted
	g = g.Sampled()
	for i := range g.Agents {
		a := &g.Agents[i]
		for n, word := range a.Argv {
			name := path.Clean(filepath.ToSlash(word))
			if n == 0 && !strings.Contains(word, "/") || !filepath.IsLocal(name) || name == "." {
				continue
			}
			u := uncommitted{agent: a.Name, path: name, first: n == 0}
			if !slices.ContainsFunc(out, func(o uncommitted) bool { return o.path == name }) {
				out = append(out, u)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	changed, err := dirty()
	if err != nil {
		return nil // the run itself says what is wrong with git
	}
	out = slices.DeleteFunc(out, func(u uncommitted) bool {
		_, err := os.Stat(filepath.Join(repo.Root(), u.path))
		return err != nil || !slices.Contains(changed, u.path) // what is not there is said where programs are looked for
	})
	for i := range out {
		_, err := repo.FileAt(s.ctx, commit, out[i].path)
		out[i].known = err == nil
	}
	return out
}

// committed compares what starts the agents with the commit that the run begins at.
func (s *session) committed(pl *place, g *graph.Graph, commit string) drive.Problems {
	if g.Isolation == graph.Checkout {
		return nil
	}
	var out drive.Problems
	dirty := func() ([]string, error) { return pl.repo.Dirty(s.ctx) }
	for _, u := range s.uncommittedPrograms(pl.repo, g, commit, dirty) {
		if text := fmt.Sprintf("agent %s: %s", u.agent, u); u.hopeless(g) {
			out = append(out, drive.Problem{Text: text, Fix: "`" + u.fix() + "`"})
		} else {
			s.note("foundry: %s", text)
		}
	}
	return out
}
