package runner

import (
	"fmt"
	"strings"

	"foundry/graph"
)

// This file ends runs. Acceptance is evaluated once, when nothing can start any more; a run that was
// stopped, or ran out of something, is never accepted.

// beginVerdict leaves out what was not reached and, if the run would be accepted, has its criteria checked.
func (m *machine) beginVerdict() {
	m.leaveRest("never entered", "the run finished before it")
	m.s.stage, m.s.criterion = stageAfter, 0
	m.s.status = RunRunning
	if _, reason, _, _ := m.verdict(); reason != "" {
		m.s.criterion = len(m.g.Criteria)
	}
}

// leaveRest ends every phase that has not ended.
func (m *machine) leaveRest(detour, why string) {
	for _, p := range m.s.plan.order {
		switch ph := m.s.phases[p]; {
		case ph.status == Queued && m.g.Phases[p].Detour && len(ph.entries) == 0:
			m.leaveOut(p, detour)
		case ph.status == Queued:
			m.leaveOut(p, why)
		case ph.status == Waiting:
			m.record(m.at(p, AskWithdrawn))
			m.leaveOut(p, why)
		}
	}
}

// verdict is what the state comes to: no reason means accepted. culprit is the phase at which a resume would
// go on, -1 when there is none.
func (m *machine) verdict() (culprit graph.PhaseID, reason, text string, seen []Seen) {
	for _, p := range m.s.plan.order {
		ph := m.s.phases[p]
		if (ph.status == Fail || ph.status == Rejected) && !ph.handled {
			return p, ReasonUnmatched, fmt.Sprintf("%s ended %s and no rule took it", m.g.Phases[p].Name, ph.status), nil
		}
	}
	for _, p := range m.s.plan.order {
		ph := m.s.phases[p]
		if m.g.Phases[p].Kind != graph.Ask || ph.visits == 0 {
			continue
		}
		if ph.result == nil || ph.result.visit != ph.visits || ph.result.answer == "" {
			return p, ReasonAcceptance, m.g.Phases[p].Name + " was asked and not answered", nil
		}
		if ph.result.answer != "approve" {
			return p, ReasonAcceptance, m.g.Phases[p].Name + " was answered with a rejection", nil
		}
	}
	ok, terms := m.g.Accept.Accept(m.values(-1, nil))
	seen = seenTerms(terms)
	if !ok {
		var parts []string
		for _, t := range seen {
			parts = append(parts, t.Term+" is "+t.Value)
		}
		return -1, ReasonAcceptance, strings.Join(parts, ", "), seen
	}
	for i, c := range m.s.criteria {
		if m.s.stage != stageAfter || m.s.criterion <= i || !m.g.Criteria[i].Required {
			continue
		}
		switch {
		case c.after == criterionUnverified:
			return -1, ReasonCriterion, m.g.Criteria[i].Name + " could not be run: not verified", seen
		case c.after != criterionPassed:
			return -1, ReasonCriterion, m.g.Criteria[i].Name + " does not hold", seen
		}
	}
	return -1, "", "", seen
}

// runSnapshot is the answer to a snapshot of the whole run: before a jump, or for the verdict.
func (m *machine) runSnapshot(e Event) {
	switch {
	case m.s.jumpTree:
		m.s.tree = e.Tree
		tree := e.Tree
		if tree == "" {
			tree = UnknownTree
		}
		m.s.jumpTree = false
		if m.s.ending == nil {
			m.jump(tree)
		}
	case m.s.stage == stageAfter && m.s.criterion >= len(m.g.Criteria) && !m.s.judged:
		m.s.tree, m.s.judged = e.Tree, true
		if m.s.ending != nil {
			return
		}
		culprit, reason, text, seen := m.verdict()
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
	m.leaveRest("never entered", stoppedBefore)
	m.close(end.status, end.reason, end.text, end.seen)
}

// stoppedBefore is why a phase did not run when the run was stopped; a resume queues such phases again.
const stoppedBefore = "the run ended before it"

func (m *machine) close(status RunStatus, reason, text string, seen []Seen) {
	m.s.stage, m.s.status, m.s.reason, m.s.text = stageEnded, status, reason, text
	e := Event{Kind: RunEnded, Status: status.String(), Reason: reason, Text: text, Seen: seen}
	if status == RunAccepted {
		e.Tree = m.s.tree
	}
	m.record(e)
}

// criterionDone takes a criterion's outcome, before the work or before acceptance.
func (m *machine) criterionDone(e Event) {
	i := m.s.criterion
	open := (m.s.stage == stageBefore || m.s.stage == stageAfter) && i < len(m.g.Criteria)
	if !open || m.g.Criteria[i].Name != e.Criterion || e.Result == nil || e.Result.Before != (m.s.stage == stageBefore) {
		m.warn(-1, "an outcome of criterion %q that nobody waits for was ignored", e.Criterion)
		return
	}
	outcome := criterionFailed
	switch e.Outcome {
	case "passed":
		outcome = criterionPassed
	case "unverified":
		outcome = criterionUnverified
	}
	m.s.criterion++
	if m.s.stage == stageAfter {
		m.s.criteria[i].after = outcome
		return
	}
	m.s.criteria[i].before = outcome
	if m.s.criterion == len(m.g.Criteria) {
		m.s.stage, m.s.criterion = stageWork, 0
	}
}

// limits are the pipeline's with all that was granted on top; zero is no limit.
func (m *machine) limits() graph.Limits {
	l := m.g.Limits
	if l.Turns > 0 {
		l.Turns += m.s.grants.Turns
	}
	if l.Tokens > 0 {
		l.Tokens += m.s.grants.Tokens
	}
	if l.Cost > 0 {
		l.Cost += m.s.grants.Cost
	}
	if l.Phases > 0 {
		l.Phases += m.s.grants.Phases
	}
	return l
}

// turnLimit names the budget that allows no further turn.
func (m *machine) turnLimit() string {
	l := m.limits()
	switch {
	case l.Turns > 0 && m.s.turns >= l.Turns:
		return "turns"
	case l.Tokens > 0 && m.s.tokens >= l.Tokens:
		return "tokens"
	case l.Cost > 0 && m.s.cost >= l.Cost:
		return "cost"
	}
	return ""
}

func (m *machine) budget(limit string) {
	l := m.limits()
	var text string
	switch limit {
	case "turns":
		text = fmt.Sprintf("%d of %d turns used", m.s.turns, l.Turns)
	case "tokens":
		text = fmt.Sprintf("%d of %d tokens used", m.s.tokens, l.Tokens)
	case "cost":
		text = fmt.Sprintf("%.2f of %.2f spent", m.s.cost, l.Cost)
	case "phases":
		text = fmt.Sprintf("%d of %d phase visits used", m.s.visits, l.Phases)
	case "time":
		text = fmt.Sprintf("%s are over", l.Time)
	}
	m.end(m.firstOpen(), RunRejected, ReasonBudget+":"+limit, text, nil)
}

// firstOpen is the earliest phase that has not ended well.
func (m *machine) firstOpen() graph.PhaseID {
	for _, p := range m.s.plan.order {
		if st := m.s.phases[p].status; st != Success && st != Skipped && !m.g.Phases[p].Detour {
			return p
		}
	}
	return -1
}
