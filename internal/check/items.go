package check

import "foundry/graph"

// This file names the items of phases that are repeated over lists. No graph has them before a run, so a test says
// what it gives by the name that an item will have, and what it gives under the name of the phase serves every item
// by itself.

// sharedName is the name under which a test gives something for all items: without their keys.
func sharedName(g *graph.Graph, p graph.PhaseID) string {
	ph := &g.Phases[p]
	switch {
	case ph.Item != nil:
		return sharedName(g, ph.Owner)
	case ph.Owner >= 0:
		return sharedName(g, ph.Owner) + "/" + ph.Local
	}
	return ph.Name
}
