package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"foundry/runner"
)

// This file folds events into the trace, one at a time.

// Add folds the next event of the log.
func (t *Trace) Add(e *runner.Event) {
	t.Outline.Add(e)
	if e.Kind == runner.RunResumed {
		t.rested(e)
	}
	t.Last = e.At
	if e.Kind == runner.RunRewound {
		t.rewind(e)
		return
	}
	if e.Phase == "" {
		t.addRun(e)
		return
	}
	p := t.byName[e.Phase]
	if p == nil {
		p = &Phase{Name: e.Phase, Status: "queued", seq: e.Seq}
		t.byName[e.Phase] = p
		t.Phases = slices.Insert(t.Phases, t.position(e.Phase), p)
	}
	t.addPhase(p, e)
	if e.Kind == runner.SnapshotTaken {
		t.tampered(e)
	}
	if e.Kind == runner.CriterionDone {
		t.criterion(e)
	}
	if e.Kind == runner.WorldFailed {
		t.Text, t.Hint = e.Text, e.Hint
	}
	if e.Kind == runner.Warned {
		t.Warnings = append(t.Warnings, e.Phase+": "+e.Text)
	}
}

// position is where a new phase stands: what belongs to an item, and the item, behind the innermost phase that it belongs
// to and all that belongs to that one already, any other phase at the end.
func (t *Trace) position(name string) int {
	at, of := -1, ""
	for i, p := range t.Phases {
		if len(p.Name) > len(of) && strings.Contains(name, "[") && runner.Within(p.Name, name) {
			at, of = i, p.Name
		}
	}
	if at < 0 {
		return len(t.Phases)
	}
	for at++; at < len(t.Phases) && runner.Within(of, t.Phases[at].Name); at++ {
	}
	return at
}

// rewind forgets the visits, and the items, that began behind the point that the run goes back to; they stay in the log.
func (t *Trace) rewind(e *runner.Event) {
	t.Seen, t.Text, t.Hint, t.blame, t.Paused, t.Asks, t.Settled = nil, "", "", "", time.Time{}, nil, ""
	t.Phases = slices.DeleteFunc(t.Phases, func(p *Phase) bool {
		later := p.seq > e.To
		if later {
			delete(t.byName, p.Name)
		}
		return later
	})
	for _, p := range t.Phases {
		p.Visits = slices.DeleteFunc(p.Visits, func(v *Visit) bool { return v.seq > e.To })
		p.Status, p.Why = "queued", ""
		if v := p.Newest(); v != nil {
			p.Status = v.Status
		}
	}
}

// addRun folds an event that concerns the run as a whole.
func (t *Trace) addRun(e *runner.Event) {
	switch e.Kind {
	case runner.RunStarted:
		if e.Run != nil {
			t.Info = *e.Run
		}
	case runner.RunResumed:
		t.Seen, t.Text, t.Hint, t.blame, t.Paused = nil, "", "", "", time.Time{}
		if e.Jobs > 0 {
			t.Info.Jobs, t.Info.Agents = e.Jobs, e.Agents
		}
	case runner.RunEnded:
		t.Seen, t.blame = e.Seen, e.Culprit
		if e.Text != "" {
			t.Text = e.Text
		}
		t.Asks = nil
		t.leaveOut()
		t.After = nil
	case runner.AfterStarted, runner.AfterEnded:
		t.after(e)
	case runner.RunSettled:
		t.Settled, t.SettledHint = e.Text, e.Hint
	case runner.RunInterrupted, runner.RunKilled, runner.WorldFailed:
		if e.Text != "" {
			t.Text = e.Text
		}
		if e.Hint != "" {
			t.Hint = e.Hint
		}
		if e.File != "" {
			t.SetupLog = e.File
		}
	case runner.CriterionDone:
		t.criterion(e)
	case runner.SnapshotTaken:
		t.tampered(e)
	case runner.Warned:
		t.Warnings = append(t.Warnings, e.Text)
	case runner.OutsideChanged:
		t.Outside = append(t.Outside, e.Changed...)
	case runner.ProcessLeft:
		t.Left = append(t.Left, e.Text)
	case runner.RunDiscarded:
		t.Dropped, t.DroppedRef = true, e.Ref
	case runner.SetupRan:
		if e.Result != nil {
			t.Setup = append(t.Setup, *e.Result)
			if e.Result.Exit != 0 {
				t.SetupLog = e.File
			}
		}
	}
}

// after folds a command that follows the end of the run.
func (t *Trace) after(e *runner.Event) {
	i := slices.IndexFunc(t.After, func(a After) bool { return a.ID == e.After })
	if i < 0 {
		t.After = append(t.After, After{})
		i = len(t.After) - 1
	}
	t.After[i] = After{ID: e.After, On: e.Purpose, Outcome: first(e.Outcome, "running"), Text: e.Text, Result: e.Result, Log: e.File}
}

// tampered folds what a snapshot found that nobody may write: it stands with each visit that ran meanwhile.
func (t *Trace) tampered(e *runner.Event) {
	if len(e.Outside) == 0 {
		return
	}
	for _, name := range e.Suspects {
		if p := t.byName[name]; p != nil && p.Newest() != nil {
			p.Newest().Violations = append(p.Newest().Violations, e.Outside...)
		} else {
			for _, v := range e.Outside {
				t.Warnings = append(t.Warnings, fmt.Sprintf("%s: %s was %s: %s", name, flatPath(v.Path), v.Change, v.Reason))
			}
		}
	}
}

// leaveOut is told that the run has its verdict: what is still queued will not run in it.
func (t *Trace) leaveOut() {
	if !t.Outline.Final() {
		return
	}
	for _, p := range t.Phases {
		if p.Status == "queued" {
			p.Status, p.Why = "not_run", "the run ended before it"
		}
	}
}

// addPhase folds an event of a phase. What ends a phase without a visit of its own (skipped, not run, blocked by
// another one) carries the number of an earlier visit, which it does not touch.
func (t *Trace) addPhase(p *Phase, e *runner.Event) {
	switch e.Kind {
	case runner.PhaseQueued:
		p.Status, p.Why = "queued", ""
		return
	case runner.PhaseStarted:
		p.Status, p.Why = "running", ""
		p.Newest().cutOff(t.left)
		p.Visits = append(p.Visits, &Visit{N: e.Visit, seq: e.Seq, Started: e.At, Status: "running", Feedback: e.Feedback,
			From: t.routes[p.Name], CostKnown: true, TokensKnown: true, Agent: e.Agent, Calls: e.Calls, Each: e.Each, JudgedAgain: e.Because})
		delete(t.routes, p.Name)
		return
	case runner.PhaseSkipped:
		p.Status, p.Why = "skipped", first(e.Text, e.Reason)
		return
	case runner.PhaseNotRun:
		p.Status, p.Why = "not_run", first(e.Text, e.Reason)
		return
	case runner.PhaseBlocked:
		p.Status, p.Why = "blocked", first(e.Text, e.Reason)
		return
	}
	if v := p.visit(e.Visit); v != nil {
		t.addVisit(p, v, e)
	}
	if e.Kind == runner.TurnEnded && e.Reply != nil && e.Reply.Stop == runner.StopLimit {
		t.Paused, t.Text = e.Reply.ResetAt, e.Reply.Error
	}
}

func (t *Trace) addVisit(p *Phase, v *Visit, e *runner.Event) {
	switch e.Kind {
	case runner.PhaseEnded:
		p.Status = e.Status
		v.end(e, e.Status)
		v.Seen = e.Seen
		t.closeAsk(p.Name)
	case runner.PhaseStopped:
		p.Status, p.Why = "stopped", first(e.Text, e.Reason)
		v.end(e, "stopped")
		t.closeAsk(p.Name)
	case runner.PhaseInvalidated:
		v.Invalid = true
	case runner.PhaseDue:
		v.Due = e.Text
	case runner.ApartMade:
		v.Worktree = e.Worktree
	case runner.GraphGrown:
		v.Items = append([]runner.GrownItem{}, e.Items...)
	case runner.RouteTaken, runner.RouteSpent, runner.RoutePending:
		t.route(v, e)
	case runner.AskRaised:
		p.Status, v.Status, v.Question = "waiting", "waiting", e.Text
		t.Asks = append(t.Asks, Ask{p.Name, v.N, e.Text})
	case runner.AskWithdrawn:
		v.end(e, "withdrawn")
		t.closeAsk(p.Name)
	case runner.PermissionAsked:
		v.asked = e.Text
	case runner.PermissionAnswered:
		v.Permits = append(v.Permits, Permit{Question: first(v.Question, v.asked), Answer: e.Answer, Who: e.Who, Note: e.Text})
		if v.Status == "waiting" {
			p.Status, v.Status, v.Question = "running", "running", ""
			t.closeAsk(p.Name)
		}
	case runner.AskAnswered:
		v.Answer, v.Who, v.Note = e.Answer, e.Who, e.Text
		t.closeAsk(p.Name)
	default:
		v.add(e)
	}
}

func (v *Visit) end(e *runner.Event, status string) {
	v.Status, v.Ended, v.Reason, v.Text, v.Hint = status, e.At, e.Reason, e.Text, e.Hint
}

// route notes a rule. A jump back is decided first (pending) and taken later; what its condition saw and what it
// hands on stand in the first event only.
func (t *Trace) route(v *Visit, e *runner.Event) {
	r := &Route{From: e.Phase, To: e.Target, Rule: e.Rule, Used: e.Used, Of: e.Of, Seen: e.Seen, Feedback: e.Feedback}
	switch e.Kind {
	case runner.RoutePending:
		t.pending[e.Phase] = r
	case runner.RouteTaken:
		if was := t.pending[e.Phase]; was != nil && was.Rule == r.Rule {
			r.Seen, r.Feedback = was.Seen, was.Feedback
			delete(t.pending, e.Phase)
		}
		v.Route = r
		t.routes[e.Target] = r
	case runner.RouteSpent:
		v.Spent = append(v.Spent, *r)
	}
}

// Culprit is the phase to look at when a run was not accepted, the one that its reason speaks of; else the one that a false
// term of acceptance names, else, in the order of the pipeline, the first that stands failed or, of a run that waits, is
// blocked; "" when there is none.
func (t *Trace) Culprit() string {
	if t.blame != "" || t.Status == "accepted" || t.Word == runner.ReasonCriterion {
		return t.blame
	}
	for _, s := range t.Seen {
		if s.Value == "true" {
			continue
		}
		for _, p := range t.Phases {
			if s.Term == "all_phases_pass" && p.Status == "unverified" || strings.Contains(s.Term, `"`+p.Name+`"`) || strings.Contains(s.Term, "phases."+p.Name+".") {
				return t.within(p.Name)
			}
		}
	}
	for _, p := range t.Phases {
		if p.Status == "blocked" && p.Newest() != nil || p.stands() && t.Status != "waiting" {
			return t.within(p.Name)
		}
	}
	return ""
}

// stands says that the phase stands failed.
func (p *Phase) stands() bool {
	return (p.Status == "fail" || p.Status == "rejected") && p.Newest() != nil
}

// within is the first phase of a call or a list that stands failed or blocked, the innermost one; the phase itself when there
// is none.
func (t *Trace) within(name string) string {
	for _, p := range t.Phases {
		if v := p.Newest(); runner.Within(name, p.Name) && v != nil && !v.Holds() && (p.stands() || p.Status == "blocked") {
			return p.Name
		}
	}
	return name
}

func (t *Trace) closeAsk(phase string) {
	for i := range t.Asks {
		if t.Asks[i].Phase == phase {
			t.Asks = append(t.Asks[:i:i], t.Asks[i+1:]...)
			return
		}
	}
}

// visit is the visit of a number; the newest for 0.
func (p *Phase) visit(n int) *Visit {
	if n == 0 {
		return p.Newest()
	}
	for i := len(p.Visits) - 1; i >= 0; i-- {
		if p.Visits[i].N == n {
			return p.Visits[i]
		}
	}
	return nil
}

// add folds what happened inside the visit.
func (v *Visit) add(e *runner.Event) {
	if e.File != "" {
		v.Files = append(v.Files, e.File)
		if e.Kind != runner.TurnStarted {
			v.Log = e.File
		}
	}
	switch e.Kind {
	case runner.AttemptStarted:
		v.Attempts, v.Gates = max(v.Attempts, e.Attempt), nil
	case runner.ReviewChecked:
		v.Violations = append(v.Violations, e.Outside...)
	case runner.ReviewJudged:
		v.Reviews, v.Reviewing = append(v.Reviews, reviewOf(e)), ""
	case runner.UndoDone:
		if e.Purpose == runner.ForReview.String() {
			v.Changed = e.Changed
		}
	case runner.TurnStarted:
		if v.Turns++; e.OfReview() {
			v.Reviewing = e.Agent
			return
		}
		v.Agent, v.Harness, v.Model = first(e.Agent, v.Agent), first(e.Harness, v.Harness), e.Model
	case runner.TurnEnded:
		if e.Reused != nil {
			v.Reused = e.Reused
			v.Turns--
			return
		}
		if e.Reply == nil || !e.Reply.CostKnown {
			v.CostKnown = false
		}
		if e.Reply == nil || !e.Reply.TokensKnown() {
			v.TokensKnown = false
		}
		if e.Reply != nil {
			v.Tokens += e.Reply.Tokens
			v.Cost += e.Reply.Cost
		}
	case runner.EnvelopeAccepted:
		v.Envelope = e.Envelope
	case runner.EnvelopeRejected:
		if e.OfReview() {
			return
		}
		v.Retold++
	case runner.BoundaryChecked:
		v.Changed = e.Changed
		v.Violations = append(v.Violations, e.Outside...)
	case runner.GateChecked:
		v.Gates = append(v.Gates, Gate{e.Gate, e.Outcome, e.Checks})
	case runner.CommandEnded:
		v.Result, v.Commit = e.Result, first(e.Commit, v.Commit)
		v.Reused, v.Because = e.Reused, e.Because
	}
}

// first is the first text that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
