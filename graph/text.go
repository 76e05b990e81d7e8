package graph

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"foundry/dsl"
)

// This file draws a graph for a terminal: each phase with what it waits for, what it does and where it leads,
// then the proven bound.

// Text is the graph for people: a line for each phase, its rules and gates below it, the bound at the end.
func (g *Graph) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", g.Pipeline)
	if g.Description != "" {
		fmt.Fprintf(&b, ": %s", g.Description)
	}
	b.WriteByte('\n')
	fmt.Fprintf(&b, "accept  %s\n", oneLine(g.AcceptText))
	for _, p := range g.Params {
		fmt.Fprintf(&b, "param   %s\n", paramLine(&p))
	}
	b.WriteByte('\n')
	rows := make([][4]string, len(g.Phases))
	var width [3]int
	for i := range g.Phases {
		ph := &g.Phases[i]
		rows[i] = [4]string{ph.Name, clip(oneLine(g.What(ph.ID)), 48), g.waits(ph), visits(g.Bound.Visits[i])}
		for c := range width {
			width[c] = max(width[c], utf8.RuneCountInString(rows[i][c]))
		}
	}
	for i, row := range rows {
		fmt.Fprintf(&b, "%s  %s  %s  %s\n", pad(row[0], width[0]), pad(row[1], width[1]), pad(row[2], width[2]), row[3])
		g.below(&b, &g.Phases[i])
	}
	criteria(&b, "", g.Criteria)
	for i := range g.After {
		a := &g.After[i]
		fmt.Fprintf(&b, "after %s %s: %s\n", a.On, a.ID, clip(oneLine(a.Command.Script.Label), 60))
	}
	b.WriteByte('\n')
	b.WriteString(g.boundText())
	return b.String()
}

func criteria(b *strings.Builder, lead string, list []Criterion) {
	for i := range list {
		c := &list[i]
		required := ""
		if !c.Required {
			required = " (reported only)"
		}
		fmt.Fprintf(b, "%scriterion %s: %s%s\n", lead, c.Name, clip(oneLine(c.Command.Script.Label), 60), required)
	}
}

func paramLine(p *Param) string {
	out := p.Name + " " + p.Type.String()
	switch {
	case p.Required:
		out += ", required"
	case p.Has:
		out += ", default " + strconv.Quote(p.Default)
	}
	if len(p.Choices) > 0 {
		out += ", one of " + strings.Join(p.Choices, ", ")
	}
	return out
}

var paramWords = [...]string{ParamString: "string", ParamText: "text", ParamInt: "int", ParamBool: "bool", ParamChoice: "choice",
	ParamList: "list", ParamPath: "path", ParamNumber: "number"}

// String is the word that the language has for the type.
func (t ParamType) String() string {
	if t == 0 || int(t) >= len(paramWords) {
		return "invalid"
	}
	return paramWords[t]
}

var wayWords = [...]string{Back: "back", Self: "again", Forward: "forward", IntoDetour: "detour"}

// String names the way as views do.
func (w Way) String() string {
	if w == 0 || int(w) >= len(wayWords) {
		return ""
	}
	return wayWords[w]
}

// String is the word that the language has for the isolation.
func (i Isolation) String() string {
	switch i {
	case Worktree:
		return "worktree"
	case Detached:
		return "detached"
	case Checkout:
		return "checkout"
	}
	return "invalid"
}

// String is the word that the language has for the policy.
func (p Policy) String() string {
	switch p {
	case MergeAsk:
		return "ask"
	case MergeAuto:
		return "auto"
	case MergeNever:
		return "never"
	}
	return "invalid"
}

// What says in a few words what a phase does: "agent builder", "run go test ./...", "ask Ship it?".
func (g *Graph) What(id PhaseID) string {
	ph := &g.Phases[id]
	if ph.Each != nil {
		return "each of " + ph.Each.In.Text() + ": " + g.doing(ph)
	}
	return g.doing(ph)
}

// doing is what a phase, or each of its items, does.
func (g *Graph) doing(ph *Phase) string {
	switch ph.Work() {
	case AgentWork:
		return "agent " + g.Agents[ph.Agent].Name
	case Code:
		if ph.Command != "" {
			return "command " + ph.Command
		}
		return "run " + ph.Script.Label
	case Ask:
		return "ask " + ph.Question.Source()
	case Calls:
		call := ph.call()
		if ph.Each != nil {
			return callText(ph.Each.Callee.Pipeline, call.Set)
		}
		return callText(call.Pipeline, call.Set)
	}
	return ph.Kind.String()
}

// callText is a call with the params that it sets.
func callText(pipeline string, set []Setting) string {
	out := "call " + pipeline
	for i, s := range set {
		out += []string{" with ", ", "}[min(i, 1)] + s.Name + " " + s.Value.Source()
	}
	return out
}

func (g *Graph) waits(ph *Phase) string {
	if ph.Detour {
		return "detour"
	}
	if len(ph.Needs) == 0 {
		return "-"
	}
	var out []string
	for _, n := range ph.Needs {
		out = append(out, g.Phases[n].Name)
	}
	return "after " + strings.Join(out, ", ")
}

func visits(n int) string {
	switch {
	case n == 1:
		return "1 visit"
	case n >= most:
		return "visits without a useful bound"
	}
	return "up to " + strconv.Itoa(n) + " visits"
}

// below is what stands under a phase's line.
func (g *Graph) below(b *strings.Builder, ph *Phase) {
	var marks []string
	if ph.Optional {
		marks = append(marks, "optional")
	}
	if ph.Retries > 0 {
		marks = append(marks, "up to "+strconv.Itoa(1+ph.Retries)+" attempts a visit")
	}
	if ph.Repeat > 1 {
		marks = append(marks, "must pass "+strconv.Itoa(ph.Repeat)+" times in a row")
	}
	if ph.Work() == AgentWork && !ph.Writer {
		marks = append(marks, "read-only")
	}
	if ph.aside() {
		marks = append(marks, "in a worktree of its own")
	}
	for _, l := range ph.Boundary.Writes {
		if len(l.Globs) > 0 {
			marks = append(marks, "writes "+strings.Join(l.Globs, " "))
		}
	}
	if ph.When != nil {
		fmt.Fprintf(b, "    when %s\n", oneLine(ph.When.Text()))
	}
	if ph.Each != nil {
		fmt.Fprintf(b, "    %s\n", ph.Each.bounds())
	}
	if len(marks) > 0 {
		fmt.Fprintf(b, "    %s\n", strings.Join(marks, ", "))
	}
	if ph.Call != nil {
		fmt.Fprintf(b, "    accept %s\n", oneLine(ph.Call.AcceptText))
		criteria(b, "    ", ph.Call.Criteria)
	}
	if len(ph.Gates) > 0 {
		var names []string
		for i := range ph.Gates {
			names = append(names, ph.Gates[i].Spec.Name)
		}
		fmt.Fprintf(b, "    gates %s\n", strings.Join(names, ", "))
	}
	if r := ph.Review; r != nil {
		fmt.Fprintf(b, "    %s\n", g.reviewText(r))
	}
	if ph.Each != nil {
		for i := range ph.Each.Rules {
			fmt.Fprintf(b, "    an item: %s\n", g.ruleText(&ph.Each.Rules[i]))
		}
	}
	for _, r := range g.RulesOf(ph.ID) {
		fmt.Fprintf(b, "    %s\n", g.ruleText(&r))
	}
}

// reviewText says who judges a phase, and what follows.
func (g *Graph) reviewText(r *Review) string {
	out := "review by agent " + g.Agents[r.Agent].Name
	if r.Retries > 0 {
		out += ", " + count(r.Retries, "more attempt") + " a visit"
	}
	if r.Revert {
		out += ", rejected work is undone"
	}
	return out
}

// bounds says how many items a phase has, and how they decide about it.
func (e *Each) bounds() string {
	out := "up to " + count(e.Limit, "item") + " at a visit"
	if n := e.itemVisits() / max(e.Limit, 1); n > 1 {
		out += ", each with up to " + count(n, "visit")
	}
	if e.Any {
		return out + "; one of them has to pass"
	}
	return out + "; all of them have to pass"
}

// ruleText is a rule as views show it: its bound said, its text left out.
func (g *Graph) ruleText(r *Rule) string {
	out := "on " + r.Trigger.String()
	if r.When != nil {
		out += " when " + oneLine(r.When.Text())
	}
	out += " -> " + g.to(r)
	switch r.Way {
	case Back:
		out += " (back, " + entries(r.Retry) + ")"
	case Self:
		out += " (again, " + entries(r.Retry) + ")"
	case Forward:
		out += " (forward)"
	case IntoDetour:
		out += " (detour)"
	}
	return out
}

func entries(n int) string {
	if n == 1 {
		return "once an entry"
	}
	return strconv.Itoa(n) + " times an entry"
}

// to is where a rule leads, in the words of the language.
func (g *Graph) to(r *Rule) string {
	if r.Action == dsl.Goto && r.Target < 0 {
		return dsl.Self
	}
	if r.Action == dsl.Goto {
		return g.Phases[r.Target].Name
	}
	if r.Action == dsl.Abort && r.Message != "" {
		return "abort " + strconv.Quote(r.Message)
	}
	return r.Action.String()
}

func (g *Graph) boundText() string {
	b := &g.Bound
	var out strings.Builder
	if b.Phases >= most || b.Turns >= most {
		out.WriteString("bound: it ends, after more visits than anyone will see\n")
	} else {
		fmt.Fprintf(&out, "bound: at most %s and %s of agents, whatever happens\n", count(b.Phases, "visit"), count(b.Turns, "turn"))
	}
	limits := []string{"time " + duration(g.Limits.Time), "turns " + strconv.Itoa(g.Limits.Turns)}
	if g.Limits.Tokens > 0 {
		limits = append(limits, "tokens "+strconv.Itoa(g.Limits.Tokens))
	}
	if g.Limits.Cost > 0 {
		limits = append(limits, "cost "+strconv.FormatFloat(g.Limits.Cost, 'f', 2, 64))
	}
	if g.Limits.Phases > 0 {
		limits = append(limits, "phases "+strconv.Itoa(g.Limits.Phases))
	}
	fmt.Fprintf(&out, "limits: %s\n", strings.Join(limits, ", "))
	if b.First == "" {
		out.WriteString("the worst case stays within the limits that can be counted before a run\n")
	} else {
		fmt.Fprintf(&out, "bites first: %s\n", b.First)
	}
	return out.String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// duration drops the units that are nought: 2h, not 2h0m0s.
func duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s))) }
