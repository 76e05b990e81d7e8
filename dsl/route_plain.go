package dsl

// The commonest rule, a jump to a phase, read without participle, which takes ten times as long: a large file has
// thousands of them. What is not such a rule from its first byte to its last is left to participle, which reads it
// or says what is wrong with it. The tokens are the same for both (rule_lexer.go); a test and a fuzz target hold
// the two readings together.

import (
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
)

// extent is a part of a rule's text, from its first byte to behind its last.
type extent struct{ start, end int }

// jumpText is a rule "on T -> ID" with its parts, of which when, retry and with are empty when they are not there.
type jumpText struct {
	trigger                           Trigger
	when, target, retry, with, within extent // within is from the first part to the last
}

// plainJump reads a rule that is a jump; false when participle has to read it.
func plainJump(text string) (j jumpText, ok bool) {
	l := ruleScan{ruleLexer{rest: text, state: inRoot}, text}
	kind, at := l.scan()
	if kind != wordToken || at.of(text) != "on" {
		return j, false
	}
	j.within.start = at.start
	if kind, at = l.scan(); kind != wordToken {
		return j, false
	}
	if j.trigger = triggerOf(at.of(text)); j.trigger == 0 {
		return j, false
	}
	if kind, at = l.scan(); kind == whenToken {
		if j.when, kind = l.expression(); j.when.end == 0 || kind != thenToken {
			return j, false
		}
	} else if kind != arrowToken {
		return j, false
	}
	if kind, j.target = l.scan(); kind != idToken {
		return j, false
	}
	j.within.end = j.target.end
	if kind, at = l.scan(); kind == wordToken && at.of(text) == "retry" {
		if kind, j.retry = l.scan(); kind != intToken {
			return j, false
		}
		j.within.end = j.retry.end
		kind, _ = l.scan()
	}
	if kind == withToken {
		if j.with, kind = l.expression(); j.with.end == 0 {
			return j, false
		}
		j.within.end = j.with.end
	}
	return j, kind == lexer.EOF
}

func (e extent) of(text string) string { return text[e.start:e.end] }

func triggerOf(word string) Trigger {
	for t := Pass; t <= Any; t++ {
		if triggerNames[t] == word {
			return t
		}
	}
	return 0
}

// ruleScan is the lexer of rules without the lines and columns that participle wants of each token.
type ruleScan struct {
	ruleLexer
	text string
}

// scan is the next token that is not dropped.
func (l *ruleScan) scan() (lexer.TokenType, extent) {
	for l.rest != "" {
		kind, n := l.step()
		if kind != dropped {
			end := len(l.text) - len(l.rest)
			return kind, extent{end - n, end}
		}
	}
	return lexer.EOF, extent{}
}

// expression takes the texts and strings up to another token, and gives that one's kind. The extent is without the
// blanks around it, and has no end when there is nothing else.
func (l *ruleScan) expression() (e extent, kind lexer.TokenType) {
	for {
		var at extent
		if kind, at = l.scan(); kind != textToken && kind != stringToken {
			break
		}
		if strings.TrimSpace(at.of(l.text)) == "" {
			continue
		}
		if e.end == 0 {
			e.start = at.start
		}
		e.end = at.end
	}
	e.start, e.end = trim(l.text, e.start, e.end)
	return e, kind
}
