package dsl

// What an expression's text is before it is a tree: tokens, limits, and the way from expr's positions, which
// count runes, to places in the file. It also refuses what expr can read and the language does not have,
// where that shows in the tokens alone.

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/parser/lexer"

	"foundry/diag"
)

const (
	maxSource  = 4 << 10 // bytes of an expression
	maxNesting = 32      // brackets open at a time; expr's parser recurses without a bound
)

// source is the text of one expression.
type source struct {
	frag   diag.Fragment
	bytes  []int // byte offset of each rune, and of the end; nil when all are ASCII
	tokens []lexer.Token
}

func newSource(f diag.Fragment) *source {
	s := &source{frag: f}
	for i := 0; i < len(f.Text); i++ {
		if f.Text[i] >= utf8.RuneSelf {
			s.bytes = make([]int, 0, len(f.Text)+1)
			for at := range f.Text {
				s.bytes = append(s.bytes, at)
			}
			s.bytes = append(s.bytes, len(f.Text))
			break
		}
	}
	return s
}

// offset is the byte at which a rune begins.
func (s *source) offset(r int) int {
	if s.bytes == nil {
		return min(max(r, 0), len(s.frag.Text))
	}
	return s.bytes[min(max(r, 0), len(s.bytes)-1)]
}

func (s *source) span(l file.Location) diag.Span {
	start, end := s.offset(l.From), s.offset(l.To)
	if start == end {
		return s.last()
	}
	return s.frag.Span(start, end)
}

// last is the last token, for what is missing after it.
func (s *source) last() diag.Span {
	for i := len(s.tokens) - 1; i >= 0; i-- {
		if t := s.tokens[i]; t.Kind != lexer.EOF {
			return s.frag.Span(s.offset(t.From), s.offset(t.To))
		}
	}
	return s.whole()
}

// whole is the expression without the blanks around it.
func (s *source) whole() diag.Span {
	start, end := trim(s.frag.Text, 0, len(s.frag.Text))
	if start == end {
		return s.frag.Whole()
	}
	return s.frag.Span(start, end)
}

// parse reads the text into expr's tree. The tree is nil when something was reported.
func (s *source) parse(found *diag.List) ast.Node {
	switch {
	case strings.TrimSpace(s.frag.Text) == "":
		found.Report(diag.ExprSyntax, s.frag.Whole(), "the expression is empty")
		return nil
	case len(s.frag.Text) > maxSource:
		found.Report(diag.ExprSyntax, s.whole(), "the expression is longer than 4 KiB").
			Hintf("move the decision into a command and look at its exit or outputs")
		return nil
	case !utf8.ValidString(s.frag.Text):
		found.Report(diag.ExprSyntax, s.whole(), "the expression is not valid UTF-8")
		return nil
	}
	if tree, tokens := plainExpression(s.frag.Text); tree != nil {
		s.tokens = tokens
		return tree
	}
	var err error
	if s.tokens, err = lexer.Lex(file.NewSource(s.frag.Text)); err != nil {
		s.syntax(err, found)
		return nil
	}
	if s.refused(found) {
		return nil
	}
	if s.slips(found) { // what else is wrong shows when the slip is put right
		var follows diag.List
		return s.parse(&follows)
	}
	tree, err := parser.Parse(s.frag.Text)
	if err != nil {
		s.syntax(err, found)
		return nil
	}
	return tree.Node
}

// refused reports the first token that the language does not have, or that nests too deep.
func (s *source) refused(found *diag.List) bool {
	depth := 0
	for _, t := range s.tokens {
		message, hint := "", ""
		switch {
		case t.Kind == lexer.Bracket && strings.Contains("([{", t.Value):
			if depth++; depth > maxNesting {
				message, hint = "the expression nests too deep", "write it as two conditions, or compute it in a command"
			}
		case t.Kind == lexer.Bracket:
			depth--
		case t.Kind == lexer.Operator:
			message, hint = refusedOperator(t.Value)
		case t.Kind == lexer.Identifier && strings.HasPrefix(t.Value, "$"):
			message, hint = `"`+t.Value+`" is not part of the language`, "name the value itself, without $ and braces"
		case t.Kind == lexer.Bytes:
			message, hint = "there are no byte strings", "leave the b before the quotes out"
		}
		if message != "" {
			found.Report(diag.ExprSyntax, s.span(t.Location), "%s", message).Hintf("%s", hint)
			return true
		}
	}
	return false
}

// slips reports each = that was meant as ==, and puts it right in the text.
func (s *source) slips(found *diag.List) bool {
	slipped := false
	for i := len(s.tokens) - 1; i >= 0; i-- {
		if t := s.tokens[i]; t.Kind == lexer.Operator && t.Value == "=" {
			found.Report(diag.ExprSyntax, s.span(t.Location), `"=" compares nothing`).Hintf("write ==")
			s.frag = s.frag.Replace(s.offset(t.From), s.offset(t.To), "==")
			slipped = true
		}
	}
	if slipped {
		*s = *newSource(s.frag)
	}
	return slipped
}

func refusedOperator(op string) (message, hint string) {
	switch op {
	case ";", "let":
		return `"` + op + `" is not part of the language: an expression is one value`, "write the value out where it is used"
	case "if", "else":
		return `"` + op + `" is not part of the language`, "write condition ? a : b"
	case "|":
		return `"|" is not part of the language`, "write || for or; a function takes its list as an argument: len(changed)"
	case "&":
		return `"&" is not part of the language`, "write && for and"
	case "??", "?.":
		return `"` + op + `" is not part of the language: what has no result has no value`,
			`guard it instead: passed("build") && phases.build.exit == 0`
	case "::":
		return `"::" is not part of the language`, ""
	}
	return "", ""
}

// extent is the part of the text that a subtree was read from. expr keeps for each node the place of one
// token only, so brackets are completed from the tokens.
func (s *source) extent(n ast.Node) file.Location {
	at := file.Location{From: -1}
	bounds(n, &at)
	if at.From < 0 {
		return file.Location{To: len(s.frag.Text)}
	}
	first, _ := slices.BinarySearchFunc(s.tokens, at.From, func(t lexer.Token, from int) int { return t.From - from })
	last, depth, lowest := first, 0, 0
	for ; last < len(s.tokens); last++ {
		t := s.tokens[last]
		if t.Kind == lexer.EOF || t.From >= at.To && depth == lowest {
			break // all that was opened inside is closed
		}
		if t.Kind == lexer.Bracket {
			if strings.Contains("([{", t.Value) {
				depth++
			} else {
				depth--
			}
			lowest = min(lowest, depth)
		}
		at.To = max(at.To, t.To)
	}
	for ; lowest < 0 && first > 0; first-- {
		t := s.tokens[first-1]
		at.From = t.From
		if t.Kind == lexer.Bracket && strings.Contains("([{", t.Value) {
			lowest++
		}
	}
	return at
}

// bounds widens at to the tokens of a subtree.
func bounds(n ast.Node, at *file.Location) {
	add := func(l file.Location) {
		if at.From < 0 || l.From < at.From {
			at.From = l.From
		}
		at.To = max(at.To, l.To)
	}
	switch n := n.(type) {
	case *ast.ConditionalNode: // its own place is that of the token after it
		bounds(n.Cond, at)
		bounds(n.Exp1, at)
		bounds(n.Exp2, at)
		return
	case *ast.UnaryNode:
		bounds(n.Node, at)
	case *ast.BinaryNode:
		bounds(n.Left, at)
		bounds(n.Right, at)
	case *ast.MemberNode:
		bounds(n.Node, at)
		bounds(n.Property, at)
	case *ast.CallNode:
		bounds(n.Callee, at)
		for _, a := range n.Arguments {
			bounds(a, at)
		}
	case *ast.BuiltinNode:
		for _, a := range n.Arguments {
			bounds(a, at)
		}
	case *ast.PredicateNode:
		bounds(n.Node, at)
	case *ast.ArrayNode:
		for _, a := range n.Nodes {
			bounds(a, at)
		}
	}
	add(n.Location())
}

// textOf is the text of a subtree as written.
func (s *source) textOf(n ast.Node) string {
	return s.at(s.extent(n))
}

// at is the text at a place.
func (s *source) at(l file.Location) string { return s.frag.Text[s.offset(l.From):s.offset(l.To)] }

func (s *source) spanOf(n ast.Node) diag.Span { return s.span(s.extent(n)) }
