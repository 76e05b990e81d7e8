package dsl

import (
	"reflect"
	"testing"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/parser/lexer"
)

// sameTree fails when an expression is read in the short way and expr reads it differently or not at all. It says
// whether it was read in the short way.
func sameTree(t *testing.T, text string) bool {
	t.Helper()
	got, tokens := plainExpression(text)
	if got == nil {
		return false
	}
	wantTokens, err := lexer.Lex(file.NewSource(text))
	if err != nil || !reflect.DeepEqual(tokens, wantTokens) {
		t.Fatalf("%q has the tokens %v, want %v (%v)", text, tokens, wantTokens, err)
	}
	want, err := parser.Parse(text)
	if err != nil || !reflect.DeepEqual(got, want.Node) {
		t.Fatalf("%q was read as %s, want %s (%v)", text, ast.Dump(got), ast.Dump(want.Node), err)
	}
	if (&source{tokens: tokens}).refused(nil) {
		t.Fatalf("%q has a token that is refused", text)
	}
	return true
}

// The short way and expr agree on every expression that can be put together from these parts.
func TestPlainExpressionsAreExprs(t *testing.T) {
	t.Parallel()
	values := []string{"exit", " a.b.c ", "a . b", `"x y"`, "'it\"s'", "12", "0", "007", "1_000", "1.5", "1e3", "0x1", "12345678901234567890", "true", "false", "nil", "not a", "!a", "-1", "a-b",
		`passed("x")`, "tail(output, 20)", "tail( output ,20 )", "f()", "f(,)", "f(a,)", "f(a b)", "f(g(a))", "len(a)", "any(a, #)", "a[0]", "a.b()", "f(a).b", `f(a)["b"]`, "a..b", "1..2", "a.1", "a?.b",
		"$env", "#", ".a", "é", `"é"`, `"\n"`, "`x`", "b'x'", "b \"x\"", "a.not", "a.in", "a.true", "true.a", "", " ", "(a)", "a // b", "a /* b */", "let", "in", "\"x", "a\tb", "a\v", "\"x\".y", "\"x\ty\"", "\"x\"\"y\""}
	ops := []string{"==", " == ", "!=", "<", ">", "<=", ">=", "=", "===", "!==", "< =", "<*", "<&", "!", "&&", " in ", " not in ", "+", ",", ";", "|", "?", ":", "== ==", "\n==\r\n", "<!", "==!"}
	short := 0
	check := func(text string) {
		if sameTree(t, text) {
			short++
		}
	}
	for _, a := range values {
		check(a)
		for _, op := range ops {
			check(a + op)
			for _, b := range values {
				check(a + op + b)
				check(a + op + b + " == c")
			}
		}
	}
	if short < 1000 {
		t.Errorf("only %d expressions were read in the short way", short)
	}
	for _, text := range []string{"exit == 2", `phases.build_0.envelope.summary != ""`, "tail(output, 20)", `passed("test")`, "request", "params.n >= 3"} {
		if !sameTree(t, text) {
			t.Errorf("%q was left to expr", text)
		}
	}
}

func FuzzPlainExpression(f *testing.F) {
	for _, s := range []string{`phases.build.envelope.summary != ""`, "tail(output, 20)", "exit==2", "a . b <=\n'x'", "f( )>g(a,1)", "true != false", "a.b.c < 1..2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { sameTree(t, text) })
}
