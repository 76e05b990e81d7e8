package schema

// The way from a scalar's value back to its bytes in the file: the value is read again beside the source,
// through quotes, escapes, folds and indentation, and each byte of it is given its offset. Every step is
// compared with the value: where the two do not agree the answer is that there is no map, never a wrong one.

import (
	"strings"
	"unicode/utf8"
)

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
