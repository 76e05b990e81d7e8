package dsl

// The operators: the part of the checking pass that compares the types of two sides.

import (
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"foundry/diag"
)

// both types the two sides of an operator. When a side is wrong in itself they are any value: what the
// operator makes of them merely follows from that.
func (k *checker) both(n *ast.BinaryNode) (l, r *Type) {
	before := k.diags.Len()
	n.Left, l = k.node(n.Left)
	n.Right, r = k.node(n.Right)
	if k.diags.Len() > before {
		return anyT, anyT
	}
	return l, r
}

func (k *checker) binary(n *ast.BinaryNode) (ast.Node, *Type) {
	left, right := n.Left, n.Right
	switch n.Operator {
	case "&&", "and", "||", "or":
		return k.logic(n)
	case "==", "!=":
		phase := succeeded(n)
		l, r := k.both(n)
		if phase != "" {
			k.terms = append(k.terms, Term{Func: "passed", Phase: phase, Span: k.src.spanOf(n)})
		}
		k.comparable(n, left, right, l, r)
		return n, boolT
	case "<", ">", "<=", ">=":
		l, r := k.both(n)
		if !(l.is(Int, Number) && r.is(Int, Number) || l.is(String) && r.is(String)) {
			k.mismatch(n, left, right, l, r, "compares two numbers or two texts")
		}
		return n, boolT
	case "in":
		return k.in(n)
	case "contains", "startsWith", "endsWith", "matches":
		l, r := k.both(n)
		k.textual(n, left, right, l, r)
		return n, boolT
	case "+":
		l, r := k.both(n)
		switch {
		case l.is(String) && r.is(String) && (l.Kind == String || r.Kind == String):
			return n, stringT
		case l.is(Int, Number) && r.is(Int, Number):
			return n, join(l, r)
		}
		d := k.mismatch(n, left, right, l, r, "adds two numbers or joins two texts")
		if l.is(String) || r.is(String) {
			d.Hintf("make a text of the other side: %s", k.asText(left, right, l, r))
		}
		return n, anyT
	case "-", "*", "/", "%", "**", "^":
		return k.arithmetic(n)
	case "..":
		k.at(diag.ExprSyntax, n, `a range stands only to the right of "in", between two whole numbers`).Hintf("write exit in 1..5")
		return n, anyT
	}
	k.at(diag.ExprSyntax, n, "%q is not part of the language", n.Operator)
	return n, anyT
}

func (k *checker) logic(n *ast.BinaryNode) (ast.Node, *Type) {
	if op := k.src.at(n.Location()); op != n.Operator {
		// expr reads a < b < c as a < b && b < c, with the two sharing b.
		k.at(diag.ExprSyntax, n, "comparisons cannot be chained").Hintf("write a %s b && b %s c", op, op)
		return n, anyT
	}
	left, right := n.Left, n.Right
	asked := guards(left)
	var l, r *Type
	if n.Left, l = k.node(left); !boolean(l) {
		k.notBoolean(left, l)
	}
	k.guarded(n.Operator, asked, func() { n.Right, r = k.node(right) })
	if !boolean(r) {
		k.notBoolean(right, r)
	}
	return n, boolT
}

// guarded does the right side of a logical operator. To the right of && the phases that the left side asks
// about are known to have a result.
func (k *checker) guarded(op string, asked []string, right func()) {
	outer := k.guards
	if isAnd(op) {
		k.guards = append(slices.Clip(outer), asked...)
	}
	right()
	k.guards = outer
}

func isAnd(op string) bool { return op == "&&" || op == "and" }
func isOr(op string) bool  { return op == "||" || op == "or" }

// guards are the phases that a condition asks about in a way that says whether they have a result: passed,
// approved, .visits or .status. It must be given the tree as it was parsed.
func guards(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.CallNode:
		if id, ok := n.Callee.(*ast.IdentifierNode); ok && slices.Contains(predicates, id.Value) && len(n.Arguments) == 1 {
			if s, ok := n.Arguments[0].(*ast.StringNode); ok {
				return []string{s.Value}
			}
		}
	case *ast.UnaryNode:
		if _, ok := n.Node.(*ast.BinaryNode); ok {
			return guards(n.Node)
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "&&", "and":
			return append(guards(n.Left), guards(n.Right)...)
		case "==", "!=", "<", ">", "<=", ">=", "in":
			for _, side := range []ast.Node{n.Left, n.Right} {
				if phase, field := phaseField(side); field == "visits" || field == "status" {
					return []string{phase}
				}
			}
		}
	}
	return nil
}

// phaseField takes phases.<phase>.<field> apart; phase is "" for anything else.
func phaseField(n ast.Node) (phase, field string) {
	outer, ok := n.(*ast.MemberNode)
	if !ok {
		return "", ""
	}
	inner, ok := outer.Node.(*ast.MemberNode)
	if !ok {
		return "", ""
	}
	root, ok := inner.Node.(*ast.IdentifierNode)
	id, named := inner.Property.(*ast.StringNode)
	name, fielded := outer.Property.(*ast.StringNode)
	if !ok || !named || !fielded || root.Value != "phases" {
		return "", ""
	}
	return id.Value, name.Value
}

func (k *checker) arithmetic(n *ast.BinaryNode) (ast.Node, *Type) {
	left, right := n.Left, n.Right
	l, r := k.both(n)
	want := []Kind{Int, Number}
	if n.Operator == "%" {
		want = want[:1]
	}
	switch {
	case !l.is(want...) || !r.is(want...):
		what := "takes two numbers"
		if n.Operator == "%" {
			what = "takes two whole numbers"
		}
		k.mismatch(n, left, right, l, r, what)
		return n, anyT
	case n.Operator == "/":
		return invoke(n, "divide", numberT, n.Left, n.Right), numberT
	case n.Operator == "%":
		return invoke(n, "modulo", intT, n.Left, n.Right), intT
	case n.Operator == "**" || n.Operator == "^":
		return n, numberT
	}
	return n, join(l, r)
}

// comparable checks the two sides of == and !=.
func (k *checker) comparable(n *ast.BinaryNode, left, right ast.Node, l, r *Type) {
	switch {
	case l.Kind == List || r.Kind == List || l.Kind == Object || r.Kind == Object:
		d := k.at(diag.ExprType, n, "%q compares texts, numbers and truths, not %s with %s", n.Operator, l.name(), r.name())
		if l.Kind == List || r.Kind == List {
			d.Hintf("write len(list) == 0, or item in list")
		} else {
			d.Hintf("compare a field of it")
		}
	case l.is(Int, Number) && r.is(Int, Number), l.is(r.Kind):
		k.enum(right, l)
		k.enum(left, r)
	default:
		k.mismatch(n, left, right, l, r, "compares two of a kind")
	}
}

// succeeded is the phase of phases.<phase>.status == "success", which says what passed() does.
func succeeded(n *ast.BinaryNode) string {
	if n.Operator != "==" && n.Operator != "!=" {
		return ""
	}
	for _, sides := range [][2]ast.Node{{n.Left, n.Right}, {n.Right, n.Left}} {
		if s, ok := sides[1].(*ast.StringNode); ok && s.Value == "success" {
			if phase, field := phaseField(sides[0]); field == "status" {
				return phase
			}
		}
	}
	return ""
}

// enum checks a literal against the values that the other side can have.
func (k *checker) enum(literal ast.Node, t *Type) {
	s, ok := literal.(*ast.StringNode)
	if !ok || t == nil || len(t.Enum) == 0 || s.Value == "" || slices.Contains(t.Enum, s.Value) {
		return // "" is what a field has that was left out
	}
	can := slices.DeleteFunc(slices.Clone(t.Enum), func(v string) bool { return v == "" })
	d := k.at(diag.UnknownEnumValue, s, "%q is never the value here: it is %s", s.Value, oneOf(can)).
		Notef(t.EnumAt, "the values stand here")
	if near := diag.Suggest(s.Value, can); near != "" {
		d.Hintf("did you mean %q?", near)
	} else {
		d.Hintf("compare it with one of these")
	}
}

// in checks "item in list", "key in object" and "number in a..b".
func (k *checker) in(n *ast.BinaryNode) (ast.Node, *Type) {
	left, right := n.Left, n.Right
	var l *Type
	n.Left, l = k.node(left)
	if b, ok := right.(*ast.BinaryNode); ok && b.Operator == ".." {
		k.bounds(b)
		if !l.is(Int) {
			k.fail(diag.ExprType, left, "a range holds whole numbers, and this is %s", l.name())
		}
		return n, boolT
	}
	var items []ast.Node
	if a, ok := right.(*ast.ArrayNode); ok {
		items = slices.Clone(a.Nodes)
	}
	var r *Type
	n.Right, r = k.node(right)
	switch r.Kind {
	case AnyType:
	case List:
		elem := r.elem()
		fits := l.is(elem.Kind) || elem.is(l.Kind) || l.is(Int, Number) && elem.is(Int, Number)
		if !fits || l.Kind == List || l.Kind == Object {
			k.mismatch(n, left, right, l, r, "looks for an item of the same kind")
		}
		for _, item := range items {
			k.enum(item, l)
		}
		k.enum(left, elem)
	case Object:
		if !l.is(String) {
			k.fail(diag.ExprType, left, "the fields of an object have names, and this is %s", l.name())
		}
	default:
		d := k.fail(diag.ExprType, right, `"in" looks into a list, and this is %s`, r.name())
		if r.Kind == String {
			d.Hintf("write %s contains %s", k.src.textOf(right), k.src.textOf(left))
		}
	}
	return n, boolT
}

// bounds checks a range: two literal whole numbers, not too far apart.
func (k *checker) bounds(n *ast.BinaryNode) {
	a, isA := n.Left.(*ast.IntegerNode)
	b, isB := n.Right.(*ast.IntegerNode)
	switch {
	case !isA || !isB:
		k.at(diag.ExprSyntax, n, "a range stands between two whole numbers").Hintf("write exit in 1..5, or compare with >= and <=")
	case b.Value < a.Value:
		k.fail(diag.ExprType, n, "the range %d..%d is empty", a.Value, b.Value).Hintf("write %d..%d", b.Value, a.Value)
	case b.Value-a.Value > 1000:
		k.fail(diag.ExprType, n, "the range has more than 1000 numbers").Hintf("compare with >= and <=")
	}
}

// textual checks contains, startsWith, endsWith and matches.
func (k *checker) textual(n *ast.BinaryNode, left, right ast.Node, l, r *Type) {
	switch {
	case l.is(String) && r.is(String):
		if s, ok := right.(*ast.StringNode); ok && n.Operator == "matches" {
			if _, err := regexp.Compile(s.Value); err != nil {
				k.at(diag.ExprSyntax, s, "not a regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
			}
		}
	case l.Kind == List && n.Operator == "contains":
		k.fail(diag.ExprType, left, `"contains" looks into a text, and this is a list`).
			Hintf("write %s in %s", k.src.textOf(right), k.src.textOf(left))
	default:
		d := k.mismatch(n, left, right, l, r, "takes two texts")
		if l.Kind == List {
			d.Hintf("write any(%s, # %s %s)", k.src.textOf(left), n.Operator, k.src.textOf(right))
		}
	}
}

// mismatch reports two sides that do not fit each other or the operator: at the literal when one of them
// is, else at the operator.
func (k *checker) mismatch(n *ast.BinaryNode, left, right ast.Node, l, r *Type, what string) *diag.Diagnostic {
	at := k.src.span(n.Location())
	switch {
	case literal(right):
		at = k.src.spanOf(right)
	case literal(left):
		at = k.src.spanOf(left)
	}
	d := k.diags.Report(diag.ExprType, at, "%q %s, and this is %s with %s", n.Operator, what, l.name(), r.name())
	if s, ok := right.(*ast.StringNode); ok && l.is(Int, Number, Bool) && l.Kind != AnyType && s.Value != "" {
		d.Hintf("leave the quotes out: %s", s.Value)
	}
	return d
}

func (k *checker) asText(left, right ast.Node, l, r *Type) string {
	n, t := right, r
	if l.Kind != String {
		n, t = left, l
	}
	if t.Kind == List || t.Kind == Object {
		return "text(" + k.src.textOf(n) + ")"
	}
	return "string(" + k.src.textOf(n) + ")"
}

func literal(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return true
	case *ast.UnaryNode:
		return n.Operator != "!" && literal(n.Node)
	}
	return false
}
