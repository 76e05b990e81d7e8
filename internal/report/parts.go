package report

import (
	"strings"

	"foundry/graph"
	"foundry/runner"
)

// This file gives the live view the words that the other views use, so that a status, a command or a rule reads the same
// in all of them. Every text is cleaned: it may be drawn on a terminal as it is.

// Word is a status as people read it, and how it is drawn.
func Word(status string) (string, Paint) { return statusWord(status) }

// Line is the first line of a text that is not blank.
func Line(text string) string { return firstLine(text) }

// Lines are all lines of a text, without blank ones at its end.
func Lines(text string) []string { return splitLines(text) }

// Said is what is worth saying of a visit in a few words, or why it failed.
func (v *Visit) Said() string { return firstLine(v.said()) }

// Label says where a route leads and how much of its bound is used: build (1 of 2).
func (r *Route) Label() string { return flat(r.To) + countOf(r) }

// Terms are the terms of a condition with the values they had.
func Terms(seen []runner.Seen) string { return flat(strings.Join(seenTexts(seen), "; ")) }

// EachOf says that a phase is repeated over a list.
func EachOf(list string) string { return "each of " + flat(list) }

// Doing says what a phase does, in a line: the agent it sends work to, the command it runs. "" is not known.
func Doing(g *graph.Graph, name string) string {
	if g == nil {
		return ""
	}
	ph, ok := g.Expect(name)
	if !ok {
		return ""
	}
	switch ph.Kind {
	case graph.AgentWork:
		if ph.Agent < 0 {
			return ""
		}
		return "agent " + g.Agents[ph.Agent].Name
	case graph.Code:
		return firstLine(ph.Script.Label)
	case graph.Commit:
		return "git commit"
	case graph.Status:
		return "git status"
	}
	return ""
}
