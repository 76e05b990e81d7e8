package runner

import "foundry/graph"

// resume goes on with a run. One that was cut off or parked goes on where it was: its outstanding commands
// are sent again. One that ended without acceptance starts again at the phase that ended it, or at the one
// that the event names. Counters and budgets stay used.
func (m *machine) resume(p graph.PhaseID, e Event) {
	switch m.s.status {
	case RunKill, RunAccepted:
		m.warn(-1, "a run that is %s cannot be resumed", m.s.status)
		return
	}
	m.s.resumes++
	ended := m.s.stage == stageEnded
	waiting := m.s.status == RunWaiting
	m.s.status, m.s.reason, m.s.text = RunRunning, "", ""
	if ended {
		m.reopen(p)
		return
	}
	if p >= 0 {
		m.again(p)
		return
	}
	if waiting && e.Text != "" {
		m.unblock(e.Text)
	}
}

// reopen takes an ended run back into work.
func (m *machine) reopen(p graph.PhaseID) {
	if p < 0 {
		p = m.s.ender
	}
	if p < 0 {
		p = m.firstOpen()
	}
	if p < 0 {
		p = m.lastJudge()
	}
	m.s.ending, m.s.finishing, m.s.judged = nil, false, false
	m.s.stage, m.s.criterion = stageWork, 0
	m.again(p)
}

// lastJudge is the last phase that acceptance names, else the last phase of all.
func (m *machine) lastJudge() graph.PhaseID {
	last := graph.PhaseID(len(m.g.Phases) - 1)
	for _, p := range m.s.plan.order {
		if m.g.Phases[p].Named {
			last = p
		}
	}
	return last
}

// again queues a phase, all that depends on it, and all that the end of the run cut off.
func (m *machine) again(p graph.PhaseID) {
	set := graph.NewSet(len(m.g.Phases))
	set.Add(p)
	set.Union(m.g.Phases[p].After)
	for i, ph := range m.s.phases {
		if ph.status == Stopped || (ph.status == NotRun && ph.why == stoppedBefore) {
			set.Add(graph.PhaseID(i))
		}
	}
	entered := m.s.phases[p].entries
	m.queueAgain(set)
	ph := m.edit(p)
	ph.forced = true
	if m.g.Phases[p].Detour && len(ph.entries) == 0 {
		ph.entries = entered
	}
}

// unblock enters blocked phases again, with a person's note.
func (m *machine) unblock(text string) {
	set := graph.NewSet(len(m.g.Phases))
	var blocked []graph.PhaseID
	for i, ph := range m.s.phases {
		if ph.status == Blocked && ph.result != nil && ph.result.outcome == blockedOut && ph.result.visit == ph.visits {
			p := graph.PhaseID(i)
			blocked = append(blocked, p)
			set.Add(p)
			set.Union(m.g.Phases[p].After)
		}
	}
	if len(blocked) == 0 {
		return
	}
	m.queueAgain(set)
	for _, p := range blocked {
		m.deliver(p, p, text)
	}
}
