package runner

import (
	"strings"

	"foundry/gates"
	"foundry/graph"
)

// JudgeGate judges a gate of a phase whose boundary has been checked. Most gates judge evidence alone; a
// `check` reads the run.
func JudgeGate(g *graph.Graph, s State, p graph.PhaseID, gate graph.Gate, e gates.Evidence) gates.Verdict {
	g = s.Graph(g)
	if gate.Cond == nil {
		return gate.Spec.Judge(e)
	}
	m := machine{g: g, s: s}
	holds, seen, err := gate.Cond.Holds(m.values(p, m.resultOf(p, Running, passed, "", "")))
	c := gates.Check{Item: gate.Cond.Text(), OK: holds && err == nil}
	switch {
	case err != nil:
		c.Note = err.Error()
	case !holds:
		terms := make([]string, len(seen))
		for i, t := range seen {
			terms[i] = t.Term + " is " + t.Value
		}
		c.Note = strings.Join(terms, ", ")
	}
	return gate.Spec.Conclude([]gates.Check{c})
}

// Judged is how many gates of a running phase have been judged; the others are outstanding.
func Judged(s State, p graph.PhaseID) int { return len(s.phases[p].work.verdicts) }

// Envelope is the report that the gates of a running phase look at.
func Envelope(s State, p graph.PhaseID) map[string]any { return s.phases[p].work.envelope }

// Ended is how the command of a running code phase ended, nil for an agent's.
func Ended(s State, p graph.PhaseID) *CommandResult { return s.phases[p].work.command }
