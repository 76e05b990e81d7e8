package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"foundry/builtins"
	"foundry/gates"
	"foundry/graph"
	"foundry/internal/report"
)

// listed is one definition, as `ls --json` prints it.
type listed struct {
	Kind        string `json:"kind"`
	Name        string `json:"name"`
	Description string `json:"description"`
	File        string `json:"file"` // "" when it ships
	Line        int    `json:"line"` // 0 when it ships
	Builtin     bool   `json:"builtin"`
	Shadows     bool   `json:"shadows"`  // takes the place of a builtin
	Included    bool   `json:"included"` // stands in an included file
	Replaces    string `json:"replaces"` // the place of the included definition that it takes the place of, as FILE:LINE
	Outdated    bool   `json:"outdated"` // was ejected from a builtin that has changed since
	Default     bool   `json:"default"`
}

// listKinds are the words that ls takes, in the order of its output, with what each lists.
var listKinds = []struct {
	word string
	kind graph.NameKind
}{
	{"pipelines", graph.PipelineName},
	{"agents", graph.AgentName},
	{"gates", graph.GateName},
	{"commands", graph.CommandName},
	{"envelopes", graph.EnvelopeName},
}

func lsVerb(s *session) verb {
	whats := []string{"pipelines", "agents", "gates", "commands", "envelopes", "builtins"}
	return verb{
		Command: &cli.Command{
			Name:      "ls",
			Usage:     "pipelines, agents, gates, commands, envelopes, builtins",
			ArgsUsage: "[WHAT]",
			Description: `Lists what has a name: all of it, or only WHAT: pipelines, agents, gates, commands, envelopes, or builtins (what ships,
whether shadowed or not). A definition that takes the place of a builtin, or of one in an included file, is marked
"shadows"; one that stands in an included file, "from"; one that was ejected from a builtin that has changed since,
"outdated". Only names are read: nothing is compiled or run.`,
			Flags:  []cli.Flag{jsonFlag()},
			Action: func(c *cli.Context) error { return s.ls(c, whats) },
		},
		exits:    []Exit{Failed},
		operands: func(*session) []candidate { return words(whats...) },
		examples: []example{
			{"foundry ls", "everything"},
			{"foundry ls pipelines", "what `foundry up` can run"},
			{"foundry ls builtins --json", "what ships, for a script"},
		},
	}
}

func (s *session) ls(c *cli.Context, whats []string) error {
	if err := atMost(c, 1); err != nil {
		return err
	}
	what := c.Args().First()
	if what != "" {
		if err := oneOf("ls", what, whats); err != nil {
			return err
		}
	}
	p, err := s.loadOrBuiltins()
	if err != nil {
		return err
	}
	if !p.readable() {
		return s.refuse(p.findings, p.name)
	}
	rows := p.list(what)
	if c.Bool("json") {
		return s.printJSON(rows)
	}
	return s.print(report.Fit(listText(rows), terminalWidth(s.out)))
}

// readable says that the file has at least names to list: what is broken only in its details is for lint.
func (p *project) readable() bool {
	return p.doc == nil || !p.findings.HasErrors() ||
		len(p.doc.Pipelines)+len(p.doc.Agents)+len(p.doc.Commands)+len(p.doc.Gates)+len(p.doc.Envelopes) > 0
}

// list is every definition of the kind, "" being all. For builtins it is what ships, the file left aside.
func (p *project) list(what string) []listed {
	names := p.names.Names()
	if what == "builtins" {
		names = newProject(p.root, "", "", nil, nil).names.Names()
	}
	rows := []listed{}
	for _, k := range listKinds {
		if what != "" && what != "builtins" && what != k.word {
			continue
		}
		for _, n := range names {
			if n.Kind == k.kind {
				rows = append(rows, p.row(n, what))
			}
		}
	}
	return rows
}

func (p *project) row(n graph.Name, what string) listed {
	r := listed{Kind: n.Kind.String(), Name: n.Name, Description: n.Description, Builtin: n.Builtin, Shadows: n.Shadows, Included: n.Included}
	if !n.Replaces.IsZero() {
		r.Replaces = fmt.Sprintf("%s:%d", n.Replaces.Source.Name, n.Replaces.Position().Line)
	}
	r.Default = n.Default && what != "builtins"
	if n.Kind == graph.GateName && r.Description == "" {
		if info, ok := gates.Find(n.Name); ok && n.Builtin {
			r.Description = info.Summary
		}
	}
	if !n.Builtin && !n.Place.IsZero() {
		r.File, r.Line = n.Place.Source.Name, n.Place.Position().Line
		r.Outdated = p.outdated(n)
	}
	return r
}

// outdated says that a definition of the file was ejected from a builtin that has changed since.
func (p *project) outdated(n graph.Name) bool {
	section := sectionOf(n.Kind)
	if section == "" || n.Place.IsZero() {
		return false
	}
	copied, ok := definition(n.Place.Source.Text, section, n.Name)
	if !ok {
		return false
	}
	m := markPattern().FindStringSubmatch(copied)
	if m == nil {
		return false
	}
	shipped, ok := definition(builtins.YAML(), section, m[1])
	return ok && isOutdated(copied, shipped)
}

// sectionOf is the section of the pipeline file that holds the definitions of a kind which can be ejected.
func sectionOf(kind graph.NameKind) string {
	switch kind {
	case graph.PipelineName:
		return "pipelines"
	case graph.AgentName:
		return "agents"
	}
	return ""
}

// listText sets the rows under a heading for each kind.
func listText(rows []listed) string {
	var b strings.Builder
	for _, k := range listKinds {
		var lines [][2]string
		for _, r := range rows {
			if r.Kind == k.kind.String() {
				lines = append(lines, [2]string{r.Name, strings.TrimSpace(r.marks() + r.Description)})
			}
		}
		if len(lines) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(k.word + ":\n")
		writeRows(&b, lines)
	}
	return b.String()
}

// marks are what is to be known of a definition before its description.
func (r listed) marks() string {
	var m []string
	for _, mark := range []struct {
		on   bool
		word string
	}{{r.Default, "default"}, {r.Builtin, "builtin"}, {r.Included, "from " + r.File}, {r.Shadows, "shadows builtin"},
		{r.Replaces != "", "shadows " + r.Replaces}, {r.Outdated, "outdated"}} {
		if mark.on {
			m = append(m, mark.word)
		}
	}
	if len(m) == 0 {
		return ""
	}
	return "(" + strings.Join(slices.Clip(m), ", ") + ") "
}
