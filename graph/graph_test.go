package graph_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"foundry/diag"
	"foundry/dsl"
	"foundry/graph"
	"foundry/schema"
)

func catalogue(t testing.TB, text string, files map[string]string) *graph.Catalogue {
	t.Helper()
	doc, list := schema.Decode(diag.NewSource("foundry.yaml", text))
	if list.HasErrors() {
		t.Fatalf("does not decode: %s: %s", list.Sorted()[0].Span.Text(), list.Sorted()[0].Message)
	}
	return graph.New(doc, shipped(t), graph.Files{Path: "foundry.yaml", Read: func(path string) (string, error) {
		if s, ok := files[path]; ok {
			return s, nil
		}
		return "", fmt.Errorf("no such file")
	}})
}

func compile(t testing.TB, text string) *graph.Graph {
	t.Helper()
	c := catalogue(t, text, nil)
	name, ok := c.Default()
	if !ok {
		t.Fatal("no default pipeline")
	}
	return compileNamed(t, c, name)
}

func compileNamed(t testing.TB, c *graph.Catalogue, name string) *graph.Graph {
	t.Helper()
	g, list := c.Compile(name)
	if g == nil {
		for _, d := range list.Sorted() {
			t.Errorf("%d: %s: %s [%s]", d.Span.Position().Line, d.Severity, d.Message, d.Rule)
		}
		t.FailNow()
	}
	return g
}

func pipeline(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "pipelines", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWholePipelines compiles pipelines in the shape of real ones: no error, and warnings only where they are
// deserved.
func TestWholePipelines(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"tdd", "job", "nested", "triage"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, d := range lint(t, pipeline(t, name)) {
				t.Errorf("%d: %s: %s [%s]", d.Span.Position().Line, d.Severity, d.Message, d.Rule)
			}
			compile(t, pipeline(t, name))
		})
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		text   string
		visits string
		turns  int
		first  string
	}{
		// write_test: 1 + 2. code: targets code 3 and 1, each (1 + 2) times: 1 + 2 + 12.
		// turns: tester 3 * (4 * 1 + 1), coder 15 * (4 * 3 + 1), critic 15 * (4 * 1 + 1).
		{"tdd", pipeline(t, "tdd"), "write_test 3, red 3, code 15, green 15, commit 15, review 15", 15 + 195 + 75, "turns 20"},
		// build: 1 + 2 + 2 jumps, so 6; the self rule of e2e 2 * (1 + 5) = 12. turns: 6 * (4 * 2 + 1).
		{"job", pipeline(t, "job"), "build 6, unit 6, e2e 18, late_note 6, commit 6", 54, "time 2h"},
		// plan: 1 + 1 + 1. unit -> build: 2 * (1 + 2) = 6, build 3 + 6. probe: 1 + 2.
		{"nested", pipeline(t, "nested"), "probe 3, plan 3, shape 3, build 9, unit 9, critique 9, bench 9, sub 9, commit 9, ship 9, note 9", 15 + 15 + 45 + 45, "turns 80"},
		{"no loops", chain("", ""), "a 1, b 1", 0, ""},
		{"two feeders of one target", `version: 1
pipelines:
  p:
    accept: passed("unit") && passed("lint")
    phases:
      - {id: build, run: make}
      - {id: unit, run: make unit, needs: [build], route: [on fail -> build retry 2]}
      - {id: lint, run: make lint, needs: [build], route: [on fail -> build retry 1]}
`, "build 4, unit 4, lint 4", 0, "time 2h"},
		// A detour that goes back: fix -> a 2, so a 3; the self rule of the detour 1 * (1 + 2).
		{"detour", `version: 1
pipelines:
  p:
    phases:
      - {id: a, run: make a}
      - {id: b, run: make b, route: [on fail -> fix]}
      - {id: fix, detour: true, run: make fix, route: [on fail -> fix retry 1, on pass -> a retry 2]}
`, "a 3, b 3, fix 6", 0, "time 2h"},
		// Three nested loops: a 1 + 2 = 3; b: 3 * 3 = 9, so 3 + 9 = 12; c: 1 * (1 + 2 + 9) = 12, so 12 + 12 = 24.
		{"nested loops", `version: 1
pipelines:
  p:
    limits: {phases: 50}
    phases:
      - {id: a, run: make a}
      - {id: b, run: make b}
      - {id: c, run: make c}
      - {id: d, run: make d, route: [on fail when exit == 1 -> c retry 1, on fail when exit == 2 -> b retry 3, on fail -> a retry 2]}
`, "a 3, b 12, c 24, d 24", 0, "phases 50"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := compile(t, tt.text)
			var got []string
			sum := 0
			for i := range g.Phases {
				got = append(got, fmt.Sprintf("%s %d", g.Phases[i].Name, g.Bound.Visits[i]))
				sum += g.Bound.Visits[i]
			}
			if s := strings.Join(got, ", "); s != tt.visits {
				t.Errorf("visits are\n%s\nwant\n%s", s, tt.visits)
			}
			if g.Bound.Turns != tt.turns || g.Bound.Phases != sum || g.Bound.First != tt.first {
				t.Errorf("turns %d, phases %d, first %q; want %d, %d, %q", g.Bound.Turns, g.Bound.Phases, g.Bound.First, tt.turns, sum, tt.first)
			}
		})
	}
}

// TestBoundDoesNotOverflow nests so many loops that the bound fits no integer.
func TestBoundDoesNotOverflow(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("version: 1\npipelines:\n  p:\n    phases:\n      - {id: p0, run: make}\n")
	for i := 1; i < 100; i++ {
		fmt.Fprintf(&b, "      - {id: p%d, run: make, route: [on fail -> p%d retry 9]}\n", i, i-1)
	}
	g := compile(t, b.String())
	for i := 1; i < len(g.Phases); i++ {
		if g.Bound.Visits[i] < g.Bound.Visits[i-1] {
			t.Fatalf("p%d is bounded by %d, p%d by %d", i, g.Bound.Visits[i], i-1, g.Bound.Visits[i-1])
		}
	}
	if !strings.Contains(g.Text(), "after more visits than anyone will see") {
		t.Error("the text shows a number that means nothing")
	}
}

// chain is a file with two code phases; more are lines of the second and of the file.
func chain(second, file string) string {
	return "version: 1\n" + file + "pipelines:\n  p:\n    phases:\n      - {id: a, run: make a}\n      - {id: b, run: make b" + second + "}\n"
}

func setNames(g *graph.Graph, s graph.Set) string {
	var out []string
	for id := range s.All {
		out = append(out, g.Phases[id].Name)
	}
	return strings.Join(out, " ")
}

func TestOrderAndWays(t *testing.T) {
	t.Parallel()
	g := compile(t, `version: 1
pipelines:
  p:
    accept: passed("join")
    phases:
      - {id: plan, run: make plan}
      - {id: note, detour: true, run: make note}
      - {id: unit, run: make unit, route: [on fail -> repair]}
      - {id: lint, run: make lint, needs: [plan], route: [on fail -> repair, on pass when exit == 3 -> end]}
      - {id: repair, detour: true, run: make repair, route: [on pass -> plan retry 1, on fail -> repair retry 2]}
      - {id: free, run: make free, needs: []}
      - {id: join, run: make join, needs: [unit, lint, free]}
      - {id: end, run: make end, route: [on fail -> join retry 1, on fail -> note, on pass -> finish]}
`)
	want := map[string][2]string{ // before, after
		"plan":   {"", "note unit lint repair join end"},
		"unit":   {"plan", "note repair join end"},
		"lint":   {"plan", "note repair join end"},
		"repair": {"plan unit lint", ""},
		"free":   {"", "note join end"},
		"join":   {"plan unit lint free", "note end"},
		"end":    {"plan unit lint free join", "note"},
		"note":   {"plan unit lint free join end", ""},
	}
	for i := range g.Phases {
		ph := &g.Phases[i]
		if got := [2]string{setNames(g, ph.Before), setNames(g, ph.After)}; got != want[ph.Name] {
			t.Errorf("%s: before %q, after %q; want %q", ph.Name, got[0], got[1], want[ph.Name])
		}
	}
	var ways []string
	for i := range g.Rules {
		ways = append(ways, g.Label(graph.RuleID(i))+" "+g.Rules[i].Way.String())
	}
	wantWays := []string{"unit -> repair detour", "lint -> repair detour", "lint -> end forward", "repair -> plan back", "repair -> repair again",
		"end -> join back", "end -> note detour", "end -> finish "}
	if !slices.Equal(ways, wantWays) {
		t.Errorf("rules are %q", ways)
	}
	repair, _ := g.Lookup("repair")
	if len(g.Phases[repair].Routers) != 2 || len(g.RulesOf(repair)) != 2 || g.RulesOf(repair)[0].Trigger != dsl.Pass {
		t.Errorf("repair has routers %v and rules %v", g.Phases[repair].Routers, g.RulesOf(repair))
	}
}

func TestAgentsExtend(t *testing.T) {
	t.Parallel()
	g := compile(t, `version: 1
project: {harness: command, argv: [./agent.sh], model: small, env: {A: "1", B: "2"}}
agents:
  parent:
    harness: script
    script: [{files: {a: x, b: null}, reply: {status: success, list: [1, 2.5, "<x>"]}}]
    model: big
    models: {light: l, heavy: h}
    effort: high
    writes: ["src/**"]
    env: {X: "1", Y: "1"}
    fallback: [spare]
    turn_timeout: 1m
    tools: {allow: [read], deny: [web]}
    prompt: parent
  child: {extends: parent, models: {heavy: hh}, env: {Y: "2", Z: "3"}, tools: {deny: [shell]}, prompt: child}
  moved: {extends: parent, harness: command, argv: [./own.sh], fallback: [child, spare]}
  stays: {extends: builtin/builder, writes: []}
  spare: {extends: builtin/scout}
pipelines:
  p:
    accept: passed("four")
    phases:
      - {id: one, agent: child, env: {B: "3"}}
      - {id: two, agent: moved}
      - {id: three, agent: stays, prompt: own}
      - {id: four, agent: parent}
`)
	byName := map[string]graph.Agent{}
	for _, a := range g.Agents {
		byName[a.Name] = a
	}
	child, moved, stays := byName["child"], byName["moved"], byName["stays"]
	if child.Harness != "script" || child.Model != "big" || child.Light != "l" || child.Heavy != "hh" || child.Effort != "high" {
		t.Errorf("child: %+v", child)
	}
	if got := envText(child.Env); got != "X=1 Y=2 Z=3" {
		t.Errorf("child's env is %s", got)
	}
	if len(child.Fallback) != 0 || len(child.Script) != 1 || child.TurnTimeout != time.Minute || child.StallTimeout != 5*time.Minute || child.EnvelopeRetries != 3 {
		t.Errorf("child: %+v", child)
	}
	if s := child.Script[0]; s.Reply != `{"status":"success","list":[1,2.5,"<x>"]}` || len(s.Files) != 2 || !s.Files[1].Delete {
		t.Errorf("the scripted turn is %+v", s)
	}
	if !slices.Equal(child.Allow, []string{"read"}) || !slices.Equal(child.Deny, []string{"shell"}) {
		t.Errorf("tools %v %v", child.Allow, child.Deny)
	}
	// Another harness: model, models, argv and script stay behind; the project's model is for its own harness.
	if moved.Model != "small" || moved.Light != "" || len(moved.Script) != 0 || !slices.Equal(moved.Argv, []string{"./own.sh"}) || moved.Effort != "high" {
		t.Errorf("moved: %+v", moved)
	}
	var fallback []string
	for _, i := range moved.Fallback {
		fallback = append(fallback, g.Agents[i].Name)
	}
	if !slices.Equal(fallback, []string{"child", "spare"}) {
		t.Errorf("fallback of moved is %v", fallback)
	}
	if stays.Harness != "command" || !slices.Equal(stays.Argv, []string{"./agent.sh"}) || !stays.ReadOnly || stays.System == nil {
		t.Errorf("stays: %+v", stays)
	}
	one, three := &g.Phases[0], &g.Phases[2]
	if one.Prompt.Source() != "child" || three.Prompt.Source() != "own" || one.Envelope.Name != "generic" || three.Envelope.Name != "build" {
		t.Errorf("prompts %q %q, envelopes %s %s", one.Prompt.Source(), three.Prompt.Source(), one.Envelope.Name, three.Envelope.Name)
	}
	if got := envText(one.Env); got != "A=1 B=3" {
		t.Errorf("env of one is %s", got)
	}
	if !one.Writer || three.Writer || !one.Declared {
		t.Errorf("one: writer %v declared %v; three: writer %v", one.Writer, one.Declared, three.Writer)
	}
}

func envText(env []graph.EnvVar) string {
	var out []string
	for _, v := range env {
		out = append(out, v.Name+"="+v.Value.Source())
	}
	return strings.Join(out, " ")
}

func TestBoundaries(t *testing.T) {
	t.Parallel()
	c := catalogue(t, `version: 1
project: {protect: ["go.sum"]}
agents:
  coder: {harness: script, script: [{reply: x}], prompt: {file: prompts/co*der.md}, writes: ["src/**", "docs/**"], protect: ["src/gen/"]}
pipelines:
  p:
    protect: ["src/api.go"]
    phases:
      - {id: build, agent: coder, writes: ["src/**"], protect: ["src/x/**"]}
      - {id: gen, run: make gen, writes: ["gen/**"]}
      - {id: look, run: make look}
      - {id: stay, agent: coder, writes: []}
`, map[string]string{"prompts/co*der.md": "write {{request}}"})
	g := compileNamed(t, c, "p")
	tests := []struct {
		phase, path string
		ok          bool
		why         string
	}{
		{"build", "src/a.go", true, ""},
		{"build", "docs/a.md", false, "not in writes"},
		{"build", "README.md", false, "not in writes"},
		{"build", "src/gen/a.go", false, "protect of agent coder"},
		{"build", "src/api.go", false, "protect of pipeline p"},
		{"build", "src/x/y", false, "protect of phase build"},
		{"build", ".foundry-handoff/x", true, ""},
		{"gen", "gen/a", true, ""},
		{"gen", "go.sum", false, "project.protect"},
		{"look", "anything", true, ""},
		{"look", "foundry.yaml", false, "the pipeline's own files"},
		{"look", "prompts/co*der.md", false, "the pipeline's own files"},
		{"look", "prompts/coXder.md", true, ""},
		{"look", ".git/config", false, "git"},
		{"stay", "src/a.go", false, "read-only"},
	}
	for _, tt := range tests {
		id, _ := g.Lookup(tt.phase)
		why, ok := g.Phases[id].Boundary.Check(tt.path)
		if ok != tt.ok || !strings.Contains(why, tt.why) {
			t.Errorf("%s may write %s: %v, %q; want %v, %q", tt.phase, tt.path, ok, why, tt.ok, tt.why)
		}
	}
	for name, want := range map[string][2]bool{"build": {true, true}, "gen": {true, true}, "look": {false, false}, "stay": {false, true}} { // writer, declared
		id, _ := g.Lookup(name)
		if ph := &g.Phases[id]; ph.Writer != want[0] || ph.Declared != want[1] {
			t.Errorf("%s: writer %v, declared %v", name, ph.Writer, ph.Declared)
		}
	}
	build, _ := g.Lookup("build")
	if got := g.Phases[build].Prompt.Source(); got != "write {{request}}" {
		t.Errorf("the prompt is %q", got)
	}
}

func TestCodePhases(t *testing.T) {
	t.Parallel()
	g := compile(t, `version: 1
commands:
  test: {run: [go, test, "{{params.area}}"], dir: web, timeout: 2m, exit_codes: [0, 3], env: {A: command, B: command}}
pipelines:
  p:
    params: {area: {type: path, default: ./...}}
    phases:
      - {id: named, command: test, env: {B: phase}}
      - {id: over, command: test, dir: api, timeout: 1m, exit_codes: nonzero}
      - {id: plain, run: make}
      - {id: save, builtin: git_commit}
      - {id: ok, ask: "fine?"}
      - {id: late, ask: "still?", timeout: 1h}
    criteria: [{name: builds, run: make}, {name: tests, command: test, exit_codes: [0], required: false}]
`)
	named, over, plain, save, ok, late := &g.Phases[0], &g.Phases[1], &g.Phases[2], &g.Phases[3], &g.Phases[4], &g.Phases[5]
	if named.Kind != graph.Code || named.Command != "test" || named.Script.Label != "go test {{params.area}}" || named.Dir != "web" ||
		named.Timeout != 2*time.Minute || !slices.Equal(named.ExitCodes, []int{0, 3}) || envText(named.Env) != "A=command B=phase" {
		t.Errorf("named: %+v", named)
	}
	if over.Dir != "api" || over.Timeout != time.Minute || !over.Nonzero || len(over.ExitCodes) != 0 {
		t.Errorf("over: %+v", over)
	}
	if plain.Timeout != 15*time.Minute || !slices.Equal(plain.ExitCodes, []int{0}) || plain.Script.Shell != "make" || plain.Command != "" {
		t.Errorf("plain: %+v", plain)
	}
	if save.Kind != graph.Commit || !save.Writer || save.Timeout != 5*time.Minute || ok.Timeout != 0 || late.Timeout != time.Hour {
		t.Errorf("save %v %v, asks %v %v", save.Kind, save.Timeout, ok.Timeout, late.Timeout)
	}
	if len(g.Criteria) != 2 || !g.Criteria[0].Required || g.Criteria[1].Required || g.Criteria[1].Command.Dir != "web" ||
		!slices.Equal(g.Criteria[1].Command.ExitCodes, []int{0}) || g.Criteria[0].Command.Timeout != 15*time.Minute {
		t.Errorf("criteria: %+v", g.Criteria)
	}
	if g.AcceptText != "all_phases_pass" || g.Accept == nil || g.Limits.Turns != 60 || g.Limits.Time != 2*time.Hour || g.Merge != graph.MergeAsk || g.Isolation != graph.Worktree {
		t.Errorf("defaults: %q %+v %v %v", g.AcceptText, g.Limits, g.Merge, g.Isolation)
	}
	if g.Params[0].Default != "./..." || !g.Params[0].Has {
		t.Errorf("param: %+v", g.Params[0])
	}
}

// TestFilesAreRelativeToTheFile checks a pipeline file that does not lie at the root.
func TestFilesAreRelativeToTheFile(t *testing.T) {
	t.Parallel()
	doc, _ := schema.Decode(diag.NewSource("ci/foundry.yaml", `version: 1
agents: {a: {harness: script, script: [{reply: x}], prompt: {file: ../prompts/a.md}}}
pipelines: {p: {phases: [{id: x, agent: a}, {id: y, run: make, dir: sub}, {id: z, run: make, dir: ..}]}}
`))
	c := graph.New(doc, nil, graph.Files{Path: "ci/foundry.yaml", Read: func(path string) (string, error) { return "text of " + path, nil }})
	g := compileNamed(t, c, "p")
	if got := g.Phases[0].Prompt.Source(); got != "text of prompts/a.md" {
		t.Errorf("the prompt is %q", got)
	}
	if g.Phases[1].Dir != "ci/sub" || g.Phases[2].Dir != "" {
		t.Errorf("directories are %q and %q", g.Phases[1].Dir, g.Phases[2].Dir)
	}
}

// TestPositionsInFiles checks that a finding in a prompt's own file points there.
func TestPositionsInFiles(t *testing.T) {
	t.Parallel()
	c := catalogue(t, `version: 1
agents: {a: {harness: script, script: [{reply: x}], prompt: {file: a.md}}}
pipelines: {p: {phases: [{id: x, agent: a}]}}
`, map[string]string{"a.md": "line one\nread {{params.nothing}}\n"})
	list := c.Lint()
	all := list.Sorted()
	if len(all) != 1 || all[0].Span.Source.Name != "a.md" || all[0].Span.Position() != (diag.Position{Line: 2, Column: 15}) {
		t.Fatalf("findings: %+v", all)
	}
}

func TestNamesAndDefault(t *testing.T) {
	t.Parallel()
	c := catalogue(t, `version: 1
default: plan-build-test
commands: {test: make test}
gates: {small: {max_diff: {files: 3}}}
envelopes: {review: {extends: review, fields: {score: {type: int}}}}
agents:
  builder: {extends: builtin/builder}
pipelines:
  plan: {phases: [{id: a, agent: builder}]}
`, nil)
	if name, ok := c.Default(); !ok || name != "plan-build-test" {
		t.Errorf("default is %q, %v", name, ok)
	}
	var got []string
	for _, n := range c.Names() {
		s := n.Kind.String() + " " + n.Name
		if n.Builtin {
			s += " builtin"
		}
		if n.Shadows {
			s += " shadows"
		}
		if n.Default {
			s += " default"
		}
		got = append(got, s)
	}
	for _, want := range []string{"pipeline plan shadows", "pipeline plan-build-test builtin default", "agent builder shadows", "agent planner builtin",
		"gate small", "gate check builtin", "command test", "envelope review shadows", "envelope plan builtin"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if slices.Contains(got, "pipeline plan builtin") || slices.Contains(got, "agent builder builtin") {
		t.Errorf("what is shadowed is listed: %q", got)
	}
	if g := compileNamed(t, c, "plan-build-test"); !g.Builtin || g.Agents[1].Name != "builder" {
		t.Errorf("plan-build-test: builtin %v, agents %v", g.Builtin, g.Agents)
	}
	if _, list := c.Compile("plan-biuld"); !list.HasErrors() || list.Sorted()[0].Hint != `did you mean "plan-build"?` {
		t.Errorf("an unknown pipeline: %+v", list.Sorted())
	}
}

// TestShippedPipelines compiles what ships, in a repository that has a test command.
func TestShippedPipelines(t *testing.T) {
	t.Parallel()
	c := catalogue(t, "version: 1\ncommands: {test: make test}\n", nil)
	n := 0
	for _, name := range c.Names() {
		if name.Kind != graph.PipelineName {
			continue
		}
		n++
		_, list := c.Compile(name.Name)
		for _, d := range list.Sorted() {
			t.Errorf("%s: %d: %s: %s [%s]", name.Name, d.Span.Position().Line, d.Severity, d.Message, d.Rule)
		}
	}
	if n != 7 {
		t.Errorf("%d pipelines ship, want 7", n)
	}
	if list := c.Lint(); list.Len() != 0 {
		t.Errorf("a file with a test command alone: %v", list.Sorted())
	}
}

func TestEnvelopeKinds(t *testing.T) {
	t.Parallel()
	g := compile(t, `version: 1
envelopes:
  review: {extends: review, fields: {score: {type: number, default: 1}}}
  deep: {extends: review, fields: {parts: {type: list, of: object, fields: {path: {type: path}, lines: {type: int}}}, kind: {type: string, enum: [a, b], default: a}}}
agents: {a: {harness: script, script: [{reply: x}], prompt: go, envelope: deep}}
pipelines:
  p:
    accept: approved("x") && phases.x.envelope.score > 0.5 && all(phases.x.envelope.parts, .lines > 3) && phases.x.envelope.kind == "a"
    phases: [{id: x, agent: a}]
`)
	k := g.Phases[0].Envelope
	if !k.Approves() || k.Name != "deep" {
		t.Errorf("kind %s approves: %v", k.Name, k.Approves())
	}
	full := k.Fill(map[string]any{"status": "success", "approved": true})
	if full["score"] != 1.0 || full["kind"] != "a" {
		t.Errorf("filled: %v", full)
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	tests := []struct {
		p    graph.Param
		text string
		ok   bool
	}{
		{graph.Param{Type: graph.ParamInt}, "12", true},
		{graph.Param{Type: graph.ParamInt}, "-3", true},
		{graph.Param{Type: graph.ParamInt}, "1.5", false},
		{graph.Param{Type: graph.ParamBool}, "true", true},
		{graph.Param{Type: graph.ParamBool}, "yes", false},
		{graph.Param{Type: graph.ParamChoice, Choices: []string{"a", "b"}}, "b", true},
		{graph.Param{Type: graph.ParamChoice, Choices: []string{"a", "b"}}, "c", false},
		{graph.Param{Type: graph.ParamPath}, "a/b", true},
		{graph.Param{Type: graph.ParamPath}, "../b", false},
		{graph.Param{Type: graph.ParamPath}, "a/../../b", false},
		{graph.Param{Type: graph.ParamPath}, "/b", false},
		{graph.Param{Type: graph.ParamString}, "", true},
	}
	for _, tt := range tests {
		if why := tt.p.CheckParam(tt.text); (why == "") != tt.ok {
			t.Errorf("%s %q: %q", tt.p.Type, tt.text, why)
		}
	}
	for text, want := range map[string][]string{"": {}, " a, b ,,c": {"a", "b", "c"}, `["a,b","c"]`: {"a,b", "c"}, "[x": {"[x"}} {
		if got := graph.SplitList(text); !slices.Equal(got, want) {
			t.Errorf("SplitList(%q) is %q", text, got)
		}
	}
}
