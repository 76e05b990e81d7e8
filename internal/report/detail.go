package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"

	"foundry/gates"
	"foundry/runner"
)

// PhaseArg splits what a person writes for a phase of a run: build is its newest visit (0), build@2 the second.
func PhaseArg(arg string) (name string, visit int, err error) {
	at := strings.LastIndex(arg, "@")
	if at < 0 || strings.Contains(arg[at:], "]") { // it stands in the key of an item
		return arg, 0, nil
	}
	name, number := arg[:at], arg[at+1:]
	visit, err = strconv.Atoi(number)
	if err != nil || visit < 1 {
		return "", 0, fmt.Errorf("%q is no visit of a phase; write one as %s@2", arg, name)
	}
	return name, visit, nil
}

// Lookup finds a visit of a phase, 0 for the newest, or says in the user's words why there is none.
func (t *Trace) Lookup(name string, visit int) (*Phase, *Visit, error) {
	p := t.Phase(name)
	if p == nil {
		var names []string
		for _, p := range t.Phases {
			names = append(names, p.Name)
		}
		return nil, nil, fmt.Errorf("run %s has no phase %q; it has %s", t.ID, name, list(names, 12))
	}
	v := p.visit(visit)
	if v == nil && visit == 0 {
		word, _ := statusWord(p.Status)
		return p, nil, fmt.Errorf("phase %q of run %s was not entered: it is %s%s", name, t.ID, word, prefixed(", ", p.Why))
	}
	if v == nil {
		return p, nil, fmt.Errorf("phase %q of run %s was entered %s, so there is no %s@%d", name, t.ID, times(len(p.Visits)), name, visit)
	}
	return p, v, nil
}

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// Detail draws one visit of a phase: why it was entered, what it was given, what it did, what was checked and
// where the files are. visit 0 is the newest.
func (t *Trace) Detail(name string, visit int, s Style, f Facts) (string, error) {
	p, v, err := t.Lookup(name, visit)
	if err != nil {
		return "", err
	}
	b := block{style: s}
	b.line(s.Paint(Bold, fmt.Sprintf("%s@%d", flat(p.Name), v.N)) + "  " + s.Paint(Dim, fmt.Sprintf("of %d in %s", len(p.Visits), t.ID)))
	word, paint := statusWord(v.Status)
	if v == p.Newest() && v.Ended.IsZero() {
		word, paint = t.word(p, f)
	}
	v.outcome(&b, f, word, paint)
	v.entered(&b)
	v.did(&b)
	v.checked(&b)
	b.key("forbids", Plainly, v.limits()...)
	v.left(&b)
	t.itemsTable(&b, p, v, f)
	if len(v.Envelope) > 0 {
		b.gap()
		b.line("  " + s.Paint(Dim, "envelope"))
		b.indent("    ", Plainly, indented(v.Envelope))
	}
	if v.Result != nil && v.Result.Output != "" {
		b.gap()
		b.line("  " + s.Paint(Dim, "output") + s.Paint(Dim, ", its end"))
		b.indent("    ", Plainly, strings.Join(lastLines(v.Result.Output, 40), "\n"))
	}
	if len(v.Files) > 0 {
		b.gap()
		var files []string
		for _, file := range v.Files {
			files = append(files, path.Join(f.Records, file))
		}
		b.key("files", Plainly, files...)
	}
	return b.text.String(), nil
}

// indent writes a text of several lines, each behind a margin.
func (b *block) indent(margin string, p Paint, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(clean(text), "\n"), "\n") {
		b.line(margin + b.style.Paint(p, line))
	}
}

func indented(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

func (v *Visit) outcome(b *block, f Facts, word string, paint Paint) {
	text := word
	if v.Reason != "" {
		text += ": " + reasonText(v.Reason)
	}
	if v.Invalid {
		text += "; void since"
	}
	b.key("status", paint, text)
	if said := firstLine(v.Text); said != "" && said != reasonText(v.Reason) {
		b.key("", Plainly, said)
	}
	if v.Calls != "" {
		b.key("pipeline", Plainly, v.Calls)
		b.key("accept", Plainly, seenTexts(v.Seen)...)
	}
	if v.Each != "" {
		b.key("each", Plainly, v.Each)
	}
	if v.Hint != "" {
		b.key("hint", Yellow, firstLine(v.Hint))
	}
	if v.Worktree != "" && v.Ended.IsZero() {
		b.key("worktree", Plainly, v.Worktree)
		b.key("", Plainly, v.Due)
	}
	if v.Agent != "" {
		b.key("agent", Plainly, v.Agent+prefixed(", by harness ", v.Harness)+prefixed(", model ", v.Model))
	}
	var parts []string
	if !v.Ended.IsZero() {
		parts = append(parts, Duration(v.Took(f.Now)))
	} else if f.Now.After(v.Started) {
		parts = append(parts, Duration(v.Took(f.Now))+" up to now")
	}
	if v.Attempts > 0 {
		parts = append(parts, count(v.Attempts, "attempt"))
	}
	if v.Turns > 0 {
		parts = append(parts, count(v.Turns, "turn"))
		if v.Retold > 0 {
			parts = append(parts, count(v.Retold, "report")+" not usable")
		}
		cost := &v.Cost
		if !v.CostKnown {
			cost = nil
		}
		if v.Tokens > 0 {
			parts = append(parts, count(v.Tokens, "token"))
		}
		parts = append(parts, Cost(cost))
	}
	b.key("took", Plainly, strings.Join(parts, ", "))
}

// entered says what led to the visit and what it was given.
func (v *Visit) entered(b *block) {
	if r := v.From; r != nil {
		text := "from " + r.From
		if r.Of > 0 {
			text += fmt.Sprintf(" (%d of %d)", r.Used, r.Of)
		}
		b.key("entered", Plainly, text+prefixed(" by: ", r.Rule))
		b.key("", Dim, seenTexts(r.Seen)...)
	}
	b.key("entered", Plainly, prefixed("since ", v.JudgedAgain))
	if v.Feedback != "" {
		b.key("feedback", Plainly, some(splitLines(v.Feedback), 20)...)
	}
}

func seenTexts(seen []runner.Seen) []string {
	var texts []string
	for _, s := range seen {
		texts = append(texts, s.Term+" is "+firstLine(s.Value))
	}
	return texts
}

func splitLines(text string) []string {
	return strings.Split(strings.TrimRight(clean(text), "\n"), "\n")
}

// did says what the visit did to the workspace, or what a person said.
func (v *Visit) did(b *block) {
	if v.Question != "" {
		b.key("question", Plainly, splitLines(v.Question)...)
	}
	if v.Answer != "" {
		b.key("answer", Plainly, v.note())
	}
	for _, a := range v.Permits {
		b.key("permission", Plainly, flat(a.Question)+" "+a.word()+prefixed(" by ", a.Who)+prefixed(": ", firstLine(a.Note)))
	}
	if v.Result != nil {
		b.key("command", Plainly, firstLine(v.Result.Command))
		if v.Reused != nil {
			b.key("not run", Plainly, upToDate(v.Reused))
		}
		if v.Because != "" {
			b.key("because", Plainly, v.Because)
		}
		b.key("exit", Plainly, howEnded(v.Result)+" after "+millis(v.Result))
		b.key("note", Yellow, v.Result.Notes...)
	}
	if v.Commit != "" {
		b.key("commit", Plainly, short(v.Commit))
	}
	b.key("changed", Plainly, some(flatPaths(v.Changed), 20)...)
	for _, x := range v.Violations {
		key, paint := "undone", Yellow
		if !x.Undone {
			key, paint = "not undone", Red
		}
		b.key(key, paint, flatPath(x.Path)+" ("+x.Change+"): "+x.Reason+prefixed("; ", x.Note))
	}
}

// checked lists every check of every gate, and what reviewers said.
func (v *Visit) checked(b *block) {
	if len(v.Gates) == 0 && len(v.Reviews) == 0 {
		return
	}
	b.gap()
	for _, g := range v.Gates {
		word, paint := g.Outcome, Green
		switch g.Outcome {
		case "failed":
			paint = Red
		case "empty":
			word, paint = "–  nothing to look at", Dim
		}
		b.line("  " + b.style.Paint(Dim, "gate ") + flat(g.Name) + "  " + b.style.Paint(paint, word))
		b.checks(g.Checks)
	}
	for _, r := range v.Reviews {
		b.line("  " + b.style.Paint(Dim, "review by ") + flat(r.Agent) + "  " + b.style.Paint(r.paint(), r.found()))
		b.checks(r.Evidence)
	}
	b.gap()
}

// checks lists what was looked at, item by item.
func (b *block) checks(list []gates.Check) {
	for _, c := range list {
		mark, paint := "ok  ", Green
		if !c.OK {
			mark, paint = "fail", Red
		}
		text := flat(c.Item + prefixed("  ", c.Note))
		b.line("    " + b.style.Paint(paint, mark) + "  " + cut(text, b.room(10)))
	}
}

// left says where the run went from here.
func (v *Visit) left(b *block) {
	for _, r := range v.Spent {
		b.key("spent", Red, fmt.Sprintf("%s -> %s used %d of %d", r.From, r.To, r.Used, r.Of))
	}
	if r := v.Route; r != nil {
		text := r.To
		if r.Of > 0 {
			text += fmt.Sprintf(" (%d of %d)", r.Used, r.Of)
		}
		b.key("then", Plainly, text+prefixed(" by: ", r.Rule))
		b.key("", Dim, seenTexts(r.Seen)...)
	}
}
