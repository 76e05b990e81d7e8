package dsl

// The tokens of one rule. The lexer has three states. Root reads the words of a rule; "when" enters Cond, which
// takes everything up to the first arrow outside quotes as text, and "with" enters Rest, which takes everything
// to the end. What stands in Cond and Rest is expr's business, so the lexer knows no more of it than quotes and
// comments. It is written by hand since participle's own, made of regular expressions, took half of the time in
// which the rules of a large file are read; a test holds the two together.

import (
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"
)

// The kinds of tokens. Comments and blanks are read and dropped.
const (
	dropped lexer.TokenType = lexer.EOF - 1 - iota
	whenToken
	withToken
	wordToken
	idToken
	intToken
	arrowToken // in Root
	thenToken  // the arrow that ends a condition
	stringToken
	textToken
	otherToken
)

// keywords are the words of a rule that end where a letter, digit or underscore of ASCII does not follow.
var keywords = []string{"on", "pass", "reject", "fail", "timeout", "skip", "any", "retry", "next", "finish", "abort"}

type lexerState uint8

const (
	inRoot lexerState = iota + 1
	inCond
	inRest
)

// ruleTokens is the definition of the lexer that participle asks for.
type ruleTokens struct{}

// Symbols are the names by which the grammar speaks of the kinds.
func (ruleTokens) Symbols() map[string]lexer.TokenType {
	return map[string]lexer.TokenType{"EOF": lexer.EOF, "When": whenToken, "With": withToken, "Word": wordToken, "PhaseId": idToken, "Int": intToken,
		"Arrow": arrowToken, "Then": thenToken, "String": stringToken, "Text": textToken, "Other": otherToken}
}

// Lex reads the rule first.
func (d ruleTokens) Lex(name string, r io.Reader) (lexer.Lexer, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return d.LexString(name, string(text))
}

// LexString is how ParseRule calls it.
func (ruleTokens) LexString(name, text string) (lexer.Lexer, error) {
	return &ruleLexer{rest: text, state: inRoot, at: lexer.Position{Filename: name, Line: 1, Column: 1}}, nil
}

type ruleLexer struct {
	rest  string
	at    lexer.Position
	state lexerState
}

// Next is the next token that is not dropped. There is one for any text, so it never fails.
func (l *ruleLexer) Next() (lexer.Token, error) {
	for l.rest != "" {
		text := l.rest
		kind, n := l.step()
		t := lexer.Token{Type: kind, Value: text[:n], Pos: l.at}
		l.at.Advance(t.Value)
		if kind != dropped {
			return t, nil
		}
	}
	return lexer.EOFToken(l.at), nil
}

// step takes what the rest begins with off it, and says how long it is.
func (l *ruleLexer) step() (kind lexer.TokenType, n int) {
	kind, n = l.match()
	l.rest = l.rest[n:]
	switch kind {
	case whenToken:
		l.state = inCond
	case thenToken:
		l.state = inRoot
	case withToken:
		l.state = inRest
	}
	return kind, n
}

// match says what the rest begins with, and how long it is.
func (l *ruleLexer) match() (lexer.TokenType, int) {
	if strings.HasPrefix(l.rest, "//") {
		if end := strings.IndexByte(l.rest, '\n'); end >= 0 {
			return dropped, end
		}
		return dropped, len(l.rest)
	}
	arrow := strings.HasPrefix(l.rest, "->")
	switch {
	case l.state == inRoot:
		if kind, n := rootToken(l.rest); n > 0 {
			return kind, n
		}
		if arrow {
			return arrowToken, 2
		}
	case l.state == inCond && arrow:
		return thenToken, 2
	}
	if n := quoted(l.rest); n > 0 {
		return stringToken, n
	}
	_, n := utf8.DecodeRuneInString(l.rest)
	if l.state == inRoot {
		return otherToken, n
	}
	if end := strings.IndexAny(l.rest, "\"'`/-"); end > 0 {
		return textToken, end
	} else if end < 0 {
		return textToken, len(l.rest)
	}
	return textToken, n
}

// rootToken matches the blanks, words, ids and numbers of a rule; 0 when the text begins with none.
func rootToken(s string) (lexer.TokenType, int) {
	if n := prefix(s, func(c rune) bool { return strings.ContainsRune("\t\n\f\r ", c) }); n > 0 {
		return dropped, n
	}
	switch word := s[:prefix(s, asciiWord)]; {
	case word == "when":
		return whenToken, len(word)
	case word == "with":
		return withToken, len(word)
	case slices.Contains(keywords, word):
		return wordToken, len(word)
	case word != "" && '0' <= word[0] && word[0] <= '9':
		return intToken, prefix(s, func(c rune) bool { return c == '.' || asciiWord(c) })
	}
	if c, _ := utf8.DecodeRuneInString(s); !unicode.IsLetter(c) && c != '_' {
		return otherToken, 0
	}
	n := prefix(s, idRune)
	for n < len(s) && s[n] == '-' {
		more := prefix(s[n+1:], idRune)
		if more == 0 {
			break
		}
		n += 1 + more
	}
	return idToken, n
}

func asciiWord(c rune) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

func idRune(c rune) bool { return unicode.IsLetter(c) || unicode.Is(unicode.N, c) || c == '_' }

// prefix is the length of the longest beginning of s of which each rune fits.
func prefix(s string, fits func(rune) bool) int {
	for i, c := range s {
		if !fits(c) {
			return i
		}
	}
	return len(s)
}

// quoted is the length of the string that s begins with, 0 when it begins with none. ParseRule has made sure that each
// quote has its other end before the lexer sees it, so that it never looks through the rest of a text in vain.
func quoted(s string) int {
	if strings.IndexByte("\"'`", s[0]) < 0 {
		return 0
	}
	return closeQuote(s, 0) + 1
}
