package report

import "strings"

// This file lays out the lines of a view that is drawn as a whole: texts under keys, blank lines between parts.

// Columns of the keys that stand before a text in the final block.
const keyColumns = 11

// block gathers the lines of a view.
type block struct {
	text  strings.Builder
	style Style
	empty bool // the last line is blank
}

func (b *block) raw(text string) {
	if text != "" {
		b.text.WriteString(text)
		b.empty = false
	}
}

func (b *block) line(text string) { b.raw(strings.TrimRight(text, " ") + "\n") }

// gap writes a blank line, one only.
func (b *block) gap() {
	if !b.empty && b.text.Len() > 0 {
		b.text.WriteByte('\n')
		b.empty = true
	}
}

// room is how many columns are left after an indent; 0 is no limit.
func (b *block) room(indent int) int {
	if b.style.Width == 0 {
		return 0
	}
	return max(b.style.Width-indent, 8)
}

// key writes texts under a key, each on lines of its own that are as wide as the terminal.
func (b *block) key(name string, p Paint, texts ...string) {
	for _, text := range texts {
		if text == "" {
			continue
		}
		for _, line := range wrap(flat(text), b.room(2+keyColumns)) {
			b.line("  " + b.style.Paint(Dim, pad(name, keyColumns)) + b.style.Paint(p, line))
			name = ""
		}
	}
}
