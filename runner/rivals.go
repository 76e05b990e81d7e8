package runner

import (
	"slices"

	"foundry/graph"
)

// This file says which phases may not overlap although nothing orders them. In one workspace there is one writer, or
// many readers. What is compared with the tree from before it cannot share it with commands that may write without
// having declared it: nobody could tell whose change is whose. Phases with worktrees of their own overlap with each other
// alone: nothing else is at work while their work comes in. Two phases of one session take turns.

// use is how a phase uses the workspace, as a set.
type use uint8

const (
	alone    use = 1 << iota // it writes, may be put back, or judges the tree by a command
	compared                 // its changes are looked at
	loose                    // a command that declares nothing
	aside                    // it works in a worktree of its own
)

// clash says whether two phases with these uses may not overlap.
func (a use) clash(b use) bool {
	if (a|b)&aside != 0 {
		return a != 0 && b != 0 && a != b
	}
	return a != 0 && b != 0 && ((a|b)&alone != 0 || a&compared != 0 && b&loose != 0 || a&loose != 0 && b&compared != 0)
}

// useOf is a phase's use; that of a call is all that it runs.
func (p *plan) useOf(g *graph.Graph, id graph.PhaseID) use {
	ph := &g.Phases[id]
	if ph.Apart {
		return aside
	}
	if ph.Writer || ph.Optional {
		return alone
	}
	for _, gate := range ph.Gates {
		if gate.Command != nil {
			return alone
		}
	}
	switch ph.Work() {
	case graph.AgentWork, graph.Status:
		return compared
	case graph.Code:
		if ph.Declared || len(ph.Gates) > 0 || p.looked.Has(id) {
			return compared
		}
		return loose
	case graph.Commit:
		return alone
	case graph.Calls:
		if ph.Each != nil {
			return useOfPipeline(ph.Each.Callee)
		}
		var all use
		for _, inner := range p.inner[id] {
			all |= p.useOf(g, inner)
		}
		if len(ph.Call.Criteria) > 0 {
			all |= loose
		}
		return all.together()
	}
	return 0
}

// useOfPipeline is the use of a pipeline that is not in the graph yet.
func useOfPipeline(g *graph.Graph) use {
	var all use
	p := newPlan(g)
	for i := range g.Phases {
		all |= p.useOf(g, graph.PhaseID(i))
	}
	if len(g.Criteria) > 0 {
		all |= loose
	}
	return all.together()
}

// together is the use of a pipeline as one phase: what works aside in it comes in while it is under way.
func (a use) together() use {
	if a&aside != 0 {
		return a&^aside | alone
	}
	return a
}

// findRivals fills in who may not overlap with whom.
func (p *plan) findRivals(g *graph.Graph) {
	uses := p.uses
	var kinds [16][]graph.PhaseID // by use, so that phases that nothing keeps apart are not looked at in pairs
	for i := range g.Phases {
		id := graph.PhaseID(i)
		if g.Phases[i].Kind != graph.Ask && !g.Phases[i].Gone {
			uses[i] = p.useOf(g, id)
			kinds[uses[i]] = append(kinds[uses[i]], id)
		}
	}
	sessions := map[int][]graph.PhaseID{}
	for i := range g.Phases {
		if g.Phases[i].Kind == graph.AgentWork && !g.Phases[i].Gone {
			for _, s := range sessionsOf(g, graph.PhaseID(i)) {
				sessions[s] = append(sessions[s], graph.PhaseID(i))
			}
		}
	}
	unordered := func(a, b graph.PhaseID) bool {
		return a != b && g.Phases[a].Owner == g.Phases[b].Owner && !isOver(g, b, a) && !isOver(g, a, b)
	}
	for i := range g.Phases {
		a := graph.PhaseID(i)
		add := func(b graph.PhaseID) {
			if unordered(a, b) {
				p.rivals[a] = append(p.rivals[a], b)
			}
		}
		for other, list := range kinds {
			if uses[a].clash(use(other)) {
				for _, b := range list {
					add(b)
				}
			}
		}
		if uses[a] == aside {
			for _, b := range kinds[aside] {
				if unordered(a, b) {
					p.peers[a] = append(p.peers[a], b)
				}
			}
		}
		if g.Phases[i].Kind != graph.AgentWork {
			continue
		}
		for _, s := range sessionsOf(g, a) {
			for _, b := range sessions[s] {
				if !uses[a].clash(uses[b]) && !slices.Contains(p.rivals[a], b) {
					add(b)
				}
			}
		}
	}
}

// isOver says whether a phase is over, or cannot run, whenever another one is at work. A detour starts as soon as none of the
// phases that route to it can run any more, and so beside what some of these still wait for.
func isOver(g *graph.Graph, p, during graph.PhaseID) bool {
	d := &g.Phases[during]
	if !d.Detour || !d.Before.Has(p) || slices.Contains(d.Routers, p) {
		return d.Before.Has(p)
	}
	return !slices.ContainsFunc(d.Routers, func(r graph.PhaseID) bool { return !g.Phases[r].Before.Has(p) })
}

// sessionsOf are the sessions that an agent phase works in and that others may want: its agent's and its
// reviewer's, unless each of its visits has one to itself.
func sessionsOf(g *graph.Graph, p graph.PhaseID) []int {
	ph := &g.Phases[p]
	var out []int
	if !ph.OwnSession(false) {
		out = append(out, g.Agents[ph.Agent].Session)
	}
	if ph.Review != nil && !ph.OwnSession(true) && !slices.Contains(out, g.Agents[ph.Review.Agent].Session) {
		out = append(out, g.Agents[ph.Review.Agent].Session)
	}
	return out
}
