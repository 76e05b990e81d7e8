package drive

import (
	"fmt"
	"slices"
	"strings"

	"foundry/graph"
	"foundry/internal/harness"
)

// This file says, before anything is spent, which agents could not do what the pipeline needs of them. What a harness
// can do stands in its table; a need that it cannot meet is refused and never passed over.

// agentProblems asks each harness that the graph can reach whether it could start and do what is asked of it. Agents
// that share a program share the problem. file is the pipeline file's name.
func agentProblems(g *graph.Graph, root, file string) Problems {
	var out Problems
	if file == "" {
		file = "the pipeline file"
	}
	var errs []Problem
	unfit := map[Problem][]string{} // the agents that a program's error stands for
	for _, i := range usedAgents(g) {
		agent := &g.Agents[i]
		if agent.Harness == "" {
			out = append(out, Problem{Text: fmt.Sprintf("agent %s has no harness", agent.Name),
				Fix: "set project.harness, or agents." + agent.Name + ".harness: `harness: command` with `argv: [./agent.sh]` runs any program; `foundry init` writes it for you"})
			continue
		}
		info, ok := harness.Find(agent.Harness)
		h, err := harness.Named(agent.Harness)
		if !ok || err != nil {
			out = append(out, Problem{Text: fmt.Sprintf("agent %s: %v", agent.Name, err), Fix: "use harness: command with an argv that starts your agent"})
			continue
		}
		out = append(out, unfitFor(g, agent, info)...)
		if err := h.Preflight(harness.Config{Agent: agent.Name, Argv: agent.Argv, Script: scriptOf(agent.Script), Model: agent.Model, Dir: root}); err != nil {
			p := Problem{Text: err.Error(), Fix: InstallFix(info, len(agent.Argv) > 0, file)}
			if unfit[p] == nil {
				errs = append(errs, p)
			}
			unfit[p] = append(unfit[p], agent.Name)
		}
	}
	for _, p := range errs {
		who := "agent "
		if len(unfit[p]) > 1 {
			who = "agents "
		}
		out = append(out, Problem{Text: who + strings.Join(unfit[p], ", ") + ": " + p.Text, Fix: p.Fix})
	}
	return out
}

// usedAgents are the agents that work in a phase of the graph or judge it, and those that they fall back on.
func usedAgents(g *graph.Graph) []int {
	used, named := map[int]bool{}, map[string]bool{}
	use := func(i int) {
		if name := g.Agents[i].Name; g.Agents[i].Lane == "" || !named[name] { // an item's is like the one it was made of
			used[i], named[name] = true, true
		}
	}
	for i := range g.Phases {
		for _, a := range g.WorkersOf(graph.PhaseID(i)) {
			use(a)
		}
	}
	var out []int
	for i := range g.Agents {
		if used[i] {
			out = append(out, i)
		}
	}
	return out
}

// unfitFor lists what the pipeline needs of an agent and its harness cannot do.
func unfitFor(g *graph.Graph, agent *graph.Agent, info harness.Info) Problems {
	var out Problems
	add := func(wrong bool, fix, format string, args ...any) {
		if wrong {
			out = append(out, Problem{Text: fmt.Sprintf(format, args...), Fix: fix})
		}
	}
	add(g.Limits.Cost > 0 && !info.ReportsCost, "use limits.turns or limits.time, or another harness",
		"a cost limit cannot be kept: harness %s of agent %s does not report what it costs", agent.Harness, agent.Name)
	add(g.Limits.Tokens > 0 && info.Silent, "use limits.turns or limits.time, or another harness",
		"a token limit cannot be kept: harness %s of agent %s does not report its tokens", agent.Harness, agent.Name)
	add(len(agent.Allow)+len(agent.Deny) > 0 && !info.KeepsTools, "take `tools` out; what the agent changes is bounded by `writes` and `protect`",
		"agent %s: harness %s cannot keep tools to a list", agent.Name, agent.Harness)
	add(agent.Permissions != "" && agent.Permissions != "deny" && !info.Permits, "take `permissions` out",
		"agent %s: harness %s has no permission requests that %q could answer", agent.Name, agent.Harness, agent.Permissions)
	return out
}

// InstallFix says how a program that cannot be started comes to be there, and which harnesses could be used instead.
// own says that the agent names a program of its own.
func InstallFix(info harness.Info, own bool, file string) string {
	fix := "install the program, or change argv in " + file
	if info.Install != "" && !own {
		fix = "install it: " + info.Install
	}
	here := slices.DeleteFunc(harness.Present(), func(name string) bool { return name == info.Name })
	if len(here) > 0 {
		fix += "; or use a harness whose program is here: " + strings.Join(here, ", ")
	}
	return fix
}
