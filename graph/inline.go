package graph

import (
	"slices"

	"foundry/glob"
)

// This file puts the phases of called pipelines into the graph, each behind the phase that calls it. What belongs
// together stays together: a phase of a called pipeline only lies before and after phases of that pipeline, and
// its texts name what they named there. Agents come along under indexes of their own, since their texts may name
// params of their pipeline; the same agent shares one session wherever it works.

// inline is the last pass, over a graph without errors.
func (c *compiler) inline() {
	for id, callee := range c.calls {
		if each := c.g.Phases[id].Each; each != nil {
			each.Callee = callee.g
		}
	}
	if len(c.calls) == 0 {
		return
	}
	g := c.g
	in := inliner{total: len(g.Phases) + c.called, at: make([]PhaseID, len(g.Phases))}
	next := PhaseID(0)
	for i := range g.Phases {
		in.at[i] = next
		next++
		if callee := c.calls[PhaseID(i)]; callee != nil && g.Phases[i].Each == nil {
			next += PhaseID(len(callee.g.Phases))
		}
	}
	visits := g.Bound.Visits
	in.agents = g.Agents
	for i := range g.Phases {
		ph := g.Phases[i]
		in.add(ph, func(id PhaseID) PhaseID { return in.at[id] }, 0, g.RulesOf(ph.ID), visits[i])
		if callee := c.calls[ph.ID]; callee != nil && ph.Each == nil {
			in.call(&in.phases[len(in.phases)-1], &ph, callee.g, visits[i], "")
		}
	}
	for i := range g.Own {
		g.Own[i] = in.at[g.Own[i]]
	}
	g.Phases, g.Rules, g.Agents, g.Bound.Visits = in.phases, in.rules, in.agents, in.visits
}

// inliner is the graph that comes of it.
type inliner struct {
	total  int
	at     []PhaseID // the new ids of the pipeline's own phases
	phases []Phase
	rules  []Rule
	agents []Agent
	visits []int
}

// add appends a phase and its rules under new ids; agents is how far its agents have moved.
func (in *inliner) add(ph Phase, moved func(PhaseID) PhaseID, agents int, rules []Rule, visits int) {
	set := func(old Set) Set {
		out := NewSet(in.total)
		for id := range old.All {
			out.Add(moved(id))
		}
		return out
	}
	list := func(old []PhaseID) []PhaseID {
		out := slices.Clone(old)
		for i := range out {
			out[i] = moved(out[i])
		}
		return out
	}
	ph.ID = moved(ph.ID)
	if ph.Owner >= 0 {
		ph.Owner = moved(ph.Owner)
	}
	ph.Before, ph.After, ph.Needs, ph.Routers = set(ph.Before), set(ph.After), list(ph.Needs), list(ph.Routers)
	ph.Inputs = slices.Clone(ph.Inputs)
	for i := range ph.Inputs {
		if ph.Inputs[i].Phase >= 0 {
			ph.Inputs[i].Phase = moved(ph.Inputs[i].Phase)
		}
	}
	if ph.Agent >= 0 {
		ph.Agent += agents
	}
	if ph.Review != nil {
		review := *ph.Review
		review.Agent += agents
		ph.Review = &review
	}
	if ph.Call != nil {
		call := *ph.Call
		call.Own, call.Last = list(call.Own), moved(call.Last)
		ph.Call = &call
	}
	if ph.Each != nil {
		each := *ph.Each
		if each.Maker >= 0 {
			each.Maker = moved(each.Maker)
		}
		ph.Each = &each
	}
	ph.First = RuleID(len(in.rules))
	for _, r := range rules {
		r.ID, r.Phase = RuleID(len(in.rules)), ph.ID
		if r.Target >= 0 {
			r.Target = moved(r.Target)
		}
		in.rules = append(in.rules, r)
	}
	in.phases, in.visits = append(in.phases, ph), append(in.visits, visits)
}

// call appends the phases of a called pipeline behind the call. lane is the item for which the call is made, "" when
// there is none: it has sessions of its own.
func (in *inliner) call(to, call *Phase, g *Graph, visits int, lane string) {
	first, agents := to.ID+1, len(in.agents)
	moved := func(id PhaseID) PhaseID { return first + id }
	body := g.Body
	body.Own = slices.Clone(body.Own)
	for i := range body.Own {
		body.Own[i] = moved(body.Own[i])
	}
	body.Protect = append(slices.Clip(body.Protect), call.Boundary.Protect...)
	to.Call = &Call{Body: body, Set: call.Call.Set, Fingerprint: call.Call.Fingerprint, Last: to.ID + PhaseID(len(g.Phases))}
	settings := newDigest()
	for _, s := range call.Call.Set {
		settings.text(s.Name)
		settings.template(s.Value)
	}
	for _, l := range call.Boundary.Writes {
		settings.texts(l.Globs)
	}
	given, owner, name := settings.sum(), to.ID, to.Name
	for _, a := range g.Agents {
		a.Fallback = slices.Clone(a.Fallback)
		for i := range a.Fallback {
			a.Fallback[i] += agents
		}
		a.Session += agents
		a.Lane = lane
		if i := slices.IndexFunc(in.agents, func(o Agent) bool { return o.Name == a.Name && o.Lane == lane }); i >= 0 {
			a.Session = in.agents[i].Session
		}
		in.agents = append(in.agents, a)
	}
	for i := range g.Phases {
		in.add(g.Phases[i], moved, agents, g.RulesOf(PhaseID(i)), times(visits, g.Bound.Visits[i]))
		ph := &in.phases[len(in.phases)-1]
		ph.Name = name + "/" + ph.Name
		if ph.Owner < 0 {
			ph.Owner = owner
		}
		narrow(ph, &call.Boundary)
		d := newDigest()
		d.text(given, ph.Fingerprint)
		ph.Fingerprint = d.sum()
	}
}

// narrow lays the boundary of a call over that of a phase that it runs.
func narrow(ph *Phase, call *glob.Boundary) {
	for _, r := range call.Protect {
		if !slices.Contains(ph.Boundary.Protect, r) {
			ph.Boundary.Protect = append(slices.Clip(ph.Boundary.Protect), r)
		}
	}
	if len(call.Writes) == 0 {
		return
	}
	ph.Boundary.Writes = append(slices.Clip(ph.Boundary.Writes), call.Writes...)
	switch ph.Work() {
	case AgentWork, Code:
		ph.Declared, ph.NeedsTree, ph.Writer = true, ph.NeedsTree || ph.Each == nil, !ph.Boundary.ReadOnly()
	case Calls:
		ph.Declared, ph.Writer = true, ph.Writer && !ph.Boundary.ReadOnly()
	}
}
