package graph

import (
	"slices"
	"strings"

	"foundry/diag"
	"foundry/envelope"
	"foundry/schema"
)

// This file resolves envelope kinds: a kind of the file is the kind it extends with fields of its own.

// kindDef is a resolved envelope kind of the file.
type kindDef struct {
	kind   *envelope.Kind // never nil: a broken kind has the fields that are right
	list   diag.List
	active bool // being resolved, to find circles
	unread bool // what it extends is unknown and resembles nothing
}

func builtinKinds() []string {
	var out []string
	for _, k := range envelope.Builtins() {
		out = append(out, k.Name)
	}
	return out
}

func (c *Catalogue) kindNames() []Name {
	var out []Name
	for i := range c.user.Envelopes {
		e := &c.user.Envelopes[i]
		_, shadows := envelope.Builtin(e.Name.Value)
		out = append(out, Name{Kind: EnvelopeName, Name: e.Name.Value, Place: e.Name.Span(), Shadows: shadows})
	}
	for _, name := range builtinKinds() {
		if find(c.user.Envelopes, name, kindName) == nil {
			out = append(out, Name{Kind: EnvelopeName, Name: name, Builtin: true})
		}
	}
	return out
}

// envelope finds a kind by its name; def is nil for one that is part of the program.
func (c *Catalogue) envelope(name string) (kind *envelope.Kind, def *kindDef, ok bool) {
	if e := find(c.user.Envelopes, name, kindName); e != nil {
		def := c.resolveKind(e)
		return def.kind, def, true
	}
	kind, ok = envelope.Builtin(name)
	return kind, nil, ok
}

// unknownEnvelope reports a name that is no kind and returns that of the kind which was likely meant, or "".
func (c *Catalogue) unknownEnvelope(list *diag.List, at diag.Span, name string) string {
	if c.partial {
		return ""
	}
	known := append(names(kindName, c.user.Envelopes), builtinKinds()...)
	slices.Sort(known)
	d := list.Report(diag.UnknownEnvelope, at, "envelope %q is not defined", name)
	near := didYouMean(d, name, slices.Compact(known), "define it under envelopes")
	if strings.HasPrefix(d.Hint, "there are ") {
		d.Hint += ", or define it under envelopes: {" + name + ": {fields: {…}}}"
	}
	return near
}

func (c *Catalogue) resolveKind(e *schema.Envelope) *kindDef {
	if def, ok := c.kinds[e]; ok {
		if def.active {
			def.list.Report(diag.Cycle, e.Extends.Span(), "envelope %q extends itself", e.Name.Value).
				Hintf("extend a kind that does not lead back here, such as generic")
		}
		return def
	}
	generic, _ := envelope.Builtin("generic")
	def := &kindDef{active: true, kind: envelope.Extend(generic, e.Name.Value, nil)}
	c.kinds[e] = def
	base := generic
	switch parent := e.Extends.Value; {
	case !e.Extends.Set:
	case parent == e.Name.Value: // a kind may extend the builtin one it takes the place of
		k, ok := envelope.Builtin(parent)
		if !ok {
			def.list.Report(diag.Cycle, e.Extends.Span(), "envelope %q extends itself", parent).
				Hintf("extend a kind that does not lead back here, such as generic")
			break
		}
		base = k
	default:
		k, _, ok := c.envelope(parent)
		if !ok {
			near := c.unknownEnvelope(&def.list, e.Extends.Span(), parent)
			if k, _, ok = c.envelope(near); !ok || near == e.Name.Value {
				def.unread = true
				break
			}
		}
		base = k
	}
	def.kind = envelope.Extend(base, e.Name.Value, c.fields(e.Fields, &def.list))
	def.active = false
	return def
}

func (c *Catalogue) fields(in []schema.Field, list *diag.List) []envelope.Field {
	var out []envelope.Field
	for i := range in {
		out = append(out, c.field(&in[i], list))
	}
	return out
}

func (c *Catalogue) field(f *schema.Field, list *diag.List) envelope.Field {
	out := envelope.Field{Name: f.Name.Value, Type: fieldTypeNamed(f.Type), Required: f.Required.Value}
	if f.Untyped {
		out.Type = 0
		return out
	}
	shaped := out.Type
	if out.Type == envelope.List {
		out.Of = fieldTypeNamed(f.Of)
		shaped = out.Of
	} else if f.Of.Set {
		list.Report(diag.WrongType, f.Of.Span(), "`of` says what a list holds, and %q is of type %s", out.Name, out.Type).
			Hintf("write type: list, or remove of")
	}
	if len(f.Fields) > 0 && shaped != envelope.Nested {
		list.Report(diag.WrongType, f.Span, "only an object has fields, and %q is of type %s", out.Name, out.Type).
			Hintf("write type: object, or of: object for a list")
	}
	if shaped == envelope.Nested {
		out.Fields = c.fields(f.Fields, list)
	}
	if f.Enum.Set {
		if shaped != envelope.String {
			list.Report(diag.WrongType, f.Enum.Span, "only strings have an enum, and %q is of type %s", out.Name, out.Type).
				Hintf("write type: string, or remove enum")
		} else {
			out.Enum, out.EnumAt = f.Enum.Values(), f.Enum.Span
		}
	}
	if f.Default.Set {
		v, why := fieldValue(out, f.Default)
		if why != "" {
			list.Report(diag.WrongType, f.Default.Span, "the default of %q %s", out.Name, why).
				Hintf("write a value of type %s", out.Type)
		}
		out.Default = v
	}
	return out
}

// fieldTypeNamed is a type by its word; a field that does not say one holds a string.
func fieldTypeNamed(t schema.Text) envelope.Type {
	if typ, ok := envelope.TypeOf(t.Value); ok {
		return typ
	}
	return envelope.String
}

// fieldValue turns a default into a value of the field; why says what does not fit.
func fieldValue(f envelope.Field, d schema.Data) (v any, why string) {
	switch f.Type {
	case envelope.List:
		items, ok := d.Value.([]schema.Data)
		if !ok {
			return nil, "is not a list"
		}
		out := make([]any, 0, len(items))
		for _, item := range items {
			v, why := fieldValue(envelope.Field{Type: f.Of, Enum: f.Enum, Fields: f.Fields}, item)
			if why != "" {
				return nil, "has an element that " + why
			}
			out = append(out, v)
		}
		return out, ""
	case envelope.Nested:
		fields, ok := d.Value.([]schema.DataField)
		if !ok {
			return nil, "is not an object"
		}
		out := envelope.Object{}
		for _, item := range fields {
			i := slices.IndexFunc(f.Fields, func(g envelope.Field) bool { return g.Name == item.Name.Value })
			if i < 0 {
				return nil, "has a field " + item.Name.Value + " that the type lacks"
			}
			v, why := fieldValue(f.Fields[i], item.Value)
			if why != "" {
				return nil, "has a field " + item.Name.Value + " that " + why
			}
			out[item.Name.Value] = v
		}
		return out, ""
	}
	return scalarValue(f, d.Value)
}

func scalarValue(f envelope.Field, value any) (v any, why string) {
	switch x := value.(type) {
	case string:
		if f.Type == envelope.String || f.Type == envelope.Path {
			if len(f.Enum) > 0 && !slices.Contains(f.Enum, x) {
				return nil, "is none of the enum"
			}
			return x, ""
		}
	case bool:
		if f.Type == envelope.Bool {
			return x, ""
		}
	case int64:
		if f.Type == envelope.Int {
			return int(x), ""
		}
		if f.Type == envelope.Number {
			return float64(x), ""
		}
	case float64:
		if f.Type == envelope.Number {
			return x, ""
		}
	}
	return nil, "is not of type " + f.Type.String()
}
