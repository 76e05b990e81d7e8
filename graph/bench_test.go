package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"foundry/diag"
	"foundry/graph"
	"foundry/schema"
)

// large is a pipeline file of n phases: agents, commands, conditions, jumps back, gates and templates, in the
// proportions of a real one.
func large(n int) string {
	var b strings.Builder
	b.WriteString("version: 1\ncommands: {test: make test}\nagents:\n  coder: {harness: script, envelope: build, script: [{reply: {status: success}}], prompt: \"{{request}}\"}\n" +
		"  critic: {harness: script, envelope: review, writes: [], script: [{reply: {status: success, approved: true}}], prompt: look at it}\npipelines:\n  p:\n    phases:\n")
	for i := 0; i < n; i++ {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, "      - id: build_%d\n        agent: coder\n        gates: [diff_matches_claims]\n        retries: 1\n", i)
		case 1:
			fmt.Fprintf(&b, "      - id: test_%d\n        command: test\n        route: |\n          on fail when exit == 2 -> build_%d retry 2 with tail(output, 20)\n          on fail -> build_%d retry 1\n", i, i-1, i-1)
		case 2:
			fmt.Fprintf(&b, "      - id: lint_%d\n        run: make lint\n        when: phases.build_%d.envelope.summary != \"\"\n", i, i-2)
		case 3:
			fmt.Fprintf(&b, "      - id: review_%d\n        agent: critic\n        route:\n          - on reject -> build_%d retry 1\n", i, i-3)
		case 4:
			fmt.Fprintf(&b, "      - id: commit_%d\n        builtin: git_commit\n        message: \"{{envelope:build_%d.commit_message}}\"\n", i, i-4)
		}
	}
	return b.String()
}

func benchmarkCompile(b *testing.B, n int) {
	doc, list := schema.Decode(diag.NewSource("foundry.yaml", large(n)))
	if list.HasErrors() {
		b.Fatal(list.Sorted())
	}
	b.ReportAllocs()
	for b.Loop() {
		g, list := graph.New(doc, nil, graph.Files{Path: "foundry.yaml"}).Compile("p")
		if g == nil {
			b.Fatal(list.Sorted()[0].Message)
		}
	}
}

func BenchmarkCompile100(b *testing.B)   { benchmarkCompile(b, 100) }
func BenchmarkCompile1000(b *testing.B)  { benchmarkCompile(b, 1000) }
func BenchmarkCompile10000(b *testing.B) { benchmarkCompile(b, 10000) }

// BenchmarkDecode1000 is what reading the same file costs, for comparison.
func BenchmarkDecode1000(b *testing.B) {
	text := large(1000)
	for b.Loop() {
		if _, list := schema.Decode(diag.NewSource("foundry.yaml", text)); list.HasErrors() {
			b.Fatal("does not decode")
		}
	}
}
