package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"foundry/graph"
	"foundry/internal/journal"
	"foundry/internal/report"
	"foundry/runner"
)

func graphVerb(s *session) verb {
	formats := []string{"text", "mermaid", "dot", "json"}
	return verb{
		Command: &cli.Command{
			Name:      "graph",
			Usage:     "the compiled phase graph, with its worst-case bounds",
			ArgsUsage: "[PIPELINE]",
			Description: `Compiles a pipeline and draws its phases, their order, their routes, and the proven bound on how often each phase can
be visited and how many turns agents can take. Without PIPELINE it is the one that "default" names, else the only one of
the file. Those that ship can be drawn too, once the file defines the commands that they run. Nothing is run.`,
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "format", Value: "text", Usage: "text, mermaid, dot or json (`FORMAT`)"},
				jsonFlag(),
			},
			Action: func(c *cli.Context) error { return s.graph(c, formats) },
		},
		exits:    []Exit{Failed},
		values:   map[string][]string{"format": formats},
		operands: pipelineCandidates,
		examples: []example{
			{"foundry graph", "the default pipeline as text"},
			{"foundry graph full-sdlc", "one that ships with Foundry"},
			{"foundry graph --format mermaid", "for a README"},
			{"foundry graph --format dot | dot -Tsvg >graph.svg", "with Graphviz"},
		},
	}
}

func (s *session) graph(c *cli.Context, formats []string) error {
	if err := atMost(c, 1); err != nil {
		return err
	}
	format := c.String("format")
	if err := oneOf("--format", format, formats); err != nil {
		return err
	}
	if c.Bool("json") {
		if c.IsSet("format") && format != "json" {
			return badUsage("graph: --json and --format %s exclude each other", format)
		}
		format = "json"
	}
	p, err := s.loadOrBuiltins()
	if err != nil {
		return err
	}
	g, err := s.compile(p, c.Args().First())
	if err != nil {
		return err
	}
	switch format {
	case "mermaid":
		return s.print(g.Mermaid())
	case "dot":
		return s.print(g.DOT())
	case "json":
		return s.printJSON(g)
	}
	text := g.Text()
	if worst := s.worst(g); worst != "" {
		text += "a run takes at most " + worst + "\n"
	}
	return s.print(text)
}

// pastRuns is how many of the newest runs tell what a turn costs.
const pastRuns = 50

// worst is what a run of a pipeline takes at most, by the runs up to now. Records that cannot be read tell nothing.
func (s *session) worst(g *graph.Graph) string {
	if g.Bound.Turns == 0 {
		return ""
	}
	entries, _ := journal.At(s.home()).Newest(pastRuns)
	past := make([]runner.Outline, len(entries))
	for i := range entries {
		past[i] = entries[i].Outline
	}
	return report.Worst(g, past)
}

// compile compiles one pipeline, "" being the default one. Warnings are left to lint.
func (s *session) compile(p *project, name string) (*graph.Graph, error) {
	if p.findings.HasErrors() {
		return nil, s.refuse(p.findings, p.name)
	}
	if name == "" {
		def, ok := p.names.Default()
		if !ok {
			return nil, noDefault(p)
		}
		name = def
	}
	if !slices.Contains(pipelineNames(p), name) {
		return nil, unknownPipeline(p, name)
	}
	if missing := p.missing(name); len(missing) > 0 {
		return nil, badUsage("pipeline %q runs the command %q, which is not defined", name, missing[0]).hintf("%s", p.defineCommand(missing[0]))
	}
	g, found := p.names.Compile(name)
	if found.HasErrors() || g == nil {
		return nil, s.refuse(found, p.name)
	}
	return g, nil
}

// pipelineNames are the pipelines of the file and those that ship.
func pipelineNames(p *project) []string {
	var out []string
	for _, n := range p.names.Names() {
		if n.Kind == graph.PipelineName {
			out = append(out, n.Name)
		}
	}
	return out
}

func noDefault(p *project) error {
	if p.doc != nil && p.doc.Default.Set {
		return unknownPipeline(p, p.doc.Default.Value)
	}
	err := badUsage("which pipeline?")
	if p.doc == nil {
		return err.hintf("there is no pipeline file; name one that ships: %s", strings.Join(pipelineNames(p), ", "))
	}
	return err.hintf("name one, or set `default:` in %s; there is %s", p.name, strings.Join(pipelineNames(p), ", "))
}

func unknownPipeline(p *project, name string) error {
	names := pipelineNames(p)
	err := badUsage("pipeline %q is not defined", name)
	if like := near(name, slices.Clone(names)); like != "" {
		return err.hintf("did you mean %q?", like)
	}
	return err.hintf("there is %s", strings.Join(names, ", "))
}

// pipelineCandidates completes the name of a pipeline.
func pipelineCandidates(s *session) []candidate { return s.nameCandidates(graph.PipelineName) }

// pipelinePhases completes a phase of a pipeline of the file; "" is the one that runs when none is named.
func pipelinePhases(s *session, name string) []candidate {
	p, err := s.loadOrBuiltins()
	if err != nil || p.doc == nil {
		return nil
	}
	if !slices.Contains(pipelineNames(p), name) { // a request stands there
		name = p.doc.Default.Value
	}
	var out []candidate
	for i := range p.doc.Pipelines {
		pl := &p.doc.Pipelines[i]
		if pl.Name.Value != name && (name != "" || len(p.doc.Pipelines) > 1) {
			continue
		}
		for j := range pl.Phases {
			out = append(out, candidate{pl.Phases[j].ID.Value, pl.Phases[j].Description.Value})
		}
	}
	return out
}

// nameCandidates completes names of the given kinds; a file that cannot be read leaves what ships.
func (s *session) nameCandidates(kinds ...graph.NameKind) []candidate {
	p, err := s.loadOrBuiltins()
	if err != nil {
		return nil
	}
	var out []candidate
	for _, n := range p.names.Names() {
		if slices.Contains(kinds, n.Kind) {
			out = append(out, candidate{n.Name, n.Description})
		}
	}
	return out
}

// placeOf is where a definition stands: "foundry.yaml:12", or "builtin".
func placeOf(n graph.Name) string {
	if n.Builtin || n.Place.IsZero() {
		return "builtin"
	}
	return fmt.Sprintf("%s:%d", n.Place.Source.Name, n.Place.Position().Line)
}
