package check

import "foundry/graph"

// This file names the items of phases that are repeated over lists. No graph has them before a run, so a test says
// what it gives by the name that an item will have, and what it gives under the name of the phase serves every item
// by itself.

// servedBy lists the names under which a test may give something for a phase: its own, then those without the key of
// the innermost item, of the one around it, and of both, the most particular first.
func servedBy(g *graph.Graph, p graph.PhaseID) []string {
	ph := &g.Phases[p]
	if ph.Owner < 0 {
		return []string{ph.Name}
	}
	var names []string
	for _, owner := range servedBy(g, ph.Owner) {
		if ph.Item != nil {
			names = append(names, owner+"["+ph.Item.Key+"]", owner)
		} else {
			names = append(names, owner+"/"+ph.Local)
		}
	}
	return names
}
