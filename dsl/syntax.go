package dsl

// The words for what expr's lexer and parser could not read. Their own messages speak of tokens; what was
// meant is told here from the token and what stands around it.

import (
	"errors"
	"slices"
	"strings"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"

	"foundry/diag"
)

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
	case strings.Contains(e.Message, "literal not terminated"):
		start, end := max(openQuote(s.frag.Text), 0), len(strings.TrimRight(s.frag.Text, " \t\r\n"))
		found.Report(diag.ExprSyntax, s.frag.Span(start, end), "a string begins with %s and does not end", s.frag.Text[start:start+1]).
			Hintf("close it with %s", s.frag.Text[start:start+1])
	case strings.Contains(e.Message, "escape"):
		at := e.Location
		if start := s.offset(at.From); start > 0 && s.frag.Text[start-1] == '\\' {
			at.From--
		}
		found.Report(diag.ExprSyntax, s.span(at), "this is not an escape").
			Hintf(`write \\ for a backslash, or put the text in backquotes`)
	case strings.HasPrefix(e.Message, "unrecognized character"):
		found.Report(diag.ExprSyntax, s.span(e.Location), "%q means nothing in an expression", s.span(e.Location).Text())
	case e.Message == "unclosed comment":
		at := strings.LastIndex(s.frag.Text, "/*")
		found.Report(diag.ExprSyntax, s.frag.Span(at, at+2), "a comment begins with /* and does not end").Hintf("close it with */")
	default:
		s.misread(e, found)
	}
}

// misread words an error of expr's parser, which speaks of the token it was at.
func (s *source) misread(e *file.Error, found *diag.List) {
	i := slices.IndexFunc(s.tokens, func(t lexer.Token) bool { return t.From >= e.From })
	if strings.Contains(e.Message, "unexpected token EOF") || i < 0 {
		i = max(len(s.tokens)-1, 0) // expr gives the end the place of the last rune
	}
	call := s.callAround(i)
	switch {
	case strings.HasPrefix(e.Message, "unexpected token"):
		s.unexpected(i, found)
	case strings.HasPrefix(e.Message, "expected at least") && call != nil:
		found.Report(diag.ExprSyntax, s.span(call.Location), "%q takes more arguments", call.Value).Hintf("write it as in %s", usage(call.Value))
	case e.Message == "expected name" || e.Message == "unexpected end of expression":
		for i > 0 && s.tokens[i].Value != "." {
			i--
		}
		found.Report(diag.ExprSyntax, s.span(s.tokens[i].Location), `a field was expected after "."`)
	case strings.Contains(e.Message, "literal"):
		for i > 0 && s.tokens[i].Kind != lexer.Number {
			i--
		}
		found.Report(diag.ExprSyntax, s.span(s.tokens[i].Location), "%s is not a number that can be used here", s.word(s.tokens[i])).
			Hintf("write it in plain decimals")
	case strings.HasPrefix(e.Message, "a map key"):
		at := s.tokens[i].Location
		if open := s.open(); open != nil {
			at = open.Location
		}
		found.Report(diag.ExprSyntax, s.span(at), "objects cannot be made in an expression").
			Hintf("name a value, or join texts with +")
	default:
		found.Report(diag.ExprSyntax, s.span(e.Location), "this cannot be read: %s", e.Message)
	}
}

// callAround is the name of the function in whose parentheses a token stands, or nil.
func (s *source) callAround(i int) *lexer.Token {
	depth := 0
	for i--; i >= 0; i-- {
		switch t := s.tokens[i]; {
		case t.Kind != lexer.Bracket:
		case !strings.Contains("([{", t.Value):
			depth++
		case depth > 0:
			depth--
		case t.Value == "(" && i > 0 && find(s.tokens[i-1].Value) != nil:
			return &s.tokens[i-1]
		default:
			return nil
		}
	}
	return nil
}

// unexpected words a token that cannot stand where it does.
func (s *source) unexpected(i int, found *diag.List) {
	t := s.tokens[i]
	after := i > 0 && endsValue(s.tokens[i-1])
	switch {
	case t.Kind == lexer.EOF && s.open() != nil:
		open := s.open()
		found.Report(diag.ExprSyntax, s.span(open.Location), "%q is not closed", open.Value).
			Hintf("close it with %c", ")]}"[strings.Index("([{", open.Value)])
	case t.Kind == lexer.EOF:
		found.Report(diag.ExprSyntax, s.last(), "the expression ends too early: a value was expected after this")
	case after && t.Kind != lexer.Operator && t.Kind != lexer.Bracket:
		d := found.Report(diag.ExprSyntax, s.span(t.Location), "an operator was expected before %s", s.word(t))
		switch word := strings.ToLower(t.Value); word {
		case "is", "equals", "eq":
			d.Hintf("write ==")
		case "and", "or", "not", "in", "contains", "matches":
			d.Hintf("write %s", word)
		default:
			d.Hintf("join two conditions with && or ||, two texts with +")
		}
	case t.Value == ":" && i > 0 && s.tokens[i-1].Value == "envelope":
		s.shortSpelling(i, found)
	default:
		d := found.Report(diag.ExprSyntax, s.span(t.Location), "%s is not expected here", s.word(t))
		call := s.callAround(i)
		switch {
		case t.Value == "#" && after:
			d.Hintf("a comment begins with //")
		case t.Value == "#" || t.Value == ".":
			d.Hintf("# and .field stand for the element inside any, all, none, one, count, filter, map and sum")
		case call != nil:
			d.Hintf("write it as in %s", usage(call.Value))
		}
	}
}

// shortSpelling reports envelope:plan.summary, whose colon is token i, in a place that does not have it.
func (s *source) shortSpelling(i int, found *diag.List) {
	start, end := s.offset(s.tokens[i-1].From), s.offset(s.tokens[i].To)
	name := leadingName(s.frag.Text[end:])
	end += len(name)
	for strings.HasPrefix(s.frag.Text[end:], ".") && leadingName(s.frag.Text[end+1:]) != "" {
		end += 1 + len(leadingName(s.frag.Text[end+1:]))
	}
	fields := s.frag.Text[s.offset(s.tokens[i].To)+len(name) : end]
	d := found.Report(diag.ExprSyntax, s.frag.Span(start, end), "%q is a spelling of templates", s.frag.Text[start:end])
	if name == "" {
		d.Hintf("write phases.ID.envelope.FIELD")
	} else {
		d.Hintf("write phases.%s.envelope%s", name, fields)
	}
}

// word is a token as messages quote it.
func (s *source) word(t lexer.Token) string {
	if t.Kind == lexer.String {
		return s.at(t.Location)
	}
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
