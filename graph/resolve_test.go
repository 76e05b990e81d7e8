package graph_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"foundry/diag"
	"foundry/gates"
	"foundry/graph"
	"foundry/schema"
)

func TestGateForms(t *testing.T) {
	t.Parallel()
	g := compile(t, `version: 1
commands:
  vet: {run: go vet ./..., timeout: 1m, dir: api, env: {A: "1", B: "1"}}
gates:
  vetted: {command_passes: vet}
  small: {max_diff: {files: 3, lines: 10, deleted: 0}, message: keep it small}
agents: {a: {harness: script, script: [{reply: x}], prompt: go, envelope: build}}
pipelines:
  p:
    phases:
      - id: x
        agent: a
        gates:
          - vetted
          - small: {require: true}
          - command_passes: [go, test, "{{run_id}}"]
          - command_passes: {command: vet, timeout: 2m, env: {B: "2"}, exit_codes: nonzero}
          - command_passes: {run: make, dir: web, exit_codes: [0, 7], require: true, message: no}
          - {tests_ran: {report: junit, file: out.xml, min: 4}}
          - tests_untouched: ["**/*_test.go"]
          - check: {expr: 'len(changed) < 3', message: few}
          - artifacts_exist: {may_exist: true, require: true}
`)
	list := g.Phases[0].Gates
	if len(list) != 9 {
		t.Fatalf("%d gates", len(list))
	}
	spec := func(i int) gates.Spec { return list[i].Spec }
	if s := spec(0); s.Name != "vetted" || s.Kind != gates.CommandPasses || s.Label != "go vet ./..." || list[0].Command.Dir != "api" || list[0].Command.Timeout != time.Minute {
		t.Errorf("vetted: %+v %+v", s, list[0].Command)
	}
	if s := spec(1); s.MaxFiles != 3 || s.MaxLines != 10 || s.MaxDeleted != 0 || !s.Require || s.Message != "keep it small" || s.Name != "small" {
		t.Errorf("small: %+v", s)
	}
	if c := list[2].Command; len(c.Script.Argv) != 3 || c.Script.Shell != "" || c.Timeout != 15*time.Minute || !slices.Equal(c.ExitCodes, []int{0}) {
		t.Errorf("argv: %+v", c)
	}
	if c := list[3].Command; c.Timeout != 2*time.Minute || !c.Nonzero || c.Dir != "api" || envText(c.Env) != "A=1 B=2" {
		t.Errorf("named with changes: %+v", c)
	}
	if c, s := list[4].Command, spec(4); c.Dir != "web" || !slices.Equal(c.ExitCodes, []int{0, 7}) || !s.Require || s.Message != "no" || c.Script.Shell != "make" {
		t.Errorf("in place: %+v %+v", s, c)
	}
	if s := spec(5); s.Report != "junit" || s.File != "out.xml" || s.Min != 4 || s.MaxFiles != -1 {
		t.Errorf("tests_ran: %+v", s)
	}
	if s := spec(6); !slices.Equal(s.Globs, []string{"**/*_test.go"}) {
		t.Errorf("tests_untouched: %+v", s)
	}
	if list[7].Cond == nil || spec(7).Message != "few" || spec(7).Label != "len(changed) < 3" {
		t.Errorf("check: %+v", list[7])
	}
	if s := spec(8); !s.MayExist || !s.Require {
		t.Errorf("artifacts_exist: %+v", s)
	}
}

// TestPipelineExtends merges by hand what a file cannot say yet.
func TestPipelineExtends(t *testing.T) {
	t.Parallel()
	doc, list := schema.Decode(diag.NewSource("foundry.yaml", `version: 1
commands: {test: make test}
pipelines:
  base:
    description: the base
    params: {a: {type: string, default: x}, b: {type: string, default: y}}
    accept: passed("one") && params.a != params.b
    limits: {turns: 7, time: 1h}
    protect: [x]
    keep_going: true
    criteria: [{name: c, run: make}]
    phases: [{id: one, run: make}]
  child:
    params: {b: {type: int, default: 3}, c: {type: string, default: z}}
    accept: passed("one") && params.b > 2 && params.a == params.c
    limits: {turns: 9}
    phases: [{id: gone, run: make}]
`))
	if list.HasErrors() {
		t.Fatal(list.Sorted())
	}
	named := func(name string) schema.Text {
		src := diag.NewSource("x", name)
		return schema.Text{Value: name, Frag: diag.FileFragment(src), Set: true}
	}
	child := &doc.Pipelines[1]
	child.Extends, child.Phases = named("base"), nil
	g := compileNamed(t, graph.New(doc, shipped(t), graph.Files{}), "child")
	var params []string
	for _, p := range g.Params {
		params = append(params, p.Name+" "+p.Type.String())
	}
	if !slices.Equal(params, []string{"a string", "b int", "c string"}) || g.Description != "the base" || g.Limits.Turns != 9 || g.Limits.Time != time.Hour ||
		!g.KeepGoing || len(g.Criteria) != 1 || len(g.Phases) != 1 || g.Phases[0].Name != "one" || !strings.Contains(g.AcceptText, "params.c") {
		t.Errorf("child: %v %+v", params, g)
	}

	child.Extends = named("builtin/plan-build-test")
	child.Accept, child.Params = schema.Text{}, nil
	if g := compileNamed(t, graph.New(doc, shipped(t), graph.Files{}), "child"); len(g.Phases) != 4 || g.AcceptText != `passed("test")` {
		t.Errorf("from what ships: %d phases, %s", len(g.Phases), g.AcceptText)
	}
	child.Extends = named("child")
	if _, list := graph.New(doc, shipped(t), graph.Files{}).Compile("child"); !hasRule(list, diag.Cycle) {
		t.Errorf("a circle: %v", list.Sorted())
	}
	child.Extends = named("bas")
	if _, list := graph.New(doc, shipped(t), graph.Files{}).Compile("child"); !hasRule(list, diag.UnknownPipeline) {
		t.Errorf("an unknown one: %v", list.Sorted())
	}
}

func hasRule(list diag.List, r diag.Rule) bool {
	return slices.ContainsFunc(list.Sorted(), func(d diag.Diagnostic) bool { return d.Rule == r })
}

func TestFieldDefaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		field string
		want  any // nil: the default is refused
	}{
		{`{type: string, default: a}`, "a"},
		{`{type: string, default: 1}`, nil},
		{`{type: string, enum: [a, b], default: c}`, nil},
		{`{type: int, default: 3}`, 3},
		{`{type: int, default: 3.5}`, nil},
		{`{type: number, default: 3}`, 3.0},
		{`{type: number, default: 3.5}`, 3.5},
		{`{type: bool, default: true}`, true},
		{`{type: path, default: a/b}`, "a/b"},
		{`{type: list, of: int, default: [1, 2]}`, []any{1, 2}},
		{`{type: list, of: int, default: [1, x]}`, nil},
		{`{type: list, default: x}`, nil},
		{`{type: object, fields: {n: {type: int}}, default: {n: 2}}`, map[string]any{"n": 2}},
		{`{type: object, fields: {n: {type: int}}, default: {n: x}}`, nil},
		{`{type: object, fields: {n: {type: int}}, default: {m: 2}}`, nil},
		{`{type: object, default: 2}`, nil},
	}
	for _, tt := range tests {
		text := "version: 1\nenvelopes: {e: {fields: {f: " + tt.field + "}}}\nagents: {a: {harness: script, script: [{reply: x}], envelope: e, prompt: go}}\npipelines: {p: {phases: [{id: x, agent: a}]}}\n"
		g, list := catalogue(t, text, nil).Compile("p")
		if tt.want == nil {
			if !hasRule(list, diag.WrongType) {
				t.Errorf("%s is accepted", tt.field)
			}
			continue
		}
		if g == nil {
			t.Errorf("%s: %v", tt.field, list.Sorted())
			continue
		}
		f, _ := g.Phases[0].Envelope.Lookup("f")
		if !reflect.DeepEqual(f.Default, tt.want) {
			t.Errorf("%s: the default is %#v, want %#v", tt.field, f.Default, tt.want)
		}
	}
}

// TestBrokenFile says nothing of a file that could not be read at all.
func TestBrokenFile(t *testing.T) {
	t.Parallel()
	doc, _ := schema.Decode(diag.NewSource("foundry.yaml", "version: 1\ndefault: [\n"))
	c := graph.New(doc, shipped(t), graph.Files{})
	if list := c.Lint(); list.Len() != 0 {
		t.Errorf("findings: %v", list.Sorted())
	}
	if list := graph.New(nil, nil, graph.Files{}).Lint(); list.Len() != 0 {
		t.Errorf("findings of nothing: %v", list.Sorted())
	}
}

// TestProject reads the project section into the graph.
func TestProject(t *testing.T) {
	t.Parallel()
	g := compile(t, `version: 1
project:
  name: shop
  base: trunk
  isolation: false
  merge: never
  hooks: false
  env: {A: "{{run_id}}"}
  worktree: {copy: [.env], link: [vendor], setup: ["npm ci", [make, "{{branch}}"]], scratch: [tmp]}
  keep: {log: 1MB}
pipelines:
  p: {request: none, fail_fast: true, phases: [{id: a, run: make}]}
`)
	p := g.Project
	if p.Name != "shop" || p.Base != "trunk" || g.Isolation != graph.Checkout || g.Merge != graph.MergeNever || p.Hooks ||
		envText(p.Env) != "A={{run_id}}" || !slices.Equal(p.Copy, []string{".env"}) || !slices.Equal(p.Link, []string{"vendor"}) || !slices.Equal(p.Scratch, []string{"tmp"}) ||
		len(p.Setup) != 2 || p.Setup[0].Shell != "npm ci" || len(p.Setup[1].Argv) != 2 || p.Keep.LogBytes != 1000000 && p.Keep.LogBytes != 1<<20 {
		t.Errorf("project: %+v", p)
	}
	if !g.NoRequest || g.NeedRequest || !g.FailFast || g.KeepGoing {
		t.Errorf("pipeline: %+v", g)
	}
}

// TestTextsThatCannotKnow refuses what setup and criteria name and cannot have.
func TestTextsThatCannotKnow(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`project: {worktree: {setup: [[echo, "{{phases.a.exit}}"]]}}`:     "setup runs before the first phase",
		`project: {worktree: {setup: [[echo, "{{feedback}}"]]}}`:          "setup runs before the first phase",
		`commands: {c: {run: make, env: {F: "{{feedback}}"}}}`:            "a criterion is given no feedback",
		`commands: {c: {run: make, env: {F: "{{phases.a.exit + 1}}"}}}`:   "",
		`project: {worktree: {setup: [[echo, "{{params.x}} {{base}}"]]}}`: "",
	} {
		file := "version: 1\n" + text + "\npipelines: {p: {params: {x: {type: string, default: y}}, phases: [{id: a, run: make, when: params.x == \"y\"}], criteria: [{name: k, command: c}]}}\n"
		if !strings.Contains(file, "commands:") {
			file = strings.Replace(file, "command: c", "run: make", 1)
		}
		_, list := catalogue(t, file, nil).Compile("p")
		got := ""
		for _, d := range list.Sorted() {
			got += d.Message
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
