package graph_test

import (
	"slices"
	"strings"
	"testing"

	"foundry/graph"
)

const repeatedPipelines = `version: 1
default: p
agents:
  thinker: {extends: builtin/planner, harness: script, script: [{reply: x}]}
  coder:
    extends: builtin/builder
    harness: script
    models: {light: small, heavy: big}
    fallback: [spare]
    script: [{reply: any}, {item: a, reply: of a}]
  spare: {extends: builtin/builder, harness: script, script: [{reply: x}]}
pipelines:
  inner:
    params: {of: {type: text}}
    phases:
      - {id: one, agent: coder}
      - {id: two, run: [echo, "{{params.of}}"]}
  p:
    phases:
      - {id: plan, agent: thinker}
      - id: do
        agent: coder
        each: {in: phases.plan.envelope.steps, limit: 5}
        writes: ["{{item.files}}", docs]
        route: [on fail -> self retry 2]
      - {id: call, needs: [plan], call: inner, set: {of: "{{item.id}}"}, each: {in: phases.plan.envelope.steps, limit: 5}}
      - {id: last, needs: [do, call], run: make}
`

// itemsOf reads a list for a phase, each entry with the globs of its own.
func itemsOf(t *testing.T, g *graph.Graph, phase string, list ...any) []graph.Item {
	t.Helper()
	id, _ := g.Lookup(phase)
	items, problems := g.Phases[id].Each.Read(list)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for i := range items {
		items[i].Writes = [][]string{{items[i].Key + "/**"}}
	}
	return items
}

func entry(id, complexity string, needs ...any) map[string]any {
	return map[string]any{"id": id, "complexity": complexity, "needs": needs}
}

func TestGrowPutsItemsBehindEverything(t *testing.T) {
	t.Parallel()
	bare := compile(t, repeatedPipelines)
	do, _ := bare.Lookup("do")
	g := graph.Grow(bare, do, itemsOf(t, bare, "do", entry("b", "trivial", "a"), entry("a", "complex")))
	if len(bare.Phases) != 4 || bare.Phases[do].Each.Items != nil {
		t.Error("the graph that it was given has grown")
	}
	for i := range bare.Phases {
		if g.Phases[i].Name != bare.Phases[i].Name || g.Phases[i].ID != bare.Phases[i].ID {
			t.Errorf("phase %d is another one", i)
		}
	}
	a, okA := g.Lookup("do[a]")
	b, okB := g.Lookup("do[b]")
	if !okA || !okB || !slices.Equal(g.BodyOf(do).Own, []graph.PhaseID{a, b}) {
		t.Fatalf("the items are %v", g.BodyOf(do).Own)
	}
	pa, pb := &g.Phases[a], &g.Phases[b]
	if pa.Owner != do || pa.Kind != graph.AgentWork || !pb.Before.Has(a) || !pa.After.Has(b) || pb.Before.Has(do) {
		t.Error("the items do not stand as they should")
	}
	if g.Model(a, pa.Agent) != "big" || g.Model(b, pb.Agent) != "small" {
		t.Errorf("models %q and %q", g.Model(a, pa.Agent), g.Model(b, pb.Agent))
	}
	if got := pa.Boundary.Writes; len(got) != 1 || !slices.Equal(got[0].Globs, []string{"a/**", "docs"}) {
		t.Errorf("a may write %v", got)
	}
	agentA, agentB := &g.Agents[pa.Agent], &g.Agents[pb.Agent]
	if agentA.Session == agentB.Session || agentA.Lane != "do[a]" || g.Agents[agentA.Fallback[0]].Session == g.Agents[agentB.Fallback[0]].Session {
		t.Error("two items share a session")
	}
	if len(agentA.Script) != 1 || agentA.Script[0].Reply != "of a" || agentB.Script[0].Reply != "any" {
		t.Errorf("scripts %v and %v", agentA.Script, agentB.Script)
	}
	rule := g.RulesOf(b)
	if len(rule) != 1 || rule[0].Target != b || rule[0].Retry != 2 || g.Label(rule[0].ID) != "do[b] -> do[b]" {
		t.Errorf("rules of b: %v", rule)
	}
	if g.Bound.Visits[b] != 3 || bare.Bound.Phases != g.Bound.Phases {
		t.Errorf("b is visited up to %d times", g.Bound.Visits[b])
	}
	names := ""
	for _, id := range g.Order() {
		names += g.Phases[id].Name + " "
	}
	if names != "plan do do[a] do[b] call last " {
		t.Errorf("order %s", names)
	}
}

// A second list keeps the ids of what is in both; what it lacks is gone, and comes back when a third has it again.
func TestGrowAgain(t *testing.T) {
	t.Parallel()
	g := compile(t, repeatedPipelines)
	do, _ := g.Lookup("do")
	g = graph.Grow(g, do, itemsOf(t, g, "do", entry("a", ""), entry("b", "", "a")))
	a, _ := g.Lookup("do[a]")
	b, _ := g.Lookup("do[b]")
	g = graph.Grow(g, do, itemsOf(t, g, "do", entry("b", ""), entry("c", "", "b")))
	c, _ := g.Lookup("do[c]")
	if again, _ := g.Lookup("do[b]"); again != b || !slices.Equal(g.BodyOf(do).Own, []graph.PhaseID{b, c}) || !g.Phases[a].Gone || g.Phases[b].Gone {
		t.Error("the second list did not take over what was there")
	}
	if g.Phases[b].Before.Has(a) || g.Phases[a].After.Has(b) || !g.Phases[c].Before.Has(b) {
		t.Error("an order of the first list is still there")
	}
	n := len(g.Phases)
	g = graph.Grow(g, do, itemsOf(t, g, "do", entry("a", "")))
	if len(g.Phases) != n || g.Phases[a].Gone || !g.Phases[b].Gone || !g.Phases[c].Gone {
		t.Error("the third list did not bring back what was gone")
	}
}

func TestGrowCalls(t *testing.T) {
	t.Parallel()
	bare := compile(t, repeatedPipelines)
	call, _ := bare.Lookup("call")
	g := graph.Grow(bare, call, itemsOf(t, bare, "call", "x", "y/z"))
	one, ok := g.Lookup("call[y/z]/one")
	if !ok {
		t.Fatalf("no phase of the call of an item")
	}
	item, _ := g.Lookup("call[y/z]")
	if g.Phases[one].Owner != item || !g.Inside(call, one) || g.Inside(call, 0) || g.Lane(one) != "call[y/z]" || g.Scope(item) != -1 || g.Scope(one) != item {
		t.Error("a phase of the call of an item does not stand as it should")
	}
	other, _ := g.Lookup("call[x]/one")
	if g.Agents[g.Phases[one].Agent].Session == g.Agents[g.Phases[other].Agent].Session {
		t.Error("the calls of two items share a session")
	}
	for name, want := range map[string]graph.PhaseKind{"do[k]": graph.AgentWork, "call[k]": graph.Calls, "call[k]/two": graph.Code, "call/two": graph.Code, "do": graph.FansOut} {
		if ph, ok := bare.Expect(name); !ok || ph.Kind != want {
			t.Errorf("%s is expected to be %v", name, want)
		}
	}
	for _, name := range []string{"do[", "do[]", "do[k", "do[k]/two", "call[k]/three", "nope[k]"} {
		if _, ok := bare.Expect(name); ok {
			t.Errorf("%s is expected", name)
		}
	}
	if s := bare.Sampled(); len(s.Phases) != 4+1+3 {
		t.Errorf("a sample has %d phases", len(s.Phases))
	}
	if same := graph.Regrow(g, bare); len(same.Phases) != len(g.Phases) {
		t.Error("the items are lost")
	}
	edited := compile(t, strings.Replace(repeatedPipelines, `set: {of: "{{item.id}}"}`, `set: {of: "other"}`, 1))
	if other := graph.Regrow(g, edited); len(other.Phases) != len(edited.Phases) {
		t.Error("the items of a phase that says something else are kept")
	}
}

func TestReadItems(t *testing.T) {
	t.Parallel()
	g := compile(t, repeatedPipelines)
	do, _ := g.Lookup("do")
	items, problems := g.Phases[do].Each.Read([]any{"src/a.go", map[string]any{"title": "no id"}, 7, map[string]any{"id": "", "title": "empty"}, map[string]any{"id": 4.5}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var keys []string
	for _, it := range items {
		keys = append(keys, it.Key+"="+it.Title)
	}
	if got := strings.Join(keys, "; "); got != "src/a.go=src/a.go; 1=no id; 2=7; 3=empty; 4.5=" {
		t.Errorf("the items are %s", got)
	}
	if _, problems := g.Phases[do].Each.Read([]any{map[string]any{"id": "a", "needs": "b"}}); len(problems) != 1 || !strings.Contains(problems[0], "needs is no list of ids") {
		t.Errorf("%v", problems)
	}
}

// TestExpectNested holds that the items of what an item calls are what their own phase makes of them, whatever their
// keys hold.
func TestExpectNested(t *testing.T) {
	t.Parallel()
	g := compile(t, `version: 1
default: outer
pipelines:
  inner:
    phases:
      - {id: prep, run: ls}
      - {id: do, run: ls, each: {in: lines(phases.prep.output), limit: 3}}
  outer:
    params: {list: {type: list, default: [a, b]}}
    phases:
      - {id: all, call: inner, each: {in: params.list, limit: 3}}
      - {id: flat, run: ls, each: {in: params.list, limit: 3}}
`)
	for name, want := range map[string]struct {
		kind graph.PhaseKind
		of   string // the phase of the graph that it is an item of
	}{
		"all[b]/do[p]":   {graph.Code, ""},
		"all[b]/do":      {graph.FansOut, ""},
		"all/do[p]":      {graph.Code, ""},
		"all[b]/prep":    {graph.Code, ""},
		"all[b]":         {graph.Calls, "all"},
		"all[b]/x]":      {graph.Calls, "all"},
		"all[b]/x]/prep": {graph.Code, ""},
		"all[b]/do[x/y]": {graph.Code, ""},
		"flat[a]/do[b]":  {graph.Code, "flat"},
	} {
		ph, ok := g.Expect(name)
		if !ok || ph.Kind != want.kind || ph.Name != name {
			t.Errorf("%s: expected %v, %+v", name, ok, ph)
		}
		of := ""
		if p := g.Repeats(name); p != nil {
			of = p.Name
		}
		if of != want.of {
			t.Errorf("%s is an item of %q, not of %q", name, of, want.of)
		}
	}
}
