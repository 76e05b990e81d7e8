package process

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A program writes what it likes: escape sequences, progress bars of a million frames, half a rune, no line
// break at all. Tail keeps the end of it in bounded memory as text that can stand in a prompt, in JSON and on
// a terminal: valid UTF-8, without escape sequences and control characters, one line for a line that was
// written over, not starting inside a rune or a sequence.

// Tail takes output in pieces and remembers the end of it, cleaned. It is not for concurrent use. The text
// differs from the bytes as follows: escape sequences are gone; a line that was written over with carriage
// returns has what was written last; bytes that are no UTF-8 are U+FFFD; other control characters stand as
// \xNN.
//
// Most of a long output is never cleaned: what was written waits, and when much has come together, only the end
// of it is looked at, from a line's beginning that is far enough back. So the cost of a log of gigabytes is that of
// copying it.
type Tail struct {
	raw     []byte // what was written and not cleaned yet; at most waiting times the size
	buf     []byte // cleaned text; trimmed to size when it has grown to twice of it
	spare   []byte // of an earlier buf, to be used again
	size    int
	cut     bool // something was dropped from the front of buf
	line    int  // where in buf the current line begins
	state   scan
	cr      bool   // a carriage return was seen: the next character begins the line anew
	part    []byte // the beginning of a rune
	nuls    int64
	invalid int64
	broken  []byte // the beginning of a rune, for counting
}

// waiting is how many times the size of a tail comes together before it is cleaned.
const waiting = 16

// scan is where in an escape sequence the last piece ended.
type scan uint8

const (
	text   scan = iota
	escape      // after ESC
	csi         // after ESC [
	osc         // in a string that BEL or ESC \ ends
	oscEsc      // after ESC inside such a string
	short       // after ESC and an intermediate byte: one more
)

// NewTail returns a tail that keeps about n bytes of cleaned text; n must be above 0.
func NewTail(n int) *Tail { return &Tail{size: n} }

// Write takes a piece of output. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	n := len(p)
	t.count(p)
	for len(p) > 0 {
		k := min(len(p), waiting*t.size-len(t.raw))
		t.raw = append(t.raw, p[:k]...)
		p = p[k:]
		if len(t.raw) >= waiting*t.size {
			t.settle()
		}
	}
	return n, nil
}

// settle cleans what waits, or as much of its end as fills the tail: whatever came before a line break has no
// effect on how the text after it reads.
func (t *Tail) settle() {
	for back := 2 * t.size; back < len(t.raw); back *= 2 {
		from := bytes.IndexByte(t.raw[len(t.raw)-back:], '\n')
		if from < 0 {
			continue
		}
		end := Tail{size: t.size, buf: t.spare[:0]}
		end.clean(t.raw[len(t.raw)-back+from+1:])
		t.spare = end.buf
		if len(end.buf) >= t.size {
			t.buf, t.spare = end.buf, t.buf
			t.line, t.state, t.cr, t.part, t.cut = end.line, end.state, end.cr, end.part, true
			t.raw = t.raw[:0]
			return
		}
	}
	t.clean(t.raw)
	t.raw = t.raw[:0]
}

// clean takes bytes into the text.
func (t *Tail) clean(p []byte) {
	for len(p) > 0 {
		if t.state == text && len(t.part) == 0 {
			k := readable(p)
			if k > 0 {
				t.put(p[:k])
				p = p[k:]
			}
			if len(p) > 0 && p[0] == '\n' { // most lines are nothing but text
				t.endLine()
				p = p[1:]
				continue
			}
			if k > 0 {
				continue
			}
		}
		p = p[t.step(p):]
	}
}

// count counts the bytes that no text has.
func (t *Tail) count(p []byte) {
	t.nuls += int64(bytes.Count(p, []byte{0}))
	for len(t.broken) > 0 && len(p) > 0 {
		t.broken = append(t.broken, p[0])
		if !utf8.FullRune(t.broken) {
			p = p[1:]
			continue
		}
		if r, w := utf8.DecodeRune(t.broken); r != utf8.RuneError || w > 1 {
			p = p[1:]
		} else {
			t.invalid += int64(len(t.broken) - 1) // the byte that showed it is looked at again by itself
		}
		t.broken = t.broken[:0]
	}
	if utf8.Valid(p) {
		return
	}
	for len(p) > 0 {
		if k := printable(p); k > 0 {
			p = p[k:]
			continue
		}
		if !utf8.FullRune(p) {
			t.broken = append(t.broken, p...)
			return
		}
		r, w := utf8.DecodeRune(p)
		if r == utf8.RuneError && w == 1 {
			t.invalid++
		}
		p = p[w:]
	}
}

// step takes at least one byte that needs a closer look, and returns how many it took.
func (t *Tail) step(p []byte) int {
	c := p[0]
	switch t.state {
	case escape:
		switch {
		case c == '[':
			t.state = csi
		case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
			t.state = osc
		case 0x20 <= c && c <= 0x2f:
			t.state = short
		case c == 0x1b:
		case c == '\n': // a line break is never part of a sequence
			t.state = text
			return 0
		default:
			t.state = text
		}
		return 1
	case csi:
		switch {
		case 0x40 <= c && c <= 0x7e:
			t.state = text
		case c == 0x1b:
			t.state = escape
		case c < 0x20 || c >= 0x7f: // no sequence after all; what was written after it counts
			t.state = text
			return 0
		}
		return 1
	case osc:
		switch c {
		case 0x07:
			t.state = text
		case 0x1b:
			t.state = oscEsc
		case '\n': // never closed: do not swallow the rest of the output
			t.state = text
			return 0
		}
		return 1
	case oscEsc:
		if c == '\\' {
			t.state = text
		} else {
			t.state = escape
			return 0
		}
		return 1
	case short:
		if c == '\n' {
			t.state = text
			return 0
		}
		if c < 0x20 || c > 0x2f {
			t.state = text
		}
		return 1
	}
	if len(t.part) > 0 || c >= utf8.RuneSelf {
		return t.rune(p)
	}
	switch c {
	case 0x1b:
		t.state = escape
	case '\r':
		t.cr = true
	case '\n':
		t.endLine()
	case '\t':
		t.put(p[:1])
	case '\b':
		if n := len(t.buf); n > t.line {
			_, w := utf8.DecodeLastRune(t.buf[t.line:])
			t.buf = t.buf[:n-w]
		}
	case 0x07: // the bell
	default:
		const hex = "0123456789abcdef"
		t.put([]byte{'\\', 'x', hex[c>>4], hex[c&15]})
	}
	return 1
}

// rune takes bytes above ASCII, which may have begun in an earlier piece.
func (t *Tail) rune(p []byte) int {
	if len(t.part) == 0 {
		if utf8.FullRune(p) {
			r, w := utf8.DecodeRune(p)
			if r == utf8.RuneError && w == 1 {
				t.bad()
				return 1
			}
			t.put(p[:w])
			return w
		}
		t.part = append(t.part, p...) // at most three bytes
		return len(p)
	}
	had := len(t.part)
	t.part = append(t.part, p[0])
	if !utf8.FullRune(t.part) {
		return 1
	}
	r, w := utf8.DecodeRune(t.part)
	if r != utf8.RuneError || w > 1 {
		t.put(t.part[:w])
		t.part = t.part[:0]
		return 1
	}
	// What had begun was no rune. The byte that showed it is looked at again by itself.
	for range had {
		t.bad()
	}
	t.part = t.part[:0]
	return 0
}

func (t *Tail) bad() { t.put([]byte("\uFFFD")) }

func (t *Tail) endLine() {
	t.cr = false
	t.buf = append(t.buf, '\n')
	t.line = len(t.buf)
	t.trim()
}

// put appends text of the current line.
func (t *Tail) put(p []byte) {
	if t.cr {
		t.cr = false
		t.buf = t.buf[:t.line]
	}
	if len(p) > t.size {
		drop := len(p) - t.size
		for drop > 0 && drop < len(p) && !utf8.RuneStart(p[drop]) {
			drop--
		}
		p = p[drop:]
		t.buf, t.line, t.cut = t.buf[:0], 0, true
	}
	t.buf = append(t.buf, p...)
	t.trim()
}

// trim drops the front once the buffer is twice the size, so that the cost of it is spread.
func (t *Tail) trim() {
	if len(t.buf) < 2*t.size {
		return
	}
	from := runeStart(t.buf, len(t.buf)-t.size)
	t.buf = append(t.buf[:0], t.buf[from:]...)
	t.line = max(0, t.line-from)
	t.cut = true
}

// runeStart returns the first place at or after i where a rune begins.
func runeStart(b []byte, i int) int {
	for i < len(b) && !utf8.RuneStart(b[i]) {
		i++
	}
	return i
}

// Text returns the end of the output, at most the size given to NewTail. When something was dropped before
// it and a line begins early in it, it begins there.
func (t *Tail) Text() string {
	t.settle()
	b := t.buf
	for range t.part {
		b = append(b[:len(b):len(b)], "\uFFFD"...)
	}
	cut := t.cut
	if len(b) > t.size {
		b = b[runeStart(b, len(b)-t.size):]
		cut = true
	}
	s := string(b)
	if cut {
		if i := strings.IndexByte(s[:min(len(s), t.size/4)], '\n'); i >= 0 && i+1 < len(s) {
			s = s[i+1:]
		}
	}
	return s
}

// Binary reports whether the output had bytes that no text has, and how many: NUL, or what is no UTF-8.
func (t *Tail) Binary() (nuls, invalid int64) { return t.nuls, t.invalid + int64(len(t.broken)) }

// Clean returns text as a Tail would show it, whole.
func Clean(b []byte) string {
	t := NewTail(4*len(b) + 16) // a control character grows to four bytes
	t.Write(b)
	return t.Text()
}

// readable returns how many bytes at the front of p are whole printable characters.
func readable(p []byte) int {
	for i := 0; ; {
		i += printable(p[i:])
		if i == len(p) || p[i] < utf8.RuneSelf {
			return i
		}
		r, w := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && w == 1 {
			return i
		}
		i += w
	}
}

// printable returns how many bytes at the front of p are printable ASCII.
func printable(p []byte) int {
	i := 0
	for ; i+8 <= len(p); i += 8 {
		w := uint64(p[i]) | uint64(p[i+1])<<8 | uint64(p[i+2])<<16 | uint64(p[i+3])<<24 |
			uint64(p[i+4])<<32 | uint64(p[i+5])<<40 | uint64(p[i+6])<<48 | uint64(p[i+7])<<56
		const ones, high = 0x0101010101010101, 0x8080808080808080
		// A byte below 0x20 borrows from its high bit, one above 0x7e carries into it.
		if ((w-0x20*ones)|(w+0x01*ones)|w)&high != 0 {
			break
		}
	}
	for ; i < len(p); i++ {
		if p[i] < 0x20 || p[i] >= 0x7f {
			break
		}
	}
	return i
}
