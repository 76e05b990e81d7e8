// Package terminal knows what a terminal makes of a text: how many columns it takes, what an escape sequence is, and how it
// is coloured.
package terminal

import "github.com/clipperhouse/displaywidth"

// Columns is how many columns a text takes that holds no escape sequences: combining marks and joiners none, wide
// characters and emoji two.
func Columns(text string) int { return displaywidth.String(text) }

// RuneColumns is Columns for one rune by itself.
func RuneColumns(r rune) int { return displaywidth.Rune(r) }

// Cut is the text when it fits n columns, else its longest beginning that does with tail behind it.
func Cut(text string, n int, tail string) string { return displaywidth.TruncateString(text, n, tail) }

// Style is a way to draw a text.
type Style string

// The styles; the zero Style changes nothing.
const (
	Bold       Style = "\x1b[1m"
	Dim        Style = "\x1b[2m"
	Red        Style = "\x1b[31m"
	Green      Style = "\x1b[32m"
	Yellow     Style = "\x1b[33m"
	Cyan       Style = "\x1b[36m"
	BoldRed    Style = "\x1b[1;31m"
	BoldYellow Style = "\x1b[1;33m"
)

// Paint draws a text in the style.
func (s Style) Paint(text string) string {
	if s == "" || text == "" {
		return text
	}
	return string(s) + text + "\x1b[0m"
}
