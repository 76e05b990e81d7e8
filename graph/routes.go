package graph

import (
	"fmt"
	"strings"

	"foundry/diag"
	"foundry/dsl"
)

// This file is the pass that reads the routes: each rule gets its target and the way it leads, and every jump
// back has its bound. Conditions and texts are compiled later, when the types are known.

// parsed is a rule between reading and compiling its texts.
type parsed struct {
	rule dsl.Rule
	id   RuleID
}

func (c *compiler) routes() {
	first := make([][]dsl.Rule, len(c.g.Phases))
	total := 0
	for i := range c.g.Phases {
		first[i] = c.itemRules(&c.g.Phases[i], c.parse(PhaseID(i)))
		total += len(first[i])
	}
	c.g.Rules = make([]Rule, 0, total)
	c.parsed = make([]parsed, 0, total)
	for i := range c.g.Phases {
		ph := &c.g.Phases[i]
		ph.First = RuleID(len(c.g.Rules))
		for _, r := range first[i] {
			id := RuleID(len(c.g.Rules))
			c.g.Rules = append(c.g.Rules, Rule{ID: id, Phase: ph.ID, Trigger: r.Trigger, Action: r.Action, Target: -1,
				Message: r.Message, Text: r.Frag.Text, Span: r.Frag.Whole()})
			c.parsed = append(c.parsed, parsed{rule: r, id: id})
			c.target(&c.g.Rules[id], &r)
		}
		ph.Count = len(c.g.Rules) - int(ph.First)
	}
	c.finishOrder()
	for i := range c.g.Rules {
		c.way(&c.g.Rules[i], &c.parsed[i].rule)
	}
}

// parse reads the rules of a phase.
func (c *compiler) parse(p PhaseID) []dsl.Rule {
	if len(c.src[p].Route.Rules) == 0 {
		return nil
	}
	out := make([]dsl.Rule, 0, len(c.src[p].Route.Rules))
	for _, f := range c.src[p].Route.Rules {
		r, list := dsl.ParseRule(f)
		c.list.Merge(list)
		if !list.HasErrors() || r.Guessed {
			out = append(out, r)
		}
	}
	return out
}

// target resolves where a rule leads. A name that is unknown but resembles a phase is followed as if it were
// that phase, so that what else is wrong shows too.
func (c *compiler) target(rule *Rule, src *dsl.Rule) {
	if rule.Action != dsl.Goto {
		return
	}
	id, ok := c.byName[src.Target.Text]
	if !ok && src.Target.Text == dsl.Self {
		c.list.Report(diag.UnknownPhase, src.Target.Whole(), "self is an item of a phase with each, and %q has none", c.g.Phases[rule.Phase].Name).
			Hintf("write -> %s retry 2", c.g.Phases[rule.Phase].Name)
		c.lost = true
		return
	}
	if !ok {
		if id, ok = c.unknownPhase(src.Target.Whole(), src.Target.Text); !ok {
			c.lost = true
			return
		}
	}
	rule.Target = id
	if t := &c.g.Phases[id]; t.Detour && id != rule.Phase && !c.g.Phases[rule.Phase].Detour {
		for _, r := range t.Routers {
			if r == rule.Phase {
				return
			}
		}
		t.Routers = append(t.Routers, rule.Phase)
	}
}

// way says where a goto leads and whether it may.
func (c *compiler) way(rule *Rule, src *dsl.Rule) {
	from := &c.g.Phases[rule.Phase]
	if rule.Action == dsl.Next && from.Detour {
		c.list.Report(diag.DetourBack, src.Target.Whole(), "%q is a detour, and nothing comes next after one", from.Name).
			Hintf("write finish, which ends the run here, or a phase that lies before what routes to %q", from.Name)
	}
	if rule.Action != dsl.Goto || rule.Target < 0 {
		return
	}
	to := &c.g.Phases[rule.Target]
	at := src.Target.Whole()
	switch {
	case rule.Target == rule.Phase:
		rule.Way = Self
	case from.Detour:
		if !c.detourMayGo(from, to) {
			c.sayDetourBack(from, to, at)
			return
		}
		rule.Way = Back
	case to.Detour:
		rule.Way = IntoDetour
	case from.Before.Has(rule.Target):
		rule.Way = Back
	case to.Before.Has(rule.Phase):
		rule.Way = Forward
	default:
		c.list.Report(diag.JumpSideways, at, "%q neither comes before nor after %q, so no route can lead there", to.Name, from.Name).
			Hintf("%s", c.orderHint(from, to, src.HasRetry)).Notef(to.Span, "%q is defined here", to.Name)
		return
	}
	c.bounded(rule, src, from, to)
}

// orderHint says how two phases that nothing orders get an order, and what it makes of a rule from one to the other.
func (c *compiler) orderHint(from, to *Phase, retry bool) string {
	first, second, then := from, to, ""
	if to.ID < from.ID {
		first, second = to, from
		if !retry {
			then = ", and bound the jump back: " + to.Name + " retry 2"
		}
	} else if retry {
		then = ", and leave retry out: the jump leads forward then"
	}
	needs := &c.src[second.ID].Needs
	switch {
	case needs.Set && len(needs.Items) == 0:
		return fmt.Sprintf("%q waits for nothing (needs: []): add %q to the needs of %q%s", second.Name, first.Name, second.Name, then)
	case needs.Set:
		return fmt.Sprintf("add %q to the needs of %q%s", first.Name, second.Name, then)
	}
	var all []string
	for _, id := range second.Needs {
		all = append(all, c.g.Phases[id].Name)
	}
	return fmt.Sprintf("write needs: [%s] in %q%s", strings.Join(append(all, first.Name), ", "), second.Name, then)
}

// bounded checks the bound of a rule: a jump back has one, no other rule has.
func (c *compiler) bounded(rule *Rule, src *dsl.Rule, from, to *Phase) {
	back := rule.Way == Back || rule.Way == Self
	switch {
	case back && !src.HasRetry && rule.Way == Self:
		c.list.Report(diag.UnboundedLoop, src.Target.Whole(), "%q goes to itself without a bound", from.Name).
			Hintf("write -> %s retry 2", to.Name)
	case back && !src.HasRetry:
		c.list.Report(diag.UnboundedLoop, src.Target.Whole(), "%q goes back to %q without a bound", from.Name, to.Name).
			Hintf("write -> %s retry 2", to.Name)
	case back && src.Retry < 1:
		c.list.Report(diag.UnboundedLoop, src.RetrySpan, "retry %d allows no jump at all", src.Retry).
			Hintf("write retry 1 or more, or remove the rule")
	case !back && src.HasRetry:
		c.list.Report(diag.RouteSyntax, src.RetrySpan, "retry bounds a jump back, and %q does not lie before %q", to.Name, from.Name).
			Hintf("write -> %s without retry", to.Name)
	case back:
		rule.Retry = src.Retry
	}
}

// detourMayGo says whether a detour's rule may name a phase: it is, or lies before, every phase that routes
// to the detour.
func (c *compiler) detourMayGo(d, to *Phase) bool {
	if to.Detour {
		return false
	}
	for _, r := range d.Routers {
		if r != to.ID && !c.g.Phases[r].Before.Has(to.ID) {
			return false
		}
	}
	return true
}

func (c *compiler) sayDetourBack(d, to *Phase, at diag.Span) {
	if to.Detour {
		c.list.Report(diag.DetourBack, at, "%q is a detour too, and a detour cannot enter another", to.Name).
			Hintf("go back to a phase before %q, or finish", d.Name).Notef(to.Span, "%q is defined here", to.Name)
		return
	}
	for _, r := range d.Routers {
		if router := &c.g.Phases[r]; r != to.ID && !router.Before.Has(to.ID) {
			c.list.Report(diag.DetourBack, at, "a detour can only go back, and %q does not lie before %q, which routes to %q", to.Name, router.Name, d.Name).
				Hintf("go to %q or to a phase before it, or finish", router.Name).Notef(to.Span, "%q is defined here", to.Name)
			return
		}
	}
}
