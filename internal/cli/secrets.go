package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"foundry/graph"
	"foundry/internal/drive"
	"foundry/runner"
	"foundry/secret"
)

// This file knows the values of project.secrets: the variables of the environment that Foundry was started with.

// mask hides the values of the secrets of a pipeline, or of several.
func (s *session) mask(pipelines ...*graph.Graph) *secret.Mask {
	var values []secret.Value
	for _, g := range pipelines {
		for _, name := range g.Project.Secrets {
			values = append(values, secret.Value{Name: name, Text: s.getenv(name)})
		}
	}
	return secret.New(values)
}

// masked is what a run starts with, without secrets.
func masked(m *secret.Mask, info *runner.RunInfo) *runner.RunInfo {
	return runner.Event{Run: info}.Rewrite(m.Text).Run
}

// notMasked says of each secret that has no value to be masked why that is so.
func (s *session) notMasked(names []string) []string {
	var out []string
	for _, name := range names {
		switch value := strings.TrimSpace(s.getenv(name)); {
		case value == "":
			out = append(out, fmt.Sprintf("secret %s is not set: there is nothing to mask", name))
		case len(value) < secret.Shortest:
			out = append(out, fmt.Sprintf("secret %s has fewer than %d characters: it is not masked, since it stands in many texts by chance", name, secret.Shortest))
		}
	}
	return out
}

// writtenSecrets finds secrets that cannot be kept, since the pipeline itself has them: it is part of the record.
func (s *session) writtenSecrets(p *project, g *graph.Graph) drive.Problems {
	var out drive.Problems
	mask := s.mask(g)
	found := func(where, text string) {
		for i, line := range strings.Split(text, "\n") {
			if name, ok := mask.Finds(line); ok {
				out = append(out, drive.Problem{Text: fmt.Sprintf("%s:%d: the value of secret %s stands here, and the record of a run holds this text", where, i+1, name),
					Fix: "take it out, and read $" + name + " where it is needed"})
				return
			}
		}
	}
	if p.source != nil {
		found(p.name, p.source.Text)
	}
	for _, path := range slices.Sorted(maps.Keys(p.used)) {
		found(path, p.used[path])
	}
	found("--agents", p.agents)
	for _, name := range setSecrets(g) {
		out = append(out, drive.Problem{Text: fmt.Sprintf("%s is a secret, and the pipeline sets it: only what the environment of foundry holds can be masked", name),
			Fix: "take it out of `env`; every program of the run has it from the environment, or take it out of project.secrets"})
	}
	return out
}

// setSecrets are the secrets that an env of the pipeline sets.
func setSecrets(g *graph.Graph) []string {
	g = g.Sampled()
	layers := [][]graph.EnvVar{g.Project.Env}
	for i := range g.Phases {
		layers = append(layers, g.Phases[i].Env)
		for _, gate := range g.Phases[i].Gates {
			if gate.Command != nil {
				layers = append(layers, gate.Command.Env)
			}
		}
	}
	for i := range g.Agents {
		layers = append(layers, g.Agents[i].Env)
	}
	for call := graph.PhaseID(-1); int(call) < len(g.Phases); call++ {
		if call >= 0 && g.Phases[call].Call == nil {
			continue
		}
		for _, c := range g.BodyOf(call).Criteria {
			layers = append(layers, c.Command.Env)
		}
	}
	for i := range g.After {
		layers = append(layers, g.After[i].Command.Env)
	}
	var out []string
	for _, layer := range layers {
		for _, v := range layer {
			if slices.Contains(g.Project.Secrets, v.Name) && !slices.Contains(out, v.Name) {
				out = append(out, v.Name)
			}
		}
	}
	return out
}
