package schema

// Where a syntax error is. The YAML library says what it missed, often on a wrong line or none, never in which
// column. The place is found again from outside: first by counting how far the library read before it gave up,
// then by cutting the text shorter for as long as the same complaint comes. What the line looks like then says
// more than the complaint, since most syntax errors are a handful of habits that YAML reads differently.

import (
	"errors"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"foundry/diag"
	"foundry/internal/lazyregexp"
)

const repairBudget = 1 << 19 // bytes that may be parsed again to find a place

// syntaxError reports why the text is not YAML.
func (d *decoder) syntaxError(text string, err error) {
	c := complaint(err)
	if strings.HasPrefix(c, "exceeded max depth") {
		d.list.Report(diag.TooLarge, d.place(min(readUntil(text), max(len(text)-1, 0))), "nested deeper than %d levels", maxLevels)
		return
	}
	line, column := d.locate(text, c)
	found := d.explain(line, column, c)
	found.Notef(found.Span, "the rest of the file is not checked until this is repaired")
}

var lineNumber = lazyregexp.New(`^yaml: (line \d+: )?`)

// complaint is the library's message without its idea of the line.
func complaint(err error) string { return lineNumber().ReplaceAllString(err.Error(), "") }

// fails says how the first document of a text is refused, or "".
func fails(text string) string {
	var n yaml.Node
	if err := yaml.NewDecoder(strings.NewReader(text)).Decode(&n); err != nil && !errors.Is(err, io.EOF) {
		return complaint(err)
	}
	return ""
}

// slowly hands out a text byte by byte and so shows how much of it was wanted.
type slowly struct {
	text string
	at   int
}

func (r *slowly) Read(p []byte) (int, error) {
	if r.at >= len(r.text) {
		return 0, io.EOF
	}
	p[0] = r.text[r.at]
	r.at++
	return 1, nil
}

// readUntil is the offset up to which the library reads before it refuses a text.
func readUntil(text string) int {
	r := &slowly{text: text}
	var n yaml.Node
	_ = yaml.NewDecoder(r).Decode(&n) // the error is known; only the distance matters
	return r.at
}

// locate returns the line, counted from 1, and the byte offset at which the complaint arises.
func (d *decoder) locate(text, c string) (line, at int) {
	until := readUntil(text)
	line = d.src.Position(max(until-1, 0)).Line
	budget := repairBudget
	same := func(end int) bool {
		budget -= end
		return fails(text[:end]) == c
	}
	end := func(line int) int { return d.src.Offset(diag.Position{Line: line + 1, Column: 1}) }
	if !same(end(line)) {
		return line, until
	}
	for line > 1 && budget > 0 && same(end(line-1)) {
		line--
	}
	low, high := end(line-1), end(line) // the complaint is there at high and, if searched further, not at low
	for high-low > 1 && budget > 0 {
		mid := (low + high) / 2
		if same(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return line, max(high-1, 0)
}

// explain reports a syntax error from what its line, or the one above, looks like.
func (d *decoder) explain(line, at int, c string) *diag.Diagnostic {
	for k := line; k >= max(1, line-1); k-- {
		if k < line && strings.TrimSpace(d.src.Line(line)) != "" && !strings.Contains(c, "expected") && !strings.Contains(c, "mapping values") {
			break
		}
		h, ok := d.habit(k)
		if !ok && k < line {
			h, ok = d.openQuote(k)
		}
		if ok {
			return d.list.Report(h.rule, diag.Span{Source: d.src, Start: h.from, End: h.to}, "%s", h.message).Hintf("%s", h.hint)
		}
	}
	if h, ok := d.colonless(line); ok && strings.Contains(c, "mapping values") {
		return d.list.Report(h.rule, diag.Span{Source: d.src, Start: h.from, End: h.to}, "%s", h.message).Hintf("%s", h.hint)
	}
	if name, ok := unknownAnchor(c); ok {
		return d.unknownAlias(name, at)
	}
	message, hint := plainWords(c)
	span := d.place(at)
	if strings.Contains(c, "expected ','") {
		_, start := d.line(line)
		if i := openBracket(d.src.Text[start:min(at+1, len(d.src.Text))]); i >= 0 {
			span = d.place(start + i)
		}
	}
	if text := span.Text(); text == "\n" || text == "\r" || text == "" {
		if whole, start := d.line(line); strings.TrimSpace(whole) != "" {
			span = diag.Span{Source: d.src, Start: start + len(whole) - len(strings.TrimLeft(whole, " \t-")), End: start + len(strings.TrimRight(whole, " \t"))}
			span.Start = min(span.Start, span.End)
		}
	}
	found := d.list.Report(diag.YAMLSyntax, span, "%s", message)
	if hint != "" {
		found.Hintf("%s", hint)
	}
	return found
}

// openBracket is where the innermost bracket that is still open at the end of s stands, or -1.
func openBracket(s string) int {
	var open []int
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[', '{':
			open = append(open, i)
		case ']', '}':
			open = open[:max(0, len(open)-1)]
		case '"', '\'':
			if n := closing(s[i:]); n > 0 {
				i += n
			}
		}
	}
	if len(open) == 0 {
		return -1
	}
	return open[len(open)-1]
}

var anchorName = lazyregexp.New(`^unknown anchor '(.*)' referenced$`)

func unknownAnchor(c string) (string, bool) {
	m := anchorName().FindStringSubmatch(c)
	if m == nil {
		return "", false
	}
	return m[1], true
}

func (d *decoder) unknownAlias(name string, at int) *diag.Diagnostic {
	span := d.place(at)
	if i := strings.LastIndex(d.src.Text[:min(at+2+len(name), len(d.src.Text))], "*"+name); i >= 0 {
		span = diag.Span{Source: d.src, Start: i, End: i + 1 + len(name)}
	}
	return d.list.Report(diag.YAMLStar, span, "%q is an alias to YAML, and no anchor &%s stands before it", "*"+name, name).
		Hintf("define the anchor first, or quote the text: '*%s'", name)
}

// plainWords says a complaint of the library in words that need no knowledge of its insides.
func plainWords(c string) (message, hint string) {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(c, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("did not find expected ',' or ']'"):
		return "a list in [ ] is not closed, or a comma is missing in it", "close it with ], and quote texts that hold brackets, braces or colons"
	case has("did not find expected ',' or '}'"):
		return "a mapping in { } is not closed, or a comma is missing in it", "close it with }, and quote texts that hold brackets, braces or colons"
	case has("did not find expected node content"):
		return "a value or a closing bracket is missing", "close every [ and {"
	case has("did not find expected '-' indicator"):
		return "this line belongs neither to the list above nor to what is around it", "indent the keys of a mapping alike, and every - of a list alike"
	case has("did not find expected key"):
		return "this line does not fit the mapping it stands in", "indent the keys of a mapping alike, and quote a value that goes on after its closing quote or bracket"
	case has("could not find expected ':'"):
		return "a key is not followed by a colon", "write `key: value`, and indent what goes on from the line above"
	case has("mapping values are not allowed"):
		return "a colon where no key can stand", "quote a text with a colon in it, and indent the keys of a mapping alike"
	case has("block sequence entries are not allowed"):
		return "a list cannot begin here", "put the first - on a line of its own"
	case has("found unexpected end of stream"):
		return "a quote that was opened is never closed", "close the quote"
	case has("unexpected document indicator"):
		return "the document ends inside a quoted text", "close the quote before --- or ..."
	case has("unknown escape character", "did not find expected hexdecimal number", "invalid Unicode character escape code"):
		return "an escape that does not exist in double quotes", "use single quotes, in which a backslash is a backslash"
	case has("found character that cannot start any token"):
		return "a plain value cannot begin with this character", "quote the value"
	case has("found a tab character"):
		return "a tab where YAML takes only spaces", "indent with spaces"
	case has("incompatible YAML document", "directive"):
		return "a directive that is not known here", "remove the line that begins with %"
	case has("alphabetic or numeric character"):
		return "a plain value cannot begin with * or &", "quote the value"
	case has("expected comment or line break", "expected indentation", "indentation indicator"):
		return "something stands behind | or >", "begin the text on the next line"
	case has("leading tabs", "did not find expected whitespace or line break", "tag"):
		return "a plain value cannot begin with !", "quote the value"
	}
	return "this is not YAML: " + c, ""
}
