package schema

// The YAML library speaks of lines and of columns in runes. This index turns such a place into a byte offset of
// the file, in constant time for lines of ASCII and with checkpoints for others, so that one very long line
// costs no more than many. Characters that the library alone takes for line breaks are not in the text: they
// were refused before.

import (
	"strings"
	"unicode/utf8"
)

const checkpoint = 64 // runes between two remembered offsets of a line that is not ASCII

type lineIndex struct {
	text  string
	start []int         // offset of each line
	ascii []bool        // whether a rune is a byte there
	marks map[int][]int // line -> offset of every 64th rune, made on first use
}

func newLineIndex(text string) *lineIndex {
	lines := 1 + strings.Count(text, "\n")
	x := &lineIndex{text: text, start: make([]int, 0, lines), ascii: make([]bool, 0, lines), marks: map[int][]int{}}
	begin := 0
	if len(text) >= 3 && text[:3] == "\ufeff" {
		begin = 3
	}
	ascii := true
	for i := begin; i < len(text); {
		if n := breakLen(text, i); n > 0 {
			x.start, x.ascii = append(x.start, begin), append(x.ascii, ascii)
			i += n
			begin, ascii = i, true
			continue
		}
		if text[i] >= utf8.RuneSelf {
			ascii = false
		}
		i++
	}
	x.start, x.ascii = append(x.start, begin), append(x.ascii, ascii)
	return x
}

// breakLen is the length of the line break at i, or 0.
func breakLen(s string, i int) int {
	switch {
	case i >= len(s):
	case s[i] == '\n':
		return 1
	case s[i] == '\r' && i+1 < len(s) && s[i+1] == '\n':
		return 2
	}
	return 0
}

// offset is the byte offset of a place that counts from 1; it stays inside the text.
func (x *lineIndex) offset(line, column int) int {
	if line < 1 {
		return x.start[0]
	}
	if line > len(x.start) {
		return len(x.text)
	}
	end := len(x.text)
	if line < len(x.start) {
		end = x.start[line]
	}
	at := x.start[line-1]
	if x.ascii[line-1] {
		return min(at+max(column-1, 0), end)
	}
	marks, known := x.marks[line]
	if !known {
		runes := 0
		for i := range x.text[at:end] {
			if runes%checkpoint == 0 {
				marks = append(marks, at+i)
			}
			runes++
		}
		x.marks[line] = marks
	}
	skip := max(column-1, 0)
	if k := skip / checkpoint; k < len(marks) {
		at = marks[k]
		skip -= k * checkpoint
	} else {
		return end
	}
	for ; skip > 0 && at < end; skip-- {
		_, size := utf8.DecodeRuneInString(x.text[at:])
		at += size
	}
	return at
}
