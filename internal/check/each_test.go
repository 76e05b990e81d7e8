package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"foundry/graph"
	"foundry/runner"
)

// planned is a plan as an agent reports it: id, or id:need,need.
func planned(steps ...string) Given {
	list := []map[string]any{}
	for _, s := range steps {
		id, needs, _ := strings.Cut(s, ":")
		step := map[string]any{"id": id, "title": "do " + id}
		if needs != "" {
			step["needs"] = strings.Split(needs, ",")
		}
		list = append(list, step)
	}
	text, err := json.Marshal(map[string]any{"status": "success", "steps": list})
	if err != nil {
		panic(err)
	}
	return Given{Reply: string(text)}
}

func blocked(reason string) Given {
	return Given{Reply: fmt.Sprintf(`{"status": "blocked", "blocked": {"reason": %q, "needs": "a key"}}`, reason)}
}

func reported() Given { return Given{Reply: `{"status": "fail", "summary": "cannot be done"}`} }

// migrates is a pipeline whose middle is repeated over the steps of a plan; more is said of the middle.
func migrates(t *testing.T, more string) *graph.Graph {
	t.Helper()
	if !strings.Contains(more, "each:") {
		more = "        each: {in: phases.plan.envelope.steps, limit: 12}\n" + more
	}
	return compile(t, loops+`
  thinker: {extends: builtin/planner, script: [{reply: x}]}
pipelines:
  p:
    accept: passed("migrate")
    phases:
      - {id: plan, agent: thinker}
      - id: migrate
        agent: coder
`+more+`
      - {id: test, run: make test, route: [on fail -> plan retry 1]}
`, "p")
}

func itemStatuses(r Run, g *graph.Graph) string {
	var out []string
	grown := r.State.Graph(g)
	for _, id := range grown.Order() {
		if ph := &grown.Phases[id]; ph.Item != nil {
			out = append(out, ph.Item.Key+" "+r.State.Phase(id).Status.String())
		}
	}
	return strings.Join(out, ", ")
}

func TestPlanBecomesPhases(t *testing.T) {
	t.Parallel()
	g := migrates(t, "")
	r := run(t, g, &World{Phases: map[string][]Given{"plan": {planned("a", "b:c", "c")}, "migrate": {ok("")}, "test": {out(0, "")}}})
	wantPath(t, r, "plan migrate migrate[a] migrate[c] migrate[b] test")
	wantEnd(t, r, "accepted", "")
	if got := itemStatuses(r, g); got != "a success, c success, b success" {
		t.Errorf("items: %s", got)
	}
	i := slices.IndexFunc(r.Events, func(e runner.Event) bool { return e.Kind == runner.GraphGrown })
	if i < 0 || len(r.Events[i].Items) != 3 || r.Events[i].Items[2].Name != "migrate[b]" || !slices.Equal(r.Events[i].Items[2].Needs, []string{"c"}) || r.Events[i].Items[2].Title != "do b" {
		t.Errorf("the log does not have the items: %+v", r.Events)
	}
	if _, missing, err := runner.Replay(g, r.Events, nil); err != nil || len(missing) > 0 {
		t.Errorf("replay: %v, %d missing", err, len(missing))
	}
}

func TestListsThatAreNoPlan(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		plan Given
		want string // what the planner is told
	}{
		"twice":    {planned("a", "b", "a"), `entries 1 and 3 have the same id, "a"`},
		"unknown":  {planned("a:nope"), `"a" needs "nope", which is not in the list`},
		"itself":   {planned("a:a"), `"a" needs itself`},
		"circle":   {planned("x", "a:b,x", "b:c", "c:a", "d:a"), `these need each other in a circle: "a", "b", "c"`},
		"bad name": {planned("a\nb"), `cannot be the name of an item: it holds a character that cannot be printed`},
		"blank":    {planned(" a"), `cannot be the name of an item: it begins or ends with a blank`},
		"too long": {planned(strings.Repeat("a", 201)), `cannot be the name of an item: it is longer than 200 bytes`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := migrates(t, "")
			var told []string
			note := func(r Run) {
				for _, e := range r.Events {
					if e.Kind == runner.EnvelopeRejected {
						told = append(told, strings.Join(e.Problems, "; "))
					}
				}
			}
			r := run(t, g, &World{Phases: map[string][]Given{"plan": {test.plan, planned("a")}, "migrate": {ok("")}, "test": {out(0, "")}}})
			wantPath(t, r, "plan migrate migrate[a] test")
			wantEnd(t, r, "accepted", "")
			if note(r); len(told) != 1 || !strings.Contains(told[0], test.want) {
				t.Errorf("the planner was told %q, want %q", told, test.want)
			}
			r = run(t, g, &World{Phases: map[string][]Given{"plan": {test.plan, test.plan}}})
			wantPath(t, r, "plan")
			wantEnd(t, r, "rejected", "unmatched")
			if got := ends(r, "plan"); got != "fail envelope" {
				t.Errorf("the planner ended %s", got)
			}
		})
	}
}

func TestHowAnEachEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		more  string
		given map[string][]Given
		plan  Given
		end   string // of the phase, with its text
		items string
	}{
		"one fails":       {"", map[string][]Given{"migrate[b]": {reported()}}, planned("a", "b", "c:b", "d:c", "e"), `fail unmatched: 3 of 5 items did not pass, first migrate[b], which ended fail`, "a success, b fail, c not_run, d not_run, e success"},
		"any is enough":   {"        each: {in: phases.plan.envelope.steps, limit: 12, require: any}", map[string][]Given{"migrate[b]": {reported()}}, planned("a", "b", "c:b"), `success: 1 of 3 items passed`, "a success, b fail, c not_run"},
		"none of any":     {"        each: {in: phases.plan.envelope.steps, limit: 12, require: any}", map[string][]Given{"migrate": {reported()}}, planned("a", "b"), `fail unmatched: none of 2 items passed, first migrate[a], which ended fail`, "a fail, b fail"},
		"nothing":         {"", nil, planned(), `success: the list is empty: there was nothing to do`, ""},
		"too many":        {"", nil, planned("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"), `fail expression: the list has 13 entries, and the limit is 12`, ""},
		"tried again":     {"        route: |\n          on fail -> self retry 1 with \"again: \" + item.title", map[string][]Given{"migrate[b]": {reported(), ok("")}}, planned("a", "b", "c:b"), "success", "a success, b success, c success"},
		"tried too often": {"        route: [on fail -> self retry 1]", map[string][]Given{"migrate[b]": {reported(), reported()}}, planned("a", "b", "c"), `fail unmatched: 1 of 3 items did not pass, first migrate[b], which ended fail`, "a success, b fail, c success"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := migrates(t, test.more)
			w := &World{Phases: map[string][]Given{"plan": {test.plan}, "migrate": {ok("")}, "test": {out(0, "")}}}
			for name, list := range test.given {
				w.Phases[name] = list
			}
			r := run(t, g, w)
			end := ""
			for _, e := range r.Events {
				if e.Kind == runner.PhaseEnded && e.Phase == "migrate" {
					end = strings.TrimSpace(e.Status + " " + e.Reason)
					if e.Text != "" {
						end += ": " + e.Text
					}
				}
			}
			if end != test.end {
				t.Errorf("it ended %q, want %q", end, test.end)
			}
			if got := itemStatuses(r, g); got != test.items {
				t.Errorf("items: %s\nwant %s", got, test.items)
			}
			want := "accepted"
			if strings.HasPrefix(test.end, "fail") {
				want = "rejected"
			}
			wantEnd(t, r, want, "")
			if _, missing, err := runner.Replay(g, r.Events, nil); err != nil || len(missing) > 0 {
				t.Errorf("replay: %v, %d missing", err, len(missing))
			}
		})
	}
}

// A jump back to the planner makes a new plan: what is in both begins afresh, what is not there any more is gone.
func TestNewPlanBeginsAfresh(t *testing.T) {
	t.Parallel()
	g := migrates(t, "        route: [on fail -> self retry 1]")
	r := run(t, g, &World{Phases: map[string][]Given{
		"plan": {planned("a", "b:a"), planned("b", "c:b")}, "migrate[a]": {ok("")}, "migrate[b]": {reported(), ok(""), reported(), ok("")}, "migrate": {ok("")},
		"test": {out(1, "wrong"), out(0, "")},
	}})
	wantPath(t, r, "plan migrate migrate[a] migrate[b] migrate[b] test plan migrate migrate[b] migrate[b] migrate[c] test")
	wantEnd(t, r, "accepted", "")
	if got := itemStatuses(r, g); got != "b success, c success, a not_run" {
		t.Errorf("items: %s", got)
	}
	if _, missing, err := runner.Replay(g, r.Events, nil); err != nil || len(missing) > 0 {
		t.Errorf("replay: %v, %d missing", err, len(missing))
	}
}

func TestExploreKnowsItems(t *testing.T) {
	t.Parallel()
	g := migrates(t, "        route: |\n          on fail -> self retry 1\n          on fail -> next")
	x, err := Explore(g, nil, DefaultRuns)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range x.Items {
		if !item.Reached {
			t.Errorf("%s was not reached", item.What)
		}
	}
	if len(x.Items) != 9 {
		t.Errorf("%d ways: %s", len(x.Items), x.Text())
	}
}

// TestGivenAtEveryDepth holds that what is given without a key, at whatever depth, serves the items that are given
// nothing of their own.
func TestGivenAtEveryDepth(t *testing.T) {
	t.Parallel()
	g := compile(t, loops+`
pipelines:
  inner:
    phases:
      - {id: prep, run: ls}
      - {id: do, run: ls, each: {in: lines(phases.prep.output), limit: 3}}
  p:
    params: {list: {type: list, default: [a, b]}}
    phases:
      - {id: all, call: inner, each: {in: params.list, limit: 3}}
`, "p")
	for _, given := range []map[string][]Given{
		{"all/do": {out(0, "")}},
		{"all[a]/do": {out(0, "")}, "all[b]/do": {out(0, "")}},
		{"all/do[p]": {out(0, "")}},
		{"all[a]/do[p]": {out(0, "")}, "all/do": {out(0, "")}},
	} {
		given["all/prep"] = []Given{out(0, "p\n")}
		w := &World{Phases: given}
		r := run(t, g, w)
		wantPath(t, r, "all all[a] all[a]/prep all[a]/do all[a]/do[p] all[b] all[b]/prep all[b]/do all[b]/do[p]")
		wantEnd(t, r, "accepted", "")
		if left := w.Left(); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	}
}
