package runner_test

import (
	"fmt"
	"strings"
	"testing"

	"foundry/diag"
	"foundry/graph"
	"foundry/runner"
	"foundry/schema"
)

// benchmarkRun takes a pipeline of n commands that all pass through the machine, and nothing else: the time is
// that of Step, of which a run makes one for each fact.
func benchmarkRun(b *testing.B, n int) {
	var text strings.Builder
	text.WriteString("version: 1\npipelines:\n  p:\n    request: none\n    phases:\n")
	for i := range n {
		fmt.Fprintf(&text, "      - {id: p%d, run: make}\n", i)
	}
	doc, _ := schema.Decode(diag.NewSource("foundry.yaml", text.String()))
	g, list := graph.New(doc, nil, graph.Files{Path: "foundry.yaml"}).Compile("p")
	if g == nil {
		b.Fatal(list.Sorted()[0].Message)
	}
	facts := []runner.Event{{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: "run_1", Jobs: 1}}, {Kind: runner.WorkspaceReady}}
	for _, ph := range g.Phases {
		facts = append(facts, runner.Event{Kind: runner.CommandEnded, Phase: ph.Name, Visit: 1, Attempt: 1, Result: &runner.CommandResult{}})
	}
	facts = append(facts, runner.Event{Kind: runner.SnapshotTaken, Tree: "t"})
	b.ReportAllocs()
	for b.Loop() {
		s := runner.New(g)
		for _, f := range facts {
			var err error
			if s, _, err = runner.Step(g, s, f); err != nil {
				b.Fatal(err)
			}
		}
		if v := s.View(); v.Status != runner.RunAccepted {
			b.Fatalf("the run ended %s", v.Status)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/phase")
}

func BenchmarkRun100(b *testing.B)  { benchmarkRun(b, 100) }
func BenchmarkRun1000(b *testing.B) { benchmarkRun(b, 1000) }
