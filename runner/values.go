package runner

import (
	"maps"
	"slices"
	"strconv"

	"foundry/dsl"
	"foundry/graph"
)

// This file says what expressions and templates read. A name that has no value is left out of the maps:
// reading it is then an error that names the term.

// values are what a phase's own texts see; r is the visit that just ended, or is being judged, nil when none.
func (m *machine) values(p graph.PhaseID, r *result) dsl.Values { return valuesOf(m.g, m.s, p, r) }

func valuesOf(g *graph.Graph, s State, p graph.PhaseID, r *result) dsl.Values {
	owner := graph.PhaseID(-1)
	if p >= 0 {
		owner = g.Scope(p)
	}
	return valuesIn(g, s, owner, p, r)
}

// valuesIn are what texts of a pipeline see, that of a call or the run's own for -1: p is -1 for those that belong
// to no phase.
func valuesIn(g *graph.Graph, s State, owner, p graph.PhaseID, r *result) dsl.Values {
	vars := map[string]any{"request": "", "params": map[string]any{}}
	if s.info != nil {
		vars["request"] = s.info.Request
		vars["params"] = paramValues(g.BodyOf(owner).Params, s.paramsOf(g, owner))
		vars["run_id"], vars["branch"], vars["base"], vars["worktree"] = s.info.ID, s.info.Branch, s.info.Base, s.info.Worktree
	}
	if r != nil {
		maps.Copy(vars, resultValues(g, p, s.phases[p].base, r))
	}
	if p >= 0 {
		vars["feedback"] = s.phases[p].work.given
		if it := g.Phases[p].Item; it != nil {
			vars[g.Phases[g.Phases[p].Owner].Each.As] = it.Value
		}
	}
	return dsl.Values{
		Vars: vars,
		Phase: func(name string) map[string]any {
			id, ok := g.LookupIn(owner, name)
			if !ok {
				return nil
			}
			ph := s.phases[id]
			out := map[string]any{}
			if r := ph.current(); r != nil {
				out = resultValues(g, id, ph.base, r)
			}
			out["status"], out["visits"] = ph.status.String(), ph.round()
			return out
		},
		Passed: func(name string) bool {
			id, ok := g.LookupIn(owner, name)
			return ok && s.phases[id].status == Success
		},
		Approved: func(name string) bool {
			id, ok := g.LookupIn(owner, name)
			return ok && s.phases[id].status == Success && approves(s.phases[id].current())
		},
		AllPass: func() bool { return s.allPass(g, owner) },
		LastPass: func() bool {
			last := s.sinks(g, owner)
			return len(last) == 1 && s.phases[last[0]].status == Success
		},
	}
}

// sinks are the phases of a pipeline that nothing but detours depends on, of those that --from and --until let run.
func (s State) sinks(g *graph.Graph, owner graph.PhaseID) []graph.PhaseID {
	var out []graph.PhaseID
	own := g.BodyOf(owner).Own
	for _, p := range own {
		after := func(q graph.PhaseID) bool { return !g.Phases[q].Detour && g.Phases[p].After.Has(q) && !s.leftOut(q) }
		if !g.Phases[p].Detour && !s.leftOut(p) && !slices.ContainsFunc(own, after) {
			out = append(out, p)
		}
	}
	return out
}

func approves(r *result) bool {
	if r == nil {
		return false
	}
	if yes, ok := r.envelope["approved"].(bool); ok {
		return yes
	}
	return r.answer == "approve"
}

// leftOut says whether --from or --until left a phase out: the words that speak of all phases mean the others.
func (s State) leftOut(p graph.PhaseID) bool { return s.phases[p].omitted || s.phases[p].beyond }

func (s State) allPass(g *graph.Graph, owner graph.PhaseID) bool {
	for _, p := range g.BodyOf(owner).Own {
		ph := s.phases[p]
		if g.Phases[p].Detour && ph.round() == 0 || s.leftOut(p) {
			continue
		}
		if ph.status != Success && ph.status != Skipped {
			return false
		}
	}
	return true
}

// resultValues are the names of an ended visit, each left out when it has no value. Visits count from base.
func resultValues(g *graph.Graph, p graph.PhaseID, base int, r *result) map[string]any {
	out := map[string]any{"status": r.status.String(), "reason": r.reason, "visit": r.visit - base}
	if g.Phases[p].Each != nil && r.items != nil {
		out["items"] = r.items
	}
	if g.Phases[p].Body() != nil {
		return out
	}
	out["exit"], out["attempt"] = r.exit, r.attempt
	if r.command != nil {
		out["output"] = r.command.Output
		outputs := map[string]any{}
		for _, o := range g.Phases[p].Outputs {
			if text, ok := r.command.Outputs[o.Name]; ok {
				outputs[o.Name] = typed(o.Type, text)
			}
		}
		out["outputs"] = outputs
	}
	if r.envelope != nil {
		out["envelope"] = map[string]any(r.envelope)
	}
	if r.changedSet {
		out["changed"] = r.changed
	}
	paths := make([]string, 0, len(r.violations))
	for _, v := range r.violations {
		paths = append(paths, v.Path)
	}
	out["violations"] = paths
	if r.answer != "" {
		out["answer"] = r.answer
	}
	return out
}

func paramValues(params []graph.Param, given map[string]string) map[string]any {
	out := map[string]any{}
	for _, p := range params {
		text, ok := given[p.Name]
		if !ok && p.Has {
			text, ok = p.Default, true
		}
		if ok {
			out[p.Name] = typed(p.Type, text)
		}
	}
	return out
}

// typed reads the text form of a value; a text that does not fit, which was checked when it was taken in,
// stays a text.
func typed(t graph.ParamType, text string) any {
	switch t {
	case graph.ParamInt:
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
	case graph.ParamNumber:
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	case graph.ParamBool:
		return text == "true"
	case graph.ParamList:
		list := []any{}
		for _, word := range graph.SplitList(text) {
			list = append(list, word)
		}
		return list
	}
	return text
}

func seenTerms(terms []dsl.Seen) []Seen {
	out := make([]Seen, len(terms))
	for i, t := range terms {
		out[i] = Seen{Term: t.Term, Value: t.Value}
	}
	return out
}
