package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// This file puts the items of a list into the graph. What is in a graph keeps its id for good: the items of a phase
// come behind everything else, a second list takes those of the first that are in both as they are, and what it lacks
// stays as a phase that is gone. So whoever holds ids of phases, rules or agents may go on with them.

// Grow is the graph in which a phase that is repeated has these items, which Each.Read has made. The graph that it is
// given stays as it is.
func Grow(g *Graph, p PhaseID, items []Item) *Graph { return grown(g, p, items, false) }

// grown is Grow. A sample stands for any item, and so has all that is kept for some.
func grown(g *Graph, p PhaseID, items []Item, sample bool) *Graph {
	if g.Phases[p].Each == nil {
		panic("BUG: " + g.Phases[p].Name + " is not repeated over a list")
	}
	out := *g
	gr := grower{inliner: inliner{phases: slices.Clone(g.Phases), rules: slices.Clip(g.Rules), agents: slices.Clip(g.Agents), visits: slices.Clip(g.Bound.Visits)}, p: p, sample: sample}
	gr.total = gr.size(items)
	if gr.total > len(g.Phases) {
		gr.widen()
	}
	each := *g.Phases[p].Each
	each.Items, each.Own = items, nil
	gr.phases[p].Each = &each
	gr.take(items)
	out.Phases, out.Rules, out.Agents, out.Bound.Visits = gr.phases, gr.rules, gr.agents, gr.visits
	return &out
}

// grower is a graph that grows.
type grower struct {
	inliner
	p      PhaseID // the phase whose items these are
	sample bool
	at     map[string]PhaseID // the items by key, those of earlier lists too
}

// size is how many phases there will be, and finds the items that are there.
func (gr *grower) size(items []Item) int {
	gr.at = map[string]PhaseID{}
	for i := range gr.phases {
		if ph := &gr.phases[i]; ph.Owner == gr.p {
			gr.at[ph.Item.Key] = ph.ID
		}
	}
	n := len(gr.phases)
	for _, it := range items {
		if _, known := gr.at[it.Key]; !known {
			n++
			if callee := gr.phases[gr.p].Each.Callee; callee != nil {
				n += len(callee.Phases)
			}
		}
	}
	return n
}

// widen gives all sets room for the phases to come.
func (gr *grower) widen() {
	for i := range gr.phases {
		ph := &gr.phases[i]
		ph.Before, ph.After = ph.Before.Widened(gr.total), ph.After.Widened(gr.total)
	}
}

// take makes the items the body of the phase.
func (gr *grower) take(items []Item) {
	each := gr.phases[gr.p].Each
	ids := map[string]PhaseID{}
	next := PhaseID(len(gr.phases))
	for _, it := range items {
		id, known := gr.at[it.Key]
		if !known {
			id = next
			if next++; each.Callee != nil {
				next += PhaseID(len(each.Callee.Phases))
			}
		}
		ids[it.Key] = id
		each.Own = append(each.Own, id)
	}
	for key, id := range maps.All(gr.at) {
		if _, stays := ids[key]; !stays {
			gr.leave(id)
		}
	}
	for i := range items {
		gr.item(&items[i], ids)
	}
	for _, id := range slices.Backward(each.Own) {
		for b := range gr.phases[id].Before.All {
			gr.phases[b].After.Add(id)
		}
	}
}

// leave makes an item of an earlier list, and what it calls, one that is gone.
func (gr *grower) leave(id PhaseID) {
	gr.setGone(id, true)
	ph := &gr.phases[id]
	ph.Needs, ph.Before, ph.After = nil, NewSet(gr.total), NewSet(gr.total)
}

// setGone says of an item and of all that it runs whether the list still has it.
func (gr *grower) setGone(id PhaseID, gone bool) {
	for i := range gr.phases {
		for p := PhaseID(i); p >= 0; p = gr.phases[p].Owner {
			if p == id {
				gr.phases[i].Gone = gone
				break
			}
		}
	}
}

// item puts one item into the graph, or brings one that is there up to date.
func (gr *grower) item(it *Item, ids map[string]PhaseID) {
	of := gr.phases[gr.p]
	each := of.Each
	id := ids[it.Key]
	ph := of
	ph.ID, ph.Owner, ph.Each, ph.Item, ph.Kind = id, gr.p, nil, it, each.Kind
	ph.Name, ph.Local = fmt.Sprintf("%s[%s]", of.Name, it.Key), fmt.Sprintf("%s[%s]", of.Local, it.Key)
	ph.Description = it.Title
	ph.Apart = each.Apart
	ph.Detour, ph.Optional, ph.Named, ph.When, ph.Routers = false, false, false, nil, nil
	ph.Needs, ph.Before, ph.After = nil, NewSet(gr.total), NewSet(gr.total)
	for _, need := range it.Needs {
		ph.Needs = append(ph.Needs, ids[need])
		ph.Before.Union(gr.phases[ids[need]].Before)
		ph.Before.Add(ids[need])
	}
	ph.Boundary = each.withGlobs(of.Boundary, it.Writes)
	ph.NeedsTree = ph.Kind == AgentWork || ph.Kind == Code && ph.Declared
	switch ph.Kind {
	case AgentWork:
		ph.Writer = !ph.Boundary.ReadOnly()
	case Code:
		ph.Writer = ph.Declared && !ph.Boundary.ReadOnly()
	case Calls:
		ph.Writer = of.Writer && !ph.Boundary.ReadOnly()
	}
	d := newDigest()
	d.item(of.Fingerprint, it)
	ph.Fingerprint = d.sum()
	if int(id) < len(gr.phases) {
		gr.again(&ph)
		return
	}
	gr.model(&ph, it)
	if ph.Agent >= 0 {
		ph.Agent = gr.agent(ph.Agent, &ph)
	}
	if ph.Review != nil {
		review := *ph.Review
		review.Agent = gr.agent(review.Agent, &ph)
		ph.Review = &review
	}
	visits := times(gr.visits[gr.p], each.itemVisits()/max(each.Limit, 1))
	gr.phases, gr.visits = append(gr.phases, ph), append(gr.visits, visits)
	to := &gr.phases[len(gr.phases)-1]
	to.First, to.Count = RuleID(len(gr.rules)), len(each.Rules)
	for _, r := range each.Rules {
		r.ID, r.Phase, r.Target = RuleID(len(gr.rules)), id, id
		gr.rules = append(gr.rules, r)
	}
	if each.Callee != nil {
		call := ph
		call.Call = each.Call
		to.Call = &Call{Set: each.Call.Set, Fingerprint: each.Call.Fingerprint, Last: id}
		gr.inliner.call(to, &call, each.Callee, visits, to.Name)
	}
}

// again brings an item of an earlier list up to date. What it calls is as it was.
func (gr *grower) again(ph *Phase) {
	old := gr.phases[ph.ID]
	gr.model(ph, ph.Item)
	ph.Agent, ph.Review, ph.First, ph.Count, ph.Call = old.Agent, old.Review, old.First, old.Count, old.Call
	gr.setGone(ph.ID, false)
	gr.phases[ph.ID] = *ph
}

// model is the one that the complexity of an item asks for, where its agent has it.
func (gr *grower) model(ph *Phase, it *Item) {
	if of := gr.phases[gr.p]; of.Agent >= 0 {
		a := &gr.agents[of.Agent]
		if it.Weight == light && a.Light != "" || it.Weight == heavy && a.Heavy != "" {
			ph.Model = it.Weight
		}
	}
}

// agent gives an item an agent of its own, like one that is there: its session is nobody else's. The fallbacks come
// along.
func (gr *grower) agent(like int, ph *Phase) int {
	a := gr.agents[like]
	at := slices.IndexFunc(gr.agents, func(o Agent) bool { return o.Name == a.Name && o.Lane == ph.Name })
	if at >= 0 {
		return at
	}
	at = len(gr.agents)
	a.Session, a.Lane = at, ph.Name
	if !gr.sample {
		a.Script = turnsFor(a.Script, ph.Item.Key)
	}
	gr.agents = append(gr.agents, a)
	var fallback []int
	for _, f := range a.Fallback {
		fallback = append(fallback, gr.agent(f, ph))
	}
	gr.agents[at].Fallback = fallback
	return at
}

// turnsFor are the turns of a script that are kept for an item, else those that are kept for none.
func turnsFor(script []ScriptTurn, key string) []ScriptTurn {
	of := func(item string) []ScriptTurn {
		return slices.DeleteFunc(slices.Clone(script), func(t ScriptTurn) bool { return t.Item != item })
	}
	if kept := of(key); len(kept) > 0 {
		return kept
	}
	return of("")
}

// Lane is the name of the item that a phase is or belongs to, the innermost one; "" when there is none.
func (g *Graph) Lane(p PhaseID) string {
	for ; p >= 0; p = g.Phases[p].Owner {
		if g.Phases[p].Item != nil {
			return g.Phases[p].Name
		}
	}
	return ""
}

// Order lists the phases as people read them: those of a pipeline in their order, each with what it runs right
// behind it. What is gone comes last of its kind.
func (g *Graph) Order() []PhaseID {
	grown := false
	out := make([]PhaseID, len(g.Phases))
	for i := range g.Phases {
		out[i], grown = PhaseID(i), grown || g.Phases[i].Item != nil
	}
	if !grown { // everything stands where it is listed
		return out
	}
	inner := map[PhaseID][]PhaseID{}
	for i := range g.Phases {
		owner := g.Phases[i].Owner
		inner[owner] = append(inner[owner], PhaseID(i))
	}
	for owner, list := range inner {
		if owner >= 0 && g.Phases[owner].Each != nil {
			own := g.Phases[owner].Each.Own
			gone := slices.DeleteFunc(list, func(p PhaseID) bool { return slices.Contains(own, p) })
			inner[owner] = append(slices.Clone(own), gone...)
		}
	}
	out = out[:0]
	var list func(owner PhaseID)
	list = func(owner PhaseID) {
		for _, p := range inner[owner] {
			out = append(out, p)
			list(p)
		}
	}
	list(-1)
	return out
}

// Sampled is a graph in which each list has one item, for those who look, before a run, at all that one may need.
func (g *Graph) Sampled() *Graph {
	for i := 0; i < len(g.Phases); i++ {
		if e := g.Phases[i].Each; e != nil && e.Items == nil {
			g = grown(g, PhaseID(i), []Item{{Key: "item"}}, true)
		}
	}
	return g
}

// Expect finds a phase that the graph has, or will have once a list is read: an item, or a phase that one calls, with
// or without keys. It is then a copy of what is known of it, under the given name and without an id; of a phase
// that an item calls the agent is not known either.
func (g *Graph) Expect(name string) (*Phase, bool) {
	if id, ok := g.Lookup(name); ok {
		return &g.Phases[id], true
	}
	for i := range g.Phases {
		of := &g.Phases[i]
		rest, ok := strings.CutPrefix(name, of.Name)
		if of.Each == nil || !ok || rest == "" {
			continue
		}
		if one, ok := of.called(name, rest); ok {
			return one, true
		}
		if isKey(rest) {
			one := *of
			one.ID, one.Kind, one.Each, one.Call, one.Name, one.Apart = -1, of.Each.Kind, nil, of.Each.Call, name, of.Each.Apart
			return &one, true
		}
	}
	return nil, false
}

// called finds a phase of the pipeline that the items of a phase call. rest is what its name has behind that of the
// phase: a key may stand before the slash, and hold whatever a name holds.
func (ph *Phase) called(name, rest string) (*Phase, bool) {
	if ph.Each.Callee == nil {
		return nil, false
	}
	for at := range len(rest) {
		if rest[at] != '/' || at > 0 && !isKey(rest[:at]) {
			continue
		}
		if found, ok := ph.Each.Callee.Expect(rest[at+1:]); ok {
			one := *found
			one.ID, one.Owner, one.Agent, one.Name = -1, -1, -1, name
			return &one, true
		}
	}
	return nil, false
}

// isKey says whether a part of a name is a key in its brackets.
func isKey(part string) bool {
	return len(part) > 2 && part[0] == '[' && part[len(part)-1] == ']'
}

// Repeats finds the phase that a name which the graph does not have, or one of its own, is an item of. It is nil of
// what is no item, and of an item in what another item calls.
func (g *Graph) Repeats(name string) *Phase {
	for i := range g.Phases {
		of := &g.Phases[i]
		rest, ok := strings.CutPrefix(name, of.Name)
		if of.Each == nil || !ok || !isKey(rest) {
			continue
		}
		if _, inner := of.called(name, rest); !inner {
			return of
		}
	}
	return nil
}

// Regrow is a graph with the items that another one has in the phases of the same name, as far as a phase says the
// same in both: what its list was made of is known already.
func Regrow(was, now *Graph) *Graph {
	for _, p := range was.Order() {
		ph := &was.Phases[p]
		if ph.Each == nil || ph.Each.Items == nil || ph.Gone {
			continue
		}
		if id, ok := now.Lookup(ph.Name); ok && now.Phases[id].Each != nil && len(was.PhaseKeys(p, now, id)) == 0 {
			now = Grow(now, id, ph.Each.Items)
		}
	}
	return now
}
