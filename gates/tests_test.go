package gates

import (
	"os"
	"strings"
	"testing"
)

func fixture(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// show writes checks one a line: "ok item: note" or "no item: note".
func show(v Verdict) string {
	var b strings.Builder
	for _, c := range v.Checks {
		word := "no"
		if c.OK {
			word = "ok"
		}
		b.WriteString(word + " " + c.Item)
		if c.Note != "" {
			b.WriteString(": " + c.Note)
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestTestsRan(t *testing.T) {
	t.Parallel()
	goFailures := `no example/a.TestBad: a_test.go:4: got 1, want 2
no example/a.TestTable/two: a_test.go:7: two is wrong
`
	for name, tc := range map[string]struct {
		fixture string
		report  string
		min     int
		outcome Outcome
		want    string
	}{
		"go text": {"go.txt", "", 0, Failed, goFailures + `no example/b: b/b.go:2: undefined: undefinedName
no example/d.TestPanics: /src/d/d_test.go:3: panic: assignment to entry in nil map [recovered, repanicked]
ok tests: at least 5 ran, 4 failed, 0 skipped`},
		"go text, verbose": {"go-verbose.txt", "go", 0, Failed, goFailures + `no example/b: b/b.go:2: undefined: undefinedName
no example/d.TestPanics: /src/d/d_test.go:3: panic: assignment to entry in nil map [recovered, repanicked]
ok tests: 7 ran, 4 failed, 1 skipped`},
		"go events": {"go-json.txt", "", 0, Failed, `no example/d.TestPanics: /src/d/d_test.go:3: panic: assignment to entry in nil map [recovered, repanicked]
` + goFailures + `no example/b: b/b.go:2: undefined: undefinedName
ok tests: 7 ran, 4 failed, 1 skipped`},
		"go events, all pass": {"go-json-pass.txt", "go-json", 1, Passed, "ok tests: 1 ran, 0 failed, 0 skipped"},
		"go text, all pass":   {"go-pass.txt", "", 1, Passed, "ok tests: at least 1 ran, 0 failed, 0 skipped"},
		"too few":             {"go-json-pass.txt", "", 2, Failed, "no tests: 1 ran, 0 failed, 0 skipped; at least 2 must run"},
		"go text, no tests":   {"go-none.txt", "", 0, Empty, ""},
		"go events, no tests": {"go-json-none.txt", "", 0, Empty, ""},
		"go, nothing there":   {"go-none.txt", "go-json", 0, Empty, ""},
		"another format":      {"node.tap", "junit", 0, Failed, "no report: holds no junit report"},
		"no report at all":    {"../tests.go", "", 0, Failed, "no report: is no test report that is known: go-json, junit, tap, or the output of go test"},
		"junit of pytest": {"pytest-junit.xml", "", 0, Failed, `no tests.test_calc.test_sub: tests/test_calc.py:9: assert 3 == 1
no tests.test_other: tests/test_other.py:1: collection failure
ok tests: 3 ran, 2 failed, 1 skipped`},
		"junit of node": {"node-junit.xml", "junit", 0, Failed, `no test.bad: /src/x.test.js:3: Expected values to be strictly equal:1 !== 2
no test.inner bad: /src/x.test.js:4: inner broke
ok tests: 4 ran, 2 failed, 2 skipped`},
		"tap of node": {"node.tap", "", 0, Failed, `no bad: /src/x.test.js:3: Expected values to be strictly equal:
no inner bad: /src/x.test.js:4: inner broke
ok tests: 6 ran, 2 failed, 1 skipped`},
		"tap of perl": {"perl.tap", "tap", 0, Failed, `no second \# not a directive: t.t:2: Failed test 'second # not a directive'
no plan: 4 tests were planned, 3 ran
ok tests: 3 ran, 2 failed, 0 skipped`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := fixture(t, tc.fixture)
			s := Spec{Name: "tests_ran", Kind: TestsRan, Report: tc.report, Min: tc.min, File: "report"}
			got := s.Judge(Evidence{Files: map[string]File{"report": {Exists: true, Type: "file", Data: []byte(text), Size: int64(len(text))}}})
			if got.Outcome != tc.outcome || show(got) != tc.want {
				t.Errorf("%v\n%s\nwant %v\n%s", got.Outcome, show(got), tc.outcome, tc.want)
			}
		})
	}
}

// The output of the phase's own command is read when no file is named.
func TestTestsRanReadsOutput(t *testing.T) {
	t.Parallel()
	passed := func(output string) *Run { return &Run{Passed: true, Output: output} }
	for name, tc := range map[string]struct {
		spec    Spec
		run     *Run
		outcome Outcome
		want    string
	}{
		"passes":         {Spec{}, passed(fixture(t, "go-pass.txt")), Passed, "ok tests: at least 1 ran, 0 failed, 0 skipped"},
		"nothing known":  {Spec{}, passed("all good"), Empty, ""},
		"nothing at all": {Spec{}, passed(""), Empty, ""},
		"required":       {Spec{Require: true}, passed("all good"), Failed, "no gate: no tests were found"},
		"named":          {Spec{Report: "tap"}, passed("all good"), Failed, "no output: holds no tap report"},
		"with a message": {Spec{Report: "tap", Message: "run make tap"}, passed("all good"), Failed, "no gate: run make tap\nno output: holds no tap report"},
		"exit":           {Spec{}, &Run{Exit: 2, Output: fixture(t, "go-pass.txt")}, Failed, "ok tests: at least 1 ran, 0 failed, 0 skipped\nno exit: the command exited 2, though no failed test was found in its output"},
		"timeout":        {Spec{}, &Run{Exit: -1, TimedOut: true, Millis: 1500, Output: fixture(t, "go-pass.txt")}, Failed, "no output: the tests timed out after 1.5s"},
		"not started":    {Spec{}, &Run{Exit: -1, Failed: "no such program"}, Failed, "no output: the command could not be started: no such program"},
		"no command":     {Spec{}, nil, Failed, "no output: there is no command whose output could be read"},
		"cached":         {Spec{}, passed("ok  \tp\t(cached)\nok  \tq\t0.1s [no tests to run]\n"), Passed, "ok tests: at least 1 ran, 0 failed, 0 skipped"},
		"only skipped":   {Spec{}, passed("--- SKIP: TestA (0.00s)\nok  \tp\t0.1s\n"), Failed, "no tests: 0 ran, 0 failed, 1 skipped; at least 1 must run"},
		"cut in front":   {Spec{}, &Run{Exit: 1, Output: "me\":\"x\"}\n" + `{"Action":"fail","Package":"p","Test":"TestX"}` + "\n"}, Failed, "no p.TestX: failed\nok tests: 1 ran, 1 failed, 0 skipped"},
		"still running":  {Spec{}, &Run{Exit: 1, Output: `{"Action":"run","Package":"p","Test":"TestX"}` + "\n" + `{"Action":"fail","Package":"p"}`}, Failed, "no p.TestX: failed\nok tests: 1 ran, 1 failed, 0 skipped"},
		"setup failed":   {Spec{}, &Run{Exit: 1, Output: "FAIL\tp [setup failed]\n"}, Failed, "no p: failed\nno tests: 0 ran, 1 failed, 0 skipped; at least 1 must run"},
		"bail out":       {Spec{}, &Run{Exit: 1, Output: "1..2\nok 1\nBail out! no database\n"}, Failed, "no bail out: no database\nno plan: 2 tests were planned, 1 ran\nok tests: 1 ran, 2 failed, 0 skipped"},
		"tap skips all":  {Spec{}, passed("1..0 # SKIP no network\n"), Empty, ""},
		"broken xml":     {Spec{}, passed("<testsuite><testcase name=\"a\"></testcase><testcase"), Failed, "no report: cannot be read: XML syntax error on line 1: unexpected EOF\nok tests: 1 ran, 1 failed, 0 skipped"},
		"only a tail":    {Spec{}, passed("[\n" + strings.Repeat("x", outputTail) + "\nok 7 - last\n"), Passed, "ok tests: at least 1 ran, 0 failed, 0 skipped"},
		"other xml":      {Spec{}, passed("<html></html>"), Empty, ""},
		"counted only":   {Spec{}, passed(`<testsuite failures="2"><testcase name="a"/></testsuite>`), Failed, "no report: counts 2 more failures than it lists\nok tests: 1 ran, 1 failed, 0 skipped"},
	} {
		tc.spec.Name, tc.spec.Kind = "gate", TestsRan
		if got := tc.spec.Judge(Evidence{Run: tc.run}); got.Outcome != tc.outcome || show(got) != tc.want {
			t.Errorf("%s: %v\n%s\nwant %v\n%s", name, got.Outcome, show(got), tc.outcome, tc.want)
		}
	}
}

func TestTestsRanFile(t *testing.T) {
	t.Parallel()
	s := Spec{Name: "gate", Kind: TestsRan, File: "r.xml"}
	for want, f := range map[string]File{
		"no r.xml: does not exist: run the tests so that they write it": {},
		"no r.xml: leaves the workspace":                                {Problem: "leaves the workspace"},
		"no r.xml: is a dir, not a report":                              {Exists: true, Type: "dir"},
		"no r.xml: 9 bytes are more than can be checked":                {Exists: true, Type: "file", Size: 9, Truncated: true},
	} {
		if got := s.Judge(Evidence{Files: map[string]File{"r.xml": f}}); got.Outcome != Failed || show(got) != want {
			t.Errorf("%v %s, want %s", got.Outcome, show(got), want)
		}
	}
	if got := s.Judge(Evidence{}); got.Outcome != Failed || show(got) != "no r.xml: was not looked at" {
		t.Errorf("%v %s", got.Outcome, show(got))
	}
}

func TestManyFailuresAreCut(t *testing.T) {
	t.Parallel()
	s := Spec{Name: "gate", Kind: TestsRan}
	got := s.Judge(Evidence{Run: &Run{Output: strings.Repeat("not ok 1 - x\n", 60)}})
	if len(got.Checks) != maxFailures+2 || got.Checks[maxFailures].Note != "and 10 more failed" {
		t.Errorf("%s", show(got))
	}
}

func FuzzTestsRan(f *testing.F) {
	for _, name := range []string{"go.txt", "go-verbose.txt", "go-json.txt", "node.tap", "perl.tap", "node-junit.xml", "pytest-junit.xml"} {
		f.Add(fixture(f, name))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, report := range []string{"", "go", "go-json", "junit", "tap"} {
			got := Spec{Name: "gate", Kind: TestsRan, Report: report}.Judge(Evidence{Run: &Run{Passed: true, Output: text}})
			for _, c := range got.Checks {
				if strings.HasPrefix(c.Note, "the gate itself broke") {
					t.Fatal(c.Note)
				}
			}
		}
	})
}
