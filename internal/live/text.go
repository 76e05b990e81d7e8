package live

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"foundry/internal/report"
)

// This file fits texts into columns. Texts may hold the escape sequences of our own paints.

func (m *Model) paint(p report.Paint, text string) string { return m.style.Paint(p, text) }

// columnsOf is how many columns a text takes.
func columnsOf(text string) int { return lipgloss.Width(text) }

// cut shortens a text to n columns.
func cut(text string, n int) string { return ansi.Truncate(text, max(n, 0), "…") }

// fit makes a text exactly n columns wide; what it has too many is cut off.
func fit(text string, n int) string {
	text = cut(text, n)
	return text + strings.Repeat(" ", max(0, n-columnsOf(text)))
}

// fitLeft is fit with the text at the right.
func fitLeft(text string, n int) string {
	text = cut(text, n)
	return strings.Repeat(" ", max(0, n-columnsOf(text))) + text
}

// wrap breaks a text into lines of at most n columns.
func wrap(text string, n int) []string {
	return strings.Split(ansi.Wrap(text, max(n, 1), " "), "\n")
}

// block makes lines exactly n lines of a width.
func block(lines []string, width, n int) []string {
	var out []string
	for i := range n {
		line := ""
		if i < len(lines) {
			line = lines[i]
		}
		out = append(out, fit(line, width))
	}
	return out
}

func indent(depth int) string { return strings.Repeat("  ", depth) }

// amount is a number in at most five columns: 950, 1.2k, 12k, 1.2M.
func amount(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 9950:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}
