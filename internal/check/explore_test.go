package check

import (
	"strings"
	"testing"
)

const maze = `version: 1
envelopes:
  kind: {fields: {weight: {type: string, enum: [light, heavy, odd], required: true}, sure: {type: bool}, parts: {type: int}}}
pipelines:
  p:
    params: {level: {type: choice, choices: [low, high], default: low}, deep: {type: bool, default: false}}
    accept: passed("end") || phases.sort.envelope.weight == "odd"
    phases:
      - id: sort
        agent: scout
        envelope: kind
        route: |
          on pass when envelope.weight == "odd" && params.level == "high" -> finish
          on pass when envelope.parts > 7 && !envelope.sure -> aside
          on fail when reason == "truncated" -> sort retry 1
          on fail when reason == "harness" -> abort "no agent"
      - id: check
        run: make
        when: params.deep
        exit_codes: [0, 3]
        route: |
          on timeout -> abort "hangs"
          on pass when exit == 3 -> sort retry 1
          on fail when exit == 42 && output contains "disk" -> abort "no room"
          on fail when visit > 2 -> aside
          on fail -> check retry 3
      - {id: well, ask: "Well?", route: ["on reject -> abort"]}
      - {id: end, run: make}
      - {id: aside, detour: true, run: make}
`

func exploreText(t *testing.T, pipelines, pipeline string, limit int, tests ...string) *Exploration {
	t.Helper()
	suite, found := suiteOf(t, pipelines, tests...)
	if found.HasErrors() {
		t.Fatal(findings(found))
	}
	var runs []Run
	for _, c := range suite.Cases() {
		runs = append(runs, runCase(t, c).Run)
	}
	x, err := Explore(suite.Graph(pipeline), runs, limit)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Exploration finds its way to rules that need several unusual outcomes, a param, an exit code with a certain
// output, and a third visit. The last rule cannot be used up: the one before it takes the third failure.
func TestExploreReaches(t *testing.T) {
	t.Parallel()
	x := exploreText(t, maze, "p", DefaultRuns)
	for _, i := range x.Items {
		if impossible := i.What == `rule "on fail -> check retry 3" of check, used up`; i.Reached == impossible {
			t.Errorf("%s: reached is %t after %d runs", i.What, i.Reached, x.Runs)
		}
		if i.Covered {
			t.Errorf("%s is covered without a test", i.What)
		}
	}
	if x.Runs > DefaultRuns {
		t.Errorf("%d runs", x.Runs)
	}
	wants := map[string]string{
		`rule "on fail when exit == 42 && output contains \"disk\" -> abort \"no room\"" of check, taken`: `params.deep {true}, check {exit: 42, output: "disk"}`,
		`weight of sort is odd`: `sort {weight: odd}`,
		`phase check, skipped`:  ``,
		`sure of sort is false`: ``,
		`phase sort`:            ``,
	}
	for _, i := range x.Items {
		if want, ok := wants[i.What]; ok {
			if got := strings.Join(i.By, ", "); want != "" && got != want {
				t.Errorf("%s was reached by %s, want %s", i.What, got, want)
			}
			delete(wants, i.What)
		}
	}
	for what := range wants {
		t.Errorf("no item %s", what)
	}
}

func TestExploreIsBounded(t *testing.T) {
	t.Parallel()
	x := exploreText(t, maze, "p", 7)
	if x.Runs != 7 || x.Whole || !strings.Contains(x.Text(), "7 runs were explored, it was stopped there") {
		t.Errorf("%d runs\n%s", x.Runs, x.Text())
	}
	if text := x.Text(); !strings.Contains(text, "no test covers, and exploration did not reach:") {
		t.Error(text)
	}
}

func TestExploreSaysWhatTestsLeaveOut(t *testing.T) {
	t.Parallel()
	pipelines := "version: 1\npipelines: {p: {phases: [{id: a, run: make, route: [\"on fail -> a retry 1\"]}, {id: b, run: make, when: phases.a.exit == 0}]}}\n"
	tests := "tests: [{name: t, given: {a: [{exit: 1}, {exit: 0}], b: [{exit: 0}]}, expect: {status: accepted}}]\n"
	x := exploreText(t, pipelines, "p", DefaultRuns, tests)
	want := `p: tests cover 3 of 5 ways; `
	text := x.Text()
	if !strings.HasPrefix(text, want) || !strings.Contains(text, "    foundry.yaml:2:54: rule \"on fail -> a retry 1\" of a, used up\n      reached when a {exit: 1}, a {exit: 1}\n") {
		t.Error(text)
	}
	if !strings.Contains(text, "exploration did not reach:\n    foundry.yaml:2:104: phase b, skipped\n") || !strings.Contains(text, "there are no other outcomes to try") {
		t.Error(text)
	}
	j := x.json()
	if j.Pipeline != "p" || !j.Whole || len(j.Items) != 5 || !j.Items[0].Covered || j.Items[0].Line != 2 {
		t.Errorf("%+v", j)
	}
}
