package schema

// The habits that YAML reads differently, as they look on the line where it gives up: a value that begins with
// {{, *, ! or @, a quote or a bracket that ends before the value does, a colon in a plain text, a tab.

import (
	"strings"

	"foundry/diag"
	"foundry/internal/lazyregexp"
)

type habit struct {
	rule          diag.Rule
	from, to      int // offsets in the file
	message, hint string
}

var keyHead = lazyregexp.New(`^("[^"]*"|'[^']*'|[A-Za-z0-9_][A-Za-z0-9_.-]*)[ \t]*:([ \t]+|$)`)

// habit looks at one line of the file.
func (d *decoder) habit(line int) (habit, bool) {
	text, start := d.line(line)
	rest := strings.TrimLeft(text, " \t")
	if i := strings.IndexByte(text[:len(text)-len(rest)], '\t'); i >= 0 && rest != "" && !strings.HasPrefix(rest, "#") {
		return habit{diag.YAMLSyntax, start + i, start + i + 1, "a tab in the indentation, where YAML takes only spaces", "indent with spaces"}, true
	}
	l := d.look(line)
	return l.value(l.text, l.at, false)
}

// colonless looks for a key without its colon above a line that is indented below it: to YAML the two are one text.
func (d *decoder) colonless(line int) (habit, bool) {
	below, _ := d.line(line)
	for k := line - 1; k > 0; k-- {
		text, start := d.line(k)
		word := strings.TrimSpace(text)
		if word == "" || word[0] == '#' {
			continue
		}
		at := strings.Index(text, word)
		if !isName(word, true) || at >= len(below)-len(strings.TrimLeft(below, " ")) {
			return habit{}, false
		}
		return habit{diag.YAMLSyntax, start + at, start + at + len(word), "a key is not followed by a colon", "write " + word + ":"}, true
	}
	return habit{}, false
}

// openQuote looks for a value that begins with a quote which its line does not close.
func (d *decoder) openQuote(line int) (habit, bool) {
	l := d.look(line)
	if l.text == "" || l.text[0] != '"' && l.text[0] != '\'' || closing(l.text) >= 0 {
		return habit{}, false
	}
	return habit{diag.YAMLSyntax, l.at, l.at + 1, "the quote that opens here is not closed on its line", "close the quote"}, true
}

// look finds the value of a line, behind its indentation, dashes and key.
func (d *decoder) look(line int) look {
	text, start := d.line(line)
	rest := strings.TrimLeft(text, " \t")
	for strings.HasPrefix(rest, "- ") {
		rest = strings.TrimLeft(rest[2:], " ")
	}
	key := ""
	if m := keyHead().FindString(rest); m != "" {
		key, rest = strings.TrimRight(m, " \t"), rest[len(m):]
	}
	return look{text: rest, at: start + len(text) - len(rest), key: key}
}

// line is the text of a line without a byte order mark, and where it begins.
func (d *decoder) line(n int) (string, int) {
	return strings.TrimPrefix(d.src.Line(n), "\ufeff"), d.src.Offset(diag.Position{Line: n, Column: 1})
}

// look is the line under inspection from its value on.
type look struct {
	text string
	at   int
	key  string // with its colon, "" in a list
}

// whole is the value with the quotes it needs, behind its key.
func (l look) whole() string { return l.quoted(cutComment(l.text)) }

func (l look) quoted(v string) string {
	if l.key == "" {
		return quote(strings.TrimSpace(v))
	}
	return l.key + " " + quote(strings.TrimSpace(v))
}

func cutComment(s string) string {
	if i := strings.Index(s, " #"); i >= 0 && !unbalanced(s[:i]) {
		s = s[:i]
	}
	return strings.TrimSpace(s)
}

// value looks at a value that begins at offset at; inside says that it stands inside [ ] or { }.
func (l look) value(v string, at int, inside bool) (habit, bool) {
	if v == "" {
		return habit{}, false
	}
	hit := func(rule diag.Rule, from, to int, message, hint string) (habit, bool) {
		return habit{rule, at + from, at + to, message, hint}, true
	}
	quoted := func() string {
		if inside {
			return "quote the text: " + quote(strings.TrimSpace(v))
		}
		return "quote the text: " + l.whole()
	}
	switch {
	case strings.HasPrefix(v, "{{"):
		return hit(diag.YAMLBraces, 0, 2, "a value that begins with {{ is a mapping to YAML", quoted())
	case v[0] == '*':
		if word := strings.TrimLeft(v[1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"); len(word) < len(v)-1 && strings.Trim(word, " \t,]}") == "" {
			return habit{}, false // the alias of an anchor
		}
		return hit(diag.YAMLStar, 0, 1, "a value that begins with * is an alias to YAML", quoted())
	case v[0] == '!' && inside && strings.HasPrefix(l.key, "protect"):
		return hit(diag.YAMLTag, 0, len(v), v+" is a tag to YAML and not part of the text", "remove it: what protect names has no exceptions")
	case v[0] == '!' && inside && strings.HasPrefix(l.key, "writes"):
		return hit(diag.YAMLTag, 0, len(v), v+" is a tag to YAML and not part of the text", "remove it, and name "+v[1:]+" under protect: patterns have no exceptions")
	case v[0] == '!':
		hint := quoted()
		if strings.HasPrefix(l.key, "when") || strings.HasPrefix(l.key, "accept") {
			hint += ", or write not instead of !"
		}
		return hit(diag.YAMLTag, 0, 1, "a value that begins with ! is a tag to YAML and not a text", hint)
	case v[0] == '@' || v[0] == '`' || v[0] == '%':
		return hit(diag.YAMLSyntax, 0, 1, "a plain value cannot begin with "+v[:1], quoted())
	case strings.HasPrefix(v, "& ") || strings.HasPrefix(v, "&&"):
		return hit(diag.YAMLSyntax, 0, 1, "a value that begins with & is an anchor to YAML", quoted())
	case v[0] == '"' || v[0] == '\'':
		return l.quotes(v, at, inside)
	case v[0] == '[' || v[0] == '{':
		return l.brackets(v, at)
	case v[0] == '|' || v[0] == '>':
		if t := strings.TrimLeft(v[1:], "+-0123456789"); strings.TrimSpace(t) != "" && strings.TrimSpace(t)[0] != '#' {
			return hit(diag.YAMLSyntax, len(v)-len(strings.TrimLeft(t, " \t")), len(v), "something stands behind "+v[:1], "begin the text on the next line")
		}
		return habit{}, false
	}
	return l.plain(v, at, inside)
}

// plain looks for a colon in a plain text.
func (l look) plain(v string, at int, inside bool) (habit, bool) {
	t := cutComment(v)
	i := strings.Index(t, ": ")
	if i < 0 && strings.HasSuffix(t, ":") {
		i = len(t) - 1
	}
	if i < 0 || inside || l.key == "" && !strings.Contains(t[:i], " ") {
		return habit{}, false
	}
	if i == len(t)-1 && l.key == "" {
		return habit{}, false
	}
	return habit{diag.YAMLColon, at + i, at + i + 1, "a colon and a blank end a plain text, and what is before it becomes a key", "quote the text: " + l.whole()}, true
}

// quotes looks at a value that begins with a quote.
func (l look) quotes(v string, at int, inside bool) (habit, bool) {
	end := closing(v)
	if end < 0 {
		return habit{}, false
	}
	if v[0] == '"' {
		for i := 1; i < end; i++ {
			if v[i] != '\\' {
				continue
			}
			if strings.IndexByte("0abtnvfre \"/\\N_LPxuU\t", v[i+1]) < 0 {
				return habit{diag.YAMLSyntax, at + i, at + i + 2, v[i:i+2] + " is no escape in double quotes", "use single quotes, in which a backslash is a backslash: '" + strings.ReplaceAll(v[1:end], "'", "''") + "'"}, true
			}
			i++
		}
	}
	rest := strings.TrimLeft(v[end+1:], " \t")
	if inside || rest == "" || rest[0] == '#' || rest[0] == ':' {
		return habit{}, false
	}
	from := at + len(v) - len(rest)
	return habit{diag.YAMLSyntax, from, from + len(strings.TrimRight(cutComment(rest), " \t")), "a value that begins with a quote ends at the closing quote", "quote the whole text: " + l.whole()}, true
}

// closing is where the quote that opens v is closed, or -1.
func closing(v string) int {
	for i := 1; i < len(v); i++ {
		switch {
		case v[i] == '\\' && v[0] == '"':
			i++
		case v[i] == v[0] && v[0] == '\'' && i+1 < len(v) && v[i+1] == '\'':
			i++
		case v[i] == v[0]:
			return i
		}
	}
	return -1
}

// brackets looks at a flow collection: at its entries, and at what stands behind it.
func (l look) brackets(v string, at int) (habit, bool) {
	var open []byte
	item := 0 // where the current entry began
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case (c == '"' || c == '\'') && strings.TrimSpace(v[item:i]) == "":
			if h, ok := l.value(v[i:], at+i, true); ok {
				return h, true
			}
			end := closing(v[i:])
			if end < 0 {
				return habit{}, false
			}
			i += end
		case c == '#' && i > 0 && blank(v[i-1]):
			return habit{}, false
		case c == '[' || c == '{' || c == '?':
			if word := strings.TrimSpace(v[item:i]); word != "" {
				start := item + strings.Index(v[item:], word)
				return habit{diag.YAMLFlow, at + i, at + i + 1, "inside [ ] and { } a plain text cannot hold " + v[i:i+1], "quote the text: " + quote(strings.TrimSpace(textAt(v[start:])))}, true
			}
			if c == '?' {
				continue
			}
			if len(open) > 0 && strings.HasPrefix(v[i:], "{{") {
				return l.value(v[i:], at+i, true)
			}
			open = append(open, c+2) // the closing bracket of its kind
			item = i + 1
		case c == ']' || c == '}':
			if open[len(open)-1] != c {
				return habit{diag.YAMLSyntax, at + i, at + i + 1, "a closing bracket that nothing opened", "remove it"}, true
			}
			open = open[:len(open)-1]
			item = i + 1
			if len(open) == 0 {
				rest := strings.TrimLeft(v[i+1:], " \t")
				if rest == "" || rest[0] == '#' || rest[0] == ':' {
					return habit{}, false
				}
				if strings.Trim(cutComment(rest), "]}") == "" {
					return habit{diag.YAMLSyntax, at + len(v) - len(rest), at + len(v) - len(rest) + 1, "a closing bracket that nothing opened", "remove it"}, true
				}
				return habit{diag.YAMLFlow, at, at + 1, "a value that begins with " + v[:1] + " ends at the closing bracket", "quote the whole text: " + l.whole()}, true
			}
		case c == ',':
			item = i + 1
		case c == ':' && (i+1 == len(v) || blank(v[i+1])):
			item = i + 1
		case strings.TrimSpace(v[item:i]) == "" && strings.IndexByte("*!@`%", c) >= 0:
			if h, ok := l.value(strings.TrimRight(entryAt(v[i:]), " "), at+i, true); ok {
				return h, true
			}
		}
	}
	return habit{}, false
}

// entryAt is the text up to the next comma or closing bracket.
func entryAt(v string) string {
	if i := strings.IndexAny(v, ",]}"); i >= 0 {
		return v[:i]
	}
	return v
}

// textAt is the text up to the comma or the bracket that ends it when its own brackets are counted.
func textAt(v string) string {
	depth := 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			if depth--; depth < 0 {
				return v[:i]
			}
		case ',':
			if depth == 0 {
				return v[:i]
			}
		}
	}
	return v
}
