package runner

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"foundry/graph"
)

// This file asks, before a jump back, whether the budgets can pay one more round of the loop: what the last one took is
// what the next one is taken to. A run that cannot pay it stops before the jump and not in the middle of the round, so
// that nothing is begun that cannot be brought to its end. The jump stays pending: with more granted it is taken.

// spending is what was used up.
type spending struct {
	turns  int
	tokens int
	cost   float64
	visits int
	busy   time.Duration
}

// lastRound is what the last round of pending jumps took: the newest visits of what they queue again, of those that
// began with or after the target that they depend on.
func (m *machine) lastRound(rules []graph.Rule) spending {
	sum, start := spending{}, m.s.busy
	for _, r := range rules {
		start = min(start, m.s.phases[r.Target].beganAt)
	}
	sum.busy = m.s.busy - start
	for i, ph := range m.s.phases {
		if ph.visits > 0 && slices.ContainsFunc(rules, func(r graph.Rule) bool { return m.inRound(r.Target, graph.PhaseID(i)) }) {
			sum.turns += ph.spent.turns
			sum.tokens += ph.spent.tokens
			sum.cost += ph.spent.cost
			sum.visits++
		}
	}
	return sum
}

// inRound says whether the newest visit of a phase, or of a call around it, followed from that of a target.
func (m *machine) inRound(target, p graph.PhaseID) bool {
	began := m.s.phases[p].began
	for ; p >= 0; p = m.owner(p) {
		if p == target || m.g.Phases[target].After.Has(p) {
			return began >= m.s.phases[target].began
		}
	}
	return false
}

// cannotPay names the budget that one more round would go beyond, and says by what.
func (m *machine) cannotPay(rules []graph.Rule) (limit, text string) {
	l, round := m.limits(), m.lastRound(rules)
	label := m.g.Label(rules[0].ID)
	say := func(name, took, left, of string) (string, string) {
		return name, fmt.Sprintf("another round of %s does not fit: the last one took %s, and %s of %s are left", label, took, left, of)
	}
	number := func(name, noun string, took, used, of int) (string, string) {
		return say(name, counted(took, noun), strconv.Itoa(max(of-used, 0)), counted(of, noun))
	}
	switch {
	case l.Turns > 0 && round.turns > 0 && m.s.turns+round.turns > l.Turns:
		return number("turns", "turn", round.turns, m.s.turns, l.Turns)
	case l.Tokens > 0 && round.tokens > 0 && m.s.tokens+round.tokens > l.Tokens:
		return number("tokens", "token", round.tokens, m.s.tokens, l.Tokens)
	case l.Cost > 0 && round.cost > 0 && m.s.cost+round.cost > l.Cost:
		return say("cost", dollars(round.cost), dollars(max(l.Cost-m.s.cost, 0)), dollars(l.Cost))
	case l.Phases > 0 && m.s.visits+round.visits > l.Phases:
		return number("phases", "phase visit", round.visits, m.s.visits, l.Phases)
	case l.Time > 0 && round.busy > 0 && m.s.busy+round.busy > l.Time:
		return say("time", tenths(round.busy), tenths(max(l.Time-m.s.busy, 0)), l.Time.String())
	}
	return "", ""
}

func dollars(v float64) string { return fmt.Sprintf("$%.2f", v) }

func tenths(d time.Duration) string { return d.Round(time.Second / 10).String() }

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// goesOnToJump says whether the run was stopped before a jump that it could not pay, of its own or in a call.
func (m *machine) goesOnToJump() bool {
	p := m.s.ender
	return p >= 0 && m.s.phases[p].pending >= 0
}
