package runner

import (
	"fmt"
	"sync"

	"foundry/dsl"
	"foundry/graph"
)

// This file decides where a run goes when a phase has ended.

func (o outcome) fires(t dsl.Trigger) bool {
	switch t {
	case dsl.Pass:
		return o == passed
	case dsl.Reject:
		return o == rejected
	case dsl.Fail:
		return o == failed || o == timedOut
	case dsl.Timeout:
		return o == timedOut
	case dsl.Skip:
		return o == skipped
	case dsl.Any:
		return o == passed || o == rejected || o == failed || o == timedOut
	}
	return false
}

// settle ends a visit: the status, the record, and the rule that is taken.
func (m *machine) settle(p graph.PhaseID, r *result) {
	if m.holdBack(p, r) {
		return
	}
	ph := m.move(p, r.status)
	r.visit, r.attempt = ph.visits, ph.work.attempt
	ph.result, ph.stale = r, false
	ph.handled = false
	m.ended(p, r)
	m.expire(p)
	m.leaveInner(p, m.g.Phases[p].Name+" ended before it")
	if r.outcome == blockedOut {
		m.edit(p).why = r.text
		return
	}
	m.route(p, r.outcome)
}

func (m *machine) ended(p graph.PhaseID, r *result) {
	e := m.at(p, PhaseEnded)
	e.Status, e.Reason, e.Text, e.Tree, e.Attempt, e.Seen = r.status.String(), r.reason, r.text, r.tree, r.attempt, r.seen
	if r.status == Fail {
		e.Hint = m.g.Phases[p].Hint
	}
	m.record(e)
	if r.status == Blocked {
		b := m.at(p, PhaseBlocked)
		b.Reason, b.Text = "itself", r.text
		m.record(b)
	}
}

// route tries the rules of a phase in order and takes the first that holds and is not used up.
func (m *machine) route(p graph.PhaseID, o outcome) {
	if m.watching(m.owner(p)) {
		m.unmatched(p, o)
		return
	}
	values := sync.OnceValue(func() dsl.Values { return m.values(p, m.s.phases[p].current()) }) // few rules have a condition
	spent := graph.RuleID(-1)
	var spentSeen []Seen
	for _, rule := range m.g.RulesOf(p) {
		if !o.fires(rule.Trigger) {
			continue
		}
		holds, seen := true, []Seen(nil)
		if rule.When != nil {
			h, terms, err := rule.When.Holds(values())
			if err != nil {
				m.unreadable(p, "the condition of rule "+quote(rule.Text), err)
				return
			}
			holds, seen = h, seenTerms(terms)
		}
		if !holds {
			continue
		}
		if m.bounded(rule) && m.s.used[rule.ID] >= rule.Retry+m.s.extra[rule.ID] {
			if spent < 0 {
				spent, spentSeen = rule.ID, seen
			}
			continue
		}
		m.follow(p, rule, o, seen)
		return
	}
	if spent >= 0 {
		m.spent(p, spent, o, spentSeen)
		return
	}
	m.unmatched(p, o)
}

func (m *machine) bounded(r graph.Rule) bool {
	return r.Action == dsl.Goto && (r.Way == graph.Back || r.Way == graph.Self)
}

// spent: only rules that are used up held. That ends the pipeline; an item has failed for good, and the others go on.
func (m *machine) spent(p graph.PhaseID, r graph.RuleID, o outcome, seen []Seen) {
	rule := m.g.Rules[r]
	bound := rule.Retry + m.s.extra[r]
	e := m.at(p, RouteSpent)
	e.Rule, e.Target, e.Used, e.Of, e.Seen = rule.Text, m.g.Phases[rule.Target].Name, m.s.used[r], bound, seen
	m.record(e)
	if m.g.Phases[p].Item != nil {
		m.unmatched(p, o)
		return
	}
	m.endBody(p, ReasonSpent, fmt.Sprintf("%s used %d of %d", m.g.Label(r), m.s.used[r], bound), seen)
}

// unmatched is what happens without a rule: a pass or a skip goes on; a failure leaves out what depends on
// it, or goes on with keep_going, or stops everything with fail_fast. An optional failure becomes a skip.
func (m *machine) unmatched(p graph.PhaseID, o outcome) {
	ph := &m.g.Phases[p]
	if o == passed || o == skipped {
		if ph.Detour {
			m.endDetour(p)
			m.editFrame(m.owner(p)).finishing = true
			return
		}
		m.setRelease(p, releaseOpen, -1)
		return
	}
	if ph.Optional && o != rejected {
		m.undoThen(p, undoneSkip)
		return
	}
	if r := m.s.phases[p].current(); r != nil && r.reason == ReasonHarness {
		// Neither the agent's work nor a check failed: the run could not be carried out.
		m.end(p, RunFailed, ReasonInfrastructure, fmt.Sprintf("agent %s of %s failed: %s", m.g.Agents[m.s.phases[p].work.agent].Name, ph.Name, r.text), nil)
	}
	if ph.Detour {
		m.endDetour(p)
	} else if m.s.info.KeepGoing || m.g.BodyOf(m.owner(p)).KeepGoing {
		m.setRelease(p, releaseOpen, -1)
	} else {
		m.setRelease(p, releaseClosed, -1)
	}
	if m.g.BodyOf(m.owner(p)).FailFast {
		m.endBody(p, ReasonUnmatched, fmt.Sprintf("%s ended %s and no rule took it (fail_fast)", ph.Name, m.s.phases[p].status), nil)
	}
}

// endDetour: what waited for the detour does not run.
func (m *machine) endDetour(d graph.PhaseID) {
	m.setRelease(d, releaseClosed, -1)
	for _, e := range m.s.phases[d].entries {
		m.setRelease(e, releaseClosed, -1)
	}
}

// follow takes a rule.
func (m *machine) follow(p graph.PhaseID, rule graph.Rule, o outcome, seen []Seen) {
	text, err := m.carry(p, rule, o)
	if err != nil {
		m.unreadable(p, "the text of rule "+quote(rule.Text), err)
		return
	}
	m.edit(p).handled = true
	e := m.at(p, RouteTaken)
	e.Rule, e.Seen, e.Feedback = rule.Text, seen, text
	switch rule.Action {
	case dsl.Next:
		e.Target = "next"
		m.record(e)
		m.setRelease(p, releaseOpen, -1)
	case dsl.Finish:
		e.Target = "finish"
		m.record(e)
		if m.g.Phases[p].Detour {
			m.endDetour(p)
		} else {
			m.setRelease(p, releaseClosed, -1)
		}
		m.editFrame(m.owner(p)).finishing = true
	case dsl.Abort:
		e.Target, e.Text = "abort", rule.Message
		m.record(e)
		message := rule.Message
		if message == "" {
			message = m.g.Phases[p].Name + " ended " + m.s.phases[p].status.String()
		}
		m.endBody(p, ReasonAbort, message, seen)
	case dsl.Goto:
		m.goTo(p, rule, e, text)
	}
}

func (m *machine) goTo(p graph.PhaseID, rule graph.Rule, e Event, text string) {
	e.Target = m.g.Phases[rule.Target].Name
	switch rule.Way {
	case graph.Forward:
		m.record(e)
		m.setRelease(p, releaseForward, rule.Target)
		m.deliver(p, rule.Target, text)
	case graph.IntoDetour:
		m.record(e)
		m.setRelease(p, releaseHeld, rule.Target)
		d := m.edit(rule.Target)
		d.entries = append(append([]graph.PhaseID(nil), d.entries...), p)
		m.deliver(p, rule.Target, text)
	default:
		e.Kind, e.Used, e.Of = RoutePending, m.s.used[rule.ID]+1, rule.Retry+m.s.extra[rule.ID]
		m.record(e)
		ph := m.edit(p)
		ph.pending, ph.carried = rule.ID, text
		m.setRelease(p, releaseHeld, -1)
	}
}

// unreadable fails a phase whose own texts read something that has no value. No rule is tried again: the
// rules are what could not be read.
func (m *machine) unreadable(p graph.PhaseID, what string, err error) {
	var r result
	if last := m.s.phases[p].current(); last != nil {
		r = *last
	}
	r.status, r.outcome, r.reason, r.text = Fail, failed, ReasonExpression, fmt.Sprintf("%s cannot be read: %v", what, err)
	if m.s.phases[p].status != Fail {
		m.move(p, Fail)
	}
	ph := m.edit(p)
	ph.result, ph.stale = &r, false
	m.ended(p, &r)
	m.leaveInner(p, m.g.Phases[p].Name+" ended before it")
	if m.g.Phases[p].Detour {
		m.endDetour(p)
		return
	}
	m.setRelease(p, releaseClosed, -1)
}
