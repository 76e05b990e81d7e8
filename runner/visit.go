package runner

import (
	"slices"

	"foundry/graph"
)

// This file begins visits, runs code phases and asks, and ends what has to stop.

// skips evaluates `when` and says whether the phase is over without a visit.
func (m *machine) skips(p graph.PhaseID) bool {
	cond := m.g.Phases[p].When
	if cond == nil {
		return false
	}
	holds, seen, err := cond.Holds(m.values(p, nil))
	if err != nil {
		m.unreadable(p, "`when`", err)
		return true
	}
	if holds {
		return false
	}
	ph := m.move(p, Skipped)
	ph.why, ph.handled = "when is false", false
	e := m.at(p, PhaseSkipped)
	e.Reason, e.Seen = ph.why, seenTerms(seen)
	m.record(e)
	m.leaveInner(p, m.g.Phases[p].Name+" is skipped")
	m.expire(p)
	m.route(p, skipped)
	return true
}

// begin enters a phase.
func (m *machine) begin(p graph.PhaseID) {
	if limit := m.limits().Phases; limit > 0 && m.s.visits >= limit {
		m.budget("phases", "")
		return
	}
	m.s.visits++
	m.s.status = RunRunning
	if m.s.plan.uses[p] != 0 && !m.apart(p) {
		m.groupEnds()
	}
	if m.s.phases[p].goesOn && m.g.Phases[p].Body() == nil {
		m.judgeAgain(p)
		return
	}
	given := m.handedOn(p, m.handOver(p))
	digests := m.s.phases[p].work.digests
	if m.g.Phases[p].OwnSession(false) {
		digests = nil // a new session knows nothing of them
	}
	m.visit(p, work{attempt: 1, agent: m.g.Phases[p].Agent, given: given, digests: digests, review: newReviewing(m.g, p)})
	e := m.at(p, PhaseStarted)
	e.Feedback = given
	e.Calls, e.Each = runs(&m.g.Phases[p])
	m.record(e)
	if err := checkTexts(m.g, m.s, p); err != nil {
		m.settle(p, m.resultOf(p, Fail, failed, ReasonExpression, err.Error()))
		return
	}
	switch {
	case m.apart(p):
		m.beginApart(p)
	case m.needsStart(p):
		m.edit(p).work.step = stepStart
	default:
		m.work(p)
	}
}

// visit begins the next visit of a phase, with the work that it begins with.
func (m *machine) visit(p graph.PhaseID, w work) {
	m.edit(p).work = w // first: whether anything of the phase is carried out follows from it too
	ph := m.move(p, Running)
	ph.visits++
	ph.began, ph.beganAt, ph.spent = m.s.visits, m.s.busy, spending{}
	ph.handled, ph.pending, ph.carried, ph.why = false, -1, "", ""
}

// runs is the pipeline that a phase runs, and the list over which one is repeated; "" for every other phase.
func runs(ph *graph.Phase) (pipeline, list string) {
	if ph.Call != nil {
		pipeline = ph.Call.Pipeline
	}
	if ph.Each != nil {
		list = ph.Each.In.Text()
	}
	return pipeline, list
}

// needsStart says whether somebody will compare with, or go back to, what was there before the phase.
func (m *machine) needsStart(p graph.PhaseID) bool {
	ph := &m.g.Phases[p]
	switch ph.Kind {
	case graph.AgentWork, graph.Commit:
		return true
	case graph.Code:
		return ph.Declared || ph.Optional || len(ph.Gates) > 0 || m.s.plan.looked.Has(p)
	case graph.Calls, graph.FansOut:
		return ph.Optional
	case graph.Ask:
		return false
	}
	return false
}

// work starts what the phase is for.
func (m *machine) work(p graph.PhaseID) {
	if m.s.phases[p].work.of > 0 {
		m.judgeWork(p)
		return
	}
	switch m.g.Phases[p].Kind {
	case graph.AgentWork:
		m.startAttempt(p)
		m.sendTurn(p, ForPrompt, nil)
	case graph.Ask:
		m.edit(p).work.step = stepAsk
	case graph.Calls:
		m.enter(p)
	case graph.FansOut:
		m.enterEach(p)
	default:
		m.edit(p).work.step = stepCommand
	}
}

// snapshot is the answer to one that a phase wanted.
func (m *machine) snapshot(p graph.PhaseID, e Event) {
	m.s.tree = e.Tree
	m.tampered(p, e)
	left := m.leftBehind(p, e)
	w := &m.edit(p).work
	switch w.step {
	case stepStart:
		if m.apart(p) {
			m.groupBegins(e)
			return
		}
		w.startTree = e.Tree
		if m.cutOff(p) {
			m.finishWork(p)
			return
		}
		if left != "" {
			m.leaveOut(p, left)
			return
		}
		m.work(p)
	case stepEnd:
		w.tree = e.Tree
		if m.g.Phases[p].Body() == nil {
			m.settleCode(p)
		} else if m.cutOff(p) {
			m.stop(p)
		} else {
			m.settleCall(p)
		}
	case stepJump:
		tree := e.Tree
		if tree == "" {
			tree = UnknownTree
		}
		if m.setStep(p, stepInner); !m.cutOff(p) {
			m.jump(p, tree)
		}
	case stepAsk:
		w.tree, w.startTree = e.Tree, e.Tree
		if m.cutOff(p) {
			m.finishWork(p)
			return
		}
		if left != "" {
			m.leaveOut(p, left)
			return
		}
		m.move(p, Waiting)
		a := m.at(p, AskRaised)
		a.Tree = e.Tree
		m.edit(p).work.context = e.Text
		a.Text, _ = Question(m.g, m.s, p)
		m.record(a)
	}
}

// now notes the tree that a look at a phase's workspace has found, if that is the run's.
func (m *machine) now(p graph.PhaseID, tree string) {
	if tree != "" && !m.apart(p) {
		m.s.tree = tree
	}
}

func (m *machine) commandEnded(p graph.PhaseID, e Event) {
	w := &m.edit(p).work
	if r := e.Result; r != nil && r.Round > 0 && e.Reused == nil && r.Round != w.rounds+1 {
		m.warn(p, "a late %s was ignored", e.Kind)
		return
	}
	w.command, w.commit = e.Result, e.Commit
	if w.command == nil {
		w.command = &CommandResult{Exit: -1}
	}
	switch {
	case m.cutOff(p):
		m.finishWork(p)
	case e.Reused == nil && w.rounds+1 < m.g.Phases[p].Repeat && exited(&m.g.Phases[p], w.command) == "":
		w.rounds++ // once more
	case m.needsStart(p):
		w.step = stepBoundary
	default:
		m.endCode(p)
	}
}

// endCode takes the snapshot that acceptance will read, then settles.
func (m *machine) endCode(p graph.PhaseID) {
	w := &m.edit(p).work
	if m.g.Phases[p].NeedsTree && w.tree == "" && !m.watching(-1) {
		w.step = stepEnd
		return
	}
	m.settleCode(p)
}

func (m *machine) settleCode(p graph.PhaseID) {
	if m.cutOff(p) {
		m.finishWork(p)
		return
	}
	w, ph := &m.s.phases[p].work, &m.g.Phases[p]
	c := w.command
	var r *result
	switch {
	case c.Timeout:
		r = m.resultOf(p, Fail, timedOut, ReasonTimeout, "")
	case exited(ph, c) != "":
		r = m.resultOf(p, Fail, failed, ReasonExit, exited(ph, c))
	case len(w.violations) > 0:
		r = m.resultOf(p, Fail, failed, ReasonBoundary, checksText(w.violations, nil))
	case slices.ContainsFunc(w.verdicts, gateVerdict.failed):
		r = m.resultOf(p, Fail, failed, ReasonGate, checksText(nil, w.verdicts))
	default:
		r = m.resultOf(p, Success, passed, "", "")
	}
	r.exit = c.Exit
	m.settle(p, r)
}

// exited says what is wrong with how a command ended, "" when nothing is.
func exited(ph *graph.Phase, c *CommandResult) string {
	switch {
	case c.Timeout, !ph.Passes(c.Exit), c.Signal != "":
		return howItEnded(c)
	case len(c.Missing) > 0:
		return "a required output was not found: " + c.Missing[0]
	}
	return ""
}

// answered takes a person's word. It counts for this visit only.
func (m *machine) answered(p graph.PhaseID, e Event) {
	if p < 0 || m.s.phases[p].status != Waiting || m.s.phases[p].visits != e.Visit {
		m.warn(p, "an answer to a question that is not open was ignored")
		return
	}
	if m.s.status != RunPaused { // a usage limit has not ended by that
		m.s.status = RunRunning
	}
	var r *result
	switch e.Answer {
	case "approve":
		r = m.resultOf(p, Success, passed, "", e.Text)
	case "reject":
		r = m.resultOf(p, Rejected, rejected, ReasonRejected, e.Text)
	default:
		r = m.resultOf(p, Fail, timedOut, ReasonTimeout, "nobody answered in time")
	}
	r.answer = e.Answer
	if e.Answer != "" {
		r.envelope = map[string]any{"status": "success", "summary": "", "artifacts": []any{}, "notes_for_next_agent": e.Text,
			"blocked": map[string]any{"reason": "", "needs": ""}}
	}
	m.settle(p, r)
}

// undoThen puts a phase's changes back before it counts as skipped or stopped.
func (m *machine) undoThen(p graph.PhaseID, after afterUndo) {
	ph := m.edit(p)
	if ph.work.startTree == "" {
		m.afterUndo(p, after)
		return
	}
	if ph.status != Running {
		m.move(p, Running)
	}
	m.setStep(p, stepUndo).after = after
}

func (m *machine) undone(p graph.PhaseID, e Event) {
	w := &m.edit(p).work
	m.now(p, e.Tree)
	if w.after == undoneReview && !m.cutOff(p) {
		m.reverted(p, e)
		return
	}
	m.afterUndo(p, w.after)
}

func (m *machine) afterUndo(p graph.PhaseID, after afterUndo) {
	if after == undoneStop || m.cutOff(p) {
		if m.s.phases[p].status != Running {
			m.move(p, Running)
		}
		m.stop(p)
		return
	}
	ph := m.move(p, Skipped)
	ph.left, ph.why = remains{}, "optional, and it failed"
	e := m.at(p, PhaseSkipped)
	e.Reason = ph.why
	m.record(e)
	m.route(p, skipped)
}

// cutOff says that the phase is to stop: the run ends, or a jump takes its place.
func (m *machine) cutOff(p graph.PhaseID) bool { return m.s.cutOff(m.g, p) }

// finishWork ends a phase whose run is ending: what it did is put back where that can be done.
func (m *machine) finishWork(p graph.PhaseID) {
	w := &m.s.phases[p].work
	if w.step == stepStart || w.step == stepApart || w.step == stepAsk {
		m.stop(p)
		return
	}
	m.undoThen(p, undoneStop)
}

func (m *machine) stopped(p graph.PhaseID, text string) {
	m.move(p, Stopped)
	e := m.at(p, PhaseStopped)
	e.Text = text
	m.record(e)
}
