package envelope

import (
	"slices"
	"strings"
)

// The standard decoder cannot be used on what an agent wrote: it keeps the last of two equal keys, folds the
// case of names, and turns broken UTF-8 into U+FFFD without a word. This reader keeps what was written and
// where. It reads one value from the middle of a text in one pass, recursion is capped, and the only repairs
// it knows are those that leave one possible meaning: a trailing comma, comments, a raw line break or tab
// in a string.

// maxDepth is how deep objects and lists may be nested.
const maxDepth = 100

type shape uint8

const (
	null shape = iota + 1
	boolean
	number
	text
	list
	object
)

// String is the shape as a person names it, with its article.
func (s shape) String() string {
	switch s {
	case null:
		return "null"
	case boolean:
		return "a boolean"
	case number:
		return "a number"
	case text:
		return "a string"
	case list:
		return "a list"
	case object:
		return "an object"
	}
	return "nothing"
}

// node is a JSON value.
type node struct {
	shape shape
	text  string   // a string's value, a number as written
	truth bool     // a boolean's value
	lone  bool     // a string had half of a surrogate pair, now U+FFFD
	keys  []string // an object's, beside kids
	kids  []node
	twice []string // keys that an object has more than once
}

// repairs is the set of repairs that a value took.
type repairs struct{ comma, comment, raw bool }

// notes words the repairs.
func (r repairs) notes() []string {
	var out []string
	if r.comma {
		out = append(out, "repaired: trailing comma")
	}
	if r.comment {
		out = append(out, "repaired: comments")
	}
	if r.raw {
		out = append(out, "repaired: raw line break or tab in a string")
	}
	return out
}

// reader reads one value of source from pos on. After a failure bad says what and where, and pos is there.
type reader struct {
	source   string
	pos      int
	lenient  bool // repairs are allowed
	depth    int
	repaired repairs
	bad      syntax
	fields   []Field // of the report that is looked for
	sawField bool    // the outermost object has a key that is one of them, in whatever case
}

func (r *reader) fail(f fault, at int) bool {
	r.bad, r.pos = syntax{f, at}, at
	return false
}

// value reads a value into n.
func (r *reader) value(n *node) bool {
	if r.pos >= len(r.source) {
		return r.fail(endOfText, r.pos)
	}
	switch c := r.source[r.pos]; {
	case c == '{':
		return r.object(n)
	case c == '[':
		return r.list(n)
	case c == '"':
		n.shape = text
		return r.str(&n.text, &n.lone)
	case c == '-' || '0' <= c && c <= '9':
		return r.number(n)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		rest := r.source[r.pos:]
		if strings.HasPrefix(rest, word) {
			n.shape, n.truth = boolean, word == "true"
			if word == "null" {
				n.shape = null
			}
			r.pos += len(word)
			return true
		}
		if rest == word[:min(len(rest), len(word))] {
			return r.fail(endOfText, len(r.source))
		}
	}
	return r.fail(wantValue, r.pos)
}

// object reads an object; pos is at its brace.
func (r *reader) object(n *node) bool {
	n.shape = object
	if !r.open() {
		return false
	}
	var seen map[string]bool
	for first := true; ; first = false {
		closed, ok := r.next('}', first)
		if closed || !ok {
			return ok
		}
		if r.source[r.pos] != '"' {
			return r.fail(wantKey, r.pos)
		}
		var key string
		var lone bool
		if !r.str(&key, &lone) {
			return false
		}
		if r.depth == 1 && !r.sawField {
			r.sawField = slices.ContainsFunc(r.fields, func(f Field) bool { return strings.EqualFold(f.Name, key) })
		}
		if !r.space() {
			return false
		}
		if r.source[r.pos] != ':' {
			return r.fail(wantColon, r.pos)
		}
		r.pos++
		if !r.space() {
			return false
		}
		n.keys = append(n.keys, key)
		n.kids = append(n.kids, node{})
		if !r.value(&n.kids[len(n.kids)-1]) {
			return false
		}
		if known(&seen, n.keys) {
			n.twice = append(n.twice, key)
		}
	}
}

// known says whether the last of the keys is among those before it; seen is made when there are many.
func known(seen *map[string]bool, keys []string) bool {
	last := len(keys) - 1
	if last < 8 {
		for _, k := range keys[:last] {
			if k == keys[last] {
				return true
			}
		}
		return false
	}
	if *seen == nil {
		*seen = make(map[string]bool)
		for _, k := range keys[:last] {
			(*seen)[k] = true
		}
	}
	if (*seen)[keys[last]] {
		return true
	}
	(*seen)[keys[last]] = true
	return false
}

// list reads a list; pos is at its bracket.
func (r *reader) list(n *node) bool {
	n.shape = list
	if !r.open() {
		return false
	}
	for first := true; ; first = false {
		closed, ok := r.next(']', first)
		if closed || !ok {
			return ok
		}
		n.kids = append(n.kids, node{})
		if !r.value(&n.kids[len(n.kids)-1]) {
			return false
		}
	}
}

func (r *reader) open() bool {
	if r.depth == maxDepth {
		return r.fail(tooDeep, r.pos)
	}
	r.depth++
	r.pos++
	return true
}

// next moves to the next entry of an object or a list, over the comma before it, or past the closing bracket.
func (r *reader) next(closing byte, first bool) (closed, ok bool) {
	if !r.space() {
		return false, false
	}
	if !first && r.source[r.pos] == ',' {
		comma := r.pos
		r.pos++
		if !r.space() {
			return false, false
		}
		if r.source[r.pos] != closing {
			return false, true
		}
		if !r.lenient {
			return false, r.fail(strayComma, comma)
		}
		r.repaired.comma = true
	}
	if r.source[r.pos] == closing {
		r.pos++
		r.depth--
		return true, true
	}
	if !first {
		return false, r.fail(wantComma, r.pos)
	}
	return false, true
}

// space skips white space and comments and demands that something follows.
func (r *reader) space() bool {
	for r.pos < len(r.source) {
		switch r.source[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		case '/':
			if done, ok := r.comment(); done || !ok {
				return ok
			}
		default:
			return true
		}
	}
	return r.fail(endOfText, r.pos)
}

// comment skips a comment; done says that the slash begins none.
func (r *reader) comment() (done, ok bool) {
	rest := r.source[r.pos:]
	switch {
	case len(rest) < 2:
		return false, r.fail(endOfText, len(r.source))
	case rest[1] != '/' && rest[1] != '*':
		return true, true
	case !r.lenient:
		return false, r.fail(strayComment, r.pos)
	}
	end := "\n"
	if rest[1] == '*' {
		end = "*/"
	}
	i := strings.Index(rest[2:], end)
	if i < 0 {
		return false, r.fail(endOfText, len(r.source))
	}
	r.repaired.comment = true
	r.pos += 2 + i + len(end)
	return false, true
}

// number reads a number and keeps it as written.
func (r *reader) number(n *node) bool {
	start, i := r.pos, r.pos
	at := func() byte {
		if i < len(r.source) {
			return r.source[i]
		}
		return 0
	}
	digits := func() bool {
		from := i
		for '0' <= at() && at() <= '9' {
			i++
		}
		return i > from
	}
	wrong := func() bool {
		if i >= len(r.source) {
			return r.fail(endOfText, i)
		}
		return r.fail(badNumber, start)
	}
	if at() == '-' {
		i++
	}
	if at() == '0' {
		i++
	} else if !digits() {
		return wrong()
	}
	if at() == '.' {
		i++
		if !digits() {
			return wrong()
		}
	}
	if at() == 'e' || at() == 'E' {
		i++
		if at() == '+' || at() == '-' {
			i++
		}
		if !digits() {
			return wrong()
		}
	}
	if c := at(); '0' <= c && c <= '9' || c == '.' || c == '_' || c == 'x' {
		return r.fail(badNumber, start)
	}
	n.shape, n.text, r.pos = number, r.source[start:i], i
	return true
}
