package dsl

// Calls: the part of the checking pass that fits arguments to functions.

import (
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"

	"foundry/diag"
	"foundry/glob"
)

func (k *checker) callNode(n *ast.CallNode) (ast.Node, *Type) {
	id, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		k.at(diag.ExprSyntax, n, "values have fields and no methods").Hintf("functions stand before their arguments: len(changed)")
		return n, anyT
	}
	return k.call(n, id.Value, n.Arguments)
}

// call types a function call.
func (k *checker) call(n ast.Node, name string, args []ast.Node) (ast.Node, *Type) {
	if slices.Contains(predicates, name) {
		return k.predicate(n, name, args)
	}
	f := find(name)
	if f == nil {
		d := k.at(diag.ExprSyntax, n, `there is no function "%s"`, name)
		if hint := insteadOf(name); hint != "" {
			d.Hintf("%s", hint)
		} else if near := diag.Suggest(name, functionNames()); near != "" {
			d.Hintf("did you mean %q?", near)
		} else {
			d.Hintf("there are: %s", strings.Join(functionNames(), ", "))
		}
		return n, anyT
	}
	most := len(f.params)
	if f.closure {
		most = 2
	}
	if len(args) > most && !f.many || len(args) < most-f.optional {
		k.fail(diag.ExprType, n, `"%s" does not take %s`, name, plural(len(args), "argument")).Hintf("write it as in %s", f.usage)
		return n, anyT
	}
	types := make([]*Type, len(args))
	for i, a := range args {
		if f.closure && i == 1 {
			types[i] = k.closureOf(f, a, types[0])
			continue
		}
		args[i], types[i] = k.node(a)
		want := f.params[min(i, len(f.params)-1)]
		if !want.has(types[i].Kind) {
			d := k.fail(diag.ExprType, a, `"%s" takes %s here, and this is %s`, name, want, types[i].name())
			if name == "string" || name == "join" {
				d.Hintf("write text(%s)", k.src.textOf(a))
			} else {
				d.Hintf("write it as in %s", f.usage)
			}
			types[i] = anyT
		}
	}
	return k.apply(n, f, args, types)
}

// closureOf types the expression that is evaluated for each element.
func (k *checker) closureOf(f *function, a ast.Node, list *Type) *Type {
	p, ok := a.(*ast.PredicateNode)
	if !ok {
		panic("BUG: the second argument of " + f.name + " is no predicate")
	}
	if len(k.elems) == maxClosures {
		k.fail(diag.ExprSyntax, a, "more than %d of any, all, filter and the like stand in each other", maxClosures).
			Hintf("compute it in a command and look at its outputs")
		return anyT
	}
	elem := anyT
	if list.Kind == List {
		elem = list.elem()
	}
	k.elems = append(k.elems, elem)
	inner := p.Node
	var t *Type
	p.Node, t = k.node(inner)
	k.elems = k.elems[:len(k.elems)-1]
	if !f.yields.has(t.Kind) {
		if f.yields == bools {
			k.notBoolean(inner, t)
		} else {
			k.fail(diag.ExprType, inner, `"%s" takes %s here, and this is %s`, f.name, f.yields, t.name())
		}
		return anyT
	}
	return t
}

// apply gives the result type of a call whose arguments fit, and the call.
func (k *checker) apply(n ast.Node, f *function, args []ast.Node, types []*Type) (ast.Node, *Type) {
	list := types[0]
	elem := anyT
	if list.Kind == List {
		elem = list.elem()
	}
	switch f.name {
	case "filter":
		return n, &Type{Kind: List, Elem: elem}
	case "map":
		return n, &Type{Kind: List, Elem: types[1]}
	case "sum":
		t := elem
		if len(types) == 2 {
			t = types[1]
		} else if !elem.is(Int, Number) {
			k.fail(diag.ExprType, args[0], `"sum" adds numbers, and this is %s`, list.name()).Hintf("say which: sum(list, .field)")
			t = anyT
		}
		return n, t
	case "count":
		if len(args) == 1 && !elem.is(Bool) {
			k.fail(diag.ExprType, n, `"count" counts what a condition holds for`).Hintf("write len(list), or count(list, condition)")
		}
	case "join":
		if !elem.is(String) {
			k.fail(diag.ExprType, n, `"join" joins texts, and this is %s`, list.name()).Hintf("write join(map(list, string(#)), …)")
		}
	case "glob":
		if !elem.is(String) {
			k.fail(diag.ExprType, n, `"glob" takes a list of paths, and this is %s`, list.name())
		}
		k.checkGlob(args[0])
	case "first", "last":
		i := 0
		if f.name == "last" {
			i = -1
		}
		s := &step{index: i, typ: elem, term: k.src.textOf(n)}
		return invoke(n, "step", elem, args[0], constant(n, s)), elem
	case "min", "max":
		t := k.extremeType(args, types)
		return invoke(n, f.name, t, append(args, constant(n, &extreme{max: f.name == "max", typ: t, term: k.src.textOf(n)}))...), t
	}
	t := resultType(f)
	if f.own != nil {
		return invoke(n, f.name, t, args...), t
	}
	return n, t
}

func resultType(f *function) *Type {
	switch {
	case f.result == List:
		return &Type{Kind: List, Elem: stringT}
	case f.result == 0:
		return anyT
	}
	return &Type{Kind: f.result}
}

func (k *checker) extremeType(args []ast.Node, types []*Type) *Type {
	var all *Type
	for i, t := range types {
		if t.Kind == List {
			if t = t.elem(); !t.is(Int, Number) {
				k.fail(diag.ExprType, args[i], "numbers are compared here, and this is %s", types[i].name())
				t = anyT
			}
		}
		if all == nil {
			all = t
		}
		all = join(all, t)
	}
	return all
}

func (s kinds) String() string {
	if s == anything {
		return "a value"
	}
	var list []string
	for kind := String; kind <= Object; kind++ {
		if s&(1<<kind) != 0 {
			list = append(list, (&Type{Kind: kind}).name())
		}
	}
	return oneOf(list)
}

// checkGlob looks at a pattern that stands there as a literal.
func (k *checker) checkGlob(n ast.Node) {
	if s, ok := n.(*ast.StringNode); ok {
		if err := glob.Validate(s.Value); err != nil {
			k.at(diag.BadGlob, s, "%v", err)
		}
	}
}

// predicate types passed("id") and approved("id").
func (k *checker) predicate(n ast.Node, name string, args []ast.Node) (ast.Node, *Type) {
	if len(args) != 1 {
		k.fail(diag.ExprType, n, `"%s" takes the id of one phase`, name).Hintf("write %s(\"build\")", name)
		return n, boolT
	}
	id, ok := args[0].(*ast.StringNode)
	if !ok {
		d := k.fail(diag.ExprType, args[0], `"%s" takes the id of a phase in quotes`, name)
		if word, isWord := args[0].(*ast.IdentifierNode); isWord {
			d.Hintf("write %s(%q)", name, word.Value)
		}
		return n, boolT
	}
	p := k.scope.phase(id.Value)
	if p == nil {
		k.unknownPhase(id, id.Value)
		return n, boolT
	}
	if name == "approved" && !p.Approves {
		k.at(diag.ExprType, id, `phase "%s" approves nothing: it is neither a review nor an ask`, id.Value).Hintf("write passed(%q)", id.Value)
		return n, boolT
	}
	k.terms = append(k.terms, Term{Func: name, Phase: p.Name, Span: k.src.spanOf(n)})
	return invoke(n, name, boolT, environment(n), id), boolT
}

func usage(name string) string {
	if f := find(name); f != nil {
		return f.usage
	}
	return name + `("build")`
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
