package report

import "foundry/runner"

// This file says what followed the end of a run, and what became of it.

// said is how a command of after ended, in a few words.
func (a *After) said() string {
	text := firstLine(a.Text)
	if a.Result != nil && a.Outcome != "running" && text == "" {
		text = howEnded(a.Result) + notesOf(a.Result.Notes)
	}
	switch a.Outcome {
	case "running":
		return "has begun, and no end of it is known"
	case "passed":
		return first(text, "passed")
	case "skipped", "unknown":
		return first(text, a.Outcome)
	}
	return "failed" + prefixed(": ", text)
}

func (a *After) paint() Paint {
	switch a.Outcome {
	case "passed":
		return Green
	case "skipped":
		return Dim
	case "failed":
		return Red
	}
	return Yellow
}

// command is what was started; "" when nothing was.
func (a *After) command() string {
	if a.Result == nil {
		return ""
	}
	return firstLine(a.Result.Command)
}

// followed shows what followed the run.
func (t *Trace) followed(b *block) {
	rows := make([][3]string, 0, len(t.After))
	paints := make([]Paint, 0, len(t.After))
	for i := range t.After {
		a := &t.After[i]
		rows, paints = append(rows, [3]string{a.ID, a.command(), a.said()}), append(paints, a.paint())
	}
	b.columns("after", rows, paints)
}

// AfterLines are the lines that tell of commands of after, for somebody who sees nothing else of the run.
func (t *Trace) AfterLines(s Style) string {
	b := block{style: s}
	t.followed(&b)
	return b.text.String()
}

// AfterTrouble names the commands of after that failed, or of which nobody knows how they ended.
func (t *Trace) AfterTrouble() []After {
	var out []After
	for _, a := range t.After {
		if a.Outcome != "passed" && a.Outcome != "skipped" {
			out = append(out, a)
		}
	}
	return out
}

// Said is how it ended, in a few words.
func (a After) Said() string { return a.said() }

func (t *Trace) afterPart() part {
	p := part{name: "What followed"}
	for i := range t.After {
		a := &t.After[i]
		p.table = append(p.table, []string{a.ID, a.On, first(a.command(), "–"), a.said()})
	}
	if len(p.table) > 0 {
		p.table = append([][]string{{"command", "after", "runs", "result"}}, p.table...)
	}
	return p
}

// after draws the start or the end of such a command.
func (p *Plain) after(e *runner.Event) string {
	if e.Kind == runner.AfterStarted {
		return p.line(e, Dim, "after", e.After+prefixed(": ", firstLine(e.Result.Command)))
	}
	a := After{Outcome: e.Outcome, Text: e.Text, Result: e.Result}
	line := p.line(e, a.paint(), "after", e.After+" "+a.said())
	if e.Outcome == "failed" && e.Result != nil {
		line += p.tail(e.Result)
	}
	return line
}
