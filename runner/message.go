package runner

import (
	"fmt"
	"strings"

	"foundry/graph"
)

// This file says what a commit is about whose own message is empty.

// widest is how long the first line of a message may be, in characters.
const widest = 72

// commitMessage is the first line of the newest summary before a commit, in list order, else of the request. A call is what was
// done in it, a list what its items have done. What reviewers say of the work is not what was done.
func (s State) commitMessage(g *graph.Graph, p graph.PhaseID) string {
	for i := len(s.plan.order) - 1; i >= 0; i-- {
		if q := s.plan.order[i]; g.Phases[p].Before.Has(q) {
			if text := s.did(g, q); text != "" {
				return text
			}
		}
	}
	if s.info.Request != "" {
		return firstLine(s.info.Request)
	}
	return "foundry: " + g.Pipeline
}

// did is what a phase says that it has done, "" when it says nothing.
func (s State) did(g *graph.Graph, p graph.PhaseID) string {
	ph, r := &g.Phases[p], s.phases[p].current()
	switch {
	case ph.Each != nil:
		return s.itemsDid(g, p)
	case ph.Call != nil:
		for i := len(ph.Call.Own) - 1; i >= 0; i-- {
			if text := s.did(g, ph.Call.Own[i]); text != "" {
				return text
			}
		}
		return ""
	case r == nil, ph.Envelope != nil && ph.Envelope.Approves():
		return ""
	}
	return firstLine(summaryOf(r.envelope))
}

// itemsDid sums up the items of a list that have passed: one says it itself, several are named, with what each says below.
func (s State) itemsDid(g *graph.Graph, p graph.PhaseID) string {
	var titles, lines []string
	own := g.Phases[p].Each.Own
	for _, id := range own {
		if st := s.phases[id].status; st != Success && st != Unverified {
			continue
		}
		title, text := firstLine(g.Phases[id].Item.Title), s.did(g, id)
		text, _, _ = strings.Cut(text, "\n")
		if title == "" {
			title = g.Phases[id].Item.Key
		}
		titles = append(titles, title)
		if text == "" {
			text = title
		} else if len(own) > 1 {
			text = title + ": " + text
		}
		lines = append(lines, text)
	}
	switch {
	case len(lines) == 0:
		return ""
	case len(own) == 1:
		return lines[0]
	}
	head := strings.Join(titles, ", ")
	if len(titles) < len(own) {
		head = fmt.Sprintf("%d of %d items: %s", len(titles), len(own), head)
	}
	if long := []rune(head); len(long) > widest {
		head = string(long[:widest-1]) + "…"
	}
	return head + "\n\n- " + strings.Join(lines, "\n- ")
}
