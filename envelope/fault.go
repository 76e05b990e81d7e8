package envelope

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Why a value could not be read, worded for an agent that has to write it again: what was expected, what
// stands there, and the text around it.

// fault is why a value could not be read.
type fault uint8

const (
	endOfText fault = iota + 1
	tooDeep
	wantKey
	wantColon
	wantComma
	wantValue
	badNumber
	badEscape
	badUTF8
	badControl
	strayComma
	strayComment
)

// syntax is a fault with its place in the text. It is worded only when somebody wants to read it, since a
// reply full of braces makes thousands of them.
type syntax struct {
	fault fault
	at    int
}

// describe words the fault; source is the text that was read.
func (s syntax) describe(source string) string {
	found := "the end"
	if s.at < len(source) {
		r, size := utf8.DecodeRuneInString(source[s.at:])
		switch {
		case r == utf8.RuneError && size == 1:
			found = fmt.Sprintf("the byte 0x%02X", source[s.at])
		case r > '~' || r < ' ':
			found = fmt.Sprintf("U+%04X", r)
		default:
			found = string(r)
		}
	}
	at := fmt.Sprintf("at byte %d%s", s.at, near(source, s.at))
	switch s.fault {
	case endOfText:
		return "the text ends inside it"
	case tooDeep:
		return fmt.Sprintf("nested too deep, more than %d levels, %s", maxDepth, at)
	case wantKey:
		return fmt.Sprintf("expected a key in double quotes %s, found %s", at, found)
	case wantColon:
		return fmt.Sprintf("expected a colon after the key %s, found %s", at, found)
	case wantComma:
		return fmt.Sprintf("expected a comma or the closing bracket %s, found %s", at, found)
	case wantValue:
		return fmt.Sprintf("expected a value %s, found %s", at, found)
	case badNumber:
		return fmt.Sprintf("invalid number %s", at)
	case badEscape:
		after := ""
		if s.at+1 < len(source) {
			_, size := utf8.DecodeRuneInString(source[s.at+1:])
			after = source[s.at+1 : s.at+1+size]
		}
		return fmt.Sprintf(`invalid escape \%s %s, a backslash is written \\`, strings.ToValidUTF8(after, "?"), at)
	case badUTF8:
		return fmt.Sprintf("invalid UTF-8 (0x%02X) %s", source[s.at], at)
	case badControl:
		return fmt.Sprintf("control character %s in a string %s", found, at)
	case strayComma:
		return "trailing comma " + at
	case strayComment:
		return "comment " + at
	}
	panic("BUG: a fault has no wording")
}

// near quotes the text around a place, so that it can be found without counting bytes.
func near(source string, at int) string {
	at = min(at, len(source))
	before := source[max(0, at-20):at]
	after := source[at:min(len(source), at+12)]
	around := strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError {
			return -1
		}
		return r
	}, before+after)
	if around == "" {
		return ""
	}
	return fmt.Sprintf(" (near %s)", strings.TrimSpace(around))
}
