package report

import (
	"fmt"
	"strings"
	"time"

	"foundry/graph"
)

// Facts are what a view of a whole run may show beyond its log. All of it may be left out.
type Facts struct {
	Graph   *graph.Graph
	Records string    // the directory of the run's record, as the user would type it; evidence files are shown below it
	Now     time.Time // for what still runs
	Changed *DiffStat
	Verbose bool // with the waterfall
	Live    bool // a process is carrying the run out
}

// DiffStat is what a run changed since its branch point.
type DiffStat struct{ Files, Added, Removed int }

// Final draws the block that ends a run, and what `show` prints of one: verdict, why, phases, evidence, what was
// undone, where the work is, what it cost, and the next commands to type.
func (t *Trace) Final(s Style, f Facts) string {
	b := block{style: s}
	t.title(&b, f)
	t.why(&b, f)
	b.gap()
	t.table(&b, f)
	if f.Verbose {
		b.gap()
		b.raw(t.Waterfall(s, f))
	}
	b.gap()
	t.evidence(&b)
	t.acceptance(&b)
	t.trouble(&b)
	t.place(&b, f)
	t.followed(&b)
	t.cost(&b)
	b.gap()
	t.next(&b, f)
	return b.text.String()
}

func (t *Trace) title(b *block, f Facts) {
	word, paint := statusWord(t.Status)
	line := b.style.Paint(paint, b.style.Paint(Bold, word)) + "  " + b.style.Paint(Bold, flat(t.Pipeline)) + "  " + b.style.Paint(Dim, flat(t.ID))
	if d, ok := t.Elapsed(f.Now); ok {
		line += "  " + Duration(d)
	}
	b.line(line)
}

// Elapsed is how long the run was at work, or is up to now. Of a log that does not say so it is the time from its start.
func (t *Trace) Elapsed(now time.Time) (time.Duration, bool) {
	if t.Started == nil {
		return 0, false
	}
	if d, ok := t.Worked(now); ok {
		return d, true
	}
	end := t.Last
	switch {
	case t.Ended != nil:
		end = *t.Ended
	case t.Status == "running" && now.After(end):
		end = now
	}
	return end.Sub(*t.Started), true
}

// why says in a line or two what ended the run.
func (t *Trace) why(b *block, f Facts) {
	if t.Status == "accepted" || t.Status == "running" || t.Status == "queued" {
		return
	}
	for _, line := range t.cause() {
		for _, part := range wrap(flat(line), b.room(2)) {
			b.line("  " + part)
		}
	}
	if hint := t.hint(f); hint != "" {
		for _, part := range wrap("hint: "+flat(hint), b.room(2)) {
			b.line("  " + b.style.Paint(Yellow, part))
		}
	}
}

// cause is the reason of the run in words, and what was said of it.
func (t *Trace) cause() []string {
	switch t.Status {
	case "waiting":
		var lines []string
		for _, a := range t.Asks {
			lines = append(lines, a.Phase+" asks: "+firstLine(a.Question))
		}
		for _, p := range t.Phases {
			if p.Status == "blocked" && p.Newest() != nil && p.Newest().Status == "blocked" {
				lines = append(lines, p.Name+" is blocked: "+first(firstLine(p.Newest().summary()), firstLine(p.Why)))
			}
		}
		if len(lines) == 0 {
			lines = append(lines, "it waits for a person")
		}
		return lines
	case "paused":
		line := "it waits for a usage limit to end"
		if !t.Paused.IsZero() {
			line += ", at " + t.Paused.Format(limitTime)
		}
		return []string{line + prefixed(": ", firstLine(t.Text))}
	case "interrupted":
		return []string{first(firstLine(t.Text), "it was cut off before its end; what was finished is kept")}
	}
	line := reasonText(t.Word)
	said := firstLine(t.Text)
	if said != "" && said != line {
		line = strings.TrimPrefix(line+": "+said, ": ")
	}
	if line == "" {
		return nil
	}
	return []string{line}
}

func (t *Trace) hint(f Facts) string {
	if t.Hint != "" {
		return firstLine(t.Hint)
	}
	p := t.Phase(t.Culprit())
	if p == nil || p.Newest() == nil {
		return ""
	}
	if h := p.Newest().Hint; h != "" {
		return firstLine(h)
	}
	if f.Graph != nil {
		if id, ok := f.Graph.Lookup(p.Name); ok && (p.Status == "fail" || p.Status == "rejected") {
			return firstLine(f.Graph.Phases[id].Hint)
		}
	}
	return ""
}

// table lists the phases: status, visits, time, and a word about the newest visit.
func (t *Trace) table(b *block, f Facts) {
	if len(t.Phases) == 0 {
		return
	}
	names, words, times := 5, 6, 4
	for _, p := range t.Phases {
		w, _ := t.word(p, f)
		names, words, times = max(names, width(p.Name)), max(words, width(w)), max(times, width(p.time(f)))
	}
	names = min(names, 2*longestName)
	b.line("  " + b.style.Paint(Dim, pad("phase", names)+"  "+pad("status", words)+"  visits  "+padLeft("time", times)))
	for _, p := range t.Phases {
		word, paint := t.word(p, f)
		visits, note := "–", p.Why
		if n := len(p.Visits); n > 0 {
			visits = fmt.Sprint(n)
			if p.Status != "skipped" && p.Status != "not_run" {
				note = first(p.Newest().said(), p.Why)
			}
		}
		left := 2 + names + 2 + words + 2 + 6 + 2 + times + 2
		b.line("  " + pad(cut(flat(p.Name), names), names) + "  " + b.style.Paint(paint, pad(word, words)) + "  " + padLeft(visits, 6) + "  " +
			padLeft(p.time(f), times) + "  " + b.style.Paint(Dim, cut(firstLine(note), b.room(left))))
	}
}

// word is a phase's status as people read it. What no process carries on does not run.
func (t *Trace) word(p *Phase, f Facts) (string, Paint) {
	dead := t.Status == "interrupted" || t.Status == "killed" || t.Status == "running" && !f.Live
	if p.Status == "running" && dead {
		return "cut off", Yellow
	}
	if p.Status == "running" && !f.Live && (t.Status == "waiting" || t.Status == "paused") {
		return statusWord(t.Status) // a call or a list, of which something waits
	}
	return statusWord(p.Status)
}

// said is the visit's note, or why it failed.
func (v *Visit) said() string {
	switch v.Status {
	case "fail":
		return first(failNote(v), v.note())
	case "unverified":
		return first(firstLine(v.Text), v.note())
	}
	return v.note()
}

// time is how long all visits of the phase took together.
func (p *Phase) time(f Facts) string {
	if len(p.Visits) == 0 {
		return "–"
	}
	var sum time.Duration
	for _, v := range p.Visits {
		sum += v.Took(f.Now)
	}
	return Duration(sum)
}

// place says where the work is.
func (t *Trace) place(b *block, f Facts) {
	if c := f.Changed; c != nil {
		if c.Files == 0 {
			b.key("changed", Plainly, "nothing")
		} else {
			b.key("changed", Plainly, fmt.Sprintf("%s, +%s -%s", count(c.Files, "file"), thousands(c.Added), thousands(c.Removed)))
		}
	}
	switch {
	case t.Merged != nil:
		b.key("merged", Green, strings.TrimSpace(short(*t.Merged)+" into "+t.Base))
		if !t.Dropped {
			t.kept(b)
		}
	case t.Dropped:
		b.key("branch", Dim, "discarded; its commits are kept"+prefixed(" at ", t.DroppedRef))
	case t.Info.Isolation == "checkout":
		b.key("works in", Plainly, "the checkout itself")
	case t.Branch != "":
		t.kept(b)
		from := ""
		if t.Base != "" {
			from = ", from " + t.Base
		}
		b.key("branch", Plainly, t.Branch+from+" at "+short(t.BranchPoint))
		b.key("worktree", Plainly, t.Worktree)
	case t.hasWorktree():
		t.kept(b)
		b.key("worktree", Plainly, t.Worktree+", without a branch")
	case t.Info.Isolation == "detached":
		b.key("worktree", Dim, "gone: it had no branch")
	}
}

// hasWorktree says whether a worktree of the run is there to be looked at, or dropped.
func (t *Trace) hasWorktree() bool {
	gone := t.Dropped || strings.HasPrefix(t.Settled, "the worktree was taken away") ||
		t.Merged != nil && !strings.Contains(t.Settled, ", but the worktree was kept: ")
	return t.Worktree != "" && t.Info.Isolation != "checkout" && !gone
}

// kept says why a branch was not merged, where that is not what everybody expects.
func (t *Trace) kept(b *block) {
	if why, ok := strings.CutPrefix(t.Settled, "not merged: "); ok && t.Merged == nil {
		b.key("not merged", Yellow, why, prefixed("hint: ", t.SettledHint))
	} else if why, ok := strings.CutPrefix(t.Settled, "kept: "); ok {
		b.key("kept", Plainly, why)
	} else if why, ok := strings.CutPrefix(t.Settled, "the worktree was kept: "); ok {
		b.key("kept", Yellow, why, prefixed("hint: ", t.SettledHint))
	} else if _, why, ok := strings.Cut(t.Settled, ", but the worktree was kept: "); ok {
		b.key("kept", Yellow, "the worktree: "+why, prefixed("hint: ", t.SettledHint))
	} else if _, why, ok := strings.Cut(t.Settled, ", but the branch was kept: "); ok {
		b.key("kept", Yellow, "the branch: "+why, prefixed("hint: ", t.SettledHint))
	}
}

// cost says what was used up. A cost that is not known is said to be so.
func (t *Trace) cost(b *block) {
	if t.Usage.Turns == 0 {
		return
	}
	parts := []string{count(t.Usage.Turns, "turn")}
	if t.Usage.Tokens != nil {
		parts = append(parts, count(*t.Usage.Tokens, "token"))
	} else {
		parts = append(parts, "tokens not reported")
	}
	parts = append(parts, Cost(t.Usage.Cost))
	b.key("usage", Plainly, strings.Join(parts, ", "))
}

// Cost is an amount of US dollars in words; nil is one that nobody told.
func Cost(c *float64) string {
	if c == nil {
		return "cost not reported"
	}
	if *c > 0 && *c < 0.005 {
		return "less than $0.01"
	}
	return fmt.Sprintf("$%.2f", *c)
}
