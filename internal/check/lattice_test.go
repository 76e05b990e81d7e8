package check

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"foundry/graph"
	"foundry/runner"
)

// lattice is a pipeline of rows of phases, each of which needs its neighbours in the row before. Some write, some are
// agents, most are commands. Two of them jump back: that of row 7 is itself queued again by the jump of row 6.
func lattice(rows, columns int) string {
	var b strings.Builder
	b.WriteString("    accept: all_phases_pass\n    phases:\n")
	for r := range rows {
		for c := range columns {
			needs := []string{}
			for _, n := range []int{c - 1, c, c + 1} {
				if r > 0 && n >= 0 && n < columns {
					needs = append(needs, fmt.Sprintf("p%d_%d", r-1, n))
				}
			}
			what := "run: make"
			switch (r*columns + c) % 7 {
			case 3:
				what = "agent: reader"
			case 5:
				what = `run: make, writes: ["out/**"]`
			}
			route := ""
			switch fmt.Sprint(r, c) {
			case "6 1":
				route = ", route: [on fail -> p2_1 retry 2]"
				what = "run: make"
			case "7 3":
				route = ", route: [on fail -> p5_2 retry 1]"
				what = "run: make"
			}
			fmt.Fprintf(&b, "      - {id: p%d_%d, %s, needs: [%s]%s}\n", r, c, what, strings.Join(needs, ", "), route)
		}
	}
	return b.String()
}

// shared is a workspace of one file, to which each visit of a writer adds its name. A visit writes what it saw when it
// began with its name behind: of two that overlap one is lost.
type shared struct {
	g       *graph.Graph
	content string
	began   map[string]string // by visit
}

func (w *shared) answer(c runner.Command, e *runner.Event) {
	if c.ID.Phase < 0 || !w.g.Phases[c.ID.Phase].Writer {
		if e.Kind == runner.SnapshotTaken {
			e.Tree = "tree" + w.content
		}
		return
	}
	visit := fmt.Sprintf("%s@%d", e.Phase, e.Visit)
	switch e.Kind {
	case runner.SnapshotTaken:
		if c.Purpose == runner.ForStart {
			w.began[visit] = w.content
		}
		e.Tree = "tree" + w.content
	case runner.CommandEnded, runner.TurnEnded:
		w.content = w.began[visit] + " " + visit
	case runner.BoundaryChecked:
		e.Tree, e.Changed = "tree"+w.content, []string{"out/file"}
	}
}

// TestLattice runs 40 phases in 500 random orders of completion, 1 to 8 at a time, with two jumps that wait for
// each other, of which one queues the source of the other again: path, tree and verdict are always the same. So they
// are, in fewer orders, when one of them, or something before them, fails otherwise.
func TestLattice(t *testing.T) {
	t.Parallel()
	g := tryCompile(`version: 1
project: {harness: script}
agents:
  reader: {prompt: look, writes: [], script: [{reply: x}]}
pipelines:
  p:
` + lattice(8, 5))
	if g == nil {
		t.Fatal("the lattice does not compile")
	}
	if len(g.Phases) != 40 {
		t.Fatalf("it has %d phases", len(g.Phases))
	}
	passes := make([]int, 1)
	for i, fails := range [][]string{{"p6_1@1/", "p7_3@1/"}, {"p6_1@1/", "p6_1@2/", "p7_3@1/"}, {"p7_3@1/"}, {"p6_1@1/", "p6_1@2/", "p6_1@3/"}, {"p4_0@1/", "p7_3@1/"}} {
		f := &fate{seed: passes, fixed: map[string]int{}}
		for _, visit := range fails {
			f.fixed[visit] = 1
		}
		in := func(jobs int, pick func(int) int) (runner.State, []runner.Event, string) {
			w := &shared{g: g, began: map[string]string{}}
			p := &player{t: t, g: g, f: f, pick: pick, s: runner.New(g), at: newRounds(), instead: w.answer}
			p.feed(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: "run_1", Pipeline: "p", Jobs: jobs}})
			s, log := p.toTheEnd()
			if s.View().Reason == runner.ReasonSpent { // an abort is at once: what else ran by then is the order's
				return s, log, s.View().Status.String() + " " + s.View().Text
			}
			return s, log, story(g, s, log) + "\ntree" + w.content
		}
		_, log, want := in(1, func(int) int { return 0 })
		rounds := 25
		if i == 0 {
			rounds = 500
			bothWait(t, log)
		}
		for round := range rounds {
			r := rand.New(rand.NewPCG(uint64(round), 7))
			s, _, got := in(1+round%8, r.IntN)
			if got != want {
				t.Fatalf("%v, order %d, another run (%s):\n%s\nwant\n%s", fails, round, s.View().Status, got, want)
			}
		}
	}
}

// bothWait checks that a run is what the test is about: both jumps are taken in one step, and the source of one of them
// runs again since the other has queued it.
func bothWait(t *testing.T, log []runner.Event) {
	t.Helper()
	pending, visits, step := 0, map[string]int{}, false
	for _, e := range log {
		switch e.Kind {
		case runner.RoutePending:
			pending++
		case runner.RouteTaken:
			if e.Phase == "p6_1" || e.Phase == "p7_3" {
				step = pending == 2
			}
		case runner.PhaseStarted:
			visits[e.Phase] = e.Visit
		}
	}
	if !step || visits["p2_1"] != 2 || visits["p5_2"] != 2 || visits["p7_3"] != 2 || visits["p2_4"] != 1 {
		t.Errorf("%d jumps waited, taken together: %v; visits %v", pending, step, visits)
	}
}
