package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"

	"foundry/builtins"
	"foundry/diag"
	"foundry/schema"
)

// validator compiles the schema with a library that has nothing to do with ours.
func validator(t *testing.T) *jsonschema.Schema {
	t.Helper()
	return compiledSchema(t, schema.JSONSchema(vocabulary()))
}

func compiledSchema(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("foundry.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("foundry.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// validate holds a YAML text to the schema, as an editor does.
func validate(s *jsonschema.Schema, text string) error {
	var tree any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		return err
	}
	data, err := json.Marshal(plainTree(tree))
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// plainTree is a tree of YAML as one of JSON: keys are texts.
func plainTree(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = plainTree(v[k])
		}
	case map[any]any:
		out := map[string]any{}
		for k, e := range v {
			out[fmt.Sprint(k)] = plainTree(e)
		}
		return out
	case []any:
		for i := range v {
			v[i] = plainTree(v[i])
		}
	}
	return v
}

// pipelineFiles are all texts of the repository that are meant as pipeline files, by where they stand: the
// tour, what ships, the demo, the fixtures, and the files inside scripts.
func pipelineFiles(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{builtins.Name: builtins.YAML() + "\ncommands: {test: go test ./...}\n"}
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, pattern := range []string{"foundry.yaml.example", "builtins/demo/foundry.yaml.txt", "schema/testdata/lint/*.yaml", "graph/testdata/*/*.yaml"} {
		names, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("nothing matches %s: %v", pattern, err)
		}
		for _, name := range names {
			out[name] = read(name)
		}
	}
	scripts, err := filepath.Glob("../../testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, name := range scripts {
		for _, f := range txtar.Parse([]byte(read(name))).Files {
			if strings.HasSuffix(f.Name, ".yaml") || strings.HasSuffix(f.Name, ".yml") {
				out[name+":"+f.Name] = string(f.Data)
			}
		}
	}
	for _, m := range shownExample.FindAllStringSubmatch(read("../../docs/rules.md"), -1) {
		if strings.Contains(m[2], "version:") {
			out[fmt.Sprintf("rules.md %s %d", m[1], len(out))] = m[2]
		}
	}
	return out
}

// TestSchemaTakesWhatLintTakes: an editor never marks a file that lint has nothing against.
func TestSchemaTakesWhatLintTakes(t *testing.T) {
	t.Parallel()
	s := validator(t)
	taken := 0
	for name, text := range pipelineFiles(t) {
		p := parse(text)
		found := p.findings
		if !found.HasErrors() {
			found.Merge(p.names.Lint())
		}
		if found.HasErrors() {
			continue
		}
		taken++
		if err := validate(s, text); err != nil {
			t.Errorf("%s lints clean and does not validate: %v", name, err)
		}
	}
	if taken < 30 {
		t.Errorf("only %d files lint clean: the search is broken", taken)
	}
}

// visible are the rules whose fixtures an editor can see through, too.
var visible = []diag.Rule{diag.UnknownKey, diag.WrongType, diag.NotBoolean, diag.BadDuration, diag.MissingKey, diag.BadID, diag.ReservedID,
	diag.UnsupportedVersion, diag.PhaseKind, diag.UnknownEnumValue}

func TestSchemaRefusesFixtures(t *testing.T) {
	t.Parallel()
	s := validator(t)
	for _, rule := range visible {
		text, err := os.ReadFile(filepath.Join("../../schema/testdata/lint", string(rule)+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if validate(s, string(text)) == nil {
			t.Errorf("the fixture of %s validates:\n%s", rule, text)
		}
	}
}

// TestSchemaRefuses names mistakes one by one; each of them is an error to lint as well.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	s := validator(t)
	phase := func(keys string) string {
		return "version: 1\nagents: {a: {harness: script, script: [{reply: {}}]}}\ncommands: {test: 'true'}\npipelines: {p: {phases: [{id: a, " + keys + "}]}}\n"
	}
	top := func(keys string) string {
		return "version: 1\n" + keys + "\npipelines: {p: {phases: [{id: a, builtin: noop}]}}\n"
	}
	for name, text := range map[string]string{
		"no version":                      "pipelines: {}\n",
		"another version":                 "version: 2\n",
		"a version in quotes":             "version: '1'\n",
		"unknown key at the top":          top("stages: []"),
		"unknown key of the project":      top("project: {brnch: main}"),
		"harness that does not exist":     top("project: {harness: clod}"),
		"merge policy":                    top("project: {merge: always}"),
		"a list that is a text":           top("project: {protect: go.sum}"),
		"a switch that is a text":         top("project: {hooks: 'yes'}"),
		"size without a unit":             top("project: {keep: {log: 100}}"),
		"days":                            top("project: {keep: {days: 0}}"),
		"name in capitals":                top("commands: {Test: x}"),
		"empty argv":                      top("commands: {t: []}"),
		"command without run":             top("commands: {t: {timeout: 1m}}"),
		"command key":                     top("commands: {t: {run: x, tmeout: 1m}}"),
		"exit codes":                      top("commands: {t: {run: x, exit_codes: [256]}}"),
		"gate that does not exist":        top("gates: {g: {comand_passes: x}}"),
		"two gates in one":                top("gates: {g: {check: a, max_diff: {files: 1}}}"),
		"no gate":                         top("gates: {g: {require: true}}"),
		"argument of a gate":              top("gates: {g: {max_diff: {file: 1}}}"),
		"word of a gate":                  top("gates: {g: {tests_ran: {report: xml}}}"),
		"count of a gate":                 top("gates: {g: {max_diff: {files: many}}}"),
		"field type":                      top("envelopes: {e: {fields: {f: {type: text}}}}"),
		"field name":                      top("envelopes: {e: {fields: {f-g: {}}}}"),
		"effort":                          top("agents: {a: {effort: huge}}"),
		"parallel":                        phase("agent: a, parallel: true"),
		"script without a reply":          top("agents: {a: {script: [{run: x}]}}"),
		"permissions":                     top("agents: {a: {permissions: true}}"),
		"turns":                           "version: 1\npipelines: {p: {limits: {turns: 0}, phases: [{id: a, builtin: noop}]}}\n",
		"isolation":                       "version: 1\npipelines: {p: {isolation: none, phases: [{id: a, builtin: noop}]}}\n",
		"no phases":                       "version: 1\npipelines: {p: {description: x}}\n",
		"empty phases":                    "version: 1\npipelines: {p: {phases: []}}\n",
		"criterion with two commands":     "version: 1\npipelines: {p: {criteria: [{name: c, run: x, command: y}], phases: [{id: a, builtin: noop}]}}\n",
		"phase that does nothing":         phase("retries: 1"),
		"phase that does two things":      phase("agent: a, run: x"),
		"key of another kind of phase":    phase("run: x, retries: 1"),
		"message of an agent":             phase("agent: a, message: x"),
		"builtin":                         phase("builtin: git_push"),
		"negative retries":                phase("agent: a, retries: -1"),
		"retries in quotes":               phase("agent: a, retries: '1'"),
		"timeout without a unit":          phase("run: x, timeout: 90"),
		"optional in words":               phase("run: x, optional: 'true'"),
		"needs":                           phase("run: x, needs: b"),
		"a rule that became a map":        phase("run: x, route: {on fail: b}"),
		"gate entry that is a list":       phase("run: x, gates: [[check]]"),
		"arguments of a gate of the file": phase("run: x, gates: [{vet: {files: 1}}]"),
		"output with two sources":         phase("run: x, outputs: {o: {regex: a, json: /a}}"),
		"output type":                     phase("run: x, outputs: {o: {regex: a, type: list}}"),
		"test without expectations":       top("tests: [{name: t}]"),
		"test status":                     top("tests: [{name: t, expect: {status: green}}]"),
		"answer in a test":                top("tests: [{name: t, given: {a: [maybe]}, expect: {}}]"),
	} {
		if validate(s, text) == nil {
			t.Errorf("%s validates:\n%s", name, text)
		}
		p := parse(text)
		found := p.findings
		found.Merge(p.names.Lint())
		if !found.HasErrors() {
			t.Errorf("%s: lint has nothing against it, so the schema must not either:\n%s", name, text)
		}
	}
}

// TestSchemaOfTests: a file of tests has tests and nothing else.
func TestSchemaOfTests(t *testing.T) {
	t.Parallel()
	s := compiledSchema(t, schema.TestsSchema(vocabulary()))
	good := "tests:\n  - name: n\n    given: {a: [{exit: 1, output: x}], b: [approve, {reject: why}], c: [{reply: {status: success}, files: {x: y, z: null}}]}\n    expect: {status: accepted, visits: {a: 2}, feedback: {b: [null, x]}}\n"
	if err := validate(s, good); err != nil {
		t.Error(err)
	}
	for name, text := range map[string]string{
		"no tests":           "{}\n",
		"a key of pipelines": "version: 1\ntests: []\n",
		"unknown key":        strings.Replace(good, "status", "state", 2),
		"a word of a gate":   "tests: [{name: n, given: {a: [{reply: {}, gates: {g: green}}]}, expect: {}}]\n",
	} {
		_, found := schema.DecodeTests(diag.NewSource("f", text))
		if validate(s, text) == nil || !found.HasErrors() {
			t.Errorf("%s validates, or is read:\n%s", name, text)
		}
	}
	if _, found := schema.DecodeTests(diag.NewSource("f", good)); found.HasErrors() {
		t.Error(found.Sorted()[0].Message)
	}
}

// TestSchemaIsTheTable: each key is described, with its line.
func TestSchemaIsTheTable(t *testing.T) {
	t.Parallel()
	raw := string(schema.JSONSchema(vocabulary()))
	if raw != string(schema.JSONSchema(vocabulary())) {
		t.Error("two schemas differ")
	}
	for _, k := range schema.Keys() {
		line := strings.TrimSuffix(string(encodeJSON(k.Doc)), "\"\n")
		described := regexp.MustCompile(`"` + k.Name + `": \{\s*"description": ` + regexp.QuoteMeta(line))
		if !described.MatchString(raw) {
			t.Errorf("%s.%s is not described", k.Where, k.Name)
		}
	}
	defs := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^    "(\w+)": \{$`).FindAllStringSubmatch(raw[strings.Index(raw, `"$defs"`):], -1) {
		if defs[m[1]] {
			t.Errorf("two definitions are called %s", m[1])
		}
		defs[m[1]] = true
	}
	for _, w := range vocabulary().Gates {
		if !strings.Contains(raw, `"`+w.Name+`": {`) {
			t.Errorf("gate %s is not in the schema", w.Name)
		}
	}
	if h := vocabulary().Harnesses; !slices.Contains(h, "command") || !slices.Contains(h, "droid") {
		t.Errorf("harnesses: %v", h)
	}
}
