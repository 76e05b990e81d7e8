package check

import (
	"fmt"
	"strings"
	"testing"

	"foundry/builtins"
	"foundry/diag"
	"foundry/graph"
	"foundry/schema"
)

// BenchmarkThousandTests reads and runs a thousand tests of plan-build-test, each with a repair: what one start of
// `foundry test` does for a large file.
func BenchmarkThousandTests(b *testing.B) {
	var text strings.Builder
	text.WriteString("tests:\n")
	for i := range 1000 {
		fmt.Fprintf(&text, `  - name: test %d
    pipeline: plan-build-test
    request: add a cache
    given:
      plan: [{reply: {status: success, artifacts: [specs/p.md]}, files: {specs/p.md: "# A plan\n"}}]
      build:
        - {reply: {status: success, changed_files: [cache.go]}, changed: [cache.go]}
        - {reply: {status: success, changed_files: [cache.go]}, changed: [cache.go]}
      test: [{exit: 2, output: "FAIL: TestEvict"}, {exit: 0}]
    expect: {status: accepted, path: [plan, build, test, build, test, commit], feedback: {build: [null, "FAIL: TestEvict"]}}
`, i)
	}
	for b.Loop() {
		doc, _ := schema.Decode(diag.NewSource("foundry.yaml", "version: 1\ncommands: {test: make test}\n"))
		ships, _ := schema.Decode(diag.NewSource(builtins.Name, builtins.YAML()))
		suite := NewSuite(graph.New(doc, ships, graph.Files{Path: "foundry.yaml"}))
		tests, found := schema.DecodeTests(diag.NewSource("t", text.String()))
		found.Merge(suite.Add(tests))
		if found.HasErrors() || len(suite.Cases()) != 1000 {
			b.Fatalf("%d cases\n%s", len(suite.Cases()), findings(found))
		}
		for _, c := range suite.Cases() {
			if r := runCase(b, c); !r.Passed() {
				b.Fatal(Text([]Result{r}, false, false))
			}
		}
	}
}

// BenchmarkExplore explores the longest pipeline that ships.
func BenchmarkExplore(b *testing.B) {
	suite, _ := suiteOf(b, "version: 1\ncommands: {test: make test}\n")
	for b.Loop() {
		if _, err := Explore(suite.Graph("full-sdlc"), nil, DefaultRuns); err != nil {
			b.Fatal(err)
		}
	}
}
