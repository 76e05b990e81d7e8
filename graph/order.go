package graph

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"foundry/diag"
)

// This file is the pass that orders the phases: `needs` become edges, and the edges become, for each phase,
// the set of all that lies before it and of all that lies after it. An edge only ever leads up the list, so
// the order of the file is a topological order.

func (c *compiler) order() {
	n := len(c.g.Phases)
	words := len(NewSet(n))
	arena := make(Set, 2*n*words)
	previous := PhaseID(-1)
	for i := range c.g.Phases {
		ph, src := &c.g.Phases[i], c.src[i]
		ph.Before, ph.After = arena[:words:words], arena[words:2*words:2*words]
		arena = arena[2*words:]
		if ph.Detour {
			c.detourKeys(ph)
			continue
		}
		if src.Needs.Set {
			c.needs(ph)
		} else if previous >= 0 {
			ph.Needs = []PhaseID{previous}
		}
		previous = ph.ID
		for _, need := range ph.Needs {
			ph.Before.Union(c.g.Phases[need].Before)
			ph.Before.Add(need)
		}
	}
}

// detourKeys reports what a detour cannot have.
func (c *compiler) detourKeys(ph *Phase) {
	src := c.src[ph.ID]
	if src.Needs.Set {
		c.list.Report(diag.PhaseKind, src.Needs.Span, "%q is a detour: a detour cannot have needs, since only a route enters it", ph.Name).
			Hintf("remove needs, or remove detour")
	}
	if src.When.Set {
		c.list.Report(diag.PhaseKind, src.When.Span(), "%q is a detour: only a route enters it, and it has no when", ph.Name).
			Hintf("put the condition on the rule that enters it: on fail when … -> %s", ph.Name)
	}
}

func (c *compiler) needs(ph *Phase) {
	src := c.src[ph.ID]
	for i := range src.Needs.Items {
		t := src.Needs.Items[i]
		id, ok := c.byName[t.Value]
		if !ok {
			if id, ok = c.unknownPhase(t.Span(), t.Value); !ok || id >= ph.ID || c.g.Phases[id].Detour {
				continue
			}
		}
		switch other := &c.g.Phases[id]; {
		case id == ph.ID:
			c.list.Report(diag.Cycle, t.Span(), "%q needs itself", ph.Name).Hintf("remove it from needs")
			continue
		case other.Detour:
			c.list.Report(diag.NeedsLater, t.Span(), "%q is a detour, and nothing can need one", t.Value).
				Hintf("need the phase that routes to it").Notef(other.Span, "%q is defined here", t.Value)
			continue
		case id > ph.ID && c.needsSaid(id, ph.ID):
			c.list.Report(diag.Cycle, t.Span(), "%q and %q need each other", ph.Name, t.Value).
				Hintf("remove one of the two; to go back after a failure, write a route").Notef(other.Span, "%q is defined here", t.Value)
			continue
		case id > ph.ID:
			c.list.Report(diag.NeedsLater, t.Span(), "%q needs %q, which stands further down", ph.Name, t.Value).
				Hintf("%s", c.needsHint(ph, other)).Notef(other.Span, "%q is defined here", t.Value)
			continue
		}
		ph.Needs = append(ph.Needs, id)
	}
}

// needsHint says how to mend the need of a phase further down. Moving that one up helps only when nothing that it
// says leads back to the phase that needs it, or to what would then stand below it.
func (c *compiler) needsHint(ph, other *Phase) string {
	remove := "remove " + strconv.Quote(other.Name) + " from needs"
	if len(c.src[ph.ID].Needs.Items) == 1 {
		remove = "remove needs"
	}
	text := c.src[other.ID].Span.Text()
	name := regexp.QuoteMeta(ph.Name)
	switch {
	case regexp.MustCompile(`->\s*` + name + `\b`).MatchString(text):
		return fmt.Sprintf("%s: %q comes after %q and goes back to it", remove, other.Name, ph.Name)
	case regexp.MustCompile(`\b(phases\.|envelope:|(passed|approved)\(["'])` + name + `\b`).MatchString(text),
		slices.Contains(c.src[other.ID].Inputs.Values(), ph.Name):
		return fmt.Sprintf("%s: %q comes after %q and reads it", remove, other.Name, ph.Name)
	}
	for i := range c.src[other.ID].Needs.Items {
		if id, ok := c.byName[c.src[other.ID].Needs.Items[i].Value]; ok && id > ph.ID {
			return fmt.Sprintf("%s, or move %q above %q together with all that it needs", remove, other.Name, ph.Name)
		}
	}
	return fmt.Sprintf("move %q above %q", other.Name, ph.Name)
}

// needsSaid says whether from needs to, directly or not, by the lists that are written: the sets are not there
// yet.
func (c *compiler) needsSaid(from, to PhaseID) bool {
	seen := NewSet(len(c.g.Phases))
	queue := []PhaseID{from}
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		if id == to {
			return true
		}
		if seen.Has(id) || c.g.Phases[id].Detour {
			continue
		}
		seen.Add(id)
		for i := range c.src[id].Needs.Items {
			if next, ok := c.byName[c.src[id].Needs.Items[i].Value]; ok {
				queue = append(queue, next)
			}
		}
	}
	return false
}

// finishOrder gives the detours their place, now that it is known what routes to them, and turns the sets
// round.
func (c *compiler) finishOrder() {
	for i := range c.g.Phases {
		d := &c.g.Phases[i]
		for _, r := range d.Routers {
			d.Before.Union(c.g.Phases[r].Before)
			d.Before.Add(r)
			c.g.Phases[r].After.Add(d.ID)
		}
	}
	for i := len(c.g.Phases) - 1; i >= 0; i-- {
		ph := &c.g.Phases[i]
		if ph.Detour {
			continue
		}
		for _, need := range ph.Needs {
			c.g.Phases[need].After.Union(ph.After)
			c.g.Phases[need].After.Add(ph.ID)
		}
	}
}
