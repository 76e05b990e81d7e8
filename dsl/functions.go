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
	doc      string // one line, for the documentation
}

// functions is the table, in the order of the documentation.
var functions = [...]function{
	{name: "len", params: []kinds{sized}, result: Int, usage: "len(list or text)", doc: "how many elements a list has, characters a text, fields an object"},
	{name: "any", params: []kinds{lists}, closure: true, yields: bools, result: Bool, usage: "any(list, condition)", doc: "whether the condition holds for at least one element"},
	{name: "all", params: []kinds{lists}, closure: true, yields: bools, result: Bool, usage: "all(list, condition)", doc: "whether it holds for every element; of an empty list it does"},
	{name: "none", params: []kinds{lists}, closure: true, yields: bools, result: Bool, usage: "none(list, condition)", doc: "whether it holds for no element"},
	{name: "one", params: []kinds{lists}, closure: true, yields: bools, result: Bool, usage: "one(list, condition)", doc: "whether it holds for exactly one element"},
	{name: "count", params: []kinds{lists}, optional: 1, closure: true, yields: bools, result: Int, usage: "count(list, condition)", doc: "for how many elements it holds; without a condition, how many are true"},
	{name: "filter", params: []kinds{lists}, closure: true, yields: bools, usage: "filter(list, condition)", doc: "the elements for which it holds"},
	{name: "map", params: []kinds{lists}, closure: true, yields: anything, usage: "map(list, value)", doc: "the value for each element"},
	{name: "sum", params: []kinds{lists}, optional: 1, closure: true, yields: numbers, usage: "sum(list) or sum(list, number)", doc: "the sum of the elements, or of a number for each"},
	{name: "first", params: []kinds{lists}, usage: "first(list)", doc: "the first element; an empty list has none, which is no value"},
	{name: "last", params: []kinds{lists}, usage: "last(list)", doc: "the last element; an empty list has none, which is no value"},
	{name: "join", params: []kinds{lists, texts}, optional: 1, result: String, usage: `join(list, ", ")`, doc: "the texts of a list as one text, with the second text between them"},
	{name: "split", params: []kinds{texts, texts, ints}, optional: 1, result: List, usage: `split(text, ",")`, doc: "a text cut at each place where the second text stands"},
	{name: "trim", params: []kinds{texts, texts}, optional: 1, result: String, usage: "trim(text)", doc: "a text without the blanks at both ends, or without the characters of the second text"},
	{name: "lower", params: []kinds{texts}, result: String, usage: "lower(text)", doc: "in small letters"},
	{name: "upper", params: []kinds{texts}, result: String, usage: "upper(text)", doc: "in capital letters"},
	{name: "replace", params: []kinds{texts, texts, texts, ints}, optional: 1, result: String, usage: "replace(text, old, new)", doc: "a text with another in place of each occurrence, or of the first n"},
	{name: "string", params: []kinds{scalars}, result: String, usage: "string(value)", doc: "a number or a truth as text"},
	{name: "int", params: []kinds{of(String, Int, Number)}, result: Int, own: whole, usage: "int(value)", doc: "a number cut at its point, or a text of digits, as a whole number"},
	{name: "min", params: []kinds{of(Int, Number, List)}, many: true, usage: "min(a, b) or min(list)", doc: "the smallest of numbers"},
	{name: "max", params: []kinds{of(Int, Number, List)}, many: true, usage: "max(a, b) or max(list)", doc: "the largest of numbers"},

	{name: "tail", params: []kinds{texts, ints}, result: String, own: tail, usage: "tail(output, 40)", doc: "the last n lines of a text"},
	{name: "lines", params: []kinds{texts}, result: List, own: lines, usage: "lines(output)", doc: "the lines of a text as a list"},
	{name: "text", params: []kinds{anything}, result: String, own: text, usage: "text(list or object)", doc: "a list as bullets, an object as JSON, anything else as it is"},
	{name: "glob", params: []kinds{texts, lists}, result: List, own: globbed, usage: `glob("src/**", changed)`, doc: "the entries of a list that match a pattern of paths"},
}

// Function describes a function of expressions for the documentation and for editors.
type Function struct {
	Name   string
	Usage  string // a call, as an example
	Result string // the kind of its value; "" when that follows from the arguments
	Doc    string // one line
}

// Functions lists all that can be called, in the order of the documentation.
func Functions() []Function {
	out := []Function{
		{Name: "passed", Usage: usage("passed"), Result: Bool.String(), Doc: "whether the phase stands at success now; the id is a literal"},
		{Name: "approved", Usage: usage("approved"), Result: Bool.String(), Doc: "whether a review, or a person who was asked, approved; the id is a literal"},
	}
	for _, f := range functions {
		row := Function{Name: f.name, Usage: f.usage, Doc: f.doc}
		if f.result != 0 {
			row.Result = f.result.String()
		}
		out = append(out, row)
	}
	return out
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
	return anys(strings.Split(s, "\n")), nil
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
		return anys(l)
	case []int:
		return anys(l)
	}
	return nil
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}
