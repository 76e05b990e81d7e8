package check

import (
	"testing"

	"foundry/builtins"
	"foundry/diag"
	"foundry/graph"
	"foundry/schema"
)

// FuzzTests feeds any text as a file of tests: whatever it says, every place is inside the file, every case runs
// to an end, and its results can be shown.
func FuzzTests(f *testing.F) {
	f.Add(wayward)
	f.Add("tests: [{name: a, pipeline: q, given: {one: [{exit: 255, output: \"\\0\", repeat: true}]}, expect: {routes: [a -> b], path: [one]}}]")
	f.Add("tests:\n- name: t\n  pipeline: p\n  request: r\n  params: {area: a, deep: true}\n  j: 9\n  criteria: {builds: [{timeout: true, repeat: true}]}\n  given:\n    build: [{stop: truncated}, {reply: {status: success, artifacts: [/a, ../b, c]}, files: {c: null, d/e: x}, usage: {cost: 1.5}}]\n    ship: [{reject: \"\"}, approve]\n  expect: {feedback: {build: [null, \"\"]}, visits: {build: 2}, not_run: [note], status: waiting}\n")
	doc, _ := schema.Decode(diag.NewSource("foundry.yaml", shop))
	ships, _ := schema.Decode(diag.NewSource(builtins.Name, builtins.YAML()))
	f.Fuzz(func(t *testing.T, text string) {
		src := diag.NewSource("t", text)
		tests, found := schema.DecodeTests(src)
		suite := NewSuite(graph.New(doc, ships, graph.Files{Path: "foundry.yaml"}))
		found.Merge(suite.Add(tests))
		inside := func(s diag.Span) {
			if s.Source == src && (s.Start < 0 || s.End < s.Start || s.End > len(text)) {
				t.Fatalf("span %d-%d of %d bytes", s.Start, s.End, len(text))
			}
		}
		for _, d := range found.Sorted() {
			inside(d.Span)
		}
		for _, c := range suite.Cases() {
			r := runCase(t, c)
			for _, p := range r.Problems {
				inside(p.At)
			}
			Text([]Result{r}, true, true)
		}
	})
}
