package graph_test

import (
	"errors"
	"testing"

	"foundry/diag"
	"foundry/graph"
	"foundry/schema"
)

// FuzzCompile takes any bytes as a pipeline file. Nothing panics, every place lies inside its text, and what
// lint accepts compiles and can be drawn.
func FuzzCompile(f *testing.F) {
	for _, name := range []string{"tdd", "job", "nested", "triage"} {
		f.Add(pipeline(f, name))
	}
	f.Add("version: 1\npipelines:\n  p:\n    phases:\n      - {id: a, needs: [a, b], route: [on fail -> b, on any -> a retry 1]}\n      - {id: b, detour: true, ask: x}\n")
	f.Add("version: 1\npipelines:\n  p:\n    phases:\n      - {id: a, call: q, set: {n: \"{{request}}\"}, route: [on fail -> a retry 1]}\n      - {id: b, call: builtin/prompt}\n" +
		"  q:\n    params: {n: {type: text, default: x}}\n    criteria: [{name: c, run: make}]\n    phases: [{id: a, run: x, when: params.n != \"\"}, {id: d, detour: true, ask: x}]\n" +
		"  r: {extends: p, patch: {a: {writes: [src/**]}, c: {after: a, call: q}}}\n")
	ships := shipped(f)
	f.Fuzz(func(t *testing.T, text string) {
		doc, list := schema.Decode(diag.NewSource("foundry.yaml", text))
		c := graph.New(doc, ships, graph.Files{Path: "foundry.yaml", Read: func(string) (string, error) { return "", errors.New("no such file") }})
		list.Merge(c.Lint())
		for _, d := range list.Sorted() {
			if s := d.Span; s.Source != nil && (s.Start < 0 || s.End < s.Start || s.End > len(s.Source.Text)) {
				t.Fatalf("%s points outside its text: %d to %d", d.Rule, s.Start, s.End)
			}
		}
		clean := !list.HasErrors()
		for i := range doc.Pipelines {
			name := doc.Pipelines[i].Name.Value
			g, found := c.Compile(name)
			if (g == nil) != found.HasErrors() {
				t.Fatalf("a graph and errors, or neither: %v", found.Sorted())
			}
			if g == nil && clean {
				t.Fatalf("lint accepts what compile refuses: %v", found.Sorted())
			}
			if g != nil {
				_, _, _ = g.Text(), g.Mermaid(), g.DOT()
				if _, err := g.MarshalJSON(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
