package diag

// How a finding is drawn for people: a first line that grep and editors understand, the line of the file with
// a caret under exactly what is wrong, then the notes and the hint. What comes from the file is made harmless
// before it reaches a terminal, and very long lines are cut down to what surrounds the caret.

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	tabStop    = 4
	windowSize = 120 // columns of a line that are shown
	windowLead = 40  // columns before the caret, when the line is cut
)

const (
	plain  = ""
	bold   = "\x1b[1m"
	red    = "\x1b[1;31m"
	yellow = "\x1b[1;33m"
	cyan   = "\x1b[36m"
	dim    = "\x1b[2m"
	reset  = "\x1b[0m"
)

// RenderText writes the findings as text, in the order they are given; with color it adds terminal colours.
// The error is the writer's.
func RenderText(w io.Writer, found []Diagnostic, color bool) error {
	p := printer{color: color}
	for _, d := range found {
		p.diagnostic(d)
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

type printer struct {
	out   strings.Builder
	color bool
}

func (p *printer) paint(style, text string) string {
	if !p.color || style == plain || text == "" {
		return text
	}
	return style + text + reset
}

func (p *printer) diagnostic(d Diagnostic) {
	style := red
	if d.Severity == Warning {
		style = yellow
	}
	if at := place(d.Span); at != "" {
		p.out.WriteString(p.paint(bold, at+":") + " ")
	}
	fmt.Fprintf(&p.out, "%s %s %s\n", p.paint(style, d.Severity.String()+":"), p.paint(bold, harmless(d.Message)), p.paint(dim, "["+string(d.Rule)+"]"))
	p.excerpt(d.Span, style)
	for _, n := range d.Notes {
		if n.Span == d.Span {
			fmt.Fprintf(&p.out, "   %s %s\n", p.paint(cyan, "note:"), harmless(n.Message))
			continue
		}
		fmt.Fprintf(&p.out, "   %s %s: %s\n", p.paint(cyan, "note:"), place(n.Span), harmless(n.Message))
		p.excerpt(n.Span, cyan)
	}
	if d.Hint != "" {
		for i, line := range strings.Split(d.Hint, "\n") {
			if i == 0 {
				fmt.Fprintf(&p.out, "   %s %s\n", p.paint(cyan, "hint:"), harmless(line))
			} else {
				fmt.Fprintf(&p.out, "         %s\n", harmless(line))
			}
		}
	}
}

// place is file:line:column, or "" for a span that is nowhere.
func place(s Span) string {
	if s.IsZero() {
		return ""
	}
	at := s.Position()
	return harmless(s.Source.Name) + ":" + strconv.Itoa(at.Line) + ":" + strconv.Itoa(at.Column)
}

// excerpt draws the line where the span starts and the caret under the part of the span that is on it.
func (p *printer) excerpt(s Span, style string) {
	if s.IsZero() {
		return
	}
	number := s.Position().Line
	text, start := s.Source.Line(number), s.Source.lineStart(number)
	if number == 1 && strings.HasPrefix(text, "\ufeff") {
		text, start = text[3:], start+3
	}
	from := min(max(s.Start-start, 0), len(text))
	to := min(max(s.End-start, from), len(text))
	shown, lead, width := draw(text, from, to)
	p.out.WriteString(p.paint(dim, fmt.Sprintf("%5d |", number)))
	if shown != "" {
		p.out.WriteString(" " + shown)
	}
	fmt.Fprintf(&p.out, "\n%s %s%s\n", p.paint(dim, "      |"), strings.Repeat(" ", lead), p.paint(style, strings.Repeat("^", width)))
}

// draw turns a line into what a terminal shows of it and says under which columns bytes [from,to) are.
func draw(text string, from, to int) (shown string, lead, width int) {
	var b strings.Builder
	type cell struct{ at, column int } // byte of b, column on screen
	var cells []cell
	column, first, last := 0, -1, -1
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if i >= from && first < 0 {
			first = column
		}
		if i >= to && last < 0 {
			last = column
		}
		cells = append(cells, cell{b.Len(), column})
		if r == '\t' {
			n := tabStop - column%tabStop
			b.WriteString(strings.Repeat(" ", n))
			column += n
		} else {
			r = safe(r)
			b.WriteRune(r)
			column += runeWidth(r)
		}
		i += size
	}
	cells = append(cells, cell{b.Len(), column})
	if first < 0 {
		first = column
	}
	if last < 0 {
		last = column
	}
	shown, lead, width = b.String(), first, max(1, last-first)
	if column <= windowSize {
		return strings.TrimRight(shown, " "), lead, width
	}
	left, right := max(0, first-windowLead), 0
	right = left + windowSize
	begin, end, shift, tail := 0, len(shown), 0, ""
	for _, c := range cells {
		if c.column <= left {
			begin, shift = c.at, c.column
		}
		if c.column <= right {
			end = c.at
		}
	}
	cutLeft := begin > 0
	if end < len(shown) {
		tail = "…"
	}
	shown = shown[begin:end] + tail
	lead -= shift
	if cutLeft {
		shown, lead = "…"+shown, lead+1
	}
	width = max(1, min(width, right-first))
	return strings.TrimRight(shown, " "), lead, width
}

// safe replaces what would move the cursor, change the terminal or hide text.
func safe(r rune) rune {
	if r == utf8.RuneError || unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x2028 || r == 0x2029 {
		return utf8.RuneError
	}
	return r
}

// harmless is the text on one line without anything that would act on a terminal.
func harmless(s string) string {
	clean := true
	for _, r := range s {
		clean = clean && safe(r) == r && r != utf8.RuneError
	}
	if clean {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return safe(r)
	}, s)
}

// wide are the runes that take two columns: East Asian wide and full-width forms, and emoji.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x23e9, 0x23ec, 1}, {0x25fd, 0x25fe, 1}, {0x2614, 0x2615, 1}, {0x2648, 0x2653, 1},
		{0x267f, 0x267f, 1}, {0x2693, 0x2693, 1}, {0x26a1, 0x26a1, 1}, {0x26aa, 0x26ab, 1}, {0x26bd, 0x26be, 1}, {0x26c4, 0x26c5, 1},
		{0x26ce, 0x26ce, 1}, {0x26d4, 0x26d4, 1}, {0x26ea, 0x26ea, 1}, {0x26f2, 0x26f3, 1}, {0x26f5, 0x26f5, 1}, {0x26fa, 0x26fa, 1},
		{0x26fd, 0x26fd, 1}, {0x2705, 0x2705, 1}, {0x270a, 0x270b, 1}, {0x2728, 0x2728, 1}, {0x274c, 0x274c, 1}, {0x274e, 0x274e, 1},
		{0x2753, 0x2755, 1}, {0x2757, 0x2757, 1}, {0x2795, 0x2797, 1}, {0x27b0, 0x27b0, 1}, {0x27bf, 0x27bf, 1}, {0x2b1b, 0x2b1c, 1},
		{0x2b50, 0x2b50, 1}, {0x2b55, 0x2b55, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0x33ff, 1}, {0x3400, 0x4dbf, 1}, {0x4e00, 0xa4cf, 1},
		{0xa960, 0xa97c, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe10, 0xfe19, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x18cff, 1}, {0x1b000, 0x1b2ff, 1}, {0x1f004, 0x1f004, 1}, {0x1f0cf, 0x1f0cf, 1}, {0x1f18e, 0x1f18e, 1}, {0x1f191, 0x1f19a, 1},
		{0x1f200, 0x1f320, 1}, {0x1f32d, 0x1f335, 1}, {0x1f337, 0x1f37c, 1}, {0x1f37e, 0x1f393, 1}, {0x1f3a0, 0x1f3ca, 1}, {0x1f3cf, 0x1f3d3, 1},
		{0x1f3e0, 0x1f3f0, 1}, {0x1f3f4, 0x1f3f4, 1}, {0x1f3f8, 0x1f43e, 1}, {0x1f440, 0x1f440, 1}, {0x1f442, 0x1f4fc, 1}, {0x1f4ff, 0x1f53d, 1},
		{0x1f54b, 0x1f54e, 1}, {0x1f550, 0x1f567, 1}, {0x1f57a, 0x1f57a, 1}, {0x1f595, 0x1f596, 1}, {0x1f5a4, 0x1f5a4, 1}, {0x1f5fb, 0x1f64f, 1},
		{0x1f680, 0x1f6c5, 1}, {0x1f6cc, 0x1f6cc, 1}, {0x1f6d0, 0x1f6d2, 1}, {0x1f6d5, 0x1f6d7, 1}, {0x1f6dd, 0x1f6df, 1}, {0x1f6eb, 0x1f6ec, 1},
		{0x1f6f4, 0x1f6fc, 1}, {0x1f7e0, 0x1f7eb, 1}, {0x1f90c, 0x1f93a, 1}, {0x1f93c, 0x1f945, 1}, {0x1f947, 0x1faff, 1}, {0x20000, 0x3fffd, 1},
	},
}

// runeWidth is the number of terminal columns of a rune: combining marks and joiners none, wide ones two.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		if r == 0xad {
			return 0
		}
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}
