package runner

import (
	"fmt"
	"maps"
	"slices"

	"foundry/graph"
)

// This file runs calls. A called pipeline is a pipeline under way like the run's own: its phases only see each
// other, it jumps, finishes and comes to its verdict when nothing of it runs and nothing of it can start, whatever
// goes on outside. For its outside it is one phase, which runs until that verdict. Each visit of the call begins it
// afresh.

func newFrame(b *graph.Body) frame {
	return frame{ender: -1, criteria: make([]criterion, len(b.Criteria))}
}

// owner is the call whose pipeline a phase belongs to, -1 for the run's own.
func (m *machine) owner(p graph.PhaseID) graph.PhaseID { return m.g.Phases[p].Owner }

// frame is a pipeline under way, for reading: that of a call, or the run's own for -1.
func (m *machine) frame(owner graph.PhaseID) *frame {
	if owner < 0 {
		return &m.s.frame
	}
	return m.s.phases[owner].call
}

// editFrame is the same for writing. It is only called for a call that has begun.
func (m *machine) editFrame(owner graph.PhaseID) *frame {
	if owner < 0 {
		return &m.s.frame
	}
	ph := m.edit(owner)
	f := *ph.call
	f.criteria = slices.Clone(f.criteria)
	ph.call = &f
	return ph.call
}

// inner visits the phases of what a call runs, those of the calls in it included, in the order of the graph.
func (m *machine) inner(call graph.PhaseID, yield func(graph.PhaseID)) {
	for _, p := range m.s.plan.inner[call] {
		yield(p)
	}
}

// enter begins a call's pipeline.
func (m *machine) enter(p graph.PhaseID) {
	params, err := settings(m.g, m.s, p)
	if err != nil {
		m.settle(p, m.resultOf(p, Fail, failed, ReasonExpression, err.Error()))
		return
	}
	ph := m.edit(p)
	again := ph.goesOn && ph.call != nil
	f := newFrame(&m.g.Phases[p].Call.Body)
	if again {
		f.jumps, f.criteria = ph.call.jumps, slices.Clone(ph.call.criteria)
	}
	f.params = params
	ph.call, ph.goesOn = &f, false
	if len(f.criteria) > 0 && !again {
		m.setStep(p, stepBefore)
		return
	}
	m.setStep(p, stepInner)
}

// settings are the params of a called pipeline as the call sets them, as text.
func settings(g *graph.Graph, s State, p graph.PhaseID) (map[string]string, error) {
	call := g.Phases[p].Call
	out := map[string]string{}
	v := World{}.into(valuesOf(g, s, p, nil))
	for _, set := range call.Set {
		text, err := set.Value.Render(v)
		if err != nil {
			return nil, fmt.Errorf("the value of param %s: %w", set.Name, err)
		}
		for i := range call.Params {
			if param := &call.Params[i]; param.Name == set.Name {
				if why := param.CheckParam(text); why != "" {
					return nil, fmt.Errorf("the value of param %s %s, and %q is not", set.Name, why, text)
				}
			}
		}
		out[set.Name] = text
	}
	return out, nil
}

// afresh forgets what the phases of a call came to before: for its pipeline this is the beginning.
func (m *machine) afresh(call graph.PhaseID) {
	m.inner(call, m.fresh)
	m.edit(call).call = nil
}

// fresh forgets what one phase of a call came to before.
func (m *machine) fresh(p graph.PhaseID) {
	ph := m.edit(p)
	if ph.asks() {
		m.record(m.at(p, AskWithdrawn))
	}
	ph.work.step = 0
	if ph.status != Queued {
		m.move(p, Queued)
	}
	*ph = phase{status: Queued, visits: ph.visits, base: ph.visits, result: ph.result, stale: true, pending: -1, toward: -1}
	m.setRelease(p, releaseNone, -1)
	for _, r := range m.g.RulesOf(p) {
		m.s.used[r.ID], m.s.marks[r.ID] = 0, mark{}
	}
	e := m.at(p, PhaseQueued)
	e.Visit++
	m.record(e)
}

// leaveInner: what a call would have run does not run.
func (m *machine) leaveInner(call graph.PhaseID, why string) {
	m.inner(call, func(p graph.PhaseID) {
		if m.s.phases[p].status == Queued {
			m.leaveOut(p, why)
		}
	})
}

// atWork says whether a call's phases are at work.
func (m *machine) atWork(call graph.PhaseID) bool {
	ph := m.s.phases[call]
	return ph.status == Running && ph.work.step == stepInner
}

// open says whether phases of a pipeline may start: it is at work, and so is all around it.
func (m *machine) open(owner graph.PhaseID) bool {
	for ; ; owner = m.owner(owner) {
		if m.frame(owner) == nil || m.frame(owner).ending != nil || m.g.BodyOf(owner).FailFast && m.anyPending(owner) {
			return false
		}
		if owner < 0 {
			return m.s.stage == stageWork && !m.s.jumpTree
		}
		if !m.atWork(owner) {
			return false
		}
	}
}

// cutOff says that a phase is to stop: the run or a pipeline around it ends, or a jump takes its place.
func (s State) cutOff(g *graph.Graph, p graph.PhaseID) bool {
	for s.ending == nil {
		if s.phases[p].work.cut {
			return true
		}
		if p = g.Phases[p].Owner; p < 0 {
			return false
		}
		if f := s.phases[p].call; f != nil && f.ending != nil {
			return true
		}
	}
	return true
}

// runsIn says whether something of a pipeline is being carried out.
func (m *machine) runsIn(owner graph.PhaseID) bool {
	if owner < 0 {
		return !m.s.running.Empty()
	}
	runs := false
	m.inner(owner, func(p graph.PhaseID) { runs = runs || m.s.running.Has(p) })
	return runs
}

// halt brings a call to its end, the innermost first, whose pipeline stops or that is to stop itself, once nothing
// of it runs any more. It says whether there was one.
func (m *machine) halt() bool {
	for _, p := range m.s.plan.calls {
		switch {
		case !m.atWork(p) || m.runsIn(p):
		case m.s.cutOff(m.g, p):
			m.stop(p)
			return true
		case m.frame(p).ending != nil:
			why := callStopped
			if m.g.Phases[p].Each != nil {
				why = listStopped
			}
			m.leaveRest(p, "never entered", why)
			m.callEnds(p)
			return true
		}
	}
	return false
}

// These are why a phase did not run when the call around it, or the list that it is an item of, was stopped.
const (
	callStopped = "the call ended before it"
	listStopped = "the list was stopped before it"
)

// stop ends a phase at once; a call with all that it runs.
func (m *machine) stop(p graph.PhaseID) {
	if m.g.Phases[p].Body() != nil {
		m.leaveRest(p, "never entered", stoppedBefore)
	}
	m.stopped(p, "")
}

// endBody latches the verdict of a pipeline that stops before its phases have ended, at one of its phases.
func (m *machine) endBody(p graph.PhaseID, reason, text string, seen []Seen) {
	owner := m.owner(p)
	if owner < 0 {
		m.end(p, RunRejected, reason, text, seen)
		return
	}
	if m.frame(owner).ending == nil {
		f := m.editFrame(owner)
		f.ending, f.ender = &ending{status: RunRejected, reason: reason, text: text, seen: seen}, p
	}
}

// restsIn says whether a called pipeline, of which nothing runs and nothing can start, waits: for a person, or for
// what only a person can give.
func (m *machine) restsIn(call graph.PhaseID) bool {
	return slices.ContainsFunc(m.g.BodyOf(call).Own, func(p graph.PhaseID) bool {
		switch ph := m.s.phases[p]; {
		case ph.status == Waiting, ph.status == Blocked, m.atWork(p):
			return true
		case ph.status == Queued && m.g.Phases[p].Kind == graph.Ask:
			r, _ := m.readiness(p)
			return r == mayStart
		}
		return false
	})
}

// verdictOfCall: the phases of a call have ended. If it would be accepted its criteria are checked first.
func (m *machine) verdictOfCall(p graph.PhaseID) {
	m.leaveRest(p, "never entered", "the call finished before it")
	f := m.editFrame(p)
	f.criterion = m.firstUnmet(p)
	if _, reason, _, _ := m.verdict(p); reason == "" && f.criterion < len(f.criteria) {
		m.setStep(p, stepAfter)
		return
	}
	m.callEnds(p)
}

// callEnds notes how a call's pipeline has ended and takes the snapshot that acceptance will read.
func (m *machine) callEnds(p graph.PhaseID) {
	f := m.editFrame(p)
	if f.ending == nil {
		culprit, reason, text, seen := m.verdict(p)
		f.ender, f.ending = culprit, &ending{status: RunAccepted, reason: reason, text: text, seen: seen}
		if reason != "" {
			f.ending.status = RunRejected
		}
	}
	if m.g.Phases[p].NeedsTree && !m.watching(-1) {
		m.setStep(p, stepEnd)
		return
	}
	m.settleCall(p)
}

// settleCall ends the visit of a call: it passed if its pipeline accepts.
func (m *machine) settleCall(p graph.PhaseID) {
	end := m.frame(p).ending
	r := m.resultOf(p, Success, passed, "", "")
	if end.status != RunAccepted {
		r = m.resultOf(p, Fail, failed, end.reason, end.text)
	}
	r.seen = end.seen
	if m.g.Phases[p].Each != nil {
		r.text, r.items = end.text, m.itemResults(p)
		if text := m.itemsUnverified(p); text != "" && r.status == Success {
			r.status, r.reason, r.text = Unverified, ReasonReview, text
		}
	}
	m.settle(p, r)
}

// paramsOf are the params of a pipeline as they were given. Of a call that has not begun, what only the run can know
// stands as it is written.
func (s State) paramsOf(g *graph.Graph, owner graph.PhaseID) map[string]string {
	if owner < 0 {
		if s.info == nil {
			return nil
		}
		return s.info.Params
	}
	if f := s.phases[owner].call; f != nil {
		return maps.Clone(f.params)
	}
	out := map[string]string{}
	if g.Phases[owner].Call == nil {
		return out
	}
	v := World{}.into(valuesOf(g, s, owner, nil))
	for _, set := range g.Phases[owner].Call.Set {
		text, err := set.Value.Render(v)
		if err != nil {
			text = set.Value.Source()
		}
		out[set.Name] = text
	}
	return out
}
