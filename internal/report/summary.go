package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"foundry/gates"
	"foundry/graph"
	"foundry/runner"
)

// Run is what `show --json` prints. Its shape is a promise: keys are added, never renamed or taken away.
type Run struct {
	runner.Outline
	Phases   []PhaseRow     `json:"phases"`   // in the order of the pipeline
	Criteria []CriterionRow `json:"criteria"` // those that were checked, in the order of the pipeline
	After    []After        `json:"after"`    // what followed the end of the run
}

// PhaseRow is a phase as its newest visit left it.
type PhaseRow struct {
	ID         string             `json:"id"`
	Kind       string             `json:"kind"`   // agent, run, command, builtin, ask, call, each; "" when it never ran and the graph is not known
	Status     string             `json:"status"` // queued, running, waiting, success, fail, rejected, skipped, not_run, stopped, unverified, blocked
	Reason     string             `json:"reason"` // of the newest visit, or why there was none
	Visits     int                `json:"visits"`
	Attempts   int                `json:"attempts"` // of the newest visit of an agent
	Started    *time.Time         `json:"started"`
	Ended      *time.Time         `json:"ended"`
	Exit       *int               `json:"exit"`           // of the command; nil when none ran
	Runs       int                `json:"runs,omitempty"` // of a phase with repeat: which of its runs the exit is of
	Reused     *runner.Reused     `json:"reused"`         // the visit that the evidence is from, when nothing was started; else nil
	Envelope   json.RawMessage    `json:"envelope"`       // null when there is none
	Gates      []Gate             `json:"gates"`
	Reviews    []Review           `json:"reviews"` // of the newest visit, one for each attempt that was judged
	Violations []runner.Violation `json:"violations"`
	Items      []ItemRow          `json:"items"`
}

// Summary is the run that the trace tells of. g may be nil.
func (t *Trace) Summary(g *graph.Graph) Run {
	r := Run{Outline: t.Outline, Phases: []PhaseRow{}, Criteria: []CriterionRow{}, After: append([]After{}, t.After...)}
	for i := range t.Criteria {
		r.Criteria = append(r.Criteria, t.Criteria[i].row())
	}
	for _, p := range t.Phases {
		r.Phases = append(r.Phases, t.row(p, p.Newest(), g))
	}
	return r
}

// PhaseRow is a phase as one of its visits left it, 0 for the newest. An error says that the run has no such phase or visit.
func (t *Trace) PhaseRow(name string, visit int, g *graph.Graph) (PhaseRow, error) {
	p, v, err := t.Lookup(name, visit)
	if err != nil && (p == nil || visit != 0) {
		return PhaseRow{}, err
	}
	return t.row(p, v, g), nil
}

// row is a phase with one of its visits; nil is none.
func (t *Trace) row(p *Phase, v *Visit, g *graph.Graph) PhaseRow {
	row := PhaseRow{ID: p.Name, Kind: p.Kind(g), Status: p.Status, Reason: p.Why, Visits: len(p.Visits),
		Gates: []Gate{}, Reviews: []Review{}, Violations: []runner.Violation{}, Items: []ItemRow{}}
	if v == nil {
		return row
	}
	if v != p.Newest() {
		row.Status, row.Reason = v.Status, ""
	}
	row.Attempts = v.Attempts
	row.Started = &v.Started
	if !v.Ended.IsZero() {
		row.Ended = &v.Ended
	}
	if row.Reason == "" {
		row.Reason = v.Reason
	}
	if v.Result != nil {
		row.Exit, row.Runs = &v.Result.Exit, v.Result.Round
	}
	row.Envelope = v.Envelope
	for _, gate := range v.Gates {
		if gate.Checks == nil {
			gate.Checks = []gates.Check{}
		}
		row.Gates = append(row.Gates, gate)
	}
	row.Reviews = append(row.Reviews, v.Reviews...)
	row.Reused = v.Reused
	row.Violations = append(row.Violations, v.Violations...)
	row.Items = t.items(p, v)
	return row
}

// Kind is what the phase does, as `show --json` says it; from the graph, else from what was seen of it.
func (p *Phase) Kind(g *graph.Graph) string {
	if g != nil {
		if ph, ok := g.Expect(p.Name); ok {
			switch kind := ph.Kind; {
			case kind == graph.AgentWork:
				return "agent"
			case kind == graph.Ask:
				return "ask"
			case kind == graph.Calls:
				return "call"
			case kind == graph.FansOut:
				return "each"
			case kind != graph.Code:
				return "builtin"
			case ph.Command != "":
				return "command"
			default:
				return "run"
			}
		}
	}
	v := p.Newest()
	switch {
	case v == nil:
		return ""
	case v.Each != "":
		return "each"
	case v.Calls != "":
		return "call"
	case v.Turns > 0:
		return "agent"
	case v.Question != "" || v.Answer != "":
		return "ask"
	case v.Commit != "":
		return "builtin"
	case v.Result != nil:
		return "run"
	}
	return ""
}

// JSON is an event as one line of `up --output json`, the same bytes as in the log, without the line break.
func JSON(e runner.Event) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&e); err != nil {
		return nil, fmt.Errorf("encode event %d (%s): %w", e.Seq, e.Kind, err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
