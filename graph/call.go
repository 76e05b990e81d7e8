package graph

import (
	"cmp"
	"slices"
	"strings"

	"foundry/diag"
	"foundry/schema"
)

// This file compiles calls: the called pipeline by itself, once for all that call it, and the params that it is
// given. A pipeline that leads back to itself is refused before anything of it is compiled.

// maxCalled is how many phases a pipeline may have with those that it calls.
const maxCalled = 5000

// calledPipeline finds what a call names; builtin/NAME is the one that ships.
func (c *Catalogue) calledPipeline(name string) (*schema.Pipeline, bool) {
	if short, builtin := cutBuiltin(name); builtin {
		p := find(c.builtin.Pipelines, short, pipelineName)
		return p, p != nil
	}
	return c.pipeline(name)
}

// link is a call on the way from one pipeline to another.
type link struct {
	from *schema.Pipeline
	at   schema.Text
	to   *schema.Pipeline
}

func (c *Catalogue) links(p *schema.Pipeline) []link {
	var out []link
	phases := c.resolvePipeline(p).p.Phases
	for i := range phases {
		if to, ok := c.calledPipeline(phases[i].Call.Value); ok && phases[i].Call.Set {
			out = append(out, link{p, phases[i].Call, to})
		}
	}
	return out
}

// wayBack is the calls that lead from one pipeline to another, nil when none do.
func (c *Catalogue) wayBack(from, to *schema.Pipeline, seen map[*schema.Pipeline]bool) []link {
	if seen[from] {
		return nil
	}
	seen[from] = true
	for _, l := range c.links(from) {
		if l.to == to {
			return []link{l}
		}
		if rest := c.wayBack(l.to, to, seen); rest != nil {
			return append([]link{l}, rest...)
		}
	}
	return nil
}

// sayRecursion reports a circle of calls in the same words at the same place, whichever of its pipelines is
// compiled: at the call that leads back to the first of them.
func (c *compiler) sayRecursion(circle []link) {
	first := 0
	for i, l := range circle {
		a, b := l.from.Name.Span(), circle[first].from.Name.Span()
		if cmp.Or(cmp.Compare(sourceName(a), sourceName(b)), cmp.Compare(a.Start, b.Start)) < 0 {
			first = i
		}
	}
	circle = append(slices.Clone(circle[first:]), circle[:first]...)
	last := circle[len(circle)-1]
	text := ""
	if len(circle) > 1 {
		var steps []string
		for _, l := range circle {
			steps = append(steps, l.from.Name.Value+" calls "+l.to.Name.Value)
		}
		text = ": " + strings.Join(steps, ", ")
	}
	d := c.list.Report(diag.Recursion, last.at.Span(), "pipeline %q calls itself%s", last.to.Name.Value, text)
	d.Hintf("take out one of the calls; to go back to a phase, a route does it")
	for _, l := range circle[:len(circle)-1] {
		d.Notef(l.at.Span(), "%q is called here", l.to.Name.Value)
	}
}

func sourceName(s diag.Span) string {
	if s.Source == nil {
		return ""
	}
	return s.Source.Name
}

// callPhase compiles what a phase calls and checks which params it is given.
func (c *compiler) callPhase(ph *Phase, src *schema.Phase) {
	if call := (&Call{Last: ph.ID}); ph.Each != nil {
		ph.Each.Call = call
	} else {
		ph.Call = call
	}
	c.foreignToCalls(ph, src)
	to, known := c.cat.calledPipeline(src.Call.Value)
	if !known {
		var ok bool
		if to, ok = c.cat.unknownPipeline(&c.list, src.Call.Span(), src.Call.Value); !ok {
			return
		}
	}
	if to == c.own {
		c.sayRecursion([]link{{c.own, src.Call, to}})
		return
	}
	if way := c.cat.wayBack(to, c.own, map[*schema.Pipeline]bool{}); way != nil {
		c.sayRecursion(append([]link{{c.own, src.Call, to}}, way...))
		return
	}
	callee := c.cat.complete(to)
	c.calls[ph.ID] = callee
	if known { // else it may be another one that is meant
		c.givenParams(src, callee)
	}
	if c.lacksCommands(src, to) {
		return
	}
	c.list.Merge(callee.findings())
	c.used.add(callee.used)
	times := 1
	if ph.Each != nil {
		times = ph.Each.Limit
	} else {
		c.called += len(callee.g.Phases)
	}
	if c.most += times * (callee.most + len(callee.p.Phases)); c.most > maxCalled {
		c.list.Report(diag.TooLarge, src.Call.Span(), "pipeline %q has more than %d phases with those that it calls", c.g.Pipeline, maxCalled).
			Hintf("call fewer pipelines, or make them smaller")
	}
}

// lacksCommands reports at a call which commands a pipeline that ships runs and the file does not define.
func (c *compiler) lacksCommands(src *schema.Phase, to *schema.Pipeline) bool {
	if find(c.cat.builtin.Pipelines, to.Name.Value, pipelineName) != to || c.own.Name.Set && find(c.cat.builtin.Pipelines, c.own.Name.Value, pipelineName) == c.own {
		return false
	}
	lacks := false
	for i := range to.Phases {
		name := to.Phases[i].Command
		if _, ok := c.cat.command(name.Value); name.Set && !ok {
			lacks = true
			if !c.cat.partial {
				c.list.Report(diag.UnknownCommand, src.Call.Span(), "pipeline %q runs the command %q, which is not defined", to.Name.Value, name.Value).
					Hintf("define it under commands, as %s: the command line", name.Value)
			}
		}
	}
	return lacks
}

// foreignToCalls reports keys of a phase that say something of its work: the work of a call is that of the phases
// that the called pipeline has.
func (c *compiler) foreignToCalls(ph *Phase, src *schema.Phase) {
	say := func(set bool, key string, at diag.Span, instead string) {
		if set {
			c.list.Report(diag.PhaseKind, at, "%q is a call and has no %s: that is for the phases of %s", ph.Name, key, src.Call.Value).
				Hintf("remove %s: %s", key, instead)
		}
	}
	gate := diag.Span{}
	if len(src.Gates) > 0 {
		gate = src.Gates[0].Span
	}
	say(len(src.Gates) > 0, "gates", gate, "write them in the called pipeline, or in a phase behind the call")
	say(src.Timeout.Set, "timeout", src.Timeout.Span, "limits.time holds for the whole run, and each called phase has its own timeout")
	say(src.Env.Set, "env", src.Env.Span, "hand values over with set, and read them there as params")
	say(src.Dir.Set, "dir", src.Dir.Span(), "write it in the called pipeline")
	say(src.Commits.Set, "commits", src.Commits.Span(), "write it in the called pipeline")
}

// givenParams checks the names of what a call sets.
func (c *compiler) givenParams(src *schema.Phase, callee *compiler) {
	var known []string
	for i := range callee.g.Params {
		known = append(known, callee.g.Params[i].Name)
	}
	slices.Sort(known)
	given := map[string]bool{}
	for i := range src.Set.Items {
		name := src.Set.Items[i].Name
		given[name.Value] = true
		if !slices.Contains(known, name.Value) && !callee.def.unread {
			d := c.list.Report(diag.UnknownParam, name.Span(), "pipeline %q has no param %q", callee.g.Pipeline, name.Value)
			didYouMean(d, name.Value, known, "it has no params: remove set, or declare it there")
		}
	}
	for i := range callee.g.Params {
		if p := &callee.g.Params[i]; p.Required && !given[p.Name] {
			c.list.Report(diag.MissingKey, src.Call.Span(), "pipeline %q needs the param %q", callee.g.Pipeline, p.Name).
				Hintf("add set: {%s: VALUE}", p.Name).Notef(p.Span, "it is declared here")
		}
	}
}

// settingTexts compiles the values that a call sets.
func (c *compiler) settingTexts(ph *Phase, src *schema.Phase) {
	callee := c.calls[ph.ID]
	for i := range src.Set.Items {
		item := &src.Set.Items[i]
		t := c.strict(item.Value.Frag)
		if t == nil {
			continue
		}
		c.templateReads(ph.ID, t, false)
		for _, r := range t.Reads() {
			if r.Phase == "" && slices.Contains([]string{"context", "handoff_dir", "handoff_files"}, r.Field) {
				c.list.Report(diag.TemplateUnknown, r.Span, "%q has no value in set: it is looked up when a phase starts its work", r.Field).
					Hintf("read it in the called pipeline")
			}
		}
		ph.call().Set = append(ph.call().Set, Setting{Name: item.Name.Value, Value: t})
		text, literal := t.Literal()
		if !literal || callee == nil {
			continue
		}
		for j := range callee.g.Params {
			p := &callee.g.Params[j]
			if p.Name != item.Name.Value {
				continue
			}
			if why := p.CheckParam(text); why != "" {
				c.list.Report(diag.WrongType, item.Value.Span(), "the value of param %q %s", p.Name, why).
					Hintf("write a value of type %s", p.Type).Notef(p.Span, "it is declared here")
			}
		}
	}
}

// handsOnFeedback says whether one of the params that a call sets is made of the feedback.
func (c *compiler) handsOnFeedback(call *Phase) bool {
	for _, pair := range c.src[call.ID].Set.Items {
		t := c.strict(pair.Value.Frag)
		if t == nil {
			return true
		}
		for _, r := range t.Reads() {
			if r.Phase == "" && r.Field == "feedback" {
				return true
			}
		}
	}
	return false
}

// callHas says whether a phase of what a call runs is of some kind.
func (c *compiler) callHas(call PhaseID, is func(*Phase) bool) bool {
	callee := c.calls[call]
	if callee == nil {
		return false
	}
	for i := range callee.g.Phases {
		if is(&callee.g.Phases[i]) {
			return true
		}
	}
	return false
}
