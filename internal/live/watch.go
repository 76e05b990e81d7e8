package live

import (
	"strings"

	"foundry/graph"
	"foundry/internal/report"
	"foundry/runner"
)

// This file is what a watch adds to the view: runs that follow each other on one screen, what they began for, findings of
// the pipeline file in place, and the phases that the newest run leaves as an earlier one left them.

// Next begins the next run of a watch. Graph is the pipeline in force.
type Next struct {
	Graph   *graph.Graph
	Run     string
	Records string
}

// InForce is the pipeline that the next run will go by, when it has changed or before there is one.
type InForce struct{ Graph *graph.Graph }

// Cause says what the next run begins for.
type Cause struct{ Text string }

// Findings are what is wrong with the pipeline file, as lines below a title; none: it is good.
type Findings struct {
	Title string
	Lines []string
}

func (Next) message()     {}
func (InForce) message()  {}
func (Cause) message()    {}
func (Findings) message() {}

// watching is what the view of a watch knows beside its newest run.
type watching struct {
	on       bool
	cause    string
	findings Findings
	left     map[string]string        // why a watch leaves phases out
	earlier  map[string]*report.Phase // of runs before: phases that ran in them
}

// next takes up another run. What an earlier one found of the phases stays known.
func (m *Model) next(msg Next) {
	if m.watch.earlier == nil {
		m.watch.earlier = map[string]*report.Phase{}
	}
	for _, p := range m.trace.Phases {
		if p.Status != "running" && p.Status != "queued" && !leftOut(p) {
			m.watch.earlier[p.Name] = p
		}
	}
	m.o.Run, m.o.Records = msg.Run, msg.Records
	m.trace = report.NewTrace(msg.Run)
	m.stage, m.path, m.jump, m.asked, m.notice = "", nil, nil, nil, ""
	m.output, m.acts = map[Visit][]string{}, map[Visit][]string{}
	m.follow = true
	if m.mode != helping {
		m.mode = browsing
	}
	m.inForce(msg.Graph)
}

// inForce shows the phases of a pipeline. Those that are there by name keep what is known of them.
func (m *Model) inForce(g *graph.Graph) {
	m.o.Graph, m.rows = g, rowsOf(g)
	m.watch.left = map[string]string{}
	if g != nil && !m.o.Agents {
		_, left := g.Watched()
		for _, l := range left {
			m.watch.left[g.Phases[l.Phase].Name] = l.Why
		}
	}
}

// shownAs is what the list shows of a phase: what the newest run knows of it, or the run before that ran it. old says
// that it is the latter.
func (m *Model) shownAs(name string) (p *report.Phase, old bool) {
	p = m.trace.Phase(name)
	if m.watch.on && (p == nil || leftOut(p)) {
		if was := m.watch.earlier[name]; was != nil {
			return was, true
		}
	}
	return p, false
}

// leftOut says that a phase is no part of a run of a watch.
func leftOut(p *report.Phase) bool { return p.Status == "not_run" && p.Why == runner.NotWatched }

// stands says how a watch stands: a word, its paint, and the time that goes with it.
func (m *Model) stands() (word string, paint report.Paint, took string) {
	if d, ok := m.trace.Elapsed(m.now); ok {
		took = report.Duration(d)
	}
	at := ""
	if m.trace.Ended != nil {
		at = "  " + m.trace.Ended.In(m.o.Zone).Format("15:04:05")
	}
	switch m.trace.Status {
	case "accepted":
		return "passed", report.Green, took + at
	case "rejected", "failed":
		return "failed", report.Red, took + at
	case "running":
		return "running", report.Cyan, took
	case "queued":
		return "waiting", report.Dim, ""
	}
	word, paint = report.Word(m.trace.Status)
	return word, paint, ""
}

// findingsPane draws what is wrong with the pipeline file.
func (m *Model) findingsPane(width int) []string {
	lines := []string{m.rule(width, m.watch.findings.Title, "")}
	lines[0] = m.paint(report.Red, strings.TrimSuffix(cut(lines[0], width), "…"))
	for _, text := range m.watch.findings.Lines {
		lines = append(lines, "  "+strings.ReplaceAll(text, "\t", "    "))
	}
	return lines
}
