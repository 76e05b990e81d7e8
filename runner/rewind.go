package runner

import (
	"fmt"
	"maps"
	"slices"

	"foundry/graph"
)

// This file takes a run back to the beginning of an earlier visit. The state is the one from there, which the log
// gives; what was spent since stays spent, and visits keep counting, so that no two have the same number.

// Rewound is what an event run.rewound makes of a state: then is the state after the fact that the event names with
// To, in which the visit has just begun.
func Rewound(g *graph.Graph, then, now State, e Event) (State, []Command, error) {
	if then.info == nil || e.Kind != RunRewound {
		return now, nil, fmt.Errorf("event %d (%s) names no state that a run could go back to", e.Seq, e.Kind)
	}
	was := now.Graph(g)
	g = then.Graph(g)
	p, ok := g.Lookup(e.Phase)
	if !ok || then.phases[p].visits == 0 {
		return now, nil, fmt.Errorf("event %d goes back to %s, which did not begin there", e.Seq, e.Phase)
	}
	for q := range then.phases {
		if id := graph.PhaseID(q); g.Phases[q].Apart && then.phases[q].work.step != stepStart && then.phases[q].status == Running && id != p && !g.Inside(p, id) {
			return now, nil, fmt.Errorf("%s was at work in a worktree of its own when %s began, and that is gone: go back to a phase before both", g.Phases[q].Name, e.Phase)
		}
	}
	again := graph.NewSet(len(g.Phases)) // a visit that ended as it began, with all that followed from its end, is still to come
	if then.phases[p].status != Running {
		again.Add(p)
		again.Union(g.Phases[p].After)
	}
	m := machine{g: g, s: then.clone(), owned: graph.NewSet(len(g.Phases))}
	m.s.turns, m.s.tokens, m.s.cost, m.s.unknown, m.s.visits, m.s.busy = now.turns, now.tokens, now.cost, now.unknown, now.visits, max(now.busy, e.atWork())
	m.s.grants, m.s.resumes, m.s.info = now.grants, now.resumes, now.info
	m.keep(was, now)
	m.s.status = RunInterrupt
	for i := range g.Phases {
		q := graph.PhaseID(i)
		ph := m.edit(q)
		visits, status := m.s.past[g.Phases[i].Name], NotRun
		if o, ok := sameIn(was, g, q); ok {
			visits, status = now.phases[o].visits, now.phases[o].status
		}
		if visits > ph.visits {
			ph.visits = visits
			if ph.result != nil {
				r := *ph.result
				r.visit = visits
				ph.result = &r
			}
		}
		if visits > then.phases[q].visits || q == p {
			ph.work.digests = nil // its session has gone another way since
		}
		if ph.status == Queued && status != Queued && !again.Has(q) {
			m.record(m.at(q, PhaseQueued))
		}
	}
	if again.Has(p) {
		m.toBegin(p, again)
		return m.s, m.records, nil
	}
	m.beginAgain(p)
	if g.Phases[p].Each != nil {
		m.recordItems(p)
	}
	m.inner(p, func(q graph.PhaseID) { // what began together with it
		if m.s.phases[q].status == Running {
			m.beginAgain(q)
		}
	})
	return m.s, m.records, nil
}

// toBegin queues a phase whose visit ended as it began, with all that depends on it. What followed from that end, up to that
// of the run, has not happened.
func (m *machine) toBegin(p graph.PhaseID, again graph.Set) {
	if m.s.stage != stageSetup && m.s.stage != stageBefore {
		m.s.stage = stageWork
	}
	m.s.ending, m.s.finishing, m.s.judged, m.s.jumpTree, m.s.criterion = nil, false, false, false, 0
	ph := m.edit(p)
	ph.inbox = slices.Clone(ph.inbox)
	for i := range ph.inbox {
		ph.inbox[i].given = false
	}
	m.queueAgain(again, nil)
	m.edit(p).forced = true
}

// beginAgain makes the visit that has just begun one of its own.
func (m *machine) beginAgain(p graph.PhaseID) {
	m.s.visits++
	m.edit(p).visits++
	started := m.at(p, PhaseStarted)
	started.Feedback = m.s.phases[p].work.given
	started.Calls, started.Each = runs(&m.g.Phases[p])
	m.record(started)
}

// sameIn finds a phase of one graph in another.
func sameIn(other, g *graph.Graph, p graph.PhaseID) (graph.PhaseID, bool) {
	if int(p) < len(other.Phases) && other.Phases[p].Name == g.Phases[p].Name {
		return p, true
	}
	return other.Lookup(g.Phases[p].Name)
}

// keep takes over what counts on through a rewind: jumps that were granted, turns of sessions, and, of items that are
// not there any more, visits.
func (m *machine) keep(was *graph.Graph, now State) {
	m.s.past = maps.Clone(now.past)
	if m.s.past == nil {
		m.s.past = map[string]int{}
	}
	for i := range was.Phases {
		m.s.past[was.Phases[i].Name] = now.phases[i].visits
	}
	for i := range was.Agents {
		m.s.past[sessionName(&was.Agents[i])] = now.sessions[i]
	}
	for i := range m.g.Agents {
		m.s.sessions[i] = m.s.past[sessionName(&m.g.Agents[i])]
	}
	for i := range m.g.Rules {
		r := &m.g.Rules[i]
		if o, ok := sameIn(was, m.g, r.Phase); ok {
			m.s.extra[i] = now.extra[int(was.Phases[o].First)+int(r.ID-m.g.Phases[r.Phase].First)]
		}
	}
}

// Beginning finds where a visit began in a log: the number of the fact from which it followed, and that of its own
// event. Visit 0 is the newest.
func Beginning(events []Event, phase string, visit int) (fact, start int, ok bool) {
	last := 0
	for _, e := range events {
		if e.Fact() {
			last = e.Seq
		}
		if e.Kind == PhaseStarted && e.Phase == phase && (visit == 0 || e.Visit == visit) {
			fact, start, ok = last, e.Seq, true
		}
	}
	return fact, start, ok
}
