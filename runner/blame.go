package runner

import (
	"slices"
	"strings"

	"foundry/graph"
)

// This file has what several phases in one workspace have to answer for. What may not have changed is found when the
// first of them is looked at, and undone; whoever may have done it does not pass.

// AtWork is a visit that is at work.
type AtWork struct {
	Phase string
	Visit int
}

// Beside are the visits that are at work in the same workspace as a phase, the phase itself excepted.
func (s State) Beside(g *graph.Graph, p graph.PhaseID) []AtWork {
	g = s.Graph(g)
	var out []AtWork
	for q := range s.running.All {
		switch ph := s.phases[q]; ph.work.step {
		case stepTurn, stepCommand, stepBoundary:
			if q != p && !g.Phases[q].Apart {
				out = append(out, AtWork{g.Phases[q].Name, ph.visits})
			}
		}
	}
	return out
}

// heldAgainst is what a phase has to answer for of what was found when it was looked at, and of what was found before
// that. What others have to answer for is kept for them.
func (m *machine) heldAgainst(p graph.PhaseID, found []Violation) []Violation {
	own := m.s.phases[p].work.found
	m.edit(p).work.found = nil
	name := m.g.Phases[p].Name
	for _, v := range found {
		if len(v.By) == 0 || slices.Contains(v.By, name) {
			own = append(slices.Clip(own), v)
		}
		for _, by := range v.By {
			if q, ok := m.g.Lookup(by); ok && q != p && m.s.phases[q].status == Running {
				w := &m.edit(q).work
				w.found = append(slices.Clip(w.found), v)
			}
		}
		if len(v.By) > 0 && !slices.Equal(v.By, []string{name}) {
			m.warn(p, "%s was %s while several phases were at work; it is held against %s", quote(v.Path), v.Change, strings.Join(v.By, ", "))
		}
	}
	return own
}
