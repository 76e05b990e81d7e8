package graph

import (
	"fmt"
	"slices"
	"strings"
)

// This file says how two graphs differ, by phase and key, for somebody who goes on with a run after its pipeline
// was edited. It compares the parts that fingerprints are made of, so that both always agree.

// Change says what became of a phase. The zero value is invalid.
type Change uint8

// The changes of a phase.
const (
	Added Change = iota + 1
	Removed
	Edited
)

// Difference is what became of one phase, or of the pipeline as a whole when Phase is "".
type Difference struct {
	Phase  string
	Change Change
	Keys   []string // of Edited: the keys of the file that say something else now, as agents.coder.model
}

func (d Difference) String() string {
	name := d.Phase
	if name == "" {
		name = "the pipeline"
	}
	switch d.Change {
	case Added:
		return name + ": new"
	case Removed:
		return name + ": no longer there"
	}
	return name + ": " + strings.Join(d.Keys, ", ")
}

// Compare lists how a pipeline differs from what it was: phases that are gone, then phases in their order, then the
// pipeline as a whole. Where a run works and whether it merges are settled when it starts, and left out.
func Compare(was, now *Graph) []Difference {
	var out []Difference
	for i := range was.Phases {
		if _, ok := now.Lookup(was.Phases[i].Name); !ok {
			out = append(out, Difference{Phase: was.Phases[i].Name, Change: Removed})
		}
	}
	for i := range now.Phases {
		ph := &now.Phases[i]
		id, ok := was.Lookup(ph.Name)
		if !ok {
			out = append(out, Difference{Phase: ph.Name, Change: Added})
			continue
		}
		keys := was.PhaseKeys(id, now, ph.ID)
		if !slices.Equal(routes(was, id), routes(now, ph.ID)) {
			keys = append(keys, "route")
		}
		if len(keys) > 0 {
			out = append(out, Difference{Phase: ph.Name, Change: Edited, Keys: keys})
		}
	}
	keys := append(keysOf(was.bodyParts(), now.bodyParts()), keysOf(was.settingParts(), now.settingParts())...)
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == "isolation" || k == "merge" || k == "project.base" })
	if len(keys) > 0 {
		out = append(out, Difference{Change: Edited, Keys: keys})
	}
	return out
}

// PhaseKeys are the keys under which two phases of the same name say something else, routes excepted: none means that
// a result of the one is a result of the other.
func (g *Graph) PhaseKeys(p PhaseID, now *Graph, q PhaseID) []string {
	a, b := &g.Phases[p], &now.Phases[q]
	if a.Fingerprint == b.Fingerprint {
		return nil
	}
	keys := keysOf(g.phaseParts(a), now.phaseParts(b))
	if i := slices.Index(keys, "agent"); i >= 0 && a.Agent >= 0 && b.Agent >= 0 && g.Agents[a.Agent].Name == now.Agents[b.Agent].Name {
		if inner := keysOf(g.agentParts(a.Agent), now.agentParts(b.Agent)); len(inner) > 0 {
			for j := range inner {
				inner[j] = fmt.Sprintf("agents.%s.%s", now.Agents[b.Agent].Name, inner[j])
			}
			keys = slices.Replace(keys, i, i+1, inner...)
		}
	}
	if len(keys) == 0 {
		keys = []string{"what the call around it sets"}
	}
	return keys
}

// keysOf are the keys of two lists of the same parts that differ.
func keysOf(was, now []part) []string {
	var out []string
	for i := range was {
		if sumOf(was[i:i+1]) != sumOf(now[i:i+1]) {
			out = append(out, was[i].key)
		}
	}
	return out
}

func routes(g *Graph, p PhaseID) []string {
	var out []string
	for _, r := range g.RulesOf(p) {
		out = append(out, r.Text)
	}
	if each := g.Phases[p].Each; each != nil {
		for i := range each.Rules {
			out = append(out, each.Rules[i].Text)
		}
	}
	return out
}
