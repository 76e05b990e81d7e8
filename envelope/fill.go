package envelope

// Fill returns a copy of an object in which each optional field that is missing has its default: the one
// the field says, else "", 0, false, an empty list, or an object all of whose fields are filled. A required
// field that is missing from an object that is there stays so.
func (k *Kind) Fill(o Object) Object { return fill(k.Fields, o) }

func fill(fields []Field, o Object) Object {
	out := make(Object, max(len(o), len(fields)))
	for key, v := range o {
		out[key] = copied(v)
	}
	for _, f := range fields {
		v, has := out[f.Name]
		switch {
		case !has && f.Required:
		case !has:
			out[f.Name] = f.zero()
		case f.Type == Nested:
			if inner, ok := v.(Object); ok {
				out[f.Name] = fill(f.Fields, inner)
			}
		case f.Type == List && f.Of == Nested:
			elements, _ := v.([]any)
			for i, e := range elements {
				if inner, ok := e.(Object); ok {
					elements[i] = fill(f.Fields, inner)
				}
			}
		}
	}
	return out
}

// zero is the value of an optional field that was left out.
func (f Field) zero() any {
	if f.Default != nil {
		return f.typed(f.Default)
	}
	switch f.Type {
	case Int:
		return 0
	case Number:
		return 0.0
	case Bool:
		return false
	case List:
		return []any{}
	case Nested:
		out := make(Object, len(f.Fields))
		for _, inner := range f.Fields {
			out[inner.Name] = inner.zero()
		}
		return out
	}
	return ""
}

// typed converts a default to the types an Object has: a file's numbers are int64, and a whole one may
// stand for a fraction.
func (f Field) typed(v any) any {
	switch v := v.(type) {
	case int64:
		if f.Type == Number {
			return float64(v)
		}
		return int(v)
	case int:
		if f.Type == Number {
			return float64(v)
		}
	case []string:
		out := make([]any, len(v))
		for i, s := range v {
			out[i] = s
		}
		return out
	case []any:
		element := Field{Type: f.Of, Fields: f.Fields}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = element.typed(e)
		}
		return out
	case Object:
		out := make(Object, len(v))
		for key, inner := range v {
			out[key] = inner
			for _, g := range f.Fields {
				if g.Name == key {
					out[key] = g.typed(inner)
				}
			}
		}
		return fill(f.Fields, out)
	}
	return v
}

// copied copies lists and objects, so that a filled envelope shares nothing that can change.
func copied(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = copied(e)
		}
		return out
	case Object:
		out := make(Object, len(v))
		for key, e := range v {
			out[key] = copied(e)
		}
		return out
	}
	return v
}
