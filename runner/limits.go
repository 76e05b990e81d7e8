package runner

import (
	"fmt"
	"slices"
	"strings"

	"foundry/envelope"
	"foundry/glob"
	"foundry/graph"
)

// This file keeps to the sentences of a request that forbid changes. A plan quotes them with the paths that they speak
// of; the quotes must stand in the request, and what lies behind the plan may not write these paths.

// Limit is such a sentence.
type Limit struct {
	Phase string // whose plan has it
	Quote string
	Paths []string
}

// ReadLimits are the limits of a plan.
func ReadLimits(plan envelope.Object) []Limit {
	var out []Limit
	list, _ := plan[envelope.ChangeLimits].([]any)
	for _, entry := range list {
		o, _ := entry.(envelope.Object)
		l := Limit{}
		l.Quote, _ = o["quote"].(string)
		paths, _ := o["paths"].([]any)
		for _, p := range paths {
			if text, ok := p.(string); ok {
				l.Paths = append(l.Paths, text)
			}
		}
		out = append(out, l)
	}
	return out
}

// badLimits says what is wrong with the limits of a plan.
func badLimits(request string, plan envelope.Object) []envelope.Problem {
	var out []envelope.Problem
	for i, l := range ReadLimits(plan) {
		at := fmt.Sprintf("%s[%d]", envelope.ChangeLimits, i)
		quote := strings.Join(strings.Fields(l.Quote), " ")
		switch {
		case quote == "":
			out = append(out, envelope.Problem{Path: at + ".quote", Message: "is empty: quote the sentence of the request that forbids the change"})
		case !strings.Contains(strings.Join(strings.Fields(request), " "), quote):
			out = append(out, envelope.Problem{Path: at + ".quote", Message: fmt.Sprintf("%q does not stand in the request: quote it word for word, or leave the entry out", quote)})
		}
		if len(l.Paths) == 0 {
			out = append(out, envelope.Problem{Path: at + ".paths", Message: "is empty: name the paths that the sentence speaks of"})
		}
		for j, p := range l.Paths {
			if err := glob.Validate(glob.Literal(p)); err != nil {
				out = append(out, envelope.Problem{Path: fmt.Sprintf("%s.paths[%d]", at, j), Message: err.Error()})
			}
		}
	}
	return out
}

// LimitsOf are the limits that hold for a phase: those of the newest plans that lie before it. For p -1, what belongs to
// no phase, all hold. What runs beside a plan is not bound by it, so that it does not matter which of them ends first.
func LimitsOf(g *graph.Graph, s State, p graph.PhaseID) []Limit {
	g = s.Graph(g)
	var out []Limit
	for _, q := range s.plan.limiting {
		if r := s.phases[q].current(); r != nil && r.status == Success && before(g, q, p) {
			for _, l := range ReadLimits(r.envelope) {
				l.Phase = g.Phases[q].Name
				out = append(out, l)
			}
		}
	}
	return out
}

// before says whether a phase, or a call around it, lies before another phase or a call around that one.
func before(g *graph.Graph, q, p graph.PhaseID) bool {
	if p < 0 {
		return true
	}
	for ; p >= 0; p = g.Phases[p].Owner {
		for r := q; r >= 0; r = g.Phases[r].Owner {
			if g.Phases[p].Before.Has(r) {
				return true
			}
		}
	}
	return false
}

// Protected are the rules that limits come to. A path stands for itself and for all below it.
func Protected(limits []Limit) []glob.Rule {
	var out []glob.Rule
	for _, l := range limits {
		why := fmt.Sprintf("the request: %q", strings.Join(strings.Fields(l.Quote), " "))
		for _, p := range l.Paths {
			globs := []string{glob.Literal(p)}
			if glob.Validate(p) == nil && p != globs[0] {
				globs = append(globs, p)
			}
			for _, pattern := range globs {
				out = append(out, glob.Rule{Glob: pattern, Why: why})
				if !strings.HasSuffix(pattern, "/") {
					out = append(out, glob.Rule{Glob: pattern + "/**", Why: why})
				}
			}
		}
	}
	return out
}

// Allows says whether a path may be written under limits; why is the reason of a refusal.
func Allows(limits []Limit, path string) (why string, ok bool) {
	return glob.Boundary{Protect: Protected(limits)}.Check(path)
}

// Boundary is what a phase may write, the limits of plans before it among it.
func Boundary(g *graph.Graph, s State, p graph.PhaseID) glob.Boundary {
	g = s.Graph(g)
	b := g.Phases[p].Boundary
	b.Protect = append(slices.Clip(b.Protect), Protected(LimitsOf(g, s, p))...)
	return b
}
