package cli

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"foundry/graph"
	"foundry/runner"
)

// This file looks whether the pipeline of a run was edited while the run was at rest, and takes the edited one up.

// present is the project that the run's pipeline file is now, with the agents that the run was started with. A run of
// a pipeline that ships needs no file.
func (s *session) present(d *driving) (*project, error) {
	var p *project
	var err error
	switch {
	case s.file != "" || !d.src.Has:
		p, err = s.loadOrBuiltins()
	default:
		top, _ := repositoryTop(s.dir)
		p, err = s.loadFile(filepath.Join(top, filepath.FromSlash(d.src.File)))
	}
	return p, err
}

// edited compares the pipeline with what the file says now. When that is something else the run and the event are told of
// it, and the event shows it. Finished phases that would have to run again are refused without force, with the difference.
func (s *session) edited(d *driving, resumed *runner.Event, force bool) error {
	keep := func(err error) error {
		p := asProblem(err)
		return p.hintf("%s", strings.TrimPrefix(fmt.Sprintf("%s; `foundry resume %s --keep-pipeline` goes on with the pipeline as it was", p.hint, d.rec.ID()), "; "))
	}
	p, err := s.present(d)
	if err != nil {
		return keep(err)
	}
	if p.source == nil && !d.src.Has {
		return nil // what ships, then as now
	}
	now, err := s.compiledFor(p, p.name, d.src, d.info)
	if err != nil {
		return keep(err)
	}
	differences := graph.Compare(d.graph, now)
	if len(differences) == 0 {
		return nil
	}
	lines := make([]string, len(differences))
	for i, diff := range differences {
		lines[i] = diff.String()
	}
	if s.verbose {
		s.showTexts(d, p)
	}
	refuse := func(err error) error {
		s.note("foundry: pipeline %s was edited since %s last ran:", d.graph.Pipeline, d.rec.ID())
		for _, line := range lines {
			s.note("  %s", line)
		}
		return keep(err)
	}
	if err := s.stillFits(d, now); err != nil {
		return refuse(err)
	}
	if again := runner.Redone(d.graph, now, d.state); len(again) > 0 && !force {
		slices.Sort(again)
		return refuse(badUsage("%s ended already and would have to run again, since the pipeline was edited", few(again)).
			hintf("--force runs %s again", pronoun(len(again))))
	}
	resumed.Edited, d.edited, d.project = lines, now, p
	return nil
}

func pronoun(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// showTexts shows how the texts of the pipeline differ, line by line.
func (s *session) showTexts(d *driving, p *project) {
	if p.source != nil {
		s.note("%s", strings.TrimRight(lineDiff(p.relative(), d.src.Text, p.source.Text), "\n"))
	}
	for _, name := range slices.Sorted(maps.Keys(p.used)) {
		if diff := lineDiff(name, d.src.Files[name], p.used[name]); diff != "" {
			s.note("%s", strings.TrimRight(diff, "\n"))
		}
	}
}

// stillFits says why a run cannot go on with an edited pipeline: what it was started with does not fit it, or
// something that it needs is not there.
func (s *session) stillFits(d *driving, now *graph.Graph) error {
	var set []string
	for _, name := range slices.Sorted(maps.Keys(d.info.Params)) {
		if param(now, name) != nil {
			set = append(set, name+"="+d.info.Params[name])
		}
	}
	if _, err := parameters(now, set); err != nil {
		return badUsage("the edited pipeline does not fit the run: %w", err)
	}
	if found := preflight(d.pl, now, d.info); len(found) > 0 {
		return s.unfit(found)
	}
	return nil
}

// noteEdited says that the file says something else now, to somebody who goes on with what the run has.
func (s *session) noteEdited(d *driving) {
	p, err := s.present(d)
	if err != nil {
		if !errors.Is(err, errNoFile) {
			s.note("foundry: the run goes on with the pipeline that it has: %v", err)
		}
		return
	}
	var now *graph.Graph
	if p.tryAgents(d.src.Tried) == nil {
		now, _ = p.names.Compile(d.info.Pipeline)
	}
	if now != nil && len(graph.Compare(d.graph, now)) == 0 {
		return
	}
	s.note("foundry: pipeline %s was edited since; the run goes on with the one it has, `foundry resume` takes up the new one", d.info.Pipeline)
}
