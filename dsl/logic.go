package dsl

// How a condition's skeleton is evaluated: for real, for acceptance, and with only some terms known.

import "github.com/expr-lang/expr/ast"

// isLogic says whether an expression is a condition by its outermost operator.
func isLogic(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.UnaryNode:
		return n.Operator == "!" || n.Operator == "not"
	case *ast.BinaryNode:
		switch n.Operator {
		case "&&", "and", "||", "or", "==", "!=", "<", ">", "<=", ">=", "in", "contains", "startsWith", "endsWith", "matches":
			return true
		}
	case *ast.CallNode:
		id, ok := n.Callee.(*ast.IdentifierNode)
		return ok && (id.Value == "passed" || id.Value == "approved")
	}
	return false
}

func (l *logic) holds(f *frame, seen *[]Seen) (bool, error) {
	switch l.branch {
	case notBranch:
		v, err := l.left.holds(f, seen)
		return !v && err == nil, err
	case andBranch:
		v, err := l.left.holds(f, seen)
		if !v || err != nil {
			return false, err
		}
		return l.right.holds(f, seen)
	case orBranch:
		v, err := l.left.holds(f, seen)
		if v || err != nil {
			return v && err == nil, err
		}
		return l.right.holds(f, seen)
	}
	v, err := l.leaf.eval(f)
	*seen = append(*seen, Seen{Term: l.leaf.text, Value: shown(v, err)})
	return v, err
}

// accept is holds with Unknown for a term without a value. Unknown is not accepted, and neither is its
// negation.
func (l *logic) accept(f *frame, seen *[]Seen) Ternary {
	switch l.branch {
	case notBranch:
		return not(l.left.accept(f, seen))
	case andBranch:
		a := l.left.accept(f, seen)
		if a == False {
			return False
		}
		return min(a, l.right.accept(f, seen))
	case orBranch:
		a := l.left.accept(f, seen)
		if a == True {
			return True
		}
		return max(a, l.right.accept(f, seen))
	}
	v, err := l.leaf.eval(f)
	*seen = append(*seen, Seen{Term: l.leaf.text, Value: shown(v, err)})
	switch {
	case err != nil:
		return Unknown
	case v:
		return True
	}
	return False
}

func (l *logic) possible(assign func(Term) Ternary) Ternary {
	switch l.branch {
	case notBranch:
		return not(l.left.possible(assign))
	case andBranch:
		return min(l.left.possible(assign), l.right.possible(assign))
	case orBranch:
		return max(l.left.possible(assign), l.right.possible(assign))
	}
	switch {
	case l.leaf.literal != 0:
		return l.leaf.literal
	case l.leaf.term.Func == "":
		return Unknown
	case l.leaf.negated:
		return not(assign(l.leaf.term))
	}
	return assign(l.leaf.term)
}

// not mirrors the order False, Unknown, True.
func not(t Ternary) Ternary { return False + True - t }

func (l *leaf) eval(f *frame) (bool, error) {
	switch {
	case l.literal != 0:
		return l.literal == True, nil
	case l.direct:
		return f.ask(l.term, l.text)
	}
	var value any
	var err error
	if l.read != nil {
		value, err = f.read(l.read)
	} else {
		value, err = f.run(l.program.machine(), l.text)
	}
	if err != nil {
		return false, err
	}
	v, ok := value.(bool)
	if !ok {
		return false, &EvalError{Term: l.text, Reason: "a condition is true or false, and this is " + kindOf(value)}
	}
	return v, nil
}

func shown(v bool, err error) string {
	switch {
	case err == nil && v:
		return "true"
	case err == nil:
		return "false"
	}
	if _, ok := err.(*NoValueError); ok {
		return noValue
	}
	return failed
}
