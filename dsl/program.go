package dsl

// From a checked tree to a program of expr's machine. Our pass knows more than expr's own checker, which runs over
// the tree all the same: what expr would refuse at run time is refused now. For the few shapes that most expressions
// have, and that expr never refuses, the program is made when it is first run: a linter runs none, and making them
// took a third of its time over a large file. A test makes the programs of all these shapes.

import (
	"errors"
	"strings"
	"sync"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"foundry/diag"
)

// program is a part of an expression for expr's machine. Any number of goroutines may run it.
type program struct {
	text string // of the whole expression
	node ast.Node
	once sync.Once
	made *vm.Program
}

// machine is what is run.
func (p *program) machine() *vm.Program {
	p.once.Do(func() {
		if p.made != nil {
			return
		}
		var err error
		if p.made, err = compiled(p.text, p.node); err != nil {
			panic("BUG: expr refuses " + p.text + ": " + err.Error())
		}
	})
	return p.made
}

// compiled runs expr's checker and compiler.
func compiled(text string, n ast.Node) (*vm.Program, error) {
	c := configs.Get().(*config)
	defer configs.Put(c)
	tree := &parser.Tree{Node: n, Source: file.NewSource(text)}
	if _, err := c.checker.Check(tree, c.conf); err != nil {
		return nil, err
	}
	return compiler.Compile(tree, c.conf)
}

// program makes the program of a part, now or when it is first run; nil when expr refuses it.
func (k *checker) program(n ast.Node) *program {
	p := &program{text: k.src.frag.Text, node: n}
	if certain(n) {
		return p
	}
	var err error
	if p.made, err = compiled(p.text, n); err != nil {
		k.refusedByExpr(err)
		return nil
	}
	return p
}

func (k *checker) refusedByExpr(err error) {
	var e *file.Error
	if !errors.As(err, &e) {
		reason, _, _ := strings.Cut(err.Error(), "\n")
		k.diags.Report(diag.ExprType, k.src.whole(), "the expression cannot be compiled: %s", reason)
		return
	}
	k.diags.Report(diag.ExprType, k.src.span(e.Location), "%s", e.Message)
}

// certain says of a part that our pass found right that expr never refuses it: a comparison of two values of a kind,
// or the last lines of a text.
func certain(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryNode:
		l, r := plainKind(n.Left), plainKind(n.Right)
		switch n.Operator {
		case "==", "!=":
			return l != 0 && l == r
		case "<", ">", "<=", ">=":
			return l == r && (l == Int || l == Number || l == String)
		}
	case *ast.CallNode:
		callee, ok := n.Callee.(*ast.IdentifierNode)
		return ok && callee.Value == internal("tail", String) && plainKind(n.Arguments[0]) == String && plainKind(n.Arguments[1]) == Int
	}
	return false
}

// plainKind is the kind of a text, a number, a truth, or a read of one; 0 for anything else.
func plainKind(n ast.Node) Kind {
	switch n.(type) {
	case *ast.StringNode:
		return String
	case *ast.IntegerNode:
		return Int
	case *ast.FloatNode:
		return Number
	case *ast.BoolNode:
		return Bool
	}
	if r := plainRead(n); r != nil && (r.typ.Kind == String || r.typ.Kind == Int || r.typ.Kind == Number || r.typ.Kind == Bool) {
		return r.typ.Kind
	}
	return 0
}
