package dsl

// A rule as a value: what participle read, with each part's place in the file. The words for what it could
// not read are in route_errors.go.

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"foundry/diag"
)

// ParseRule parses one rule, in which line breaks are blanks. The rule is of use only when the list has no
// errors, or when it is Guessed; the expressions in it are not looked into.
func ParseRule(f diag.Fragment) (Rule, diag.List) {
	p := ruleParser{frag: f}
	if !utf8.ValidString(f.Text) {
		p.diags.Report(diag.RouteSyntax, f.Whole(), "the rule is not valid UTF-8")
		return Rule{}, p.diags
	}
	if at := openQuote(f.Text); at >= 0 {
		start, end := trim(f.Text, at, len(f.Text))
		p.diags.Report(diag.RouteSyntax, f.Span(start, end), "a string begins with %c and does not end", f.Text[at]).
			Hintf("close it with %c", f.Text[at])
		return Rule{}, p.diags
	}
	if j, ok := plainJump(f.Text); ok {
		return p.plain(j), p.diags
	}
	node, err := grammar().ParseString("", f.Text)
	if err == nil {
		return p.rule(node), p.diags
	}
	p.explain(err)
	if p.meant == "" {
		return Rule{}, p.diags
	}
	at := p.tokens()[1].Pos.Offset
	r, more := ParseRule(f.Replace(at, at+len(p.tokens()[1].Value), p.meant))
	r.Guessed = !more.HasErrors()
	p.diags.Merge(more)
	return r, p.diags
}

// RouteGrammar prints the grammar of a rule as EBNF.
func RouteGrammar() string {
	text := grammar().String()
	return strings.NewReplacer(
		"RuleNode", "Rule", "GotoNode", "Goto", "IdNode", "Target", "IntNode", "Count",
		"WordNode", "Go", "StopNode", "Stop", "QuoteNode", "Message", "ExprNode", "Expr",
	).Replace(text)
}

type ruleParser struct {
	frag  diag.Fragment
	diags diag.List
	meant string        // the trigger that was most likely meant by one that is none
	read  []lexer.Token // all tokens, end of input included; only made when something is wrong
}

func (p *ruleParser) rule(n *ruleNode) Rule {
	r := Rule{Frag: p.cut(n.Tokens), Trigger: triggerOf(n.Trigger)}
	if n.When != nil {
		r.When = p.expression(n.When, "when")
	}
	switch {
	case n.Goto != nil:
		r.Action = Goto
		p.jump(n.Goto, &r)
	case n.Next != nil:
		r.Action, r.Target = Next, p.frag.Slice(n.Next.Pos.Offset, n.Next.Pos.Offset+len(n.Next.Word))
		if n.Next.Word == "finish" {
			r.Action = Finish
		}
	default:
		r.Action, r.Target = Abort, p.frag.Slice(n.Abort.Pos.Offset, n.Abort.Pos.Offset+len("abort"))
		if m := n.Abort.Message; m != nil {
			r.Message = p.message(m)
		}
	}
	return r
}

func (p *ruleParser) jump(n *gotoNode, r *Rule) {
	p.target(r, extent{n.Target.Pos.Offset, n.Target.Pos.Offset + len(n.Target.Name)})
	if n.Retry != nil {
		p.retry(r, extent{n.Retry.Pos.Offset, n.Retry.Pos.Offset + len(n.Retry.Text)})
	}
	if n.With != nil {
		r.With = p.expression(n.With, "with")
	}
}

// plain is the rule of a jump that participle did not have to read.
func (p *ruleParser) plain(j jumpText) Rule {
	r := Rule{Trigger: j.trigger, Action: Goto, Frag: p.frag.Slice(j.within.start, j.within.end)}
	if j.when.end > 0 {
		r.When = p.frag.Slice(j.when.start, j.when.end)
	}
	p.target(&r, j.target)
	if j.retry.end > 0 {
		p.retry(&r, j.retry)
	}
	if j.with.end > 0 {
		r.With = p.frag.Slice(j.with.start, j.with.end)
	}
	return r
}

// Self is the target that stands for an item itself, in the route of a phase that is repeated over a list.
const Self = "self"

func (p *ruleParser) target(r *Rule, at extent) {
	r.Target = p.frag.Slice(at.start, at.end)
	if r.Target.Text != Self && IsReserved(r.Target.Text) {
		p.reserved(r.Target)
	}
}

func (p *ruleParser) retry(r *Rule, at extent) {
	r.HasRetry, r.RetrySpan = true, p.frag.Span(at.start, at.end)
	r.Retry = p.count(at.of(p.frag.Text), r.RetrySpan)
}

// count reads the number of a retry: plain decimals, at least 1.
func (p *ruleParser) count(text string, at diag.Span) int {
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n == 0:
		p.diags.Report(diag.RouteSyntax, at, `"retry 0" never jumps: a count of at least 1 was expected`).
			Hintf("write retry 1, or leave the rule out")
	case errors.Is(err, strconv.ErrRange):
		p.diags.Report(diag.RouteSyntax, at, `"%s" is too large for a count`, text)
	case err != nil || (len(text) > 1 && text[0] == '0'):
		p.diags.Report(diag.RouteSyntax, at, `"%s" is not a count: a whole number in plain decimals was expected`, text).
			Hintf("write it as in retry 2")
	}
	return n
}

// expression is what stands after when or with, without the blanks and comments around it. An empty one is
// an error at the word.
func (p *ruleParser) expression(n *exprNode, word string) diag.Fragment {
	cut := p.cut(n.Tokens)
	if cut.Text == "" {
		at := strings.LastIndex(p.frag.Text[:n.Tokens[0].Pos.Offset], word)
		p.empty(word, p.frag.Span(at, at+len(word)))
	}
	return cut
}

func (p *ruleParser) empty(word string, at diag.Span) {
	d := p.diags.Report(diag.RouteSyntax, at, `nothing follows "%s": an expression was expected`, word)
	if word == "when" {
		d.Hintf(`write a condition, such as when exit == 2, or leave "when" out`)
	} else {
		d.Hintf(`write what to hand on, such as with tail(output, 40), or leave "with" out`)
	}
}

// cut is the part of the rule from the first token to the last, blanks and what is next to them left out.
func (p *ruleParser) cut(tokens []lexer.Token) diag.Fragment {
	blank := func(t lexer.Token) bool { return strings.TrimSpace(t.Value) == "" }
	for len(tokens) > 1 && blank(tokens[0]) {
		tokens = tokens[1:]
	}
	for len(tokens) > 1 && blank(tokens[len(tokens)-1]) {
		tokens = tokens[:len(tokens)-1]
	}
	last := tokens[len(tokens)-1]
	start, end := trim(p.frag.Text, tokens[0].Pos.Offset, last.Pos.Offset+len(last.Value))
	return p.frag.Slice(start, end)
}

// trim narrows a range of s to leave out the white space at both of its ends.
func trim(s string, start, end int) (int, int) {
	part := s[start:end]
	start += len(part) - len(strings.TrimLeft(part, " \t\r\n"))
	end = start + len(strings.Trim(part, " \t\r\n"))
	return start, end
}

func (p *ruleParser) message(n *quoteNode) string {
	text, bad := unquote(n.Text)
	if bad >= 0 {
		at := n.Pos.Offset + bad
		_, w := utf8.DecodeRuneInString(p.frag.Text[at+1:])
		p.diags.Report(diag.RouteSyntax, p.frag.Span(at, at+1+w), `"%s" is not an escape`, p.frag.Text[at:at+1+w]).
			Hintf(`write \\ for a backslash, or put the text in backquotes`)
	}
	return text
}

// unquote reads a quoted string as expr does. bad is the offset of an escape that there is not, or -1.
func unquote(quoted string) (text string, bad int) {
	quote, inner := quoted[0], quoted[1:len(quoted)-1]
	if quote == '`' {
		return inner, -1
	}
	var b strings.Builder
	for rest := inner; rest != ""; {
		r, multibyte, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			return b.String(), 1 + len(inner) - len(rest)
		}
		if multibyte || r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			b.WriteByte(byte(r))
		}
		rest = tail
	}
	return b.String(), -1
}

// offset is where participle found the fault.
func offset(err error) int {
	var at participle.Error
	if errors.As(err, &at) {
		return at.Position().Offset
	}
	panic("BUG: an error of the route parser without a position: " + err.Error())
}
