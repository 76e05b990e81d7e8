package schema

// Where nodes stand. The YAML library gives a node's first place only, which may be that of an anchor or a tag;
// here are its real beginning and its end, and for a scalar the map from its value back to the file.

import (
	"strings"

	"gopkg.in/yaml.v3"

	"foundry/diag"
)

// written is where a node stands: its properties (anchor, tag) and then its content.
type written struct {
	tag   diag.Span // the tag as written, zero when there is none
	start int       // the first byte of the content
	end   int       // the byte after it

	// Of a scalar: one more than where its value stands byte for byte, or else the offsets of its bytes and of
	// its end. Without both only the whole is known.
	verbatim int
	at       []int
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
	w := d.reread(n)
	whole := diag.Span{Source: d.src, Start: w.start, End: w.end}
	if w.verbatim > 0 {
		return diag.NewVerbatim(n.Value, whole, w.verbatim-1), w
	}
	return diag.NewFragment(n.Value, whole, w.at), w
}

// reread finds where a scalar node stands, and each byte of its value. The last of several lines is kept: such a
// text is asked for twice when it is the last of a phase, for the value and for where the phase ends.
func (d *decoder) reread(n *yaml.Node) written {
	if d.last.node == n {
		return d.last.written
	}
	w := d.readBack(n)
	if w.at != nil {
		d.last.node, d.last.written = n, w
	}
	return w
}

func (d *decoder) readBack(n *yaml.Node) written {
	w := d.properties(n)
	s, v := d.src.Text, n.Value
	style := n.Style &^ yaml.TaggedStyle
	if style == 0 && v == "" {
		return w
	}
	from := w.start
	switch style {
	case 0:
		if strings.HasPrefix(s[from:], v) && !hasBreak(v) {
			w.end, w.verbatim = from+len(v), from+1
			return w
		}
	case yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle:
		if end := from + 1 + len(v); end < len(s) && s[end] == s[from] && s[from+1:end] == v && !hasBreak(v) && !strings.ContainsAny(v, `'"\`) {
			w.end, w.verbatim = end+1, from+2
			return w
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
		return w
	}
	w.end, w.at = r.p, append(r.at, r.after)
	return w
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

// end is the offset after the last byte of a node's content.
func (d *decoder) end(n *yaml.Node) int {
	switch n.Kind {
	case yaml.ScalarNode:
		return d.reread(n).end
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
		w := d.reread(n)
		return diag.Span{Source: d.src, Start: w.start, End: w.end}
	}
	start := d.properties(n).start
	return diag.Span{Source: d.src, Start: start, End: max(start, d.end(n))}
}
