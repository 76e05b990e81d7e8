package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"foundry/diag"
	"foundry/graph"
	"foundry/internal/journal"
	"foundry/runner"
)

// This file keeps the texts of a pipeline in the record of a run, and compiles a run's own pipeline from them.

// sources are the texts that a run's pipeline was compiled from. They are kept in its record, so that a
// resume goes on with the pipeline that the run began with, whatever has become of the file.
type sources struct {
	File   string              `json:"file"` // the pipeline file, as it was named
	Text   string              `json:"text"`
	Has    bool                `json:"has"` // false: a builtin pipeline without a file
	Files  map[string]string   `json:"files,omitempty"`
	Lists  map[string][]string `json:"lists,omitempty"`  // the files that the patterns of include matched
	Agents string              `json:"agents,omitempty"` // the text of --agents
	Tried  []string            `json:"tried,omitempty"`  // the values of --agent
}

const sourcesName = "sources.json"

// agentsName is what the kept text of --agents is called in findings.
const agentsName = "the record's --agents"

// keepSources writes a project's texts into a record and returns the name of the file.
func keepSources(rec *journal.Record, p *project) (string, error) {
	src := sources{File: p.relative(), Has: p.source != nil, Files: p.used, Lists: p.listed, Agents: p.agents, Tried: p.tried}
	if p.source != nil {
		src.Text = p.source.Text
	}
	data, err := json.MarshalIndent(src, "", " ")
	if err != nil {
		return "", err
	}
	return rec.WriteFile(sourcesName, data)
}

// pipelines are what a run goes by, compiled from what its record holds: the pipeline that it began with, and those
// that it went on with after an edit.
type pipelines struct {
	first  *graph.Graph
	edits  runner.Edits
	newest *graph.Graph
	src    *sources // of the newest
}

// kept compiles a run's pipelines from what its record holds.
func (s *session) kept(pl *place, id string, events []runner.Event) (*pipelines, error) {
	info := started(events)
	out := &pipelines{edits: runner.Edits{}}
	for _, name := range sourceFiles(events) {
		g, src, err := s.keptIn(pl, id, name, info)
		if err != nil {
			return nil, err
		}
		if out.first == nil {
			out.first = g
		}
		out.edits[name], out.newest, out.src = g, g, src
	}
	return out, nil
}

// sourceFiles are the files of a record that hold its pipelines, in the order in which they held.
func sourceFiles(events []runner.Event) []string {
	out := []string{sourcesName}
	for _, e := range events {
		if e.Kind == runner.RunResumed && e.File != "" {
			out = append(out, e.File)
		}
	}
	return out
}

func (s *session) keptIn(pl *place, id, name string, info *runner.RunInfo) (*graph.Graph, *sources, error) {
	data, err := os.ReadFile(pl.store.File(id, name))
	if err != nil {
		return nil, nil, unreadable(id, fmt.Errorf("the record of %s has lost its pipeline: %w", id, err))
	}
	var src sources
	if err := json.Unmarshal(data, &src); err != nil {
		return nil, nil, unreadable(id, fmt.Errorf("the pipeline in the record of %s is damaged: %w", id, err))
	}
	p := frozenProject(pl.repo.Root(), src)
	g, err := s.compiledFor(p, src.File, &src, info)
	return g, &src, err
}

// compiledFor compiles a run's pipeline from a project, with what was said when the run was started. name is the
// pipeline file as findings call it.
func (s *session) compiledFor(p *project, name string, src *sources, info *runner.RunInfo) (*graph.Graph, error) {
	p.agents = src.Agents
	if p.findings.HasErrors() {
		return nil, s.refuse(p.findings, name)
	}
	if err := p.tryAgents(src.Tried); err != nil {
		return nil, err
	}
	g, found := p.names.Compile(info.Pipeline)
	if g == nil || found.HasErrors() {
		return nil, s.refuse(found, name)
	}
	g = overridden(g, info)
	if p.agents == "" {
		return g, nil
	}
	test, err := s.playable(g, p, agentsName)
	if err != nil {
		return nil, err
	}
	return s.play(g, p, agentsName, test)
}

// frozenProject is the project of a record's texts.
func frozenProject(root string, src sources) *project {
	var source *diag.Source
	if src.Has {
		source = diag.NewSource(src.File, src.Text)
	}
	return newProjectFrom(root, filepath.Join(root, src.File), src.File, source, graph.Files{
		Read: func(name string) (string, error) {
			text, ok := src.Files[name]
			if !ok {
				return "", fmt.Errorf("the record does not hold %s", name)
			}
			return text, nil
		},
		List: func(pattern string) ([]string, error) { return src.Lists[pattern], nil },
	})
}

// overridden is the graph with what the command line said about isolation and merging.
func overridden(g *graph.Graph, info *runner.RunInfo) *graph.Graph {
	out := *g
	switch info.Isolation {
	case "checkout":
		out.Isolation = graph.Checkout
	case "detached":
		out.Isolation = graph.Detached
	case "worktree":
		out.Isolation = graph.Worktree
	}
	switch info.Merge {
	case "auto":
		out.Merge = graph.MergeAuto
	case "ask":
		out.Merge = graph.MergeAsk
	case "never":
		out.Merge = graph.MergeNever
	}
	return &out
}
