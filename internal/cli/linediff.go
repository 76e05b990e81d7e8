package cli

import (
	"fmt"
	"strings"
)

// This file shows how two texts differ, line by line.

// around is how many lines a difference shows above and below what changed.
const around = 3

// lineDiff is the difference between two texts in the unified form that git and patch read; "" when there is none.
func lineDiff(name, old, new string) string {
	if old == new {
		return ""
	}
	edits := lineEdits(diffLines(old), diffLines(new))
	var b strings.Builder
	fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", name, name)
	for at := 0; at < len(edits); {
		if edits[at].sign == ' ' {
			at++
			continue
		}
		// A hunk goes on for as long as no more lines are the same than it would show.
		end, same := at, 0
		for i := at; i < len(edits) && same <= 2*around; i++ {
			if same++; edits[i].sign != ' ' {
				end, same = i+1, 0
			}
		}
		from, to := max(0, at-around), min(len(edits), end+around)
		lines, first := [2]int{}, edits[from]
		for _, e := range edits[from:to] {
			if e.sign != '+' {
				lines[0]++
			}
			if e.sign != '-' {
				lines[1]++
			}
		}
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", first.old+min(1, lines[0]), lines[0], first.new+min(1, lines[1]), lines[1])
		for _, e := range edits[from:to] {
			b.WriteByte(e.sign)
			b.WriteString(e.text)
			if !strings.HasSuffix(e.text, "\n") {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
		at = to
	}
	return b.String()
}

// diffLines are the lines of a text with their line breaks.
func diffLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// lineEdit is a line that is in both texts, or in one; old and new are how many lines of each stand before it.
type lineEdit struct {
	sign     byte
	text     string
	old, new int
}

// lineEdits turns one list of lines into another, by the longest lines they have in common. What is the same at
// both ends is set aside first; in the middle of very long texts, all lines count as different.
func lineEdits(a, b []string) []lineEdit {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	n, m := len(a)-head-tail, len(b)-head-tail
	var common [][]int32 // of what is left from a line of each on; nil when it would be too large
	if n*m <= 16<<20 {
		common = make([][]int32, n+1)
		for i := n; i >= 0; i-- {
			common[i] = make([]int32, m+1)
			for j := m - 1; j >= 0 && i < n; j-- {
				if common[i][j] = max(common[i+1][j], common[i][j+1]); a[head+i] == b[head+j] {
					common[i][j] = common[i+1][j+1] + 1
				}
			}
		}
	}
	var out []lineEdit
	for i, j := 0, 0; i < len(a) || j < len(b); {
		x, y := i-head, j-head
		inside := x >= 0 && y >= 0 && x <= n && y <= m && (x < n || y < m)
		switch {
		case !inside, x < n && y < m && common != nil && a[i] == b[j]:
			out = append(out, lineEdit{' ', a[i], i, j})
			i, j = i+1, j+1
		case x < n && (y == m || common == nil || common[x+1][y] >= common[x][y+1]):
			out = append(out, lineEdit{'-', a[i], i, j})
			i++
		default:
			out = append(out, lineEdit{'+', b[j], i, j})
			j++
		}
	}
	return out
}
