package cli

import (
	"os"
	"testing"

	"foundry/builtins"
	"foundry/diag"
	"foundry/graph"
	"foundry/schema"
)

// TestBuiltinsLintClean lints what ships as if a user had written it, warnings included.
func TestBuiltinsLintClean(t *testing.T) {
	t.Parallel()
	doc, found := schema.Decode(diag.NewSource(builtins.Name, builtins.YAML()+"\ncommands:\n  test: go test ./...\n"))
	cat := graph.New(doc, nil, graph.Files{})
	found.Merge(cat.Lint())
	for _, d := range found.Sorted() {
		t.Errorf("line %d: %s [%s]", d.Span.Position().Line, d.Message, d.Rule)
	}
	for i := range doc.Pipelines {
		p := &doc.Pipelines[i]
		if p.Description.Value == "" {
			t.Errorf("pipeline %s has no description", p.Name.Value)
		}
		for j := range p.Phases {
			if p.Phases[j].Description.Value == "" || p.Phases[j].Hint.Value == "" {
				t.Errorf("phase %s of %s has no description or no hint", p.Phases[j].ID.Value, p.Name.Value)
			}
		}
	}
	for i := range doc.Agents {
		a := &doc.Agents[i]
		if a.Model.Set || a.Harness.Set {
			t.Errorf("agent %s names a model or a harness", a.Name.Value)
		}
	}
}

// TestExampleLintsClean holds the tour of the language to the strictest lint.
func TestExampleLintsClean(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../foundry.yaml.example")
	if err != nil {
		t.Fatal(err)
	}
	lintStrictly(t, string(text))
}
