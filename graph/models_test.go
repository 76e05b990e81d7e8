package graph_test

import (
	"testing"

	"foundry/graph"
)

func TestModels(t *testing.T) {
	t.Parallel()
	g := compile(t, `
version: 1
project: {harness: command, argv: [./a], model: usual, models: {light: small}}
agents:
  a: {models: {heavy: big}, fallback: [b, c]}
  b: {harness: script, script: [{reply: x}], models: {heavy: huge}}
  c: {model: own}
pipelines:
  p:
    phases:
      - {id: plain, agent: a, prompt: x}
      - {id: light, agent: a, prompt: x, model: light}
      - {id: heavy, agent: a, prompt: x, model: heavy}
      - {id: named, agent: a, prompt: x, model: special}
`)
	for _, c := range []struct{ phase, a, b, c string }{
		{"plain", "usual", "", "own"},
		{"light", "small", "", "small"},
		{"heavy", "big", "huge", "own"},
		{"named", "special", "", "special"}, // a name of a model means nothing to another harness
	} {
		for i := range g.Phases {
			if g.Phases[i].Name != c.phase {
				continue
			}
			for j := range g.Agents {
				want := map[string]string{"a": c.a, "b": c.b, "c": c.c}[g.Agents[j].Name]
				if got := g.Model(graph.PhaseID(i), j); got != want {
					t.Errorf("agent %s in phase %s: %q, want %q", g.Agents[j].Name, c.phase, got, want)
				}
			}
		}
	}
}
