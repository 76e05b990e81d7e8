package dsl

// Texts with expressions in them. The braces are found by a scan that looks at each byte once; prompts can be
// large and hold any number of braces that mean nothing.

import (
	"errors"
	"strings"

	"foundry/diag"
)

// Mode says what a template does with what is not available when it is rendered.
type Mode uint8

// The modes; the zero value is invalid.
const (
	Prompt Mode = iota + 1 // it says "(not available)", and so it does for a phase that the pipeline lacks
	Strict                 // rendering fails
)

// notAvailable stands in a prompt for what has no value.
const notAvailable = "(not available)"

// Template is a text with expressions in it. It is immutable and may be rendered by any number of
// goroutines.
type Template struct {
	source string
	mode   Mode
	parts  []part
	reads  []Read
}

// part is a stretch of text, or an expression.
type part struct {
	text string
	cond *Cond // nil for text
}

// CompileTemplate reads a text in which {{ and }} enclose expressions and {{{{ is a literal {{. An
// expression ends at the first }} outside quotes. With errors the Template is nil.
func CompileTemplate(f diag.Fragment, s *Scope, m Mode) (*Template, diag.List) {
	t := &Template{source: f.Text, mode: m}
	var found diag.List
	where := inStrict
	if m == Prompt {
		where = inPrompt
	}
	for at := 0; at < len(f.Text); {
		open := strings.Index(f.Text[at:], "{{")
		if open < 0 {
			t.literal(f.Text[at:])
			break
		}
		open += at
		t.literal(f.Text[at:open])
		if strings.HasPrefix(f.Text[open:], "{{{{") {
			t.literal("{{")
			at = open + len("{{{{")
			continue
		}
		end := closing(f.Text, open+2)
		if end < 0 {
			unclosed(f, open, &found)
			break
		}
		c, bad := compileInside(f, open, end, s, where)
		found.Merge(bad)
		if c != nil {
			t.parts = append(t.parts, part{cond: c})
			t.reads = append(t.reads, c.reads...)
		}
		at = end + 2
	}
	if found.HasErrors() {
		return nil, found
	}
	return t, found
}

// LiteralTemplate is a template that renders as the text itself, braces and all.
func LiteralTemplate(text string) *Template {
	t := &Template{source: text, mode: Strict}
	t.literal(text)
	return t
}

func (t *Template) literal(text string) {
	if text == "" {
		return
	}
	if n := len(t.parts); n > 0 && t.parts[n-1].cond == nil {
		t.parts[n-1].text += text
		return
	}
	t.parts = append(t.parts, part{text: text})
}

// closing is the offset of the first }} outside quotes, or -1.
func closing(text string, at int) int {
	for i := at; i < len(text); i++ {
		switch text[i] {
		case '"', '\'', '`':
			end := closeQuote(text, i)
			if end < 0 {
				return -1
			}
			i = end
		case '}':
			if strings.HasPrefix(text[i:], "}}") {
				return i
			}
		}
	}
	return -1
}

// unclosed reports a {{ that has no end, or a string inside that has none and so hides it.
func unclosed(f diag.Fragment, open int, found *diag.List) {
	for i := open + 2; i < len(f.Text); i++ {
		if c := f.Text[i]; c == '"' || c == '\'' || c == '`' {
			end := closeQuote(f.Text, i)
			if end >= 0 {
				i = end
				continue
			}
			if strings.Contains(f.Text[i:], "}}") {
				found.Report(diag.TemplateSyntax, f.Span(i, i+1), "a string begins with %c inside {{ }} and does not end", c).
					Hintf("close it with %c; for a literal {{ write {{{{", c)
				return
			}
			break
		}
	}
	found.Report(diag.TemplateSyntax, f.Span(open, open+2), `"{{" is not closed`).Hintf("close it with }}; for a literal {{ write {{{{")
}

// compileInside compiles what stands between {{ at open and }} at end.
func compileInside(f diag.Fragment, open, end int, s *Scope, where place) (*Cond, diag.List) {
	var found diag.List
	start, stop := trim(f.Text, open+2, end)
	if start == stop {
		found.Report(diag.TemplateSyntax, f.Span(open, end+2), "{{ }} is empty: an expression was expected").
			Hintf("for a literal {{ write {{{{")
		return nil, found
	}
	c, bad := compile(f.Slice(start, stop), s, nil, where)
	for _, d := range bad.Sorted() {
		if d.Rule == diag.ExprSyntax {
			d.Rule = diag.TemplateSyntax
			if d.Hint == "" || f.Text[start] == '.' {
				d.Hint = "for a literal {{ write {{{{"
			}
		}
		n := found.Report(d.Rule, d.Span, "%s", d.Message).As(d.Severity)
		n.Hint, n.Notes = d.Hint, d.Notes
	}
	return c, found
}

// Render puts the values in. What was put in is not looked at again.
func (t *Template) Render(v Values) (string, error) {
	if text, ok := t.Literal(); ok {
		return text, nil
	}
	var b strings.Builder
	for i := range t.parts {
		p := &t.parts[i]
		if p.cond == nil {
			b.WriteString(p.text)
			continue
		}
		o := p.cond.Eval(v)
		var absent *NoValueError
		switch {
		case o.Err == nil:
			b.WriteString(Text(o.Value))
		case t.mode == Prompt && errors.As(o.Err, &absent):
			b.WriteString(notAvailable)
		default:
			return "", o.Err
		}
	}
	return b.String(), nil
}

// Reads are the values that the template reads, in the order of the text. The slice is not to be changed.
func (t *Template) Reads() []Read { return t.reads }

// Source is the template as written.
func (t *Template) Source() string { return t.source }

// Literal is the text of a template without expressions.
func (t *Template) Literal() (string, bool) {
	switch {
	case len(t.parts) == 0:
		return "", true
	case len(t.parts) == 1 && t.parts[0].cond == nil:
		return t.parts[0].text, true
	}
	return "", false
}
