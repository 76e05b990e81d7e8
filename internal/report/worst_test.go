package report

import (
	"testing"

	"foundry/graph"
	"foundry/runner"
)

func TestWorst(t *testing.T) {
	t.Parallel()
	ran := func(pipeline string, turns int, cost *float64) runner.Outline {
		return runner.Outline{Pipeline: pipeline, Usage: runner.UsageSum{Turns: turns, Cost: cost}}
	}
	dollars := func(v float64) *float64 { return &v }
	past := []runner.Outline{ran("p", 10, dollars(1)), ran("p", 30, dollars(3)), ran("p", 5, nil), ran("q", 100, dollars(900)), ran("p", 3, dollars(0))}
	for _, tt := range []struct {
		bound, turns int
		cost         float64
		past         []runner.Outline
		want         string
	}{
		{0, 60, 0, past, ""},
		{12, 60, 0, nil, "12 turns"},
		{120, 40, 0, nil, "40 turns, the limit; without it 120"},
		{12, 60, 0, past, "12 turns; about $1.20, as a turn of 2 earlier runs has cost $0.10"},
		{120, 40, 2.5, past, "40 turns, the limit; without it 120; $2.50, the limit, as a turn of 2 earlier runs has cost $0.10"},
		{2_000_000_000, 40, 0, nil, "40 turns, the limit"},
		{1, 60, 0, []runner.Outline{ran("p", 1000, dollars(1))}, "1 turn; less than $0.01, as a turn of 1 earlier run has cost $0.0010"},
	} {
		g := &graph.Graph{Body: graph.Body{Pipeline: "p"}, Limits: graph.Limits{Turns: tt.turns, Cost: tt.cost}, Bound: graph.Bound{Turns: tt.bound}}
		if got := Worst(g, tt.past); got != tt.want {
			t.Errorf("bound %d, limit %d: %q, want %q", tt.bound, tt.turns, got, tt.want)
		}
	}
}
