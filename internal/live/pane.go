package live

import (
	"fmt"
	"strings"

	"foundry/internal/report"
)

// This file draws what one phase does: in a part of the screen while the list is there, and on all of it.

// pane draws the phase that is selected below a rule with its name: the question that it asks, what it prints while it
// runs, what was found when it has ended.
func (m *Model) pane(width, height int, l layout) []string {
	r, p := m.selected()
	if len(m.watch.findings.Lines) > 0 {
		return m.findingsPane(width)
	}
	if len(m.rows) == 0 || p == nil && m.stage != "" || m.stage != "" && len(m.Running()) == 0 && m.follow {
		return []string{m.rule(width, "", ""), "  " + m.stage}
	}
	var v *report.Visit
	title, doing := report.Line(r.name), report.Doing(m.o.Graph, r.name)
	if p != nil && p.Newest() != nil {
		if v = p.Newest(); v.N > 1 {
			title = fmt.Sprintf("%s@%d", title, v.N)
		}
	}
	lines := []string{m.rule(width, title, doing)}
	if !l.heads && len(m.rows) > l.list {
		lines[0] = m.rule(width, title, m.part(l.list))
	}
	switch {
	case m.asked != nil && m.asked.Phase == r.name:
		return append(lines, m.question(width)...)
	case v == nil:
		return append(lines, m.toCome(r, p)...)
	case p.Status == "running":
		return append(lines, m.atWork(p, v, width, height-1)...)
	}
	if _, old := m.shownAs(r.name); old {
		return append(lines, m.paint(report.Dim, "  as an earlier run left it: nothing that it depends on has changed"))
	}
	return append(lines, m.detail(r.name, v.N, width)...)
}

// rule is a line with a name in it.
func (m *Model) rule(width int, title, more string) string {
	text := m.paint(report.Dim, "──")
	if title != "" {
		text += " " + m.paint(report.Bold, title) + " "
	}
	if more != "" {
		text += m.paint(report.Dim, cut(more, width-columnsOf(text)-4)) + " "
	}
	return text + m.paint(report.Dim, strings.Repeat("─", max(0, width-columnsOf(text))))
}

// question is what an ask phase asks.
func (m *Model) question(width int) []string {
	var lines []string
	for _, text := range report.Lines(m.asked.Text) {
		for _, line := range wrap(text, width-2) {
			lines = append(lines, "  "+line)
		}
	}
	if m.asked.Diff != "" {
		lines = append(lines, "", m.paint(report.Dim, "  "+m.asked.Diff+" shows what it is about"))
	}
	return lines
}

// toCome says what a phase will do that has not begun, or why it was left out.
func (m *Model) toCome(r row, p *report.Phase) []string {
	var lines []string
	if p != nil && p.Why != "" {
		word, _ := report.Word(p.Status)
		lines = append(lines, "  "+word+": "+report.Line(p.Why))
	}
	if m.o.Graph == nil {
		return lines
	}
	id, ok := m.o.Graph.Lookup(r.name)
	if !ok {
		return lines
	}
	ph := &m.o.Graph.Phases[id]
	if ph.Description != "" {
		lines = append(lines, "  "+report.Line(ph.Description))
	}
	var needs, from []string
	for _, n := range ph.Needs {
		needs = append(needs, m.o.Graph.Phases[n].Name)
	}
	for _, n := range ph.Routers {
		from = append(from, m.o.Graph.Phases[n].Name)
	}
	if len(needs) > 0 {
		lines = append(lines, m.paint(report.Dim, "  after "+strings.Join(needs, ", ")))
	}
	if len(from) > 0 {
		lines = append(lines, m.paint(report.Dim, "  when a route leads here from "+strings.Join(from, ", ")))
	}
	return lines
}

// atWork is why a phase runs, and the end of what it has printed or was seen to do.
func (m *Model) atWork(p *report.Phase, v *report.Visit, width, height int) []string {
	var lines []string
	if r := v.From; r != nil && height >= 4 {
		lines = append(lines, m.paint(report.Dim, "  from ")+m.paint(report.Cyan, report.Line(r.From))+m.paint(report.Dim, " by "+report.Line(r.Rule)))
	}
	key := Visit{p.Name, v.N}
	said := m.acts[key]
	if len(said) == 0 {
		said = m.output[key]
	}
	for _, line := range said[max(0, len(said)-(height-len(lines))):] {
		lines = append(lines, "  "+line)
	}
	return lines
}

// detail is what `foundry show` says of a visit, without the line that names it.
func (m *Model) detail(name string, visit, width int) []string {
	style := m.style
	style.Width = width
	text, err := m.trace.Detail(name, visit, style, report.Facts{Graph: m.o.Graph, Records: m.o.Records, Now: m.now, Live: true})
	if err != nil {
		return nil
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return lines[1:]
}

// evidenceLines are all lines of the visit that is open, as wide as the screen at most.
func (m *Model) evidenceLines() []string {
	var lines []string
	for _, line := range m.detail(m.shown.Phase, m.shown.N, m.width) {
		lines = append(lines, wrap(line, m.width)...)
	}
	if p := m.trace.Phase(m.shown.Phase); p.Status == "running" && p.Newest().N == m.shown.N {
		key := m.shown
		for _, list := range [][]string{m.acts[key], m.output[key]} {
			if len(list) == 0 {
				continue
			}
			lines = append(lines, "")
			for _, line := range list {
				lines = append(lines, wrap("  "+line, m.width)...)
			}
		}
	}
	return lines
}

// evidence draws the part of it that there is room for.
func (m *Model) evidence() []string {
	all := m.evidenceLines()
	p := m.trace.Phase(m.shown.Phase)
	title := report.Line(m.shown.Phase)
	if len(p.Visits) > 1 {
		title = fmt.Sprintf("%s@%d of %d", title, m.shown.N, len(p.Visits))
	}
	room := m.evidenceRoom()
	more := ""
	if len(all) > room {
		more = fmt.Sprintf("%d-%d of %d lines", m.scroll+1, min(m.scroll+room, len(all)), len(all))
	}
	return append([]string{m.rule(m.width, title, more)}, all[min(m.scroll, len(all)):min(m.scroll+room, len(all))]...)
}
