package lsp_test

import (
	"fmt"
	"strings"
	"testing"
)

// large is a pipeline file of n phases in the proportions of a real one.
func large(n int) string {
	var b strings.Builder
	b.WriteString("version: 1\nproject: {harness: command, argv: [./agent.sh]}\ncommands: {test: make test}\nagents:\n  coder: {envelope: build, prompt: \"{{request}}\"}\n" +
		"  critic: {envelope: review, writes: [], prompt: look at it}\npipelines:\n  p:\n    phases:\n")
	for i := range n {
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

// BenchmarkChange is a letter typed into a file of 1,000 phases, until its findings are there.
func BenchmarkChange(b *testing.B) {
	c := open(b, "utf-8")
	uri := repository(b, nil)("foundry.yaml")
	text := large(1000)
	c.didOpen(uri, text)
	for _, f := range c.findings(uri, 1) {
		if f.Severity == 1 {
			b.Fatalf("%+v", f)
		}
	}
	b.ReportAllocs()
	for version := 2; b.Loop(); version++ {
		c.didChange(uri, text, version)
		c.findings(uri, version)
	}
}

// BenchmarkCompletion is the same letter, until the phases that a route can lead to are there.
func BenchmarkCompletion(b *testing.B) {
	c := open(b, "utf-8")
	uri := repository(b, nil)("foundry.yaml")
	text, p := cut(b, strings.Replace(large(1000), "on fail when exit == 2 -> build_500", "on fail when exit == 2 -> bu‸", 1))
	c.didOpen(uri, text)
	for version := 2; b.Loop(); version++ {
		c.didChange(uri, text, version)
		if items := c.complete(uri, p); len(items) < 1000 {
			b.Fatalf("%d items", len(items))
		}
	}
}
