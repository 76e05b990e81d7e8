package graph

import (
	"foundry/diag"
	"foundry/dsl"
	"foundry/envelope"
)

// This file is the pass that opens the scopes: what the expressions of each place can name, with its type.
// Places that can name the same things share one scope, so that a pipeline of a thousand phases has a handful.

// scopes are the scopes of one pipeline.
type scopes struct {
	phases []dsl.PhaseVar
	params *dsl.Type

	when     *dsl.Scope // before a phase: request, params, phases
	accept   *dsl.Scope
	prompt   *dsl.Scope // prompts and everything else that is rendered for a phase
	strict   *dsl.Scope // the same names, for a command
	item     *dsl.Scope // of an item of the phase itemOf: its own rules and gate checks
	itemOf   PhaseID    // -1: the texts are of no phase that is repeated
	results  map[resultKey]*dsl.Type
	ended    map[resultKey]*dsl.Scope
	envelope map[*envelope.Kind]*dsl.Type
}

// resultKey tells apart what ended phases can have. Only phases with outputs have a type of their own.
type resultKey struct {
	vague    bool
	kind     PhaseKind
	work     PhaseKind
	envelope *envelope.Kind
	outputs  PhaseID // -1 when it has none
}

var (
	anyType    = &dsl.Type{Kind: dsl.AnyType}
	stringType = &dsl.Type{Kind: dsl.String}
	intType    = &dsl.Type{Kind: dsl.Int}
	boolType   = &dsl.Type{Kind: dsl.Bool}
	pathsType  = &dsl.Type{Kind: dsl.List, Elem: stringType}

	// statusType is a phase's status at any time, endedType one that a rule can see.
	statusType = &dsl.Type{Kind: dsl.String, Enum: []string{"queued", "running", "waiting", "success", "fail", "rejected",
		"skipped", "not_run", "stopped", "unverified", "blocked"}}
	endedType      = &dsl.Type{Kind: dsl.String, Enum: []string{"success", "fail", "rejected", "skipped", "unverified"}}
	callReasonType = &dsl.Type{Kind: dsl.String, Enum: []string{"", "acceptance", "abort", "spent", "no_progress", "unmatched", "criterion", "expression"}}
	eachReasonType = &dsl.Type{Kind: dsl.String, Enum: []string{"", "unmatched", "review", "expression"}}
	reasonType     = &dsl.Type{Kind: dsl.String, Enum: []string{"", "exit", "timeout", "envelope", "truncated", "boundary", "gate",
		"reported", "harness", "rejected", "review", "expression", "conflict"}}
	answerType = &dsl.Type{Kind: dsl.String, Enum: []string{"approve", "reject"}}
)

// templateNames are what a text can name beside the request, the params and the phases.
var templateNames = []dsl.Var{
	{Name: "feedback", Type: stringType}, {Name: "run_id", Type: stringType}, {Name: "branch", Type: stringType},
	{Name: "base", Type: stringType}, {Name: "worktree", Type: stringType}, {Name: "handoff_dir", Type: stringType},
	{Name: "handoff_files", Type: pathsType}, {Name: "context", Type: stringType},
}

func paramType(t ParamType, choices []string, at diag.Span) *dsl.Type {
	switch t {
	case ParamInt:
		return intType
	case ParamNumber:
		return &dsl.Type{Kind: dsl.Number}
	case ParamBool:
		return boolType
	case ParamList:
		return pathsType
	case ParamChoice:
		return &dsl.Type{Kind: dsl.String, Enum: choices, EnumAt: at}
	case 0: // no type of the language, which was reported
		return anyType
	}
	return stringType
}

// open is the pass.
func (c *compiler) open() {
	s := &c.scopes
	s.results, s.ended, s.envelope = map[resultKey]*dsl.Type{}, map[resultKey]*dsl.Scope{}, map[*envelope.Kind]*dsl.Type{}
	s.params = &dsl.Type{Kind: dsl.Object, Fields: []dsl.Field{}}
	for i := range c.g.Params {
		p := &c.g.Params[i]
		s.params.Fields = append(s.params.Fields, dsl.Field{Name: p.Name, Type: paramType(p.Type, p.Choices, p.ChoicesAt)})
	}
	s.phases = make([]dsl.PhaseVar, 0, len(c.names))
	for _, name := range c.names {
		ph := &c.g.Phases[c.byName[name]]
		if c.vague(ph) {
			s.phases = append(s.phases, dsl.PhaseVar{Name: name, Type: anyType, Approves: true})
			continue
		}
		approves := ph.Kind == Ask || ph.Kind == AgentWork && ph.Envelope.Approves()
		s.phases = append(s.phases, dsl.PhaseVar{Name: name, Type: c.result(ph), Approves: approves})
	}
	s.when = c.scope()
	s.accept = s.when
	s.prompt = c.scope(templateNames...)
	s.strict, s.itemOf = s.prompt, -1
}

// scope is one of this pipeline that can name the request, the params, the phases and more.
func (c *compiler) scope(more ...dsl.Var) *dsl.Scope {
	vars := append([]dsl.Var{{Name: "request", Type: stringType}, {Name: "params", Type: c.scopes.params}}, more...)
	return &dsl.Scope{Vars: vars, Phases: c.scopes.phases, Elsewhere: c.cat.elsewhere}
}

func (c *compiler) keyOf(ph *Phase) resultKey {
	key := resultKey{vague: c.vague(ph), kind: ph.Kind, work: ph.Work(), envelope: ph.Envelope, outputs: -1}
	if len(ph.Outputs) > 0 {
		key.outputs = ph.ID
	}
	return key
}

// vars are the names that an ended visit of a phase has.
func (c *compiler) vars(ph *Phase) []dsl.Var {
	switch ph.Kind {
	case Calls:
		return []dsl.Var{{Name: "status", Type: endedType}, {Name: "reason", Type: callReasonType}, {Name: "visit", Type: intType}}
	case FansOut:
		return []dsl.Var{{Name: "status", Type: endedType}, {Name: "reason", Type: eachReasonType}, {Name: "visit", Type: intType}, {Name: "items", Type: c.itemsType(ph)}}
	}
	out := []dsl.Var{{Name: "status", Type: endedType}, {Name: "reason", Type: reasonType}, {Name: "exit", Type: intType},
		{Name: "attempt", Type: intType}, {Name: "visit", Type: intType}}
	if c.vague(ph) {
		for _, name := range maybeAnything {
			out = append(out, dsl.Var{Name: name, Type: anyType})
		}
		return append(out, dsl.Var{Name: "changed", Type: pathsType}, dsl.Var{Name: "violations", Type: pathsType})
	}
	switch ph.Kind {
	case Code, Commit, Status:
		out = append(out, dsl.Var{Name: "output", Type: stringType})
	case Ask:
		generic, _ := envelope.Builtin("generic")
		return append(out, dsl.Var{Name: "answer", Type: answerType}, dsl.Var{Name: "envelope", Type: envelopeType(generic.Fields)})
	case AgentWork:
		out = append(out, dsl.Var{Name: "envelope", Type: c.envelopeType(ph.Envelope)})
	}
	if len(ph.Outputs) > 0 {
		outputs := &dsl.Type{Kind: dsl.Object}
		for i := range ph.Outputs {
			outputs.Fields = append(outputs.Fields, dsl.Field{Name: ph.Outputs[i].Name, Type: paramType(ph.Outputs[i].Type, nil, diag.Span{})})
		}
		out = append(out, dsl.Var{Name: "outputs", Type: outputs})
	}
	return append(out, dsl.Var{Name: "changed", Type: pathsType}, dsl.Var{Name: "violations", Type: pathsType})
}

// itemsType is what phases.<id>.items is: how each item ended, and what it reported.
func (c *compiler) itemsType(ph *Phase) *dsl.Type {
	item := &dsl.Type{Kind: dsl.Object, Fields: []dsl.Field{{Name: "id", Type: stringType}, {Name: "status", Type: statusType}}}
	if ph.Each.Kind == AgentWork {
		report := anyType
		if ph.Envelope != nil {
			report = c.envelopeType(ph.Envelope)
		}
		item.Fields = append(item.Fields, dsl.Field{Name: "envelope", Type: report})
	}
	return &dsl.Type{Kind: dsl.List, Elem: item}
}

// result is what phases.<id> has.
func (c *compiler) result(ph *Phase) *dsl.Type {
	key := c.keyOf(ph)
	if t, ok := c.scopes.results[key]; ok {
		return t
	}
	t := &dsl.Type{Kind: dsl.Object}
	for _, v := range c.vars(ph) {
		if v.Name == "status" {
			v.Type = statusType
		}
		if v.Name == "visit" && (ph.Kind == Calls || ph.Kind == FansOut) { // visits says the same
			continue
		}
		t.Fields = append(t.Fields, dsl.Field(v))
	}
	t.Fields = append(t.Fields, dsl.Field{Name: "visits", Type: intType})
	c.scopes.results[key] = t
	return t
}

// endedScope is the scope of the routes and gate checks of a phase.
func (c *compiler) endedScope(ph *Phase) *dsl.Scope {
	key := c.keyOf(ph)
	s, ok := c.scopes.ended[key]
	if !ok {
		s = c.scope(c.vars(ph)...)
		c.scopes.ended[key] = s
	}
	return s
}

func (c *compiler) envelopeType(k *envelope.Kind) *dsl.Type {
	t, ok := c.scopes.envelope[k]
	if !ok {
		t = envelopeType(k.Fields)
		c.scopes.envelope[k] = t
	}
	return t
}

// envelopeType is the static type of an object with those fields.
func envelopeType(fields []envelope.Field) *dsl.Type {
	t := &dsl.Type{Kind: dsl.Object, Fields: []dsl.Field{}}
	for _, f := range fields {
		t.Fields = append(t.Fields, dsl.Field{Name: f.Name, Type: fieldType(f.Type, f)})
	}
	return t
}

func fieldType(t envelope.Type, f envelope.Field) *dsl.Type {
	switch t {
	case envelope.Int:
		return intType
	case envelope.Number:
		return &dsl.Type{Kind: dsl.Number}
	case envelope.Bool:
		return boolType
	case envelope.List:
		return &dsl.Type{Kind: dsl.List, Elem: fieldType(f.Of, f)}
	case envelope.Nested:
		return envelopeType(f.Fields)
	case envelope.String:
		if len(f.Enum) > 0 {
			return &dsl.Type{Kind: dsl.String, Enum: f.Enum, EnumAt: f.EnumAt}
		}
	case 0: // no type of the language, which was reported
		return anyType
	}
	return stringType
}

// cond compiles a condition; nil when it has errors, which are reported.
func (c *compiler) cond(f diag.Fragment, s *dsl.Scope, want *dsl.Type) *dsl.Cond {
	cond, list := dsl.CompileCond(f, s, want)
	c.list.Merge(list)
	if cond != nil {
		c.used.params(cond.Reads())
	}
	return cond
}

// prompt compiles a text in which what is not available says so.
func (c *compiler) prompt(f diag.Fragment) *dsl.Template {
	return c.template(f, c.scopes.prompt, dsl.Prompt)
}

// strict compiles a text in which what is not available fails the phase.
func (c *compiler) strict(f diag.Fragment) *dsl.Template {
	return c.template(f, c.scopes.strict, dsl.Strict)
}

// template compiles each text of the file once for the pipeline, however many phases use it. A nil template
// has errors, which are reported.
func (c *compiler) template(f diag.Fragment, s *dsl.Scope, m dsl.Mode) *dsl.Template {
	key := templateKey{at: f.Whole(), text: f.Text, mode: m, item: c.scopes.itemOf}
	if t, ok := c.templates[key]; ok {
		return t
	}
	t, list := dsl.CompileTemplate(f, s, m)
	c.list.Merge(list)
	if list.HasErrors() {
		t = nil
	}
	if t != nil {
		c.used.params(t.Reads())
	}
	c.templates[key] = t
	return t
}
