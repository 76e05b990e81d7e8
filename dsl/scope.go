package dsl

// What an expression can name, and the static types of it.

import (
	"slices"
	"strings"

	"foundry/diag"
)

// Kind is the kind of a static type.
type Kind uint8

// The kinds; the zero value is invalid.
const (
	AnyType Kind = iota + 1
	String
	Int
	Number
	Bool
	List
	Object
)

var kindNames = [...]string{AnyType: "any value", String: "string", Int: "int", Number: "number", Bool: "bool", List: "list", Object: "object"}

// String names the kind as a pipeline file does.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return "invalid"
	}
	return kindNames[k]
}

// Type is the static type of a value. A nil *Type is any value.
type Type struct {
	Kind   Kind
	Elem   *Type     // of a List; nil: anything
	Fields []Field   // of an Object; nil: any field, of any type
	Enum   []string  // of a String: all the values it can have, in the order of their author; nil: any
	EnumAt diag.Span // where the file lists them; nowhere for those of the language
}

// Field is a field of an object type.
type Field struct {
	Name string
	Type *Type
}

// Var is a name that an expression can use.
type Var struct {
	Name string
	Type *Type
}

// PhaseVar is a phase that an expression can name.
type PhaseVar struct {
	Name     string
	Type     *Type // an Object: what phases.<name> has
	Approves bool  // approved(<name>) has a meaning: a review kind, or an ask
}

// Scope is what the expressions of one place can name. It is only read, and may be shared by any number of
// expressions and goroutines; compiling builds nothing from it that grows with it.
type Scope struct {
	Vars   []Var
	Phases []PhaseVar // sorted by name

	// Elsewhere says of a phase that is not among Phases whether another pipeline has it: in a prompt it is not
	// available then, and no error. Nil: none does.
	Elsewhere func(phase string) bool
}

func (s *Scope) variable(name string) (*Type, bool) {
	for i := range s.Vars {
		if s.Vars[i].Name == name {
			return known(s.Vars[i].Type), true
		}
	}
	return nil, false
}

func (s *Scope) phase(id string) *PhaseVar {
	i, ok := slices.BinarySearchFunc(s.Phases, id, func(p PhaseVar, id string) int { return strings.Compare(p.Name, id) })
	if !ok {
		return nil
	}
	return &s.Phases[i]
}

func (s *Scope) phaseNames() []string {
	names := make([]string, len(s.Phases))
	for i := range s.Phases {
		names[i] = s.Phases[i].Name
	}
	return names
}

func (s *Scope) variableNames() []string {
	names := make([]string, len(s.Vars))
	for i := range s.Vars {
		names[i] = s.Vars[i].Name
	}
	slices.Sort(names)
	return names
}

// known replaces the absent type by any value.
func known(t *Type) *Type {
	if t == nil {
		return anyT
	}
	return t
}

// is says whether a value of the type can be of one of the kinds.
func (t *Type) is(list ...Kind) bool {
	return t.Kind == AnyType || slices.Contains(list, t.Kind) || slices.Contains(list, AnyType)
}

func (t *Type) elem() *Type { return known(t.Elem) }

// field looks a field up; an object without declared fields has any.
func (t *Type) field(name string) (*Type, bool) {
	if t.Fields == nil {
		return anyT, true
	}
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return known(t.Fields[i].Type), true
		}
	}
	return nil, false
}

func (t *Type) fieldNames() []string {
	names := make([]string, len(t.Fields))
	for i := range t.Fields {
		names[i] = t.Fields[i].Name
	}
	slices.Sort(names)
	return names
}

// name is the type as messages say it.
func (t *Type) name() string {
	switch t.Kind {
	case String:
		return "a string"
	case Int:
		return "an int"
	case Number:
		return "a number"
	case Bool:
		return "a bool"
	case List:
		if t.Elem != nil && t.Elem.Kind != AnyType {
			return "a list of " + t.Elem.Kind.String() + "s"
		}
		return "a list"
	case Object:
		return "an object"
	}
	return "any value"
}

// join is the type of a value that is one or the other.
func join(a, b *Type) *Type {
	switch {
	case a == b:
		return a
	case a.is(Int, Number) && b.is(Int, Number) && a.Kind != AnyType && b.Kind != AnyType:
		if a.Kind == Int && b.Kind == Int {
			return intT
		}
		return numberT
	case a.Kind != b.Kind:
		return anyT
	case a.Kind == String:
		return stringT
	case a.Kind == Bool:
		return boolT
	case a.Kind == List:
		return &Type{Kind: List, Elem: join(a.elem(), b.elem())}
	case a.Kind == Object:
		return &Type{Kind: Object}
	}
	return anyT
}
