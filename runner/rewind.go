package runner

import (
	"fmt"

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
	p, ok := g.Lookup(e.Phase)
	if !ok || then.phases[p].status != Running {
		return now, nil, fmt.Errorf("event %d goes back to %s, which did not begin there", e.Seq, e.Phase)
	}
	m := machine{g: g, s: then.clone(), owned: graph.NewSet(len(g.Phases))}
	m.s.turns, m.s.tokens, m.s.cost, m.s.unknown, m.s.visits, m.s.busy = now.turns, now.tokens, now.cost, now.unknown, now.visits, max(now.busy, e.atWork())
	m.s.grants, m.s.extra, m.s.resumes, m.s.sessions = now.grants, now.extra, now.resumes, now.sessions
	m.s.status = RunInterrupt
	for i := range g.Phases {
		q := graph.PhaseID(i)
		ph := m.edit(q)
		if last := now.phases[q].visits; last > ph.visits {
			ph.visits = last
			if ph.result != nil {
				r := *ph.result
				r.visit = last
				ph.result = &r
			}
		}
		if now.phases[q].visits > then.phases[q].visits || q == p {
			ph.work.digests = nil // its session has gone another way since
		}
		if ph.status == Queued && now.phases[q].status != Queued {
			m.record(m.at(q, PhaseQueued))
		}
	}
	m.s.visits++
	m.edit(p).visits++
	started := m.at(p, PhaseStarted)
	started.Feedback = m.s.phases[p].work.given
	if call := g.Phases[p].Call; call != nil {
		started.Calls = call.Pipeline
	}
	m.record(started)
	return m.s, m.records, nil
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
