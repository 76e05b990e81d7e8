package dsl

// From a tree to something that can be evaluated. The logical operators at the top of a condition become a
// skeleton of our own, whose leaves are the smallest boolean terms: it is what says which terms were looked
// at, what acceptance makes of a term without a value, and what a condition can still become. Each leaf, and
// any other expression as a whole, is a program of expr.

import "github.com/expr-lang/expr/ast"

type branch uint8

const (
	leafBranch branch = iota + 1
	notBranch
	andBranch
	orBranch
)

// logic is a part of a condition's skeleton.
type logic struct {
	branch      branch
	left, right *logic // right is nil for notBranch, both for leafBranch
	leaf        leaf
}

// leaf is a smallest boolean term. Exactly one of literal, direct, read and program says how it is evaluated.
type leaf struct {
	text    string
	term    Term // what it stands for in Possible; the zero Term when it stands for nothing
	negated bool // it is true when term is false
	literal Ternary
	direct  bool // term is asked for by itself
	read    *read
	program *program
}

// condition makes the skeleton of a condition. It must be given the tree as it was parsed.
func (k *checker) condition(n ast.Node) *logic {
	switch n := n.(type) {
	case *ast.UnaryNode:
		if (n.Operator == "!" || n.Operator == "not") && !k.infix(n) {
			return &logic{branch: notBranch, left: k.condition(n.Node)}
		}
	case *ast.BinaryNode:
		if (isAnd(n.Operator) || isOr(n.Operator)) && k.src.at(n.Location()) == n.Operator {
			l := &logic{branch: orBranch}
			if isAnd(n.Operator) {
				l.branch = andBranch
			}
			asked := guards(n.Left)
			l.left = k.condition(n.Left)
			k.guarded(n.Operator, asked, func() { l.right = k.condition(n.Right) })
			return l
		}
	}
	return &logic{branch: leafBranch, leaf: k.leaf(n)}
}

// infix says whether a negation was written as "a not in b", which is one term.
func (k *checker) infix(n *ast.UnaryNode) bool {
	b, ok := n.Node.(*ast.BinaryNode)
	return ok && n.Location().From > k.src.extent(b.Left).From
}

func (k *checker) leaf(n ast.Node) leaf {
	l := leaf{text: k.src.textOf(n)}
	status, before := isStatus(n), len(k.terms)
	node, t := k.node(n)
	if !boolean(t) {
		k.notBoolean(n, t)
	}
	if k.unusable() {
		return l
	}
	switch written := n.(type) {
	case *ast.BoolNode:
		l.literal = False
		if written.Value {
			l.literal = True
		}
		return l
	case *ast.CallNode, *ast.IdentifierNode:
		if len(k.terms) > before {
			l.term, l.direct = k.terms[before], true
			return l
		}
	case *ast.BinaryNode:
		if status {
			l.term, l.negated = k.terms[before], written.Operator == "!="
		}
	}
	if l.read = plainRead(node); l.read == nil {
		l.program = k.program(node)
	}
	return l
}

// isStatus says whether a leaf compares a phase's status with success, as passed() does.
func isStatus(n ast.Node) bool {
	b, ok := n.(*ast.BinaryNode)
	return ok && succeeded(b) != ""
}

// unusable says that there is no point in making programs of what was checked.
func (k *checker) unusable() bool { return k.absent || k.diags.HasErrors() }
