package envelope

import "slices"

// Claim is a path in an envelope. Field is the field that holds it, without indexes ("steps.files").
type Claim struct {
	Field   string
	Path    string
	Planned bool // it says what may be done, not what was
}

// Paths returns the value of every field of type path or list of path, nested ones too, in the order of the
// kind's fields. Empty ones are left out. A nil kind, as of a phase without an envelope, has none.
func (k *Kind) Paths(o Object) []Claim {
	if k == nil {
		return nil
	}
	return paths(nil, k.Fields, o, "", false)
}

func paths(out []Claim, fields []Field, o Object, prefix string, planned bool) []Claim {
	for _, f := range fields {
		out = f.paths(out, o[f.Name], prefix+f.Name, planned || f.Planned)
	}
	return out
}

func (f Field) paths(out []Claim, v any, name string, planned bool) []Claim {
	switch f.Type {
	case Path:
		if p, ok := v.(string); ok && p != "" {
			out = append(out, Claim{name, p, planned})
		}
	case Nested:
		if inner, ok := v.(Object); ok {
			out = paths(out, f.Fields, inner, name+".", planned)
		}
	case List:
		elements, _ := v.([]any)
		element := Field{Type: f.Of, Fields: f.Fields}
		for _, e := range elements {
			out = element.paths(out, e, name, planned)
		}
	}
	return out
}

// Claims returns the paths that the envelope says were written: all of Paths that are not planned, each once.
func (k *Kind) Claims(o Object) []string {
	var out []string
	seen := make(map[string]bool)
	for _, c := range k.Paths(o) {
		if !c.Planned && !seen[c.Path] {
			seen[c.Path] = true
			out = append(out, c.Path)
		}
	}
	return slices.Clip(out)
}
