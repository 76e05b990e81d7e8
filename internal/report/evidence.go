package report

import (
	"fmt"
	"strings"

	"foundry/gates"
	"foundry/runner"
)

// This file draws what the verdict of a run rests on: what was checked and what was not, the terms of acceptance,
// and what went on outside the rules.

// finding is one thing that was checked, and what came of it.
type finding struct {
	phase, what, found string
	paint              Paint
}

// checks are what was checked, phase by phase, and the gates that nothing was verified by.
func (t *Trace) checks() (rows []finding, empty []string) {
	add := func(p Paint, phase, what, found string) { rows = append(rows, finding{phase, what, found, p}) }
	for _, p := range t.Phases {
		v := p.Newest()
		if v == nil {
			continue
		}
		for _, g := range v.Gates {
			switch g.Outcome {
			case "passed":
				add(Green, p.Name, g.Name, g.looked())
			case "empty":
				add(Dim, p.Name, g.Name, "–")
				empty = append(empty, fmt.Sprintf("%s (%s)", g.Name, p.Name))
			default:
				add(Red, p.Name, g.Name, g.failed())
			}
		}
		if n := len(v.Reviews); n > 0 { // those before it judged earlier attempts
			r := &v.Reviews[n-1]
			add(r.paint(), p.Name, "review by "+r.Agent, r.found())
		}
		if v.Result != nil && v.Commit == "" {
			paint := Green
			if v.Status == "fail" {
				paint = Red
			}
			found := howEnded(v.Result)
			if v.Reused != nil {
				found += ", " + upToDate(v.Reused)
			}
			if v.Status == "fail" && v.Reason != "exit" && v.Reason != "timeout" {
				found += ", but " + reasonText(v.Reason)
			}
			add(paint, p.Name, firstLine(v.Result.Command), found+notesOf(v.Result.Notes))
		}
		if v.Result != nil && v.Commit != "" && len(v.Result.Notes) > 0 {
			add(Dim, p.Name, "git commit", firstLine(strings.Join(v.Result.Notes, "; ")))
		}
		if approved := v.report().Approved; approved != nil && *approved {
			add(Green, p.Name, "verdict", "approved")
		} else if approved != nil {
			add(Red, p.Name, "verdict", "not approved: "+v.complaint())
		}
		if v.Answer != "" {
			paint := Green
			if v.Answer != "approve" {
				paint = Red
			}
			add(paint, p.Name, "asked "+first(v.Who, "a person"), v.note())
		}
	}
	for i := range t.Criteria {
		c := &t.Criteria[i]
		paint, found := c.found()
		add(paint, "", "criterion "+c.Name, found)
	}
	return rows, empty
}

// evidence lists what was checked, and then what nothing was verified by.
func (t *Trace) evidence(b *block) {
	found, empty := t.checks()
	var rows [][3]string
	var paints []Paint
	for _, x := range found {
		rows, paints = append(rows, [3]string{x.phase, x.what, x.found}), append(paints, x.paint)
	}
	b.columns("evidence", rows, paints)
	if len(empty) > 0 {
		b.key("", Yellow, "nothing verified by "+list(empty, 4))
	}
	if t.Status == "accepted" && !t.ranSomething() {
		b.key("", Yellow, "no command has checked this: it rests on what agents and people said")
	}
}

// ranSomething says whether a command of the pipeline passed: a phase's, a criterion's, or that of a gate.
func (t *Trace) ranSomething() bool {
	for _, c := range t.Criteria {
		if c.proves() {
			return true
		}
	}
	for _, p := range t.Phases {
		v := p.Newest()
		if v == nil {
			continue
		}
		if v.Result != nil && v.Status == "success" && !strings.HasPrefix(v.Result.Command, "git ") && v.Result.Command != "noop" {
			return true
		}
		for _, g := range v.Gates {
			if g.Outcome == "passed" && startsCommand(g.Name) {
				return true
			}
		}
	}
	return false
}

// startsCommand says whether a gate may rest on a command: those that only look at files and reports do not; what a
// gate of the file's own does is not in the log.
func startsCommand(name string) bool {
	info, builtin := gates.Find(name)
	return !builtin || info.Kind == gates.CommandPasses || info.Kind == gates.TestsRan
}

func notesOf(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return "; " + firstLine(strings.Join(notes, "; "))
}

// columns draws rows of three texts under a key, the first two as wide as they must be.
func (b *block) columns(name string, rows [][3]string, paints []Paint) {
	first, second := 0, 0
	for _, r := range rows {
		first, second = max(first, width(r[0])), max(second, width(r[1]))
	}
	first, second = min(first, longestName), min(second, 26)
	for i, r := range rows {
		left := 2 + keyColumns + first + 2 + second + 2
		b.line("  " + b.style.Paint(Dim, pad(name, keyColumns)) + pad(cut(flat(r[0]), first), first) + "  " +
			pad(cut(flat(r[1]), second), second) + "  " + b.style.Paint(paints[i], cut(flat(r[2]), b.room(left))))
		name = ""
	}
}

// looked says what a gate that passed looked at.
func (g Gate) looked() string {
	var items []string
	for _, c := range g.Checks {
		items = append(items, c.Item+wrapped(firstLine(c.Note)))
	}
	if len(items) == 0 {
		return "passed"
	}
	return list(items, 3)
}

func wrapped(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}

// failed names the first check that failed.
func (g Gate) failed() string {
	text, n := "", 0
	for _, c := range g.Checks {
		if !c.OK {
			if n++; n == 1 {
				text = c.Item + prefixed(": ", firstLine(c.Note))
			}
		}
	}
	return first(text, "failed") + more(n-1)
}

// acceptance shows the terms that decided, with the values they had.
func (t *Trace) acceptance(b *block) {
	if t.Ended == nil && t.Status != "interrupted" {
		return
	}
	var texts []string
	for _, s := range t.Seen {
		texts = append(texts, s.Term+" is "+firstLine(s.Value))
	}
	b.key("accept", Plainly, texts...)
	if left := t.leftOutBy(); left != "" {
		b.key("", Yellow, "only part of the pipeline ran: "+left)
	}
}

// leftOutBy says what --from and --until left out, "" when nothing.
func (t *Trace) leftOutBy() string {
	names := map[string][]string{}
	var whys []string
	for _, p := range t.Phases {
		if p.Status != "not_run" || !runner.LeftOut(p.Why) {
			continue
		}
		if names[p.Why] == nil {
			whys = append(whys, p.Why)
		}
		names[p.Why] = append(names[p.Why], p.Name)
	}
	for i, why := range whys {
		whys[i] = list(names[why], 4) + " " + isOrAre(len(names[why])) + " " + why
	}
	return strings.Join(whys, "; ")
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// trouble lists what went on outside the rules: undone changes, changes outside the worktree, processes that
// were left behind, warnings.
func (t *Trace) trouble(b *block) {
	var undone, kept []string
	for _, p := range t.Phases {
		for _, v := range p.Visits {
			for _, x := range v.Violations {
				text := flatPath(x.Path) + " by " + p.Name + ": " + x.Reason
				if x.Undone {
					undone = append(undone, text)
				} else {
					kept = append(kept, text+prefixed("; ", x.Note))
				}
			}
		}
	}
	b.key("undone", Yellow, some(undone, 6)...)
	b.key("not undone", Red, some(kept, 6)...)
	b.key("outside", Yellow, some(flatPaths(t.Outside), 6)...)
	b.key("left", Yellow, some(t.Left, 4)...)
	b.key("warning", Yellow, some(t.Warnings, 8)...)
}

// some is the first n texts, and a count of the others.
func some(texts []string, n int) []string {
	if len(texts) <= n {
		return texts
	}
	return append(texts[:n:n], fmt.Sprintf("and %d more", len(texts)-n))
}
