package report

import (
	"fmt"
	"strings"
	"time"

	"foundry/graph"
	"foundry/runner"
)

// Plain draws a run as it goes, a line or a few for each event that means something to a person, none for the
// others: time since the start, phase, what happened. It is for pipes and for terminals without a live view.
type Plain struct {
	Acts  bool // draws what agents are seen to do
	style Style
	graph *graph.Graph // may be nil
	trace *Trace
	names int // columns of the phase column
	words int // columns of the word column
	began time.Time

	Worst string // the worst case, as Worst has it
}

// Columns of a line: the clock, the phase, the word; the rest is text.
const (
	clockColumns = 6
	longestName  = 18
)

// NewPlain makes a renderer for one run. The graph, which may be nil, gives the width of the names and what
// agents and commands are called.
func NewPlain(style Style, g *graph.Graph) *Plain {
	p := &Plain{style: style, graph: g, trace: NewTrace(""), names: 6, words: WordColumns()}
	if g != nil {
		for i := range g.Phases {
			p.fit(g.Phases[i].Name)
		}
	}
	return p
}

func (p *Plain) fit(name string) { p.names = min(max(p.names, width(name)), longestName) }

// Trace is the run as far as it was drawn.
func (p *Plain) Trace() *Trace { return p.trace }

// Event takes the next event of the run and returns what to print for it: whole lines, or nothing.
func (p *Plain) Event(e runner.Event) string {
	p.trace.Add(&e)
	if p.began.IsZero() {
		p.began = e.At
	}
	if e.Kind == runner.RunRewound {
		return p.line(&e, Bold, "rewound", "to before "+e.Phase+"; what was there is kept at "+e.Kept)
	}
	if e.Phase != "" {
		p.fit(e.Phase)
		return p.phase(&e)
	}
	return p.run(&e)
}

// left is how many columns stand before the text: clock, phase with its visit, word.
func (p *Plain) left() int { return clockColumns + 2 + p.names + 4 + p.words + 1 }

func (p *Plain) room() int {
	if p.style.Width == 0 {
		return 0
	}
	return max(p.style.Width-p.left(), 20)
}

// line is one line: the clock, who, a word, a text.
func (p *Plain) line(e *runner.Event, paint Paint, word, text string) string {
	who := cut(flat(e.Phase), p.names)
	if e.Visit > 1 {
		who += fmt.Sprintf("@%d", e.Visit)
	}
	line := p.style.Paint(Dim, padLeft(clock(e.At.Sub(p.began)), clockColumns)) + "  " + pad(who, p.names+3) + " " +
		p.style.Paint(paint, pad(word, p.words)) + " " + cut(flat(text), p.room())
	return strings.TrimRight(line, " ") + "\n"
}

// under is a line that belongs to the one before it.
func (p *Plain) under(paint Paint, text string) string {
	return strings.Repeat(" ", p.left()) + p.style.Paint(paint, cut(flat(text), p.room())) + "\n"
}

// run draws an event that concerns the run as a whole. How it ended is left to the final block.
func (p *Plain) run(e *runner.Event) string {
	switch e.Kind {
	case runner.RunStarted:
		return p.head(e)
	case runner.RunResumed:
		text := p.line(e, Bold, "resumed", firstLine(e.Text))
		if e.Jobs > 0 {
			text += p.line(e, Plainly, "jobs", fmt.Sprintf("up to %s at a time from here on", count(e.Jobs, "phase")))
		}
		for _, what := range e.Edited {
			text += p.line(e, Yellow, "edited", what)
		}
		return text
	case runner.RunInterrupted:
		return p.line(e, Yellow, "stopping", first(firstLine(e.Text), "interrupted; again to stop at once"))
	case runner.RunKilled:
		return p.line(e, Red, "killed", firstLine(e.Text))
	case runner.GrantGiven:
		return p.line(e, Plainly, "granted", fmt.Sprintf("%s +%g", strings.TrimSpace(e.Limit+" "+e.Rule), e.Grant))
	case runner.BudgetReached:
		return p.line(e, Red, "budget", "the "+e.Limit+" budget is used up; nothing new starts")
	case runner.WorldFailed:
		return p.line(e, Red, "failed", firstLine(e.Text))
	case runner.SnapshotTaken:
		return p.violations(e)
	case runner.WorkspaceEdited:
		return p.line(e, Yellow, "edited", "somebody changed the workspace; what was judged before is judged again")
	case runner.SetupRan:
		return p.setup(e)
	case runner.CriterionDone:
		return p.criterion(e)
	case runner.RunMerged:
		return p.line(e, Green, "merged", short(e.Commit)+prefixed(" into ", e.Target)+", "+count(len(e.Changed), "file"))
	case runner.RunDiscarded:
		return p.line(e, Dim, "discarded", firstLine(e.Text))
	case runner.OutsideChanged:
		return p.line(e, Yellow, "outside", first(firstLine(e.Text), "changed outside the workspace: "+list(flatPaths(e.Changed), 3)))
	case runner.ProcessLeft:
		return p.line(e, Yellow, "left", firstLine(e.Text))
	case runner.AfterStarted, runner.AfterEnded:
		return p.after(e)
	case runner.Warned:
		return p.line(e, Yellow, "warning", firstLine(e.Text))
	}
	return ""
}

func (p *Plain) head(e *runner.Event) string {
	if e.Run == nil {
		return ""
	}
	r := e.Run
	var b strings.Builder
	b.WriteString(p.style.Paint(Bold, r.Pipeline) + "  " + p.style.Paint(Dim, r.ID) + "\n")
	field := func(name, text string) {
		if text != "" {
			b.WriteString("  " + p.style.Paint(Dim, pad(name, 9)) + " " + cut(text, max(0, p.style.Width-12)) + "\n")
		}
	}
	field("request", firstLine(r.Request))
	field("works in", workplace(r))
	field("at most", p.Worst)
	b.WriteString("\n")
	return b.String()
}

// workplace says where a run works, in one line.
func workplace(r *runner.RunInfo) string {
	switch {
	case r.Isolation == "checkout":
		return "the checkout itself; nothing is undone there"
	case r.Branch != "" && r.Base != "":
		return fmt.Sprintf("branch %s from %s (%s)", r.Branch, r.Base, short(r.BranchPoint))
	case r.Branch != "":
		return fmt.Sprintf("branch %s from %s", r.Branch, short(r.BranchPoint))
	case r.BranchPoint != "":
		return "a worktree of " + strings.TrimSpace(r.Base+" "+short(r.BranchPoint)) + " that goes at the end"
	}
	return ""
}

func (p *Plain) setup(e *runner.Event) string {
	if e.Result == nil {
		return p.line(e, Plainly, "setup", firstLine(e.Text))
	}
	if e.Result.Exit != 0 {
		return p.line(e, Red, "setup", e.Result.Command+": "+howEnded(e.Result)) + p.tail(e.Result)
	}
	return p.line(e, Dim, "setup", e.Result.Command+"  "+millis(e.Result))
}

// phase draws an event of a phase.
func (p *Plain) phase(e *runner.Event) string {
	switch e.Kind {
	case runner.PhaseStarted:
		return p.started(e)
	case runner.GraphGrown:
		if len(e.Items) > 0 {
			return p.line(e, Cyan, "items", itemsText(e.Items))
		}
	case runner.AttemptStarted:
		if e.Attempt > 1 {
			return p.line(e, Yellow, "again", fmt.Sprintf("attempt %d", e.Attempt))
		}
	case runner.TurnEnded:
		if e.Reply != nil && e.Reply.Stop != runner.StopEnd {
			return p.line(e, Yellow, turnWord(e), stopText(e.Reply))
		}
	case runner.Activity:
		if p.Acts {
			return p.line(e, Dim, Acting(e), e.Text)
		}
	case runner.CommandEnded:
		if r := e.Result; r != nil && r.Round < r.Of && e.Reused == nil {
			return p.line(e, Dim, fmt.Sprintf("run %d", r.Round), fmt.Sprintf("of %d: %s", r.Of, millis(r)))
		}
	case runner.EnvelopeRejected:
		return p.line(e, Yellow, reportWord(e), "not usable: "+first(firstLine(strings.Join(e.Problems, "\n")), e.Reason)+more(len(e.Problems)-1))
	case runner.ReviewJudged:
		return p.review(e)
	case runner.BoundaryChecked, runner.ReviewChecked, runner.SnapshotTaken:
		return p.violations(e)
	case runner.ApartMade:
		if e.Text != "" {
			return p.line(e, Dim, "worktree", e.Text)
		}
	case runner.MergedBack:
		if n := len(e.Outside); n > 0 {
			return p.line(e, Red, "conflict", list(conflicts(e), 3))
		}
		return p.line(e, Dim, "merged", count(len(e.Changed), "file"))
	case runner.SetupRan: // the same as that of the run's worktree, unless it fails
		if e.Result != nil && e.Result.Exit != 0 {
			return p.setup(e)
		}
	case runner.GateChecked:
		return p.gate(e)
	case runner.PhaseEnded:
		return p.ended(e)
	case runner.PhaseSkipped:
		return p.line(e, Dim, "skipped", first(firstLine(e.Text), e.Reason))
	case runner.PhaseNotRun:
		return p.line(e, Dim, "not run", first(firstLine(e.Text), e.Reason))
	case runner.PhaseStopped:
		return p.line(e, Yellow, "stopped", first(firstLine(e.Text), e.Reason))
	case runner.PhaseBlocked:
		if e.Reason != "itself" {
			return p.line(e, Yellow, "blocked", first(firstLine(e.Text), e.Reason))
		}
	case runner.PhaseDue:
		return p.line(e, Dim, "done", e.Text)
	case runner.PhaseInvalidated:
		return p.line(e, Yellow, "void", "its result counts no more: "+first(e.Reason, firstLine(e.Text)))
	case runner.RouteTaken:
		return p.route(e)
	case runner.RouteSpent:
		return p.line(e, Red, "spent", fmt.Sprintf("%s used %d of %d", e.Phase+" -> "+e.Target, e.Used, e.Of)) + p.seen(e.Seen)
	case runner.AskRaised, runner.PermissionAsked:
		return p.line(e, Cyan, "asks", firstLine(e.Text))
	case runner.AskAnswered, runner.PermissionAnswered:
		return p.answered(e)
	case runner.AskWithdrawn:
		return p.line(e, Dim, "withdrawn", "the question is put again later")
	case runner.UndoDone:
		if e.Ref == "" {
			return p.line(e, Dim, "not undone", firstLine(e.Text))
		}
		return p.line(e, Dim, "undone", first(firstLine(e.Text), "its changes were put back and kept under "+e.Ref))
	case runner.WorldFailed:
		return p.line(e, Red, "failed", firstLine(e.Text))
	case runner.OutsideChanged, runner.ProcessLeft, runner.Warned, runner.CriterionDone:
		return p.run(e)
	}
	return ""
}

// Acting is the word for what an agent was seen to do.
func Acting(e *runner.Event) string {
	switch {
	case e.Outcome == "failed":
		return "failed"
	case e.Outcome != "":
		return "asks"
	case e.Tool != nil:
		return "does"
	}
	return "says"
}

func (p *Plain) started(e *runner.Event) string {
	doing := Doing(p.graph, e.Phase)
	if e.Calls != "" {
		doing = "pipeline " + e.Calls
	}
	if e.Each != "" {
		doing = EachOf(e.Each)
	}
	if e.Because != "" {
		return p.line(e, Yellow, "again", e.Because)
	}
	line := p.line(e, Cyan, "started", doing)
	if e.Feedback != "" {
		lines := strings.Fields(clean(e.Feedback))
		line += p.under(Dim, "feedback: "+cut(strings.Join(lines, " "), 200))
	}
	return line
}

// itemsText says how many items there are, and which of them wait for which.
func itemsText(items []runner.GrownItem) string {
	var names []string
	for _, it := range items {
		name := it.ID
		if len(it.Needs) > 0 {
			name += " (after " + strings.Join(it.Needs, ", ") + ")"
		}
		names = append(names, name)
	}
	return count(len(items), "item") + ": " + strings.Join(names, ", ")
}

func (p *Plain) violations(e *runner.Event) string {
	var b strings.Builder
	if len(e.Suspects) > 0 && len(e.Outside) > 0 {
		b.WriteString(p.line(e, Red, "protected", "changed while this ran: "+list(e.Suspects, 4)))
	}
	for _, v := range e.Outside {
		if v.Undone {
			b.WriteString(p.line(e, Yellow, "undone", flatPath(v.Path)+" ("+v.Change+")"))
		} else {
			b.WriteString(p.line(e, Red, "boundary", flatPath(v.Path)+" ("+v.Change+"), not undone"+prefixed(": ", v.Note)))
		}
		b.WriteString(p.under(Dim, v.Reason))
	}
	return b.String()
}

// gate draws a gate that failed with every failed check, and one that had nothing to look at; one that passed is
// left to the final block.
func (p *Plain) gate(e *runner.Event) string {
	switch e.Outcome {
	case "passed":
		return ""
	case "empty":
		return p.line(e, Dim, "gate", e.Gate+" had nothing to look at")
	}
	var b strings.Builder
	b.WriteString(p.line(e, Red, "gate", e.Gate+" failed"))
	shown := 0
	for _, c := range e.Checks {
		if c.OK {
			continue
		}
		if shown++; shown > 5 {
			continue
		}
		b.WriteString(p.under(Plainly, c.Item+prefixed(": ", firstLine(c.Note))))
	}
	if shown > 5 {
		b.WriteString(p.under(Dim, fmt.Sprintf("and %d more", shown-5)))
	}
	return b.String()
}

func (p *Plain) ended(e *runner.Event) string {
	word, paint := statusWord(e.Status)
	v := p.trace.Phase(e.Phase).visit(e.Visit)
	if v == nil {
		return p.line(e, paint, word, firstLine(e.Text))
	}
	spent := Duration(v.Took(v.Ended))
	note := v.note()
	if v.Answer != "" {
		note = "" // the line before says what was answered
	}
	if e.Status == "fail" || e.Status == "unverified" {
		note = first(v.said(), note)
	}
	line := p.line(e, paint, word, pad(spent, 6)+prefixed("  ", note))
	if e.Status == "fail" && v.Result != nil {
		line += p.tail(v.Result)
	}
	if e.Status == "fail" && e.Hint != "" {
		line += p.under(Yellow, "hint: "+firstLine(e.Hint))
	}
	return line
}

// tail is the end of a failed command's output, a few lines.
func (p *Plain) tail(r *runner.CommandResult) string {
	var b strings.Builder
	for _, l := range lastLines(r.Output, 5) {
		b.WriteString(p.under(Dim, l))
	}
	return b.String()
}

func (p *Plain) route(e *runner.Event) string {
	if e.Target == "next" {
		return ""
	}
	text := e.Target
	if e.Of > 0 {
		text += fmt.Sprintf(" (%d of %d)", e.Used, e.Of)
	}
	if e.Rule != "" {
		text += " by: " + e.Rule
	}
	paint := Cyan
	if e.Target == "abort" {
		paint, text = Red, "abort"+prefixed(": ", firstLine(e.Text))
	}
	line := p.line(e, paint, "->", text)
	if v := p.trace.Phase(e.Phase).visit(e.Visit); v != nil && v.Route != nil {
		line += p.seen(v.Route.Seen)
	}
	return line
}

// seen draws the terms of a condition with the values they had.
func (p *Plain) seen(terms []runner.Seen) string {
	var b strings.Builder
	for _, s := range terms {
		b.WriteString(p.under(Dim, s.Term+" is "+firstLine(s.Value)))
	}
	return b.String()
}

func (p *Plain) answered(e *runner.Event) string {
	by := prefixed("by ", e.Who) + prefixed(": ", firstLine(e.Text))
	switch e.Answer {
	case "approve":
		return p.line(e, Green, "approved", by)
	case "reject":
		return p.line(e, Red, "rejected", by)
	}
	return p.line(e, Yellow, "no answer", "nobody answered in time")
}

// conflicts are the paths at which the work of a visit could not be merged.
func conflicts(e *runner.Event) []string {
	out := make([]string, len(e.Outside))
	for i, v := range e.Outside {
		out[i] = v.Path + " (" + v.Reason + ")"
	}
	return out
}
