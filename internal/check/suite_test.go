package check

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"foundry/builtins"
	"foundry/diag"
	"foundry/graph"
	"foundry/schema"
)

// suiteOf reads a pipeline text and test texts, which must be free of mistakes of the decoder.
func suiteOf(t testing.TB, pipelines string, tests ...string) (*Suite, diag.List) {
	t.Helper()
	doc, found := schema.Decode(diag.NewSource("foundry.yaml", pipelines))
	ships, _ := schema.Decode(diag.NewSource(builtins.Name, builtins.YAML()))
	suite := NewSuite(graph.New(doc, ships, graph.Files{Path: "foundry.yaml"}))
	found.Merge(suite.Add(doc.Tests))
	for i, text := range tests {
		list, mistakes := schema.DecodeTests(diag.NewSource(fmt.Sprintf("%d.foundry-test.yaml", i), text))
		found.Merge(mistakes)
		found.Merge(suite.Add(list))
	}
	found.Merge(suite.Broken)
	return suite, found
}

func findings(list diag.List) string {
	var b strings.Builder
	diag.RenderText(&b, list.Sorted(), false)
	return b.String()
}

// folder reads the pipeline file and the tests of a folder.
func folder(t testing.TB, dir string) *Suite {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "foundry.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.foundry-test.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", dir, err)
	}
	var tests []string
	for _, file := range files {
		more, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests = append(tests, string(more))
	}
	suite, found := suiteOf(t, string(text), tests...)
	if found.HasErrors() {
		t.Fatalf("%s:\n%s", dir, findings(found))
	}
	return suite
}

func runCase(t testing.TB, c *Case) Result {
	t.Helper()
	r, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Each pipeline of the folders goes the way that its tests say. A test that expects one visit less fails, so
// none of them passes whatever happens.
func TestFolders(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"testdata/redgreen", "testdata/nightly", "testdata/intake", "testdata/ways", "../../builtins/testdata"} {
		for _, c := range folder(t, dir).Cases() {
			t.Run(filepath.Base(dir)+"/"+c.Graph.Pipeline+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				r := runCase(t, c)
				if !r.Passed() {
					t.Fatalf("it failed:\n%s", Text([]Result{r}, false, false))
				}
				if !c.Expect.Path.Set {
					t.Fatal("it expects no path")
				}
				wrong := *c
				wrong.Expect.Path.Items = c.Expect.Path.Items[:len(c.Expect.Path.Items)-1]
				if r := runCase(t, &wrong); r.Passed() {
					t.Error("it passes with a path that is too short")
				}
			})
		}
	}
}

// Every route of every pipeline that ships is taken by one of its tests, and used up where it has a bound.
func TestBuiltinsAreCovered(t *testing.T) {
	t.Parallel()
	suite := folder(t, "../../builtins/testdata")
	runs := map[string][]Run{}
	for _, c := range suite.Cases() {
		r := runCase(t, c)
		runs[c.Graph.Pipeline] = append(runs[c.Graph.Pipeline], r.Run)
	}
	ships, _ := schema.Decode(diag.NewSource(builtins.Name, builtins.YAML()))
	for _, p := range ships.Pipelines {
		g := suite.Graph(p.Name.Value)
		if g == nil {
			t.Fatalf("%s does not compile", p.Name.Value)
		}
		x, err := Explore(g, runs[p.Name.Value], DefaultRuns)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range x.Items {
			if !item.Covered || !item.Reached {
				t.Errorf("%s: %s is covered %t, reached %t", p.Name.Value, item.What, item.Covered, item.Reached)
			}
		}
	}
}

const shop = `version: 1
commands: {suite: make}
gates:
  vet: {command_passes: make vet}
  few: {check: {expr: len(changed) < 3, message: too many}}
  tests: {tests_untouched: ["*_test.go"]}
  small: {max_diff: {files: 2, lines: 3, deleted: 0}}
pipelines:
  p:
    params: {area: {type: string, required: true}, deep: {type: bool, default: false}}
    request: required
    accept: passed("suite")
    criteria: [{name: builds, run: make build}]
    phases:
      - {id: build, agent: builder, gates: [vet]}
      - {id: suite, command: suite, route: ["on fail when exit == 2 -> abort \"no compiler\"", "on fail -> build retry 1"]}
      - {id: ship, ask: "Ship {{params.area}}, {{params.deep}}?", route: ["on reject -> note"]}
      - {id: pause, builtin: noop}
      - {id: note, detour: true, run: ./note.sh}
  q:
    request: none
    phases: [{id: one, run: make}]
  broken:
    phases: [{id: a, agent: nobody}]
`

func TestMistakesOfNamesAndEntries(t *testing.T) {
	t.Parallel()
	whole := "request: r, params: {area: a}, expect: {exit: 0}"
	tests := []struct{ name, test, want string }{
		{"a pipeline", "pipeline: shp, expect: {exit: 0}", `shp unknown-pipeline: there is no pipeline "shp"`},
		{"no pipeline", "expect: {exit: 0}", `{ missing-key: the test names no pipeline, and there is no default one`},
		{"a pipeline that does not compile", "pipeline: broken, expect: {exit: 0}", `nobody unknown-agent: agent "nobody" is not defined`},
		{"no request", "pipeline: p, params: {area: a}, expect: {exit: 0}", `t missing-key: pipeline "p" needs a request`},
		{"a request too many", "pipeline: q, request: r, expect: {exit: 0}", `r unknown-key: pipeline "q" takes no request`},
		{"no param", "pipeline: p, request: r, expect: {exit: 0}", `t missing-key: pipeline "p" needs param "area"`},
		{"an unknown param", "pipeline: p, request: r, params: {area: a, deap: true}, expect: {exit: 0}", `deap unknown-param: pipeline "p" has no param "deap"`},
		{"a param of another type", "pipeline: p, request: r, params: {area: a, deep: 1}, expect: {exit: 0}", `1 wrong-type: the value of param "deep" is of another type`},
		{"a phase", "pipeline: p, given: {biuld: []}, " + whole, `biuld unknown-phase: pipeline "p" has no phase "biuld"`},
		{"an item of nothing", "pipeline: p, given: {\"build[log]\": []}, " + whole, `"build[log]" unknown-phase: pipeline "p" has no phase "build[log]"`},
		{"an exit of an agent", "pipeline: p, given: {build: [{exit: 0}]}, " + whole, `exit wrong-type: "exit" does not belong to this entry, which is one of phase "build"`},
		{"a reply of a command", "pipeline: p, given: {suite: [{reply: x}]}, " + whole, `reply wrong-type: "reply" does not belong to this entry, which is one of phase "suite"`},
		{"a reply of a person", "pipeline: p, given: {ship: [{reply: x}]}, " + whole, `reply wrong-type: "reply" does not belong to this entry, which is one of phase "ship"`},
		{"files of a command", "pipeline: p, given: {suite: [{files: {a: b}}]}, " + whole, `files wrong-type: "files" does not belong to this entry, which is one of phase "suite"`},
		{"changes of a criterion", "pipeline: p, criteria: {builds: [{changed: [a]}]}, " + whole, `changed wrong-type: "changed" does not belong to this entry, which is a criterion's`},
		{"an answer of a command", "pipeline: p, given: {suite: [approve]}, " + whole, `approve wrong-type: "approve" does not belong to this entry, which is one of phase "suite"`},
		{"a conflict of what is not merged", "pipeline: p, given: {build: [{reply: x, conflict: [a.go]}]}, " + whole, `[a.go] wrong-type: phase "build" works in the workspace of the run, and nothing of it is merged`},
		{"a conflict of a criterion", "pipeline: p, criteria: {builds: [{conflict: [a]}]}, " + whole, `conflict wrong-type: "conflict" does not belong to this entry, which is a criterion's`},
		{"a turn without an end", "pipeline: p, given: {build: [{changed: []}]}, " + whole, `{ missing-key: this entry does not say how the agent's turn ends`},
		{"a turn with two ends", "pipeline: p, given: {build: [{reply: x, stop: error}]}, " + whole, `error wrong-type: a turn that stops early brings no reply`},
		{"a timeout with an exit", "pipeline: p, given: {suite: [{exit: 1, timeout: true}]}, " + whole, `1 wrong-type: a command that timed out has no exit code`},
		{"no answer", "pipeline: p, given: {ship: [{}]}, " + whole, `{ missing-key: this entry is no answer`},
		{"an entry for nothing", "pipeline: p, given: {pause: [{exit: 0}]}, " + whole, `pause wrong-type: phase "pause" does nothing, so nothing can be given for it`},
		{"a gate", "pipeline: p, given: {build: [{reply: x, gates: {vat: pass}}]}, " + whole, `vat unknown-gate: phase "build" has no gate "vat"`},
		{"behind a repeated entry", "pipeline: p, given: {suite: [{exit: 0, repeat: true}, {exit: 1}]}, " + whole, `{ unused: what follows a repeated entry is never used`},
		{"a criterion", "pipeline: p, criteria: {build: []}, " + whole, `build unknown-phase: pipeline "p" has no criterion "build"`},
		{"nothing expected", "pipeline: p, request: r, params: {area: a}, expect: {}", `{ missing-key: the test expects nothing`},
		{"a phase of a path", "pipeline: p, request: r, params: {area: a}, expect: {path: [bild]}", `bild unknown-phase: pipeline "p" has no phase "bild"`},
		{"a phase that did not run", "pipeline: p, request: r, params: {area: a}, expect: {not_run: [nota]}", `nota unknown-phase: pipeline "p" has no phase "nota"`},
		{"a phase that was visited", "pipeline: p, request: r, params: {area: a}, expect: {visits: {suit: 1}}", `suit unknown-phase: pipeline "p" has no phase "suit"`},
		{"a phase that was told", "pipeline: p, request: r, params: {area: a}, expect: {feedback: {suit: []}}", `suit unknown-phase: pipeline "p" has no phase "suit"`},
		{"a reason", "pipeline: p, request: r, params: {area: a}, expect: {reason: abrt}", `abrt unknown-enum-value: no run ends with the reason "abrt"`},
		{"no rule", "pipeline: p, request: r, params: {area: a}, expect: {routes: [suite]}", `suite route-syntax: "suite" does not name a rule`},
		{"a rule from nowhere", "pipeline: p, request: r, params: {area: a}, expect: {routes: [suit -> build]}", `suit -> build unknown-phase: pipeline "p" has no phase "suit"`},
		{"a rule to nowhere", "pipeline: p, request: r, params: {area: a}, expect: {routes: [suite -> ship]}", `suite -> ship route-syntax: phase "suite" has no rule that leads to "ship"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			suite, found := suiteOf(t, shop, "tests: [{name: t, "+tt.test+"}]\n")
			var got []string
			for _, d := range found.Sorted() {
				if d.Severity == diag.Error {
					got = append(got, fmt.Sprintf("%s %s: %s", d.Span.Text(), d.Rule, d.Message))
				}
			}
			if strings.Join(got, "\n") != tt.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "\n"), tt.want)
			}
			if len(suite.Cases()) != 0 {
				t.Error("it became a case")
			}
		})
	}
	if _, found := suiteOf(t, shop, "tests: [{name: t, pipeline: p, given: {biuld: []}, "+whole+"}]\n"); !strings.Contains(findings(found), `did you mean "build"?`) {
		t.Error(findings(found))
	}
}

func TestHowRunsEnd(t *testing.T) {
	t.Parallel()
	const lead = "- {name: t, pipeline: p, request: r, params: {area: a}, "
	tests := []struct{ name, pipelines, test string }{
		{"accepted", shop, "criteria: {builds: [{exit: 1}, {exit: 0}]}, given: {build: [{reply: {status: success}}], suite: [{exit: 0}], ship: [approve]}, expect: {status: accepted, exit: 0}"},
		{"a criterion", shop, "criteria: {builds: [{exit: 1}, {timeout: true}]}, given: {build: [{reply: {status: success}}], suite: [{exit: 0}], ship: [approve]}, expect: {status: rejected, reason: criterion, text: builds, exit: 1}"},
		{"nobody answers", shop, "criteria: {builds: [{exit: 1}]}, given: {build: [{reply: {status: success}}], suite: [{exit: 0}]}, expect: {status: waiting, exit: 4, path: [build, suite, ship]}"},
		{"a note", shop, "criteria: {builds: [{exit: 1}]}, given: {build: [{reply: {status: success}}], suite: [{exit: 0}], ship: [{reject: not on a friday}], note: [{exit: 0}]}, " +
			"expect: {status: rejected, reason: acceptance, path: [build, suite, ship, note], not_run: [pause], feedback: {note: [not on a friday]}}"},
		{"blocked", shop, "criteria: {builds: [{exit: 1}]}, given: {build: [{reply: {status: blocked, blocked: {reason: no key}}}]}, expect: {status: waiting, exit: 4, path: [build]}"},
		{"a usage limit", shop, "criteria: {builds: [{exit: 1}]}, given: {build: [{stop: limit}]}, expect: {status: paused, exit: 4, path: [build]}"},
		{"abort", shop, "criteria: {builds: [{exit: 1}]}, given: {build: [{reply: {status: success}}], suite: [{exit: 2}]}, expect: {status: rejected, reason: abort, text: no compiler, routes: [suite -> abort]}"},
		{"turns", strings.Replace(shop, "request: required", "request: required\n    limits: {turns: 1}", 1),
			"criteria: {builds: [{exit: 1}]}, given: {build: [{reply: {status: success}}], suite: [{exit: 1}]}, expect: {status: rejected, reason: \"budget:turns\", exit: 5}"},
		{"any budget", strings.Replace(shop, "request: required", "request: required\n    limits: {tokens: 10}", 1),
			"criteria: {builds: [{exit: 1}]}, given: {build: [{reply: {status: success}, usage: {tokens: 11}}], suite: [{exit: 1}]}, expect: {reason: budget, exit: 5}"},
		{"two at a time", shop, "j: 3, criteria: {builds: [{exit: 1}, {exit: 0}]}, given: {build: [{reply: {status: success}}], suite: [{exit: 0}], ship: [approve]}, expect: {status: accepted}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			suite, found := suiteOf(t, tt.pipelines, "tests:\n  "+lead+tt.test+"}\n")
			if found.HasErrors() {
				t.Fatal(findings(found))
			}
			if r := runCase(t, suite.Cases()[0]); !r.Passed() {
				t.Error(Text([]Result{r}, false, false))
			}
		})
	}
}

// What is missing and what is left over are failures, each with the place in the test.
func TestMissingAndLeftOver(t *testing.T) {
	t.Parallel()
	const lead = "tests:\n  - name: t\n    pipeline: p\n    request: r\n    params: {area: a}\n"
	tests := []struct{ name, test, want string }{
		{"a turn", "criteria: {builds: [{exit: 1}]}", "2:11 given: build, visit 1: no turn is given"},
		{"a second turn", "criteria: {builds: [{exit: 1}]}\n    given: {build: [{reply: prose}]}", "7:21 given: build, visit 1: turn 2 is not given, there is one entry"},
		{"a run of a later visit", "criteria: {builds: [{exit: 1}]}\n    given: {build: [{reply: {status: success}, repeat: true}], suite: [{exit: 1}]}",
			"7:72 given: suite, visit 2: run 2 is not given, there is one entry"},
		{"an answer", "criteria: {builds: [{exit: 1}]}\n    given: {build: [{reply: {status: success}}], suite: [{exit: 0}]}", "2:11 given: ship, visit 1: no answer is given"},
		{"a criterion", "criteria: {}", "2:11 given: criterion builds: no outcome is given"},
		{"a criterion after the work", "criteria: {builds: [{exit: 1}]}\n    given: {build: [{reply: {status: success}}], suite: [{exit: 0}], ship: [approve]}",
			"6:25 given: criterion builds: outcome 2 is not given, there is one entry"},
		{"left over", "criteria: {builds: [{exit: 1}, {exit: 0}]}\n    given: {build: [{reply: {status: success}}], suite: [{exit: 2}, {exit: 0}, {exit: 0}], note: [{exit: 0}]}",
			"7:99 left: note: 0 of 1 entries were used, 7:69 left: suite: 1 of 3 entries were used, 6:36 left: criterion builds: 1 of 2 entries were used"},
		{"a repeated one is never left over", "criteria: {builds: [{exit: 1, repeat: true}]}\n    given: {build: [{reply: {status: success}}], suite: [{exit: 2}, {exit: 0, repeat: true}]}", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			suite, found := suiteOf(t, shop, lead+"    "+tt.test+"\n    expect: {visits: {pause: 0}}\n")
			if found.HasErrors() {
				t.Fatal(findings(found))
			}
			var got []string
			r := runCase(t, suite.Cases()[0])
			for _, p := range r.Problems {
				at := p.At.Position()
				got = append(got, fmt.Sprintf("%d:%d %s: %s", at.Line, at.Column, p.What, p.Text))
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), tt.want)
			}
		})
	}
}

// Everything that a test can expect is compared: each of these expectations is wrong.
func TestEveryExpectationCanFail(t *testing.T) {
	t.Parallel()
	given := "criteria: {builds: [{exit: 1}]}, given: {build: [{reply: {status: success}}, {reply: {status: success}}], suite: [{exit: 1, output: red}, {exit: 1, output: red}]}"
	for what, expect := range map[string]string{
		"status": "status: accepted", "reason": "reason: abort", "text": "text: used 2", "exit": "exit: 0", "path": "path: [build, suite, build]",
		"not_run": "not_run: [suite]", "visits": "visits: {build: 1}", "routes": "routes: [suite -> build, suite -> build]", "feedback": "feedback: {build: [null, green]}",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			suite, found := suiteOf(t, shop, "tests: [{name: t, pipeline: p, request: r, params: {area: a}, "+given+", expect: {"+expect+"}}]\n")
			if found.HasErrors() {
				t.Fatal(findings(found))
			}
			r := runCase(t, suite.Cases()[0])
			if len(r.Problems) != 1 || r.Problems[0].What != what {
				t.Errorf("problems %+v", r.Problems)
			}
		})
	}
	for _, expect := range []string{"status: rejected", "reason: spent", "text: \"spent: suite -> build used 1 of 1\"", "exit: 1", "path: [build, suite, build, suite]",
		"not_run: [ship, note]", "visits: {build: 2, ship: 0}", "routes: [suite -> build]", "feedback: {build: [\"\", red], suite: [null]}"} {
		suite, _ := suiteOf(t, shop, "tests: [{name: t, pipeline: p, request: r, params: {area: a}, "+given+", expect: {"+expect+"}}]\n")
		if r := runCase(t, suite.Cases()[0]); !r.Passed() {
			t.Error(Text([]Result{r}, false, false))
		}
	}
	for _, expect := range []string{"feedback: {build: [red]}", "feedback: {build: [null, null, red]}", "feedback: {build: [null, \"\"]}"} {
		suite, _ := suiteOf(t, shop, "tests: [{name: t, pipeline: p, request: r, params: {area: a}, "+given+", expect: {"+expect+"}}]\n")
		if r := runCase(t, suite.Cases()[0]); len(r.Problems) != 1 {
			t.Errorf("%s: problems %+v", expect, r.Problems)
		}
	}
}

// Gates look for themselves at what is given. The outcome of a gate shows in the outcome of the phase.
func TestGatesLookForThemselves(t *testing.T) {
	t.Parallel()
	tests := []struct {
		gate, entry string
		want        string // the outcome of the gate, or the error
	}{
		{"artifacts_exist", `{reply: {status: success, artifacts: [a.md]}, files: {a.md: text}}`, "passed"},
		{"artifacts_exist", `{reply: {status: success, artifacts: [a.md]}, files: {b.md: text}}`, "failed"},
		{"artifacts_exist", `{reply: {status: success, artifacts: [a.md]}, files: {a.md: null}}`, "failed"},
		{"artifacts_exist", `{reply: {status: success, artifacts: [/a.md]}, files: {a.md: text}}`, "failed"},
		{"artifacts_exist", `{reply: {status: success, artifacts: [../a.md]}, files: {a.md: text}}`, "failed"},
		{"artifacts_exist", `{reply: {status: success, artifacts: [docs]}, files: {docs/a.md: text}}`, "passed"},
		{"artifacts_exist", `{reply: {status: success, artifacts: [a.md]}, files: {a.md: text}, changed: []}`, "failed"},
		{"{artifacts_exist: {may_exist: true}}", `{reply: {status: success, artifacts: [a.md]}, files: {a.md: text}, changed: []}`, "passed"},
		{"artifacts_exist", `{reply: {status: success}, files: {a.md: text}}`, "empty"},
		{"artifacts_exist", `{reply: {status: success, artifacts: [a.md]}}`, "passed"},
		{"artifacts_exist", `{reply: {status: success, artifacts: [a.md]}, files: {}, gates: {artifacts_exist: pass}}`, "passed"},
		{"artifacts_exist", `{reply: {status: success, artifacts: [a.md]}, files: {a.md: text}, gates: {artifacts_exist: fail}}`, "failed"},
		{"artifacts_exist", `{reply: {status: success}, gates: {artifacts_exist: empty}}`, "empty"},
		{"{artifacts_exist: {require: true}}", `{reply: {status: success}, files: {}}`, "failed"},
		{"files_non_empty", `{reply: {status: success, artifacts: [a.md]}, files: {a.md: ""}}`, "failed"},
		{"files_non_empty", `{reply: {status: success, artifacts: [a.md]}, files: {a.md: x}}`, "passed"},
		{"json_parses", `{reply: {status: success, artifacts: [a.json]}, files: {a.json: '{"a": 1}'}}`, "passed"},
		{"json_parses", `{reply: {status: success, artifacts: [a.json]}, files: {a.json: '{"a": 1'}}`, "failed"},
		{"diff_matches_claims", `{reply: {status: success, changed_files: [a]}, changed: [a]}`, "passed"},
		{"diff_matches_claims", `{reply: {status: success}, changed: [a]}`, "failed"},
		{"diff_matches_claims", `{reply: {status: success, changed_files: [a]}, changed: []}`, "failed"},
		{"diff_matches_claims", `{reply: {status: success, changed_files: [a]}, files: {a: x}}`, "passed"},
		{"diff_matches_claims", `{reply: {status: success}}`, "passed"},
		{"tests", `{reply: {status: success}, changed: [a.go]}`, "passed"},
		{"tests", `{reply: {status: success}, changed: [a_test.go]}`, "failed"},
		{"small", `{reply: {status: success}, changed: [a, b, c]}`, "failed"},
		{"small", `{reply: {status: success}, files: {a: "1\n2\n3\n"}}`, "passed"},
		{"small", `{reply: {status: success}, files: {a: "1\n2\n3\n4\n"}}`, "failed"},
		{"small", `{reply: {status: success}, files: {a: null}}`, "failed"},
		{"few", `{reply: {status: success}, changed: [a, b]}`, "passed"},
		{"few", `{reply: {status: success}, changed: [a, b, c]}`, "failed"},
		{"few", `{reply: {status: success}}`, "build, visit 1, attempt 1: gate few reads `changed`, which the entry does not give; add changed: [paths], or gates: {few: pass}"},
		{"few", `{reply: {status: success}, gates: {few: pass}}`, "passed"},
		{"vet", `{reply: {status: success}}`, "passed"},
		{"vet", `{reply: {status: success}, gates: {vet: fail}}`, "failed"},
	}
	for _, tt := range tests {
		t.Run(tt.gate+" "+tt.entry, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(shop, "gates: [vet]}", "gates: ["+tt.gate+"]}", 1)
			suite, found := suiteOf(t, text, "tests: [{name: t, pipeline: p, request: r, params: {area: a}, criteria: {builds: [{exit: 1}]}, given: {build: ["+tt.entry+"], suite: [{exit: 2}]}, expect: {exit: 1}}]\n")
			if found.HasErrors() {
				t.Fatal(findings(found))
			}
			r := runCase(t, suite.Cases()[0])
			got := ""
			for _, e := range r.Run.Events {
				got += e.Outcome
			}
			got = strings.TrimPrefix(got, "failed") // of the criterion
			if got == "" && len(r.Problems) > 0 {
				got = r.Problems[0].Text
			}
			if got != tt.want {
				t.Errorf("%s, want %s\n%s", got, tt.want, Text([]Result{r}, true, false))
			}
		})
	}
}

// What a visit changed is what all of its turns changed; what an earlier visit changed may still be claimed; an
// undone visit leaves nothing.
func TestTheTreeOfATest(t *testing.T) {
	t.Parallel()
	suite, found := suiteOf(t, `version: 1
commands: {suite: make}
pipelines:
  p:
    accept: passed("look")
    phases:
      - {id: build, agent: builder, gates: [diff_matches_claims], retries: 1}
      - {id: suite, command: suite, route: ["on fail when len(phases.build.changed) == 2 -> build retry 1"]}
      - {id: try, agent: builder, optional: true, gates: [artifacts_exist]}
      - {id: look, agent: builder, gates: [{artifacts_exist: {may_exist: true}}]}
tests:
  - name: t
    given:
      build:
        - {reply: {status: success}, files: {a: one}, changed: [a]}
        - {reply: {status: success, changed_files: [a, b]}, files: {b: one}, changed: [b]}
        - {reply: {status: success, changed_files: [a, c]}, changed: [c]}
      suite: [{exit: 1}, {exit: 0}]
      try: [{reply: {status: success, artifacts: [z]}, files: {y: text}}]
      look: [{reply: {status: success, artifacts: [a, b]}, files: {}}]
    expect: {status: accepted, path: [build, suite, build, suite, try, look], visits: {build: 2}}
  - name: undone
    given:
      build: [{reply: {status: success}, changed: []}]
      suite: [{exit: 0}]
      try: [{reply: {status: success, artifacts: [z]}, files: {y: text}}]
      look: [{reply: {status: success, artifacts: [y]}, files: {}}]
    expect: {status: rejected, reason: unmatched, text: look ended fail}
`)
	if found.HasErrors() {
		t.Fatal(findings(found))
	}
	for _, c := range suite.Cases() {
		if r := runCase(t, c); !r.Passed() {
			t.Error(Text([]Result{r}, true, false))
		}
	}
}

func TestOutputsAndReportsOfCommands(t *testing.T) {
	t.Parallel()
	suite, found := suiteOf(t, `version: 1
pipelines:
  p:
    accept: passed("count") && (passed("proof") || phases.count.outputs.n > 3)
    phases:
      - {id: count, run: make, outputs: {n: {regex: 'n=(\d+)', type: int, required: true}}, route: ["on pass when outputs.n > 3 -> finish"]}
      - {id: proof, run: make test, gates: [{tests_ran: {report: tap, min: 2}}]}
tests:
  - {name: many, given: {count: [{output: n=4}]}, expect: {status: accepted, path: [count]}}
  - {name: few, given: {count: [{output: n=3}], proof: [{output: "ok 1 a\nok 2 b\n1..2"}]}, expect: {status: accepted}}
  - {name: too few tests, given: {count: [{output: n=3}], proof: [{output: "ok 1 a\n1..1"}]}, expect: {status: rejected, text: proof ended fail}}
  - {name: a report that is not given, given: {count: [{output: n=3}], proof: [{exit: 0}]}, expect: {status: accepted}}
  - {name: no count, given: {count: [{output: none}]}, expect: {status: rejected, reason: unmatched, text: count ended fail, path: [count]}}
`)
	if found.HasErrors() {
		t.Fatal(findings(found))
	}
	for _, c := range suite.Cases() {
		if r := runCase(t, c); !r.Passed() {
			t.Error(Text([]Result{r}, true, false))
		}
	}
	if names := suite.Cases(); !slices.IsSortedFunc(names, func(a, b *Case) int { return a.At.Start - b.At.Start }) {
		t.Error("the cases are not in the order of the file")
	}
}
