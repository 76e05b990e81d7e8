package graph

import (
	"slices"

	"foundry/diag"
	"foundry/dsl"
	"foundry/schema"
)

// This file compiles the acceptance and asks, for each way in which the routes can leave phases out, whether
// it can still hold. The answer is three-valued: a phase that is left out has surely not passed; of every
// other one nothing is known.

// acceptDefault is the acceptance of a pipeline that does not say one.
const acceptDefault = "all_phases_pass"

// acceptance compiles accept and the criteria, and marks what acceptance names.
func (c *compiler) acceptance() {
	f := diag.NewFragment(acceptDefault, diag.Span{}, nil)
	if c.p.Accept.Set {
		f = c.p.Accept.Frag
	}
	c.g.AcceptText = f.Text
	if c.g.Accept = c.cond(f, c.scopes.accept, boolType); c.g.Accept != nil {
		for _, t := range c.g.Accept.Terms() {
			c.name(t.Phase)
			c.g.AcceptsAll = c.g.AcceptsAll || t.Func == "all_phases_pass"
		}
		for _, r := range c.g.Accept.Reads() {
			c.name(r.Phase)
		}
	}
	for i := range c.g.Phases {
		ph := &c.g.Phases[i]
		ph.NeedsTree = ph.Named || ph.Kind == AgentWork || ph.Kind == Ask || ph.Kind == Commit || ph.Kind == Code && ph.Declared
	}
	for i := range c.p.Criteria {
		c.criterion(i)
	}
}

func (c *compiler) name(phase string) {
	if id, ok := c.byName[phase]; ok && phase != "" {
		c.g.Phases[id].Named = true
	}
}

func (c *compiler) criterion(i int) {
	src := &c.p.Criteria[i]
	out := Criterion{Name: src.Name.Value, Required: src.Required.Or(true)}
	var ok bool
	if out.Command, ok = c.ownCommand(src.Command, schema.Command{Run: src.Run, ExitCodes: src.ExitCodes}); !ok {
		return
	}
	out.Command.Env = mergeEnv(c.project, out.Command.Env)
	c.outsidePhases(&out.Command, "a criterion", "feedback")
	c.g.Criteria = append(c.g.Criteria, out)
}

// course is a way through the pipeline as far as acceptance is concerned: what was surely left out, and which
// phase surely did not pass since a rule for its failure was taken.
type course struct {
	rule   *Rule // nil: no rule that leaves something out was taken
	out    Set
	failed PhaseID // -1: none
}

// courses are the ways to look at: none of the rules taken, or one of them.
func (c *compiler) courses() []course {
	n := len(c.g.Phases)
	none := course{out: NewSet(n), failed: -1}
	for i := range c.g.Phases {
		if ph := &c.g.Phases[i]; ph.Detour || !c.reachable.Has(ph.ID) {
			none.out.Add(ph.ID)
		}
	}
	all := []course{none}
	for i := range c.g.Rules {
		rule := &c.g.Rules[i]
		if !c.isLive(rule) || !c.reachable.Has(rule.Phase) {
			continue
		}
		if left, ok := c.leftOut(rule); ok {
			p := course{rule: rule, out: left, failed: -1}
			switch rule.Trigger {
			case dsl.Fail, dsl.Timeout, dsl.Reject, dsl.Skip:
				p.failed = rule.Phase
			}
			all = append(all, p)
		}
	}
	return all
}

// leftOut is what is surely not run on a way on which the rule was the last to decide; false for rules that
// leave nothing out.
func (c *compiler) leftOut(rule *Rule) (Set, bool) {
	from := &c.g.Phases[rule.Phase]
	left := NewSet(len(c.g.Phases))
	switch {
	case rule.Action == dsl.Finish && !from.Detour:
		left.Union(from.After)
	case rule.Way == IntoDetour && c.flow[rule.Target].finish:
		left.Union(from.After)
		left.Remove(rule.Target)
	case rule.Way == Forward:
		c.passedOver(left, from, &c.g.Phases[rule.Target])
	default:
		return nil, false
	}
	// A detour is only surely left out when nothing can route to it any more.
	for i := range c.g.Phases {
		d := &c.g.Phases[i]
		if !d.Detour {
			continue
		}
		open := rule.Target == d.ID
		for _, r := range d.Routers {
			open = open || r != rule.Phase && !left.Has(r) && c.reachable.Has(r)
		}
		if open {
			left.Remove(d.ID)
		} else {
			left.Add(d.ID)
		}
	}
	for i := range c.g.Phases {
		if !c.reachable.Has(PhaseID(i)) {
			left.Add(PhaseID(i))
		}
	}
	return left, true
}

// passedOver adds what a jump forward leaves out: what lies between its ends, and what needs one of these and
// is neither the target nor behind it.
func (c *compiler) passedOver(left Set, from, to *Phase) {
	between := NewSet(len(c.g.Phases))
	for w := range between {
		between[w] = from.After[w] & to.Before[w]
	}
	left.Union(between)
	for id := range between.All {
		left.Union(c.g.Phases[id].After)
	}
	left.Remove(to.ID)
	for w := range left {
		left[w] &^= to.After[w]
	}
}

// term is what is known of a term of the acceptance on a path.
func (c *compiler) term(p course, t dsl.Term) dsl.Ternary {
	switch t.Func {
	case "passed", "approved":
		if id, ok := c.byName[t.Phase]; ok && (p.out.Has(id) || p.failed == id) {
			return dsl.False
		}
	case "all_phases_pass":
		if p.failed >= 0 && p.rule.Trigger != dsl.Skip {
			return dsl.False
		}
		for id := range p.out.All {
			if !c.g.Phases[id].Detour {
				return dsl.False
			}
		}
	case "last_phase_pass":
		if last := c.sinks(); len(last) != 1 || p.out.Has(last[0]) || p.failed == last[0] {
			return dsl.False
		}
	}
	return dsl.Unknown
}

// sinks are the phases that nothing but detours depends on.
func (c *compiler) sinks() []PhaseID {
	if c.lastPhases == nil {
		for i := range c.g.Phases {
			if ph := &c.g.Phases[i]; !ph.Detour && c.isSink(ph) {
				c.lastPhases = append(c.lastPhases, ph.ID)
			}
		}
	}
	return c.lastPhases
}

// judgeAccept reports an acceptance that can never hold, and each rule on whose way it cannot.
func (c *compiler) judgeAccept() {
	if c.g.Accept == nil {
		return
	}
	courses := c.courses()
	if !slices.ContainsFunc(courses, c.canHold) {
		c.acceptNever(courses)
		return
	}
	for _, p := range courses[1:] {
		// A rule for a failure that acceptance cannot do without goes round nothing: the run was lost before.
		before := course{rule: p.rule, out: NewSet(len(c.g.Phases)), failed: p.failed}
		if !c.canHold(p) && c.canHold(before) {
			c.acceptSkippable(p)
		}
	}
}

// canHold says whether the acceptance can hold on a course. Terms of which nothing is known are tried both ways,
// so that one that is asked for and denied at once is found out; beyond ten of them they stay unknown.
func (c *compiler) canHold(p course) bool {
	possible := func(free []dsl.Term, values int) bool {
		return c.g.Accept.Possible(func(t dsl.Term) dsl.Ternary {
			if i := slices.IndexFunc(free, func(u dsl.Term) bool { return u.Func == t.Func && u.Phase == t.Phase }); i >= 0 {
				if values&(1<<i) == 0 {
					return dsl.True
				}
				return dsl.False
			}
			return c.term(p, t)
		}) != dsl.False
	}
	if !possible(nil, 0) {
		return false
	}
	var free []dsl.Term
	for _, t := range c.g.Accept.Terms() {
		same := func(u dsl.Term) bool { return u.Func == t.Func && u.Phase == t.Phase }
		if c.term(p, t) == dsl.Unknown && !slices.ContainsFunc(free, same) {
			free = append(free, t)
		}
	}
	if len(free) > 10 {
		return true
	}
	for values := range 1 << len(free) {
		if possible(free, values) {
			return true
		}
	}
	return false
}

func (c *compiler) acceptNever(courses []course) {
	at := c.p.Accept.Span()
	if at.IsZero() {
		at = c.p.Name.Span()
	}
	d := c.list.Report(diag.AcceptNever, at, "the acceptance %q can never hold", c.g.AcceptText)
	d.Hintf("join what only one path runs with ||, or name what every path runs")
	for _, t := range c.g.Accept.Terms() {
		if t.Func == "last_phase_pass" && len(c.sinks()) != 1 {
			var last []string
			for _, id := range c.sinks() {
				last = append(last, c.g.Phases[id].Name)
			}
			d.Hintf("there is no single last phase; write all_phases_pass, or say which: passed(%q)", last[len(last)-1])
			d.Notef(t.Span, "the last phases are %s", listed(last))
			continue
		}
		if !slices.ContainsFunc(courses, func(p course) bool { return c.term(p, t) != dsl.False }) {
			d.Notef(t.Span, "this never holds")
		}
	}
}

// acceptSkippable reports a rule that goes round what the acceptance names: on that way the run can only be
// rejected.
func (c *compiler) acceptSkippable(p course) {
	var blamed []dsl.Term
	for _, t := range c.g.Accept.Terms() {
		if c.term(p, t) != dsl.False {
			continue
		}
		alone := c.g.Accept.Possible(func(u dsl.Term) dsl.Ternary {
			if u == t {
				return dsl.Unknown
			}
			return c.term(p, u)
		})
		if alone != dsl.False {
			blamed = append(blamed, t)
		}
	}
	if len(blamed) == 0 {
		for _, t := range c.g.Accept.Terms() {
			if c.term(p, t) == dsl.False {
				blamed = append(blamed, t)
			}
		}
	}
	for _, t := range blamed {
		c.saySkippable(p, t)
	}
}

func (c *compiler) saySkippable(p course, t dsl.Term) {
	var round []string
	strict := false
	for id := range p.out.All {
		ph := &c.g.Phases[id]
		if ph.Detour && t.Phase != ph.Name || !c.reachable.Has(id) || t.Phase != "" && t.Phase != ph.Name {
			continue
		}
		if t.Func == "last_phase_pass" && !slices.Contains(c.sinks(), id) {
			continue
		}
		round = append(round, ph.Name)
		strict = strict || c.gated(ph)
	}
	if len(round) == 0 {
		return
	}
	at := t.Span
	if at.IsZero() {
		at = p.rule.Span
	}
	d := c.list.Report(diag.AcceptSkippable, at, "%q goes round %s, so the acceptance cannot hold on that path", c.g.Label(p.rule.ID), listed(round))
	d.Hintf("end that path with abort, or accept it too: join what it does run with ||")
	if at != p.rule.Span {
		d.Notef(p.rule.Span, "this rule goes round it")
	}
	if strict {
		d.As(diag.Error)
	}
}

// judgeVerdicts reports agents that may write anything after a verdict that acceptance names was given.
func (c *compiler) judgeVerdicts() {
	var verdicts []PhaseID
	for i := range c.g.Phases {
		ph := &c.g.Phases[i]
		if ph.Named && (ph.Kind == Ask || ph.Work() == Code || ph.Work() == Calls || ph.Envelope != nil && ph.Envelope.Approves()) {
			verdicts = append(verdicts, ph.ID)
		}
	}
	slices.Reverse(verdicts)
	for i := range c.g.Phases {
		w := &c.g.Phases[i]
		free := w.Work() == AgentWork && w.Writer && !w.Declared && w.Agent >= 0 && !c.agentDefs[w.Agent].unread
		if w.Work() == Calls {
			free = !w.Declared && c.callHas(w.ID, func(in *Phase) bool { return in.Kind == AgentWork && in.Writer && !in.Declared })
		}
		if !free || !c.reachable.Has(w.ID) || w.Detour && !c.flow[w.ID].finish {
			continue
		}
		for _, id := range verdicts {
			if !w.Before.Has(id) {
				continue
			}
			v := &c.g.Phases[id]
			c.list.Report(diag.VerdictThenWrite, w.Span, "%q may change what %q judged", w.Name, v.Name).
				Hintf("give it writes that leave the judged files out, or move it before %q", v.Name).Notef(v.Span, "the acceptance rests on %q", v.Name)
			break
		}
	}
}
