package report

import "strings"

// Fit breaks the lines of a text that are longer than a terminal is wide, between words. What goes on stands
// below where it began: below the second column of a row of two, else below the line's own indentation. columns 0
// is no terminal, and nothing is broken.
func Fit(text string, columns int) string {
	if columns < 20 {
		return text
	}
	var b strings.Builder
	for _, line := range strings.SplitAfter(text, "\n") {
		line, end := strings.TrimSuffix(line, "\n"), strings.Repeat("\n", strings.Count(line, "\n"))
		if width(line) <= columns {
			b.WriteString(line + end)
			continue
		}
		at := hang(line)
		room := columns - width(line[:at])
		if room < 20 {
			b.WriteString(line + end)
			continue
		}
		b.WriteString(line[:at] + strings.Join(wrap(line[at:], room), "\n"+strings.Repeat(" ", width(line[:at]))) + end)
	}
	return b.String()
}

// hang is where the text of a line begins: after the first gap of two blanks, else after its indentation and
// the mark of an item.
func hang(line string) int {
	first := len(line) - len(strings.TrimLeft(line, " "))
	if gap := strings.Index(line[first:], "  "); gap >= 0 {
		at := first + gap
		return at + len(line[at:]) - len(strings.TrimLeft(line[at:], " "))
	}
	if strings.HasPrefix(line[first:], "- ") {
		return first + 2
	}
	return first
}

// Paragraphs joins the lines of each paragraph to one, for Fit to break anew. Lines that are set in, items,
// and rows of a table stay.
func Paragraphs(text string) string {
	var out []string
	goes := false // the line before is prose
	for _, line := range strings.Split(text, "\n") {
		prose := line != "" && !strings.ContainsAny(line[:1], " |#-\t")
		if prose && goes {
			out[len(out)-1] += " " + line
		} else {
			out = append(out, line)
		}
		goes = prose
	}
	return strings.Join(out, "\n")
}

// Table sets rows of cells in columns.
func Table(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for c, cell := range row {
			if c == len(widths) {
				widths = append(widths, 0)
			}
			widths[c] = max(widths[c], width(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := " "
		for c, cell := range row {
			line += " " + pad(cell, widths[c]) + " "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
