package graph_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"foundry/graph"
)

const compared = `version: 1
default: p
project: {harness: script}
commands: {test: go test ./...}
agents:
  coder: {extends: builtin/builder, model: opus, script: [{reply: x}]}
pipelines:
  inner:
    phases:
      - {id: only, run: make}
      - {id: other, run: make}
  p:
    limits: {turns: 20}
    phases:
      - {id: build, agent: coder, prompt: do it}
      - {id: test, command: test, route: [on fail -> build retry 1]}
      - {id: sub, call: inner}
      - {id: last, run: "true"}
`

func TestCompare(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ edits, want []string }{
		"nothing":        {nil, nil},
		"a comment":      {[]string{"pipelines:", "# hello\npipelines:"}, nil},
		"a model":        {[]string{"opus", "haiku"}, []string{"build: agents.coder.model"}},
		"a prompt":       {[]string{"do it", "do that"}, []string{"build: prompt"}},
		"a route":        {[]string{"retry 1", "retry 2"}, []string{"test: route"}},
		"a command":      {[]string{"go test ./...", "go test -race ./..."}, []string{"test: run"}},
		"a limit":        {[]string{"turns: 20", "turns: 30"}, []string{"the pipeline: limits"}},
		"acceptance":     {[]string{"    limits", "    accept: passed(\"test\")\n    limits"}, []string{"the pipeline: accept"}},
		"a new phase":    {[]string{"      - {id: sub,", "      - {id: lint, run: lint}\n      - {id: sub,"}, []string{"lint: new", "sub: needs"}},
		"a phase gone":   {[]string{"      - {id: last, run: \"true\"}\n", ""}, []string{"last: no longer there"}},
		"in the called":  {[]string{"only, run: make", "only, run: make all"}, []string{"sub: call", "sub/only: run"}},
		"protection":     {[]string{"{harness: script}", "{harness: script, protect: [go.sum]}"}, []string{"build: protect", "test: protect", "sub: call, protect", "sub/only: protect", "sub/other: protect", "last: protect"}},
		"a run as whole": {[]string{"{harness: script}", "{harness: script, merge: never, worktree: {setup: [make]}}"}, []string{"the pipeline: project.worktree.setup"}},
		"a param set": {[]string{"  inner:\n", "  inner:\n    params: {x: {type: string, default: a}}\n", "call: inner", "call: inner, set: {x: b}"},
			[]string{"sub: call, set", "sub/only: what the call around it sets", "sub/other: what the call around it sets"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was, now := compile(t, compared), compile(t, strings.NewReplacer(c.edits...).Replace(compared))
			var got []string
			for _, d := range graph.Compare(was, now) {
				got = append(got, d.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if len(got) > 0 != (was.Fingerprint != now.Fingerprint) {
				t.Errorf("the fingerprints say otherwise")
			}
		})
	}
}
