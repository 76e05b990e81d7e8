package bench

import (
	"testing"

	"gopkg.in/yaml.v3"

	"foundry/builtins"
	"foundry/diag"
	"foundry/graph"
	"foundry/schema"
)

// BenchmarkLint decodes and compiles a file, what ships included. The floor is yaml.v3 reading the same bytes
// into nodes, which is the first thing that Foundry does with them.
func BenchmarkLint(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"1000-phases", full(1000)},
		{"1000-light-phases", light(1000, "make step")},
		{"10000-phases", full(10000)},
		{"10000-light-phases", light(10000, "make step")},
	} {
		b.Run(c.name, func(b *testing.B) {
			computing(b, 3, func() {
				var n yaml.Node
				if err := yaml.Unmarshal([]byte(c.text), &n); err != nil {
					b.Fatal(err)
				}
			}, func() {
				doc, found := schema.Decode(diag.NewSource("foundry.yaml", c.text))
				ships, _ := schema.Decode(diag.NewSource(builtins.Name, builtins.YAML()))
				found.Merge(graph.New(doc, ships, graph.Files{Path: "foundry.yaml"}).Lint())
				if found.Len() > 0 {
					b.Fatal(found.Sorted()[0].Message)
				}
			})
		})
	}
}
