package graph_test

import (
	"strings"
	"testing"

	"foundry/builtins"
	"foundry/diag"
	"foundry/graph"
	"foundry/schema"
)

// unfinished is a file as it is while someone writes it: it has mistakes, and names all the same.
const unfinished = `version: 1
commands: {test: make}
envelopes:
  triage:
    fields:
      severity: {type: string, enum: [low, high]}
      notes: {type: list, of: object, fields: {line: {type: int}}}
agents:
  sorter: {harness: script, envelope: triage, script: [{reply: {}}], prompt: "{{phases.}}"}
pipelines:
  p:
    params: {level: {type: choice, choices: [a, b]}}
    phases:
      - id: sort
        agent: sorter
        retires: 1
      - id: test
        command: test
        outputs: {passed: {regex: x, type: int}}
        route: |
          on fail -> sorting retry 1
      - id: ok
        ask: fine?
      - id: many
        run: [echo, "{{line.}}"]
        each: {in: phases.sort.envelope.notes, as: line, limit: 5}
  q:
    extends: builtin/plan-build-test
`

func TestMembers(t *testing.T) {
	t.Parallel()
	user, _ := schema.Decode(diag.NewSource("foundry.yaml", unfinished))
	ships, _ := schema.Decode(diag.NewSource("builtins.yaml", builtins.YAML()))
	c := graph.New(user, ships, graph.Files{Path: "foundry.yaml"})
	for _, tc := range []struct {
		pipeline, phase string
		at              graph.Place
		chain           string
		want            string
	}{
		{"p", "", graph.Before, "", "request params phases"},
		{"p", "", graph.Before, "phases", "many ok sort test"},
		{"p", "many", graph.Inside, "line", "id line"},
		{"p", "", graph.Before, "phases many items []", "id status=queued|running|waiting|success|fail|rejected|skipped|not_run|stopped|unverified|blocked"},
		{"p", "", graph.Before, "params", "level=a|b"},
		{"p", "test", graph.After, "outputs", "passed"},
		{"p", "sort", graph.After, "envelope", "status=success|fail|blocked summary artifacts notes_for_next_agent blocked severity=low|high notes"},
		{"p", "", graph.Before, "phases sort envelope notes []", "line"},
		{"p", "", graph.Before, "phases ok answer", ""},
		{"p", "nothing", graph.After, "envelope", ""},
		{"p", "", graph.Before, "phases nothing", ""},
		{"p", "", graph.Inside, "handoff_files", ""},
		{"q", "", graph.Before, "phases plan envelope blocked", "reason needs"},
		{"", "", graph.Inside, "phases sort envelope severity", ""},
		{"", "", graph.Inside, "phases build envelope blocked", "reason needs"},
		{"nowhere", "", graph.Before, "", ""},
	} {
		var got []string
		for _, m := range c.Members(tc.pipeline, tc.phase, tc.at, strings.Fields(tc.chain)) {
			if len(m.Enum) > 0 {
				m.Name += "=" + strings.Join(m.Enum, "|")
			}
			got = append(got, m.Name)
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%s.%s %d %q: %s, want %s", tc.pipeline, tc.phase, tc.at, tc.chain, s, tc.want)
		}
	}
	if got := strings.Join(c.Approving("p"), " "); got != "ok" {
		t.Errorf("approved() can ask about %s", got)
	}
	if f, ok := c.Fields("triage"); !ok || f[len(f)-1].Name != "notes" {
		t.Errorf("fields of triage: %v", f)
	}
	if a, ok := c.Agent("builtin/planner"); !ok || a.Envelope.Value != "plan" {
		t.Errorf("builtin/planner: %+v", a)
	}
	if p, ok := c.Pipeline("q"); !ok || len(p.Phases) == 0 {
		t.Error("q has no phases")
	}
	if _, ok := c.Agent("nobody"); ok {
		t.Error("nobody is an agent")
	}
	if _, ok := c.Pipeline("nothing"); ok {
		t.Error("nothing is a pipeline")
	}
}
