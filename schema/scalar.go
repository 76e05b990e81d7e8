package schema

// The way from a scalar's value back to its bytes in the file. The YAML library gives a node's first place
// only; here the value is read again beside the source, through quotes, escapes, folds and indentation, and
// each byte of it is given its offset. Every step is compared with the value: where the two do not agree the
// answer falls back to the place of the whole scalar, never to a wrong one.

import (
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"foundry/diag"
)

// written is where a node stands: its properties (anchor, tag) and then its content.
type written struct {
	tag   diag.Span // the tag as written, zero when there is none
	start int       // the first byte of the content
	end   int       // the byte after it
}

// properties finds where a node's content begins, past its anchor and its tag.
func (d *decoder) properties(n *yaml.Node) written {
	s, at := d.src.Text, d.index.offset(n.Line, n.Column)
	w := written{start: at, end: at}
	if at >= len(s) || s[at] != '&' && s[at] != '!' {
		return w
	}
	for at < len(s) {
		switch c := s[at]; {
		case c == '&' || c == '!':
			from := at
			if c == '!' && strings.HasPrefix(s[at:], n.Tag) {
				at += len(n.Tag)
			}
			for at < len(s) && !blank(s[at]) && breakLen(s, at) == 0 && !strings.ContainsRune(",[]{}", rune(s[at])) {
				at++
			}
			if c == '!' {
				w.tag = diag.Span{Source: d.src, Start: from, End: at}
			}
			if n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&^yaml.TaggedStyle == 0 {
				w.start, w.end = from, at // an empty value: nothing follows the properties
				if at >= len(s) || breakLen(s, at) > 0 {
					return w
				}
			}
		case blank(c):
			at++
		case breakLen(s, at) > 0:
			at += breakLen(s, at)
		case c == '#':
			for at < len(s) && breakLen(s, at) == 0 {
				at++
			}
		default:
			if !(n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&^yaml.TaggedStyle == 0) {
				w.start, w.end = at, at
			}
			return w
		}
	}
	return w
}

func hasBreak(s string) bool {
	for i := range len(s) {
		if breakLen(s, i) > 0 {
			return true
		}
	}
	return false
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// scalar reads a scalar node back from the source.
func (d *decoder) scalar(n *yaml.Node) (diag.Fragment, written) {
	w := d.properties(n)
	s, v := d.src.Text, n.Value
	style := n.Style &^ yaml.TaggedStyle
	if style == 0 && v == "" {
		return diag.NewFragment("", diag.Span{Source: d.src, Start: w.start, End: w.end}, nil), w
	}
	from := w.start
	switch style {
	case 0:
		if strings.HasPrefix(s[from:], v) && !hasBreak(v) {
			w.end = from + len(v)
			return diag.NewVerbatim(v, diag.Span{Source: d.src, Start: from, End: w.end}, from), w
		}
	case yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle:
		if end := from + 1 + len(v); end < len(s) && s[end] == s[from] && s[from+1:end] == v && !hasBreak(v) && !strings.ContainsAny(v, `'"\`) {
			w.end = end + 1
			return diag.NewVerbatim(v, diag.Span{Source: d.src, Start: from, End: w.end}, from+1), w
		}
	}
	r := &reader{s: s, p: from, v: v, at: make([]int, 0, len(v)+1)}
	ok := from < len(s)
	if ok {
		switch style {
		case yaml.LiteralStyle, yaml.FoldedStyle:
			ok = s[from] == '|' || s[from] == '>'
			ok = ok && r.block(style == yaml.FoldedStyle)
		case yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle:
			ok = (s[from] == '\'' || s[from] == '"') && r.quoted(s[from])
		default:
			ok = r.plain()
		}
	}
	if !ok || len(r.at) != len(v) || r.p < from || r.p > len(s) {
		w.end = guessEnd(s, from, style)
		return diag.NewFragment(v, diag.Span{Source: d.src, Start: from, End: w.end}, nil), w
	}
	w.end = r.p
	return diag.NewFragment(v, diag.Span{Source: d.src, Start: from, End: w.end}, append(r.at, r.after)), w
}

// guessEnd is where a scalar that could not be read back ends at the latest on its first line.
func guessEnd(s string, from int, style yaml.Style) int {
	at := from
	if quote := style == yaml.SingleQuotedStyle || style == yaml.DoubleQuotedStyle; quote && at < len(s) {
		at++
		for at < len(s) && s[at] != s[from] {
			if s[at] == '\\' && s[from] == '"' {
				at++
			}
			at++
		}
		return min(at+1, len(s))
	}
	for at < len(s) && breakLen(s, at) == 0 {
		at++
	}
	return from + len(strings.TrimRight(s[from:at], " \t"))
}

// reader walks the source and the value side by side. at collects the offset of each byte of the value.
type reader struct {
	s, v  string
	p     int // in the source
	at    []int
	after int // the place after the last byte of the value
}

func (r *reader) full() bool { return len(r.at) >= len(r.v) }

// put says that the next n bytes of the value were all written at offset from and end before to.
func (r *reader) put(n, from, to int) {
	for ; n > 0; n-- {
		r.at = append(r.at, from)
	}
	r.after = to
}

// same takes one byte that stands for itself.
func (r *reader) same() bool {
	if r.p >= len(r.s) || r.full() || r.v[len(r.at)] != r.s[r.p] {
		return false
	}
	r.put(1, r.p, r.p+1)
	r.p++
	return true
}

// newline takes a line break that the value keeps.
func (r *reader) newline(at int) bool {
	n := breakLen(r.s, at)
	if n == 0 || r.full() || r.v[len(r.at)] != '\n' {
		return false
	}
	r.put(1, at, at+n)
	return true
}

// lineEnds says whether only blanks stand between p and the end of its line, and where the break is.
func (r *reader) lineEnds() (int, bool) {
	q := r.p
	for q < len(r.s) && blank(r.s[q]) {
		q++
	}
	return q, q >= len(r.s) || breakLen(r.s, q) > 0
}

// fold takes the end of a line inside a plain or quoted scalar, which means a blank, or as many line breaks as
// there are blank lines.
func (r *reader) fold(at int) bool {
	from := r.p
	if at >= len(r.s) {
		return false
	}
	var breaks []int // the end of this line, then of each blank line
	for {
		q := at
		for q < len(r.s) && blank(r.s[q]) {
			q++
		}
		n := breakLen(r.s, q)
		if n == 0 {
			at = q
			break
		}
		breaks = append(breaks, q)
		at = q + n
	}
	if len(breaks) < 2 {
		if r.full() || r.v[len(r.at)] != ' ' {
			return false
		}
		r.put(1, from, at)
	} else {
		breaks[0] = from // what stands before it ends here, blanks behind it or not
		for _, q := range breaks[:len(breaks)-1] {
			if r.full() || r.v[len(r.at)] != '\n' {
				return false
			}
			r.put(1, q, at)
		}
	}
	r.p = at
	return true
}

func (r *reader) plain() bool {
	for !r.full() {
		if q, ends := r.lineEnds(); ends {
			if !r.fold(q) {
				return false
			}
			continue
		}
		if !r.same() {
			return false
		}
	}
	return true
}

func (r *reader) quoted(quote byte) bool {
	r.p++
	r.after = r.p
	for r.p < len(r.s) {
		if c := r.s[r.p]; blank(c) || breakLen(r.s, r.p) > 0 {
			if q, ends := r.lineEnds(); ends {
				if !r.fold(q) {
					return false
				}
				continue
			}
		}
		switch c := r.s[r.p]; {
		case c == '\'' && quote == '\'':
			if r.p+1 >= len(r.s) || r.s[r.p+1] != '\'' {
				r.p++
				return r.full()
			}
			if r.full() || r.v[len(r.at)] != '\'' {
				return false
			}
			r.put(1, r.p, r.p+2)
			r.p += 2
		case c == '"' && quote == '"':
			r.p++
			return r.full()
		case c == '\\' && quote == '"':
			if !r.escape() {
				return false
			}
		default:
			if !r.same() {
				return false
			}
		}
	}
	return false
}

// escape takes a backslash and what belongs to it: one rune of the value, or an escaped line break.
func (r *reader) escape() bool {
	if n := breakLen(r.s, r.p+1); n > 0 {
		r.p += 1 + n
		for {
			q := r.p
			for q < len(r.s) && blank(r.s[q]) {
				q++
			}
			n := breakLen(r.s, q)
			if n == 0 {
				r.p = q
				return true
			}
			if !r.newline(q) {
				return false
			}
			r.p = q + n
		}
	}
	if r.p+1 >= len(r.s) || r.full() {
		return false
	}
	width := 2
	switch r.s[r.p+1] {
	case 'x':
		width = 4
	case 'u':
		width = 6
	case 'U':
		width = 10
	}
	_, size := utf8.DecodeRuneInString(r.v[len(r.at):])
	r.put(size, r.p, r.p+width)
	r.p += width
	return true
}

// block reads a literal or a folded block. The indentation is what the first line with text has more in the
// source than in the value.
func (r *reader) block(folded bool) bool {
	for r.p < len(r.s) && breakLen(r.s, r.p) == 0 {
		r.p++
	}
	end := r.p
	r.p += breakLen(r.s, r.p)
	r.after = r.p
	indent, ok := r.indentation()
	if !ok {
		return false
	}
	for !r.full() && r.p < len(r.s) {
		begin := r.p
		for r.p < len(r.s) && r.p-begin < indent && r.s[r.p] == ' ' {
			r.p++
		}
		if folded && breakLen(r.s, r.p) > 0 {
			// A blank line: its break was counted at the end of the line before, unless it leads.
			if strings.Trim(r.v[:len(r.at)], "\n") == "" && !r.newline(r.p) {
				return false
			}
			r.p += breakLen(r.s, r.p)
			continue
		}
		for breakLen(r.s, r.p) == 0 && r.p < len(r.s) {
			if !r.same() {
				return false
			}
		}
		end = r.p
		if r.full() {
			break
		}
		if !r.blockEnd(folded) {
			return false
		}
	}
	if r.full() {
		r.p = end
	}
	return r.full()
}

// blockEnd takes the end of a line of a block.
func (r *reader) blockEnd(folded bool) bool {
	n := breakLen(r.s, r.p)
	if n == 0 {
		// The file ends without a line break; the library adds one.
		if r.v[len(r.at)] == '\n' {
			r.put(1, r.p, r.p)
			return true
		}
		return false
	}
	switch {
	case !folded:
		if !r.newline(r.p) {
			return false
		}
	case r.v[len(r.at)] == ' ':
		r.put(1, r.p, r.p+n)
	default:
		for !r.full() && r.v[len(r.at)] == '\n' {
			r.put(1, r.p, r.p+n)
		}
	}
	r.p += n
	return true
}

// indentation compares the first line with text in the value and in the source.
func (r *reader) indentation() (int, bool) {
	want := -1
	for rest := r.v; rest != ""; {
		line := rest
		if i := strings.IndexByte(rest, '\n'); i >= 0 {
			line, rest = rest[:i], rest[i+1:]
		} else {
			rest = ""
		}
		if t := strings.TrimLeft(line, " "); t != "" {
			want = len(line) - len(t)
			break
		}
	}
	if want < 0 {
		return 1 << 30, strings.Trim(r.v, "\n") == ""
	}
	for p := r.p; p < len(r.s); {
		begin := p
		for p < len(r.s) && r.s[p] == ' ' {
			p++
		}
		if n := breakLen(r.s, p); n > 0 {
			p += n
			continue
		}
		indent := p - begin - want
		return indent, indent >= 0
	}
	return 0, false
}

// end is the offset after the last byte of a node's content.
func (d *decoder) end(n *yaml.Node) int {
	switch n.Kind {
	case yaml.ScalarNode:
		_, w := d.scalar(n)
		return w.end
	case yaml.AliasNode:
		return min(d.index.offset(n.Line, n.Column)+1+len(n.Value), len(d.src.Text))
	case yaml.MappingNode, yaml.SequenceNode:
		at := d.properties(n).start
		if n.Style&yaml.FlowStyle != 0 {
			at++
		}
		if k := len(n.Content); k > 0 {
			at = max(at, d.end(n.Content[k-1]))
			if n.Kind == yaml.MappingNode {
				at = max(at, d.end(n.Content[k-2]))
			}
		}
		if n.Style&yaml.FlowStyle != 0 {
			at = d.bracket(at)
		}
		return min(at, len(d.src.Text))
	}
	return d.index.offset(n.Line, n.Column)
}

// bracket is the place after the bracket that closes a flow collection whose last entry ended at at.
func (d *decoder) bracket(at int) int {
	s := d.src.Text
	for at < len(s) {
		switch c := s[at]; {
		case c == ']' || c == '}':
			return at + 1
		case c == '#':
			for at < len(s) && breakLen(s, at) == 0 {
				at++
			}
		case blank(c) || c == ',' || c == ':' || c == '?' || breakLen(s, at) > 0:
			at += max(1, breakLen(s, at))
		default:
			return at
		}
	}
	return at
}

// spanOf is the place of a node without its properties.
func (d *decoder) spanOf(n *yaml.Node) diag.Span {
	if n.Kind == yaml.ScalarNode {
		f, _ := d.scalar(n)
		return f.Whole()
	}
	start := d.properties(n).start
	return diag.Span{Source: d.src, Start: start, End: max(start, d.end(n))}
}
