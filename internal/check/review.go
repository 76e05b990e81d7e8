package check

import (
	"encoding/json"
	"slices"

	"foundry/envelope"
	"foundry/graph"
	"foundry/runner"
	"foundry/schema"
)

// This file makes up reviewers. What one answers stands in the entry of the turn that it judges.

// Review is the answer of a reviewer: "unverified" is one that cannot be used.
type Review struct {
	Verdict  string
	Reason   string
	Evidence []string
	Cites    bool // Evidence was given, be it empty; else something that exists is cited
}

func reviewOf(r *schema.Review) *Review {
	if !r.Set {
		return nil
	}
	return &Review{Verdict: r.Verdict.Value, Reason: r.Reason.Value, Evidence: r.Evidence.Values(), Cites: r.Evidence.Set}
}

// made is what stands for evidence and for a reason where none is given.
const made = "given"

// reviewTurn is the turn of a reviewer, which works with the entry of the visit's newest turn.
func (w *World) reviewTurn(c runner.Command, e runner.Event) ([]runner.Event, error) {
	given := w.visit(c).newest
	if given.Review == nil {
		return nil, &NotGivenError{Name: e.Phase, What: "review", Visit: c.ID.Visit, N: c.ID.Attempt, At: given.At}
	}
	e.Kind, e.Purpose, e.Reply = runner.TurnEnded, c.Purpose.String(), &runner.Reply{Stop: runner.StopEnd, Text: given.Review.reply(), CostKnown: true}
	return []runner.Event{e}, nil
}

func (r *Review) reply() string {
	answer := map[string]any{"verdict": r.Verdict, "reason": r.Reason, "evidence": append([]string{}, r.Evidence...)}
	if r.Verdict == runner.Unverified.String() {
		return "no verdict"
	}
	if r.Reason == "" {
		answer["reason"] = made
	}
	if !r.Cites {
		answer["evidence"] = []string{made}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic("BUG: a made-up answer is no JSON: " + err.Error())
	}
	return string(text)
}

// reviewed looks for what a reviewer cites: among the files where some were given, and everywhere else what it cites is there.
func (w *World) reviewed(s runner.State, c runner.Command, e runner.Event) []runner.Event {
	v := w.visit(c)
	e.Kind, e.Tree = runner.ReviewChecked, w.name(*w.place(v))
	e.Checks = runner.CheckCited(runner.Cited(s, c.ID.Phase), nil, func(path string) bool {
		cites := v.newest.Review != nil && v.newest.Review.Cites
		return !cites || !v.files || w.place(v).look(path).Exists || slices.Contains(v.paths(), path)
	})
	return []runner.Event{e}
}

// verdicts are the outcomes of a review, the usual one first.
var verdicts = []string{envelope.VerdictPass, envelope.VerdictFail, envelope.VerdictUnreachable, runner.Unverified.String()}

// reviewOptions are the usual outcome of a phase with a review, and the other verdicts.
func reviewOptions(ph *graph.Phase, usual Given) []option {
	if ph.Review == nil {
		return nil
	}
	var out []option
	for _, verdict := range verdicts[1:] {
		given := usual
		given.Review = &Review{Verdict: verdict}
		out = append(out, option{"review: " + verdict, given})
	}
	return out
}
