package runner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"foundry/envelope"
	"foundry/graph"
)

// This file runs an agent's visit: snapshot, then attempts of turn, envelope, boundary and gates, then the
// agent's own word. Boundary and gate failures spend attempts; an unusable reply spends corrections.

// sendTurn asks for one more turn of the visit, if the budgets allow one.
func (m *machine) sendTurn(p graph.PhaseID, purpose Purpose, problems []string) {
	if limit := m.turnLimit(); limit != "" {
		m.budget(limit, "")
		m.finishWork(p)
		return
	}
	w := &m.edit(p).work
	w.step, w.purpose, w.problems, w.sent, w.resent, w.limited, w.asked = stepTurn, purpose, problems, false, false, false, nil
	if purpose.Reviews() {
		w.step = stepReview
	}
	w.turn++
	m.s.turns++
	m.spoke(p, 1)
}

// spoke counts a turn in the visit, and in the session that has it: the one that the agent has in this run, or the visit's
// own.
func (m *machine) spoke(p graph.PhaseID, n int) {
	ph := m.edit(p)
	ph.spent.turns += n
	w := &ph.work
	if m.g.Phases[p].OwnSession(w.purpose.Reviews()) {
		*w.ownTurns() += n
		return
	}
	m.s.sessions[m.g.Agents[w.worker()].Session] += n
}

// ownTurns counts the turns of the visit's own session with whoever has the turn: the phase's agent, or its reviewer.
func (w *work) ownTurns() *int {
	if w.purpose.Reviews() {
		return &w.review.own
	}
	return &w.own
}

func (m *machine) startAttempt(p graph.PhaseID) {
	e := m.at(p, AttemptStarted)
	e.Attempt = m.s.phases[p].work.attempt
	m.record(e)
}

// turnEnded looks at how a turn ended: a reply is read, a harness failure goes to a fallback.
func (m *machine) turnEnded(p graph.PhaseID, e Event) {
	if e.Reply == nil {
		e.Reply = &Reply{Stop: StopError, Error: "the turn ended without an outcome"}
	}
	r := e.Reply
	w := &m.edit(p).work
	w.reply = r
	if e.Reused != nil { // nothing was sent, so nothing was spent and the session knows nothing of it
		m.s.turns--
		m.spoke(p, -1)
	}
	m.s.tokens += r.Tokens
	m.s.cost += r.Cost
	ph := m.edit(p)
	ph.spent.tokens += r.Tokens
	ph.spent.cost += r.Cost
	if !r.CostKnown {
		m.s.unknown = true
	}
	if m.cutOff(p) {
		m.finishWork(p)
		return
	}
	switch {
	case r.Stop == StopLimit:
		// Nothing was got for it: the turn is sent again once the limit has ended.
		m.s.status, m.s.resetAt, w.limited = RunPaused, r.ResetAt, true
	case r.Stop == StopPermission:
		m.stoppedForPermission(p, e)
	case w.step == stepReview:
		m.reviewEnded(p, r)
	case r.Stop == StopEnd || r.Stop == StopTruncated:
		m.read(p, r)
	case r.Stop == StopTimeout:
		m.harnessFailed(p, ReasonTimeout, r.Error)
	default:
		m.harnessFailed(p, ReasonHarness, r.Error)
	}
}

// harnessFailed goes on with the next fallback agent, which gets the whole prompt and what is in the tree;
// without one the phase fails once its changes have been looked at.
func (m *machine) harnessFailed(p graph.PhaseID, reason, text string) {
	w := &m.edit(p).work
	first := &m.g.Agents[m.g.Phases[p].Agent]
	if w.fallbacks < len(first.Fallback) {
		next := first.Fallback[w.fallbacks]
		m.warn(p, "agent %s failed (%s); agent %s goes on", m.g.Agents[w.agent].Name, text, m.g.Agents[next].Name)
		w.fallbacks++
		w.agent, w.digests, w.retold, w.truncated, w.own = next, nil, 0, 0, 0
		m.sendTurn(p, ForPrompt, nil)
		return
	}
	m.failAfterBoundary(p, reason, text)
}

func (m *machine) failAfterBoundary(p graph.PhaseID, reason, text string) {
	w := &m.edit(p).work
	w.fail, w.failText, w.step = reason, text, stepBoundary
}

// read takes the envelope out of a reply.
func (m *machine) read(p graph.PhaseID, r *Reply) {
	kind := m.g.Phases[p].Envelope
	got := envelope.Parse(kind, r.Text, r.Stop == StopTruncated)
	if r.Error != "" { // what came cannot be read at all
		got = envelope.Result{Problems: []envelope.Problem{{Message: r.Error}}}
	}
	if got.Envelope != nil && kind.LimitsChanges() {
		if found := badLimits(m.s.info.Request, got.Envelope); len(found) > 0 {
			got = envelope.Result{Problems: found}
		}
	}
	w := &m.edit(p).work
	if got.Envelope != nil {
		if bad := m.planProblems(p, got.Envelope); len(bad) > 0 {
			m.replan(p, bad)
			return
		}
		w.envelope, w.retold, w.truncated = got.Envelope, 0, 0
		e := m.at(p, EnvelopeAccepted)
		e.Attempt, e.Turn, e.Problems = w.attempt, w.turn, got.Notes
		e.Envelope, _ = json.Marshal(got.Envelope)
		m.record(e)
		w.step = stepBoundary
		return
	}
	var problems []string
	for _, pr := range got.Problems {
		problems = append(problems, pr.String())
	}
	e := m.at(p, EnvelopeRejected)
	e.Attempt, e.Turn, e.Problems = w.attempt, w.turn, problems
	if got.Truncated {
		e.Reason = ReasonTruncated
		w.truncated++
	} else {
		w.truncated = 0
	}
	m.record(e)
	w.retold++
	switch {
	case w.truncated >= 2:
		m.failAfterBoundary(p, ReasonTruncated, "the reply was cut off twice in a row")
	case w.retold > m.g.Agents[m.g.Phases[p].Agent].EnvelopeRetries:
		m.failAfterBoundary(p, ReasonEnvelope, "no usable report: "+strings.Join(problems, "; "))
	default:
		if got.Truncated {
			problems = append([]string{"the reply was cut off; send a shorter report"}, problems...)
		}
		m.sendTurn(p, ForEnvelope, problems)
	}
}

// replan sends a plan back that cannot be carried out, once; then the phase that made it has failed.
func (m *machine) replan(p graph.PhaseID, problems []string) {
	w := &m.edit(p).work
	e := m.at(p, EnvelopeRejected)
	e.Attempt, e.Turn, e.Problems = w.attempt, w.turn, problems
	m.record(e)
	if w.replanned {
		m.failAfterBoundary(p, ReasonEnvelope, "the plan cannot be carried out: "+strings.Join(problems, "; "))
		return
	}
	w.replanned = true
	m.sendTurn(p, ForEnvelope, problems)
}

// boundaryChecked: what the visit changed is known, and what it may not change is undone.
func (m *machine) boundaryChecked(p graph.PhaseID, e Event) {
	w := &m.edit(p).work
	w.violations, w.changed, w.changedSet, w.tree = m.heldAgainst(p, e.Outside), slices.Sorted(slices.Values(e.Changed)), !e.Unknown, e.Tree
	m.now(p, e.Tree)
	switch {
	case m.cutOff(p):
		m.finishWork(p)
	case m.g.Phases[p].Kind != graph.AgentWork:
		if len(m.g.Phases[p].Gates) > 0 {
			w.verdicts, w.step = nil, stepGates
			return
		}
		m.endCode(p)
	case w.asked != nil && len(w.violations) == 0:
		m.askPermission(p)
	case w.asked != nil: // it is told of that first, and asks again if it still has to
		w.asked = nil
		m.judge(p)
	case w.fail != "":
		o := failed
		if w.fail == ReasonTimeout {
			o = timedOut
		}
		m.settle(p, m.resultOf(p, Fail, o, w.fail, w.failText))
	case w.envelope["status"] == "blocked" && !m.refuses(p):
		m.settle(p, m.resultOf(p, Blocked, blockedOut, "", blockedText(w.envelope)))
	case len(m.g.Phases[p].Gates) > 0:
		w.verdicts, w.step = nil, stepGates
	default:
		m.judge(p)
	}
}

func (m *machine) gateChecked(p graph.PhaseID, e Event) {
	w := &m.edit(p).work
	w.verdicts = append(slices.Clone(w.verdicts), gateVerdict{gate: e.Gate, outcome: e.Outcome, event: e})
	if len(w.verdicts) < len(m.g.Phases[p].Gates) {
		return
	}
	if m.cutOff(p) {
		m.finishWork(p)
		return
	}
	if m.g.Phases[p].Kind != graph.AgentWork {
		m.endCode(p)
		return
	}
	m.judge(p)
}

// refuses: a valid envelope whose kind has `approved`, and it is false, is a rejection whatever its status.
func (m *machine) refuses(p graph.PhaseID) bool {
	yes, ok := m.s.phases[p].work.envelope["approved"].(bool)
	return ok && !yes && m.g.Phases[p].Envelope.Approves()
}

// judge decides an attempt whose boundary and gates are known.
func (m *machine) judge(p graph.PhaseID) {
	w := &m.edit(p).work
	if w.envelope["status"] == "fail" && !m.refuses(p) {
		m.settle(p, m.resultOf(p, Fail, failed, ReasonReported, summaryOf(w.envelope)))
		return
	}
	bad := slices.ContainsFunc(w.verdicts, gateVerdict.failed)
	if bad || len(w.violations) > 0 {
		if w.attempt-w.review.failed <= m.g.Phases[p].Retries {
			m.nextAttempt(p, ForCheck)
			return
		}
		reason := ReasonGate
		if len(w.violations) > 0 {
			reason = ReasonBoundary
		}
		m.settle(p, m.resultOf(p, Fail, failed, reason, checksText(w.violations, w.verdicts)))
		return
	}
	m.suspect(p)
	if m.refuses(p) {
		m.settle(p, m.resultOf(p, Rejected, rejected, ReasonRejected, objections(&result{envelope: w.envelope})))
		return
	}
	if m.g.Phases[p].Review != nil {
		m.beginReview(p)
		return
	}
	m.settle(p, m.resultOf(p, Success, passed, "", ""))
}

// nextAttempt asks for the work once more in the same visit.
func (m *machine) nextAttempt(p graph.PhaseID, purpose Purpose) {
	w := &m.edit(p).work
	w.attempt++
	w.retold, w.truncated, w.of = 0, 0, 0
	m.startAttempt(p)
	m.sendTurn(p, purpose, nil)
}

// suspect warns of a phase that may write, called no tool, changed nothing and claims success.
func (m *machine) suspect(p graph.PhaseID) {
	w := &m.s.phases[p].work
	if m.g.Phases[p].Writer && w.reply != nil && w.reply.CallsKnown && w.reply.Calls == 0 && w.changedSet && len(w.changed) == 0 {
		m.warn(p, "%s claims success without one tool call and without a change", m.g.Phases[p].Name)
	}
}

// resultOf is what the visit comes to, from its work.
func (m *machine) resultOf(p graph.PhaseID, s Status, o outcome, reason, text string) *result {
	w := &m.s.phases[p].work
	return &result{visit: m.s.phases[p].visits, attempt: w.attempt, status: s, outcome: o, reason: reason, text: text, exit: -1, command: w.command,
		envelope: w.envelope, changed: w.changed, changedSet: w.changedSet, violations: w.violations, gates: w.verdicts, tree: w.tree}
}

func summaryOf(e envelope.Object) string {
	s, _ := e["summary"].(string)
	return s
}

func blockedText(e envelope.Object) string {
	b, _ := e["blocked"].(map[string]any)
	reason, _ := b["reason"].(string)
	needs, _ := b["needs"].(string)
	switch {
	case reason == "" && needs == "":
		return summaryOf(e)
	case needs == "":
		return reason
	}
	return fmt.Sprintf("%s (needs: %s)", reason, needs)
}

// mergeDigests keeps what was sent last of each input.
func mergeDigests(old, sent []InputDigest) []InputDigest {
	out := slices.Clone(old)
	for _, d := range sent {
		if i := slices.IndexFunc(out, func(o InputDigest) bool { return o.Name == d.Name }); i >= 0 {
			out[i] = d
		} else {
			out = append(out, d)
		}
	}
	return out
}
