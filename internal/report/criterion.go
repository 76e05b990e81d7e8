package report

import (
	"strings"

	"foundry/runner"
)

// This file has what the criteria of a run showed. One that was met before the work has not been met by it: it proves
// nothing, and every view says so.

// Criterion is what a criterion showed before the work and after it.
type Criterion struct {
	Name          string
	Optional      bool // it decides nothing
	Before, After CriterionCheck
}

// CriterionCheck is one check of a criterion.
type CriterionCheck struct {
	Outcome string // passed, failed, unverified; "" when there was none
	Result  *runner.CommandResult
}

// CriterionRow is a criterion as `show --json` prints it.
type CriterionRow struct {
	Name     string  `json:"name"` // call/name for one of a called pipeline
	Required bool    `json:"required"`
	Before   *string `json:"before"` // passed, failed, unverified; null when it was not checked
	After    *string `json:"after"`
	Exit     *int    `json:"exit"`   // after the work; null when it was not checked, or there was no exit code
	Proves   bool    `json:"proves"` // it was met after the work, and not before
}

// criterion folds a check of a criterion.
func (t *Trace) criterion(e *runner.Event) {
	c := t.criterionOf(e)
	if c == nil {
		t.Criteria = append(t.Criteria, Criterion{Name: criterionName(e), Optional: e.Optional})
		c = &t.Criteria[len(t.Criteria)-1]
	}
	if check := (CriterionCheck{e.Outcome, e.Result}); isBefore(e) {
		c.Before = check
	} else {
		c.After = check
	}
}

// criterionName is call/name for a criterion of a called pipeline.
func criterionName(e *runner.Event) string {
	if e.Phase != "" {
		return e.Phase + "/" + e.Criterion
	}
	return e.Criterion
}

func (t *Trace) criterionOf(e *runner.Event) *Criterion {
	for i := range t.Criteria {
		if t.Criteria[i].Name == criterionName(e) {
			return &t.Criteria[i]
		}
	}
	return nil
}

func isBefore(e *runner.Event) bool { return e.Result != nil && e.Result.Before }

// proves says that the work has brought about what the criterion asks for.
func (c *Criterion) proves() bool { return c.After.Outcome == "passed" && c.Before.Outcome != "passed" }

// found is what the criterion showed, in words.
func (c *Criterion) found() (Paint, string) {
	bad, optional := Red, ""
	if c.Optional {
		bad, optional = Yellow, " (optional)"
	}
	text := ""
	if r := c.After.Result; r != nil {
		text = ", " + howEnded(r)
	}
	switch c.After.Outcome {
	case "":
		return Yellow, "not verified: it did not run"
	case "unverified":
		return bad, "not verified: it could not be run" + c.whyNot() + optional
	case "failed":
		return bad, "not met" + text + optional
	}
	if !c.proves() {
		return Yellow, "met" + text + "; it was met before the work too, so it proves nothing"
	}
	return Green, "met" + text
}

// whyNot says why a criterion could not be run.
func (c *Criterion) whyNot() string {
	r := c.After.Result
	if r == nil {
		return ""
	}
	said := firstLine(strings.Join(r.Notes, "; "))
	if said == "" {
		said = firstLine(strings.Join(lastLines(r.Output, 1), ""))
	}
	if said == "" && r.Exit >= 0 {
		said = howEnded(r)
	}
	return prefixed(": ", said)
}

func (c *Criterion) row() CriterionRow {
	row := CriterionRow{Name: c.Name, Required: !c.Optional, Proves: c.proves()}
	if o := c.Before.Outcome; o != "" {
		row.Before = &o
	}
	if o := c.After.Outcome; o != "" {
		row.After = &o
	}
	if r := c.After.Result; r != nil && r.Exit >= 0 {
		row.Exit = &r.Exit
	}
	return row
}

// criterion draws a check as it comes.
func (p *Plain) criterion(e *runner.Event) string {
	c := p.trace.criterionOf(e)
	if c == nil {
		return ""
	}
	if isBefore(e) {
		if e.Outcome == "passed" {
			return p.line(e, Yellow, "criterion", e.Criterion+" passes before the work, so it will prove nothing")
		}
		return ""
	}
	paint, found := c.found()
	line := p.line(e, paint, "criterion", e.Criterion+" is "+found)
	if e.Outcome == "failed" && e.Result != nil {
		line += p.tail(e.Result)
	}
	return line
}
