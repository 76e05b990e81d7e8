package check

import (
	"encoding/json"
	"strings"

	"foundry/dsl"
	"foundry/graph"
	"foundry/runner"
)

// This file tells from the events of runs which ways of a pipeline they went.

// coverage is what some runs went through.
type coverage struct {
	visited []bool // by phase
	skipped []bool // by phase: `when` was false
	taken   []bool // by rule
	passed  []bool // by rule: its trigger fired, and it was not taken
	values  map[valueItem]bool

	verdicts map[judgement]bool
	conflict []bool // by phase: its work, or that of an item, did not fit

	items        []bool            // by phase: an item of it was visited
	again, spent map[itemRule]bool // rules of items, taken and used up
}

// judgement is what a review of a phase came to.
type judgement struct {
	phase   graph.PhaseID
	verdict string
}

// itemRule is a rule that the items of a phase have.
type itemRule struct {
	phase graph.PhaseID
	text  string
}

func newCoverage(g *graph.Graph) *coverage {
	return &coverage{visited: make([]bool, len(g.Phases)), skipped: make([]bool, len(g.Phases)),
		taken: make([]bool, len(g.Rules)), passed: make([]bool, len(g.Rules)), values: map[valueItem]bool{}, verdicts: map[judgement]bool{}, conflict: make([]bool, len(g.Phases)),
		items: make([]bool, len(g.Phases)), again: map[itemRule]bool{}, spent: map[itemRule]bool{}}
}

// Called is what a run did in the pipelines that its own one calls, each as a run of its own, by pipeline. It serves
// to tell what tests of a caller cover.
func (r Run) Called(g *graph.Graph) map[string][]Run {
	out := map[string][]Run{}
	for i := range g.Phases {
		call := g.Phases[i].Call
		if call == nil {
			continue
		}
		prefix := g.Phases[i].Name + "/"
		var inner Run
		for _, e := range r.Events {
			var ok bool
			if e.Phase, ok = strings.CutPrefix(e.Phase, prefix); ok {
				e.Target = strings.TrimPrefix(e.Target, prefix)
				inner.Events = append(inner.Events, e)
			}
		}
		out[call.Pipeline] = append(out[call.Pipeline], inner)
	}
	return out
}

// end is a visit whose rules are being tried.
type end struct {
	open  bool
	visit int
	fires func(dsl.Trigger) bool
}

// add takes the events of a run, and values as what to look for in reports.
func (c *coverage) add(g *graph.Graph, events []runner.Event, values []valueItem) {
	ends := make([]end, len(g.Phases))
	for i := range events {
		e := &events[i]
		id, ok := g.Lookup(e.Phase)
		if !ok {
			c.item(g, e)
			continue
		}
		at := &ends[id]
		switch e.Kind {
		case runner.PhaseStarted:
			c.settle(g, id, at, -1)
			c.visited[id] = true
		case runner.ReviewJudged:
			c.verdicts[judgement{id, e.Outcome}] = true
		case runner.EnvelopeAccepted:
			c.report(id, e.Envelope, values)
		case runner.PhaseEnded:
			if e.Reason == runner.ReasonExpression && at.open && at.visit == e.Visit {
				at.open = false // the rules themselves could not be read
				continue
			}
			c.conflict[id] = c.conflict[id] || e.Reason == runner.ReasonConflict
			c.settle(g, id, at, -1)
			*at = end{true, e.Visit, firesAfter(e)}
		case runner.PhaseSkipped:
			c.settle(g, id, at, -1)
			c.skipped[id] = c.skipped[id] || e.Reason == "when is false"
			*at = end{true, e.Visit, func(t dsl.Trigger) bool { return t == dsl.Skip }}
		case runner.RouteTaken, runner.RoutePending, runner.RouteSpent:
			rule, ok := ruleOf(g, e)
			if !ok {
				continue
			}
			c.taken[rule] = c.taken[rule] || e.Kind == runner.RouteTaken
			if e.Kind == runner.RouteSpent {
				rule = -1
			}
			c.settle(g, id, at, rule)
		}
	}
	for id := range ends {
		c.settle(g, graph.PhaseID(id), &ends[id], -1)
	}
}

// item takes an event of an item.
func (c *coverage) item(g *graph.Graph, e *runner.Event) {
	of := g.Repeats(e.Phase)
	if of == nil {
		return
	}
	switch e.Kind {
	case runner.PhaseStarted:
		c.items[of.ID] = true
	case runner.PhaseEnded:
		c.conflict[of.ID] = c.conflict[of.ID] || e.Reason == runner.ReasonConflict
	case runner.RouteTaken:
		c.again[itemRule{of.ID, e.Rule}] = true
	case runner.RouteSpent:
		c.spent[itemRule{of.ID, e.Rule}] = true
	}
}

// settle notes the rules that were passed over before one was taken; all of them when none was.
func (c *coverage) settle(g *graph.Graph, p graph.PhaseID, at *end, taken graph.RuleID) {
	if !at.open {
		return
	}
	at.open = false
	for _, r := range g.RulesOf(p) {
		if r.ID == taken {
			return
		}
		if at.fires(r.Trigger) {
			c.passed[r.ID] = true
		}
	}
}

// firesAfter says which triggers the end of a visit fires.
func firesAfter(e *runner.Event) func(dsl.Trigger) bool {
	return func(t dsl.Trigger) bool {
		switch e.Status {
		case runner.Success.String(), runner.Unverified.String():
			return t == dsl.Pass || t == dsl.Any
		case runner.Rejected.String():
			return t == dsl.Reject || t == dsl.Any
		case runner.Fail.String():
			return t == dsl.Fail || t == dsl.Any || t == dsl.Timeout && e.Reason == runner.ReasonTimeout
		}
		return false
	}
}

func (c *coverage) report(p graph.PhaseID, raw json.RawMessage, values []valueItem) {
	var report map[string]any
	if json.Unmarshal(raw, &report) != nil {
		return
	}
	for _, item := range values {
		if item.phase == p && dsl.Text(valueAt(report, item.field)) == item.value {
			c.values[item] = true
		}
	}
}

func valueAt(o map[string]any, path string) any {
	name, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		return o[name]
	}
	inner, _ := o[name].(map[string]any)
	return valueAt(inner, rest)
}
