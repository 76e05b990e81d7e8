package live

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"foundry/internal/report"
)

// This file lays out the screen. How many lines each part has depends on the size of the terminal and on how many phases
// there are, never on what they say: nothing moves while a run goes on.

// wideColumns is from when on the phases and what one of them does stand side by side.
const wideColumns = 140

// layout is how many lines the parts of the screen have.
type layout struct {
	head  int  // title, what was asked for, a blank line
	heads bool // the names of the columns
	list  int
	trail int  // a blank line, the path, and the last rule
	pane  int  // what one phase does, with its rule above; 0 is none
	wide  bool // the pane stands beside the list
	left  int  // columns of the list
}

func (m *Model) layout() layout {
	l := layout{head: 1, left: m.width, wide: m.width >= wideColumns && m.height >= 8}
	if m.height >= 14 {
		l.head++
	}
	if m.height >= 20 {
		l.head++
	}
	switch {
	case m.height >= 26:
		l.trail = 3
	case m.height >= 18:
		l.trail = 2
	case m.height >= 13:
		l.trail = 1
	}
	body := max(m.height-l.head-l.trail-1, 1)
	if m.height >= 16 {
		l.heads = true
		body--
	}
	switch {
	case l.wide:
		l.left = max(72, min(m.width*2/5, 110))
		l.pane = m.height - l.head - 1
		l.list = min(len(m.rows), body)
	case body < 7:
		l.list = body
	default:
		l.pane = max(4, body/3)
		l.list = min(len(m.rows), body-l.pane)
		if l.trail == 2 && l.list < body-l.pane {
			l.trail, body = 3, body-1 // there is room to set it apart
		}
		l.pane = body - l.list
	}
	return l
}

// View draws the screen: as many lines as the terminal has, each as wide as it is.
func (m *Model) View() string {
	l := m.layout()
	lines := m.head(l.head)
	middle := m.height - l.head - 1
	switch {
	case m.mode == evidence:
		lines = append(lines, block(m.evidence(), m.width, middle)...)
	case m.mode == helping:
		lines = append(lines, block(m.help(), m.width, middle)...)
	case l.wide:
		lines = append(lines, m.sideBySide(l)...)
	default:
		lines = append(lines, m.table(l)...)
		lines = append(lines, m.trail(l.trail, m.width)...)
		if l.pane > 0 {
			lines = append(lines, block(m.pane(m.width, l.pane, l), m.width, l.pane)...)
		}
	}
	lines = append(block(lines, m.width, m.height-1), fit(m.foot(), m.width))
	return strings.Join(lines, "\n")
}

// table is the list with the names of its columns.
func (m *Model) table(l layout) []string {
	rows := m.list(l.left, l.list)
	if l.heads {
		rows = append([]string{m.heads(l.left, l.list)}, rows...)
		return block(rows, l.left, l.list+1)
	}
	return block(rows, l.left, l.list)
}

// sideBySide is the list with the trail below it, and the pane at its right.
func (m *Model) sideBySide(l layout) []string {
	left := block(append(m.table(l), m.trail(l.trail, l.left-1)...), l.left, l.pane)
	bar := make([]string, l.pane)
	for i := range bar {
		bar[i] = m.paint(report.Dim, "│ ")
	}
	right := m.width - l.left - 2
	joined := lipgloss.JoinHorizontal(lipgloss.Top, strings.Join(left, "\n"), strings.Join(bar, "\n"),
		strings.Join(block(m.pane(right, l.pane, l), right, l.pane), "\n"))
	return strings.Split(joined, "\n")
}

// head is the title, what was asked for, and a blank line.
func (m *Model) head(n int) []string {
	lines := make([]string, n)
	lines[0] = m.title()
	if n > 1 {
		lines[1] = " " + report.Line(m.trace.Request)
		if worst := "at most " + m.o.Worst; m.o.Worst != "" && m.trace.Ended == nil && columnsOf(lines[1])+2+columnsOf(worst) < m.width {
			lines[1] = fit(lines[1], m.width-columnsOf(worst)-1) + m.paint(report.Dim, worst)
		}
		if m.watch.on {
			lines[1] = " " + m.watch.cause
		}
	}
	return lines
}

// title is the pipeline and the run at the left, how it stands at the right. What has no room goes, the least important
// first.
func (m *Model) title() string {
	word, paint := report.Word(m.trace.Status)
	stand := []string{m.paint(report.Bold, m.paint(paint, word))}
	if d, ok := m.trace.Elapsed(m.now); ok {
		stand = append(stand, fitLeft(report.Duration(d), timeColumns))
	}
	if m.watch.on {
		word, paint, took := m.stands()
		stand = []string{m.paint(report.Bold, m.paint(paint, word))}
		if took != "" {
			stand = append(stand, took)
		}
	}
	stand = append(stand, m.usage()...)
	names := []string{m.paint(report.Bold, report.Line(m.trace.Pipeline)), m.paint(report.Dim, m.trace.ID)}
	if m.watch.on {
		names[0] = m.paint(report.Bold, "watch")
		if m.o.Graph != nil {
			names[0] += " " + m.paint(report.Bold, report.Line(m.o.Graph.Pipeline))
		}
	}
	for {
		left, right := " "+strings.Join(names, "  "), strings.Join(stand, "  ")+" "
		room := m.width - columnsOf(right)
		switch {
		case columnsOf(left)+2 <= room, len(stand) == 1:
			return fit(left, room) + right
		case len(stand) > 2:
			stand = stand[:len(stand)-1]
		case len(names) > 1:
			names = names[:1]
		default:
			stand = stand[:len(stand)-1]
		}
	}
}

// usage is what the run has used, most important first, and what went on outside the rules.
func (m *Model) usage() []string {
	var out []string
	if n := len(m.trace.Warnings) + len(m.trace.Outside) + len(m.trace.Left); n > 0 {
		out = append(out, m.paint(report.Yellow, plural(n, "warning")))
	}
	u := m.trace.Usage
	if u.Turns == 0 {
		return out
	}
	turns := plural(u.Turns, "turn")
	if m.o.Graph != nil && m.o.Graph.Limits.Turns > 0 {
		turns = fmt.Sprintf("%d of %d turns", u.Turns, m.o.Graph.Limits.Turns)
	}
	out = append(out, turns)
	if u.Tokens != nil && *u.Tokens > 0 {
		out = append(out, amount(*u.Tokens)+" tokens")
	}
	if u.Cost != nil && *u.Cost > 0 {
		out = append(out, report.Cost(u.Cost))
	}
	return out
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// trail is the way of the run through its phases, and the last rule that led it elsewhere than on.
func (m *Model) trail(n, width int) []string {
	if n == 0 {
		return nil
	}
	rule := ""
	if r := m.jump; r != nil {
		rule = m.paint(report.Dim, " rule  ") + m.paint(report.Cyan, report.Line(r.From)+" → "+r.Label()) + m.paint(report.Dim, "  "+condition(r))
		if terms := report.Terms(r.Seen); terms != "" {
			rule += m.paint(report.Dim, ": "+terms)
		}
	}
	if n == 1 {
		return block([]string{rule}, width, 1)
	}
	return block([]string{"", m.way(width), rule}[3-n:], width, n)
}

// condition is a rule without its target, which stands beside it.
func condition(r *report.Route) string {
	rule := report.Line(r.Rule)
	if at := strings.LastIndex(rule, "-> "+r.To); at >= 0 {
		return strings.TrimSpace(rule[:at])
	}
	return rule
}

// way is the newest part of the path that there is room for.
func (m *Model) way(width int) string {
	if len(m.path) == 0 {
		return ""
	}
	text, room := "", width-9
	for i := len(m.path) - 1; i >= 0; i-- {
		v := m.path[i]
		name, paint := report.Line(v.Phase), report.Plainly
		if v.N > 1 {
			name += fmt.Sprintf("@%d", v.N)
		}
		if p := m.trace.Phase(v.Phase); p.Status == "running" && p.Newest().N == v.N {
			paint = report.Cyan
		}
		step := m.paint(paint, name)
		if text != "" {
			step += m.paint(report.Dim, " → ")
		}
		if columnsOf(step)+columnsOf(text) > room {
			text = m.paint(report.Dim, "… ") + text
			break
		}
		text = step + text
	}
	return m.paint(report.Dim, " path  ") + text
}

// foot is the last line: what is asked of whoever is there, else the keys.
func (m *Model) foot() string {
	switch m.mode {
	case answering:
		return m.answerLine()
	case confirming:
		return " " + m.paint(report.Yellow, "kill the run for good? what it did is kept.") + "  y kills it, any other key does not"
	case helping:
		return m.paint(report.Dim, " any key goes back")
	case evidence:
		hint := " ↑↓ scroll  esc back"
		if p := m.trace.Phase(m.shown.Phase); p != nil && len(p.Visits) > 1 {
			hint += "  ←→ visits"
		}
		return m.prompt() + m.paint(report.Dim, hint)
	}
	text := m.prompt()
	if m.notice != "" {
		text = " " + m.paint(report.Yellow, m.notice) + text
	}
	for _, b := range bindings {
		next := "  " + b.short
		if b.short == "" || m.watch.on && b.key == "K" && m.trace.Status != "running" {
			continue
		}
		if text == "" {
			next = next[1:]
		}
		if columnsOf(text)+columnsOf(next) > m.width {
			break
		}
		text += m.paint(report.Dim, next)
	}
	return text
}

// prompt says which key answers a question that waits.
func (m *Model) prompt() string {
	if m.asked == nil {
		return ""
	}
	return " " + m.paint(report.Bold, m.paint(report.Yellow, "a answer "+report.Line(m.asked.Phase)))
}

// answerLine is the line in which an answer is written, its end in sight.
func (m *Model) answerLine() string {
	ask := " approve or reject, with a note: "
	if m.wrong {
		ask = " write out approve or reject: "
	}
	if columnsOf(ask) > m.width/2 {
		ask = " answer: "
	}
	line := string(m.line)
	for room := m.width - columnsOf(ask) - 1; columnsOf(line) > room && line != ""; {
		_, line, _ = strings.Cut(line, string([]rune(line)[:1]))
	}
	return m.paint(report.Yellow, ask) + line + "█"
}

// help is the list of keys.
func (m *Model) help() []string {
	lines := []string{m.paint(report.Bold, " keys"), ""}
	for _, b := range bindings {
		lines = append(lines, "  "+m.paint(report.Cyan, fit(b.key, 15))+"  "+b.what)
	}
	return lines
}
