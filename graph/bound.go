package graph

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// This file proves the bound: how often each phase can be visited at most, whatever happens.
//
// A jump to t resets the counters of the rules whose target lies strictly after t, and the self rules of t and
// of all after it. So a rule's bound counts once for every entry into its loop, and an entry is the start of
// the run or a jump to something before its target. A self jump resets nothing. Each visit of a call is a new run
// of the called pipeline, so its bound counts once for each. A visit of a phase that is repeated has as many items as
// its limit allows, and each of them counts its own self rules.

// most stands for every bound that is too large to matter; sums and products stop there.
const most = math.MaxInt / 4

func plus(a, b int) int { return min(a+b, most) }

func times(a, b int) int {
	if a != 0 && b > most/a {
		return most
	}
	return a * b
}

// bound computes the worst case. Back rules with one target are one sum: none of them resets another.
func (c *compiler) bound() Bound {
	n := len(c.g.Phases)
	retries, self := make([]int, n), make([]int, n)
	var targets []PhaseID
	for i := range c.g.Rules {
		switch r := &c.g.Rules[i]; r.Way {
		case Back:
			if retries[r.Target] == 0 {
				targets = append(targets, r.Target)
			}
			retries[r.Target] = plus(retries[r.Target], r.Retry)
		case Self:
			self[r.Phase] = plus(self[r.Phase], r.Retry)
		}
	}
	// Jumps to each target, in all; a target's ancestors come before it in the list.
	jumps := make([]int, n)
	targets = slices.Sorted(slices.Values(targets))
	entries := func(p PhaseID, including bool) int {
		sum := 1
		for _, t := range targets {
			if c.g.Phases[p].Before.Has(t) || including && t == p {
				sum = plus(sum, jumps[t])
			}
		}
		return sum
	}
	for _, t := range targets {
		jumps[t] = times(retries[t], entries(t, false))
	}
	b := Bound{Visits: make([]int, n)}
	for i := range c.g.Phases {
		ph := &c.g.Phases[i]
		in := entries(ph.ID, true)
		v := plus(in, times(self[i], in))
		b.Visits[i] = v
		b.Phases = plus(b.Phases, v)
		if ph.Each != nil {
			v = times(v, ph.Each.itemVisits())
			b.Phases = plus(b.Phases, v)
		}
		if callee := c.calls[ph.ID]; callee != nil {
			in := &callee.g.Bound
			b.Phases, b.Turns = plus(b.Phases, times(v, in.Phases)), plus(b.Turns, times(v, in.Turns))
			b.Time = addTime(b.Time, v, in.Time)
		} else if ph.Work() == AgentWork && ph.Agent >= 0 {
			b.Turns = plus(b.Turns, times(v, c.turns(ph)))
			b.Time = addTime(b.Time, times(v, c.turns(ph)), c.slowest(ph))
		} else {
			b.Time = addTime(b.Time, v, c.codeTime(ph))
		}
	}
	b.First = first(&b, &c.g.Limits)
	return b
}

// turns is the most that one visit of an agent phase can take: each attempt, and each fallback, with all its
// envelope corrections, and one session that has to be started again. Each review is a turn and a correction, and each
// of the reviewer's fallbacks takes over once a visit.
func (c *compiler) turns(ph *Phase) int {
	corrections, reviews, judging := 0, 0, 0
	all := c.g.AndFallbacks(ph.Agent)
	for _, i := range all {
		corrections = max(corrections, c.g.Agents[i].EnvelopeRetries)
	}
	if ph.Review != nil {
		reviews = ph.Review.Retries
		judging = plus(times(2, plus(1, reviews)), len(c.g.Agents[ph.Review.Agent].Fallback))
	}
	turns := plus(times(1+corrections, plus(ph.Retries+len(all), reviews)), plus(judging, 1))
	if c.makesPlan(ph.ID) {
		turns = plus(turns, 1)
	}
	return turns
}

func (c *compiler) slowest(ph *Phase) time.Duration {
	agents := c.g.AndFallbacks(ph.Agent)
	if ph.Review != nil {
		agents = append(agents, c.g.AndFallbacks(ph.Review.Agent)...)
	}
	var t time.Duration
	for _, i := range agents {
		t = max(t, c.g.Agents[i].TurnTimeout)
	}
	return t
}

// codeTime is how long a visit can take that is no agent's. An ask waits for a person: no time of the run.
func (c *compiler) codeTime(ph *Phase) time.Duration {
	if k := ph.Work(); k == Code || k == Commit {
		return ph.Timeout
	}
	return 0
}

func addTime(sum time.Duration, n int, each time.Duration) time.Duration {
	if each > 0 && int64(n) > (math.MaxInt64-int64(sum))/int64(each) {
		return math.MaxInt64
	}
	return sum + time.Duration(n)*each
}

// first is the limit that the worst case exceeds the most. The time limit counts only when no number is
// exceeded: a run in which everything takes as long as it may is rarely the one to plan for.
func first(b *Bound, l *Limits) string {
	turns, phases := over(b.Turns, l.Turns), over(b.Phases, l.Phases)
	switch {
	case turns > 1 && turns >= phases:
		return "turns " + strconv.Itoa(l.Turns)
	case phases > 1:
		return "phases " + strconv.Itoa(l.Phases)
	case l.Time > 0 && b.Time > l.Time:
		return "time " + duration(l.Time)
	}
	return ""
}

func over(bound, limit int) float64 {
	if limit <= 0 {
		return 0
	}
	return float64(bound) / float64(limit)
}
