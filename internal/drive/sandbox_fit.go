package drive

import (
	"fmt"
	"os"
	"strings"

	"foundry/graph"
	"foundry/internal/harness"
)

// This file says, before anything is spent, which sandboxes could not be kept. One that cannot is refused: an agent
// that was meant to be kept from writing never runs without that.

// SandboxProblems says which sandboxes of a graph's agents cannot be kept; of all that it can reach when none is named.
// can is process.CanConfine: why this system cannot confine programs, nil when it can.
func SandboxProblems(g *graph.Graph, at Ground, can func() error, agents ...int) Problems {
	if len(agents) == 0 {
		agents = usedAgents(g)
	}
	at.Top = resolved(at.Top)
	var out Problems
	var names []string
	for _, i := range agents {
		a := &g.Agents[i]
		if a.Sandbox == nil {
			continue
		}
		names = append(names, a.Name)
		info, _ := harness.Find(a.Harness)
		if info.NoSandbox != "" {
			out = append(out, Problem{Text: fmt.Sprintf("agent %s: harness %s cannot run in a sandbox: %s", a.Name, a.Harness, info.NoSandbox), Fix: "take `sandbox` out, or use another harness"})
		}
		if !at.Isolated && g.Confinement(i).Commits {
			out = append(out, Problem{Text: fmt.Sprintf("agent %s may commit, and without isolation its sandbox cannot open the repository for that", a.Name),
				Fix: "take out `commits: allow` or `sandbox`, or let the run have a worktree"})
		}
		for _, w := range a.Sandbox.Write {
			if !OutsideWorkspace(w) {
				continue
			}
			p := writePath(w, at)
			_, err := os.Stat(p)
			switch {
			case p == "":
				out = append(out, Problem{Text: fmt.Sprintf("agent %s: sandbox.write names %s, and HOME is not set", a.Name, w), Fix: "set HOME, or write the path out"})
			case err != nil:
				out = append(out, Problem{Text: fmt.Sprintf("agent %s: sandbox.write names %s, which cannot be looked at: %v", a.Name, w, err), Fix: "mkdir -p " + p + ", or take it out"})
			case holdsRepository(p, at):
				out = append(out, Problem{Text: fmt.Sprintf("agent %s: sandbox.write names %s, which holds the repository with its hooks and the records of runs", a.Name, w), Fix: "name the directories beside the repository that are needed"})
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	if err := can(); err != nil {
		who := "agent "
		if len(names) > 1 {
			who = "agents "
		}
		out = append(Problems{{Text: who + strings.Join(names, ", ") + ": a sandbox cannot be had here: " + err.Error(),
			Fix: "use Linux 6.2 or newer with Landlock switched on, or take `sandbox` out; the boundary is checked either way"}}, out...)
	}
	return out
}
