package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"foundry/builtins"
	"foundry/diag"
	"foundry/docs"
	"foundry/gates"
	"foundry/graph"
	"foundry/internal/harness"
	"foundry/internal/report"
)

func explainVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:      "explain",
			Usage:     "a lint rule, a gate, a pipeline, an agent, a harness, or a phase of a run",
			ArgsUsage: "NAME | RUN PHASE",
			Description: `Says what a name means: a lint rule (with a bad and a good example), a gate (with its arguments), a pipeline or an agent
(with its definition, whether it is in your file or ships), a harness (harness/claude: what is run, what it can do). A name that means several things is explained for each.
With RUN and PHASE it says why that phase was entered, or was not, and where the run went from there.`,
			Action: s.explain,
		},
		exits:    []Exit{Failed},
		operands: explainCandidates,
		examples: []example{
			{"foundry explain unbounded-loop", "the rule of a finding"},
			{"foundry explain diff_matches_claims", "a gate"},
			{"foundry explain plan-build-test", "a pipeline that ships"},
			{"foundry explain reviewer", "an agent, with its prompts"},
			{"foundry explain harness/claude", "what is run for an agent, and what it can do"},
			{"foundry explain last build@2", "why a phase of the newest run was entered a second time"},
		},
	}
}

func (s *session) explain(c *cli.Context) error {
	if err := atMost(c, 2); err != nil {
		return err
	}
	if c.NArg() == 2 {
		return s.explainPhase(c.Args().Get(0), c.Args().Get(1))
	}
	name := c.Args().First()
	if name == "" {
		return badUsage("explain: what?").hintf("a lint rule, a gate, a pipeline or an agent; `foundry ls` lists names")
	}
	var parts []string
	for _, r := range diag.Rules() {
		if string(r.Name) == name {
			parts = append(parts, s.explainRule(r))
		}
	}
	p, err := s.loadOrBuiltins()
	if err != nil {
		return err
	}
	if info, ok := gates.Find(name); ok {
		parts = append(parts, s.explainGate(info))
	}
	if kind, ok := strings.CutPrefix(name, harnessPrefix); ok {
		if info, ok := harness.Find(kind); ok {
			parts = append(parts, explainHarness(info))
		}
	}
	for _, n := range p.names.Names() {
		if n.Name == name {
			parts = append(parts, p.explainName(n)...)
		}
	}
	if len(parts) == 0 {
		return s.nothingToExplain(name)
	}
	return s.print(strings.Join(parts, "\n"))
}

// explainPhase says why a phase of a run was entered.
func (s *session) explainPhase(run, phase string) error {
	name, visit, err := report.PhaseArg(phase)
	if err != nil {
		return &problem{exit: Usage, err: err}
	}
	id, events, err := s.recordsOnly().readRun(run)
	if err != nil {
		return err
	}
	trace := report.TraceOf(id, events)
	text, err := trace.Why(name, visit, s.style())
	if err != nil {
		return noSuchPhase(err, trace, name)
	}
	return s.print(text)
}

func (s *session) explainRule(r diag.RuleInfo) string {
	text, ok := docs.Rule(string(r.Name))
	if !ok {
		panic("BUG: rule " + string(r.Name) + " has no section in docs/rules.md")
	}
	return fmt.Sprintf("rule %s (%s)\n\n%s", r.Name, r.Severity, plainMarkdown(text, terminalWidth(s.out)))
}

func (s *session) explainGate(info gates.Info) string {
	text, ok := docs.Gate(info.Name)
	if !ok {
		panic("BUG: gate " + info.Name + " has no section in docs/gates.md")
	}
	return fmt.Sprintf("gate %s\n\n%s", info.Name, plainMarkdown(text, terminalWidth(s.out)))
}

// explainName shows the definition of a pipeline, an agent, or a gate or command of the file. What is part of
// the program and has no text is nothing to show.
func (p *project) explainName(n graph.Name) []string {
	section := map[graph.NameKind]string{
		graph.PipelineName: "pipelines", graph.AgentName: "agents", graph.GateName: "gates",
		graph.CommandName: "commands", graph.EnvelopeName: "envelopes",
	}[n.Kind]
	var text string
	if n.Builtin {
		text = builtins.YAML()
	} else if !n.Place.IsZero() {
		text = n.Place.Source.Text
	}
	block, ok := definition(text, section, n.Name)
	if !ok && n.Place.IsZero() {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s (%s)\n", n.Kind, n.Name, placeOf(n))
	if n.Shadows {
		b.WriteString("It takes the place of the builtin of the same name.\n")
	}
	if !n.Replaces.IsZero() {
		fmt.Fprintf(&b, "It takes the place of the one at %s:%d, which is included.\n", n.Replaces.Source.Name, n.Replaces.Position().Line)
	}
	if ok {
		b.WriteString("\n" + shift(strings.SplitAfter(strings.TrimSuffix(block, "\n"), "\n"), 4))
	}
	if n.Builtin {
		fmt.Fprintf(&b, "\n`foundry eject %s` copies it into your file.\n", n.Name)
	}
	if n.Kind == graph.PipelineName {
		fmt.Fprintf(&b, "`foundry graph %s` draws it.\n", n.Name)
	}
	return []string{b.String()}
}

func (s *session) nothingToExplain(name string) error {
	err := badUsage("%q is no lint rule, gate, pipeline, agent, command or envelope", name)
	var known []string
	for _, c := range explainCandidates(s) {
		known = append(known, c.word)
	}
	if like := near(name, known); like != "" {
		return err.hintf("did you mean %q?", like)
	}
	return err.hintf("`foundry ls` lists what has a name; a rule's name stands in brackets at the end of its finding")
}

func explainCandidates(s *session) []candidate {
	var out []candidate
	for _, r := range diag.Rules() {
		out = append(out, candidate{string(r.Name), r.Summary})
	}
	for _, h := range harness.Table() {
		out = append(out, candidate{harnessPrefix + h.Name, h.Summary})
	}
	return append(out, s.nameCandidates(graph.PipelineName, graph.AgentName, graph.GateName, graph.CommandName, graph.EnvelopeName)...)
}

// plainMarkdown shows Markdown in a terminal: code is set in instead of fenced, a table has its columns aligned,
// and prose is broken for the width of the terminal, 0 for none.
func plainMarkdown(text string, columns int) string {
	var b strings.Builder
	var prose, rows []string
	flush := func() {
		if len(prose) > 0 {
			whole := strings.Join(prose, "\n")
			if columns > 0 {
				whole = report.Paragraphs(whole)
			}
			b.WriteString(report.Fit(whole+"\n", columns))
		}
		var cells [][]string
		for _, row := range rows {
			cells = append(cells, tableCells(row))
		}
		b.WriteString(report.Fit(report.Table(cells), columns))
		prose, rows = nil, nil
	}
	inCode := false
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			inCode = !inCode
		case inCode && !isBlank(line):
			b.WriteString("    " + line + "\n")
		case inCode:
			b.WriteString("\n")
		case strings.HasPrefix(line, "|"):
			if !strings.HasPrefix(line, "|-") {
				rows = append(rows, line)
			}
		default:
			if len(rows) > 0 {
				flush()
			}
			prose = append(prose, line)
		}
	}
	flush()
	return b.String()
}

// tableCells are the cells of a row of a Markdown table.
func tableCells(row string) []string {
	cells := strings.Split(strings.Trim(row, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}
