package dsl

// Strings as all our texts have them: "…" and '…' with escapes, on one line; `…` without. These scans look
// at each byte once.

import "strings"

// openQuote is the offset of the quote that has no other end, or -1.
func openQuote(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '/':
			if strings.HasPrefix(text[i:], "//") {
				n := strings.IndexByte(text[i:], '\n')
				if n < 0 {
					return -1
				}
				i += n
			}
		case '"', '\'', '`':
			end := closeQuote(text, i)
			if end < 0 {
				return i
			}
			i = end
		}
	}
	return -1
}

// closeQuote is the offset of the quote that ends the string beginning at i, or -1. A string in " or ' ends
// on its line.
func closeQuote(text string, i int) int {
	quote := text[i]
	for j := i + 1; j < len(text); j++ {
		switch {
		case text[j] == quote:
			return j
		case quote == '`':
		case text[j] == '\n':
			return -1
		case text[j] == '\\' && j+1 < len(text) && text[j+1] != '\n':
			j++
		}
	}
	return -1
}
