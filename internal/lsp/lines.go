package lsp

// Positions. The protocol counts lines, and in a line units of the encoding that was agreed on; everything else
// here counts bytes of the text. A position outside the text is moved to the nearest place inside.

import (
	"sort"
	"unicode/utf8"
)

// encoding says in what units a client counts the characters of a line.
type encoding uint8

const (
	utf16 encoding = iota + 1 // what holds when nothing was agreed on
	utf8Bytes
	utf32
)

var encodingNames = [...]string{utf16: "utf-16", utf8Bytes: "utf-8", utf32: "utf-32"}

func (e encoding) String() string { return encodingNames[e] }

// agree chooses among what a client lists: the first of UTF-8 and UTF-32, which need no conversion to and from
// what other programs count, else UTF-16.
func agree(offered []string) encoding {
	for _, name := range offered {
		switch name {
		case "utf-8":
			return utf8Bytes
		case "utf-32":
			return utf32
		}
	}
	return utf16
}

// width is the number of units of a character of that many bytes.
func (e encoding) width(r rune, size int) int {
	switch e {
	case utf8Bytes:
		return size
	case utf16:
		if r > 0xffff {
			return 2
		}
	}
	return 1
}

// lines is a text with its lines. A line ends at LF, CR LF, or CR, as the protocol has it.
type lines struct {
	text   string
	starts []int
}

func newLines(text string) *lines {
	l := &lines{text: text, starts: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' || text[i] == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

// end is the offset behind the last character of a line, counted from 0, without its line break.
func (l *lines) end(line int) int {
	if line+1 == len(l.starts) {
		return len(l.text)
	}
	end := l.starts[line+1] - 1
	if end > l.starts[line] && l.text[end] == '\n' && l.text[end-1] == '\r' {
		end--
	}
	return end
}

// line is the number of the line that holds an offset, counted from 0.
func (l *lines) line(offset int) int {
	return sort.Search(len(l.starts), func(i int) bool { return l.starts[i] > offset }) - 1
}

// offset converts a position. One inside a character is moved to its beginning.
func (l *lines) offset(p position, e encoding) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(l.starts) {
		return len(l.text)
	}
	at, end, left := l.starts[p.Line], l.end(p.Line), p.Character
	for at < end && left > 0 {
		r, size := utf8.DecodeRuneInString(l.text[at:end])
		w := e.width(r, size)
		if w > left {
			break
		}
		left -= w
		at += size
	}
	return at
}

// position converts an offset.
func (l *lines) position(offset int, e encoding) position {
	offset = min(max(offset, 0), len(l.text))
	line := l.line(offset)
	at, n := l.starts[line], 0
	for stop := min(offset, l.end(line)); at < stop; {
		r, size := utf8.DecodeRuneInString(l.text[at:])
		if at+size > offset {
			break
		}
		n += e.width(r, size)
		at += size
	}
	return position{Line: line, Character: n}
}

// span converts a range of bytes.
func (l *lines) span(start, end int, e encoding) textRange {
	return textRange{l.position(start, e), l.position(end, e)}
}
