package lsp

// The outline: what a text would say if it were YAML, made out line by line and bracket by bracket. An editor asks
// most while a file does not parse, so this reader never fails: what it cannot place it leaves out, and goes on
// with the next line. It knows nothing of the language, and decides nothing but where a cursor stands; findings
// and names come from the decoder.

import "strings"

// shape is what a node is.
type shape uint8

const (
	scalar shape = iota + 1
	mapping
	sequence
	alias // *name, which stands for what is written elsewhere
)

// style is how a scalar is written.
type style uint8

const (
	plain style = iota + 1
	single
	double
	literal // |
	folded  // >
)

// node is one value. Offsets are bytes of the text; those of a scalar include its quotes, or its header line.
type node struct {
	shape      shape
	style      style // of a scalar
	flow       bool  // of a mapping or sequence: written with brackets
	start, end int
	pairs      []pair
	items      []*node
}

// pair is an entry of a mapping.
type pair struct {
	key   *node
	colon bool  // false for a word that may become a key
	value *node // nil when nothing is there
}

// maxNesting bounds how deep brackets and dashes are followed. The language needs a fraction of it.
const maxNesting = 80

// outliner is one reading of a text.
type outliner struct {
	text  string
	pos   int
	depth int
}

// outline reads a text. The result is a mapping, empty when there is nothing in it; it never fails.
func outline(text string) *node {
	o := &outliner{text: text}
	if strings.HasPrefix(text, "\ufeff") {
		o.pos = len("\ufeff")
	}
	root := &node{shape: mapping}
	for o.content() {
		at := o.pos
		switch n := o.block(-1); {
		case n == nil || o.pos == at:
			o.skipLine()
		case n.shape == mapping:
			root.pairs = append(root.pairs, n.pairs...)
		case n.shape == scalar && n.style == plain:
			root.pairs = append(root.pairs, pair{key: n})
		}
	}
	root.end = len(text)
	return root
}

// content moves to the next character that is neither blank nor comment, and says whether there is one. Markers
// of documents are passed over.
func (o *outliner) content() bool {
	for o.pos < len(o.text) {
		start := o.pos == 0 || o.text[o.pos-1] == '\n'
		switch c := o.text[o.pos]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			o.pos++
		case c == '#' && (start || isBlank(o.text[o.pos-1])):
			o.skipLine()
		case start && c == '%', start && isMarker(o.text[o.pos:]):
			o.skipLine()
		default:
			return true
		}
	}
	return false
}

func isMarker(s string) bool {
	rest, ok := strings.CutPrefix(s, "---")
	if !ok {
		rest, ok = strings.CutPrefix(s, "...")
	}
	return ok && (rest == "" || isBlank(rest[0]))
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// skipLine moves behind the next line break.
func (o *outliner) skipLine() { o.pos = o.nextLine(o.pos) }

func (o *outliner) nextLine(at int) int {
	if i := strings.IndexByte(o.text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(o.text)
}

// lineEnd is the end of the line that holds an offset, without its break.
func (o *outliner) lineEnd(at int) int {
	end := o.nextLine(at)
	if end > at && o.text[end-1] == '\n' {
		end--
	}
	if end > at && o.text[end-1] == '\r' {
		end--
	}
	return end
}

// column is the number of bytes between the beginning of the line and an offset.
func (o *outliner) column(at int) int { return at - strings.LastIndexByte(o.text[:at], '\n') - 1 }

// blanks moves over blanks of the line.
func (o *outliner) blanks() {
	for o.pos < len(o.text) && (o.text[o.pos] == ' ' || o.text[o.pos] == '\t') {
		o.pos++
	}
}

// atLineEnd says that nothing but a comment is left on the line.
func (o *outliner) atLineEnd() bool {
	if o.pos == len(o.text) || o.text[o.pos] == '\n' || o.text[o.pos] == '\r' {
		return true
	}
	return o.text[o.pos] == '#' && (o.pos == 0 || isBlank(o.text[o.pos-1]))
}

// dash says that an item of a sequence begins at an offset.
func (o *outliner) dash(at int) bool {
	return at < len(o.text) && o.text[at] == '-' && (at+1 == len(o.text) || isBlank(o.text[at+1]))
}

// keyEnd finds the colon of the key that begins at an offset, -1 when no key begins there. end is where the key
// itself ends.
func (o *outliner) keyEnd(at int) (end, colon int) {
	stop := o.lineEnd(at)
	if at >= stop {
		return 0, -1
	}
	end = at
	switch o.text[at] {
	case '"', '\'':
		if end = o.closing(at, stop); end < 0 {
			return 0, -1
		}
	case '[', '{', '|', '>', '%', '@', '`', '#':
		return 0, -1
	}
	for i := end; i < stop; i++ {
		switch c := o.text[i]; {
		case c == ':' && (i+1 == stop || isBlank(o.text[i+1])):
			return at + len(strings.TrimRight(o.text[at:i], " \t")), i
		case c == '#' && i > at && isBlank(o.text[i-1]):
			return 0, -1
		case end > at && !isBlank(c): // something behind the closing quote
			return 0, -1
		}
	}
	return 0, -1
}

// closing is the offset behind the quote that closes the one at an offset, -1 when there is none before stop.
func (o *outliner) closing(at, stop int) int {
	quote := o.text[at]
	for i := at + 1; i < stop; i++ {
		switch {
		case quote == '"' && o.text[i] == '\\':
			i++
		case o.text[i] != quote:
		case quote == '\'' && i+1 < stop && o.text[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return -1
}
