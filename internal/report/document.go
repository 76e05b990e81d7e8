package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// This file makes the report of a run: what a person who was not there has to know, as a document in parts. The parts
// are built once and written as Markdown or as HTML. Every text in them is foreign until it is written: agents, commands and
// people said it. A part holds plain text only, and each writer escapes all of it.

// document is a report before it is written.
type document struct {
	title  string
	status string // the word of the outcome
	class  string // good, bad, or open while it can go on
	parts  []part
}

// part is a heading with facts, a table, a list or a drawing below it.
type part struct {
	name  string
	facts [][2]string
	table [][]string // the first row is its head
	items []string
	lines string // a drawing, kept as it is
	draw  *Trace // in HTML the drawing is made of this instead
}

// FileStat is how much of a file a run changed.
type FileStat struct {
	Path           string
	Added, Removed int
	Binary         bool
}

// ReportFacts are what a report may hold beyond the log. All of it may be left out.
type ReportFacts struct {
	Facts
	Files   []FileStat // what the run changed since its branch point
	Counted bool       // Files is known, if it is empty too
}

func (t *Trace) document(f ReportFacts) document {
	word, _ := statusWord(t.Status)
	d := document{title: first(t.Pipeline, "run") + " " + t.ID, status: word, class: "bad"}
	switch t.Status {
	case "accepted":
		d.class = "good"
	case "running", "queued", "waiting", "paused", "interrupted":
		d.class = "open"
	}
	d.parts = append(d.parts, t.outcomePart(f), t.checksPart(), t.phasesPart(f), t.routesPart(), t.timePart(f), t.filesPart(f), t.limitsPart(), t.usagePart(), t.peoplePart(), t.afterPart(), t.troublePart(), t.reusedPart())
	d.parts = slices.DeleteFunc(d.parts, func(p part) bool {
		return len(p.facts) == 0 && len(p.table) == 0 && len(p.items) == 0 && p.lines == ""
	})
	return d
}

func (p *part) fact(name, value string) {
	if value != "" {
		p.facts = append(p.facts, [2]string{name, value})
	}
}

const reportTime = "2006-01-02 15:04:05 MST"

func (t *Trace) outcomePart(f ReportFacts) part {
	p := part{name: "Outcome"}
	word, _ := statusWord(t.Status)
	p.fact("outcome", word)
	if t.Status != "accepted" && t.Status != "running" && t.Status != "queued" {
		p.fact("reason", strings.Join(t.cause(), "; "))
		p.fact("phase", t.Culprit())
		p.fact("hint", t.hint(f.Facts))
	}
	p.fact("request", t.Request)
	if t.Started != nil {
		p.fact("started", t.Started.Format(reportTime)+prefixed(" by ", t.Info.Who))
	}
	if t.Ended != nil {
		p.fact("ended", t.Ended.Format(reportTime))
	}
	if d, ok := t.Elapsed(f.Now); ok {
		p.fact("took", Duration(d))
	}
	if t.Base != "" || t.BranchPoint != "" {
		p.fact("began at", strings.TrimSpace(t.Base+" "+short(t.BranchPoint)))
	}
	switch {
	case t.Merged != nil:
		p.fact("merged", strings.TrimSpace(short(*t.Merged)+" into "+t.Base))
	case t.Dropped || t.Discarded:
		p.fact("work", "discarded"+prefixed("; its commits are kept at ", t.DroppedRef))
	case t.Info.Isolation == "checkout":
		p.fact("work", "in the checkout itself")
	default:
		p.fact("branch", t.Branch)
	}
	for _, s := range t.Seen {
		p.fact("because", s.Term+" is "+firstLine(s.Value))
	}
	p.fact("left out", t.leftOutBy())
	return p
}

// checksPart is what the verdict rests on, the same as in the final block.
func (t *Trace) checksPart() part {
	p := part{name: "Checks"}
	rows, empty := t.checks()
	if len(rows) > 0 {
		p.table = [][]string{{"phase", "check", "result"}}
		for _, r := range rows {
			p.table = append(p.table, []string{r.phase, r.what, r.found})
		}
	} else {
		p.items = append(p.items, "Nothing was verified: no gate, command, criterion or person looked at the work.")
	}
	if len(empty) > 0 {
		p.items = append(p.items, "Nothing was verified by "+list(empty, 8)+".")
	}
	if t.Status == "accepted" && len(rows) > 0 && !t.ranSomething() {
		p.items = append(p.items, "No command has checked this: it rests on what agents and people said.")
	}
	return p
}

func (t *Trace) phasesPart(f ReportFacts) part {
	p := part{name: "Phases"}
	for _, ph := range t.Phases {
		word, _ := t.word(ph, f.Facts)
		if len(ph.Visits) == 0 {
			p.table = append(p.table, []string{ph.Name, ph.Kind(f.Graph), word, "–", "–", "–", firstLine(ph.Why)})
			continue
		}
		for i, v := range ph.Visits {
			word, said := word, first(v.said(), ph.Why)
			if i < len(ph.Visits)-1 { // the phase's own are those of the newest
				word, _ = statusWord(v.Status)
				said = v.said()
			}
			took := "–"
			if end := v.until(f.Facts, t.Last); !end.Before(v.Started) {
				took = Duration(v.Took(end))
			}
			attempts := "–"
			if v.Attempts > 0 {
				attempts = fmt.Sprint(v.Attempts)
			}
			p.table = append(p.table, []string{fmt.Sprintf("%s@%d", ph.Name, v.N), ph.Kind(f.Graph), word, took, attempts, first(v.Agent, "–"), firstLine(said)})
		}
	}
	if len(p.table) > 0 {
		p.table = append([][]string{{"visit", "kind", "status", "time", "attempts", "agent", "said"}}, p.table...)
	}
	return p
}

// routesPart lists the rules that were taken, in the order of time.
func (t *Trace) routesPart() part {
	p := part{name: "Routes taken"}
	type taken struct {
		at  time.Time
		row []string
	}
	var all []taken
	for _, ph := range t.Phases {
		for _, v := range ph.Visits {
			for _, r := range v.Spent {
				all = append(all, taken{v.Ended, []string{fmt.Sprintf("%s@%d", ph.Name, v.N), r.To, fmt.Sprintf("used up: %d of %d", r.Used, r.Of), r.Rule, Terms(r.Seen)}})
			}
			if r := v.Route; r != nil {
				used := "–"
				if r.Of > 0 {
					used = fmt.Sprintf("%d of %d", r.Used, r.Of)
				}
				all = append(all, taken{v.Ended, []string{fmt.Sprintf("%s@%d", ph.Name, v.N), r.To, used, r.Rule, Terms(r.Seen)}})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b taken) int { return a.at.Compare(b.at) })
	for _, x := range all {
		p.table = append(p.table, x.row)
	}
	if len(p.table) > 0 {
		p.table = append([][]string{{"from", "to", "used", "rule", "where"}}, p.table...)
	}
	return p
}

func (t *Trace) timePart(f ReportFacts) part {
	return part{name: "Time", lines: t.Waterfall(Style{Width: 100}, f.Facts), draw: t}
}

// filesPart lists the files that changed, with the phases that wrote them.
func (t *Trace) filesPart(f ReportFacts) part {
	p := part{name: "Files changed"}
	by := map[string][]string{}
	var paths []string
	for _, ph := range t.Phases {
		for _, v := range ph.Visits {
			for _, path := range v.Changed {
				if by[path] == nil {
					paths = append(paths, path)
				}
				if !slices.Contains(by[path], ph.Name) {
					by[path] = append(by[path], ph.Name)
				}
			}
		}
	}
	if !f.Counted {
		slices.Sort(paths)
		for _, path := range paths {
			p.table = append(p.table, []string{flatPath(path), "unknown", list(by[path], 4)})
		}
	}
	for _, file := range f.Files {
		lines := "+" + thousands(file.Added) + " -" + thousands(file.Removed)
		if file.Binary {
			lines = "binary"
		}
		p.table = append(p.table, []string{flatPath(file.Path), lines, first(list(by[file.Path], 4), "–")})
	}
	if len(p.table) == 0 {
		p.items = []string{"None."}
		return p
	}
	p.table = append([][]string{{"file", "lines", "phases"}}, p.table...)
	return p
}

func (t *Trace) usagePart() part {
	p := part{name: "Tokens and cost"}
	if t.Usage.Turns == 0 {
		p.items = []string{"No agent had a turn."}
		return p
	}
	tokens := "not reported"
	if t.Usage.Tokens != nil {
		tokens = thousands(*t.Usage.Tokens)
	}
	p.fact("turns", thousands(t.Usage.Turns))
	p.fact("tokens", tokens)
	p.fact("cost", Cost(t.Usage.Cost))
	p.table = [][]string{{"visit", "agent", "harness", "turns", "tokens", "cost"}}
	for _, ph := range t.Phases {
		for _, v := range ph.Visits {
			if v.Turns == 0 {
				continue
			}
			cost, tokens := "not reported", "not reported"
			if v.CostKnown {
				cost = Cost(&v.Cost)
			}
			if v.TokensKnown {
				tokens = thousands(v.Tokens)
			}
			p.table = append(p.table, []string{fmt.Sprintf("%s@%d", ph.Name, v.N), v.Agent, v.Harness, fmt.Sprint(v.Turns), tokens, cost})
		}
	}
	if len(p.table) == 1 {
		p.table = nil
	}
	return p
}

// limitsPart lists what the request forbids, as the newest plans have it.
func (t *Trace) limitsPart() part {
	p := part{name: "Forbidden by the request"}
	for _, ph := range t.Phases {
		if v := ph.Newest(); v != nil {
			for _, text := range v.limits() {
				p.items = append(p.items, text+" ("+ph.Name+")")
			}
		}
	}
	return p
}

// peoplePart lists what people decided, and what still waits for one.
func (t *Trace) peoplePart() part {
	p := part{name: "Decisions by people"}
	for _, ph := range t.Phases {
		for _, v := range ph.Visits {
			for _, a := range v.Permits {
				p.table = append(p.table, []string{fmt.Sprintf("%s@%d", ph.Name, v.N), firstLine(a.Question), a.word(), first(a.Who, "–"), firstLine(a.Note)})
			}
			switch {
			case v.Answer != "":
				p.table = append(p.table, []string{fmt.Sprintf("%s@%d", ph.Name, v.N), firstLine(v.Question), v.Answer, first(v.Who, "unknown"), firstLine(v.Note)})
			case v.Question != "" && v.Status == "waiting":
				p.table = append(p.table, []string{fmt.Sprintf("%s@%d", ph.Name, v.N), firstLine(v.Question), "not answered yet", "–", ""})
			}
		}
	}
	if len(p.table) > 0 {
		p.table = append([][]string{{"visit", "question", "answer", "who", "note"}}, p.table...)
	}
	return p
}

// troublePart lists what went on outside the rules, all of it.
func (t *Trace) troublePart() part {
	p := part{name: "Problems and warnings"}
	add := func(what, text string) { p.table = append(p.table, []string{what, text}) }
	for _, ph := range t.Phases {
		for _, v := range ph.Visits {
			name := fmt.Sprintf("%s@%d", ph.Name, v.N)
			if v.Status == "fail" || v.Status == "rejected" || v.Status == "blocked" || v.Status == "stopped" || v.Status == "unverified" {
				word, _ := statusWord(v.Status)
				add(word, name+prefixed(": ", first(firstLine(v.said()), reasonText(v.Reason))))
			}
			if v.Retold > 0 {
				add("asked again", name+": "+count(v.Retold, "reply")+" could not be read")
			}
			for _, x := range v.Violations {
				word := "undone"
				if !x.Undone {
					word = "not undone"
				}
				add(word, flatPath(x.Path)+" by "+name+" ("+x.Change+"): "+x.Reason+prefixed("; ", x.Note))
			}
			if v.Invalid {
				add("void", name+": the workspace was edited afterwards")
			}
		}
	}
	for _, path := range t.Outside {
		add("changed outside", flatPath(path))
	}
	for _, text := range t.Left {
		add("left running", text)
	}
	for _, text := range t.Warnings {
		add("warning", text)
	}
	if len(p.table) > 0 {
		p.table = append([][]string{{"what", "where"}}, p.table...)
	}
	return p
}

// reusedPart lists the evidence that is from an earlier visit.
func (t *Trace) reusedPart() part {
	p := part{name: "Evidence from earlier"}
	for _, ph := range t.Phases {
		for _, v := range ph.Visits {
			if r := v.Reused; r != nil {
				p.table = append(p.table, []string{fmt.Sprintf("%s@%d", ph.Name, v.N), r.Run, fmt.Sprintf("%s@%d", r.Phase, r.Visit), r.At.Format(reportTime)})
			}
		}
	}
	if len(p.table) > 0 {
		p.table = append([][]string{{"visit", "from run", "from visit", "of"}}, p.table...)
	}
	return p
}
