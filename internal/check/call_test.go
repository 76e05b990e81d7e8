package check

import (
	"slices"
	"strings"
	"testing"

	"foundry/graph"
	"foundry/runner"
)

// repairs is a pipeline that is called by the others here.
const repairs = loops + `
pipelines:
  repair:
    params: {depth: {type: int, default: 1}, why: {type: text, default: ""}}
    accept: passed("test")
    phases:
      - {id: build, agent: coder, inputs: [feedback]}
      - id: test
        run: make test
        route: |
          on fail when phases.test.visits > 1 && exit == 9 -> abort "hopeless"
          on fail -> build retry 1
`

func calls(t *testing.T, outer string) *graph.Graph {
	t.Helper()
	return compile(t, repairs+outer, "p")
}

func statuses(r Run, g *graph.Graph) map[string]string {
	out := map[string]string{}
	for i := range g.Phases {
		out[g.Phases[i].Name] = r.State.Phase(graph.PhaseID(i)).Status.String()
	}
	return out
}

// ends are how the visits of a phase ended: status and reason.
func ends(r Run, phase string) string {
	var out []string
	for _, e := range r.Events {
		if e.Kind == runner.PhaseEnded && e.Phase == phase {
			out = append(out, strings.TrimSpace(e.Status+" "+e.Reason))
		}
	}
	return strings.Join(out, ", ")
}

func TestCallIsOnePhase(t *testing.T) {
	t.Parallel()
	g := calls(t, `
  p:
    accept: passed("sub") && passed("last")
    phases:
      - {id: first, run: make first}
      - {id: sub, call: repair, route: [on fail when reason == "spent" -> next]}
      - {id: last, run: make last}
`)
	r := run(t, g, &World{Phases: map[string][]Given{"first": {out(0, "")}, "sub/build": {ok(""), ok("")}, "sub/test": {out(1, "FAIL"), out(0, "")}, "last": {out(0, "")}}})
	wantPath(t, r, "first sub sub/build sub/test sub/build sub/test last")
	wantEnd(t, r, "accepted", "")
	if f := given(r, "sub/build"); f[0] != "" || !strings.Contains(f[1], "FAIL") {
		t.Errorf("the called builder was given %q", f)
	}
	if got := ends(r, "sub"); got != "success" {
		t.Errorf("sub ended %s", got)
	}
}

func TestCallFailsAsItsPipelineWould(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pipeline string // in place of repair
		given    map[string][]Given
		want     string // of the call
		text     string
	}{
		"spent": {`
    phases: [{id: a, run: make a, route: [on fail -> a retry 1]}]`, map[string][]Given{"sub/a": {out(1, ""), out(1, "")}}, "fail spent", "sub/a -> sub/a used 1 of 1"},
		"abort": {`
    phases: [{id: a, run: make a, route: [on fail -> abort "no"]}]`, map[string][]Given{"sub/a": {out(1, "")}}, "fail abort", "no"},
		"unmatched": {`
    phases: [{id: a, run: make a}, {id: b, run: make b}]`, map[string][]Given{"sub/a": {out(1, "")}}, "fail unmatched", "sub/a ended fail and no rule took it"},
		"acceptance": {`
    accept: phases.a.exit == 3
    phases: [{id: a, run: make a, exit_codes: [0, 3]}]`, map[string][]Given{"sub/a": {out(0, "")}}, "fail acceptance", `phases.a.exit == 3 is false`},
		"rejection": {`
    accept: passed("a")
    phases: [{id: a, run: make a}, {id: b, ask: "ok?", route: [on reject -> next]}]`, map[string][]Given{"sub/a": {out(0, "")}, "sub/b": {{Note: "no"}}}, "fail acceptance", "sub/b was answered with a rejection"},
		"finish": {`
    accept: passed("a")
    phases: [{id: a, run: make a, route: [on pass -> finish]}, {id: b, run: make b}]`, map[string][]Given{"sub/a": {out(0, "")}}, "success", ""},
		"detour": {`
    accept: passed("note")
    phases: [{id: a, run: make a, route: [on fail -> note]}, {id: b, run: make b}, {id: note, detour: true, run: make note}]`,
			map[string][]Given{"sub/a": {out(1, "")}, "sub/note": {out(0, "")}}, "success", ""},
		"keep going": {`
    keep_going: true
    accept: passed("b")
    phases: [{id: a, run: make a, route: [on fail -> next]}, {id: b, run: make b}]`, map[string][]Given{"sub/a": {out(1, "")}, "sub/b": {out(0, "")}}, "success", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := compile(t, loops+"\npipelines:\n  repair:"+test.pipeline+`
  p:
    accept: passed("last")
    phases:
      - {id: sub, call: repair, route: [on fail -> next]}
      - {id: last, run: make last}
`, "p")
			test.given["last"] = []Given{out(0, "")}
			r := run(t, g, &World{Phases: test.given})
			if got := ends(r, "sub"); got != test.want {
				t.Errorf("sub ended %q, want %q", got, test.want)
			}
			sub, _ := g.Lookup("sub")
			if text := r.State.Phase(sub).Text; text != test.text {
				t.Errorf("it says %q, want %q", text, test.text)
			}
			status := "accepted"
			if name == "rejection" { // a person's no counts for the whole run
				status = "rejected"
			}
			wantEnd(t, r, status, "")
		})
	}
}

// A jump that queues a call again starts its phases afresh: counters, results, visits and feedback.
func TestCallBeginsAfresh(t *testing.T) {
	t.Parallel()
	g := calls(t, `
  p:
    accept: passed("check")
    phases:
      - {id: sub, call: repair, set: {depth: "2", why: "because {{feedback}}"}}
      - {id: check, run: make check, route: [on fail -> sub retry 2 with output]}
`)
	r := run(t, g, &World{Phases: map[string][]Given{
		"sub/build": {ok(""), ok(""), ok(""), ok(""), ok("")},
		"sub/test":  {out(1, "one"), out(0, ""), out(9, "two"), out(0, ""), out(0, "")},
		"check":     {out(1, "wrong"), out(1, "again"), out(0, "")},
	}})
	wantPath(t, r, "sub sub/build sub/test sub/build sub/test check sub sub/build sub/test sub/build sub/test check sub sub/build sub/test check")
	wantEnd(t, r, "accepted", "")
	if f := given(r, "sub"); !slices.Equal(f, []string{"", "wrong", "again"}) {
		t.Errorf("the call was given %q", f)
	}
	f := given(r, "sub/build")
	if len(f) != 5 || f[0] != "" || f[2] != "" || f[4] != "" || !strings.Contains(f[1], "one") || !strings.Contains(f[3], "two") || strings.Contains(f[3], "one") {
		t.Errorf("the called builder was given %q", f)
	}
	// exit 9 in the second visit of an entry is hopeless; it was the third of the run, but the first of its entry.
	r = run(t, g, &World{Phases: map[string][]Given{"sub/build": {ok(""), ok("")}, "sub/test": {out(1, ""), out(9, "")}}})
	wantPath(t, r, "sub sub/build sub/test sub/build sub/test")
	if got := ends(r, "sub"); got != "fail abort" {
		t.Errorf("sub ended %s", got)
	}
}

func TestCallHandsItsFailureOn(t *testing.T) {
	t.Parallel()
	g := calls(t, `
  p:
    accept: passed("sub")
    phases:
      - {id: plan, agent: coder}
      - {id: sub, call: repair, route: [on fail -> plan retry 1]}
      - {id: end, agent: coder, inputs: [sub], prompt: "{{phases.sub.status}} in {{phases.sub.visits}}"}
`)
	r := run(t, g, &World{Phases: map[string][]Given{"plan": {ok(""), ok("")}, "sub/build": {ok(""), ok(""), ok("")},
		"sub/test": {out(1, "FAIL: TestA"), out(1, "FAIL: TestB"), out(0, "")}, "end": {ok("")}}})
	wantPath(t, r, "plan sub sub/build sub/test sub/build sub/test plan sub sub/build sub/test end")
	f := given(r, "plan")
	if !strings.HasPrefix(f[1], "spent: sub/test -> sub/build used 1 of 1") || !strings.Contains(f[1], "FAIL: TestB") {
		t.Errorf("the planner was given %q", f[1])
	}
}

func TestParamsOfACall(t *testing.T) {
	t.Parallel()
	g := compile(t, loops+`
pipelines:
  inner:
    params: {n: {type: int, default: 7}, on: {type: bool, default: false}, words: {type: list, default: [x]}}
    accept: passed("a") && params.n == 2 && params.on && len(params.words) == 2 && params.words[1] == "b"
    phases:
      - {id: a, run: make a, when: params.n > 1}
  middle:
    params: {n: {type: int, required: true}, list: {type: text, default: ""}}
    phases:
      - {id: deep, call: inner, set: {n: "{{params.n}}", on: true, words: "{{params.list}}"}}
  p:
    params: {n: {type: int, default: 99}}
    phases:
      - {id: count, run: make count, when: params.n == 99}
      - {id: sub, call: middle, set: {n: "{{tail(phases.count.output, 1)}}", list: "a, b"}}
`, "p")
	r := run(t, g, &World{Phases: map[string][]Given{"count": {out(0, "how many?\n2")}, "sub/deep/a": {out(0, "")}}})
	wantPath(t, r, "count sub sub/deep sub/deep/a")
	wantEnd(t, r, "accepted", "")
	r = run(t, g, &World{Phases: map[string][]Given{"count": {out(0, "many")}}})
	wantPath(t, r, "count sub")
	if got := ends(r, "sub"); got != "fail expression" {
		t.Errorf("sub ended %s", got)
	}
	wantEnd(t, r, "rejected", "unmatched")
	if got := statuses(r, g); got["sub/deep"] != "not_run" || got["sub/deep/a"] != "not_run" {
		t.Errorf("%v", got)
	}
}

// A call that does not run leaves out its phases too.
func TestCallThatDoesNotRun(t *testing.T) {
	t.Parallel()
	g := calls(t, `
  p:
    params: {wanted: {type: bool, default: false}}
    accept: passed("last")
    phases:
      - {id: first, run: make first, exit_codes: [0, 3], route: [on pass when exit == 3 -> last]}
      - {id: sub, call: repair, when: params.wanted}
      - {id: last, run: make last}
`)
	for exit, status := range map[int]string{0: "skipped", 3: "not_run"} {
		r := run(t, g, &World{Phases: map[string][]Given{"first": {out(exit, "")}, "last": {out(0, "")}}})
		wantPath(t, r, "first last")
		wantEnd(t, r, "accepted", "")
		if got := statuses(r, g); got["sub"] != status || got["sub/build"] != "not_run" || got["sub/test"] != "not_run" {
			t.Errorf("exit %d: %v", exit, got)
		}
	}
}

func TestCriteriaOfACall(t *testing.T) {
	t.Parallel()
	g := compile(t, loops+`
pipelines:
  inner:
    criteria: [{name: builds, run: make}, {name: neat, run: make neat, required: false}]
    phases: [{id: a, run: make a, route: [on fail -> finish]}]
  p:
    accept: passed("last")
    criteria: [{name: builds, run: make all}]
    phases:
      - {id: sub, call: inner, route: [on fail when reason == "criterion" -> next]}
      - {id: last, run: make last}
`, "p")
	w := &World{Phases: map[string][]Given{"sub/a": {out(0, "")}, "last": {out(0, "")}},
		Criteria: map[string][]Given{"builds": {out(1, ""), out(0, "")}, "sub/builds": {out(1, ""), out(1, "")}, "sub/neat": {out(1, ""), out(1, "")}}}
	r := run(t, g, w)
	wantPath(t, r, "sub sub/a last")
	if got := ends(r, "sub"); got != "fail criterion" {
		t.Errorf("sub ended %s", got)
	}
	wantEnd(t, r, "accepted", "")
	if left := w.Left(); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	// What would not be accepted anyway is not checked.
	w = &World{Phases: map[string][]Given{"sub/a": {out(1, "")}}, Criteria: map[string][]Given{"builds": {out(1, "")}, "sub/builds": {out(1, "")}, "sub/neat": {out(1, "")}}}
	r = run(t, g, w)
	if got := ends(r, "sub"); got != "fail acceptance" {
		t.Errorf("sub ended %s", got)
	}
}

func TestOptionalCallIsUndone(t *testing.T) {
	t.Parallel()
	g := calls(t, `
  p:
    accept: passed("last")
    phases:
      - {id: sub, call: repair, optional: true, route: [on skip -> last]}
      - {id: between, run: make between}
      - {id: last, run: make last}
`)
	r := run(t, g, &World{Phases: map[string][]Given{"sub/build": {ok(""), ok("")}, "sub/test": {out(1, ""), out(9, "")}, "last": {out(0, "")}}})
	wantPath(t, r, "sub sub/build sub/test sub/build sub/test last")
	wantEnd(t, r, "accepted", "")
	undone := slices.ContainsFunc(r.Events, func(e runner.Event) bool { return e.Kind == runner.UndoDone && e.Phase == "sub" })
	if got := statuses(r, g); got["sub"] != "skipped" || !undone {
		t.Errorf("undone %v, %v", undone, got)
	}
}

func TestLimitsCountWhatIsCalled(t *testing.T) {
	t.Parallel()
	g := calls(t, `
  p:
    limits: {turns: 1, phases: 5}
    phases:
      - {id: sub, call: repair}
`)
	r := run(t, g, &World{Phases: map[string][]Given{"sub/build": {ok("")}, "sub/test": {out(1, "")}}})
	wantPath(t, r, "sub sub/build sub/test")
	wantEnd(t, r, "rejected", "budget:turns: another round of sub/test -> sub/build does not fit: the last one took 1 turn, and 0 of 1 turn are left")
	if got := statuses(r, g); got["sub"] != "stopped" || got["sub/build"] != "success" || got["sub/test"] != "fail" {
		t.Errorf("%v", got)
	}
	if g.Bound.Turns != 2*5 { // two visits of the builder: four tries at a report each, and a session that was lost
		t.Errorf("the bound is %d turns", g.Bound.Turns)
	}
}

func TestQuestionsInACallWaitForEverything(t *testing.T) {
	t.Parallel()
	g := compile(t, loops+`
pipelines:
  inner:
    phases:
      - {id: a, run: make a}
      - {id: ok, ask: "fine?", route: [on reject -> a retry 1]}
  p:
    accept: passed("sub") && passed("beside") && approved("ship")
    phases:
      - {id: sub, call: inner, needs: []}
      - {id: beside, run: make beside, needs: []}
      - {id: again, run: make again, needs: [beside], route: [on fail -> beside retry 1]}
      - {id: ship, ask: "ship?", needs: [sub, again]}
`, "p")
	r := run(t, g, &World{Phases: map[string][]Given{"sub/a": {out(0, ""), out(0, "")}, "beside": {out(0, ""), out(0, "")}, "again": {out(1, ""), out(0, "")},
		"sub/ok": {{Note: "no"}, {Approve: true}}, "ship": {{Approve: true}}}})
	wantPath(t, r, "sub sub/a beside again beside again sub/ok sub/a sub/ok ship")
	wantEnd(t, r, "accepted", "")
	// Nobody answers: the run waits, and says for what.
	r = run(t, g, &World{Park: true, Phases: map[string][]Given{"sub/a": {out(0, "")}, "beside": {out(0, "")}, "again": {out(0, "")}}})
	if open := r.State.Open(); !r.Parked || len(open) != 1 || g.Phases[open[0]].Name != "sub/ok" {
		t.Errorf("parked %v, open %v", r.Parked, open)
	}
	if o := runner.OutlineOf("run_1", r.Events); o.Status != "waiting" {
		t.Errorf("the log says %s", o.Status)
	}
}

// Nothing of a call runs beside what it could disturb, or could be disturbed by.
func TestCallsThatWriteGiveWay(t *testing.T) {
	t.Parallel()
	g := calls(t, `
  p:
    phases:
      - {id: before, agent: coder, needs: []}
      - {id: sub, call: repair, needs: []}
      - {id: reader, run: make reader, needs: []}
      - {id: after, agent: coder, needs: []}
`)
	sub, _ := g.Lookup("sub")
	if !g.Phases[sub].Writer {
		t.Fatal("the call is no writer")
	}
	w := &World{Phases: map[string][]Given{"before": {ok("")}, "sub/build": {ok("")}, "sub/test": {out(0, "")}, "reader": {out(0, "")}, "after": {ok("")}}}
	r, err := Simulate(g, runner.RunInfo{ID: "run_1", Pipeline: "p", Jobs: 8}, w)
	if err != nil {
		t.Fatal(err)
	}
	wantPath(t, r, "before sub sub/build sub/test reader after")
}

// What the tests of a caller go through is covered in the called pipeline too.
func TestTestsOfACallerCoverWhatItCalls(t *testing.T) {
	t.Parallel()
	outer := `
  p:
    phases:
      - {id: sub, call: repair}
`
	g := calls(t, outer)
	r := run(t, g, &World{Phases: map[string][]Given{"sub/build": {ok(""), ok("")}, "sub/test": {out(1, ""), out(0, "")}}})
	called := r.Called(g)["repair"]
	if len(called) != 1 {
		t.Fatalf("%d runs of repair", len(called))
	}
	x, err := Explore(compile(t, repairs+outer, "repair"), called, 50)
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	for _, i := range x.Items {
		covered[i.What] = i.Covered
	}
	if !covered["phase build"] || !covered["phase test"] || !covered[`rule "on fail -> build retry 1" of test, taken`] || covered[`rule "on fail -> build retry 1" of test, used up`] {
		t.Errorf("covered: %v", covered)
	}
}
