// Package diag owns the diagnostic: a finding about a user's text, with the place it points at, the rule
// it comes from and one hint. It knows sources, spans and how a finding is drawn, and nothing of the language.
package diag

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Source is one text that diagnostics point into. Offsets are bytes into Text. A Source is immutable and
// may be shared between goroutines.
type Source struct {
	Name  string // as the user would type it: a path relative to where they stand, or "<stdin>"
	Text  string
	lines []int // offset of the first byte of each line
}

// NewSource indexes the lines of text. Lines end at LF; a CR before it belongs to the line break.
func NewSource(name, text string) *Source {
	s := &Source{Name: name, Text: text, lines: make([]int, 1, 1+strings.Count(text, "\n"))}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// Position is a place as people count it: both numbers from 1, the column in runes.
type Position struct{ Line, Column int }

// Position converts a byte offset; one outside the text is moved to its nearest end.
func (s *Source) Position(offset int) Position {
	offset = min(max(offset, 0), len(s.Text))
	line := sort.Search(len(s.lines), func(i int) bool { return s.lines[i] > offset }) - 1
	start := s.lines[line]
	column := utf8.RuneCountInString(s.Text[start:offset]) + 1
	if line == 0 && len(s.Text) >= 3 && s.Text[:3] == "\ufeff" && offset >= 3 {
		column-- // a byte order mark is not a column
	}
	return Position{Line: line + 1, Column: column}
}

// Offset converts a position to a byte offset, clamped to its line.
func (s *Source) Offset(p Position) int {
	if p.Line < 1 {
		return 0
	}
	if p.Line > len(s.lines) {
		return len(s.Text)
	}
	start := s.lines[p.Line-1]
	at := start
	if p.Line == 1 && len(s.Text) >= 3 && s.Text[:3] == "\ufeff" {
		at += 3
	}
	end := len(s.Text)
	if p.Line < len(s.lines) {
		end = s.lines[p.Line]
	}
	for c := 1; c < p.Column && at < end; c++ {
		_, size := utf8.DecodeRuneInString(s.Text[at:])
		at += size
	}
	return at
}

// lineStart is the offset of the first byte of a line, counted from 1.
func (s *Source) lineStart(n int) int { return s.lines[n-1] }

// Line is the text of a line, counted from 1, without its line break; "" when there is none.
func (s *Source) Line(n int) string {
	if n < 1 || n > len(s.lines) {
		return ""
	}
	end := len(s.Text)
	if n < len(s.lines) {
		end = s.lines[n] - 1
		if end > s.lines[n-1] && s.Text[end-1] == '\r' {
			end--
		}
	}
	return s.Text[s.lines[n-1]:end]
}

// Span is a half-open range of bytes of a source. The zero Span is no place at all.
type Span struct {
	Source     *Source
	Start, End int
}

// IsZero says that the span points nowhere.
func (s Span) IsZero() bool { return s.Source == nil }

// Text is the spanned bytes.
func (s Span) Text() string {
	if s.Source == nil {
		return ""
	}
	return s.Source.Text[s.Start:s.End]
}

// Position is where the span starts.
func (s Span) Position() Position {
	if s.Source == nil {
		return Position{}
	}
	return s.Source.Position(s.Start)
}

// endPosition is the place after the span.
func (s Span) endPosition() Position {
	if s.Source == nil {
		return Position{}
	}
	return s.Source.Position(s.End)
}
