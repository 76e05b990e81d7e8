package schema

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"foundry/diag"
)

const tour = `version: 1
default: p
x-base: &base {env: {A: "1"}, timeout: 9m}
x-slow: &slow {timeout: 1m, retries: 5}
project:
  name: shop
  base: main
  isolation: false
  merge: auto
  protect: [go.sum]
  env: {V: 1.10, M: 0755, BIG: 12345678901234567890, T: true}
  harness: command
  argv: [./agent.sh, 010, 1e3, 2001-01-01, .5]
  model: opus
  hooks: false
  worktree: {copy: [.env], link: [cache], setup: [npm ci, [make, all]], scratch: [tmp]}
  keep: {log: 20MB}
commands:
  short: go test ./...
  list: [go, test]
  long: {run: ./e2e.sh, dir: web, timeout: 1h30m, exit_codes: [0, 3], env: {H: "1"}}
  failing: {run: x, exit_codes: nonzero}
envelopes:
  triage:
    extends: generic
    fields:
      severity: {type: string, enum: [low, high], required: true, default: low}
      files: {type: list, of: object, fields: {path: {type: path}}}
gates:
  vet: {command_passes: go vet ./...}
  small: {max_diff: {files: 20, lines: 400}, require: true, message: too much}
  check: {check: {expr: '!("go.mod" in changed)', message: no}}
agents:
  builder:
    extends: builtin/builder
    description: builds
    harness: script
    argv: [a]
    model: m
    models: {light: l, heavy: h}
    effort: high
    tools: {allow: [read], deny: [write]}
    system: {file: prompts/system.md}
    prompt: |
      Do {{request}}
    envelope: build
    envelope_retries: 2
    writes: []
    protect: ["**/x"]
    permissions: ask
    env: {E: e}
    turn_timeout: 1m
    stall_timeout: 30s
    fallback: [other]
    script:
      - {item: k, run: git mv a b, files: {a.go: "x\n", b.go: null}, reply: {status: success, n: 3, f: 1.5, ok: true, none: null, list: [1, two]}}
      - reply: plain words
pipelines:
  p:
    description: all of it
    params: {area: {type: string, default: .}, deep: {type: choice, choices: [a, b], required: true}}
    request: required
    isolation: detached
    merge: never
    protect: [x]
    accept: passed("a")
    limits: {time: 2h, turns: 4, tokens: 5, cost: 5.00, phases: 6}
    criteria: [{name: builds, run: go build ./..., required: false}, {name: tests, command: short, exit_codes: [1]}]
    fail_fast: true
    keep_going: false
    phases:
      - id: a
        agent: builder
        description: first
        hint: look
        needs: []
        when: request != ""
        optional: true
        prompt: go
        inputs: [request]
        envelope: triage
        model: m
        retries: 3
        gates: [vet, {artifacts_exist: {require: true}}, {max_diff: {files: 2}, message: m}, {tests_untouched: ["**/*_test.go"]}]
        writes: [src/**]
        protect: [y]
        commits: allow
        route: |
          // what follows is two rules

          on pass -> next   // on
          on fail -> b
      - <<: [*base, *slow]
        id: b
        detour: true
        run: [make, -j, 4]
        retries: 0
        outputs: {v: {regex: '(\S+)', type: int, required: true}, w: {json: /a/b}}
        exit_codes: [0]
        dir: sub
        route: ["on pass -> finish", "on fail
            -> abort"]
      - {id: c, builtin: git_commit, message: m, env: {B: "2"}, <<: *base}
      - {id: d, command: short}
      - {id: e, ask: sure}
tests: [{name: t, expect: {}}]
`

// decodeTour decodes the tour; its one finding is retries beside run, which the merge has.
func decodeTour(t *testing.T) *Document {
	t.Helper()
	doc, list := Decode(diag.NewSource("foundry.yaml", tour))
	found := list.Sorted()
	if len(found) != 1 || found[0].Rule != diag.UnknownKey || found[0].Span.Text() != "retries" {
		t.Fatal(show(found))
	}
	return doc
}

func TestDecodeReadsEveryKey(t *testing.T) {
	t.Parallel()
	doc := decodeTour(t)
	p, a := doc.Pipelines[0], doc.Agents[0]
	ph := p.Phases
	equal := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	pairsOf := func(p Pairs) (out []string) {
		for _, x := range p.Items {
			out = append(out, x.Name.Value+"="+x.Value.Value)
		}
		return
	}
	equal("version", doc.Version.Value, 1)
	equal("env keeps its source", pairsOf(doc.Project.Env), "[V=1.10 M=0755 BIG=12345678901234567890 T=true]")
	equal("argv keeps its source", doc.Project.Argv.Values(), "[./agent.sh 010 1e3 2001-01-01 .5]")
	equal("isolation", []any{doc.Project.Isolation.Set, doc.Project.Isolation.Value, doc.Project.Hooks.Or(true)}, "[true false false]")
	equal("setup", []any{doc.Project.Worktree.Setup[0].Shell.Value, doc.Project.Worktree.Setup[1].Argv.Values()}, "[npm ci [make all]]")
	equal("log", doc.Project.Keep.Log.Value, 20_000_000)
	equal("commands", []any{doc.Commands[0].Run.Shell.Value, doc.Commands[1].Run.Argv.Values(), doc.Commands[2].Timeout.Value, doc.Commands[2].ExitCodes.Codes[1].Value}, "[go test ./... [go test] 1h30m0s 3]")
	equal("nonzero", doc.Commands[3].ExitCodes.Nonzero, true)
	equal("enum", doc.Envelopes[0].Fields[0].Enum.Values(), "[low high]")
	equal("nested field", doc.Envelopes[0].Fields[1].Fields[0].Type.Value, "path")
	equal("gate", []any{doc.Gates[0].Name.Value, doc.Gates[0].Kind.Value, doc.Gates[0].Args.Value}, "[vet command_passes go vet ./...]")
	equal("gate options", []any{doc.Gates[1].Require.Value, doc.Gates[1].Message.Value}, "[true too much]")
	equal("gate check", doc.Gates[2].Args.Value.([]DataField)[0].Value.Value, `!("go.mod" in changed)`)
	equal("writes", []any{a.Writes.Set, len(a.Writes.Items)}, "[true 0]")
	equal("system", []any{a.System.File.Value, a.System.Text.Set, a.Prompt.Text.Value}, "[prompts/system.md false Do {{request}}\n]")
	equal("models and tools", []any{a.Models.Light.Value, a.Models.Heavy.Value, a.Allow.Values(), a.Deny.Values()}, "[l h [read] [write]]")
	equal("times", []any{a.TurnTimeout.Value, a.StallTimeout.Value}, "[1m0s 30s]")
	equal("script", []any{len(a.Script), a.ScriptSet, a.Script[0].Files[0].Text.Value, a.Script[0].Files[1].Delete, a.Script[0].Run.Value}, "[2 true x\n true git mv a b]")
	var reply []string
	for _, f := range a.Script[0].Reply.Value.([]DataField) {
		reply = append(reply, fmt.Sprintf("%s:%T", f.Name.Value, f.Value.Value))
	}
	equal("reply", reply, "[status:string n:int64 f:float64 ok:bool none:<nil> list:[]schema.Data]")
	equal("params", []any{p.Params[0].Default.Value, p.Params[1].Choices.Values(), p.Params[1].Required.Value}, "[. [a b] true]")
	equal("pipeline", []any{p.Request.Value, p.Isolation.Value, p.Merge.Value, p.Accept.Value, p.FailFast.Value, p.KeepGoing.Set}, `[required detached never passed("a") true true]`)
	equal("limits", []any{p.Limits.Time.Value, p.Limits.Turns.Value, p.Limits.Tokens.Value, p.Limits.Cost.Value, p.Limits.Phases.Value}, "[2h0m0s 4 5 5 6]")
	equal("criteria", []any{p.Criteria[0].Required.Or(true), p.Criteria[1].Command.Value, p.Criteria[1].ExitCodes.Codes[0].Value}, "[false short 1]")
	equal("phase", []any{ph[0].Needs.Set, len(ph[0].Needs.Items), ph[0].When.Value, ph[0].Optional.Value, ph[0].Retries.Value, ph[0].Commits.Value}, `[true 0 request != "" true 3 allow]`)
	equal("gates", []any{ph[0].Gates[0].Kind.Value, ph[0].Gates[1].Kind.Value, ph[0].Gates[2].Message.Value, len(ph[0].Gates[3].Args.Value.([]Data))}, "[vet artifacts_exist m 1]")
	var rules []string
	for _, k := range []int{0, 1} {
		for _, r := range ph[k].Route.Rules {
			rules = append(rules, r.Text+"@"+r.Span(3, 7).Text())
		}
	}
	equal("rules", strings.Join(rules, "|"), "on pass -> next   // on@pass|on fail -> b@fail|on pass -> finish@pass|on fail -> abort@fail")
	equal("outputs", []any{ph[1].Outputs[0].Regex.Value, ph[1].Outputs[0].Type.Value, ph[1].Outputs[1].JSON.Value}, `[(\S+) int /a/b]`)
	equal("argv", ph[1].Run.Argv.Values(), "[make -j 4]")
	// Explicit keys beat merged ones, and of a list of merged mappings the earlier wins; a merge is shallow.
	equal("merged", []any{ph[1].Timeout.Value, ph[1].Retries.Value, pairsOf(ph[1].Env), pairsOf(ph[2].Env), ph[2].Timeout.Value}, "[9m0s 0 [A=1] [B=2] 9m0s]")
	equal("kinds", []any{ph[2].Builtin.Value, ph[3].Command.Value, ph[4].Ask.Value}, "[git_commit short sure]")
	equal("tests", len(doc.Tests), 1)
}

// Every text of the document knows its place: what stands there holds the value's words.
func TestEveryLeafHasItsPlace(t *testing.T) {
	t.Parallel()
	doc := decodeTour(t)
	leaves := map[string]Text{
		"base": doc.Project.Base, "setup": doc.Project.Worktree.Setup[0].Shell, "command": doc.Commands[0].Run.Shell, "field": doc.Envelopes[0].Fields[0].Name,
		"gate": doc.Gates[0].Kind, "agent": doc.Agents[0].Name, "accept": doc.Pipelines[0].Accept, "id": doc.Pipelines[0].Phases[0].ID, "ask": doc.Pipelines[0].Phases[4].Ask,
		"env": doc.Pipelines[0].Phases[2].Env.Items[0].Value, "merged env": doc.Pipelines[0].Phases[1].Env.Items[0].Value,
	}
	for name, leaf := range leaves {
		if got := leaf.Frag.Span(0, len(leaf.Value)).Text(); got != leaf.Value || leaf.Value == "" {
			t.Errorf("%s %q stands at %q", name, leaf.Value, got)
		}
	}
	if got := doc.Pipelines[0].Phases[4].Span.Text(); got != "{id: e, ask: sure}" {
		t.Errorf("the phase is %q", got)
	}
	if got := doc.Pipelines[0].Phases[3].Span.Text(); got != "{id: d, command: short}" {
		t.Errorf("the phase is %q", got)
	}
	if got := doc.Pipelines[0].Phases[0].Span.Text(); !strings.HasPrefix(got, "id: a") || !strings.HasSuffix(got, "on fail -> b") {
		t.Errorf("the phase is %q", got)
	}
}

// What is hostile ends in a clear error, soon and without much memory. It runs beside no other test, since what is
// measured is what the whole process allocates.
func TestHostileFiles(t *testing.T) {
	bomb := "version: 1\nx-a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'i'; c++ {
		bomb += fmt.Sprintf("x-%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	flat := "version: 1\n"
	for i := 0; len(flat) < 400_000; i++ {
		flat += fmt.Sprintf("key%d: v\n", i)
	}
	same := "version: 1\nproject: {env: {"
	same += strings.Repeat("KEY: v, ", 50_000) + "}}\n"
	tests := []struct {
		name, text string
		rule       diag.Rule
	}{
		{"bomb", bomb, diag.TooLarge},
		{"bomb in use", bomb + "tests: *i\n", diag.TooLarge},
		{"bomb of merges", bomb + "commands: {<<: [*i, *i]}\n", diag.TooLarge},
		{"self", "version: 1\nproject: &p {env: *p}\n", diag.AnchorCycle},
		{"self in a key", "version: 1\nproject: &p {*p : 1}\n", diag.AnchorCycle},
		{"self in a merge", "version: 1\nproject: &p {<<: *p}\n", diag.AnchorCycle},
		{"flat map", flat, diag.UnknownKey},
		{"one key many times", same, diag.DuplicateKey},
		{"deep flow", "version: 1\nx-a: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "\n", diag.TooLarge},
		{"deeper flow", "version: 1\nx-a: " + strings.Repeat("[", 20_000) + "\n", diag.TooLarge},
		{"deep maps", "version: 1\nx-a: " + strings.Repeat("{a: ", 9_000) + strings.Repeat("}", 9_000) + "\n", diag.TooLarge},
		{"deep lists", "version: 1\nx-a:\n  " + strings.Repeat("- ", 10_001) + "a\n", diag.TooLarge},
		{"deep through an alias", "version: 1\nx-a: &a " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\nx-b: " + strings.Repeat("[", 40) + "*a" + strings.Repeat("]", 40) + "\n", diag.TooLarge},
		{"big", strings.Repeat("# x\n", 2<<20+1), diag.TooLarge},
		{"error at the end of a long file", "version: 1\nproject: {env: {A: 1}}\n" + strings.Repeat("x-a: [1, 2]\n", 0) + strings.Repeat("# filler filler filler\n", 20_000) + "a: b: c\n", diag.YAMLColon},
		{"open quote in a long file", "version: 1\ndefault: \"\n" + strings.Repeat("filler filler filler\n", 20_000), diag.YAMLSyntax},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, list := Decode(diag.NewSource("foundry.yaml", tt.text))
			runtime.ReadMemStats(&after)
			found := list.Sorted()
			t.Logf("%v, %d MB, %d findings", time.Since(start), (after.TotalAlloc-before.TotalAlloc)>>20, len(found))
			if d := time.Since(start); d > 30*time.Second { // 100 ms alone on the machine; what is hostile would take hours
				t.Errorf("took %v", d)
			}
			if alloc := after.TotalAlloc - before.TotalAlloc; alloc > 200<<20 {
				t.Errorf("allocated %d MB", alloc>>20)
			}
			ok := len(found) > 0 && len(found) <= 2*maxFindings+3
			seen := false
			for _, d := range found {
				seen = seen || d.Rule == tt.rule
			}
			if !ok || !seen {
				t.Errorf("%d findings, %s not among them%s", len(found), tt.rule, show(found[:min(len(found), 3)]))
			}
		})
	}
}

func TestNotesOfAliases(t *testing.T) {
	t.Parallel()
	_, list := Decode(diag.NewSource("f", "version: 1\nx-b: &b {run: x, timeout: 5}\ncommands: {a: *b}\n"))
	d := list.Sorted()[0]
	if len(d.Notes) != 1 || d.Notes[0].Span.Text() != "*b" || d.Span.Text() != "5" {
		t.Errorf("%s notes %v", show(list.Sorted()), d.Notes)
	}
}

func TestDecodeTests(t *testing.T) {
	t.Parallel()
	tests, list := DecodeTests(diag.NewSource("a.foundry-test.yaml", "tests:\n  - name: one\n    given: {a: [{exit: 1}]}\n    expect: {exit: 1}\n"))
	if list.Len() > 0 || len(tests) != 1 {
		t.Errorf("%v%s", tests, show(list.Sorted()))
	}
	if _, list := DecodeTests(diag.NewSource("t", "version: 1\n")); list.Len() != 2 {
		t.Error(show(list.Sorted()))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(tour)
	f.Add("version: 1\r\npipelines: {p: {phases: [{id: a, run: >\n x\n\n  y\n}]}}")
	f.Add("a: &a [*a, !x ! 'é''', \"\\u00e9\\\n  b\"]\n--- |2-\n  x\n")
	f.Add("\ufeff? {{a}}\n: <<: *b\n%YAML 1.2\n---\n")
	f.Add("version: 1\ncommands: {<<: [{a: b}, {a: {run: |+\n\n}}]}")
	f.Fuzz(func(t *testing.T, text string) {
		src := diag.NewSource("f.yaml", text)
		doc, list := Decode(src)
		if doc == nil {
			t.Fatal("no document")
		}
		_, more := DecodeTests(src)
		list.Merge(more)
		check := func(s diag.Span) {
			if s.Source != src || s.Start < 0 || s.End < s.Start || s.End > len(text) {
				t.Fatalf("span %d-%d of %d bytes", s.Start, s.End, len(text))
			}
		}
		for _, d := range list.Sorted() {
			check(d.Span)
			for _, n := range d.Notes {
				check(n.Span)
			}
		}
		var out strings.Builder
		if err := diag.RenderText(&out, list.Sorted(), false); err != nil {
			t.Fatal(err)
		}
		for _, p := range doc.Pipelines {
			for _, ph := range p.Phases {
				check(ph.Span)
				for _, r := range ph.Route.Rules {
					for i := range r.Text {
						check(r.Span(i, i+1))
					}
				}
			}
		}
	})
}

// thousand is a file of 1,000 phases as people write them.
func thousand() string {
	var b strings.Builder
	b.WriteString("version: 1\npipelines:\n  p:\n    accept: passed(\"p999\")\n    phases:\n")
	for i := range 1000 {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, "      - id: p%d\n        agent: builder\n        inputs: [request, feedback]\n        gates: [diff_matches_claims, {artifacts_exist: {require: true}}]\n        retries: 2\n        prompt: |\n          Do {{request}} as the plan says.\n          Then report what you changed.\n", i)
		case 1:
			fmt.Fprintf(&b, "      - id: p%d\n        run: go test ./pkg%d/...\n        timeout: 10m\n        env: {A: \"1\", B: two}\n        route: |\n          on timeout -> abort \"tests hang\"\n          on fail -> p%d retry 2 with tail(output, 40)   // anything else\n", i, i, i-1)
		case 2:
			fmt.Fprintf(&b, "      - id: p%d\n        command: lint\n        when: phases.p%d.exit == 0\n        hint: look at the log\n", i, i-1)
		default:
			fmt.Fprintf(&b, "      - {id: p%d, builtin: git_commit, message: \"{{envelope:p%d.commit_message}}\"}\n", i, i-3)
		}
	}
	return b.String()
}

func BenchmarkDecode1000(b *testing.B) {
	text := thousand()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, list := Decode(diag.NewSource("f", text)); list.Len() > 0 {
			b.Fatal(show(list.Sorted()))
		}
	}
}

// BenchmarkNode1000 is the floor: the YAML library alone on the same bytes.
func BenchmarkNode1000(b *testing.B) {
	text := []byte(thousand())
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var n yaml.Node
		if err := yaml.Unmarshal(text, &n); err != nil {
			b.Fatal(err)
		}
	}
}
