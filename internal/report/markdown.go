package report

import (
	"strings"
	"unicode"
)

// This file writes a report as Markdown. Foreign text cannot become a heading, a link, an image, a table cell or HTML: every
// character that Markdown or HTML reads is escaped, and a line break becomes a blank.

// Markdown is the report of the run.
func (t *Trace) Markdown(f ReportFacts) string {
	d := t.document(f)
	var b strings.Builder
	b.WriteString("# " + markText(d.title) + ": " + markText(d.status) + "\n")
	for _, p := range d.parts {
		b.WriteString("\n## " + markText(p.name) + "\n\n")
		if len(p.facts) > 0 {
			markRow(&b, []string{"", ""})
			b.WriteString("|---|---|\n")
			for _, fact := range p.facts {
				markRow(&b, fact[:])
			}
		}
		if len(p.table) > 0 {
			if len(p.facts) > 0 {
				b.WriteByte('\n')
			}
			markRow(&b, p.table[0])
			b.WriteString(strings.Repeat("|---", len(p.table[0])) + "|\n")
			for _, row := range p.table[1:] {
				markRow(&b, row)
			}
		}
		for i, item := range p.items {
			if i == 0 && len(p.table) > 0 {
				b.WriteByte('\n')
			}
			b.WriteString("- " + markText(item) + "\n")
		}
		if p.lines != "" {
			for line := range strings.SplitSeq(strings.TrimRight(clean(p.lines), "\n"), "\n") {
				b.WriteString(strings.TrimRight("    "+line, " ") + "\n") // an indented block has no end that a text could forge
			}
		}
	}
	return b.String()
}

func markRow(b *strings.Builder, cells []string) {
	for _, cell := range cells {
		b.WriteString("| ")
		if text := markText(cell); text != "" {
			b.WriteString(text + " ")
		}
	}
	b.WriteString("|\n")
}

// apart is nothing to see. It keeps a sign from what stands behind it, so that nobody is mentioned and nothing referred to.
const apart = "<!-- -->"

// markText is a text as Markdown shows it: a backslash before each sign that could mean something, and entities for what HTML
// and the makers of links read.
func markText(text string) string {
	text = strings.TrimSpace(flat(text))
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '@' && !visitAt(text, i):
			b.WriteString("@" + apart)
		case r == '#':
			b.WriteString(`\#` + apart)
		case r == '_' && between(text, i):
			b.WriteByte('_') // inside a word it means nothing
		case strings.ContainsRune("\\`*_[]|~$", r):
			b.WriteString(`\` + string(r))
		case (r == '-' || r == '+') && i == 0 && strings.ContainsAny((text[1:] + " ")[:1], " -"), (r == '.' || r == ')') && i > 0 && digits(text[:i]) && strings.HasPrefix(text[i+1:]+" ", " "):
			b.WriteString(`\` + string(r)) // a list in a list, or a rule
		case r == ':' && strings.HasPrefix(text[i:], "://"):
			b.WriteString("&#58;") // no link by itself
		case (r == 'w' || r == 'W') && strings.EqualFold(text[i:min(i+4, len(text))], "www."):
			b.WriteString("&#119;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// visitAt says whether the @ at a byte is that of build@2, which nobody takes for a name or an address.
func visitAt(text string, i int) bool {
	rest := strings.TrimLeft(text[i+1:], "0123456789")
	return i > 0 && between(text, i) && len(rest) < len(text)-i-1 && (rest == "" || rest[0] == ' ' || rest[0] == ':' || rest[0] == ',')
}

// digits says whether a text is a number.
func digits(text string) bool { return strings.TrimLeft(text, "0123456789") == "" }

// between says whether letters or digits of ASCII stand on both sides of a byte.
func between(text string, i int) bool {
	word := func(c byte) bool {
		return c < unicode.MaxASCII && (unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)))
	}
	return i > 0 && i+1 < len(text) && word(text[i-1]) && word(text[i+1])
}
