package graph

import (
	"foundry/diag"
	"foundry/dsl"
)

// This file follows the rules: which of them can be tried, what a phase's end can lead to, which phases can
// run at all; and reports what can not.

// outcomes is a set of ways in which a phase can end.
type outcomes uint8

const (
	onPass outcomes = 1 << iota
	onReject
	onFail // other than by a timeout
	onTimeout
	onSkip
)

// exits is where the end of a phase can lead.
type exits struct {
	live   []bool // by rule of the phase: it can be tried
	next   bool   // what depends on the phase can start through it
	finish bool   // of a detour: it can end well without leading back
}

// triggered is what a trigger looks for.
func triggered(t dsl.Trigger) outcomes {
	switch t {
	case dsl.Pass:
		return onPass
	case dsl.Reject:
		return onReject
	case dsl.Fail:
		return onFail | onTimeout
	case dsl.Timeout:
		return onTimeout
	case dsl.Skip:
		return onSkip
	case dsl.Any:
		return onPass | onReject | onFail | onTimeout
	}
	panic("BUG: a rule without a trigger")
}

// possible are the ways in which a phase can end.
func possible(ph *Phase, when bool) outcomes {
	out := onPass | onFail | onTimeout
	if ph.Kind == Calls || ph.Kind == FansOut {
		out = onPass | onFail
	}
	if ph.Kind == Noop && len(ph.Gates) == 0 {
		out = onPass
	}
	if ph.Kind == Ask {
		out |= onReject
		if ph.Timeout == 0 {
			out &^= onTimeout
		}
	}
	if ph.Kind == AgentWork && (ph.Envelope == nil || ph.Envelope.Approves()) {
		out |= onReject
	}
	if when || ph.Optional {
		out |= onSkip
	}
	return out
}

// follow is the pass.
func (c *compiler) follow() {
	c.flow = make([]exits, len(c.g.Phases))
	for i := range c.g.Phases {
		c.flow[i] = c.exits(&c.g.Phases[i])
	}
	c.reach()
	c.dangling()
	c.bypasses()
}

// exits walks the rules of a phase in order. Taken are the outcomes that an earlier rule without condition
// and bound always takes; held those for which some rule without condition holds, used up or not.
func (c *compiler) exits(ph *Phase) exits {
	e := exits{live: make([]bool, ph.Count)}
	can := possible(ph, c.src[ph.ID].When.Set)
	if c.vague(ph) {
		can = onPass | onReject | onFail | onTimeout | onSkip
	}
	var taken, held outcomes
	var by [5]RuleID
	for i, rule := range c.g.RulesOf(ph.ID) {
		on := triggered(rule.Trigger)
		if e.live[i] = c.tried(ph, &rule, on, can, taken, held, by); !e.live[i] {
			continue
		}
		e.next = e.next || rule.Action == dsl.Next
		e.finish = e.finish || rule.Action == dsl.Finish && on&(onPass|onSkip) != 0
		if c.parsed[rule.ID].rule.When.Text != "" {
			continue
		}
		for bit := range 5 {
			if o := outcomes(1) << bit; on&o != 0 && held&o == 0 {
				by[bit] = rule.ID
			}
		}
		held |= on
		if rule.Retry == 0 && rule.Way != Back && rule.Way != Self {
			taken |= on
		}
	}
	if onward := can & (onPass | onSkip) &^ held; onward != 0 {
		e.next = e.next || !ph.Detour
		e.finish = e.finish || ph.Detour
	}
	e.next = e.next || c.g.KeepGoing && !ph.Detour && can&^held != 0
	return e
}

// tried says whether a rule can ever be tried, and reports when it can not, or hardly.
func (c *compiler) tried(ph *Phase, rule *Rule, on, can, taken, held outcomes, by [5]RuleID) bool {
	at := rule.Span
	switch {
	case on&can == 0:
		c.list.Report(diag.UnreachableRule, at, "%q never ends in %s, so this rule is never tried", ph.Name, rule.Trigger).
			Hintf("%s", neverHint(ph, rule.Trigger))
		return false
	case on&can&^taken == 0:
		earlier := c.coveredBy(on&can, by)
		c.list.Report(diag.UnreachableRule, at, "this rule is never tried: an earlier one takes every %s", rule.Trigger).
			Hintf("put it above the earlier rule, or remove it").Notef(earlier.Span, "%q takes it", earlier.Text)
		return false
	case rule.Trigger == dsl.Timeout && held&onTimeout != 0:
		earlier := c.coveredBy(onTimeout, by)
		c.list.Report(diag.UnreachableRule, at, "a timeout is a failure too, so this rule is only tried when the one above is used up").
			Hintf("put on timeout first").Notef(earlier.Span, "%q takes it", earlier.Text)
	}
	return true
}

func (c *compiler) coveredBy(on outcomes, by [5]RuleID) *Rule {
	for bit := range 5 {
		if on&(1<<bit) != 0 {
			return &c.g.Rules[by[bit]]
		}
	}
	panic("BUG: a rule is covered by no rule")
}

func neverHint(ph *Phase, t dsl.Trigger) string {
	switch t {
	case dsl.Reject:
		if ph.Kind == AgentWork {
			return "only an envelope kind with approved can be rejected, such as review; write on fail"
		}
		return "only a review and an ask are rejected; write on fail"
	case dsl.Skip:
		return "only a phase with when or optional is skipped"
	case dsl.Timeout:
		if ph.Kind == Ask {
			return "give the ask a timeout, or remove the rule"
		}
	}
	return "remove the rule"
}

// reach finds the phases that no path enters. Of several in a row only the first is reported.
func (c *compiler) reach() {
	n := len(c.g.Phases)
	c.reachable = NewSet(n)
	enterable := func(ph *Phase) bool {
		for _, need := range ph.Needs {
			if !c.passable(need, ph) {
				return false
			}
		}
		return true
	}
	for i := range c.g.Phases {
		if ph := &c.g.Phases[i]; !ph.Detour && enterable(ph) {
			c.reachable.Add(ph.ID)
		}
	}
	for i := range c.g.Phases {
		ph := &c.g.Phases[i]
		if ph.Detour && c.entered(ph) {
			c.reachable.Add(ph.ID)
		}
	}
	for i := range c.g.Phases {
		if ph := &c.g.Phases[i]; !c.reachable.Has(ph.ID) {
			c.unreachable(ph)
		}
	}
}

// passable says whether a phase can start with regard to one of its needs: the need can run and lets it
// start, or a jump forward leads over it.
func (c *compiler) passable(need PhaseID, ph *Phase) bool {
	if c.reachable.Has(need) && c.flow[need].next {
		return true
	}
	for i := range c.g.Rules {
		r := &c.g.Rules[i]
		if r.Way != Forward || !c.isLive(r) || !c.reachable.Has(r.Phase) {
			continue
		}
		to := r.Target == ph.ID || ph.Before.Has(r.Target)
		over := need == r.Phase || c.g.Phases[need].Before.Has(r.Phase) && c.g.Phases[r.Target].Before.Has(need)
		if to && over {
			return true
		}
	}
	return false
}

func (c *compiler) isLive(r *Rule) bool {
	return c.flow[r.Phase].live[int(r.ID)-int(c.g.Phases[r.Phase].First)]
}

func (c *compiler) entered(d *Phase) bool {
	for i := range c.g.Rules {
		r := &c.g.Rules[i]
		if r.Target == d.ID && r.Way == IntoDetour && c.isLive(r) && c.reachable.Has(r.Phase) {
			return true
		}
	}
	return false
}

func (c *compiler) unreachable(ph *Phase) {
	if ph.Detour {
		if len(ph.Routers) == 0 && !c.lost && !c.src[ph.ID].Needs.Set { // its needs were to enter it, and are reported
			c.list.Report(diag.UnreachablePhase, ph.Span, "%q is a detour that no route enters", ph.Name).
				Hintf("add a rule such as on fail -> %s to a phase, or remove the detour", ph.Name)
		}
		return
	}
	for _, need := range ph.Needs {
		if !c.reachable.Has(need) {
			return
		}
	}
	for _, need := range ph.Needs {
		if other := &c.g.Phases[need]; !c.flow[need].next {
			d := c.list.Report(diag.UnreachablePhase, ph.Span, "%q can never run: every route out of %q leads elsewhere", ph.Name, other.Name).
				Hintf("give a rule of %q a condition, or remove %q", other.Name, ph.Name)
			for _, r := range c.g.RulesOf(need) {
				if c.parsed[r.ID].rule.When.Text == "" && triggered(r.Trigger)&onPass != 0 {
					d.Notef(r.Span, "this rule takes every pass")
					break
				}
			}
			return
		}
	}
}

// dangling reports a phase at the end that nothing looks at.
func (c *compiler) dangling() {
	if c.g.AcceptsAll {
		return
	}
	last := PhaseID(-1)
	for i := range c.g.Phases {
		if !c.g.Phases[i].Detour {
			last = PhaseID(i)
		}
	}
	for i := range c.g.Phases {
		ph := &c.g.Phases[i]
		if ph.Detour || ph.Named || ph.ID == last || ph.Kind == Commit || ph.Kind == Status || ph.Kind == Noop || ph.Name == "" || !c.isSink(ph) {
			continue
		}
		c.list.Report(diag.DanglingPhase, ph.Span, "nothing waits for %q, and the acceptance does not name it", ph.Name).
			Hintf("add it to the needs of a later phase, or name it in accept: passed(%q)", ph.Name)
	}
}

// isSink says that nothing but detours depends on a phase.
func (c *compiler) isSink(ph *Phase) bool {
	for id := range ph.After.All {
		if !c.g.Phases[id].Detour {
			return false
		}
	}
	return true
}

// bypasses reports phases further down the list that start beside a check although its route would send them
// back: they depend on what the check can send the run back to, and not on the check.
func (c *compiler) bypasses() {
	said, beside := NewSet(len(c.g.Phases)), NewSet(len(c.g.Phases))
	for i := range c.g.Rules {
		rule := &c.g.Rules[i]
		check := &c.g.Phases[rule.Phase]
		if rule.Way != Back || check.Detour {
			continue
		}
		for w, behind := range c.g.Phases[rule.Target].After {
			beside[w] = behind &^ check.Before[w] &^ check.After[w] &^ said[w]
		}
		for id := range beside.All {
			ph := &c.g.Phases[id]
			if id <= check.ID || ph.Detour || !c.src[id].Needs.Set || c.checksToo(ph, check) {
				continue
			}
			said.Add(id)
			c.list.Report(diag.NeedsBypassesRoute, c.src[id].Needs.Span, "%q does not wait for %q, which can send the run back to %q: its work would be done again",
				ph.Name, check.Name, c.g.Phases[rule.Target].Name).
				Hintf("add %q to the needs of %q", check.Name, ph.Name).Notef(rule.Span, "this rule goes back")
		}
	}
}

// checksToo says that a phase is a check beside the other: it can send back what the other one depends on, or
// it changes nothing and is looked at together with the other, by a phase that waits for both or by the acceptance.
func (c *compiler) checksToo(ph, check *Phase) bool {
	for _, r := range c.g.RulesOf(ph.ID) {
		if r.Way == Back && check.Before.Has(r.Target) {
			return true
		}
	}
	if ph.Writer || ph.Kind == Ask {
		return false
	}
	if ph.Named {
		return true
	}
	for id := range ph.After.All {
		if check.After.Has(id) && !c.g.Phases[id].Detour {
			return true
		}
	}
	return false
}

// gated says that a person or a gate stands at a phase, or in what it calls.
func (c *compiler) gated(ph *Phase) bool {
	at := func(ph *Phase) bool { return ph.Kind == Ask || len(ph.Gates) > 0 }
	return at(ph) || c.callHas(ph.ID, at)
}
