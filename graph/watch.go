package graph

import (
	"fmt"
	"slices"

	"foundry/dsl"
)

// This file says what of a pipeline can run by itself whenever a file changes, in the checkout where a person is at
// work: checks. What costs money, asks a person, writes commits, or reads what one of these reports, cannot.

// Left is a phase that does not run in a watch, and why.
type Left struct {
	Phase PhaseID
	Why   string
}

// Watched are the phases that a watch runs, in order, and the others of the pipeline that it leaves out. A call stands
// for all that it runs.
func (g *Graph) Watched() (run []PhaseID, left []Left) {
	out := NewSet(len(g.Phases))
	for _, p := range g.Own {
		why := g.unwatched(p)
		if why == "" {
			why = g.readsAny(p, out)
		}
		if why != "" {
			out.Add(p)
			left = append(left, Left{p, why})
		} else {
			run = append(run, p)
		}
	}
	return run, left
}

// unwatched says why what a phase does is nothing for a watch.
func (g *Graph) unwatched(p PhaseID) string {
	ph := &g.Phases[p]
	switch {
	case ph.Detour:
		return "only a route enters it"
	case ph.Kind == FansOut:
		return "it is repeated over a list that only a run has"
	case ph.Kind == AgentWork:
		return "agent " + g.Agents[ph.Agent].Name + " works there"
	case ph.Kind == Ask:
		return "it asks a person"
	case ph.Kind == Commit:
		return "it commits"
	case ph.Apart:
		return "it works in a worktree of its own"
	case ph.Kind != Calls:
		return ""
	}
	for inner := p + 1; inner <= ph.Call.Last; inner++ {
		if in := &g.Phases[inner]; in.Kind == AgentWork || in.Kind == Ask || in.Kind == Commit || in.RunsApart() {
			return fmt.Sprintf("it calls %s, which does more than run checks", ph.Call.Pipeline)
		}
	}
	return ""
}

// readsAny says which of some phases a phase reads, in its condition or in what is handed to its command.
func (g *Graph) readsAny(p PhaseID, out Set) string {
	ph := &g.Phases[p]
	check := func(reads []dsl.Read) string {
		for _, r := range reads {
			if id, ok := g.LookupIn(ph.Owner, r.Phase); ok && r.Phase != "" && out.Has(id) {
				return "it reads what " + r.Phase + " reports"
			}
		}
		return ""
	}
	if ph.When != nil {
		if why := check(ph.When.Reads()); why != "" {
			return why
		}
		for _, t := range ph.When.Terms() {
			if id, ok := g.LookupIn(ph.Owner, t.Phase); ok && t.Phase != "" && out.Has(id) {
				return "its `when` asks how " + t.Phase + " ended"
			}
		}
	}
	templates := slices.Clone(ph.Script.Argv)
	for _, v := range ph.Env {
		templates = append(templates, v.Value)
	}
	if ph.Call != nil {
		for _, s := range ph.Call.Set {
			templates = append(templates, s.Value)
		}
	}
	for _, t := range templates {
		if t == nil {
			continue
		}
		if why := check(t.Reads()); why != "" {
			return why
		}
	}
	return ""
}
