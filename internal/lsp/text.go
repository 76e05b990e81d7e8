package lsp

// Texts with a language of their own are read up to the cursor only, and by hand: what stands before it says what
// can follow, whether or not the whole would compile.

import (
	"strings"

	"foundry/internal/lazyregexp"
)

// before is what a text says up to an offset: the rule of a route that is being written, everything of an
// expression or a template. Quotes and escapes of YAML are undone.
func before(text string, leaf *node, offset int, kind useKind) string {
	from, _ := leaf.inside(text)
	raw := text[from:max(from, offset)]
	if leaf.style == literal || leaf.style == folded {
		if kind == useRoute {
			raw = raw[strings.LastIndexByte(raw, '\n')+1:]
		}
		return raw
	}
	switch leaf.style {
	case single:
		return strings.ReplaceAll(raw, "''", "'")
	case double:
		return unescaped.Replace(raw)
	}
	return raw
}

// unescaped undoes the escapes that matter for where the quotes of a text are.
var unescaped = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n", `\t`, "\t")

// quoteAt finds the quote that is open at the end of a text, and says what stands before it; at is -1 when none is
// open. A comment, from // to the end of the line, is reported as one.
func quoteAt(text string) (at int, comment bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"', '\'', '`':
			end := closingIn(text, i)
			if end < 0 {
				return i, false
			}
			i = end
		case '/':
			if strings.HasPrefix(text[i:], "//") {
				line := strings.IndexByte(text[i:], '\n')
				if line < 0 {
					return -1, true
				}
				i += line
			}
		}
	}
	return -1, false
}

// closingIn is the offset of the quote that closes the one at an offset, -1 when it is open.
func closingIn(text string, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && text[at] != '`':
			i++
		case text[i] == text[at]:
			return i
		}
	}
	return -1
}

// cutOutside cuts a text at the first place outside quotes where a mark stands.
func cutOutside(text, mark string) (head, tail string, found bool) {
	for i := 0; i < len(text); i++ {
		if strings.HasPrefix(text[i:], mark) {
			return text[:i], text[i+len(mark):], true
		}
		if c := text[i]; c == '"' || c == '\'' || c == '`' {
			end := closingIn(text, i)
			if end < 0 {
				break
			}
			i = end
		}
	}
	return text, "", false
}

// templateAt is the expression that is open at the end of a template, false when the end is plain text. {{{{ is
// a literal {{.
func templateAt(text string) (string, bool) {
	for {
		at := strings.Index(text, "{{")
		if at < 0 {
			return "", false
		}
		if text = text[at+2:]; strings.HasPrefix(text, "{{") {
			text = text[2:]
			continue
		}
		_, rest, closed := cutOutside(text, "}}")
		if !closed {
			return text, true
		}
		text = rest
	}
}

// chainEnd is the path of names that ends a text with a dot, such as "phases.plan.envelope.".
var chainEnd = lazyregexp.New(`([A-Za-z_][A-Za-z0-9_]*(?:\[[0-9]+\])?(?:\.[A-Za-z_][A-Za-z0-9_]*(?:\[[0-9]+\])?)*)\.$`)

// spelled is the short spelling of a phase's envelope in templates, such as "envelope:plan.".
var spelled = lazyregexp.New(`\benvelope:([a-z][a-z0-9_]*)((?:\.[A-Za-z_][A-Za-z0-9_]*(?:\[[0-9]+\])?)*)\.$`)

// chain is the path that a text ends with; false when it does not end with a path.
func chain(text string) ([]string, bool) {
	if m := spelled().FindStringSubmatch(text); m != nil {
		return append([]string{"phases", m[1], "envelope"}, links(strings.TrimPrefix(m[2], "."))...), true
	}
	m := chainEnd().FindStringSubmatch(text)
	if m == nil {
		return nil, false
	}
	return links(m[1]), true
}

// links are the names of a path; an index is the link "[]".
func links(path string) []string {
	var out []string
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' }) {
		name, index, _ := strings.Cut(name, "[")
		out = append(out, name)
		if index != "" {
			out = append(out, "[]")
		}
	}
	return out
}

// compared is the path on the other side of a comparison that a text ends with, as in `status == `.
var compared = lazyregexp.New(`([A-Za-z_][A-Za-z0-9_.\[\]]*)\s*(?:==|!=|in\s*\[(?:[^\[\]]*,)?)\s*$`)

// asks is a call of passed or approved that a text ends with.
var asks = lazyregexp.New(`\b(passed|approved)\s*\(\s*$`)
