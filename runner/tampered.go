package runner

import (
	"strings"

	"foundry/graph"
)

// This file takes back what was proved over a path that nobody may write. A command without a boundary of its own is
// looked at by the next snapshot that somebody reads, so it may be found out when its phase has long ended: then it
// has failed after all. No route is tried any more, since what would follow has begun; such a run is not accepted.

// tampered fails what ran while protected paths were changed, as the fact of a snapshot tells. p is the phase that
// the snapshot was taken for, -1 for none.
func (m *machine) tampered(p graph.PhaseID, e Event) {
	if len(e.Outside) == 0 {
		return
	}
	for _, name := range e.Suspects {
		q, ok := m.g.Lookup(name)
		switch {
		case !ok:
			m.distrust(strings.TrimPrefix(name, "criterion "))
		case q == p:
			m.edit(p).work.violations = e.Outside
		default:
			m.failLate(q, e.Outside)
		}
	}
}

// leftBehind says why a phase that was about to work is not to go on, since what it depends on has failed after all; ""
// when it may.
func (m *machine) leftBehind(p graph.PhaseID, e Event) (why string) {
	if len(e.Outside) == 0 {
		return ""
	}
	for _, name := range e.Suspects {
		if q, ok := m.g.Lookup(name); ok && m.g.Phases[p].Before.Has(q) && m.s.phases[q].release == releaseClosed {
			why = m.g.Phases[q].Name + " ended fail"
		}
	}
	return why
}

// distrust says that a criterion of the run does not hold.
func (m *machine) distrust(criterion string) {
	for i := range m.g.Criteria {
		if m.s.stage == stageAfter && m.g.Criteria[i].Name == criterion {
			m.s.criteria[i].after = criterionFailed
		}
	}
}

// failLate turns a phase that passed into one that failed, and with it the calls around it that have passed.
func (m *machine) failLate(p graph.PhaseID, found []Violation) {
	for ; p >= 0; p = m.owner(p) {
		ph := m.s.phases[p]
		if ph.status != Success || ph.current() == nil {
			return
		}
		r := *ph.result
		r.status, r.outcome, r.reason, r.text, r.violations = Fail, failed, ReasonBoundary, checksText(found, nil), found
		late := m.move(p, Fail)
		late.result, late.handled, late.pending, late.carried = &r, false, -1, ""
		m.ended(p, &r)
		switch {
		case m.g.Phases[p].Detour:
			m.endDetour(p)
		case m.s.info.KeepGoing || m.g.BodyOf(m.owner(p)).KeepGoing:
			m.setRelease(p, releaseOpen, -1)
		default:
			m.setRelease(p, releaseClosed, -1)
		}
	}
}
