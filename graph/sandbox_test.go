package graph_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"foundry/graph"
)

// TestConfinement looks at what is left for the kernel when one process serves several phases.
func TestConfinement(t *testing.T) {
	t.Parallel()
	g := compile(t, `
version: 1
project: {protect: [".github/**", go.sum, "gen/", "**/*.pem", "{a,b}/**"]}
agents:
  base: {harness: script, script: [{reply: x}], sandbox: {write: [~/base]}}
  one: {extends: base, protect: ["own/**"], fallback: [two]}
  two: {extends: base, sandbox: {}}
  three: {harness: script, script: [{reply: x}]}
pipelines:
  p:
    protect: ["all/**"]
    phases:
      - {id: a, agent: one, protect: ["a/**"]}
      - {id: b, agent: one, protect: ["b/**"], commits: allow}
      - {id: c, agent: three, protect: ["**"]}
`)
	for i, want := range map[string]graph.Confinement{
		"one":   {Protect: []string{".github/**", "go.sum", "gen/", "**/*.pem", "{a,b}/**", "all/**", "own/**"}, Dirs: []string{".github", "gen", "all", "own"}, Commits: true},
		"three": {Protect: []string{".github/**", "go.sum", "gen/", "**/*.pem", "{a,b}/**", "all/**", "**"}, Dirs: []string{".github", "gen", "all", "."}},
	} {
		for j := range g.Agents {
			if g.Agents[j].Name == i {
				got := g.Confinement(j)
				var protect []string
				for _, p := range got.Protect {
					if p != "foundry.yaml" {
						protect = append(protect, p)
					}
				}
				got.Protect = protect
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: -want +got\n%s", i, diff)
				}
			}
		}
	}
	for name, want := range map[string][]string{"one": {"~/base"}, "two": {"~/base"}} {
		for j := range g.Agents {
			if a := &g.Agents[j]; a.Name == name && (a.Sandbox == nil || !cmp.Equal(a.Sandbox.Write, want)) {
				t.Errorf("agent %s has the sandbox %v", name, a.Sandbox)
			}
		}
	}
	for j := range g.Agents {
		if a := &g.Agents[j]; a.Name == "three" && a.Sandbox != nil {
			t.Errorf("agent three has a sandbox")
		}
	}
}
