package check

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"foundry/graph"
	"foundry/runner"
)

// steps is a plan of twelve steps on three levels: a3 fails, b4 is rejected by its review, b2 is blocked until a person
// has spoken.
var steps = []string{"a1", "a2", "a3", "a4", "b1:a1", "b2:a1,a2", "b3:a3", "b4:a4", "c1:b1", "c2:b2", "c3:b3", "c4:b4"}

// afterSteps is how they end.
const afterSteps = "a1 success, a2 success, a3 fail, a4 success, b1 success, b2 success, b3 not_run, b4 fail, c1 success, c2 success, c3 not_run, c4 not_run"

// stepsGraph has the plan done by agents that write nothing, so that they overlap, or by agents that write.
func stepsGraph(t *testing.T, writes string) *graph.Graph {
	t.Helper()
	return compile(t, loops+`
  thinker: {extends: builtin/planner, script: [{reply: x}]}
  judge: {extends: critic}
pipelines:
  p:
    accept: passed("after")
    phases:
      - {id: plan, agent: thinker}
      - id: do
        agent: coder
        each: {in: phases.plan.envelope.steps, limit: 12}
        review: judge
`+writes+`        route: |
          on fail when reason == "reported" -> self retry 1
          on fail -> next
      - {id: beside, needs: [], run: make beside}
      - {id: after, needs: [do, beside], run: make after}
`, "p")
}

// stepper plays a run of them. What it answers depends on the phase alone, and on whether a person has spoken.
func stepper(t *testing.T, g *graph.Graph, pick func(int) int) *player {
	p := &player{t: t, g: g, f: &fate{seed: []int{0}}, pick: pick, s: runner.New(g), at: newRounds(), lift: "here is the key"}
	p.instead = func(c runner.Command, e *runner.Event) {
		key, _, _ := strings.Cut(strings.TrimPrefix(e.Phase, "do["), "]")
		switch {
		case e.Kind == runner.ReviewChecked:
			e.Checks = runner.CheckCited(runner.Cited(p.s, c.ID.Phase), nil, func(string) bool { return true })
		case e.Kind != runner.TurnEnded:
		case c.Purpose.Reviews() && key == "b4":
			e.Reply = &runner.Reply{Stop: runner.StopEnd, Text: `{"verdict": "fail", "reason": "no test", "evidence": ["a.go"]}`}
		case c.Purpose.Reviews():
			e.Reply = &runner.Reply{Stop: runner.StopEnd, Text: `{"verdict": "pass", "reason": "", "evidence": ["a.go"]}`}
		case e.Phase == "plan":
			e.Reply = &runner.Reply{Stop: runner.StopEnd, Text: planned(steps...).Reply}
		case key == "a3":
			e.Reply = &runner.Reply{Stop: runner.StopEnd, Text: reported().Reply}
		case key == "b2" && !slices.ContainsFunc(p.log, func(e runner.Event) bool { return e.Kind == runner.RunResumed && e.Text != "" }):
			e.Reply = &runner.Reply{Stop: runner.StopEnd, Text: blocked("no key").Reply}
		default:
			e.Reply = &runner.Reply{Stop: runner.StopEnd, Text: `{"status": "success", "summary": "did ` + key + `"}`}
		}
	}
	return p
}

// turnsBy counts the turns that were had, by phase and visit.
func turnsBy(log []runner.Event) map[string]int {
	out := map[string]int{}
	for _, e := range log {
		if e.Kind == runner.TurnEnded {
			out[fmt.Sprintf("%s@%d", e.Phase, e.Visit)]++
		}
	}
	return out
}

// TestStepsOfAPlan plays the twelve steps in random orders and with one to eight jobs, then kills the run after each
// of its events and goes on. Every one of these runs ends the same way, and no turn that has ended is had again.
func TestStepsOfAPlan(t *testing.T) {
	t.Parallel()
	for name, writes := range map[string]string{"readers": "        writes: []\n", "writers": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := stepsGraph(t, writes)
			start := func(jobs int, pick func(int) int) (runner.State, []runner.Event) {
				p := stepper(t, g, pick)
				p.feed(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: "run_1", Pipeline: "p", Jobs: jobs}})
				return p.toTheEnd()
			}
			first := func(int) int { return 0 }
			s, log := start(1, first)
			want, turns := story(g, s, log), turnsBy(log)
			if got := itemStatuses(Run{State: s}, g); got != afterSteps || s.View().Status != runner.RunAccepted {
				t.Fatalf("%s\n%s", got, want)
			}
			r := rand.New(rand.NewPCG(1, 2))
			for jobs := 1; jobs <= 8; jobs++ {
				for range 3 {
					s, log := start(jobs, r.IntN)
					checkBound(t, g, s)
					if got := story(g, s, log); got != want {
						t.Fatalf("with %d jobs it went another way\n--- want\n%s--- got\n%s", jobs, want, got)
					}
					if _, missing, err := runner.Replay(g, log, nil); err != nil || len(missing) > 0 {
						t.Fatalf("replay: %v, %d missing", err, len(missing))
					}
				}
			}
			_, log = start(4, r.IntN)
			for cut := 1; cut < len(log); cut++ {
				s, missing, err := runner.Replay(g, log[:cut], nil)
				if err != nil {
					t.Fatalf("killed after %d of %d events: %v", cut, len(log), err)
				}
				p := stepper(t, g, first)
				p.s, p.g, p.log = s, s.Graph(g), append(slices.Clone(log[:cut]), missing...)
				for i := range p.log {
					p.at.add(p.g, &p.log[i])
				}
				if !s.View().Ended {
					p.feed(runner.Event{Kind: runner.RunResumed})
				}
				s, full := p.toTheEnd()
				if got := story(g, s, full); got != want {
					t.Fatalf("killed after %d of %d events it went another way\n--- want\n%s--- got\n%s", cut, len(log), want, got)
				}
				if got := turnsBy(full); fmt.Sprint(got) != fmt.Sprint(turns) {
					t.Fatalf("killed after %d of %d events: turns %v, want %v", cut, len(log), got, turns)
				}
			}
		})
	}
}

// TestPromptOfAnItem: the request, the entry, and what has ended in any order before it.
func TestPromptOfAnItem(t *testing.T) {
	t.Parallel()
	g := stepsGraph(t, "        writes: []\n")
	prompts := func(jobs int, pick func(int) int) map[string]string {
		out := map[string]string{}
		p := stepper(t, g, pick)
		p.sees = func(c runner.Command) {
			if c.ID.Kind != runner.SendTurn || c.Purpose.Reviews() {
				return
			}
			m, err := runner.Prompt(g, p.s, c, runner.World{}, false)
			if err != nil {
				t.Fatal(err)
			}
			key := fmt.Sprintf("%s@%d.%d", p.s.Graph(g).Phases[c.ID.Phase].Name, c.ID.Visit, c.ID.Turn)
			if old, twice := out[key]; twice && old != m.Text {
				t.Errorf("%s changed between two sendings", key)
			}
			out[key] = m.Text
		}
		p.feed(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: "run_1", Pipeline: "p", Request: "build it", Jobs: jobs}})
		p.toTheEnd()
		return out
	}
	want := prompts(1, func(int) int { return 0 })
	b2 := want["do[b2]@1.1"]
	for _, part := range []string{"build it", "## item", `"title": "do b2"`, "## finished before", "- a1 (success) do a1: did a1", "- a2 (success) do a2: did a2"} {
		if !strings.Contains(b2, part) {
			t.Errorf("the prompt of b2 has no %q:\n%s", part, b2)
		}
	}
	if strings.Contains(b2, "a4") || strings.Contains(want["do[a1]@1.1"], "## finished before") {
		t.Error("a prompt tells of what may end before or after it")
	}
	r := rand.New(rand.NewPCG(3, 4))
	for jobs := 2; jobs <= 8; jobs += 3 {
		got := prompts(jobs, r.IntN)
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if string(a) != string(b) {
			t.Errorf("with %d jobs the prompts are others", jobs)
		}
	}
}
