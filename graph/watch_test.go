package graph_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestWatched(t *testing.T) {
	t.Parallel()
	g := compile(t, `version: 1
project: {harness: script}
agents:
  coder: {extends: builtin/builder, script: [{reply: x}]}
pipelines:
  checks: {phases: [{id: vet, run: go vet}]}
  works: {phases: [{id: do, agent: coder}]}
  apart: {phases: [{id: gen, run: make gen, writes: [gen], parallel: worktree}]}
  p:
    phases:
      - {id: gen, run: go generate}
      - {id: plan, agent: coder}
      - {id: lint, run: golint}
      - {id: named, run: make, env: {WHAT: "{{envelope:plan.summary}}"}}
      - {id: maybe, run: make, when: phases.named.exit == 0}
      - {id: some, run: make, when: 'passed("lint")'}
      - {id: all, call: checks}
      - {id: job, call: works}
      - {id: commit, builtin: git_commit, message: x}
      - {id: aside, run: make gen, writes: [gen], parallel: worktree}
      - {id: beside, call: apart}
      - {id: state, builtin: git_status}
      - {id: ship, ask: "ship?", route: ["on reject -> back"]}
      - {id: back, detour: true, run: ./back.sh}
default: p
`)
	run, left := g.Watched()
	var got []string
	for _, p := range run {
		got = append(got, g.Phases[p].Name)
	}
	for _, l := range left {
		got = append(got, fmt.Sprintf("%s: %s", g.Phases[l.Phase].Name, l.Why))
	}
	want := `gen
lint
some
all
state
plan: agent coder works there
named: it reads what plan reports
maybe: it reads what named reports
job: it calls works, which does more than run checks
commit: it commits
aside: it works in a worktree of its own
beside: it calls apart, which does more than run checks
ship: it asks a person
back: only a route enters it`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
}
