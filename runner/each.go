package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"foundry/dsl"
	"foundry/envelope"
	"foundry/glob"
	"foundry/graph"
)

// This file repeats phases over lists. When such a phase begins, its list is read and the graph of the run grows by the
// items, which are phases like any other from then on: the phase is to them what a call is to the pipeline that it
// runs. Each visit reads the list anew and begins its items afresh. A list that an agent has reported is judged with
// the report, so that the agent can still be told.

// Graph is the pipeline of a run as it has grown; g is the one that it began with, or was edited to. Whoever has both a
// graph and a state goes by this one: phases, rules and agents of g have the same ids in it.
func (s State) Graph(g *graph.Graph) *graph.Graph {
	if s.grown != nil {
		return s.grown
	}
	return g
}

// enterEach reads the list of a phase and begins its items.
func (m *machine) enterEach(p graph.PhaseID) {
	ph := m.edit(p)
	again := ph.goesOn && ph.call != nil
	f := newFrame(m.g.BodyOf(p))
	ph.goesOn = false
	if again {
		f.jumps = ph.call.jumps
		ph.call = &f
		m.recordItems(p)
		m.setStep(p, stepInner)
		return
	}
	items, problems, err := readList(m.g.Phases[p].Each, m.values(p, nil))
	if n := m.g.Phases[p].Each.Limit; err == nil && len(items) > n {
		err = fmt.Errorf("the list has %d entries, and the limit is %d", len(items), n)
	}
	switch {
	case err != nil:
		m.settle(p, m.resultOf(p, Fail, failed, ReasonExpression, err.Error()))
		return
	case len(problems) > 0:
		m.settle(p, m.resultOf(p, Fail, failed, ReasonExpression, "the list cannot be carried out: "+strings.Join(problems, "; ")))
		return
	}
	m.grow(p, items)
	ph = m.edit(p)
	ph.call = &f
	if len(items) == 0 {
		r := m.resultOf(p, Success, passed, "", nothingToDo)
		r.items = []any{}
		m.settle(p, r)
		return
	}
	m.setStep(p, stepInner)
}

// nothingToDo is what a phase says that passed since its list was empty.
const nothingToDo = "the list is empty: there was nothing to do"

// readList reads the items of a list. The values are those that the phase's own texts see. An error says that there is
// no list; the problems are what is wrong with the entries of the one there is.
func readList(each *graph.Each, v dsl.Values) (items []graph.Item, problems []string, err error) {
	o := each.In.Eval(v)
	if o.Err != nil {
		return nil, nil, fmt.Errorf("the list cannot be read: %w", o.Err)
	}
	list, ok := entries(o.Value)
	if !ok {
		return nil, nil, fmt.Errorf("%s is no list", each.In.Text())
	}
	if items, problems = each.Read(list); len(problems) > 0 {
		return nil, problems, nil
	}
	for i := range items {
		it := &items[i]
		for _, w := range each.Writes {
			own := v
			own.Vars = maps.Clone(v.Vars)
			own.Vars[each.As] = it.Value
			globs, why := patterns(w.Value, own)
			if why != "" {
				problems = append(problems, fmt.Sprintf("%q: what it may write cannot be read from %s: %s", it.Key, w.Value.Text(), why))
			}
			it.Writes = append(it.Writes, globs)
		}
	}
	return items, problems, nil
}

// entries are the entries of a list.
func entries(v any) ([]any, bool) {
	switch list := v.(type) {
	case []any:
		return list, true
	case []string:
		out := make([]any, len(list))
		for i, s := range list {
			out[i] = s
		}
		return out, true
	}
	return nil, false
}

// patterns evaluates an entry of `writes` for one item.
func patterns(c *dsl.Cond, v dsl.Values) (globs []string, why string) {
	o := c.Eval(v)
	if o.Err != nil {
		return nil, o.Err.Error()
	}
	list, ok := entries(o.Value)
	if !ok {
		return nil, "it is no list"
	}
	for _, x := range list {
		s, ok := x.(string)
		if !ok {
			return nil, dsl.Text(x) + " is no path"
		}
		if err := glob.Validate(s); err != nil {
			return nil, err.Error()
		}
		globs = append(globs, s)
	}
	return globs, ""
}

// grow puts the items of a phase into the graph of the run.
func (m *machine) grow(p graph.PhaseID, items []graph.Item) {
	before := len(m.g.Phases)
	m.g = graph.Grow(m.g, p, items)
	m.s.grown = m.g
	m.s.widen(m.g)
	m.owned, m.s.plan = m.owned.Widened(len(m.g.Phases)), newPlan(m.g)
	m.recordItems(p)
	for i := range m.g.Phases {
		id := graph.PhaseID(i)
		if m.g.Phases[i].Gone && m.g.Inside(p, id) && m.s.phases[i].status == Queued {
			m.leaveOut(id, notInList)
		}
	}
	m.inner(p, func(id graph.PhaseID) {
		switch {
		case int(id) >= before:
			ph := m.edit(id)
			ph.visits = m.s.past[m.g.Phases[id].Name]
			ph.base = ph.visits
			e := m.at(id, PhaseQueued)
			e.Visit++
			m.record(e)
		case m.s.phases[id].status != Queued:
			m.fresh(id)
		}
	})
}

// recordItems says which items the list of a phase has come to.
func (m *machine) recordItems(p graph.PhaseID) {
	each := m.g.Phases[p].Each
	e := m.at(p, GraphGrown)
	for i := range each.Items {
		it := &each.Items[i]
		e.Items = append(e.Items, GrownItem{Name: m.g.Phases[each.Own[i]].Name, ID: it.Key, Title: it.Title, Needs: it.Needs, Model: it.Weight})
	}
	m.record(e)
}

// notInList is why an item does not run that a later list does not have.
const notInList = "no longer in the list"

// widen gives a state room for what its graph has more than before.
func (s *State) widen(g *graph.Graph) {
	n := len(g.Phases)
	for _, set := range []*graph.Set{&s.active, &s.closed, &s.blocked, &s.notRun, &s.told, &s.running, &s.due} {
		*set = set.Widened(n)
	}
	for i := len(s.phases); i < n; i++ {
		s.phases = append(s.phases, &phase{status: Queued, pending: -1, toward: -1})
		s.active.Add(graph.PhaseID(i))
	}
	more := len(g.Rules) - len(s.used)
	s.used, s.marks, s.extra = append(s.used, make([]int, more)...), append(s.marks, make([]mark, more)...), append(s.extra, make([]int, more)...)
	for i := len(s.sessions); i < len(g.Agents); i++ {
		s.sessions = append(s.sessions, s.past[sessionName(&g.Agents[i])])
	}
}

// sessionName tells the sessions of a run apart, whatever their indexes.
func sessionName(a *graph.Agent) string { return a.Name + "\x00" + a.Lane }

// verdictOfItems is what the items of a phase have come to: no reason means that the phase has passed. culprit is the
// first item that failed, -1 when there is none.
func (m *machine) verdictOfItems(p graph.PhaseID) (culprit graph.PhaseID, reason, text string) {
	each := m.g.Phases[p].Each
	culprit = -1
	good, bad := 0, 0
	for _, id := range each.Own {
		switch m.s.phases[id].status {
		case Success, Unverified:
			good++
			continue
		case Fail, Rejected:
			if culprit < 0 {
				culprit = id
			}
		}
		bad++
	}
	switch {
	case bad == 0:
		return -1, "", ""
	case each.Any && good > 0:
		return -1, "", fmt.Sprintf("%d of %d items passed", good, good+bad)
	case each.Any:
		text = fmt.Sprintf("none of %d items passed", bad)
	default:
		text = fmt.Sprintf("%d of %d items did not pass", bad, good+bad)
	}
	if culprit >= 0 {
		text += fmt.Sprintf(", first %s, which ended %s", m.g.Phases[culprit].Name, m.s.phases[culprit].status)
	}
	return culprit, ReasonUnmatched, text
}

// itemsUnverified says how many items nobody could judge; "" when the phase passes without them.
func (m *machine) itemsUnverified(p graph.PhaseID) string {
	each, unverified := m.g.Phases[p].Each, 0
	for _, id := range each.Own {
		switch m.s.phases[id].status {
		case Unverified:
			unverified++
		case Success:
			if each.Any {
				return ""
			}
		}
	}
	if unverified == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d items are unverified", unverified, len(each.Own))
}

// itemResults are what expressions read of the items of a phase.
func (m *machine) itemResults(p graph.PhaseID) []any {
	out := []any{}
	for i, id := range m.g.BodyOf(p).Own {
		ph := m.s.phases[id]
		item := map[string]any{"id": m.g.Phases[p].Each.Items[i].Key, "status": ph.status.String()}
		if r := ph.current(); r != nil && r.envelope != nil {
			item["envelope"] = map[string]any(r.envelope)
		}
		out = append(out, item)
	}
	return out
}

// saidOfItems is what the items of a phase that failed have to say.
func (m *machine) saidOfItems(p graph.PhaseID) string {
	var parts []string
	for _, id := range m.g.BodyOf(p).Own {
		switch m.s.phases[id].status {
		case Fail, Rejected:
			parts = append(parts, m.g.Phases[id].Name+": "+m.said(id))
		}
	}
	return strings.Join(parts, "\n")
}

// planProblems judges a report as the list of the phases that are repeated over it.
func (m *machine) planProblems(p graph.PhaseID, report envelope.Object) []string {
	if report["status"] != Success.String() {
		return nil
	}
	var out []string
	for i := range m.g.Phases {
		each := m.g.Phases[i].Each
		if each == nil || each.Maker != p || m.g.Phases[i].Gone {
			continue
		}
		v := m.values(graph.PhaseID(i), nil)
		others := v.Phase
		v.Phase = func(name string) map[string]any {
			if name == m.g.Phases[p].Local {
				return map[string]any{"status": Success.String(), "visits": m.s.phases[p].round(), "envelope": map[string]any(report)}
			}
			return others(name)
		}
		_, problems, err := readList(each, v)
		if err != nil {
			problems = []string{err.Error()}
		}
		for _, pr := range problems {
			out = append(out, each.In.Text()+": "+pr)
		}
	}
	return out
}

// handedOn is what a visit of an item is given: what it said itself, behind what the phase was given whose item it is.
func (m *machine) handedOn(p graph.PhaseID, own string) string {
	if m.g.Phases[p].Item == nil {
		return own
	}
	of := m.s.phases[m.owner(p)].work.given
	switch {
	case of == "":
		return own
	case own == "":
		return of
	}
	return of + "\n\n" + own
}

// finished tells an item of the ones that have ended before it, in their order: only of those that have in every
// order of completion, so that its prompt is the same in each.
func finished(g *graph.Graph, s State, p graph.PhaseID) string {
	var lines []string
	for _, id := range g.BodyOf(g.Phases[p].Owner).Own {
		ph := s.phases[id]
		r := ph.current()
		before := g.Phases[p].Before.Has(id) || s.plan.rank[id] < s.plan.rank[p] && slices.Contains(s.plan.rivals[p], id)
		if !before || r == nil || !ph.status.Ended() || ph.status == NotRun {
			continue
		}
		lines = append(lines, "- "+itemLine(g, s, id, r))
	}
	return bounded(lines)
}

// itemLine says in one line how an item ended.
func itemLine(g *graph.Graph, s State, id graph.PhaseID, r *result) string {
	it := g.Phases[id].Item
	line := it.Key + " (" + s.phases[id].status.String() + ")"
	if it.Title != "" && it.Title != it.Key {
		line += " " + firstLine(it.Title)
	}
	text := summaryOf(r.envelope)
	if text == "" {
		text = r.text
	}
	if text = strings.TrimSpace(text); text != "" {
		line += ": " + firstLine(text)
	}
	return line
}

// maxFinished is how long the list of what has ended may be, in bytes.
const maxFinished = 8 << 10

// bounded leaves out the beginning of a list that is too long.
func bounded(lines []string) string {
	size, from := 0, len(lines)
	for from > 0 && size+len(lines[from-1]) < maxFinished {
		from--
		size += len(lines[from]) + 1
	}
	if from > 0 {
		lines = append([]string{fmt.Sprintf("(%d that ended earlier are left out)", from)}, lines[from:]...)
	}
	return strings.Join(lines, "\n")
}
