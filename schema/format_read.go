package schema

// From lines to blocks. A block is a mapping or a list that is written in lines; each of its entries has lines of
// its own, and comments that belong to it. A value of any other kind is lines and nothing more. Where the tree and
// the lines do not fit together in a way that is known here, lines stay together and blocks stay in order.

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// layout is one file on its way to its canonical form.
type layout struct {
	d     *decoder
	lines []string // of the file, counted from 0; a byte order mark is left out
	ended bool     // the last of them has a line break
	table map[string][]Key

	head []string // down to the last line above the content that is neither blank nor a comment
	foot []string // from the first such line below the content
	cut  bool     // the file ends inside a block scalar, without a line break
}

// block is a mapping or a list in block style.
type block struct {
	at      place
	isList  bool
	col     int // blanks before its keys or dashes
	entries []*entryLines
	tail    []string // comments at its end
	fixed   bool     // its entries stay in order
	pinned  bool     // its last entry stays the last
}

// entryLines is a key with its value, or an item of a list. Comments are kept without indentation; "" is a blank
// line.
type entryLines struct {
	key, value  *yaml.Node // a list's item has an empty key
	first, last int        // its lines, without the comments around them
	lead        []string   // above it
	after       []string   // below it, indented deeper than its key
	inner       *block     // nil when the value is only lines
	compact     bool       // the inner block begins behind the dash
	scalar      bool       // the value is a block scalar
	keep        bool       // a block scalar to which the blank lines behind it belong
	unsure      bool       // its end was guessed
}

// read finds the blocks of a file; nil when its root is none.
func (f *layout) read(root *yaml.Node) *block {
	if root.Kind != yaml.MappingNode || root.Style&yaml.FlowStyle != 0 || len(root.Content) == 0 {
		return nil
	}
	first, limit := root.Content[0].Line-1, len(f.lines)
	if first >= limit || indent(f.lines[first]) != root.Content[0].Column-1 {
		return nil
	}
	for i := first - 1; i >= 0; i-- {
		if isNote(f.lines[i]) {
			continue
		}
		if !isMarker(f.lines[i]) && f.lines[i][0] != '%' {
			return nil
		}
		f.head = f.lines[:i+1]
		break
	}
	for i := first; i < limit; i++ {
		if l := f.lines[i]; isMarker(l) || strings.HasPrefix(l, "...") && (len(l) == 3 || blank(l[3])) {
			f.foot, limit = f.lines[i:], i
		}
	}
	b := f.mapping(root, placeOf(root, rootPlace), first, limit)
	if b == nil {
		return nil
	}
	b.entries[0].lead = notes(f.lines[len(f.head):first])
	f.comments(b, limit)
	if last := lastEntry(b); last.scalar && last.last == len(f.lines)-1 && !f.ended {
		if isBlank(f.lines[last.last]) {
			return nil
		}
		f.cut = true
		for x := b; x != nil; x = x.entries[len(x.entries)-1].inner {
			x.pinned = true
		}
	}
	return b
}

// mapping reads a block mapping whose first key stands on the line first; limit is the line that is its own no
// longer. It is nil when the lines are not as expected.
func (f *layout) mapping(n *yaml.Node, at place, first, limit int) *block {
	b := &block{at: at, col: n.Content[0].Column - 1}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		line := k.Line - 1
		if k.Kind != yaml.ScalarNode || k.Column-1 != b.col || line < first || line >= limit || i > 0 && indent(f.lines[line]) != b.col {
			return nil
		}
		b.entries = append(b.entries, &entryLines{key: k, value: n.Content[i+1], first: line})
	}
	return f.fill(b, limit)
}

// list reads a block list whose first dash stands on the line first, in the column col.
func (f *layout) list(n *yaml.Node, at place, first, col, limit int) *block {
	b := &block{at: at, isList: true, col: col}
	line := first
	for i, item := range n.Content {
		if i > 0 {
			// The dash is on the line of the item, or alone on one above it.
			for line = item.Line - 1; line > b.entries[i-1].first && !f.isDash(line, col); line-- {
			}
			if line <= b.entries[i-1].first {
				return nil
			}
		}
		b.entries = append(b.entries, &entryLines{key: &yaml.Node{}, value: item, first: line})
	}
	return f.fill(b, limit)
}

func (f *layout) isDash(line, col int) bool {
	l := f.lines[line]
	return indent(l) == col && len(l) > col && l[col] == '-' && (len(l) == col+1 || blank(l[col+1]))
}

// fill finds the end of each entry of a block and the blocks inside it.
func (f *layout) fill(b *block, limit int) *block {
	for i, e := range b.entries {
		end := limit
		if i+1 < len(b.entries) {
			end = b.entries[i+1].first
		}
		if end <= e.first {
			return nil
		}
		if f.descend(b, e, end); e.inner == nil {
			f.extent(b, e, end)
		}
		e.unsure = e.unsure || slices.ContainsFunc(f.lines[e.last+1:end], func(l string) bool { return !isNote(l) })
		if e.unsure {
			e.inner, e.compact, e.scalar, b.fixed = nil, false, false, true
			for e.last = end - 1; e.last > e.first && isNote(f.lines[e.last]) && (indent(f.lines[e.last]) <= b.col || isBlank(f.lines[e.last])); e.last-- {
			}
		}
	}
	return b
}

// descend looks for a block in an entry.
func (f *layout) descend(b *block, e *entryLines, limit int) {
	n, at := e.value, placeOf(e.value, f.inside(b.at, e.key.Value))
	if n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode || n.Style&yaml.FlowStyle != 0 || len(n.Content) == 0 {
		return
	}
	if b.isList { // does it begin behind the dash?
		line, col := n.Line-1, n.Column-1
		plain := n.Anchor == "" && n.Style&yaml.TaggedStyle == 0 && (n.Kind == yaml.SequenceNode || n.Content[0].Line == n.Line && n.Content[0].Column == n.Column)
		if plain && line == e.first && strings.Trim(f.lines[line][b.col+1:col], " ") == "" {
			e.compact = true
			if n.Kind == yaml.MappingNode {
				e.inner = f.mapping(n, at, line, limit)
			} else {
				e.inner = f.list(n, at, line, col, limit)
			}
		}
	}
	if !e.compact {
		line := e.first + 1
		for line < limit && isNote(f.lines[line]) {
			line++
		}
		switch {
		case line == limit:
		case n.Kind == yaml.MappingNode && n.Content[0].Line-1 == line:
			if indent(f.lines[line]) == n.Content[0].Column-1 {
				e.inner = f.mapping(n, at, line, limit)
			}
		case n.Kind == yaml.SequenceNode:
			if col := indent(f.lines[line]); f.isDash(line, col) {
				e.inner = f.list(n, at, line, col, limit)
			}
		}
		if e.inner != nil {
			e.inner.entries[0].lead = notes(f.lines[e.first+1 : line])
		}
	}
	if e.inner == nil {
		e.unsure, e.last = true, e.first
		return
	}
	e.last = e.inner.entries[len(e.inner.entries)-1].last
}

// extent finds the last line of a value that is no block.
func (f *layout) extent(b *block, e *entryLines, limit int) {
	n := e.value
	e.last = e.first
	switch {
	case e.unsure:
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		f.blockScalar(b, e, limit)
	case n.Kind == yaml.ScalarNode && n.Style&^yaml.TaggedStyle == 0 && n.Value == "":
	default:
		at, ok := f.d.endOfInline(n)
		e.last = f.d.src.Position(max(at-1, 0)).Line - 1
		e.unsure = !ok || e.last < e.first || e.last >= limit
	}
	if e.unsure {
		e.last = e.first
	}
}

// blockScalar finds the lines of a literal or folded scalar by the rules of YAML: those that are indented as far
// as its first one with text.
func (f *layout) blockScalar(b *block, e *entryLines, limit int) {
	start := f.d.properties(e.value).start
	header := f.d.src.Position(start).Line - 1
	if header < e.first || header >= limit || start >= len(f.d.src.Text) {
		e.unsure = true
		return
	}
	e.scalar, e.last = true, header
	depth := 0
	for _, c := range []byte(f.d.src.Text[start+1:]) {
		if c == '+' {
			e.keep = true
		} else if c >= '1' && c <= '9' {
			depth = b.col + int(c-'0')
		} else if c != '-' {
			break
		}
	}
	if depth == 0 {
		depth = b.col + 1
		for i := header + 1; i < limit; i++ {
			depth = max(depth, indent(f.lines[i]))
			if indent(f.lines[i]) < len(f.lines[i]) {
				break
			}
		}
	}
	for i := header + 1; i < limit; i++ {
		l := f.lines[i]
		empty := indent(l) == len(l)
		if !empty && indent(l) < depth {
			break
		}
		if !empty || len(l) > depth || e.keep {
			e.last = i
		}
	}
}

// endOfInline is the offset after a value that is no block and no block scalar; false when it is not certain.
func (d *decoder) endOfInline(n *yaml.Node) (int, bool) {
	at := d.properties(n).start
	switch {
	case n.Kind == yaml.AliasNode:
		return at + 1 + len(n.Value), true
	case n.Kind == yaml.ScalarNode:
		r := &reader{s: d.src.Text, p: at, v: n.Value}
		switch {
		case n.Style&^yaml.TaggedStyle != 0:
			ok := at < len(r.s) && r.quoted(r.s[at])
			return r.p, ok
		case strings.HasPrefix(r.s[at:], n.Value) && !hasBreak(n.Value):
			return at + len(n.Value), true
		}
		ok := r.plain()
		return r.p, ok
	}
	at++
	for _, c := range n.Content {
		end, ok := d.endOfInline(c)
		if !ok {
			return 0, false
		}
		at = max(at, end)
	}
	if d.src.Text[d.properties(n).start] != '{' && n.Kind == yaml.MappingNode {
		return at, true // the one pair of [a: b]
	}
	at = d.bracket(at)
	return at, d.src.Text[at-1] == ']' || d.src.Text[at-1] == '}'
}

// comments gives each comment to what it belongs to, by its indentation: to the entry below it, to the end of a
// block above it, or to the entry above it when it is indented deeper than that one's key.
func (f *layout) comments(b *block, limit int) {
	for i, e := range b.entries {
		if e.inner != nil {
			f.comments(e.inner, -1)
		}
		switch {
		case i+1 < len(b.entries):
			next := b.entries[i+1]
			next.lead = f.gap(b, e, lastEntry(b.upTo(i)).last+1, next.first)
		case limit >= 0:
			b.tail = append(b.tail, f.gap(b, e, lastEntry(b).last+1, limit)...)
		}
	}
}

// upTo is a block with its entries up to and with one of them.
func (b *block) upTo(i int) *block { return &block{entries: b.entries[:i+1]} }

// gap shares out the lines behind an entry of a block, and returns those that belong to the block itself.
func (f *layout) gap(b *block, e *entryLines, from, to int) []string {
	open := []*block{b} // the blocks that end here, from the outside
	for x := e.inner; x != nil; x = x.entries[len(x.entries)-1].inner {
		open = append(open, x)
	}
	deepest := open[len(open)-1]
	last := deepest.entries[len(deepest.entries)-1]
	if len(open) == 1 {
		last = e
	}
	level := len(open) // that of the last comment: they only go outwards
	if last.scalar {
		level--
	}
	var rest, blanks []string
	for _, line := range f.lines[from:to] {
		note := strings.TrimLeft(line, " 	")
		if note == "" {
			blanks = []string{""}
			continue
		}
		if level == len(open) && indent(line) <= deepest.col || level < len(open) {
			at := min(level, len(open)-1)
			for at > 0 && (open[at].col > indent(line) || open[at].col == open[at-1].col) {
				at--
			}
			level = at
		}
		owner := &rest
		switch {
		case level == len(open):
			owner = &last.after
		case level > 0:
			owner = &open[level].tail
		}
		*owner = append(append(*owner, blanks...), note)
		blanks = nil
	}
	return append(rest, blanks...)
}

// indent is the number of blanks at the beginning of a line.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// isNote says that a line is blank or a comment.
func isNote(line string) bool {
	line = strings.TrimLeft(line, " \t")
	return line == "" || line[0] == '#'
}

func isBlank(line string) bool { return strings.Trim(line, " \t") == "" }

// notes are blank lines and comments without their indentation.
func notes(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimLeft(l, " \t")
	}
	return out
}

// lastEntry is the last entry of the innermost block at the end of a block.
func lastEntry(b *block) *entryLines {
	for {
		e := b.entries[len(b.entries)-1]
		if e.inner == nil {
			return e
		}
		b = e.inner
	}
}
