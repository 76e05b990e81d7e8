package check

import (
	"slices"
	"strings"
	"testing"

	"foundry/builtins"
	"foundry/diag"
	"foundry/graph"
	"foundry/runner"
	"foundry/schema"
)

// compile makes the graph of a pipeline text; findings end the test.
func compile(t testing.TB, text, pipeline string) *graph.Graph {
	t.Helper()
	doc, found := schema.Decode(diag.NewSource("foundry.yaml", text))
	ships, _ := schema.Decode(diag.NewSource(builtins.Name, builtins.YAML()))
	g, more := graph.New(doc, ships, graph.Files{Path: "foundry.yaml"}).Compile(pipeline)
	found.Merge(more)
	if found.HasErrors() || g == nil {
		var b strings.Builder
		diag.RenderText(&b, found.Sorted(), false)
		t.Fatalf("does not compile:\n%s\n%s", b.String(), text)
	}
	return g
}

const loops = `version: 1
project: {harness: script}
agents:
  coder: {extends: builtin/builder, script: [{reply: x}]}
  critic: {extends: builtin/reviewer, script: [{reply: x}]}
`

func ok(more string) Given {
	if more != "" {
		more = ", " + more
	}
	return Given{Reply: `{"status": "success"` + more + `}`}
}

func approve() Given { return ok(`"approved": true`) }
func refuse(blocking string) Given {
	return ok(`"approved": false, "blocking": ["` + blocking + `"]`)
}
func out(exit int, text string) Given { return Given{Exit: exit, Output: text} }

func run(t *testing.T, g *graph.Graph, w *World) Run {
	t.Helper()
	r, err := Simulate(g, runner.RunInfo{ID: "run_1", Pipeline: g.Pipeline, Request: "do it"}, w)
	if err != nil {
		t.Fatalf("%v\npath %v", err, r.Path)
	}
	return r
}

func wantPath(t *testing.T, r Run, path string) {
	t.Helper()
	if got := strings.Join(r.Path, " "); got != path {
		t.Errorf("path\n got %s\nwant %s", got, path)
	}
}

func wantEnd(t *testing.T, r Run, status, reason string) {
	t.Helper()
	v := r.State.View()
	got := v.Reason
	if v.Text != "" && reason != "" && strings.Contains(reason, ":") {
		got += ": " + v.Text
	}
	if v.Status.String() != status || !strings.HasPrefix(got, reason) {
		t.Errorf("ended %s, %s: %s; want %s, %s", v.Status, v.Reason, v.Text, status, reason)
	}
}

// given is the feedback of each visit of a phase.
func given(r Run, phase string) []string {
	var out []string
	for _, e := range r.Events {
		if e.Kind == runner.PhaseStarted && e.Phase == phase {
			out = append(out, e.Feedback)
		}
	}
	return out
}

func TestRepairLoop(t *testing.T) {
	t.Parallel()
	g := compile(t, loops+`
pipelines:
  p:
    accept: passed("test") && approved("review")
    phases:
      - {id: build, agent: coder}
      - {id: test, run: go test ./..., route: ["on fail -> build retry 2 with tail(output, 40)"]}
      - {id: review, agent: critic, route: ["on reject -> build retry 1"]}
`, "p")
	t.Run("repairs and is accepted", func(t *testing.T) {
		r := run(t, g, &World{Phases: map[string][]Given{"build": {ok(""), ok("")}, "test": {out(1, "FAIL: TestSub"), out(0, "")}, "review": {approve()}}})
		wantPath(t, r, "build test build test review")
		wantEnd(t, r, "accepted", "")
		if f := given(r, "build"); f[0] != "" || !strings.Contains(f[1], "FAIL: TestSub") {
			t.Errorf("feedback %q", f)
		}
	})
	t.Run("spent", func(t *testing.T) {
		r := run(t, g, &World{Phases: map[string][]Given{"build": {ok(""), ok(""), ok("")}, "test": {out(1, "a"), out(1, "b"), out(1, "c")}}})
		wantPath(t, r, "build test build test build test")
		wantEnd(t, r, "rejected", "spent: test -> build used 2 of 2")
	})
	t.Run("refused twice", func(t *testing.T) {
		r := run(t, g, &World{Phases: map[string][]Given{"build": {ok(""), ok("")}, "test": {out(0, ""), out(0, "")}, "review": {refuse("x"), refuse("y")}}})
		wantPath(t, r, "build test review build test review")
		wantEnd(t, r, "rejected", "spent: review -> build used 1 of 1")
		if f := given(r, "build"); !strings.Contains(f[1], "- x") {
			t.Errorf("feedback %q", f)
		}
	})
	t.Run("no progress", func(t *testing.T) {
		same := Given{Reply: `{"status":"success"}`, Looked: true}
		r := run(t, g, &World{Phases: map[string][]Given{"build": {ok(""), same, same}, "test": {out(1, "a in 0.1s"), out(1, "a in 0.2s")}}})
		wantPath(t, r, "build test build test")
		wantEnd(t, r, "rejected", "no_progress: test -> build: the files are what they were at this rule's jump before, and test ended the same way")
	})
}

func TestTwoFeeders(t *testing.T) {
	t.Parallel()
	g := compile(t, loops+`
pipelines:
  p:
    phases:
      - {id: build, agent: coder}
      - {id: unit, run: make unit, route: ["on fail -> build retry 2 with output"]}
      - {id: lint, run: make lint, route: ["on fail -> build retry 1 with output"]}
`, "p")
	r := run(t, g, &World{Phases: map[string][]Given{"build": {ok(""), ok(""), ok(""), ok("")},
		"unit": {out(1, "U1"), out(0, ""), out(1, "U2"), out(0, "")}, "lint": {out(1, "L1"), out(0, "")}}})
	wantPath(t, r, "build unit build unit lint build unit build unit lint")
	wantEnd(t, r, "accepted", "")
	f := given(r, "build")
	if f[0] != "" || f[1] != "U1" || f[2] != "L1" {
		t.Errorf("feedback %q", f)
	}
	if !strings.Contains(f[3], "U2") || !strings.Contains(f[3], "lint said in round 1, not checked since: L1") {
		t.Errorf("round 4 %q", f[3])
	}
}

func TestEnvelopeCorrections(t *testing.T) {
	t.Parallel()
	g := compile(t, loops+`
pipelines:
  p:
    phases:
      - {id: build, agent: coder}
`, "p")
	prose := Given{Reply: "I did it, all fine."}
	t.Run("prose twice, then a report", func(t *testing.T) {
		r := run(t, g, &World{Phases: map[string][]Given{"build": {prose, prose, ok("")}}})
		wantPath(t, r, "build")
		wantEnd(t, r, "accepted", "")
	})
	t.Run("prose for ever", func(t *testing.T) {
		r := run(t, g, &World{Phases: map[string][]Given{"build": {prose, prose, prose, prose}}})
		wantEnd(t, r, "rejected", "unmatched")
		id, _ := g.Lookup("build")
		if v := r.State.Phase(id); v.Reason != "envelope" {
			t.Errorf("reason %s", v.Reason)
		}
	})
	t.Run("cut off twice", func(t *testing.T) {
		cut := Given{Reply: `{"status": "success", "summ`}
		r := run(t, g, &World{Phases: map[string][]Given{"build": {cut, cut}}})
		id, _ := g.Lookup("build")
		if v := r.State.Phase(id); v.Reason != "truncated" {
			t.Errorf("reason %s", v.Reason)
		}
	})
}

func TestAsk(t *testing.T) {
	t.Parallel()
	g := compile(t, loops+`
pipelines:
  p:
    accept: passed("build")
    phases:
      - {id: build, agent: coder}
      - {id: ship, ask: "Ship?", route: ["on reject -> note", "on any -> next"]}
      - {id: note, detour: true, run: 'echo "$WHY"', env: {WHY: "{{feedback}}"}}
`, "p")
	r := run(t, g, &World{Phases: map[string][]Given{"build": {ok("")}, "ship": {{Note: "not on a friday"}}, "note": {out(0, "")}}})
	wantPath(t, r, "build ship note")
	wantEnd(t, r, "rejected", "acceptance")
	if f := given(r, "note"); f[0] != "not on a friday" {
		t.Errorf("feedback %q", f)
	}
	r = run(t, g, &World{Phases: map[string][]Given{"build": {ok("")}, "ship": {{Approve: true}}}})
	wantPath(t, r, "build ship")
	wantEnd(t, r, "accepted", "")
}

func TestReplayEqualsLive(t *testing.T) {
	t.Parallel()
	g := compile(t, loops+`
pipelines:
  p:
    phases:
      - {id: build, agent: coder}
      - {id: test, run: go test ./..., route: ["on fail -> build retry 2"]}
`, "p")
	r := run(t, g, &World{Phases: map[string][]Given{"build": {ok(""), ok("")}, "test": {out(1, "x"), out(0, "")}}})
	for n := range r.Events {
		s, missing, err := runner.Replay(g, r.Events[:n], nil)
		if err != nil {
			t.Fatalf("replay of %d events: %v", n, err)
		}
		if n > 0 && len(missing) == 0 && len(runner.Outstanding(g, s)) == 0 && !s.View().Ended {
			t.Errorf("after %d events nothing is outstanding", n)
		}
	}
	s, _, err := runner.Replay(g, r.Events, nil)
	if err != nil || s.View() != r.State.View() && s.View().Status != r.State.View().Status {
		t.Errorf("replay %v, %v", s.View(), err)
	}
	if !slices.ContainsFunc(r.Events, func(e runner.Event) bool { return e.Kind == runner.RouteTaken }) {
		t.Error("no route in the log")
	}
}
