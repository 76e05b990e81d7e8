package dsl

// The commonest expressions read without expr's lexer and parser, which take ten times as long: a large file has
// thousands of them. Such an expression is a value, or two with a comparison between: a name with fields, a plain
// literal, or a call of a function of our own over these. The tokens and the tree are those that expr makes, which
// a test and a fuzz target hold together; what is not such an expression from its first byte to its last is left to
// expr, which reads it or says what is wrong with it.

import (
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"
)

// plainScan reads an expression from its beginning. at is behind the last token.
type plainScan struct {
	text   string
	at     int
	tokens []lexer.Token
}

// plainExpression is the tree of an expression and its tokens; nil when expr has to read it.
func plainExpression(text string) (ast.Node, []lexer.Token) {
	s := plainScan{text: text, tokens: make([]lexer.Token, 0, 2+min(len(text)/3, 16))}
	n := s.value(true)
	if n == nil {
		return nil, nil
	}
	if op, ok := s.comparison(); ok {
		right := s.value(true)
		if right == nil {
			return nil, nil
		}
		n = placed(&ast.BinaryNode{Operator: op.Value, Left: n, Right: right}, op.Location)
	}
	if s.blanks(); s.at < len(text) {
		return nil, nil
	}
	end := file.Location{From: len(text) - 1, To: len(text)} // what expr takes for the place of the end
	return n, append(s.tokens, lexer.Token{Location: end, Kind: lexer.EOF})
}

func placed(n ast.Node, at file.Location) ast.Node {
	n.SetLocation(at)
	return n
}

func (s *plainScan) blanks() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\n' || s.text[s.at] == '\t' || s.text[s.at] == '\r') {
		s.at++
	}
}

// next is the byte that follows, 0 at the end.
func (s *plainScan) next() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// token takes the next n bytes as a token.
func (s *plainScan) token(kind lexer.Kind, n int) lexer.Token {
	t := lexer.Token{Location: file.Location{From: s.at, To: s.at + n}, Kind: kind, Value: s.text[s.at : s.at+n]}
	s.at += n
	s.tokens = append(s.tokens, t)
	return t
}

// value reads a literal, a name with fields, or, where they may stand, a call.
func (s *plainScan) value(calls bool) ast.Node {
	s.blanks()
	switch c := s.next(); {
	case c == '"' || c == '\'':
		return s.literal(c)
	case '0' <= c && c <= '9':
		return s.number()
	}
	t, ok := s.word()
	if !ok {
		return nil
	}
	switch s.blanks(); {
	case t.Value == "nil":
		return nil
	case t.Value == "true" || t.Value == "false":
		return placed(&ast.BoolNode{Value: t.Value == "true"}, t.Location)
	case s.next() == '(':
		if !calls {
			return nil
		}
		return s.call(t)
	}
	n := placed(&ast.IdentifierNode{Value: t.Value}, t.Location)
	for s.next() == '.' {
		s.token(lexer.Operator, 1)
		if s.next() == '.' || '0' <= s.next() && s.next() <= '9' {
			return nil // another token than a dot
		}
		s.blanks()
		field, ok := s.word()
		if !ok {
			return nil
		}
		n = placed(&ast.MemberNode{Node: n, Property: placed(&ast.StringNode{Value: field.Value}, field.Location)}, field.Location)
		s.blanks()
	}
	if c := s.next(); c == '(' || c == '[' {
		return nil
	}
	return n
}

// operators are the words that are no names to expr.
var operators = []string{"not", "in", "or", "and", "matches", "contains", "startsWith", "endsWith", "let", "if", "else"}

// word reads a name of ASCII.
func (s *plainScan) word() (lexer.Token, bool) {
	end := s.at
	for end < len(s.text) && isNameRune(rune(s.text[end])) {
		end++
	}
	if end == s.at || '0' <= s.text[s.at] && s.text[s.at] <= '9' || slices.Contains(operators, s.text[s.at:end]) {
		return lexer.Token{}, false
	}
	if end < len(s.text) && strings.IndexByte(" \n\t\r.()=!<>,", s.text[end]) < 0 {
		return lexer.Token{}, false // the name may go on, or begin something else
	}
	return s.token(lexer.Identifier, end-s.at), true
}

func (s *plainScan) number() ast.Node {
	end := s.at
	for end < len(s.text) && '0' <= s.text[end] && s.text[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s.text[s.at:end])
	if err != nil || end-s.at > 9 || end < len(s.text) && strings.IndexByte(" \n\t\r)=!<>,", s.text[end]) < 0 {
		return nil
	}
	t := s.token(lexer.Number, end-s.at)
	return placed(&ast.IntegerNode{Value: n}, t.Location)
}

// literal reads a text in quotes in which each byte stands for itself.
func (s *plainScan) literal(quote byte) ast.Node {
	end := s.at + 1
	for end < len(s.text) && s.text[end] != quote && s.text[end] >= ' ' && s.text[end] < 0x7f && s.text[end] != '\\' {
		end++
	}
	if end >= len(s.text) || s.text[end] != quote {
		return nil
	}
	value := s.text[s.at+1 : end]
	t := s.token(lexer.String, end+1-s.at)
	s.tokens[len(s.tokens)-1].Value = value
	if s.blanks(); s.next() == '.' || s.next() == '[' {
		return nil
	}
	return placed(&ast.StringNode{Value: value}, t.Location)
}

// call reads the arguments of a function, which are values and no calls. expr makes trees of its own kind for the
// functions that it has itself.
func (s *plainScan) call(name lexer.Token) ast.Node {
	if _, builtin := builtin.Index[name.Value]; builtin {
		return nil
	}
	s.token(lexer.Bracket, 1)
	args := []ast.Node{}
	for s.blanks(); s.next() != ')'; s.blanks() {
		if len(args) > 0 {
			if s.next() != ',' {
				return nil
			}
			s.token(lexer.Operator, 1)
		}
		arg := s.value(false)
		if arg == nil {
			return nil
		}
		args = append(args, arg)
	}
	s.token(lexer.Bracket, 1)
	if s.blanks(); s.next() == '.' || s.next() == '[' {
		return nil
	}
	callee := placed(&ast.IdentifierNode{Value: name.Value}, name.Location)
	return placed(&ast.CallNode{Callee: callee, Arguments: args}, name.Location)
}

// comparison reads an operator that compares two values.
func (s *plainScan) comparison() (lexer.Token, bool) {
	s.blanks()
	n := 1
	if s.at+1 < len(s.text) && s.text[s.at+1] == '=' {
		n = 2
	}
	if end := s.at + n; end >= len(s.text) || strings.IndexByte("&=*", s.text[end]) >= 0 {
		return lexer.Token{}, false // part of a longer operator, or nothing behind it
	}
	switch s.text[s.at : s.at+n] {
	case "==", "!=", "<", ">", "<=", ">=":
		return s.token(lexer.Operator, n), true
	}
	return lexer.Token{}, false
}
