package lsp

import (
	"os"
	"slices"
	"testing"

	"foundry/builtins"
	"foundry/diag"
	"foundry/gates"
	"foundry/graph"
	"foundry/schema"
)

// bare is a server without a client, whose projects are in no repository.
func bare(tb testing.TB) *server {
	tb.Helper()
	ships, _ := schema.Decode(diag.NewSource(builtins.Name, builtins.YAML()))
	words := Vocabulary{Triggers: []Word{{"fail", "", ""}}, Actions: []Word{{"next", "", ""}}, Functions: []Word{{"len", "", ""}}}
	for _, g := range gates.Table() {
		words.Gates = append(words.Gates, schema.GateWords{Name: g.Name, Doc: g.Summary, Short: g.Short})
	}
	return &server{table: newTable(words), encoding: utf16, documents: map[string]*document{}, findings: map[key][]diagnostic{},
		config: Config{Words: words, Open: func(path, text string, _ func(string) (string, bool)) Project {
			source := diag.NewSource("foundry.yaml", text)
			doc, _ := schema.Decode(source)
			return Project{Source: source, Broken: doc.Broken, Names: graph.New(doc, ships, graph.Files{Path: "foundry.yaml"}), Root: "/"}
		}}}
}

// askEverything puts all questions about an offset, and holds the answers to the text.
func askEverything(tb testing.TB, s *server, d *document, offset int) {
	tb.Helper()
	v := s.view(d, -1)
	if text, from, to, ok := v.hover(offset); ok && (text == "" || from > offset || to < offset || to > len(d.text)) {
		tb.Fatalf("hover at %d is about %d to %d: %q", offset, from, to, text)
	}
	for _, at := range v.definition(offset) {
		if at.source == nil && (at.start < 0 || at.end > len(d.text) || at.start > at.end) {
			tb.Fatalf("the definition of %d is at %d to %d", offset, at.start, at.end)
		}
	}
	a := s.view(d, offset).complete(offset)
	if len(a.offers) > 0 && (a.to != offset || a.from > a.to || a.from < 0) {
		tb.Fatalf("the completion of %d is for %d to %d", offset, a.from, a.to)
	}
	if slices.ContainsFunc(a.offers, func(o offer) bool { return o.label == "" }) {
		tb.Fatalf("the completion of %d has an empty word", offset)
	}
	s.items(d, a)
}

// TestEveryPlace asks about every place of the tour of the language, and about the end of each of its beginnings,
// which is how it was written.
func TestEveryPlace(t *testing.T) {
	t.Parallel()
	tour, err := os.ReadFile("../../foundry.yaml.example")
	if err != nil {
		t.Fatal(err)
	}
	s := bare(t)
	d := &document{uri: "file:///foundry.yaml"}
	d.setText(string(tour), nil)
	step := 3
	if testing.Short() {
		step = 29
	}
	for offset := 0; offset <= len(tour); offset += step {
		askEverything(t, s, d, offset)
	}
	for end := 0; end <= len(tour); end += 10 * step {
		d.setText(string(tour[:end]), nil)
		askEverything(t, s, d, end)
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add("version: 1\nagents:\n  a: {prompt: \"{{phases.b.envelope.\"}\npipelines:\n  p:\n    accept: passed(\"b\") && \n    phases:\n      - id: b\n        agent: a\n        route: |\n          on fail when envelope. -> b retry 1\n", 60)
	f.Add("pipelines: {p: {phases: [{id: a, needs: [", 41)
	f.Add("gates:\n  g: {check: 'x'}\ntests:\n- given:\n    a: [{}]\n", 12)
	f.Add("x: &a {b: *a}\n<<: *a\n", 9)
	f.Add("commands:\n  - [run, '''\n", 20)
	s := bare(f)
	f.Fuzz(func(t *testing.T, text string, offset int) {
		if len(text) > 4000 {
			return
		}
		d := &document{uri: "file:///foundry.yaml"}
		d.setText(text, nil)
		d.isOurs()
		askEverything(t, s, d, min(max(offset, 0), len(text)))
	})
}
