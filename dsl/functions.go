package dsl

// The functions that an expression can call: an allow-list. What is not in this table is refused, whatever
// expr offers; insteadOf says for some what to write instead.

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"foundry/glob"
)

// kinds is a set of the kinds that a parameter takes.
type kinds uint16

func of(list ...Kind) kinds {
	var set kinds
	for _, k := range list {
		set |= 1 << k
	}
	return set
}

func (s kinds) has(k Kind) bool { return k == AnyType || s&(1<<k) != 0 }

var (
	texts    = of(String)
	ints     = of(Int)
	numbers  = of(Int, Number)
	lists    = of(List)
	bools    = of(Bool)
	scalars  = of(String, Int, Number, Bool)
	sized    = of(String, List, Object)
	anything = of(String, Int, Number, Bool, List, Object)
)

// function describes one function. A closure takes a list and an expression over its elements.
type function struct {
	name     string
	params   []kinds
	optional int   // how many of params can be left out
	many     bool  // the last parameter can be repeated
	closure  bool  // params[1] is evaluated for each element; it can be left out when optional is 1
	yields   kinds // what the closure's expression gives
	result   Kind  // 0: told from the arguments
	own      func(args ...any) (any, error)
	usage    string
}

// functions is the table, in the order of the documentation.
var functions = [...]function{
	{name: "len", params: []kinds{sized}, result: Int, usage: "len(list or text)"},
	{name: "any", params: []kinds{lists}, closure: true, yields: bools, result: Bool, usage: "any(list, condition)"},
	{name: "all", params: []kinds{lists}, closure: true, yields: bools, result: Bool, usage: "all(list, condition)"},
	{name: "none", params: []kinds{lists}, closure: true, yields: bools, result: Bool, usage: "none(list, condition)"},
	{name: "one", params: []kinds{lists}, closure: true, yields: bools, result: Bool, usage: "one(list, condition)"},
	{name: "count", params: []kinds{lists}, optional: 1, closure: true, yields: bools, result: Int, usage: "count(list, condition)"},
	{name: "filter", params: []kinds{lists}, closure: true, yields: bools, usage: "filter(list, condition)"},
	{name: "map", params: []kinds{lists}, closure: true, yields: anything, usage: "map(list, value)"},
	{name: "sum", params: []kinds{lists}, optional: 1, closure: true, yields: numbers, usage: "sum(list) or sum(list, number)"},
	{name: "first", params: []kinds{lists}, usage: "first(list)"},
	{name: "last", params: []kinds{lists}, usage: "last(list)"},
	{name: "join", params: []kinds{lists, texts}, optional: 1, result: String, usage: `join(list, ", ")`},
	{name: "split", params: []kinds{texts, texts, ints}, optional: 1, result: List, usage: `split(text, ",")`},
	{name: "trim", params: []kinds{texts, texts}, optional: 1, result: String, usage: "trim(text)"},
	{name: "lower", params: []kinds{texts}, result: String, usage: "lower(text)"},
	{name: "upper", params: []kinds{texts}, result: String, usage: "upper(text)"},
	{name: "replace", params: []kinds{texts, texts, texts, ints}, optional: 1, result: String, usage: "replace(text, old, new)"},
	{name: "string", params: []kinds{scalars}, result: String, usage: "string(value)"},
	{name: "int", params: []kinds{of(String, Int, Number)}, result: Int, own: whole, usage: "int(value)"},
	{name: "min", params: []kinds{of(Int, Number, List)}, many: true, usage: "min(a, b) or min(list)"},
	{name: "max", params: []kinds{of(Int, Number, List)}, many: true, usage: "max(a, b) or max(list)"},

	{name: "tail", params: []kinds{texts, ints}, result: String, own: tail, usage: "tail(output, 40)"},
	{name: "lines", params: []kinds{texts}, result: List, own: lines, usage: "lines(output)"},
	{name: "text", params: []kinds{anything}, result: String, own: text, usage: "text(list or object)"},
	{name: "glob", params: []kinds{texts, lists}, result: List, own: globbed, usage: `glob("src/**", changed)`},
}

// predicates take the id of a phase, in quotes. words are names with a value of their own.
var (
	predicates = []string{"passed", "approved"}
	words      = []string{"all_phases_pass", "last_phase_pass"}
)

// find looks a function up.
func find(name string) *function {
	for i := range functions {
		if functions[i].name == name {
			return &functions[i]
		}
	}
	return nil
}

// functionNames are all names that can be called, sorted.
func functionNames() []string {
	names := slices.Clone(predicates)
	for i := range functions {
		names = append(names, functions[i].name)
	}
	slices.Sort(names)
	return names
}

// insteadOf says what to write instead of a function that expr has and the language does not.
func insteadOf(name string) string {
	switch name {
	case "find":
		return "write first(filter(list, condition))"
	case "findLast":
		return "write last(filter(list, condition))"
	case "hasPrefix":
		return "write text startsWith prefix"
	case "hasSuffix":
		return "write text endsWith suffix"
	case "indexOf", "lastIndexOf":
		return "write text contains part"
	case "trimPrefix", "trimSuffix":
		return `write replace(text, old, "")`
	case "float":
		return "write int(value)"
	case "toJSON":
		return "write text(value)"
	case "get":
		return "write object.field"
	case "type":
		return "types are fixed and known beforehand"
	case "now", "date", "duration", "timezone":
		return "conditions do not depend on time"
	}
	return ""
}

// tail is the last n lines of a text, without the line break at its end.
func tail(args ...any) (any, error) {
	s, n := strings.TrimRight(args[0].(string), "\r\n"), args[1].(int)
	if n <= 0 {
		return "", nil
	}
	at := len(s)
	for ; n > 0; n-- {
		if at = strings.LastIndexByte(s[:at], '\n'); at < 0 {
			return s, nil
		}
	}
	return s[at+1:], nil
}

// lines splits a text at its line breaks; the one at the end begins no line.
func lines(args ...any) (any, error) {
	s := strings.TrimSuffix(strings.ReplaceAll(args[0].(string), "\r\n", "\n"), "\n")
	if s == "" {
		return []any{}, nil
	}
	parts := strings.Split(s, "\n")
	out := make([]any, len(parts))
	for i, p := range parts {
		out[i] = p
	}
	return out, nil
}

// whole makes a whole number of a number, cut at the point, or of a text.
func whole(args ...any) (any, error) {
	switch v := args[0].(type) {
	case int:
		return v, nil
	case float64:
		if math.Abs(v) < 1<<53 {
			return int(v), nil
		}
	case string:
		if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
			return n, nil
		}
	}
	return nil, errors.New(brief(args[0]) + " is not a whole number")
}

func text(args ...any) (any, error) { return Text(args[0]), nil }

// globbed keeps the entries of a list that match a pattern.
func globbed(args ...any) (any, error) {
	pattern := args[0].(string)
	if err := glob.Validate(pattern); err != nil {
		return nil, err
	}
	out := []any{}
	for _, e := range elements(args[1]) {
		if s, ok := e.(string); ok && glob.Match(pattern, s) {
			out = append(out, s)
		}
	}
	return out, nil
}

// elements is a list as a slice of any.
func elements(list any) []any {
	switch l := list.(type) {
	case []any:
		return l
	case []string:
		out := make([]any, len(l))
		for i := range l {
			out[i] = l[i]
		}
		return out
	case []int:
		out := make([]any, len(l))
		for i := range l {
			out[i] = l[i]
		}
		return out
	}
	return nil
}
