package graph

import (
	"slices"
	"strings"

	"foundry/dsl"
	"foundry/envelope"
	"foundry/schema"
)

// This file answers what an editor asks while a file is being written: what a text at some place could name.
// The answers come from the scopes that the text will be compiled in, so that what is offered compiles. A file
// with mistakes has answers too, as far as it can be made out.

// Place says where a text stands, as far as that decides what it can name.
type Place uint8

// The places; the zero value is invalid.
const (
	Before Place = iota + 1 // a condition before a phase, or acceptance: request, params and phases
	After                   // the rules and gate checks of a phase: what it came to as well
	Inside                  // a template: what a text is given as well
)

// Member is a name that a text can use, or a field of what it names.
type Member struct {
	Name string
	Type string   // in words, such as "list of string"
	Enum []string // the values it can have, when it can have no others
}

// Members lists what may follow a path of names at a place of a phase; an empty path stands for the beginning
// of an expression. "[]" in the path is an element of a list. Without a pipeline, phases are those of all
// pipelines; without a phase, or with one that is not known, the place is taken for Before. Nothing is found
// below a name that is not known.
func (c *Catalogue) Members(pipeline, phase string, at Place, chain []string) []Member {
	if pipeline == "" {
		return c.membersAnywhere(chain)
	}
	comp, ok := c.opened(pipeline)
	if !ok {
		return nil
	}
	s := comp.scopes.when
	switch id, known := comp.byName[phase]; {
	case at == Inside:
		s = comp.scopes.prompt
		if known {
			s = comp.withEntry(&comp.g.Phases[id], s)
		}
	case at == After && known:
		s = comp.endedScope(&comp.g.Phases[id])
	}
	return scopeMembers(s, chain)
}

// withEntry is a scope with the entry of a list, of a phase that is repeated over one.
func (c *compiler) withEntry(ph *Phase, s *dsl.Scope) *dsl.Scope {
	if ph.Each == nil {
		return s
	}
	item := anyType
	if in, _ := dsl.CompileCond(c.src[ph.ID].Each.In.Frag, c.scopes.when, listType); in != nil {
		item = itemType(in.Type())
	}
	return c.scope(append(slices.Clone(templateNames), dsl.Var{Name: ph.Each.As, Type: item})...)
}

// opened is a pipeline compiled up to its scopes, false when there is no such pipeline.
func (c *Catalogue) opened(pipeline string) (*compiler, bool) {
	p, ok := c.pipeline(pipeline)
	if !ok {
		return nil, false
	}
	comp, done := c.scoped[p]
	if !done {
		comp = c.compiler(p)
		comp.prepare()
		c.scoped[p] = comp
	}
	return comp, true
}

// membersAnywhere is for the texts of an agent, which any pipeline may use. A phase that several pipelines have
// is the first one's.
func (c *Catalogue) membersAnywhere(chain []string) []Member {
	var out []Member
	for _, doc := range []*schema.Document{c.user, c.builtin} {
		for i := range doc.Pipelines {
			if doc.Pipelines[i].Name.Value == "" {
				continue
			}
			for _, m := range c.Members(doc.Pipelines[i].Name.Value, "", Inside, chain) {
				if !slices.ContainsFunc(out, func(o Member) bool { return o.Name == m.Name }) {
					out = append(out, m)
				}
			}
			if len(chain) > 1 && chain[0] == "phases" && len(out) > 0 {
				return out
			}
		}
	}
	return out
}

func scopeMembers(s *dsl.Scope, chain []string) []Member {
	if len(chain) == 0 {
		var out []Member
		for _, v := range s.Vars {
			out = append(out, member(v.Name, v.Type))
		}
		return append(out, Member{Name: "phases", Type: "the phases by id"})
	}
	var t *dsl.Type
	switch {
	case chain[0] != "phases":
		i := slices.IndexFunc(s.Vars, func(v dsl.Var) bool { return v.Name == chain[0] })
		if i < 0 {
			return nil
		}
		t, chain = s.Vars[i].Type, chain[1:]
	case len(chain) == 1:
		var out []Member
		for _, p := range s.Phases {
			out = append(out, Member{Name: p.Name, Type: "phase"})
		}
		return out
	default:
		i := slices.IndexFunc(s.Phases, func(p dsl.PhaseVar) bool { return p.Name == chain[1] })
		if i < 0 {
			return nil
		}
		t, chain = s.Phases[i].Type, chain[2:]
	}
	for _, name := range chain {
		if t = below(t, name); t == nil {
			return nil
		}
	}
	return fields(t)
}

// below is the type of a field of an object, or of an element of a list; nil when there is none.
func below(t *dsl.Type, name string) *dsl.Type {
	if t == nil {
		return nil
	}
	if name == "[]" {
		return t.Elem
	}
	i := slices.IndexFunc(t.Fields, func(f dsl.Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return t.Fields[i].Type
}

func fields(t *dsl.Type) []Member {
	if t == nil {
		return nil
	}
	var out []Member
	for _, f := range t.Fields {
		out = append(out, member(f.Name, f.Type))
	}
	return out
}

func member(name string, t *dsl.Type) Member {
	m := Member{Name: name, Type: dsl.AnyType.String()}
	if t == nil {
		return m
	}
	m.Type, m.Enum = t.Kind.String(), t.Enum
	if t.Kind == dsl.List && t.Elem != nil {
		m.Type += " of " + t.Elem.Kind.String()
	}
	return m
}

// Approving are the phases of a pipeline that approved() can ask about.
func (c *Catalogue) Approving(pipeline string) []string {
	comp, ok := c.opened(pipeline)
	if !ok {
		return nil
	}
	var out []string
	for _, p := range comp.scopes.phases {
		if p.Approves {
			out = append(out, p.Name)
		}
	}
	return out
}

// Fields are the fields of a kind of envelope; false when there is no such kind.
func (c *Catalogue) Fields(kind string) ([]envelope.Field, bool) {
	k, _, ok := c.envelope(kind)
	if !ok {
		return nil, false
	}
	return k.Fields, true
}

// Agent is an agent with what it extends merged in. The name may begin with "builtin/".
func (c *Catalogue) Agent(name string) (schema.Agent, bool) {
	a, ok := c.agent(name)
	if own, builtin := strings.CutPrefix(name, builtinPrefix); builtin {
		a = find(c.builtin.Agents, own, agentName)
		ok = a != nil
	}
	if !ok {
		return schema.Agent{}, false
	}
	def := c.resolveAgent(a)
	out := def.a
	if !out.Harness.Set {
		out.Harness = c.user.Project.Harness
	}
	return out, true
}

// Pipeline is a pipeline with what it extends merged in. The name may begin with "builtin/".
func (c *Catalogue) Pipeline(name string) (schema.Pipeline, bool) {
	p, ok := c.pipeline(name)
	if own, builtin := cutBuiltin(name); builtin {
		p = find(c.builtin.Pipelines, own, pipelineName)
		ok = p != nil
	}
	if !ok {
		return schema.Pipeline{}, false
	}
	return c.resolvePipeline(p).p, true
}
