package dsl

// The pass that gives every part of an expression its static type. It resolves names against the scope,
// reports what does not fit at the smallest part that is wrong, notes what is read, and rewrites the tree
// for expr: each access to a value becomes a call that fails when there is no value, since expr itself
// would go on with nil. expr's own checker runs over the result afterwards (program.go).

import (
	"github.com/expr-lang/expr/ast"

	"foundry/diag"
)

var (
	anyT    = &Type{Kind: AnyType}
	stringT = &Type{Kind: String}
	intT    = &Type{Kind: Int}
	numberT = &Type{Kind: Number}
	boolT   = &Type{Kind: Bool}
)

// maxClosures is how deep any, filter and the like can stand in each other: each level multiplies the work.
const maxClosures = 3

// place says where an expression stands, which decides what happens to names that are not there.
type place uint8

const (
	inCondition place = iota + 1
	inPrompt          // a phase that this pipeline lacks is allowed
	inStrict          // any other template
)

type checker struct {
	src    *source
	scope  *Scope
	place  place
	diags  diag.List
	reads  []Read
	terms  []Term
	values []*read  // what the reads need at run time, in the same order
	elems  []*Type  // element types of the closures around
	guards []string // phases that a condition to the left has asked about
	prefix string   // what stood before the text and belongs to every term in it
	absent bool     // a phase that only other pipelines have is read (inPrompt)
}

func (k *checker) fail(rule diag.Rule, n ast.Node, format string, args ...any) *diag.Diagnostic {
	return k.diags.Report(rule, k.src.spanOf(n), format, args...)
}

// at reports at the one token of a node instead of all that belongs to it.
func (k *checker) at(rule diag.Rule, n ast.Node, format string, args ...any) *diag.Diagnostic {
	return k.diags.Report(rule, k.src.span(n.Location()), format, args...)
}

// node types a part and gives what replaces it. After a report the type is any value, so that what merely
// follows from the mistake is not reported as well.
func (k *checker) node(n ast.Node) (ast.Node, *Type) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n, stringT
	case *ast.IntegerNode:
		return n, intT
	case *ast.FloatNode:
		return n, numberT
	case *ast.BoolNode:
		return n, boolT
	case *ast.IdentifierNode:
		return k.name(n)
	case *ast.MemberNode:
		return k.member(n)
	case *ast.UnaryNode:
		return k.unary(n)
	case *ast.BinaryNode:
		return k.binary(n)
	case *ast.ConditionalNode:
		return k.conditional(n)
	case *ast.ArrayNode:
		return k.array(n)
	case *ast.BuiltinNode:
		return k.call(n, n.Name, n.Arguments)
	case *ast.CallNode:
		return k.callNode(n)
	case *ast.PointerNode:
		return k.pointer(n)
	case *ast.NilNode:
		k.at(diag.ExprSyntax, n, `"nil" is not part of the language: what has no result has no value`).
			Hintf(`ask before reading: passed("build") && …`)
	case *ast.SliceNode:
		k.at(diag.ExprSyntax, n, "parts of a list or a text cannot be cut out").Hintf("use filter, first, last, tail or lines")
	case *ast.MapNode:
		k.at(diag.ExprSyntax, n, "objects cannot be made in an expression").Hintf("name a value, or join texts with +")
	default:
		k.at(diag.ExprSyntax, n, "this is not part of the language")
	}
	return n, anyT
}

func (k *checker) unary(n *ast.UnaryNode) (ast.Node, *Type) {
	inner, t := k.node(n.Node)
	op := n.Operator
	if op == "!" || op == "not" {
		if !boolean(t) {
			k.fail(diag.ExprType, n.Node, "%q takes true or false, and this is %s", op, t.name()).
				Hintf("put all that is negated in parentheses: %s(…)", op)
			return n, anyT
		}
		n.Node = inner
		return n, boolT
	}
	if !t.is(Int, Number) {
		k.fail(diag.ExprType, n.Node, "%q takes a number, and this is %s", op, t.name())
		t = anyT
	}
	n.Node = inner
	return n, t
}

func (k *checker) conditional(n *ast.ConditionalNode) (ast.Node, *Type) {
	if n.Cond == n.Exp1 {
		k.fail(diag.ExprSyntax, n.Cond, `"?:" without a value between is not part of the language`).Hintf("write condition ? a : b")
		return n, anyT
	}
	cond, t := k.node(n.Cond)
	if !boolean(t) {
		k.notBoolean(n.Cond, t)
	}
	a, ta := k.node(n.Exp1)
	b, tb := k.node(n.Exp2)
	n.Cond, n.Exp1, n.Exp2 = cond, a, b
	return n, join(ta, tb)
}

func (k *checker) array(n *ast.ArrayNode) (ast.Node, *Type) {
	var elem *Type
	for i := range n.Nodes {
		var t *Type
		n.Nodes[i], t = k.node(n.Nodes[i])
		if elem == nil {
			elem = t
		} else {
			elem = join(elem, t)
		}
	}
	return n, &Type{Kind: List, Elem: elem}
}

func (k *checker) pointer(n *ast.PointerNode) (ast.Node, *Type) {
	if n.Name != "" || len(k.elems) == 0 {
		k.at(diag.ExprSyntax, n, "#%s is not part of the language", n.Name).Hintf("the element is # or .field")
		return n, anyT
	}
	return n, k.elems[len(k.elems)-1]
}

// notBoolean reports a value that is used as a condition.
func (k *checker) notBoolean(n ast.Node, t *Type) {
	d := k.fail(diag.ExprType, n, "a condition is true or false, and this is %s", t.name())
	switch t.Kind {
	case String:
		if s, ok := n.(*ast.StringNode); ok && (s.Value == "true" || s.Value == "false") {
			d.Hintf("write %s without quotes", s.Value)
			return
		}
		d.Hintf(`compare it: %s != ""`, k.src.textOf(n))
	case Int, Number:
		d.Hintf("compare it: %s != 0", k.src.textOf(n))
	case List:
		d.Hintf("compare its length: len(%s) > 0", k.src.textOf(n))
	case Object:
		d.Hintf("name a field of it")
	}
}

func boolean(t *Type) bool { return t.is(Bool) }
