package runner

import (
	"slices"

	"foundry/graph"
)

// resume goes on with a run. One that was cut off or parked goes on where it was: its outstanding commands
// are sent again. One that ended without acceptance starts again at the phase that ended it, or at the one
// that the event names. Counters and budgets stay used.
func (m *machine) resume(p graph.PhaseID, e Event) {
	if m.s.status == RunKill || m.s.status == RunAccepted && !m.s.Partial() {
		m.warn(-1, "a run that is %s cannot be resumed", m.s.status)
		return
	}
	m.s.resumes++
	if e.Jobs > 0 {
		info := *m.s.info
		info.Jobs, info.Agents = e.Jobs, e.Agents
		m.s.info = &info
	}
	ended := m.s.stage == stageEnded
	waiting, reason := m.s.status == RunWaiting, m.s.reason
	m.s.status, m.s.reason, m.s.text = RunRunning, "", ""
	for q := range m.s.running.All {
		switch w := &m.s.phases[q].work; {
		case w.step == stepTurn || w.step == stepReview:
			w := &m.edit(q).work
			w.resent, w.limited = w.sent, false
		case w.step == stepCommand && w.rounds > 0:
			m.edit(q).work.rounds = 0 // it was cut off: the row begins anew
		}
	}
	if ended {
		m.reopen(p, reason)
		return
	}
	if p >= 0 {
		again, goOn := graph.NewSet(len(m.g.Phases)), graph.NewSet(len(m.g.Phases))
		m.from(p, again, goOn)
		m.queueFrom([]graph.PhaseID{p}, again, goOn)
		return
	}
	if waiting && e.Text != "" {
		m.unblock(e.Text)
	}
}

// reopen takes an ended run back into work, which had ended for a reason.
func (m *machine) reopen(p graph.PhaseID, reason string) {
	again, goOn := graph.NewSet(len(m.g.Phases)), graph.NewSet(len(m.g.Phases))
	var at []graph.PhaseID
	toJump, beyond, recheck := false, false, false
	switch {
	case p >= 0:
		at = m.deepest([]graph.PhaseID{p}, graph.NewSet(len(m.g.Phases))) // the one that a person names begins afresh
	case m.goesOnToJump():
		toJump = true
	case reason == ReasonCriterion: // acceptance held, so there is no phase to blame
		beyond = m.s.Partial()
		recheck = !beyond
	default:
		if at = m.culprits(-1, reason); len(at) > 0 {
			at = m.deepest(at, goOn)
		} else if beyond = m.s.Partial(); !beyond {
			at = []graph.PhaseID{m.lastJudge()}
		}
	}
	m.s.ending, m.s.finishing, m.s.judged = nil, false, false
	m.s.stage, m.s.criterion = m.stageAgain(), 0
	switch {
	case beyond:
		again = m.liftUntil()
	case toJump:
		m.cutOffBy(again, goOn)
	}
	for _, p := range at {
		m.from(p, again, goOn)
	}
	if m.s.touched {
		m.void(again, goOn)
		m.s.touched = false
	}
	m.queueFrom(at, again, goOn)
	m.s.finishing = recheck && !slices.ContainsFunc(m.s.phases, func(ph *phase) bool { return ph.status == Queued })
}

// culprits are the phases of a pipeline that has ended for a reason, at which to go on: all that stand failed, else the one that
// ended it, else the earliest that has not ended well.
func (m *machine) culprits(owner graph.PhaseID, reason string) []graph.PhaseID {
	if reason == ReasonUnmatched {
		var failed []graph.PhaseID
		for _, p := range m.s.plan.order {
			if m.owner(p) == owner && m.standsFailed(p) {
				failed = append(failed, p)
			}
		}
		if len(failed) > 0 {
			return failed
		}
	}
	p := m.frame(owner).ender
	if p < 0 {
		p = m.firstOpen(owner)
	}
	if p < 0 {
		return nil
	}
	return []graph.PhaseID{p}
}

// stageAgain is where an ended run goes on: one whose workspace could not be made tries that again, and one that ended
// before anything worked checks again what is checked before the work.
func (m *machine) stageAgain() stage {
	switch {
	case !m.s.ready:
		return stageSetup
	case m.s.visits == 0 && len(m.g.Criteria) > 0 && !m.watching(-1):
		return stageBefore
	}
	return stageWork
}

// Partial says whether --until has left phases out that a resume may still go on with.
func (s State) Partial() bool {
	return slices.ContainsFunc(s.phases, func(ph *phase) bool { return ph.beyond })
}

// liftUntil lets all phases run that --until left out, and returns them.
func (m *machine) liftUntil() graph.Set {
	out := graph.NewSet(len(m.g.Phases))
	for _, p := range m.s.plan.order {
		if m.s.phases[p].beyond {
			m.edit(p).beyond = false
			out.Add(p)
		}
	}
	return out
}

// deepest replaces calls and lists that failed or were stopped by what to go on at in them. A call that a criterion ended is
// entered where it was, to check that again.
func (m *machine) deepest(at []graph.PhaseID, goOn graph.Set) []graph.PhaseID {
	var out []graph.PhaseID
	for _, p := range at {
		ph := m.s.phases[p]
		if ph.call == nil || ph.status != Fail && ph.status != Stopped {
			out = append(out, p)
			continue
		}
		reason := ""
		if ph.call.ending != nil {
			reason = ph.call.ending.reason
		}
		if reason == ReasonCriterion {
			goOn.Add(p)
			out = append(out, p)
		} else if in := m.culprits(p, reason); len(in) > 0 {
			out = append(out, m.deepest(in, goOn)...)
		} else {
			out = append(out, p)
		}
	}
	return out
}

// lastJudge is the last phase that acceptance names, else the last phase of all.
func (m *machine) lastJudge() graph.PhaseID {
	last := m.g.Own[len(m.g.Own)-1]
	for _, p := range m.s.plan.order {
		if m.owner(p) < 0 && m.g.Phases[p].Named {
			last = p
		}
	}
	return last
}

// from adds to a set a phase, all that depends on it, and all that the end of the run cut off; to goOn the calls around
// the phase and those that were cut off, which are entered where they were.
func (m *machine) from(p graph.PhaseID, set, goOn graph.Set) {
	if m.s.phases[p].beyond {
		m.liftUntil() // a person wants more than --until allowed
	}
	set.Add(p)
	set.Union(m.g.Phases[p].After)
	for call := m.owner(p); call >= 0 && !m.atWork(call); call = m.owner(call) {
		set.Add(call)
		goOn.Add(call)
		set.Union(m.g.Phases[call].After)
	}
	m.cutOffBy(set, goOn)
}

// queueFrom queues a set. The phases that a resume goes on at wait for nothing but what is queued with them.
func (m *machine) queueFrom(at []graph.PhaseID, set, goOn graph.Set) {
	entered := make([][]graph.PhaseID, len(at))
	for i, p := range at {
		entered[i] = m.s.phases[p].entries
	}
	m.queueAgain(set, goOn)
	for i, p := range at {
		ph := m.edit(p)
		ph.forced = true
		for call := m.owner(p); call >= 0; call = m.owner(call) {
			m.edit(call).forced = m.s.phases[call].forced || goOn.Has(call)
		}
		if m.g.Phases[p].Detour && len(ph.entries) == 0 {
			ph.entries = entered[i]
		}
	}
}

// cutOffBy adds to a set what the end of the run cut off, and to goOn the calls among it.
func (m *machine) cutOffBy(set, goOn graph.Set) {
	for _, q := range m.s.plan.order {
		ph, owner := m.s.phases[q], m.owner(q)
		cut := ph.status == Stopped || ph.status == NotRun && (ph.why == stoppedBefore || ph.why == callStopped || ph.why == listStopped)
		if !cut || set.Has(q) || owner >= 0 && !goOn.Has(owner) {
			continue
		}
		set.Add(q)
		if ph.status == Stopped && ph.call != nil {
			goOn.Add(q)
		}
	}
}

// unblock enters blocked phases again, with a person's note.
func (m *machine) unblock(text string) {
	set := graph.NewSet(len(m.g.Phases))
	var blocked []graph.PhaseID
	for i, ph := range m.s.phases {
		p := graph.PhaseID(i)
		if ph.status == Blocked && ph.result != nil && ph.result.outcome == blockedOut && ph.result.visit == ph.visits && m.open(m.owner(p)) {
			blocked = append(blocked, p)
			set.Add(p)
			set.Union(m.g.Phases[p].After)
		}
	}
	if len(blocked) == 0 {
		return
	}
	m.queueAgain(set, nil)
	for _, p := range blocked {
		m.deliver(p, p, text)
	}
}
