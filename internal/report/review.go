package report

import (
	"foundry/gates"
	"foundry/runner"
)

// This file draws reviews of phases: what a reviewer came to, and what it cites.

// Review is what a reviewer came to.
type Review struct {
	Agent    string        `json:"agent"`
	Attempt  int           `json:"attempt"`
	Verdict  string        `json:"verdict"` // pass, fail, unreachable, unverified
	Reason   string        `json:"reason"`
	Evidence []gates.Check `json:"evidence"` // what it cites, and whether that exists
	Tree     string        `json:"tree"`     // what it is about
}

func reviewOf(e *runner.Event) Review {
	r := Review{Agent: e.Agent, Attempt: e.Attempt, Verdict: e.Outcome, Reason: e.Text, Evidence: e.Checks, Tree: e.Tree}
	if r.Evidence == nil {
		r.Evidence = []gates.Check{}
	}
	return r
}

func (r *Review) paint() Paint {
	switch r.Verdict {
	case "pass":
		return Green
	case "unverified":
		return Yellow
	}
	return Red
}

// found is the verdict in words.
func (r *Review) found() string {
	words := map[string]string{"pass": "passed", "fail": "failed", "unreachable": "cannot be judged"}
	return first(words[r.Verdict], r.Verdict) + prefixed(": ", firstLine(r.Reason))
}

func (p *Plain) review(e *runner.Event) string {
	r := reviewOf(e)
	line := p.line(e, r.paint(), "review", r.Agent+": "+r.found())
	for _, c := range r.Evidence {
		if !c.OK {
			line += p.under(Dim, "cites "+c.Item+prefixed(": ", c.Note))
		}
	}
	return line
}

// turnWord and reportWord say whose turn or report a line is about.
func turnWord(e *runner.Event) string {
	if e.OfReview() {
		return "review"
	}
	return "turn"
}

func reportWord(e *runner.Event) string {
	if e.OfReview() {
		return "review"
	}
	return "report"
}
