package check

import (
	"fmt"
	"slices"
	"strings"

	"foundry/diag"
	"foundry/dsl"
	"foundry/graph"
	"foundry/runner"
	"foundry/schema"
)

// This file holds an entry against what its phase does, and expectations against the graph.

// entryKind is what an entry is the outcome of.
type entryKind uint8

const (
	agentEntry entryKind = iota + 1
	codeEntry
	askEntry
	criterionEntry
)

func kindOf(ph *graph.Phase) entryKind {
	switch ph.Work() {
	case graph.AgentWork:
		return agentEntry
	case graph.Ask:
		return askEntry
	}
	return codeEntry
}

// what says in a message what a kind of entry may say.
func (k entryKind) what() string {
	switch k {
	case agentEntry:
		return "an agent's turn has reply or stop, and files, changed, gates, conflict, usage, review, repeat"
	case askEntry:
		return "an answer is approve, reject, or {reject: a note}"
	case criterionEntry:
		return "a criterion has exit and output, or timeout: true, and repeat"
	}
	return "a command has exit and output, or timeout: true, and changed, gates, conflict, repeat"
}

// belongs says which kinds of entries may have a key; any of them may be repeated.
var belongs = map[string][]entryKind{
	"reply": {agentEntry}, "stop": {agentEntry}, "files": {agentEntry}, "usage": {agentEntry}, "review": {agentEntry}, "changed": {agentEntry, codeEntry}, "gates": {agentEntry, codeEntry}, "conflict": {agentEntry, codeEntry},
	"exit": {codeEntry, criterionEntry}, "output": {codeEntry, criterionEntry}, "timeout": {codeEntry, criterionEntry},
	"approve": {askEntry}, "reject": {askEntry},
}

// fits checks the keys of an entry. ph is nil for a criterion.
func (p *preparing) fits(e *schema.Entry, kind entryKind, ph *graph.Phase) {
	words := e.Keys
	if len(words) == 0 && e.Answer.Set {
		words = []schema.Text{e.Answer}
	}
	strange := false
	for _, w := range words {
		kinds, known := belongs[w.Value]
		if !known || slices.Contains(kinds, kind) {
			continue
		}
		strange = true
		whose := "a criterion's"
		if ph != nil {
			whose = fmt.Sprintf("one of phase %q", ph.Name)
		}
		p.list.Report(diag.WrongType, w.Span(), "%q does not belong to this entry, which is %s", w.Value, whose).Hintf("%s", kind.what())
	}
	switch {
	case strange || p.test.Unread && !e.Reply.Set && !e.Stop.Set && !e.Answer.Set: // it may be what could not be read
	case kind == agentEntry && !e.Reply.Set && !e.Stop.Set:
		p.list.Report(diag.MissingKey, e.Span, "this entry does not say how the agent's turn ends").Hintf("add reply: what it answers, or stop: why it does not")
	case e.Reply.Set && e.Stop.Set:
		p.list.Report(diag.WrongType, e.Stop.Span(), "a turn that stops early brings no reply").Hintf("keep reply or stop")
	case e.Timeout.Value && e.Exit.Set:
		p.list.Report(diag.WrongType, e.Exit.Span, "a command that timed out has no exit code").Hintf("keep exit or timeout")
	case kind == askEntry && !e.Answer.Set:
		p.list.Report(diag.MissingKey, e.Span, "this entry is no answer").Hintf("%s", kind.what())
	}
	if ph != nil {
		p.gates(e, ph)
		if e.Review.Set && !strange && ph.Review == nil {
			p.list.Report(diag.WrongType, e.Review.Span, "phase %q has no review", ph.Name).Hintf("remove it, or give the phase review: AGENT")
		}
		if e.Conflict.Set && !strange && !ph.RunsApart() {
			p.list.Report(diag.WrongType, e.Conflict.Span, "phase %q works in the workspace of the run, and nothing of it is merged", ph.Name).Hintf("remove it, or give the phase parallel: worktree")
		}
	}
}

func (p *preparing) gates(e *schema.Entry, ph *graph.Phase) {
	var known []string
	for _, g := range ph.Gates {
		known = append(known, g.Spec.Name)
	}
	for _, gate := range e.Gates.Items {
		if !slices.Contains(known, gate.Name.Value) {
			d := p.list.Report(diag.UnknownGate, gate.Name.Span(), "phase %q has no gate %q", ph.Name, gate.Name.Value)
			suggest(d, gate.Name.Value, known, "its gates are")
		}
	}
}

// expect checks the names in what is expected.
func (p *preparing) expect() {
	x := &p.test.Expect
	if x.Set && nothing(x) && !p.test.Unread {
		p.list.Report(diag.MissingKey, x.Span, "the test expects nothing").Hintf("add status, path, or another expectation")
	}
	for _, texts := range []schema.Texts{x.Path, x.NotRun} {
		for _, name := range texts.Items {
			p.phase(name)
		}
	}
	for _, count := range x.Visits {
		p.phase(count.Phase)
	}
	for _, handed := range x.Feedback {
		p.phase(handed.Phase)
	}
	for _, label := range x.Routes.Items {
		p.label(label)
	}
	if reasons := reasons(); x.Reason.Set && !slices.Contains(reasons, x.Reason.Value) {
		d := p.list.Report(diag.UnknownEnumValue, x.Reason.Span(), "no run ends with the reason %q", x.Reason.Value)
		suggest(d, x.Reason.Value, reasons, "the reasons are")
	}
}

func nothing(x *schema.Expect) bool {
	return !x.Status.Set && !x.Reason.Set && !x.Text.Set && !x.Exit.Set && !x.Path.Set && !x.NotRun.Set && !x.Routes.Set && len(x.Visits) == 0 && len(x.Feedback) == 0
}

// reasons are the words that a test's run can end with.
func reasons() []string {
	out := []string{runner.ReasonAcceptance, runner.ReasonAbort, runner.ReasonSpent, runner.ReasonNoProgress, runner.ReasonUnmatched, runner.ReasonCriterion,
		runner.ReasonInfrastructure, runner.ReasonBudget}
	for _, limit := range []string{"turns", "tokens", "cost", "phases"} {
		out = append(out, runner.ReasonBudget+":"+limit)
	}
	return out
}

// label checks the name of a rule: test -> build.
func (p *preparing) label(label schema.Text) {
	from, to, ok := strings.Cut(label.Value, "->")
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	if !ok || from == "" || to == "" {
		p.list.Report(diag.RouteSyntax, label.Span(), "%q does not name a rule", label.Value).Hintf("write it as FROM -> TO, where TO is a phase, next, finish or abort")
		return
	}
	if _, ok := p.phase(schema.Text{Value: from, Frag: label.Frag, Set: true}); !ok {
		return
	}
	var known []string
	if of := p.g.Repeats(from); of != nil && len(of.Each.Rules) > 0 {
		known = append(known, from+" -> "+from)
	}
	for i := range p.g.Rules {
		if l := p.g.Label(graph.RuleID(i)); strings.HasPrefix(l, from+" ->") && !slices.Contains(known, l) {
			known = append(known, l)
		}
	}
	if !slices.Contains(known, from+" -> "+to) {
		d := p.list.Report(diag.RouteSyntax, label.Span(), "phase %q has no rule that leads to %q", from, to)
		suggest(d, from+" -> "+to, known, "its rules are")
	}
}

// ruleOf finds the rule that an event speaks of.
func ruleOf(g *graph.Graph, e *runner.Event) (graph.RuleID, bool) {
	id, ok := g.Lookup(e.Phase)
	if !ok {
		return -1, false
	}
	for _, r := range g.RulesOf(id) {
		target := r.Action.String()
		if r.Action == dsl.Goto {
			target = g.Phases[r.Target].Name
		}
		if r.Text == e.Rule && target == e.Target {
			return r.ID, true
		}
	}
	return -1, false
}
