package check

import (
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"time"
)

const wayward = `tests:
  - name: thinks that a failure goes back
    pipeline: p
    request: r
    params: {area: a}
    criteria: {builds: [{exit: 1}]}
    given:
      build: [{reply: {status: success}}]
      suite: [{exit: 2, output: no compiler}]
    expect:
      status: accepted
      path: [build, suite, build, suite, ship]
  - name: is right
    pipeline: p
    request: r
    params: {area: a}
    criteria: {builds: [{exit: 1}]}
    given:
      build: [{reply: {status: success}}]
      suite: [{exit: 2}]
    expect: {status: rejected}
`

func waywardResults(t *testing.T) []Result {
	t.Helper()
	suite, found := suiteOf(t, shop, wayward)
	if found.HasErrors() {
		t.Fatal(findings(found))
	}
	var out []Result
	for _, c := range suite.Cases() {
		out = append(out, runCase(t, c))
	}
	return out
}

// A failed test shows both paths, and at the fork the rule with the values that its condition saw.
func TestTextOfAFailedTest(t *testing.T) {
	t.Parallel()
	want := `FAIL thinks that a failure goes back
  0.foundry-test.yaml:11:15: status is rejected, abort: no compiler, not accepted
  0.foundry-test.yaml:12:13: the path is another one:
        expected    actual
      1 build       build
      2 suite       suite
      3 build    |
      4 suite    |
      5 ship     |
    after visit 2, of suite:
      suite ended fail, exit: exit 2
      suite takes the rule "on fail when exit == 2 -> abort \"no compiler\""
        exit == 2 is true
      not run: ship, pause, since the run ended before it
      the run ended rejected, abort: no compiler
        exit == 2 is true
`
	results := waywardResults(t)
	if got := Text(results, false, false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Text(results, true, false); !strings.HasSuffix(got, "ok   is right (build suite)\n") {
		t.Errorf("verbose:\n%s", got)
	}
	if got := Text(results, true, true); !strings.Contains(got, "\x1b[1;31mFAIL\x1b[0m") {
		t.Errorf("in colour:\n%q", got)
	}
}

func TestTextAtTheFork(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, pipelines, test, want string }{
		{"no rule holds", strings.Replace(shop, `, "on fail -> build retry 1"`, "", 1), "given: {build: [{reply: {status: success}}], suite: [{exit: 1}]}, expect: {path: [build, suite, ship]}", "suite ended fail, exit: exit 1; none of its rules took it"},
		{"no rule is there", shop, "given: {build: [{reply: {status: fail, summary: too hard}}]}, expect: {path: [build, suite]}", "build ended fail, reported: too hard; it has no rules"},
		{"a gate", shop, "given: {build: [{reply: {status: success}, gates: {vet: fail}}]}, expect: {path: [build, suite]}", "build: gate vet failed\n      build ended fail, gate; it has no rules"},
		{"a report", shop, "given: {build: [{reply: prose, repeat: true}]}, expect: {path: [build, suite]}", "build: the report cannot be used: "},
		{"a rule that is used up", shop, "given: {build: [{reply: {status: success}, repeat: true}], suite: [{exit: 1, repeat: true}]}, expect: {path: [build, suite, build, suite, build]}", `suite: the rule "on fail -> build retry 1" is used up, 1 of 1`},
		{"a rule that goes back", shop, "given: {build: [{reply: {status: success}, repeat: true}], suite: [{exit: 1, repeat: true}]}, expect: {path: [build, suite]}", `suite takes the rule "on fail -> build retry 1", 1 of 1`},
		{"what is skipped", strings.Replace(shop, "id: ship, ask", "id: ship, when: params.deep, ask", 1), "given: {build: [{reply: {status: success}}], suite: [{exit: 0}]}, expect: {path: [build, suite, ship]}", "ship was skipped: when is false\n        params.deep is false"},
		{"what is blocked", shop, "given: {build: [{reply: {status: blocked, blocked: {reason: no key}}}]}, expect: {status: waiting, path: [build, suite]}", "build is blocked: no key"},
		{"at once", shop, "given: {}, expect: {path: [suite]}", "before the first visit:"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			suite, found := suiteOf(t, tt.pipelines, "tests: [{name: t, pipeline: p, request: r, params: {area: a}, criteria: {builds: [{exit: 0, repeat: true}]}, "+tt.test+"}]\n")
			if found.HasErrors() {
				t.Fatal(findings(found))
			}
			if got := Text([]Result{runCase(t, suite.Cases()[0])}, false, false); !strings.Contains(got, tt.want) {
				t.Errorf("no %q in\n%s", tt.want, got)
			}
		})
	}
}

func TestResultsForMachines(t *testing.T) {
	t.Parallel()
	results := waywardResults(t)
	var text strings.Builder
	if err := JSON(&text, results, nil); err != nil {
		t.Fatal(err)
	}
	var report reportJSON
	if err := json.Unmarshal([]byte(text.String()), &report); err != nil {
		t.Fatal(err)
	}
	bad, good := report.Tests[0], report.Tests[1]
	if report.Passed != 1 || report.Failed != 1 || bad.Passed || !good.Passed || bad.File != "0.foundry-test.yaml" || bad.Line != 2 || bad.Exit != 1 ||
		strings.Join(bad.Path, " ") != "build suite" || strings.Join(bad.Routes, " ") != "suite -> abort" || good.Fork != nil {
		t.Errorf("%+v", report)
	}
	if f := bad.Fork; f == nil || f.Visit != 3 || len(f.Expected) != 5 || f.Steps[1].Seen[0].Term != "exit == 2" || f.Steps[1].Seen[0].Value != "true" {
		t.Errorf("fork %+v", f)
	}
	if p := bad.Problems[1]; p.What != "path" || p.Line != 12 || p.Column != 13 {
		t.Errorf("problem %+v", p)
	}

	var raw strings.Builder
	results[0].Case.Name = "a <name> & more"
	if err := JUnit(&raw, results, 1500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	var suites junitSuites
	if err := xml.Unmarshal([]byte(raw.String()), &suites); err != nil {
		t.Fatal(err)
	}
	s := suites.Suites[0]
	if suites.Tests != 2 || suites.Failures != 1 || suites.Time != "1.500" || len(suites.Suites) != 1 || s.Name != "0.foundry-test.yaml" || s.Tests != 2 ||
		s.Cases[0].Name != "a <name> & more" || s.Cases[0].Class != "p" || s.Cases[1].Failure != nil || !strings.Contains(s.Cases[0].Failure.Text, "exit == 2 is true") {
		t.Errorf("%+v\n%s", suites, raw.String())
	}
}
