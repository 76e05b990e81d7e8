package cli

import (
	"fmt"
	"os"
	"strings"

	"foundry/diag"
	"foundry/graph"
	"foundry/runner"
	"foundry/schema"
)

// This file plays scripted agents in a real run: `up --agents FILE`, where FILE is a file of pipeline tests. The
// first of its tests of the pipeline says what each agent writes and answers; commands, gates, the boundary and
// the merge are real.

// scripted reads the file and replaces the agents of a graph by what it gives. The text is kept with the run.
func (s *session) scripted(g *graph.Graph, p *project, file string, info *runner.RunInfo) (*graph.Graph, error) {
	text, err := os.ReadFile(s.path(file))
	if err != nil {
		return nil, badUsage("--agents %s: %w", file, plainPathError(err))
	}
	p.agents = string(text)
	test, err := s.playable(g, p, file)
	if err != nil {
		return nil, err
	}
	if info.Request == "" {
		info.Request = strings.TrimSpace(test.Request.Value)
	}
	for _, set := range test.Params {
		given := param(g, set.Name.Value)
		if given == nil {
			continue
		}
		if _, ok := info.Params[given.Name]; ok {
			continue // the command line says otherwise
		}
		if text, ok := given.ParamText(set.Value); ok {
			info.Params[given.Name] = text
		}
	}
	return s.play(g, p, file, test)
}

// playable is the first test of the file that is of the pipeline.
func (s *session) playable(g *graph.Graph, p *project, file string) (*schema.Test, error) {
	tests, found := schema.DecodeTests(diag.NewSource(file, p.agents))
	if found.HasErrors() {
		return nil, s.refuse(found, file)
	}
	def, _ := p.names.Default()
	for i := range tests {
		name := tests[i].Pipeline.Value
		if name == "" {
			name = def
		}
		if name == g.Pipeline {
			return &tests[i], nil
		}
	}
	return nil, badUsage("--agents %s: it has no test of pipeline %s", file, g.Pipeline).hintf("add one with `pipeline: %s` and what is `given`", g.Pipeline)
}

func (s *session) play(g *graph.Graph, p *project, file string, test *schema.Test) (*graph.Graph, error) {
	out, found := g.Scripted(test.Given, test.Span)
	if found.HasErrors() {
		if err := diag.RenderText(s.err, found.Sorted(), s.colored(s.err)); err != nil {
			return nil, failure(fmt.Errorf("write the findings: %w", err))
		}
		return nil, badUsage("--agents %s: test %q cannot be played", file, test.Name.Value).hintf("give a reply for every phase with an agent")
	}
	return out, nil
}
