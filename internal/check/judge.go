package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"foundry/diag"
	"foundry/gates"
	"foundry/runner"
	"foundry/schema"
)

// This file runs a case and compares what came of it with what was expected.

// Result is how a case went.
type Result struct {
	Case     *Case
	Run      Run
	Problems []Problem // none: it passed
}

// Passed says whether all that was expected came true.
func (r *Result) Passed() bool { return len(r.Problems) == 0 }

// Problem is one expectation that did not come true, or an outcome that was missing or left over.
type Problem struct {
	What string // given, left, status, reason, text, exit, path, not_run, visits, routes, feedback
	Text string
	At   diag.Span // in the test
}

// Run runs the case. The error is one of the machine itself, which no test can be right about.
func (c *Case) Run() (Result, error) {
	w := &World{Phases: c.Phases, Criteria: c.Criteria, Park: c.parks()}
	run, err := Simulate(c.Graph, c.Info, w)
	r := Result{Case: c, Run: run}
	var missing *NotGivenError
	if errors.As(err, &missing) {
		at := missing.At
		if at.IsZero() {
			at = c.entered[missing.Name]
		}
		if at.IsZero() {
			at = c.At
		}
		r.problem("given", at, "%s", missing)
		r.path()
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("test %q: %w", c.Name, err)
	}
	for _, left := range w.Left() {
		r.problem("left", left.At, "%s", left)
	}
	r.end()
	r.path()
	r.phases()
	r.routes()
	r.feedback()
	return r, nil
}

// parks says whether the test expects a run that waits.
func (c *Case) parks() bool {
	return c.Expect.Status.Value == "waiting" || c.Expect.Exit.Set && c.Expect.Exit.Value == parked
}

func (r *Result) problem(what string, at diag.Span, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{What: what, Text: fmt.Sprintf(format, args...), At: at})
}

// parked is the exit code of a run that waits.
const parked = 4

// exitCode is the exit code that the run would have had.
func exitCode(v runner.View) int {
	switch v.Status {
	case runner.RunAccepted:
		return 0
	case runner.RunRejected:
		if strings.HasPrefix(v.Reason, runner.ReasonBudget+":") {
			return 5
		}
		return 1
	case runner.RunWaiting, runner.RunPaused:
		return parked
	}
	return 3
}

// ended is how the run ended, in a sentence.
func ended(v runner.View) string {
	out := v.Status.String()
	if v.Reason != "" {
		out += ", " + v.Reason
	}
	if v.Text != "" {
		out += ": " + v.Text
	}
	return out
}

// end compares how the run ended.
func (r *Result) end() {
	x, v := &r.Case.Expect, r.Run.State.View()
	if want := x.Status; want.Set && want.Value != v.Status.String() {
		r.problem("status", want.Span(), "status is %s, not %s", ended(v), want.Value)
	}
	if want := x.Reason; want.Set && want.Value != v.Reason && want.Value+":" != v.Reason[:min(len(want.Value)+1, len(v.Reason))] {
		r.problem("reason", want.Span(), "the reason is %s, not %s", or(v.Reason, "none"), want.Value)
	}
	if want := x.Text; want.Set && !strings.Contains(v.Reason+": "+v.Text, want.Value) {
		r.problem("text", want.Span(), "the reason is %q, without %q", v.Reason+": "+v.Text, want.Value)
	}
	if want := x.Exit; want.Set && want.Value != exitCode(v) {
		r.problem("exit", want.Span, "the run would exit with %d, not %d", exitCode(v), want.Value)
	}
}

func or(text, none string) string {
	if text == "" {
		return none
	}
	return text
}

func (r *Result) path() {
	if want := r.Case.Expect.Path; want.Set && !slices.Equal(want.Values(), r.Run.Path) {
		r.problem("path", want.Span, "the path is another one")
	}
}

// fork is the first index at which the path is not the expected one.
func (r *Result) fork() int {
	want := r.Case.Expect.Path.Values()
	for i := range min(len(want), len(r.Run.Path)) {
		if want[i] != r.Run.Path[i] {
			return i
		}
	}
	return min(len(want), len(r.Run.Path))
}

func (r *Result) phases() {
	for _, name := range r.Case.Expect.NotRun.Items {
		if st := r.phase(name.Value).Status; st != runner.NotRun {
			r.problem("not_run", name.Span(), "%s is %s, not not_run", name.Value, st)
		}
	}
	for _, want := range r.Case.Expect.Visits {
		if n := r.phase(want.Phase.Value).Visits; n != want.Times.Value {
			r.problem("visits", want.Times.Span, "%s was visited %s, not %d", want.Phase.Value, times(n), want.Times.Value)
		}
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (r *Result) phase(name string) runner.PhaseView {
	id, ok := r.Run.State.Graph(r.Case.Graph).Lookup(name)
	if !ok { // an item that no list had
		return runner.PhaseView{Status: runner.NotRun}
	}
	return r.Run.State.Phase(id)
}

// taken are the labels of the rules that were taken, in order.
func taken(events []runner.Event) []string {
	var out []string
	for i := range events {
		if e := &events[i]; e.Kind == runner.RouteTaken {
			out = append(out, e.Phase+" -> "+e.Target)
		}
	}
	return out
}

func (r *Result) routes() {
	want := r.Case.Expect.Routes
	if !want.Set {
		return
	}
	got := taken(r.Run.Events)
	if slices.EqualFunc(want.Values(), got, func(a, b string) bool { return spaced(a) == b }) {
		return
	}
	r.problem("routes", want.Span, "the rules that were taken are %s", or(strings.Join(got, ", "), "none"))
}

// spaced is a rule's label with one blank on each side of the arrow.
func spaced(label string) string {
	from, to, _ := strings.Cut(label, "->")
	return strings.TrimSpace(from) + " -> " + strings.TrimSpace(to)
}

func (r *Result) feedback() {
	for _, want := range r.Case.Expect.Feedback {
		var got []string
		for i := range r.Run.Events {
			if e := &r.Run.Events[i]; e.Kind == runner.PhaseStarted && e.Phase == want.Phase.Value {
				got = append(got, e.Feedback)
			}
		}
		for i, text := range want.Texts {
			r.handed(want.Phase.Value, i, text, got)
		}
	}
}

func (r *Result) handed(phase string, i int, want schema.Text, got []string) {
	switch {
	case !want.Set:
	case i >= len(got):
		r.problem("feedback", want.Span(), "%s was visited %s, so no visit %d was given anything", phase, times(len(got)), i+1)
	case want.Value == "" && got[i] != "":
		r.problem("feedback", want.Span(), "visit %d of %s was given feedback:\n%s", i+1, phase, got[i])
	case !strings.Contains(got[i], want.Value):
		r.problem("feedback", want.Span(), "visit %d of %s was given, without %q:\n%s", i+1, phase, want.Value, or(got[i], "(nothing)"))
	}
}

// step is one thing that happened between two visits of a path.
type step struct {
	Text string
	Seen []runner.Seen
}

// atFork says what led to the visit at which the path is not the expected one: how the phases ended that ended
// since the visit before, and which rules were taken with the values that their conditions saw.
func (r *Result) atFork(fork int) []step {
	var out []step
	visit := -1
	var left []string // phases that do not run, for one reason
	why := ""
	flush := func() {
		if len(left) > 0 {
			out = append(out, step{Text: fmt.Sprintf("not run: %s, since %s", strings.Join(left, ", "), why)})
		}
		left, why = nil, ""
	}
	for i := range r.Run.Events {
		e := &r.Run.Events[i]
		if e.Kind == runner.PhaseStarted {
			visit++
		}
		if visit >= fork {
			break
		}
		if visit < fork-1 {
			continue
		}
		if e.Kind == runner.PhaseNotRun && e.Reason == neverEntered {
			continue
		}
		if e.Kind == runner.PhaseNotRun {
			if e.Reason != why {
				flush()
			}
			left, why = append(left, e.Phase), e.Reason
			continue
		}
		if s, ok := told(e); ok {
			if e.Kind == runner.PhaseEnded && e.Status != runner.Blocked.String() && !routed(r.Run.Events[i+1:], e.Phase) {
				s.Text += "; " + r.ruleless(e.Phase)
			}
			flush()
			out = append(out, s)
		}
	}
	flush()
	return out
}

// neverEntered is why most detours do not run, which explains nothing.
const neverEntered = "never entered"

// routed says whether what follows a phase's end is what its rules made of it.
func routed(rest []runner.Event, phase string) bool {
	if len(rest) == 0 || rest[0].Phase != phase {
		return false
	}
	switch rest[0].Kind {
	case runner.RouteTaken, runner.RoutePending, runner.RouteSpent, runner.PhaseEnded:
		return true
	}
	return false
}

func (r *Result) ruleless(phase string) string {
	g := r.Run.State.Graph(r.Case.Graph)
	if id, ok := g.Lookup(phase); ok && g.Phases[id].Count == 0 {
		return "it has no rules"
	}
	return "none of its rules took it"
}

// told puts an event into words, if it says where a run goes.
func told(e *runner.Event) (step, bool) {
	switch e.Kind {
	case runner.PhaseEnded:
		text := fmt.Sprintf("%s ended %s", e.Phase, reasoned(e))
		if e.Reason == runner.ReasonGate {
			text = fmt.Sprintf("%s ended %s, %s", e.Phase, e.Status, e.Reason) // the gates were told
		}
		return step{Text: text}, true
	case runner.PhaseSkipped:
		return step{fmt.Sprintf("%s was skipped: %s", e.Phase, e.Reason), e.Seen}, true
	case runner.PhaseBlocked:
		return step{Text: fmt.Sprintf("%s is blocked: %s", e.Phase, or(e.Text, e.Reason))}, true
	case runner.RoutePending:
		return step{fmt.Sprintf("%s takes the rule %q, %d of %d", e.Phase, e.Rule, e.Used, e.Of), e.Seen}, true
	case runner.RouteTaken:
		return step{fmt.Sprintf("%s takes the rule %q", e.Phase, e.Rule), e.Seen}, e.Of == 0 // else it was pending before
	case runner.RouteSpent:
		return step{fmt.Sprintf("%s: the rule %q is used up, %d of %d", e.Phase, e.Rule, e.Used, e.Of), e.Seen}, true
	case runner.RunEnded:
		return step{"the run ended " + reasoned(e), e.Seen}, true
	case runner.ReviewJudged:
		return step{Text: fmt.Sprintf("%s: the review of attempt %d came to %s", e.Phase, e.Attempt, e.Outcome) + colon(e.Text)}, true
	case runner.EnvelopeRejected:
		if e.OfReview() {
			return step{Text: fmt.Sprintf("%s: the reviewer's answer cannot be used: %s", e.Phase, strings.Join(e.Problems, "; "))}, true
		}
		return step{Text: fmt.Sprintf("%s: the report cannot be used: %s", e.Phase, strings.Join(e.Problems, "; "))}, true
	case runner.GateChecked:
		text := fmt.Sprintf("%s: gate %s failed", e.Phase, e.Gate)
		for _, c := range e.Checks {
			if !c.OK {
				text += "; " + c.Item + ": " + c.Note
			}
		}
		return step{Text: text}, e.Outcome == gates.Failed.String()
	}
	return step{}, false
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// reasoned is a status with its reason and the detail.
func reasoned(e *runner.Event) string {
	text := e.Status
	if e.Reason != "" {
		text += ", " + e.Reason
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}
