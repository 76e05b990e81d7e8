package dsl

// What an expression's text is before it is a tree: tokens, limits, and the way from expr's positions, which
// count runes, to places in the file. It also refuses what expr can read and the language does not have,
// where that shows in the tokens alone.

import (
	"errors"
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
	var err error
	if s.tokens, err = lexer.Lex(file.NewSource(s.frag.Text)); err != nil {
		s.syntax(err, found)
		return nil
	}
	if s.refused(found) {
		return nil
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
	case "=":
		return `"=" compares nothing`, "write =="
	case "??", "?.":
		return `"` + op + `" is not part of the language: what has no result has no value`,
			`guard it instead: passed("build") && phases.build.exit == 0`
	case "::":
		return `"::" is not part of the language`, ""
	}
	return "", ""
}

// syntax reports an error of expr's lexer or parser in our words.
func (s *source) syntax(err error, found *diag.List) {
	var e *file.Error
	if !errors.As(err, &e) {
		found.Report(diag.ExprSyntax, s.whole(), "the expression cannot be read: %v", err)
		return
	}
	text := strings.TrimSpace(s.frag.Text)
	switch {
	case strings.HasPrefix(text, "{{") || strings.HasPrefix(text, "${{"):
		found.Report(diag.ExprSyntax, s.whole(), "an expression stands here by itself, without braces").Hintf("leave {{ and }} out")
		return
	case strings.Contains(e.Message, "literal not terminated"):
		start, end := s.openQuote(), len(strings.TrimRight(s.frag.Text, " \t\r\n"))
		found.Report(diag.ExprSyntax, s.frag.Span(start, end), "a string begins with %s and does not end", s.frag.Text[start:start+1]).
			Hintf("close it with %s", s.frag.Text[start:start+1])
		return
	case strings.Contains(e.Message, "escape") || strings.Contains(e.Message, "unable to unescape"):
		found.Report(diag.ExprSyntax, s.span(e.Location), "this is not an escape").
			Hintf(`write \\ for a backslash, or put the text in backquotes`)
		return
	case strings.HasPrefix(e.Message, "unrecognized character"):
		found.Report(diag.ExprSyntax, s.span(e.Location), "%q means nothing in an expression", s.span(e.Location).Text())
		return
	}
	i := slices.IndexFunc(s.tokens, func(t lexer.Token) bool { return t.Location == e.Location })
	if strings.HasPrefix(e.Message, "unexpected token EOF") {
		i = len(s.tokens) - 1 // expr gives the end the place of the last rune
	}
	if i < 0 || !strings.HasPrefix(e.Message, "unexpected") {
		found.Report(diag.ExprSyntax, s.span(e.Location), "%s", e.Message)
		return
	}
	s.unexpected(i, found)
}

// unexpected words a token that cannot stand where it does.
func (s *source) unexpected(i int, found *diag.List) {
	t := s.tokens[i]
	switch {
	case t.Kind == lexer.EOF && s.open() != nil:
		open := s.open()
		found.Report(diag.ExprSyntax, s.span(open.Location), "%q is not closed", open.Value).
			Hintf("close it with %c", ")]}"[strings.Index("([{", open.Value)])
	case t.Kind == lexer.EOF:
		found.Report(diag.ExprSyntax, s.last(), "the expression ends too early: a value was expected after this")
	case i > 0 && endsValue(s.tokens[i-1]) && t.Kind != lexer.Operator && t.Kind != lexer.Bracket:
		d := found.Report(diag.ExprSyntax, s.span(t.Location), "an operator was expected before %s", s.word(t))
		switch strings.ToLower(t.Value) {
		case "is", "equals", "eq":
			d.Hintf("write ==")
		case "and", "or", "not", "in", "contains", "matches":
			d.Hintf("write %s", strings.ToLower(t.Value))
		default:
			d.Hintf("join two conditions with && or ||, two texts with +")
		}
	default:
		d := found.Report(diag.ExprSyntax, s.span(t.Location), "%s is not expected here", s.word(t))
		switch {
		case t.Value == ":" && i > 0 && s.tokens[i-1].Value == "envelope":
			d.Hintf("write phases.plan.envelope.summary; the spelling envelope:plan.summary is for templates")
		case t.Value == "#" || t.Value == ".":
			d.Hintf("# and .field stand for the element inside any, all, none, one, count, filter, map and sum")
		}
	}
}

func (s *source) word(t lexer.Token) string {
	return `"` + s.at(t.Location) + `"`
}

func endsValue(t lexer.Token) bool {
	switch t.Kind {
	case lexer.Identifier, lexer.Number, lexer.String:
		return true
	case lexer.Bracket:
		return t.Value == ")" || t.Value == "]"
	}
	return false
}

// open is the innermost bracket that is not closed at the end, or nil.
func (s *source) open() *lexer.Token {
	var stack []*lexer.Token
	for i := range s.tokens {
		switch t := &s.tokens[i]; {
		case t.Kind != lexer.Bracket:
		case strings.Contains("([{", t.Value):
			stack = append(stack, t)
		case len(stack) > 0:
			stack = stack[:len(stack)-1]
		}
	}
	if len(stack) == 0 {
		return nil
	}
	return stack[len(stack)-1]
}

// openQuote is the offset of the quote that has no other end.
func (s *source) openQuote() int {
	text := s.frag.Text
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '/':
			if strings.HasPrefix(text[i:], "//") {
				if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
					i += n
				}
			}
		case '"', '\'', '`':
			end := closeQuote(text, i)
			if end < 0 {
				return i
			}
			i = end
		}
	}
	return 0
}

// closeQuote is the offset of the quote that ends the string beginning at i, or -1. A string in " or ' ends
// on its line.
func closeQuote(text string, i int) int {
	quote := text[i]
	for j := i + 1; j < len(text); j++ {
		switch {
		case text[j] == quote:
			return j
		case quote == '`':
		case text[j] == '\\':
			j++
		case text[j] == '\n':
			return -1
		}
	}
	return -1
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
