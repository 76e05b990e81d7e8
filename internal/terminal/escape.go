package terminal

import "unicode/utf8"

// EscapeLength is the length of the escape sequence that text begins with, at least 1 when there is any text. A sequence
// that does not end is taken to end before the next control character, so that it cannot swallow what follows.
func EscapeLength(text string) int {
	if len(text) < 2 {
		return len(text)
	}
	switch c := text[1]; {
	case c == '[':
		return controlSequence(text)
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		return controlString(text)
	case c >= 0x20 && c <= 0x2f: // intermediate bytes, then a final one: a choice of character set
		i := 2
		for i < len(text) && text[i] >= 0x20 && text[i] <= 0x2f {
			i++
		}
		if i < len(text) && text[i] < utf8.RuneSelf && text[i] >= 0x30 {
			i++
		}
		return i
	case c >= 0x30 && c <= 0x7e:
		return 2
	}
	return 1
}

func controlSequence(text string) int {
	i := 2
	for i < len(text) && text[i] >= 0x20 && text[i] <= 0x3f {
		i++
	}
	if i < len(text) && text[i] >= 0x40 && text[i] <= 0x7e {
		i++
	}
	return i
}

func controlString(text string) int {
	for i := 2; i < len(text); i++ {
		switch {
		case text[i] == 0x07:
			return i + 1
		case text[i] == 0x1b && i+1 < len(text) && text[i+1] == '\\':
			return i + 2
		case text[i] < 0x20:
			return i
		}
	}
	return len(text)
}
