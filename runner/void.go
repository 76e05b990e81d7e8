package runner

import (
	"encoding/json"
	"slices"

	"foundry/graph"
)

// This file voids verdicts. Each was given for one tree. When a person changes the workspace while the run is at rest,
// the verdicts from before speak of another tree, and are given again: by reviewers, people, commands, criteria and gates. What
// agents have made stays, whatever it depends on: it was paid for, and the verdicts on it say whether it still is good.
// A phase whose work has a review or gates is entered again for these alone, without a turn of its agent; that gets one
// when they find something, as after any other attempt.

// edited: a person changed the workspace while the run was at rest. Of a run that has ended, a resume decides where it goes
// on first.
func (m *machine) edited(e Event) {
	m.s.tree = e.Tree
	if m.done() {
		m.s.touched = true
		return
	}
	again, goOn := graph.NewSet(len(m.g.Phases)), graph.NewSet(len(m.g.Phases))
	m.void(again, goOn)
	m.queueAgain(again, goOn)
	m.s.finishing = false
	m.s.status = RunRunning
}

// void adds to a set what has judged another tree than the one there is now, with what depends on that; so is a phase
// that waits for a permission, for nobody could tell its changes from the person's. Calls that are entered where they
// were, to judge what has to be judged in them, and work that stands and is judged again are added to goOn too.
func (m *machine) void(again, goOn graph.Set) {
	m.uncheck(-1)
	for _, call := range m.s.plan.calls {
		m.uncheck(call)
	}
	queued := slices.Clone(again)          // runs in any case
	stale := graph.NewSet(len(m.g.Phases)) // depends on what is judged again
	for _, p := range m.s.plan.order {
		if queued.Has(p) || !m.counts(p, again, goOn) {
			continue
		}
		switch ph := m.s.phases[p]; {
		case m.judged(p), ph.wantsPermission() && !m.apart(p):
		case m.judgedIn(p), m.workJudged(p) && !slices.ContainsFunc(m.s.phases[p].entries, again.Has): // else it is entered no more
			goOn.Add(p)
		case !stale.Has(p) || m.stays(p):
			continue
		}
		if ph := m.s.phases[p]; ph.asks() || ph.visits > 0 && ph.status.Ended() && ph.status != NotRun {
			e := m.at(p, PhaseInvalidated)
			e.Reason = "the workspace was edited"
			m.record(e)
		}
		again.Add(p)
		stale.Union(m.g.Phases[p].After)
	}
}

// counts says whether what a phase came to still counts in the pipelines around it.
func (m *machine) counts(p graph.PhaseID, again, goOn graph.Set) bool {
	for p = m.owner(p); p >= 0; p = m.owner(p) {
		if again.Has(p) {
			return goOn.Has(p)
		}
		if !m.atWork(p) {
			return false
		}
	}
	return true
}

// judged says whether a phase has passed judgement on the tree, or waits for a person to do so.
func (m *machine) judged(p graph.PhaseID) bool {
	ph := &m.g.Phases[p]
	judge := ph.Kind == graph.Ask || (ph.Kind == graph.Code && !ph.Declared) || (ph.Kind == graph.AgentWork && ph.Envelope.Approves())
	switch m.s.phases[p].status {
	case Success, Fail, Rejected, Waiting:
		return judge
	}
	return false
}

// judgedIn says whether something was judged in a call or a list that has ended.
func (m *machine) judgedIn(p graph.PhaseID) bool {
	ph := m.s.phases[p]
	if ph.call == nil || ph.status != Success && ph.status != Unverified && ph.status != Fail {
		return false
	}
	found := false
	m.inner(p, func(q graph.PhaseID) { found = found || m.judged(q) || m.workJudged(q) })
	return found
}

// workJudged says whether a phase has done work that a review, or a gate that looks at the workspace, has let pass. A worktree
// of its own is nobody's to edit.
func (m *machine) workJudged(p graph.PhaseID) bool {
	ph := &m.g.Phases[p]
	st := m.s.phases[p].status
	if ph.Body() != nil || ph.Kind == graph.Ask || m.apart(p) || st != Success && st != Unverified {
		return false
	}
	return ph.Review != nil || slices.ContainsFunc(ph.Gates, func(gate graph.Gate) bool { return gate.Spec.LooksAround() })
}

// JudgedAgain is why a phase is entered whose work stands.
const JudgedAgain = "the workspace was edited: its work stands, and is judged again"

// judgeAgain begins a visit in which what an earlier one did is judged once more, in the workspace as it is now.
func (m *machine) judgeAgain(p graph.PhaseID) {
	ph := m.edit(p)
	ph.goesOn = false
	was := ph.work
	of := was.of
	if of == 0 {
		of = ph.visits
	}
	m.visit(p, work{attempt: 1, of: of, agent: was.agent, fallbacks: was.fallbacks, given: was.given, digests: was.digests, envelope: was.envelope, changed: was.changed,
		changedSet: was.changedSet, command: was.command, commit: was.commit, review: newReviewing(m.g, p), step: stepStart})
	e := m.at(p, PhaseStarted)
	e.Because = JudgedAgain
	m.record(e)
}

// judgeWork judges what an earlier visit did.
func (m *machine) judgeWork(p graph.PhaseID) {
	w := &m.edit(p).work
	w.tree = w.startTree
	if m.g.Phases[p].Kind == graph.AgentWork {
		m.startAttempt(p)
		e := m.at(p, EnvelopeAccepted)
		e.Attempt = w.attempt
		e.Envelope, _ = json.Marshal(w.envelope)
		m.record(e)
	}
	if len(m.g.Phases[p].Gates) > 0 {
		m.setStep(p, stepGates)
	} else {
		m.judge(p)
	}
}

// stays says whether a phase keeps its result although what it depends on is judged again: the work of agents, be it in
// a call.
func (m *machine) stays(p graph.PhaseID) bool {
	ph := &m.g.Phases[p]
	st := m.s.phases[p].status
	return !ph.Detour && (st == Success || st == Unverified) && (ph.Kind == graph.AgentWork || ph.Body() != nil)
}

// uncheck forgets what the criteria of a pipeline came to before acceptance, and of those around it.
func (m *machine) uncheck(owner graph.PhaseID) {
	for ; ; owner = m.owner(owner) {
		if f := m.frame(owner); f != nil && m.firstUnmet(owner) > 0 {
			list := m.editFrame(owner).criteria
			for i := range list {
				list[i].after = 0
			}
		}
		if owner < 0 {
			return
		}
	}
}
