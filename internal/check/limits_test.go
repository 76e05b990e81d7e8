package check

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"foundry/graph"
	"foundry/runner"
)

const looping = loops + `
pipelines:
  p:
    limits: {%s}
    phases:
      - {id: build, agent: coder}
      - {id: test, run: make, route: [on fail -> build retry 9]}
`

func using(tokens int, cost float64) Given {
	out := ok("")
	out.Tokens, out.Cost = tokens, cost
	return out
}

// A round that the budgets cannot pay is not begun.
func TestOneMoreRoundHasToFit(t *testing.T) {
	t.Parallel()
	bad := out(1, "")
	bad.Repeat = true
	for _, tt := range []struct {
		limits     string
		build      []Given
		path, want string
	}{
		{"turns: 2", []Given{ok(""), ok("")}, "build test build test", "budget:turns: another round of test -> build does not fit: the last one took 1 turn, and 0 of 2 turns are left"},
		{"turns: 4", []Given{ok(""), {Reply: "prose"}, {Reply: "prose"}, ok("")}, "build test build test",
			"budget:turns: another round of test -> build does not fit: the last one took 3 turns, and 0 of 4 turns are left"},
		{"tokens: 100", []Given{using(40, 0), using(70, 0)}, "build test build test",
			"budget:tokens: another round of test -> build does not fit: the last one took 70 tokens, and 0 of 100 tokens are left"},
		{"tokens: 100", []Given{using(60, 0)}, "build test", "budget:tokens: another round of test -> build does not fit: the last one took 60 tokens, and 40 of 100 tokens are left"},
		{"cost: 1.00", []Given{using(0, 0.30), using(0, 0.40)}, "build test build test",
			"budget:cost: another round of test -> build does not fit: the last one took $0.40, and $0.30 of $1.00 are left"},
		{"phases: 5", []Given{ok(""), ok("")}, "build test build test", "budget:phases: another round of test -> build does not fit: the last one took 2 phase visits, and 1 of 5 phase visits are left"},
	} {
		t.Run(tt.limits, func(t *testing.T) {
			t.Parallel()
			g := compile(t, fmt.Sprintf(looping, tt.limits), "p")
			r := run(t, g, &World{Phases: map[string][]Given{"build": tt.build, "test": {bad}}})
			wantPath(t, r, tt.path)
			wantEnd(t, r, "rejected", tt.want)
		})
	}
}

// A granted budget takes the jump that waited for it: nothing that had ended is paid for again.
func TestAGrantTakesTheJumpThatDidNotFit(t *testing.T) {
	t.Parallel()
	g := compile(t, fmt.Sprintf(looping, "turns: 1"), "p")
	turns := 0
	p := &player{t: t, g: g, f: &fate{seed: []int{0}}, pick: func(int) int { return 0 }, s: runner.New(g), at: newRounds()}
	p.instead = func(c runner.Command, e *runner.Event) {
		switch c.ID.Kind {
		case runner.SendTurn:
			turns++
		case runner.StartCommand:
			e.Result.Exit = 2 - turns
		}
	}
	p.feed(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: "run_1", Pipeline: "p", Jobs: 1}})
	s, log := p.toTheEnd()
	if s.View().Reason != "budget:turns" || turns != 1 {
		t.Fatalf("%s after %d turns", s.View().Reason, turns)
	}
	p.open = nil
	p.feed(runner.Event{Kind: runner.GrantGiven, Limit: "turns", Grant: 1})
	p.feed(runner.Event{Kind: runner.RunResumed})
	again := len(log)
	s, log = p.toTheEnd()
	var path []string
	for _, e := range log[again:] {
		if e.Kind == runner.PhaseStarted || e.Kind == runner.RouteTaken {
			path = append(path, string(e.Kind)+" "+e.Phase)
		}
	}
	if got := strings.Join(path, ", "); got != "route.taken test, phase.started build, phase.started test" || s.View().Status != runner.RunAccepted {
		t.Errorf("it went on with %s and was %s", got, s.View().Status)
	}
	if _, missing, err := runner.Replay(g, log, nil); err != nil || len(missing) > 0 {
		t.Errorf("replay: %v, %d missing", err, len(missing))
	}
}

// The time of a round counts as well: as far as the driver says how long the run was at work.
func TestOneMoreRoundHasToFitInTime(t *testing.T) {
	t.Parallel()
	g := compile(t, fmt.Sprintf(looping, "time: 10m"), "p")
	p := &player{t: t, g: g, f: &fate{seed: []int{1}}, pick: func(int) int { return 0 }, s: runner.New(g), at: newRounds()}
	at := time.Duration(0)
	p.instead = func(c runner.Command, e *runner.Event) {
		if c.ID.Kind == runner.SendTurn {
			at += 4 * time.Minute
			e.Reply.Text = `{"status": "success"}`
		}
		e.Busy = at.Milliseconds()
	}
	p.feed(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: "run_1", Pipeline: "p", Jobs: 1}})
	s, _ := p.toTheEnd()
	if v := s.View(); v.Reason != "budget:time" || v.Text != "another round of test -> build does not fit: the last one took 4m0s, and 2m0s of 10m0s are left" {
		t.Errorf("%s: %s", v.Reason, v.Text)
	}
}

// TestBudgetsHold runs random pipelines with random budgets and random figures, one to eight phases at a time: no turn
// begins once a budget is reached, and the ledger is the sum of what the turns told.
func TestBudgetsHold(t *testing.T) {
	t.Parallel()
	ended := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		text := randomPipelines(t)
		g := tryCompile(text)
		if g == nil {
			t.Skip("does not compile")
		}
		limited := *g
		limited.Limits = graph.Limits{Time: time.Hour, Turns: rapid.IntRange(1, 12).Draw(t, "turns"), Tokens: rapid.IntRange(1, 400).Draw(t, "tokens"),
			Cost: float64(rapid.IntRange(1, 400).Draw(t, "cents")) / 100, Phases: rapid.IntRange(1, 30).Draw(t, "phases")}
		f := &fate{seed: rapid.SliceOfN(rapid.IntRange(0, 11), 40, 40).Draw(t, "fate")}
		order := rapid.SliceOfN(rapid.IntRange(0, 1000), 30, 30).Draw(t, "order")
		jobs, i := rapid.IntRange(1, 8).Draw(t, "jobs"), 0
		p := &player{t: t, g: &limited, f: f, pick: func(n int) int { i++; return order[i%len(order)] % n }, s: runner.New(&limited), at: newRounds()}
		var sum runner.View
		sent := map[runner.ID]bool{}
		p.sees = func(c runner.Command) {
			if c.ID.Kind != runner.SendTurn || sent[c.ID] {
				return
			}
			sent[c.ID] = true
			l := limited.Limits
			if sum.Tokens >= l.Tokens || sum.Cost >= l.Cost || len(sent) > l.Turns {
				t.Fatalf("turn %d begins with %d tokens and $%.2f used of %+v\n%s", len(sent), sum.Tokens, sum.Cost, l, text)
			}
		}
		p.instead = func(c runner.Command, e *runner.Event) {
			if c.ID.Kind == runner.SendTurn {
				e.Reply.Tokens, e.Reply.Cost, e.Reply.CostKnown = 7*len(sent), float64(len(sent)%5)/10, true
				sum.Turns, sum.Tokens, sum.Cost = sum.Turns+1, sum.Tokens+e.Reply.Tokens, sum.Cost+e.Reply.Cost
			}
		}
		p.feed(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: "run_1", Pipeline: "p", Jobs: jobs}})
		s, log := p.toTheEnd()
		v, o := s.View(), runner.OutlineOf("run_1", log)
		ended[v.Reason]++
		if v.Turns != len(sent) || v.Tokens != sum.Tokens || math.Abs(v.Cost-sum.Cost) > 1e-9 {
			t.Fatalf("the ledger has %d turns, %d tokens, $%f; the turns told %d, %d, $%f", v.Turns, v.Tokens, v.Cost, len(sent), sum.Tokens, sum.Cost)
		}
		if o.Usage.Turns != sum.Turns || *o.Usage.Tokens != sum.Tokens || math.Abs(*o.Usage.Cost-sum.Cost) > 1e-9 {
			t.Fatalf("the log says %+v, the turns told %+v", o.Usage, sum)
		}
		if visits := visitsOf(log); visits > limited.Limits.Phases {
			t.Fatalf("%d visits of %d", visits, limited.Limits.Phases)
		}
	})
	if ended["budget:turns"]+ended["budget:tokens"]+ended["budget:cost"]+ended["budget:phases"] == 0 {
		t.Errorf("no run ended for its budget: %v", ended)
	}
}

func visitsOf(log []runner.Event) int {
	n := 0
	for i := range log {
		if log[i].Kind == runner.PhaseStarted {
			n++
		}
	}
	return n
}
