package dsl

// Evaluation. A read that finds no value fails with a NoValueError that names the term as it was written;
// since expr evaluates && and || from the left, what a guard keeps from being reached is not read.

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
)

// Values is what an evaluation reads. A key that Vars or a phase's map does not have is no value, and so is
// nil. Values are string, int, float64, bool, []any, []string and map[string]any. A function that is nil
// gives no value.
type Values struct {
	Vars             map[string]any
	Phase            func(id string) map[string]any // nil for a phase without a result
	Passed, Approved func(id string) bool
	AllPass          func() bool
	LastPass         func() bool
}

// NoValueError says that a term was read that has no value: its phase has no result, or its field none.
type NoValueError struct{ Term string }

func (e *NoValueError) Error() string { return e.Term + " has no value" }

// EvalError says that a term could not be evaluated although its parts have values.
type EvalError struct {
	Term   string // as written
	Reason string
}

func (e *EvalError) Error() string { return e.Term + ": " + e.Reason }

// read is an access to a value by name: a variable and fields of it, or a phase and fields of it.
type read struct {
	phase string
	path  []string
	typ   *Type
	term  string // as written
}

// step is an access to a part of a computed value: a field, or an index when field is "".
type step struct {
	field string
	index int
	typ   *Type
	term  string
}

// extreme is a call of min or max.
type extreme struct {
	max  bool
	typ  *Type
	term string
}

// frame is what one evaluation works with.
type frame struct {
	values Values
	vm     vm.VM
}

var frames = sync.Pool{New: func() any { return new(frame) }}

func newFrame(v Values) *frame {
	f := frames.Get().(*frame)
	f.values = v
	return f
}

func (f *frame) release() {
	f.values = Values{}
	frames.Put(f)
}

// run evaluates a program; text is its source, for errors.
func (f *frame) run(p *vm.Program, text string) (any, error) {
	f.vm.MemoryBudget = memoryBudget
	value, err := f.vm.Run(p, f)
	if err == nil {
		return value, nil
	}
	var absent *NoValueError
	var failed *EvalError
	switch {
	case errors.As(err, &absent):
		return nil, absent
	case errors.As(err, &failed):
		return nil, failed
	}
	reason := err.Error()
	var e *file.Error
	if errors.As(err, &e) {
		reason = e.Message
	}
	return nil, &EvalError{Term: text, Reason: reason}
}

// memoryBudget bounds what one evaluation can build, in elements of lists.
const memoryBudget = 1e6

func (f *frame) read(r *read) (any, error) {
	var at map[string]any
	path := r.path
	if r.phase == "" {
		at = f.values.Vars
	} else if f.values.Phase != nil {
		at = f.values.Phase(r.phase)
	}
	if len(path) == 0 { // a phase as a whole
		if at == nil {
			return nil, &NoValueError{Term: r.term}
		}
		return at, nil
	}
	for i, name := range path {
		value, ok := at[name]
		if !ok || value == nil {
			return nil, &NoValueError{Term: r.term}
		}
		if i == len(path)-1 {
			return conform(value, r.typ, r.term)
		}
		if at, ok = value.(map[string]any); !ok {
			return nil, &EvalError{Term: r.term, Reason: fmt.Sprintf("%s is %s and has no fields", strings.Join(path[:i+1], "."), kindOf(value))}
		}
	}
	panic("BUG: a read without a path")
}

// conform makes sure that a value is of the type that the expression was compiled for: a whole number may
// arrive as a float64 and a number as an int. Anything else of another type fails.
func conform(value any, t *Type, term string) (any, error) {
	switch t.Kind {
	case String:
		if _, ok := value.(string); ok {
			return value, nil
		}
	case Bool:
		if _, ok := value.(bool); ok {
			return value, nil
		}
	case Int:
		switch v := value.(type) {
		case int:
			return value, nil
		case int64:
			return int(v), nil
		case float64:
			if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
				return int(v), nil
			}
		}
	case Number:
		switch v := value.(type) {
		case float64:
			return value, nil
		case int:
			return float64(v), nil
		case int64:
			return float64(v), nil
		}
	case List:
		if list, ok := conformList(value, t, term); ok {
			return list, nil
		}
	case Object:
		if _, ok := value.(map[string]any); ok {
			return value, nil
		}
	default:
		if v, ok := value.(int64); ok {
			return int(v), nil
		}
		return value, nil
	}
	return nil, &EvalError{Term: term, Reason: fmt.Sprintf("%s was expected, and it is %s", t.name(), kindOf(value))}
}

// conformList is conform for lists. The elements of lists of objects are left alone: their fields are looked
// at when they are read.
func conformList(value any, t *Type, term string) (any, bool) {
	elem := t.elem()
	switch list := value.(type) {
	case []string:
		return list, elem.is(String)
	case []any:
		if elem.Kind == Object || elem.Kind == AnyType {
			return list, true
		}
		out := list
		for i, e := range list {
			if e == nil {
				return nil, false
			}
			v, err := conform(e, elem, term)
			if err != nil {
				return nil, false
			}
			if elem.Kind != Int && elem.Kind != Number && elem.Kind != List {
				continue
			}
			if i == 0 {
				out = make([]any, len(list))
			}
			out[i] = v
		}
		return out, true
	}
	return nil, false
}

func kindOf(value any) string {
	switch value.(type) {
	case string:
		return stringT.name()
	case int, int64:
		return intT.name()
	case float64:
		return numberT.name()
	case bool:
		return boolT.name()
	case []any, []string:
		return "a list"
	case map[string]any:
		return "an object"
	case nil:
		return "nothing"
	}
	return fmt.Sprintf("a %T", value)
}

func callRead(args ...any) (any, error) { return args[0].(*frame).read(args[1].(*read)) }

func callStep(args ...any) (any, error) {
	s := args[1].(*step)
	if s.field != "" {
		object, ok := args[0].(map[string]any)
		if !ok {
			return nil, &EvalError{Term: s.term, Reason: kindOf(args[0]) + " has no fields"}
		}
		value, ok := object[s.field]
		if !ok || value == nil {
			return nil, &NoValueError{Term: s.term}
		}
		return conform(value, s.typ, s.term)
	}
	list := elements(args[0])
	if list == nil {
		if _, ok := args[0].([]any); !ok {
			return nil, &EvalError{Term: s.term, Reason: kindOf(args[0]) + " has no elements"}
		}
	}
	i := s.index
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) || list[i] == nil {
		return nil, &NoValueError{Term: s.term}
	}
	return conform(list[i], s.typ, s.term)
}

func callPassed(args ...any) (any, error) {
	return args[0].(*frame).ask(Term{Func: "passed", Phase: args[1].(string)}, `passed("`+args[1].(string)+`")`)
}

func callApproved(args ...any) (any, error) {
	return args[0].(*frame).ask(Term{Func: "approved", Phase: args[1].(string)}, `approved("`+args[1].(string)+`")`)
}

func callAllPass(args ...any) (any, error) {
	return args[0].(*frame).ask(Term{Func: "all_phases_pass"}, "all_phases_pass")
}

func callLastPass(args ...any) (any, error) {
	return args[0].(*frame).ask(Term{Func: "last_phase_pass"}, "last_phase_pass")
}

// ask evaluates a term.
func (f *frame) ask(t Term, text string) (bool, error) {
	v := &f.values
	switch {
	case t.Func == "passed" && v.Passed != nil:
		return v.Passed(t.Phase), nil
	case t.Func == "approved" && v.Approved != nil:
		return v.Approved(t.Phase), nil
	case t.Func == "all_phases_pass" && v.AllPass != nil:
		return v.AllPass(), nil
	case t.Func == "last_phase_pass" && v.LastPass != nil:
		return v.LastPass(), nil
	}
	return false, &NoValueError{Term: text}
}

// callExtreme is min and max over its arguments and the elements of those that are lists.
func callExtreme(args ...any) (any, error) {
	e := args[len(args)-1].(*extreme)
	var best any
	var size float64
	consider := func(v any) error {
		n, ok := number(v)
		if !ok {
			return &EvalError{Term: e.term, Reason: kindOf(v) + " is no number"}
		}
		if best == nil || e.max && n > size || !e.max && n < size {
			best, size = v, n
		}
		return nil
	}
	for _, a := range args[:len(args)-1] {
		list := elements(a)
		if _, ok := number(a); ok {
			list = []any{a}
		}
		for _, v := range list {
			if err := consider(v); err != nil {
				return nil, err
			}
		}
	}
	if best == nil {
		return nil, &NoValueError{Term: e.term}
	}
	return conform(best, e.typ, e.term)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

var errDivision = errors.New("division by zero")

func divide(args ...any) (any, error) {
	a, okA := number(args[0])
	b, okB := number(args[1])
	switch {
	case !okA || !okB:
		return nil, fmt.Errorf("%s cannot be divided by %s", kindOf(args[0]), kindOf(args[1]))
	case b == 0:
		return nil, errDivision
	}
	return a / b, nil
}

func modulo(args ...any) (any, error) {
	a, okA := args[0].(int)
	b, okB := args[1].(int)
	switch {
	case !okA || !okB:
		return nil, fmt.Errorf("%s cannot be divided by %s", kindOf(args[0]), kindOf(args[1]))
	case b == 0:
		return nil, errDivision
	}
	return a % b, nil
}
