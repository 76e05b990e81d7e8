package report

import (
	"fmt"

	"foundry/graph"
	"foundry/runner"
)

// This file says, before a run, what it can take at most: in turns as it was proven, and in money by what turns of earlier
// runs have cost.

// unbounded is where a bound is of no use to anybody any more.
const unbounded = 1_000_000_000

// Worst is the worst case of a pipeline in a line, "" when no agent works in it. past are earlier runs, of any pipeline.
func Worst(g *graph.Graph, past []runner.Outline) string {
	turns, most := g.Bound.Turns, g.Limits.Turns
	if turns == 0 {
		return ""
	}
	text := count(turns, "turn")
	switch {
	case most > 0 && most < turns && turns < unbounded:
		text = fmt.Sprintf("%s, the limit; without it %s", count(most, "turn"), thousands(turns))
	case most > 0 && most < turns:
		text = count(most, "turn") + ", the limit"
	case turns >= unbounded:
		return "more turns than anyone will see"
	}
	if most > 0 {
		turns = min(turns, most)
	}
	return text + money(g, turns, past)
}

// money is what so many turns cost by what earlier runs of the pipeline paid for theirs.
func money(g *graph.Graph, turns int, past []runner.Outline) string {
	runs, had, paid := 0, 0, 0.0
	for i := range past {
		o := &past[i]
		if o.Pipeline == g.Pipeline && o.Usage.Turns > 0 && o.Usage.Cost != nil && *o.Usage.Cost > 0 {
			runs, had, paid = runs+1, had+o.Usage.Turns, paid+*o.Usage.Cost
		}
	}
	if had == 0 {
		return ""
	}
	cost := paid / float64(had) * float64(turns)
	text := "about " + Cost(&cost)
	if cost < 0.005 {
		text = Cost(&cost)
	}
	if l := g.Limits.Cost; l > 0 && l < cost {
		text = fmt.Sprintf("$%.2f, the limit", l)
	}
	return fmt.Sprintf("; %s, as a turn of %s has cost %s", text, count(runs, "earlier run"), cents(paid/float64(had)))
}

// cents is a small amount of US dollars.
func cents(v float64) string {
	if v < 0.01 {
		return fmt.Sprintf("$%.4f", v)
	}
	return fmt.Sprintf("$%.2f", v)
}
