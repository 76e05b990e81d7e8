package runner

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"foundry/dsl"
	"foundry/graph"
)

// This file owns feedback: kept per source and target, the newest only, delivered in full once.

// maxFeedback is the size in bytes of one source's feedback.
const maxFeedback = 16 << 10

// carry is the text that a rule hands on: its own, else what the outcome says by itself. A pass says nothing.
func (m *machine) carry(p graph.PhaseID, rule graph.Rule, o outcome) (string, error) {
	if rule.Action != dsl.Goto {
		return "", nil
	}
	if rule.With != nil {
		text, _, err := rule.With.String(m.values(p, m.s.phases[p].current()))
		return clip(text), err
	}
	if o == passed || o == skipped {
		return "", nil
	}
	return clip(m.said(p)), nil
}

func clip(text string) string {
	if len(text) <= maxFeedback {
		return text
	}
	cut := len(text) - maxFeedback
	for cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut++
	}
	return "[the beginning is left out]\n" + text[cut:]
}

// said is what a failed or rejected phase has to say for itself.
func (m *machine) said(p graph.PhaseID) string {
	ph, r := &m.g.Phases[p], m.s.phases[p].current()
	var b strings.Builder
	switch {
	case r == nil:
	case ph.Kind == graph.Ask:
		b.WriteString(r.text)
		if r.text == "" {
			b.WriteString("rejected without a note")
		}
	case ph.Body() != nil:
		b.WriteString(m.saidOfCall(p, r))
	case r.command != nil:
		fmt.Fprintf(&b, "%s: %s", r.command.Command, howItEnded(r.command))
		for _, name := range r.command.Missing {
			fmt.Fprintf(&b, "\noutput %q was not found", name)
		}
		if out := lastLines(r.command.Output, 60); out != "" {
			b.WriteString("\n" + out)
		}
		if found := checksText(r.violations, r.gates); found != "" {
			b.WriteString("\n" + found)
		}
	case r.outcome == rejected:
		b.WriteString(objections(r))
	case r.reason == ReasonBoundary || r.reason == ReasonGate:
		b.WriteString(checksText(r.violations, r.gates))
	default:
		b.WriteString(r.reason)
		if r.text != "" {
			b.WriteString(": " + r.text)
		}
	}
	return strings.TrimSpace(b.String())
}

// saidOfCall is how a call ended, and what the phase that ended it has to say.
func (m *machine) saidOfCall(p graph.PhaseID, r *result) string {
	text := r.reason
	if r.text != "" {
		text += ": " + r.text
	}
	if m.g.Phases[p].Each != nil {
		return strings.TrimSpace(text + "\n" + m.saidOfItems(p))
	}
	if f := m.frame(p); f != nil && f.ender >= 0 {
		if more := m.said(f.ender); more != "" {
			text += "\n" + more
		}
	}
	return text
}

func howItEnded(c *CommandResult) string {
	how := fmt.Sprintf("exit %d", c.Exit)
	switch {
	case c.Timeout:
		how = "timed out"
	case c.Signal != "":
		how = "ended by " + c.Signal
	}
	if c.Of > 1 {
		how += fmt.Sprintf(" in run %d of %d", c.Round, c.Of)
	}
	return how
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}

// objections are a review's blocking points and unmet findings.
func objections(r *result) string {
	var lines []string
	if list, ok := r.envelope["blocking"].([]any); ok {
		for _, b := range list {
			lines = append(lines, "- "+dsl.Text(b))
		}
	}
	if list, ok := r.envelope["findings"].([]any); ok {
		for _, f := range list {
			finding, ok := f.(map[string]any)
			if !ok {
				lines = append(lines, "- "+dsl.Text(f))
				continue
			}
			if met, ok := finding["met"].(bool); ok && met {
				continue
			}
			line := "- not met: " + dsl.Text(finding["requirement"])
			if evidence := dsl.Text(finding["evidence"]); evidence != "" {
				line += " (" + evidence + ")"
			}
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		if summary, _ := r.envelope["summary"].(string); summary != "" {
			return summary
		}
		return "rejected without a reason"
	}
	return strings.Join(lines, "\n")
}

func violationLine(v Violation) string {
	line := fmt.Sprintf("- %s (%s): %s", quote(v.Path), v.Change, v.Reason)
	switch {
	case v.Undone:
		line += "; it was undone"
	case v.Note != "":
		line += "; it was not undone: " + v.Note
	default:
		line += "; it was not undone"
	}
	return line
}

// checksText lists what boundary and gates found.
func checksText(violations []Violation, verdicts []gateVerdict) string {
	var lines []string
	for _, v := range violations {
		lines = append(lines, violationLine(v))
	}
	for _, g := range verdicts {
		if !g.failed() {
			continue
		}
		n := 0
		for _, c := range g.event.Checks {
			if c.OK {
				continue
			}
			line := "- " + g.gate + ": " + c.Item
			if c.Note != "" {
				line += ": " + c.Note
			}
			lines = append(lines, line)
			n++
		}
		if n == 0 {
			lines = append(lines, "- "+g.gate+": failed")
		}
	}
	return strings.Join(lines, "\n")
}

// deliver puts feedback into a phase's inbox in place of what the same source said before.
func (m *machine) deliver(from, to graph.PhaseID, text string) {
	ph := m.edit(to)
	inbox := slices.DeleteFunc(slices.Clone(ph.inbox), func(n note) bool { return n.source == from })
	if text != "" {
		inbox = append(inbox, note{source: from, visit: m.s.phases[from].round(), text: text})
	}
	ph.inbox = inbox
	m.index(to)
}

// expire takes back what a phase said before, now that it has ended again; what it has to say this time
// follows with its rule.
func (m *machine) expire(from graph.PhaseID) {
	for p := range m.s.told.All {
		if slices.ContainsFunc(m.s.phases[p].inbox, func(n note) bool { return n.source == from }) {
			ph := m.edit(p)
			ph.inbox = slices.DeleteFunc(slices.Clone(ph.inbox), func(n note) bool { return n.source == from })
		}
	}
}

// handOver is the feedback that a visit is given: what is new in full, what was given before as one line.
// One note alone is its text and nothing else; several are headed by their sources.
func (m *machine) handOver(p graph.PhaseID) string {
	ph := m.edit(p)
	slices.SortStableFunc(ph.inbox, func(a, b note) int { return m.s.plan.rank[a.source] - m.s.plan.rank[b.source] })
	text := feedbackText(m.g, ph.inbox)
	ph.inbox = slices.Clone(ph.inbox)
	for i := range ph.inbox {
		ph.inbox[i].given = true
	}
	return text
}

func feedbackText(g *graph.Graph, inbox []note) string {
	if len(inbox) == 1 && !inbox[0].given {
		return inbox[0].text
	}
	var fresh, old []string
	for _, n := range inbox {
		name := g.Phases[n.source].Name
		if n.given {
			old = append(old, fmt.Sprintf("%s said in round %d, not checked since: %s", name, n.visit, firstLine(n.text)))
		} else {
			fresh = append(fresh, fmt.Sprintf("%s (round %d):\n%s", name, n.visit, n.text))
		}
	}
	if len(fresh) == 0 {
		return strings.Join(old, "\n")
	}
	return strings.Join(append(fresh, old...), "\n\n")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if len(line) > 200 {
		line = strings.ToValidUTF8(line[:200], "") + "…"
	}
	return line
}

func quote(s string) string { return fmt.Sprintf("%q", s) }
