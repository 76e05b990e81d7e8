package cli

import (
	"os"
	"slices"
	"strings"

	"foundry/graph"
	"foundry/internal/drive"
	"foundry/internal/process"
	"foundry/internal/workspace"
	"foundry/runner"
)

// This file looks at the sandboxes of agents for a run that is about to start, and says for doctor what they hold.

// ground is where the agents of a run to come would work.
func ground(repo *workspace.Repo, g *graph.Graph) drive.Ground {
	return drive.Ground{Top: repo.Root(), Isolated: g.Isolation != graph.Checkout, Root: repo.Root(), Home: repo.Home(), Common: repo.CommonDir(), Env: process.Environ(os.Environ())}
}

// preflight looks for what would keep a run from being carried out.
func preflight(pl *place, g *graph.Graph, info *runner.RunInfo) drive.Problems {
	return append(drive.Preflight(g, *info, pl.repo.Root()), drive.SandboxProblems(g, ground(pl.repo, g), process.CanConfine)...)
}

// sandbox says what an agent may write, or why nothing keeps it from writing more.
func (d *doctor) sandbox(g *graph.Graph, i int) {
	a := &g.Agents[i]
	if a.Sandbox == nil || d.repo == nil {
		return
	}
	check := "sandbox of " + a.Name
	at := ground(d.repo, g)
	problems := drive.SandboxProblems(g, at, process.CanConfine, i)
	for _, p := range problems {
		d.problem(check, p.Fix, "%s", p.Text)
	}
	if len(problems) > 0 {
		return
	}
	s, err := drive.SandboxOf(g, i, at)
	if err != nil {
		d.problem(check, "see the message", "%v", err)
		return
	}
	d.ok(check, "%s", mayWrite(a, &s, at.Isolated))
}

// mayWrite is all that a sandbox grants, in words and paths.
func mayWrite(a *graph.Agent, s *drive.Sandbox, isolated bool) string {
	where := "the worktree"
	if !isolated {
		where = "the checkout"
	}
	switch {
	case slices.Contains(s.Kept, "."):
		where = "of " + where + " nothing but .foundry-handoff"
	case !s.Whole:
		narrow := slices.Clone(s.Narrow)
		for i := range narrow {
			if narrow[i] == "." {
				narrow[i] = "its top"
			}
		}
		where += " without " + strings.Join(s.Kept, ", ") + " (and nothing new directly in " + strings.Join(narrow, ", ") + ")"
	}
	parts := []string{where}
	for _, w := range a.Sandbox.Write {
		if !s.Whole && !drive.OutsideWorkspace(w) {
			parts = append(parts, w)
		}
	}
	if isolated {
		parts = append(parts, "the worktree's index")
	}
	for _, r := range s.Outside {
		if r.What != "device" {
			parts = append(parts, r.Path)
		}
	}
	text := "may write " + strings.Join(parts, ", ")
	if len(s.Checked) > 0 {
		text += "; left to the check after each turn: " + strings.Join(s.Checked, ", ")
	}
	return text
}
