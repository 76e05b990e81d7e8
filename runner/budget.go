package runner

import (
	"fmt"

	"foundry/graph"
)

// This file keeps the budgets. What turns have spent counts when they have ended; a driver that hears of it while they go
// on asks whether that is too much already.

// limits are the pipeline's with all that was granted on top; zero is no limit.
func (s *State) limits(g *graph.Graph) graph.Limits {
	l := g.Limits
	if l.Time > 0 {
		l.Time += s.grants.Time
	}
	if l.Turns > 0 {
		l.Turns += s.grants.Turns
	}
	if l.Tokens > 0 {
		l.Tokens += s.grants.Tokens
	}
	if l.Cost > 0 {
		l.Cost += s.grants.Cost
	}
	if l.Phases > 0 {
		l.Phases += s.grants.Phases
	}
	return l
}

func (m *machine) limits() graph.Limits { return m.s.limits(m.g) }

// turnLimit names the budget that allows no further turn.
func (m *machine) turnLimit() string {
	if l := m.limits(); l.Turns > 0 && m.s.turns >= l.Turns {
		return "turns"
	}
	limit, _ := m.s.Exhausted(m.g, 0, 0)
	return limit
}

// Exhausted names the budget, tokens or cost, that is used up when the turns under way have spent so much on top of what
// those before them did, and says by what; limit is "" when none is.
func (s State) Exhausted(g *graph.Graph, tokens int, cost float64) (limit, text string) {
	tokens, cost = s.tokens+tokens, s.cost+cost
	l := s.limits(g)
	switch {
	case l.Tokens > 0 && tokens >= l.Tokens:
		return "tokens", fmt.Sprintf("%d of %d tokens used", tokens, l.Tokens)
	case l.Cost > 0 && cost >= l.Cost:
		return "cost", fmt.Sprintf("%.2f of %.2f spent", cost, l.Cost)
	}
	return "", ""
}

// budget ends the run for a budget that is used up. text says by what; the machine itself knows it when it is "".
func (m *machine) budget(limit, text string) {
	l := m.limits()
	switch {
	case text != "":
	case limit == "turns":
		text = fmt.Sprintf("%d of %d turns used", m.s.turns, l.Turns)
	case limit == "phases":
		text = fmt.Sprintf("%d of %d phase visits used", m.s.visits, l.Phases)
	case limit == "time":
		text = fmt.Sprintf("%s are over", l.Time)
	default:
		_, text = m.s.Exhausted(m.g, 0, 0)
	}
	m.end(m.firstOpen(-1), RunRejected, ReasonBudget+":"+limit, text, nil)
}
