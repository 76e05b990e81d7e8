// Package envelope owns the envelope: the JSON object that an agent must end its reply with. One definition
// of a kind gives what validates a reply, the example in the prompt, the fields that expressions may read,
// and which fields hold paths.
package envelope

import (
	"slices"

	"foundry/diag"
)

// Type is the type of a field.
type Type uint8

// The types of fields; the zero value is invalid.
const (
	String Type = iota + 1
	Int
	Number
	Bool
	List
	Nested // an object with fields of its own; the language calls it object
	Path   // a string that names a file, from the repository root
)

// String is the word the language has for the type.
func (t Type) String() string {
	switch t {
	case String:
		return "string"
	case Int:
		return "int"
	case Number:
		return "number"
	case Bool:
		return "bool"
	case List:
		return "list"
	case Nested:
		return "object"
	case Path:
		return "path"
	}
	return "invalid"
}

// TypeOf is the type with that word; false when the language has none.
func TypeOf(word string) (Type, bool) {
	for t := String; t <= Path; t++ {
		if t.String() == word {
			return t, true
		}
	}
	return 0, false
}

// Object is a checked envelope, or an object in one. Its values are string, int, float64, bool, []any and
// Object; below a key that the kind does not know also nil, and json.Number for a number that neither int
// nor float64 holds exactly.
type Object = map[string]any

// Field is one field of a kind.
type Field struct {
	Name     string
	Type     Type     // zero when the file names a type that there is not, which is reported; no such kind is run
	Of       Type     // element type of a list
	Enum     []string // the values a string, or each element of a list of strings, may have; nil is any
	Required bool
	Default  any       // the value of an optional field that is left out; nil is the type's zero value
	Fields   []Field   // of a nested object, or of a list's objects
	Doc      string    // what the example shows for a string; "" shows the type
	EnumAt   diag.Span // where the file lists the enum; nowhere for a kind of the program
	Planned  bool      // its paths say what may be done, not what was
}

// Kind is a kind of envelope. A Kind is immutable and may be shared.
type Kind struct {
	Name   string
	Fields []Field // the base fields first
}

// Extend makes a kind that has the fields of base and then those given; one with the name of a field of
// base takes its place. base is not changed; nil stands for generic.
func Extend(base *Kind, name string, fields []Field) *Kind {
	if base == nil {
		base = &Kind{Fields: baseFields()}
	}
	k := &Kind{Name: name, Fields: slices.Clone(base.Fields)}
	for _, f := range fields {
		if i := slices.IndexFunc(k.Fields, func(g Field) bool { return g.Name == f.Name }); i >= 0 {
			k.Fields[i] = f
			continue
		}
		k.Fields = append(k.Fields, f)
	}
	return k
}

// Lookup finds a field of the kind by its name.
func (k *Kind) Lookup(name string) (Field, bool) {
	i := slices.IndexFunc(k.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return k.Fields[i], true
}

// ChangeLimits is the field of a plan with the sentences of the request that forbid changes.
const ChangeLimits = "change_limits"

// LimitsChanges says that envelopes of this kind quote such sentences, as plans do.
func (k *Kind) LimitsChanges() bool {
	f, ok := k.Lookup(ChangeLimits)
	return ok && f.Type == List && f.Of == Nested && f.Planned
}

// Approves says that envelopes of this kind carry a verdict.
func (k *Kind) Approves() bool {
	f, ok := k.Lookup("approved")
	return ok && f.Type == Bool && f.Required
}
