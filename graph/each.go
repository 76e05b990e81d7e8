package graph

import (
	"slices"
	"strings"

	"foundry/diag"
	"foundry/dsl"
	"foundry/glob"
	"foundry/schema"
)

// This file compiles what repeats a phase over a list. The phase is compiled as one of its items would be: its texts
// may name the entry. For its own pipeline it is a phase of its own kind, which has the items as its body; they come
// into the graph when the list is known (grow.go).

// Each is the list over which a phase is repeated, and what one of its items is.
type Each struct {
	Body   // of the items; Own is empty until the list is known
	In     *dsl.Cond
	As     string // what texts call an entry
	Limit  int
	Apart  bool      // each item works in a worktree of its own
	Any    bool      // it passes when one item has passed; else all of them have to
	Kind   PhaseKind // of an item: AgentWork, Code or Calls
	Call   *Call     // what each item calls, as a call before anything of it is in a graph; nil for the other kinds
	Callee *Graph    // the pipeline of Call
	Rules  []Rule    // those of each item, which lead to the item itself; Phase and Target are -1
	Writes []ItemGlobs
	Maker  PhaseID // the agent phase whose report the list is, -1 when there is none
	Items  []Item  // in the order in which they take turns; nil until the list is known
}

// ItemGlobs is an entry of a boundary that stands for a list of patterns which each item has by itself.
type ItemGlobs struct {
	Layer, Entry int // of the phase's Boundary.Writes
	Value        *dsl.Cond
}

// Body is what a phase says of the phases that it has as its own: those of the pipeline that it calls, or the items
// over which it is repeated. It is nil for every other phase.
func (p *Phase) Body() *Body {
	switch {
	case p.Each != nil:
		return &p.Each.Body
	case p.Call != nil:
		return &p.Call.Body
	}
	return nil
}

// Work is the kind of what is done: of a phase that is repeated that of its items.
func (p *Phase) Work() PhaseKind {
	if p.Each != nil {
		return p.Each.Kind
	}
	return p.Kind
}

// call is the call that a phase is, or that each of its items is.
func (p *Phase) call() *Call {
	if p.Each != nil {
		return p.Each.Call
	}
	return p.Call
}

// Scope is the call in whose pipeline the texts of a phase name things, -1 for the graph's own: an item names what the
// phase that is repeated does.
func (g *Graph) Scope(p PhaseID) PhaseID {
	owner := g.Phases[p].Owner
	for owner >= 0 && g.Phases[owner].Each != nil {
		owner = g.Phases[owner].Owner
	}
	return owner
}

// repeated reads what repeats a phase; its kind so far is what is done for each entry.
func (c *compiler) repeated(ph *Phase, src *schema.Phase) {
	if ph.Kind != AgentWork && ph.Kind != Code && ph.Kind != Calls {
		what, hint := "asks a person", "put the list into the question, and ask once"
		if ph.Kind != Ask {
			what, hint = "is a builtin, which has nothing to do with an entry of a list", "put it behind the phase that is repeated"
		}
		c.list.Report(diag.PhaseKind, src.Each.Span, "%q %s, and cannot be repeated over a list", ph.Name, what).Hintf("remove each: %s", hint)
		return
	}
	e := &Each{As: "item", Limit: src.Each.Limit.Value, Any: src.Each.Require.Value == "any", Kind: ph.Kind, Maker: -1}
	e.KeepGoing, e.FailFast = c.g.KeepGoing, c.g.FailFast && !e.Any
	if src.Each.As.Set {
		e.As = src.Each.As.Value
	}
	ph.Each, ph.Kind = e, FansOut
}

// listType is what the list of an each has to be.
var listType = &dsl.Type{Kind: dsl.List}

// eachTexts compiles the list, then opens the scope of the phase's texts, in which the entry has a name. The function
// that is returned closes it again.
func (c *compiler) eachTexts(ph *Phase, src *schema.Phase) func() {
	if ph.Each == nil {
		return func() {}
	}
	e := ph.Each
	item := anyType
	if src.Each.In.Set {
		e.In = c.cond(src.Each.In.Frag, c.scopes.when, listType)
	}
	if e.In != nil {
		c.condReads(ph.ID, e.In)
		item = itemType(e.In.Type())
		e.Maker = c.maker(ph, e.In)
	}
	was := c.scopes
	entry := dsl.Var{Name: e.As, Type: item}
	c.scopes.prompt = c.scope(append(slices.Clone(templateNames), entry)...)
	c.scopes.strict = c.scopes.prompt
	one := *ph
	one.Each, one.Kind = nil, e.Kind
	c.scopes.item = c.scope(append(c.vars(&one), entry)...)
	c.scopes.itemOf = ph.ID
	c.fanOutCost(ph, src)
	return func() { c.scopes = was }
}

// itemType is the type of an item whose list has a type: an object has an id besides, any other entry becomes an
// object with an id and a title.
func itemType(list *dsl.Type) *dsl.Type {
	if list == nil || list.Kind != dsl.List || list.Elem == nil || list.Elem.Kind == dsl.AnyType {
		return anyType
	}
	id := dsl.Field{Name: "id", Type: stringType}
	switch elem := list.Elem; {
	case elem.Kind != dsl.Object:
		return &dsl.Type{Kind: dsl.Object, Fields: []dsl.Field{id, {Name: "title", Type: stringType}}}
	case elem.Fields == nil || slices.ContainsFunc(elem.Fields, func(f dsl.Field) bool { return f.Name == "id" }):
		return elem
	default:
		return &dsl.Type{Kind: dsl.Object, Fields: append([]dsl.Field{id}, elem.Fields...)}
	}
}

// maker is the agent phase whose report a list is: the list reads no other phase, and can be judged when that one
// reports.
func (c *compiler) maker(ph *Phase, in *dsl.Cond) PhaseID {
	maker := PhaseID(-1)
	for _, r := range in.Reads() {
		id, ok := c.byName[r.Phase]
		switch {
		case r.Phase == "":
		case !ok || r.Field != "envelope" || maker >= 0 && maker != id, c.g.Phases[id].Kind != AgentWork, !ph.Before.Has(id):
			return -1
		default:
			maker = id
		}
	}
	if len(in.Terms()) > 0 {
		return -1
	}
	return maker
}

// fanOutCost warns of many turns on whatever model a harness has by itself.
func (c *compiler) fanOutCost(ph *Phase, src *schema.Phase) {
	if ph.Each.Kind != AgentWork || ph.Agent < 0 || src.Model.Set {
		return
	}
	a := &c.g.Agents[ph.Agent]
	if a.Model != "" || a.Light != "" || a.Heavy != "" || a.Harness == "script" || a.Harness == "command" {
		return
	}
	c.list.Report(diag.FanOutCost, src.Agent.Span(), "%q has up to %d items, and agent %q works on whatever model is the default", ph.Name, ph.Each.Limit, a.Name).
		Hintf("give the agent a model, or models: {light: …, heavy: …}, from which the complexity of an item chooses")
}

// itemWrites finds the entries of `writes` that stand for a list of an item's own patterns. It says whether an entry
// is one.
func (c *compiler) itemWrites(ph *Phase, t schema.Text, layer, entry int) bool {
	text := t.Value
	if !strings.HasPrefix(text, "{{") || !strings.HasSuffix(text, "}}") || strings.Count(text, "{{") != 1 {
		return false
	}
	if ph.Each == nil {
		c.list.Report(diag.BadGlob, t.Span(), "%q is looked up for each item of a phase with each, and %q has none", text, ph.Name).Hintf("write patterns of paths")
		return true
	}
	start, end := 2, len(text)-2
	for start < end && text[start] == ' ' {
		start++
	}
	for end > start && text[end-1] == ' ' {
		end--
	}
	value := c.cond(t.Frag.Slice(start, end), c.scopes.prompt, listType)
	if value != nil {
		c.reads(ph.ID, value.Reads(), inText)
		ph.Each.Writes = append(ph.Each.Writes, ItemGlobs{Layer: layer, Entry: entry, Value: value})
	}
	return true
}

// itemRules takes the rules that lead to `self` out of a phase's route: they are those of each item.
func (c *compiler) itemRules(ph *Phase, all []dsl.Rule) []dsl.Rule {
	if ph.Each == nil {
		return all
	}
	var own []dsl.Rule
	for _, r := range all {
		if r.Action != dsl.Goto || r.Target.Text != dsl.Self {
			own = append(own, r)
			continue
		}
		rule := Rule{ID: -1, Phase: -1, Trigger: r.Trigger, Action: r.Action, Target: -1, Way: Self, Text: r.Frag.Text, Span: r.Frag.Whole()}
		c.bounded(&rule, &r, ph, &Phase{Name: dsl.Self})
		ph.Each.Rules = append(ph.Each.Rules, rule)
		c.itemParsed[ph.ID] = append(c.itemParsed[ph.ID], r)
	}
	return own
}

// itemRuleTexts compiles the conditions and texts of the items' own rules.
func (c *compiler) itemRuleTexts(ph *Phase) {
	if ph.Each == nil {
		return
	}
	one := *ph
	one.Each, one.Kind, one.Optional = nil, ph.Each.Kind, false
	can := possible(&one, false)
	for i := range ph.Each.Rules {
		rule, src := &ph.Each.Rules[i], &c.itemParsed[ph.ID][i]
		if triggered(rule.Trigger)&can == 0 {
			c.list.Report(diag.UnreachableRule, rule.Span, "an item of %q never ends in %s, so this rule is never tried", ph.Name, rule.Trigger).
				Hintf("%s", neverHint(&one, rule.Trigger))
		}
		if src.When.Text != "" {
			if rule.When = c.cond(src.When, c.scopes.item, boolType); rule.When != nil {
				c.condReads(ph.ID, rule.When)
			}
		}
		if src.With.Text != "" {
			if rule.With = c.cond(src.With, c.scopes.item, nil); rule.With != nil {
				c.condReads(ph.ID, rule.With)
			}
		}
	}
}

// itemVisits is how often the items of one visit of a phase can be visited in all.
func (e *Each) itemVisits() int {
	again := 1
	for i := range e.Rules {
		again = plus(again, e.Rules[i].Retry)
	}
	return times(e.Limit, again)
}

// makesPlan says whether the report of a phase is the list of another one, and judged as such.
func (c *compiler) makesPlan(p PhaseID) bool {
	for i := range c.g.Phases {
		if each := c.g.Phases[i].Each; each != nil && each.Maker == p {
			return true
		}
	}
	return false
}

// templated says that a pattern holds what looks like a template.
func templated(pattern string) bool { return strings.Contains(pattern, "{{") }

// withGlobs is a boundary in which the entries that stand for patterns of an item are those.
func (e *Each) withGlobs(b glob.Boundary, writes [][]string) glob.Boundary {
	if len(e.Writes) == 0 {
		return b
	}
	b.Writes = slices.Clone(b.Writes)
	for layer := range b.Writes {
		var globs []string
		for entry, pattern := range b.Writes[layer].Globs {
			i := slices.IndexFunc(e.Writes, func(w ItemGlobs) bool { return w.Layer == layer && w.Entry == entry })
			if i < 0 {
				globs = append(globs, pattern)
			} else if i < len(writes) {
				globs = append(globs, writes[i]...)
			}
		}
		b.Writes[layer].Globs = globs
	}
	return b
}
