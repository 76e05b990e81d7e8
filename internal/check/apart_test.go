package check

import (
	"slices"
	"strings"
	"testing"
)

const apart = loops + `
  judge: {extends: critic}
commands: {look: make look}
pipelines:
  p:
    accept: passed("look")
    phases:
      - {id: start, agent: coder}
      - id: api
        needs: [start]
        agent: coder
        parallel: worktree
        gates: [diff_matches_claims, artifacts_exist]
        route: |
          on fail when reason == "conflict" -> api retry 1
          on fail -> next
      - id: gen
        needs: [start]
        run: make gen
        writes: [gen/**]
        parallel: worktree
        route: |
          on fail when reason == "conflict" -> gen retry 2
      - {id: look, needs: [api, gen], agent: coder, gates: [artifacts_exist]}
`

// In a test, work comes in as if it fitted, unless an entry says where it does not. A visit sees what was there when
// its group began, and what an earlier one of its own has left; what comes behind the group sees all of it.
func TestGivenConflicts(t *testing.T) {
	t.Parallel()
	tests := `
  - name: %
    pipeline: p
    j: JOBS
    given:
      start: [{reply: {status: success, artifacts: [go.mod]}, files: {go.mod: "module x\n"}}]
      api: API
      gen: GEN
      look: [{reply: {status: success, artifacts: [api.go]}, changed: []}]
    expect: {EXPECT}
`
	for _, tt := range []struct{ name, api, gen, expect string }{
		{"it fits", `[{reply: {status: success, changed_files: [api.go]}, files: {api.go: "a\n"}}]`, "[{exit: 0}]", "status: accepted, path: [start, api, gen, look]"},
		{"one conflicts, and its next visit has what it left",
			`[{reply: {status: success, changed_files: [api.go]}, files: {api.go: "a\n"}, conflict: [api.go]}, {reply: {status: success, artifacts: [go.mod], changed_files: [api.go]}, changed: [api.go], gates: {artifacts_exist: pass}}]`,
			"[{exit: 0}]", `status: accepted, path: [start, api, gen, api, look], feedback: {api: ["", "\"api.go\" (both changed it)"]}, routes: [api -> api]`},
		{"a rule for conflicts is used up", `[{reply: {status: success, changed_files: [api.go]}, files: {api.go: "a\n"}}]`, "[{exit: 0, conflict: [gen/a, gen/b], repeat: true}]",
			"status: rejected, reason: spent, visits: {gen: 3, api: 1}"},
	} {
		for _, jobs := range []string{"1", "2"} {
			text := strings.NewReplacer("%", tt.name, "JOBS", jobs, "API", tt.api, "GEN", tt.gen, "EXPECT", tt.expect).Replace(tests)
			if strings.Contains(tt.expect, "spent") {
				text = strings.Replace(text, "      look: [{reply: {status: success, artifacts: [api.go]}, changed: []}]\n", "", 1)
			}
			suite, found := suiteOf(t, apart, "tests:"+text)
			if found.HasErrors() {
				t.Fatal(findings(found))
			}
			for _, p := range runCase(t, suite.Cases()[0]).Problems {
				t.Errorf("%s, %s at a time: %s: %s", tt.name, jobs, p.What, p.Text)
			}
		}
	}
}

// An exploration tries conflicts, and names those that no test covers.
func TestExploreConflicts(t *testing.T) {
	t.Parallel()
	x := exploreText(t, apart, "p", DefaultRuns)
	for _, want := range []string{"work of api in conflict", "work of gen in conflict"} {
		if !slices.ContainsFunc(x.Items, func(i Item) bool { return i.What == want && i.Reached && !i.Covered }) {
			t.Errorf("%s: not reached:\n%s", want, x.Text())
		}
	}
}
