package lsp_test

import (
	"slices"
	"strings"
	"testing"
)

// TestDefinition: the word at the cursor leads to the place of the text that is written behind it. "" is nowhere.
func TestDefinition(t *testing.T) {
	t.Parallel()
	c := open(t)
	uri := repository(t, nil)("foundry.yaml")
	version := 0
	for _, tc := range []struct{ name, text, of, to string }{
		{"a pipeline", whole, "default: fi‸x", "  <fix>:\n    params"},
		{"an agent", whole, "agent: sor‸ter", "  <sorter>: {"},
		{"an agent that ships", whole, "agent: bui‸lder", ""},
		{"a command", whole, "command: te‸st", "  <test>: go test"},
		{"a command of a gate", swap(t, "gates: [small]", "gates: [{command_passes: vet}]"), "command_passes: v‸et", "  <vet>: ["},
		{"a gate", whole, "gates: [sm‸all]", "  <small>: {"},
		{"a gate with arguments", swap(t, "gates: [small]", "gates: [{small: {require: true}}]"), "{sm‸all: {req", "  <small>: {max"},
		{"a gate that ships", whole, "[verdict_‸consistent]", ""},
		{"an envelope", whole, "envelope: tri‸age", "  <triage>:"},
		{"what is extended", swap(t, "envelope: triage, writes", "extends: other, writes") + "x-a: 1\n", "extends: oth‸er", ""},
		{"a phase that is needed", in(t, "        command: test", "        needs: [build]"), "needs: [bui‸ld]", "id: <build>"},
		{"an input", in(t, "        agent: builder", "        inputs: [sort.summary]"), "[so‸rt.summary]", "id: <sort>"},
		{"a target", whole, "on fail -> bui‸ld", "id: <build>"},
		{"a detour", whole, "on reject -> un‸do", "id: <undo>"},
		{"a phase in a predicate", whole, "passed(\"te‸st\")", "id: <test>"},
		{"a phase in a path", in(t, "        command: test", "        when: phases.sort.envelope.summary != \"\""), "phases.so‸rt", "id: <sort>"},
		{"a phase in a template", swap(t, "\"Ship it?\"", "\"Ship {{envelope:build.summary}}?\""), "envelope:bui‸ld", "id: <build>"},
		{"a phase in an agent's prompt", swap(t, "prompt: sort it", "prompt: \"{{phases.build.status}}\""), "phases.bui‸ld", "id: <build>"},
		{"a phase of a test", whole + "tests:\n  - name: x\n    given: {sort: []}\n    expect: {path: [build]}\n", "given: {so‸rt", "id: <sort>"},
		{"a phase in a path of a test", whole + "tests:\n  - name: x\n    given: {sort: []}\n    expect: {path: [build]}\n", "path: [bui‸ld]", "id: <build>"},
		{"a patched phase", whole + "  mine:\n    extends: fix\n    patch:\n      build: {retries: 2}\n", "bui‸ld: {retries", "id: <build>"},
		{"itself", whole, "id: bui‸ld", "id: <build>"},
		{"an action", in(t, "          on fail -> build retry 2", "          on timeout -> next"), "-> ne‸xt", ""},
		{"a key", whole, "def‸ault: fix", ""},
		{"a text that does not parse", strings.Replace(whole, "default: fix", "default: \"fix", 1), "on fail -> bui‸ld", "id: <build>"},
	} {
		plain := strings.Replace(tc.of, "‸", "", 1)
		if !strings.Contains(tc.text, plain) {
			t.Fatalf("%s: %q is not in the text", tc.name, plain)
		}
		text, p := cut(t, strings.Replace(tc.text, plain, tc.of, 1))
		version++
		if version == 1 {
			c.didOpen(uri, text)
		} else {
			c.didChange(uri, text, version)
		}
		got := c.definition(uri, p)
		if tc.to == "" {
			if len(got) != 0 {
				t.Errorf("%s: leads to %v", tc.name, got)
			}
			continue
		}
		if len(got) != 1 || got[0].URI != uri || got[0].Range.String() != rangeOf(t, text, tc.to) {
			t.Errorf("%s: leads to %v, want %s", tc.name, got, rangeOf(t, text, tc.to))
		}
	}
}

// rangeOf is the range of what stands in <> in a part of a text.
func rangeOf(t *testing.T, text, marked string) string {
	t.Helper()
	before, rest, _ := strings.Cut(marked, "<")
	word, after, _ := strings.Cut(rest, ">")
	i := strings.Index(text, before+word+after)
	if i < 0 {
		t.Fatalf("%q is not in the text", marked)
	}
	_, p := cut(t, text[:i+len(before)]+"‸")
	return span{p, pos{p.Line, p.Character + len(word)}}.String()
}

// TestDefinitionInSeveralPipelines: the text of an agent is used by any of them.
func TestDefinitionInSeveralPipelines(t *testing.T) {
	t.Parallel()
	c := open(t)
	uri := repository(t, nil)("foundry.yaml")
	text, p := cut(t, `version: 1
agents:
  a: {prompt: "{{phases.one‸.status}}"}
pipelines:
  p: {phases: [{id: one, agent: a}]}
  q: {phases: [{id: two, agent: a}, {id: one, agent: a}]}
  r: {extends: p}
default: p
tests:
  - {name: t, pipeline: r, expect: {path: [one]}}
`)
	c.didOpen(uri, text)
	if got := c.definition(uri, p); len(got) != 2 || got[0].Range.Start.Line != 4 || got[1].Range.Start.Line != 5 {
		t.Errorf("leads to %v", got)
	}
	// A pipeline that extends another one has its phases.
	_, p = cut(t, strings.Replace(text, "path: [one", "path: [on‸e", 1))
	if got := c.definition(uri, p); len(got) != 1 || got[0].Range.Start.Line != 4 {
		t.Errorf("leads to %v", got)
	}
}

// TestOtherFiles: names of included files, findings in texts that are named, and a file that is open unsaved.
func TestOtherFiles(t *testing.T) {
	t.Parallel()
	c := open(t)
	uris := repository(t, map[string]string{
		"shared/agents.yaml": "version: 1\nagents:\n  helper: {harness: script, script: [{reply: {}}], prompt: {file: prompt.md}}\n",
		"shared/prompt.md":   "Do it,\nwith {{requst}}.\n",
		"outside":            "",
	})
	uri := uris("foundry.yaml")
	text, p := cut(t, "version: 1\ninclude: [shared/agents.yaml]\npipelines:\n  p:\n    phases:\n      - id: one\n        agent: hel‸per\n")
	c.didOpen(uri, text)
	if got := c.definition(uri, p); len(got) != 1 || got[0].URI != uris("shared/agents.yaml") || got[0].Range.String() != "2:2-2:8" {
		t.Errorf("the agent leads to %v", got)
	}
	if got, _ := c.hover(uri, p); !strings.Contains(got, "defined in shared/agents.yaml") {
		t.Errorf("hover says %q", got)
	}
	prompt := uris("shared/prompt.md")
	found := c.findings(prompt, -1)
	if len(found) != 1 || found[0].Code != "template-unknown" || found[0].Range.String() != "1:7-1:13" {
		t.Errorf("the prompt has %+v", found)
	}
	// The prompt is mended in the editor, and not saved.
	c.didOpen(prompt, "Do it,\nwith {{request}}.\n")
	if found := c.findings(prompt, -1); len(found) != 0 {
		t.Errorf("the mended prompt has %+v", found)
	}
	c.didChange(prompt, "{{a}} {{b}}", 2)
	if found := c.findings(prompt, 2); len(found) != 2 {
		t.Errorf("the broken prompt has %+v", found)
	}
	// Without the pipeline file nobody knows that it is a prompt.
	c.tell("textDocument/didClose", `{"textDocument":{"uri":"`+uri+`"}}`)
	if found := c.findings(prompt, -1); len(found) != 0 {
		t.Errorf("the prompt of nothing has %+v", found)
	}
}

// TestIncludedFile: what an included file defines is for others to use.
func TestIncludedFile(t *testing.T) {
	t.Parallel()
	part := "version: 1\nagents:\n  helper: {harness: script, script: [{reply: {}}], prompt: x}\n"
	for home, want := range map[string]bool{"version: 1\ninclude: [part.yaml]\n": false, "version: 1\n": true} {
		c := open(t)
		uris := repository(t, map[string]string{"foundry.yaml": home})
		c.didOpen(uris("part.yaml"), part)
		found := c.findings(uris("part.yaml"), 1)
		if got := slices.ContainsFunc(found, func(f finding) bool { return f.Code == "unused" }); got && !want {
			t.Errorf("with %q: %+v", home, found)
		} else if want && !got {
			t.Errorf("with %q nothing is unused", home)
		}
	}
}

// TestFilesOfTests: a file of tests knows the pipelines of the pipeline file above it.
func TestFilesOfTests(t *testing.T) {
	t.Parallel()
	c := open(t)
	uris := repository(t, map[string]string{"foundry.yaml": whole})
	uri := uris("sub/all.foundry-test.yaml")
	text, p := cut(t, "tests:\n  - name: x\n    given: {so‸rt: [], nobody: []}\n    expect: {status: accepted}\n")
	c.didOpen(uri, text)
	if got := c.definition(uri, p); len(got) != 1 || got[0].URI != uris("foundry.yaml") {
		t.Errorf("the phase leads to %v", got)
	}
	if found := c.findings(uri, 1); !slices.ContainsFunc(found, func(f finding) bool { return strings.Contains(f.Message, "nobody") }) {
		t.Errorf("findings: %+v", found)
	}
	text, p = cut(t, "‸")
	c.didChange(uri, text, 2)
	check(t, "keys", labels(c.complete(uri, p)), "=tests")
}

// TestForeignFiles: other YAML is left alone, whatever the editor sends; what looks like a pipeline file is not.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	c := open(t)
	uris := repository(t, nil)
	compose := uris("docker-compose.yaml")
	c.didOpen(compose, "version: \"3\"\nservices: {a: {image: b}}\n")
	if got := c.complete(compose, pos{1, 0}); len(got) != 0 {
		t.Errorf("%v", labels(got))
	}
	if got, _ := c.hover(compose, pos{0, 1}); got != "" {
		t.Errorf("%q", got)
	}
	part := uris("agents.yaml")
	c.didOpen(part, "version: 1\nagents:\n  a: {nonsense: 1}\n")
	if found := c.findings(part, 1); len(found) == 0 {
		t.Error("a part of a pipeline file has no findings")
	}
	for _, n := range c.queue {
		if strings.Contains(string(n.Params), "compose") {
			t.Errorf("%s for a foreign file", n.Method)
		}
	}
	unsaved := "untitled:Untitled-1"
	c.didOpen(unsaved, "version: 1\npipelines: {p: {phases: [{id: a, agent: planner, prompt: {file: x}}]}}\n")
	if found := c.findings(unsaved, 1); !slices.ContainsFunc(found, func(f finding) bool { return f.Code == "missing-file" && strings.Contains(f.Message, "save it first") }) {
		t.Errorf("a text that was never saved has %+v", found)
	}
}
