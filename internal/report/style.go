// Package report owns the views of a run: what people and programs are shown of its events. Every view is a pure
// function of the log, so that a live view, a later `show` and a test see the same. What comes from a run is
// never trusted on a terminal: control characters and escape sequences are taken out before it is drawn.
package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"foundry/internal/terminal"
)

// Style says how text is drawn. The zero Style draws without colour and without a limit of width, as for a pipe.
type Style struct {
	Color bool
	Width int // columns of the terminal; 0 is no limit
}

// Paint is a way to draw a word.
type Paint uint8

// The paints; the zero value draws plainly.
const (
	Plainly Paint = iota
	Bold
	Dim
	Red
	Green
	Yellow
	Cyan
)

var paints = [...]terminal.Style{Bold: terminal.Bold, Dim: terminal.Dim, Red: terminal.Red, Green: terminal.Green, Yellow: terminal.Yellow, Cyan: terminal.Cyan}

// Paint draws text in a colour, if the style has colours.
func (s Style) Paint(p Paint, text string) string {
	if !s.Color {
		return text
	}
	return paints[p].Paint(text)
}

// pad fills text with blanks on the right up to n columns.
func pad(text string, n int) string {
	return text + strings.Repeat(" ", max(0, n-width(text)))
}

// padLeft fills text with blanks on the left up to n columns.
func padLeft(text string, n int) string {
	return strings.Repeat(" ", max(0, n-width(text))) + text
}

// width is how many columns a terminal uses for text that holds no escape sequences.
func width(text string) int { return terminal.Columns(text) }

// cut shortens text to n columns, with an ellipsis where something is left out; n < 1 is no limit.
func cut(text string, n int) string {
	if n < 1 {
		return text
	}
	return terminal.Cut(text, n, "…")
}

// clean makes text from a run safe to draw: escape sequences, control characters and marks that turn the
// direction of writing are taken out; line breaks stay, a tab becomes blanks, what is no UTF-8 a question mark.
func clean(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == 0x1b:
			size = terminal.EscapeLength(text[i:])
		case r == '\n':
			b.WriteByte('\n')
		case r == '\t':
			b.WriteString("    ")
		case r == utf8.RuneError && size == 1:
			b.WriteByte('?')
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f:
		case r == 0x2028, r == 0x2029:
			b.WriteByte('\n')
		default:
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	return b.String()
}

// flat makes text from a run safe to draw in one line: cleaned, with line breaks as blanks.
func flat(text string) string {
	return strings.ReplaceAll(clean(text), "\n", " ")
}

// flatPath is flat for a path, in which a line break must not look like a blank.
func flatPath(path string) string {
	return strings.ReplaceAll(clean(path), "\n", "?")
}

func flatPaths(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = flatPath(p)
	}
	return out
}

// wrap breaks text into lines of at most n columns, at blanks where there are any; n < 1 is no limit.
func wrap(text string, n int) []string {
	if n < 1 || width(text) <= n {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Split(text, " ") {
		for { // a word that fits no line is broken where the line is full
			part := terminal.Cut(word, n, "")
			if part == word || part == "" {
				break
			}
			if line != "" {
				lines, line = append(lines, line), ""
			}
			lines, word = append(lines, part), word[len(part):]
		}
		switch {
		case line == "":
			line = word
		case width(line)+1+width(word) <= n:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// firstLine is the first line of text that is not blank, cleaned.
func firstLine(text string) string {
	for line := range strings.SplitSeq(clean(text), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// lastLines are the last n lines of text that are not blank, cleaned.
func lastLines(text string, n int) []string {
	var lines []string
	for line := range strings.SplitSeq(clean(text), "\n") {
		if line = strings.TrimRight(line, " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-n):]
}
