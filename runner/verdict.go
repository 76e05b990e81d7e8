package runner

import (
	"fmt"
	"slices"
	"strings"

	"foundry/graph"
)

// This file ends runs. Acceptance is evaluated once, when nothing can start any more; a run that was
// stopped, or ran out of something, is never accepted.

// beginVerdict: nothing of a pipeline can start any more. What was not reached is left out and, if it would be
// accepted, its criteria are checked. It says whether something outside may go on.
func (m *machine) beginVerdict(owner graph.PhaseID) bool {
	if owner >= 0 {
		m.verdictOfCall(owner)
		return true
	}
	m.leaveRest(-1, "never entered", "the run finished before it")
	m.s.stage, m.s.criterion = stageAfter, m.firstUnmet(-1)
	m.s.status = RunRunning
	if _, reason, _, _ := m.verdict(-1); reason != "" || m.watching(-1) {
		m.s.criterion = len(m.g.Criteria)
	}
	return false
}

// leaveRest ends every phase of a pipeline that has not ended, those of the calls in it included.
func (m *machine) leaveRest(owner graph.PhaseID, detour, why string) {
	for _, p := range m.s.plan.order {
		if !m.g.Inside(owner, p) {
			continue
		}
		switch ph := m.s.phases[p]; {
		case ph.status == Queued && m.g.Phases[p].Detour && len(ph.entries) == 0:
			m.leaveOut(p, detour)
		case ph.status == Queued, ph.status == Running && m.atWork(p): // a call that waits for a person
			m.leaveOut(p, why)
		case ph.status == Waiting:
			m.record(m.at(p, AskWithdrawn))
			m.leaveOut(p, why)
		}
	}
}

// verdict is what a pipeline has come to: no reason means accepted. culprit is the phase at which a resume would
// go on, -1 when there is none. A person's rejection counts in every pipeline around the question.
func (m *machine) verdict(owner graph.PhaseID) (culprit graph.PhaseID, reason, text string, seen []Seen) {
	body := m.g.BodyOf(owner)
	if owner >= 0 && m.g.Phases[owner].Each != nil {
		culprit, reason, text = m.verdictOfItems(owner)
		return culprit, reason, text, nil
	}
	for _, p := range m.s.plan.order {
		if m.owner(p) == owner && m.standsFailed(p) {
			return p, ReasonUnmatched, fmt.Sprintf("%s ended %s and no rule took it", m.g.Phases[p].Name, m.s.phases[p].status), nil
		}
	}
	if m.watching(owner) {
		return -1, "", "", nil
	}
	for _, p := range m.s.plan.order {
		ph := m.s.phases[p]
		if m.g.Phases[p].Kind != graph.Ask || ph.visits == 0 || !m.g.Inside(owner, p) {
			continue
		}
		if ph.result == nil || ph.result.visit != ph.visits || ph.result.answer == "" {
			return p, ReasonAcceptance, m.g.Phases[p].Name + " was asked and not answered", nil
		}
		if ph.result.answer != "approve" {
			return p, ReasonAcceptance, m.g.Phases[p].Name + " was answered with a rejection", nil
		}
	}
	ok, terms := body.Accept.Accept(valuesIn(m.g, m.s, owner, -1, nil))
	seen = seenTerms(terms)
	if !ok {
		var parts []string
		for _, t := range seen {
			parts = append(parts, t.Term+" is "+t.Value)
		}
		return -1, ReasonAcceptance, strings.Join(parts, ", "), seen
	}
	f := m.frame(owner)
	for i, c := range f.criteria {
		if !m.checksAfter(owner) || f.criterion <= i || !body.Criteria[i].Required {
			continue
		}
		switch {
		case c.after == criterionUnverified:
			return -1, ReasonCriterion, body.Criteria[i].Name + " could not be run: not verified", seen
		case c.after != criterionPassed:
			return -1, ReasonCriterion, body.Criteria[i].Name + " does not hold", seen
		}
	}
	return -1, "", "", seen
}

// standsFailed says whether a phase has failed, and no rule took that; of an item, whether it has failed.
func (m *machine) standsFailed(p graph.PhaseID) bool {
	ph := m.s.phases[p]
	return (ph.status == Fail || ph.status == Rejected) && (!ph.handled || m.g.Phases[p].Item != nil)
}

// checksAfter says whether a pipeline's criteria are being checked before acceptance.
func (m *machine) checksAfter(owner graph.PhaseID) bool {
	if owner < 0 {
		return m.s.stage == stageAfter
	}
	return m.s.phases[owner].work.step == stepAfter
}

// runSnapshot is the answer to a snapshot of the whole run: before a jump, or for the verdict.
func (m *machine) runSnapshot(e Event) {
	switch {
	case m.s.jumpTree:
		m.s.tree = e.Tree
		m.tampered(-1, e)
		tree := e.Tree
		if tree == "" {
			tree = UnknownTree
		}
		m.s.jumpTree = false
		if m.s.ending == nil {
			m.jump(-1, tree)
		}
	case m.s.stage == stageAfter && m.s.criterion >= len(m.g.Criteria) && !m.s.judged:
		m.s.tree, m.s.judged = e.Tree, true
		m.tampered(-1, e)
		if m.s.ending != nil {
			return
		}
		culprit, reason, text, seen := m.verdict(-1)
		m.s.ender = culprit
		status := RunAccepted
		if reason != "" {
			status = RunRejected
		}
		m.close(status, reason, text, seen)
	default:
		m.warn(-1, "a snapshot that nobody waits for was ignored")
	}
}

// conclude ends a run that was stopped, once nothing of it runs.
func (m *machine) conclude() {
	end := m.s.ending
	m.leaveRest(-1, "never entered", stoppedBefore)
	m.close(end.status, end.reason, end.text, end.seen)
}

// stoppedBefore is why a phase did not run when the run was stopped; a resume queues such phases again.
const stoppedBefore = "the run ended before it"

func (m *machine) close(status RunStatus, reason, text string, seen []Seen) {
	m.s.stage, m.s.status, m.s.reason, m.s.text = stageEnded, status, reason, text
	e := Event{Kind: RunEnded, Status: status.String(), Reason: reason, Text: text, Seen: seen}
	if status == RunAccepted {
		e.Tree = m.s.tree
	} else {
		e.Culprit = m.culprit(reason)
	}
	m.record(e)
}

// culprit is the name of the phase that the reason of a run which was not accepted speaks of, the innermost one; "" when it
// speaks of none. A budget speaks of one only when it did not pay for its jump.
func (m *machine) culprit(reason string) string {
	p := m.s.ender
	if p < 0 || strings.HasPrefix(reason, ReasonBudget+":") && m.s.phases[p].pending < 0 {
		return ""
	}
	for {
		ph := m.s.phases[p]
		if ph.call == nil || ph.status != Fail || ph.call.ender < 0 {
			return m.g.Phases[p].Name
		}
		p = ph.call.ender
	}
}

// CriterionOutcome is what a criterion's command came to: passed, failed, or unverified when it could not be run. A shell
// says that it cannot with 126 and 127; that counts as an answer only where it is expected by its number.
func CriterionOutcome(c *graph.Command, r *CommandResult) string {
	switch shell := c.Script.Shell != ""; {
	case r.Timeout || r.Signal != "":
		return "failed"
	case shell && (r.Exit == 126 || r.Exit == 127) && !slices.Contains(c.ExitCodes, r.Exit):
		return "unverified"
	case c.Passes(r.Exit):
		return "passed"
	}
	return "failed"
}

// criterionDone takes a criterion's outcome, before the work or before acceptance, of the run or of a call.
func (m *machine) criterionDone(p graph.PhaseID, e Event) {
	if p >= 0 && !m.expects(p, e, stepBefore, stepAfter) {
		return
	}
	after, before := m.checksAfter(p), m.s.stage == stageBefore
	if p >= 0 {
		before = !after
	}
	list, i := m.g.BodyOf(p).Criteria, m.frame(p).criterion
	open := (before || after) && i < len(list)
	if !open || list[i].Name != e.Criterion || e.Result == nil || e.Result.Before != before {
		m.warn(p, "an outcome of criterion %q that nobody waits for was ignored", e.Criterion)
		return
	}
	if p >= 0 && m.cutOff(p) {
		m.stop(p)
		return
	}
	outcome := criterionFailed
	switch e.Outcome {
	case "passed":
		outcome = criterionPassed
	case "unverified":
		outcome = criterionUnverified
	}
	f := m.editFrame(p)
	f.criterion++
	if after {
		f.criteria[i].after = outcome
	} else {
		f.criteria[i].before = outcome
	}
	switch last := f.criterion == len(list); {
	case !last:
	case before && p < 0:
		m.s.stage, f.criterion = stageWork, 0
	case before:
		f.criterion = 0
		m.setStep(p, stepInner)
	case p >= 0:
		m.callEnds(p)
	}
}

// firstUnmet is the first criterion of a pipeline that is still to be checked before acceptance: what held for the same
// tree, before a resume, holds.
func (m *machine) firstUnmet(owner graph.PhaseID) int {
	list := m.frame(owner).criteria
	if i := slices.IndexFunc(list, func(c criterion) bool { return c.after != criterionPassed }); i >= 0 {
		return i
	}
	return len(list)
}

// firstOpen is the earliest phase of a pipeline that has not ended well.
func (m *machine) firstOpen(owner graph.PhaseID) graph.PhaseID {
	for _, p := range m.s.plan.order {
		if st := m.s.phases[p].status; m.owner(p) == owner && st != Success && st != Skipped && !m.g.Phases[p].Detour && !m.s.leftOut(p) {
			return p
		}
	}
	return -1
}
