package runner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"foundry/envelope"
	"foundry/gates"
	"foundry/graph"
)

// This file has the review of a phase: once its boundary and gates have passed, another agent judges what was done. It
// changes nothing, and a pass that cites nothing which exists is none. An answer that cannot be used is corrected once;
// without one the phase ends unverified, since nobody has said that the work is bad. A review that fails begins
// another attempt, as often as the phase allows.

// reviewing is the progress of a visit's reviews.
type reviewing struct {
	agent     int             // the reviewer at work; a fallback perhaps
	fallbacks int             // of the visit
	own       int             // turns of the visit's own session with the reviewer, if it has one
	failed    int             // reviews that failed, each of which began another attempt
	retold    bool            // the answer was corrected once in this review
	answer    envelope.Object // the newest answer; nil when it cannot be used
	problems  []string        // why it cannot
	lost      string          // why there is none: its harness failed
}

func newReviewing(g *graph.Graph, p graph.PhaseID) reviewing {
	return reviewing{agent: reviewerAfter(g, p, 0)}
}

// reviewerAfter is the agent that reviews a phase after so many harness failures; -1 when nobody does.
func reviewerAfter(g *graph.Graph, p graph.PhaseID, fallbacks int) int {
	r := g.Phases[p].Review
	if r == nil {
		return -1
	}
	all := g.AndFallbacks(r.Agent)
	return all[min(fallbacks, len(all)-1)]
}

// worker is the agent at work, be it the phase's or its reviewer's.
func (w *work) worker() int {
	if w.step == stepReview || w.step == stepVerdict {
		return w.review.agent
	}
	return w.agent
}

func (m *machine) beginReview(p graph.PhaseID) {
	m.edit(p).work.review.retold = false
	m.sendTurn(p, ForReview, nil)
}

// reviewEnded reads the answer. Whatever it is, what the reviewer did is looked at first.
func (m *machine) reviewEnded(p graph.PhaseID, r *Reply) {
	rv := &m.edit(p).work.review
	rv.answer, rv.problems, rv.lost = nil, nil, ""
	switch {
	case r.Stop != StopEnd && r.Stop != StopTruncated:
		rv.lost = r.Error
		if rv.lost == "" {
			rv.lost = string(r.Stop)
		}
	case r.Error != "": // what came cannot be read at all
		rv.problems = []string{r.Error}
	default:
		got := envelope.Parse(envelope.Review(), r.Text, r.Stop == StopTruncated)
		rv.answer = got.Envelope
		for _, pr := range got.Problems {
			rv.problems = append(rv.problems, pr.String())
		}
	}
	m.setStep(p, stepVerdict)
}

// reviewChecked decides with what the reviewer left behind and with what it cites.
func (m *machine) reviewChecked(p graph.PhaseID, e Event) {
	m.now(p, e.Tree)
	if m.cutOff(p) {
		m.finishWork(p)
		return
	}
	if w := &m.edit(p).work; w.asked != nil {
		if len(e.Outside) == 0 {
			w.tree = cmp.Or(e.Tree, w.tree)
			m.askPermission(p)
			return
		}
		w.asked = nil // it is told of that first, and asks again if it still has to
	}
	rv := &m.edit(p).work.review
	if rv.lost != "" {
		m.reviewerFailed(p, e)
		return
	}
	if problems := unusable(rv, e); len(problems) > 0 {
		no := m.at(p, EnvelopeRejected)
		no.Attempt, no.Turn, no.Purpose, no.Agent, no.Problems = e.Attempt, m.s.phases[p].work.turn, ForReview.String(), m.g.Agents[rv.agent].Name, problems
		m.record(no)
		if rv.retold {
			m.unverified(p, e, "no usable answer: "+strings.Join(problems, "; "))
			return
		}
		rv.retold = true
		m.sendTurn(p, ForReviewAgain, problems)
		return
	}
	verdict, reason := text(rv.answer, "verdict"), strings.TrimSpace(text(rv.answer, "reason"))
	m.reviewed(p, e, verdict, reason)
	switch verdict {
	case envelope.VerdictPass:
		m.settle(p, m.resultOf(p, Success, passed, "", ""))
	case envelope.VerdictUnreachable:
		m.settle(p, m.resultOf(p, Fail, failed, ReasonReview, "it cannot be judged: "+reason))
	default:
		m.reviewFailed(p, reason)
	}
}

// unusable lists why an answer cannot be used.
func unusable(rv *reviewing, e Event) []string {
	problems := slices.Clone(rv.problems)
	for _, v := range e.Outside {
		fate := "it was undone"
		if !v.Undone {
			fate = "it was not undone"
		}
		problems = append(problems, fmt.Sprintf("a review changes nothing, and %s was %s meanwhile; %s", quote(v.Path), v.Change, fate))
	}
	if rv.answer == nil {
		return problems
	}
	if text(rv.answer, "verdict") == envelope.VerdictPass {
		if !slices.ContainsFunc(e.Checks, func(c gates.Check) bool { return c.OK }) {
			problems = append(problems, "evidence: a pass has to cite a path that exists, or a call that was made"+notThere(e.Checks))
		}
	} else if strings.TrimSpace(text(rv.answer, "reason")) == "" {
		problems = append(problems, "reason: is empty, it must say why")
	}
	return problems
}

func notThere(cited []gates.Check) string {
	if len(cited) == 0 {
		return "; nothing was cited"
	}
	names := make([]string, len(cited))
	for i, c := range cited {
		names[i] = quote(c.Item)
	}
	return "; not found: " + strings.Join(names, ", ")
}

// reviewerFailed goes on with the reviewer's next fallback. Nobody has judged when there is none left.
func (m *machine) reviewerFailed(p graph.PhaseID, e Event) {
	rv := &m.edit(p).work.review
	all := m.g.AndFallbacks(m.g.Phases[p].Review.Agent)
	if rv.fallbacks+1 == len(all) {
		m.unverified(p, e, fmt.Sprintf("reviewer %s failed: %s", m.g.Agents[rv.agent].Name, rv.lost))
		return
	}
	rv.fallbacks++
	next := all[rv.fallbacks]
	m.warn(p, "reviewer %s failed (%s); agent %s goes on", m.g.Agents[rv.agent].Name, rv.lost, m.g.Agents[next].Name)
	rv.agent, rv.own = next, 0
	m.sendTurn(p, ForReview, nil)
}

// unverified ends a visit that nobody could judge: well for its routes, and not as passed for acceptance.
func (m *machine) unverified(p graph.PhaseID, e Event, why string) {
	m.reviewed(p, e, Unverified.String(), why)
	m.settle(p, m.resultOf(p, Unverified, passed, ReasonReview, why))
}

// reviewed records what a review came to, with the tree that it is about.
func (m *machine) reviewed(p graph.PhaseID, e Event, verdict, reason string) {
	w := &m.s.phases[p].work
	j := m.at(p, ReviewJudged)
	j.Attempt, j.Turn, j.Agent, j.Outcome, j.Text, j.Checks, j.Tree = w.attempt, w.turn, m.g.Agents[w.review.agent].Name, verdict, reason, e.Checks, e.Tree
	m.record(j)
}

// reviewFailed begins another attempt, or ends the visit.
func (m *machine) reviewFailed(p graph.PhaseID, reason string) {
	w, review := &m.edit(p).work, m.g.Phases[p].Review
	w.failText = reason
	switch {
	case w.review.failed < review.Retries:
		w.review.failed++
		m.nextAttempt(p, ForMending)
	case review.Revert:
		m.setStep(p, stepUndo).after = undoneReview
	default:
		m.settle(p, m.resultOf(p, Fail, failed, ReasonReview, reason))
	}
}

// reverted ends a visit whose work was undone. What stays of it was changed by somebody else meanwhile.
func (m *machine) reverted(p graph.PhaseID, e Event) {
	w := &m.edit(p).work
	w.changed, w.changedSet, w.tree = e.Changed, true, e.Tree
	m.settle(p, m.resultOf(p, Fail, failed, ReasonReview, w.failText))
}

// Cited is what the newest answer of a phase's reviewer cites.
func Cited(s State, p graph.PhaseID) []string {
	list, _ := s.phases[p].work.review.answer["evidence"].([]any)
	var out []string
	for _, v := range list {
		if t, ok := v.(string); ok {
			out = append(out, t)
		}
	}
	return out
}

func text(o envelope.Object, field string) string {
	t, _ := o[field].(string)
	return t
}

// reviewPrompt renders a reviewer's turn. It is told everything each time: what it judged before was other work.
func reviewPrompt(g *graph.Graph, s State, c Command, w World, remembers bool) (out Message, err error) {
	p := c.ID.Phase
	values := w.into(valuesOf(g, s, p, nil))
	if agent := &g.Agents[c.Agent]; agent.System != nil && (!remembers || c.Session <= 1) {
		if out.System, err = agent.System.Render(values); err != nil {
			return out, err
		}
	}
	var parts []string
	if c.Purpose == ForReview || !remembers || c.Session <= 1 {
		inputs, err := inputTexts(g, s, p, values, w)
		if err != nil {
			return out, err
		}
		step, err := wholePrompt(g, s, p, values, inputs)
		if err != nil {
			return out, err
		}
		parts = reviewSections(g, s, p, strings.Join(step, "\n\n"), w)
	}
	answer := "End your reply with one JSON object of this form, and nothing after it. A pass has to cite evidence: a path that exists in the " +
		"workspace or in the changes, or a call by its number. Say fail when the work has to be done better, and what is missing; say unreachable " +
		"when it cannot be judged and another attempt would not help.\n\n```json\n" + strings.TrimSpace(envelope.Review().Example()) + "\n```"
	if c.Purpose == ForReviewPermission {
		parts = append(parts, permissionTexts(&s.phases[p].work, g.Agents[c.Agent].Name, remembers)...)
	}
	if c.Purpose == ForReviewAgain {
		parts = append(parts, "Your answer could not be used:\n- "+strings.Join(s.phases[p].work.problems, "\n- "))
	}
	out.Text = strings.Join(append(parts, answer), "\n\n") + "\n"
	return out, nil
}

// reviewSections are what a reviewer is shown of a visit.
func reviewSections(g *graph.Graph, s State, p graph.PhaseID, step string, w World) []string {
	wk := &s.phases[p].work
	report, err := json.MarshalIndent(trimmed(wk.envelope), "", "  ")
	if err != nil {
		panic("BUG: a checked report is no JSON: " + err.Error())
	}
	part := func(title, text string) string {
		if text = strings.TrimSpace(text); text == "" {
			text = "(nothing)"
		}
		return "# " + title + "\n\n" + text
	}
	return []string{
		fmt.Sprintf("Judge what phase %s did. Look at the work itself, in the workspace, and do not take the report's word for it. You may read and "+
			"run everything, and change nothing: whatever you change is undone.", g.Phases[p].Local),
		part("The request", s.info.Request),
		part("What the phase was asked to do", step),
		part("Its report", "```json\n"+string(report)+"\n```"),
		part("What it changed", w.Diff),
		part("Checks", gatesText(wk.verdicts)),
		part("What it was seen to do", callsText(w.Calls)),
	}
}

// gatesText lists all gates with what they found.
func gatesText(verdicts []gateVerdict) string {
	var lines []string
	for _, v := range verdicts {
		lines = append(lines, "- "+v.gate+": "+v.outcome)
		for _, c := range v.event.Checks {
			if c.Note != "" {
				lines = append(lines, "  - "+c.Item+": "+c.Note)
			} else {
				lines = append(lines, "  - "+c.Item)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// mostCalls is how many calls a reviewer is shown, the newest.
const mostCalls = 200

func callsText(calls []string) string {
	var lines []string
	for i := max(0, len(calls)-mostCalls); i < len(calls); i++ {
		lines = append(lines, fmt.Sprintf("- call %d: %s", i+1, calls[i]))
	}
	return strings.Join(lines, "\n")
}

// reviewCorrection asks to mend what a reviewer found.
func reviewCorrection(wk *work) string {
	return "A reviewer looked at the work and does not let it pass:\n" + wk.failText +
		"\n\nMend the work, or say in your report why it is right as it is. Then report again, for the whole of this phase."
}
