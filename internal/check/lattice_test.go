package check

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

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

// TestLattice runs 40 phases in 500 random orders of completion, 1 to 8 at a time, with two jumps that wait for
// each other: path and verdict are always the same.
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
	passes := make([]int, 1)
	for _, fails := range [][]string{{"p6_1@1/", "p7_3@1/"}, {"p6_1@1/", "p6_1@2/", "p7_3@1/"}, {"p7_3@1/"}, {"p6_1@1/", "p6_1@2/", "p6_1@3/"}, {"p4_0@1/", "p7_3@1/"}} {
		f := &fate{seed: passes, fixed: map[string]int{}}
		for _, visit := range fails {
			f.fixed[visit] = 1
		}
		s, log := play(t, g, f, 1, func(int) int { return 0 })
		want := story(g, s, log)
		if fails[0] == "p6_1@1/" && !strings.Contains(want, "p2_1@2/") {
			t.Errorf("p2_1 was not entered again:\n%s", want)
		}
		for round := range 100 {
			r := rand.New(rand.NewPCG(uint64(round), 7))
			s, log := play(t, g, f, 1+round%8, r.IntN)
			if got := story(g, s, log); got != want && s.View().Reason != runner.ReasonSpent {
				t.Fatalf("%v, order %d, another run:\n%s\nwant\n%s", fails, round, got, want)
			}
		}
	}
}
