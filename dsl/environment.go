package dsl

// What expr is given to work with: no variables at all, but functions that read values, typed so that its
// checker knows what they give. Their names contain a blank, so no expression can name them.

import (
	"reflect"
	"sync"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	exprcheck "github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
)

var goTypes = [...]reflect.Type{
	AnyType: reflect.TypeFor[any](),
	String:  reflect.TypeFor[string](),
	Int:     reflect.TypeFor[int](),
	Number:  reflect.TypeFor[float64](),
	Bool:    reflect.TypeFor[bool](),
	List:    reflect.TypeFor[[]any](),
	Object:  reflect.TypeFor[map[string]any](),
}

// config is what one compilation needs of expr. expr caches types in it without a lock.
type config struct {
	conf    *conf.Config
	checker *exprcheck.Checker
}

var configs = sync.Pool{New: func() any {
	c := conf.New(map[string]any{})
	c.Optimize = false // it rewrites calls of functions that ours replace
	c.Strict = true
	c.Functions = internals()
	return &config{conf: c, checker: new(exprcheck.Checker)}
}}

// internals are the functions that calls are rewritten to.
var internals = sync.OnceValue(func() conf.FunctionsTable {
	table := conf.FunctionsTable{}
	add := func(name string, call func(args ...any) (any, error), signature reflect.Type) {
		table[name] = &builtin.Function{Name: name, Func: call, Types: []reflect.Type{signature}}
	}
	for kind := AnyType; kind <= Object; kind++ {
		pair := reflect.FuncOf([]reflect.Type{goTypes[AnyType], goTypes[AnyType]}, []reflect.Type{goTypes[kind]}, false)
		add(internal("read", kind), callRead, pair)
		add(internal("step", kind), callStep, pair)
		many := reflect.FuncOf([]reflect.Type{reflect.TypeFor[[]any]()}, []reflect.Type{goTypes[kind]}, true)
		add(internal("min", kind), callExtreme, many)
		add(internal("max", kind), callExtreme, many)
	}
	add(internal("passed", Bool), callPassed, reflect.TypeFor[func(any, string) bool]())
	add(internal("approved", Bool), callApproved, reflect.TypeFor[func(any, string) bool]())
	add(internal("all_phases_pass", Bool), callAllPass, reflect.TypeFor[func(any) bool]())
	add(internal("last_phase_pass", Bool), callLastPass, reflect.TypeFor[func(any) bool]())
	add(internal("divide", Number), divide, reflect.TypeFor[func(any, any) float64]())
	add(internal("modulo", Int), modulo, reflect.TypeFor[func(any, any) int]())
	add(internal("tail", String), tail, reflect.TypeFor[func(string, int) string]())
	add(internal("int", Int), whole, reflect.TypeFor[func(any) int]())
	add(internal("lines", List), lines, reflect.TypeFor[func(string) []any]())
	add(internal("text", String), text, reflect.TypeFor[func(any) string]())
	add(internal("glob", List), globbed, reflect.TypeFor[func(string, any) []any]())
	return table
})

// internal is the name of the variant of a function that gives a kind.
func internal(name string, kind Kind) string { return " " + name + " " + kindNames[kind] }

// invoke makes the call that replaces written. It keeps the place of all of what it replaces.
func invoke(written ast.Node, name string, t *Type, args ...ast.Node) ast.Node {
	callee := &ast.IdentifierNode{Value: internal(name, t.Kind)}
	call := &ast.CallNode{Callee: callee, Arguments: args}
	at := file.Location{From: -1}
	bounds(written, &at)
	callee.SetLocation(at)
	call.SetLocation(at)
	return call
}

// readNames are the variants of read, by kind.
var readNames = sync.OnceValue(func() (names [len(kindNames)]string) {
	for kind := AnyType; kind <= Object; kind++ {
		names[kind] = internal("read", kind)
	}
	return names
})

// readCall is the call that carries out a read, in one piece: nearly all calls are such.
func readCall(written ast.Node, r *read) ast.Node {
	n := &struct {
		call        ast.CallNode
		callee, env ast.IdentifierNode
		what        ast.ConstantNode
		args        [2]ast.Node
	}{}
	at := file.Location{From: -1}
	bounds(written, &at)
	n.callee.Value, n.env.Value, n.what.Value = readNames()[r.typ.Kind], "$env", r
	n.args = [2]ast.Node{&n.env, &n.what}
	n.call.Callee, n.call.Arguments = &n.callee, n.args[:]
	n.call.SetLocation(at)
	n.callee.SetLocation(at)
	n.env.SetLocation(written.Location())
	n.what.SetLocation(written.Location())
	return &n.call
}

// environment is the argument through which a call gets at the values of this evaluation.
func environment(written ast.Node) ast.Node {
	n := &ast.IdentifierNode{Value: "$env"}
	n.SetLocation(written.Location())
	return n
}

func constant(written ast.Node, value any) ast.Node {
	n := &ast.ConstantNode{Value: value}
	n.SetLocation(written.Location())
	return n
}

// plainRead is the read that a node is, or nil when it is more than that.
func plainRead(n ast.Node) *read {
	call, ok := n.(*ast.CallNode)
	if !ok || len(call.Arguments) != 2 {
		return nil
	}
	c, ok := call.Arguments[1].(*ast.ConstantNode)
	if !ok {
		return nil
	}
	r, _ := c.Value.(*read)
	return r
}
