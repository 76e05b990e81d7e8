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

	"foundry/internal/terminal"
)

const (
	tabStop    = 4
	windowSize = 120 // columns of a line that are shown
	windowLead = 40  // columns before the caret, when the line is cut
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

func (p *printer) paint(style terminal.Style, text string) string {
	if !p.color {
		return text
	}
	return style.Paint(text)
}

func (p *printer) diagnostic(d Diagnostic) {
	style := terminal.BoldRed
	if d.Severity == Warning {
		style = terminal.BoldYellow
	}
	if at := place(d.Span); at != "" {
		p.out.WriteString(p.paint(terminal.Bold, at+":") + " ")
	}
	fmt.Fprintf(&p.out, "%s %s %s\n", p.paint(style, d.Severity.String()+":"), p.paint(terminal.Bold, harmless(d.Message)), p.paint(terminal.Dim, "["+string(d.Rule)+"]"))
	p.excerpt(d.Span, style)
	for _, n := range d.Notes {
		if n.Span == d.Span {
			fmt.Fprintf(&p.out, "   %s %s\n", p.paint(terminal.Cyan, "note:"), harmless(n.Message))
			continue
		}
		fmt.Fprintf(&p.out, "   %s %s: %s\n", p.paint(terminal.Cyan, "note:"), place(n.Span), harmless(n.Message))
		p.excerpt(n.Span, terminal.Cyan)
	}
	if d.Hint != "" {
		for i, line := range strings.Split(d.Hint, "\n") {
			if i == 0 {
				fmt.Fprintf(&p.out, "   %s %s\n", p.paint(terminal.Cyan, "hint:"), harmless(line))
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
func (p *printer) excerpt(s Span, style terminal.Style) {
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
	p.out.WriteString(p.paint(terminal.Dim, fmt.Sprintf("%5d |", number)))
	if shown != "" {
		p.out.WriteString(" " + shown)
	}
	fmt.Fprintf(&p.out, "\n%s %s%s\n", p.paint(terminal.Dim, "      |"), strings.Repeat(" ", lead), p.paint(style, strings.Repeat("^", width)))
}

// cell is where a rune of a line stands: its byte in what is shown, its column on the screen.
type cell struct{ at, column int }

// draw turns a line into what a terminal shows of it and says under which columns bytes [from,to) are.
func draw(text string, from, to int) (shown string, lead, width int) {
	var b strings.Builder
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
			column += terminal.RuneColumns(r)
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
	if column > windowSize {
		shown, lead, width = window(shown, cells, first, width)
	}
	return strings.TrimRight(shown, " "), lead, width
}

// window cuts a line down to what surrounds a caret, which stands at a column and is some columns wide.
func window(line string, cells []cell, caret, wide int) (shown string, lead, width int) {
	left := max(0, caret-windowLead)
	right := left + windowSize
	begin, end, lead := 0, len(line), caret
	for _, c := range cells {
		if c.column <= left {
			begin, lead = c.at, caret-c.column
		}
		if c.column <= right {
			end = c.at
		}
	}
	shown = line[begin:end]
	if begin > 0 {
		shown, lead = "…"+shown, lead+1
	}
	if end < len(line) {
		shown += "…"
	}
	return shown, lead, max(1, min(wide, right-caret))
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
