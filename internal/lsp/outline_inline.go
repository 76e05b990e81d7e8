package lsp

// Scalars and the flow style of the outline. Quotes and brackets that are not closed end where the indentation
// says that the value must have ended, so that an open bracket does not swallow the rest of the file.

import "strings"

// inline reads a value that begins here, inside something at the column parent, and moves behind its line.
func (o *outliner) inline(parent int) *node {
	at := o.pos
	var n *node
	switch o.text[at] {
	case '|', '>':
		return o.blockScalar(parent)
	case '"', '\'':
		n = o.quoted(parent)
	case '[', '{':
		n = o.flow(parent)
	case '*':
		n = &node{shape: alias, start: at, end: o.plainEnd(at)}
		o.pos = n.end
	default:
		return o.plain(parent)
	}
	if o.text[o.pos-1] != '\n' { // an open bracket ends at the beginning of a line
		o.skipLine()
	}
	return n
}

// plain reads a plain scalar with the lines that go on with it.
func (o *outliner) plain(parent int) *node {
	n := &node{shape: scalar, style: plain, start: o.pos, end: o.plainEnd(o.pos)}
	for {
		o.skipLine()
		next := &outliner{text: o.text, pos: o.pos}
		next.blanks()
		if next.atLineEnd() || next.column(next.pos) <= parent || next.dash(next.pos) {
			return n
		}
		if _, colon := next.keyEnd(next.pos); colon >= 0 {
			return n
		}
		n.end = o.plainEnd(next.pos)
	}
}

// plainEnd is the end of a plain scalar on its line: before a comment, and without blanks.
func (o *outliner) plainEnd(at int) int {
	end := o.lineEnd(at)
	for i := at + 1; i < end; i++ {
		if o.text[i] == '#' && isBlank(o.text[i-1]) {
			end = i
		}
	}
	return at + len(strings.TrimRight(o.text[at:end], " \t"))
}

// blockScalar reads a literal or folded text.
func (o *outliner) blockScalar(parent int) *node {
	n := &node{shape: scalar, style: literal, start: o.pos}
	if o.text[o.pos] == '>' {
		n.style = folded
	}
	o.skipLine()
	n.end = o.pos
	for o.pos < len(o.text) {
		line := &outliner{text: o.text, pos: o.pos}
		line.blanks()
		blank := line.pos == len(o.text) || o.text[line.pos] == '\n' || o.text[line.pos] == '\r'
		if !blank && line.column(line.pos) <= parent {
			break
		}
		o.skipLine()
		n.end = o.pos
	}
	return n
}

// quoted reads a text in quotes, which may go on over lines that are deeper than parent.
func (o *outliner) quoted(parent int) *node {
	n := &node{shape: scalar, style: double, start: o.pos}
	if o.text[o.pos] == '\'' {
		n.style = single
	}
	stop := o.limit(parent)
	if n.end = o.closing(o.pos, stop); n.end < 0 {
		n.end = o.lineEnd(o.pos)
	}
	o.pos = n.end
	return n
}

// limit is where a value that goes on over lines must have ended: before the first line that is not deeper than
// parent and does not begin with a closing bracket.
func (o *outliner) limit(parent int) int {
	line := &outliner{text: o.text, pos: o.nextLine(o.pos)}
	for line.pos < len(o.text) {
		start := line.pos
		line.blanks()
		if line.pos == len(o.text) {
			break
		}
		switch o.text[line.pos] {
		case '\n', '\r', ']', '}':
		default:
			if line.column(line.pos) <= parent {
				return start
			}
		}
		line.skipLine()
	}
	return len(o.text)
}

// flow reads what stands in brackets.
func (o *outliner) flow(parent int) *node {
	f := &flowReader{outliner: o, stop: o.limit(parent)}
	return f.collection()
}

// flowReader reads brackets up to a limit.
type flowReader struct {
	*outliner
	stop int
}

// space moves over blanks, line breaks and comments, and says whether something follows.
func (f *flowReader) space() bool {
	for f.pos < f.stop {
		switch c := f.text[f.pos]; {
		case isBlank(c):
			f.pos++
		case c == '#' && isBlank(f.text[f.pos-1]):
			f.skipLine()
		default:
			return true
		}
	}
	return false
}

// collection reads a mapping or sequence from its bracket to the one that closes it.
func (f *flowReader) collection() *node {
	f.depth++
	defer func() { f.depth-- }()
	n := &node{shape: sequence, flow: true, start: f.pos}
	if f.text[f.pos] == '{' {
		n.shape = mapping
	}
	f.pos++
	for f.space() {
		switch f.text[f.pos] {
		case ']', '}':
			f.pos++
			n.end = f.pos
			return n
		case ',':
			f.pos++
			continue
		}
		f.element(n)
	}
	f.pos = min(f.pos, f.stop)
	n.end = f.pos
	return n
}

// element reads an entry of a mapping or an item of a sequence.
func (f *flowReader) element(n *node) {
	first := f.one()
	if !f.space() || f.text[f.pos] != ':' {
		if n.shape == mapping && first.shape == scalar {
			n.pairs = append(n.pairs, pair{key: first})
		} else if n.shape == sequence {
			n.items = append(n.items, first)
		}
		return
	}
	f.pos++
	entry := pair{key: first, colon: true}
	if f.space() && !strings.ContainsRune(",]}", rune(f.text[f.pos])) {
		entry.value = f.one()
	}
	if n.shape == mapping {
		n.pairs = append(n.pairs, entry)
	} else { // [key: value] is a mapping with one entry
		n.items = append(n.items, &node{shape: mapping, flow: true, start: first.start, end: f.pos, pairs: []pair{entry}})
	}
}

// one reads one value; unless the limit is reached it moves on.
func (f *flowReader) one() *node {
	f.properties()
	at := f.pos
	if at >= f.stop {
		return &node{shape: scalar, style: plain, start: f.stop, end: f.stop}
	}
	switch c := f.text[at]; {
	case (c == '[' || c == '{') && f.depth <= maxNesting:
		return f.collection()
	case c == '"' || c == '\'':
		n := &node{shape: scalar, style: double, start: at}
		if c == '\'' {
			n.style = single
		}
		if n.end = f.closing(at, f.stop); n.end < 0 {
			n.end = min(f.lineEnd(at), f.stop)
		}
		f.pos = n.end
		return n
	}
	end := at + 1
	for end < f.stop && !f.endsPlain(end) {
		end++
	}
	n := &node{shape: scalar, style: plain, start: at, end: at + len(strings.TrimRight(f.text[at:end], " \t"))}
	if f.text[at] == '*' {
		n.shape = alias
	}
	f.pos = end
	return n
}

// endsPlain says that a plain scalar in brackets ends before an offset.
func (f *flowReader) endsPlain(at int) bool {
	switch c := f.text[at]; c {
	case ',', '[', ']', '{', '}', '\n', '\r':
		return true
	case ':':
		return at+1 >= f.stop || strings.ContainsRune(" \t\r\n,[]{}", rune(f.text[at+1]))
	case '#':
		return isBlank(f.text[at-1])
	}
	return false
}
