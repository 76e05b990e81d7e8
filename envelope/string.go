package envelope

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string; pos is at its quote. A string without escapes shares memory with the source. lone is
// set when an escape was half of a surrogate pair.
func (r *reader) str(value *string, lone *bool) bool {
	r.pos++
	start := r.pos
	var b *strings.Builder // nil until an escape makes the value differ from the source
	for r.pos < len(r.source) {
		switch c := r.source[r.pos]; {
		case c == '"':
			*value = r.source[start:r.pos]
			if b != nil {
				b.WriteString(*value)
				*value = b.String()
			}
			r.pos++
			return true
		case c == '\\':
			if b == nil {
				b = new(strings.Builder)
			}
			b.WriteString(r.source[start:r.pos])
			if !r.escape(b, lone) {
				return false
			}
			start = r.pos
		case c == '\n' || c == '\t' || c == '\r':
			if !r.lenient {
				return r.fail(badControl, r.pos)
			}
			r.repaired.raw = true
			r.pos++
		case c < ' ':
			return r.fail(badControl, r.pos)
		case c < utf8.RuneSelf:
			r.pos++
		default:
			if char, size := utf8.DecodeRuneInString(r.source[r.pos:]); char != utf8.RuneError || size > 1 {
				r.pos += size
				continue
			}
			if !utf8.FullRuneInString(r.source[r.pos:]) {
				return r.fail(endOfText, len(r.source))
			}
			return r.fail(badUTF8, r.pos)
		}
	}
	return r.fail(endOfText, r.pos)
}

// escape reads one escape; pos is at its backslash.
func (r *reader) escape(b *strings.Builder, lone *bool) bool {
	if r.pos+1 >= len(r.source) {
		return r.fail(endOfText, len(r.source))
	}
	c := r.source[r.pos+1]
	if c == 'u' {
		return r.unicode(b, lone)
	}
	i := strings.IndexByte(`"\/bfnrt`, c)
	if i < 0 {
		return r.fail(badEscape, r.pos)
	}
	b.WriteByte("\"\\/\b\f\n\r\t"[i])
	r.pos += 2
	return true
}

// unicode reads \uXXXX, or two of them that make a pair; pos is at the backslash.
func (r *reader) unicode(b *strings.Builder, lone *bool) bool {
	first, ok := hex4(r.source[r.pos+2:])
	if !ok {
		if rest := r.source[r.pos+2:]; len(rest) < 4 && isHex(rest) {
			return r.fail(endOfText, len(r.source))
		}
		return r.fail(badEscape, r.pos)
	}
	r.pos += 6
	if !utf16.IsSurrogate(first) {
		b.WriteRune(first)
		return true
	}
	if strings.HasPrefix(r.source[r.pos:], `\u`) {
		if second, ok := hex4(r.source[r.pos+2:]); ok {
			if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError {
				b.WriteRune(pair)
				r.pos += 6
				return true
			}
		}
	}
	*lone = true
	b.WriteRune(utf8.RuneError)
	return true
}

// hex4 reads four hexadecimal digits.
func hex4(s string) (rune, bool) {
	if len(s) < 4 || !isHex(s[:4]) {
		return 0, false
	}
	var v rune
	for i := range 4 {
		c := s[i]
		switch {
		case c <= '9':
			v = v<<4 | rune(c-'0')
		case c <= 'F':
			v = v<<4 | rune(c-'A'+10)
		default:
			v = v<<4 | rune(c-'a'+10)
		}
	}
	return v, true
}

func isHex(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
			return false
		}
	}
	return true
}
