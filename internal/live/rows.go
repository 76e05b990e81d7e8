package live

import (
	"fmt"
	"strings"
	"time"

	"foundry/internal/report"
)

// This file draws the list of phases, one line each. A line stays where it is from the first event to the last, and
// no column of it moves.

// row is a phase in the list.
type row struct {
	name   string
	label  string // as its own pipeline calls it
	depth  int    // 1 for a phase of a called pipeline
	detour bool
}

// Columns of the list. What has no room is left out from the right.
const (
	visitColumns = 4
	timeColumns  = 6
	tokenColumns = 6
	longestName  = 26

	toCome   = "┄┄┄┄"       // in place of a status
	upToDate = "up to date" // in place of passed
)

// columns says which columns there is room for.
type columns struct {
	name   int
	word   int
	tokens bool
	note   int // 0 is none
}

func (m *Model) columns(width int) columns {
	c := columns{name: 5, word: max(report.WordColumns(), columnsOf(upToDate))}
	for _, r := range m.rows {
		c.name = max(c.name, columnsOf(r.label)+2*r.depth)
	}
	rest := width - 4 - 2 - c.word - visitColumns - 2 - timeColumns
	c.name = max(4, min(c.name, longestName, rest))
	rest -= c.name + 2
	if c.tokens = rest >= tokenColumns; c.tokens {
		rest -= tokenColumns + 2
	}
	if rest >= 8 {
		c.note = rest
	}
	return c
}

// line puts the cells of a row into their columns.
func (c columns) line(mark, name, word, visits, took, tokens, note string) string {
	text := mark + " " + fit(name, c.name) + "  " + fit(word, c.word) + fitLeft(visits, visitColumns) + "  " + fitLeft(took, timeColumns)
	if c.tokens {
		text += "  " + fitLeft(tokens, tokenColumns)
	}
	if c.note > 0 {
		text += "  " + fit(note, c.note)
	}
	return text
}

// list draws the rows that there is room for.
func (m *Model) list(width, height int) []string {
	c := m.columns(width)
	var lines []string
	for i := m.top; i < min(m.top+height, len(m.rows)); i++ {
		lines = append(lines, m.row(c, &m.rows[i], i == m.cursor))
	}
	return lines
}

// heads names the columns, and says at their end which part of the list is on the screen.
func (m *Model) heads(width, height int) string {
	part := ""
	if len(m.rows) > height {
		part = m.part(height)
	}
	line := strings.TrimRight(m.columns(width).line("   ", "phase", "status", "", "time", "tokens", ""), " ")
	return m.paint(report.Dim, fit(line, width-columnsOf(part)-1)+part)
}

// part says which phases of all are on the screen.
func (m *Model) part(height int) string {
	return fmt.Sprintf("%d-%d of %d", m.top+1, min(m.top+height, len(m.rows)), len(m.rows))
}

// row draws one phase.
func (m *Model) row(c columns, r *row, selected bool) string {
	p, old := m.shownAs(r.name)
	status := "queued"
	if p != nil {
		status = p.Status
	}
	word, paint := report.Word(status)
	pointer, name := " ", indent(r.depth)+r.label
	if selected {
		pointer = m.paint(report.Bold, "›")
		name = m.paint(report.Bold, fit(name, c.name))
	}
	visits, took, tokens := "", "", ""
	if p != nil && len(p.Visits) > 0 {
		if len(p.Visits) > 1 {
			visits = fmt.Sprintf("×%d", len(p.Visits))
		}
		took, tokens = m.took(p), spent(p)
	}
	mark := m.mark(status)
	switch status {
	case "queued":
		word = toCome
		if !selected {
			name = m.paint(report.Dim, name)
		}
	case "skipped", "not_run":
		if !selected {
			name = m.paint(report.Dim, name)
		}
	}
	if p != nil && p.Newest() != nil && p.Newest().Reused != nil && status == "success" {
		word = upToDate
	}
	note := m.note(r, p)
	if why := m.watch.left[r.name]; why != "" && (p == nil || p.Newest() == nil) {
		mark, word, note = "–", "left out", m.paint(report.Dim, why)
	}
	if old {
		paint, took = report.Dim, m.paint(report.Dim, took)
	}
	return c.line(pointer+" "+m.paint(paint, mark), name, m.paint(paint, word), visits, took, m.paint(report.Dim, tokens), note)
}

// mark is a sign for a status, for those who do not see colours.
func (m *Model) mark(status string) string {
	switch status {
	case "success":
		return "✓"
	case "fail", "rejected":
		return "✗"
	case "running":
		const frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
		turn := []rune(frames)
		return string(turn[int(m.now.UnixMilli()/100)%len(turn)])
	case "waiting":
		return "?"
	case "blocked", "unverified":
		return "!"
	case "stopped":
		return "■"
	case "queued":
		return "┄"
	}
	return "–"
}

// note is a word about the phase: what it does, what it said, where its rule led.
func (m *Model) note(r *row, p *report.Phase) string {
	var v *report.Visit
	if p != nil {
		v = p.Newest()
	}
	switch {
	case p == nil || v == nil && p.Status == "queued":
		if r.detour {
			return m.paint(report.Dim, "only when a route leads here")
		}
		return ""
	case v == nil || p.Status == "skipped" || p.Status == "not_run":
		return m.paint(report.Dim, report.Line(p.Why))
	case p.Status == "queued":
		return m.paint(report.Dim, "again")
	case p.Status == "running":
		return m.paint(report.Dim, m.activity(p, v))
	}
	said := report.Line(v.Said())
	if v.Route != nil && v.Route.To != "next" && v.Route.To != "" {
		arrow := m.paint(report.Cyan, "→ "+v.Route.Label())
		if said == "" {
			return arrow
		}
		return arrow + m.paint(report.Dim, "  "+said)
	}
	return m.paint(report.Dim, said)
}

// activity is what a running phase does just now.
func (m *Model) activity(p *report.Phase, v *report.Visit) string {
	doing := report.Doing(m.o.Graph, p.Name)
	if v.Calls != "" {
		return "pipeline " + report.Line(v.Calls)
	}
	if v.Each != "" {
		return m.itemsOf(v)
	}
	if v.Due != "" {
		return "done, " + report.Line(v.Due)
	}
	if v.Reviewing != "" {
		return "review by agent " + report.Line(v.Reviewing)
	}
	if acts := m.acts[Visit{p.Name, v.N}]; len(acts) > 0 {
		return acts[len(acts)-1]
	}
	if m.o.Graph != nil {
		if id, ok := m.o.Graph.Lookup(p.Name); ok && m.o.Graph.Phases[id].Repeat > 1 {
			done := 0
			if v.Result != nil {
				done = v.Result.Round
			}
			doing += fmt.Sprintf(", run %d of %d", min(done+1, m.o.Graph.Phases[id].Repeat), m.o.Graph.Phases[id].Repeat)
		}
	}
	if v.Attempts > 1 {
		doing += fmt.Sprintf(", attempt %d", v.Attempts)
	}
	return doing
}

// itemsOf says how far the items of a visit have come.
func (m *Model) itemsOf(v *report.Visit) string {
	ended := 0
	for _, it := range v.Items {
		if p := m.trace.Phase(it.Name); p != nil && p.Status != "queued" && p.Status != "running" && p.Status != "waiting" {
			ended++
		}
	}
	return fmt.Sprintf("%d of %d items have ended", ended, len(v.Items))
}

// took is how long all visits of a phase took together.
func (m *Model) took(p *report.Phase) string {
	var sum time.Duration
	for _, v := range p.Visits {
		sum += v.Took(m.now)
	}
	return report.Duration(sum)
}

// spent is how many tokens all visits of a phase took, "" when none was told.
func spent(p *report.Phase) string {
	sum := 0
	for _, v := range p.Visits {
		sum += v.Tokens
	}
	if sum == 0 {
		return ""
	}
	return amount(sum)
}
