package schema

import (
	"fmt"
	"strings"
	"testing"

	"foundry/diag"
)

const oneTest = `tests:
  - name: all of it
    pipeline: p
    request: do it
    params: {deep: true, n: 2, areas: [a, b]}
    given:
      build:
        - {reply: {status: success, n: 1}, files: {a.go: "x\n", b.go: null}, changed: [a.go, b.go], gates: {vet: fail}, usage: {tokens: 10, cost: 0.5, calls: 3}}
        - {reply: prose, changed: []}
        - {stop: limit, repeat: true}
      test: [{exit: 1, output: "FAIL"}, {timeout: true}]
      ship: [approve, reject, {reject: not today}]
    criteria: {builds: [{exit: 1}, {exit: 0}]}
    expect:
      status: rejected
      reason: spent
      text: used 2
      exit: 1
      path: [build, test]
      not_run: [ship]
      visits: {build: 2}
      routes: [test -> build]
      feedback: {build: [null, FAIL], test: []}
    j: 2
`

func TestTypedTests(t *testing.T) {
	t.Parallel()
	tests, list := DecodeTests(diag.NewSource("t", oneTest))
	if list.Len() > 0 {
		t.Fatal(show(list.Sorted()))
	}
	equal := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	c := tests[0]
	equal("texts", []string{c.Name.Value, c.Pipeline.Value, c.Request.Value}, []string{"all of it", "p", "do it"})
	equal("params", len(c.Params), 3)
	equal("deep", c.Params[0].Value.Value, true)
	build, test, ship := c.Given[0], c.Given[1], c.Given[2]
	equal("names", []string{build.Name.Value, test.Name.Value, ship.Name.Value}, []string{"build", "test", "ship"})
	first := build.List[0]
	equal("file", first.Files[0].Path.Value+first.Files[0].Text.Value, "a.gox\n")
	equal("deleted", first.Files[1].Delete, true)
	equal("files given", []bool{first.FilesSet, build.List[1].FilesSet}, []bool{true, false})
	equal("changed", first.Changed.Values(), []string{"a.go", "b.go"})
	equal("unchanged", build.List[1].Changed.Set && len(build.List[1].Changed.Items) == 0, true)
	equal("unknown", build.List[2].Changed.Set, false)
	equal("gate", first.Gates.Items[0].Name.Value+first.Gates.Items[0].Value.Value, "vetfail")
	equal("usage", []any{first.Usage.Tokens.Value, first.Usage.Cost.Value, first.Usage.Calls.Value}, []any{10, 0.5, 3})
	equal("reply", build.List[1].Reply.Value, "prose")
	equal("stop", build.List[2].Stop.Value, "limit")
	equal("repeat", []bool{first.Repeat.Value, build.List[2].Repeat.Value}, []bool{false, true})
	equal("run", []any{test.List[0].Exit.Value, test.List[0].Output.Value, test.List[1].Timeout.Value}, []any{1, "FAIL", true})
	equal("answers", []string{ship.List[0].Answer.Value, ship.List[1].Answer.Value, ship.List[2].Answer.Value, ship.List[2].Note.Value}, []string{"approve", "reject", "reject", "not today"})
	equal("criterion", c.Criteria[0].List[0].Exit.Value, 1)
	x := c.Expect
	equal("ends", []any{x.Status.Value, x.Reason.Value, x.Text.Value, x.Exit.Value}, []any{"rejected", "spent", "used 2", 1})
	equal("path", x.Path.Values(), []string{"build", "test"})
	equal("not run", x.NotRun.Values(), []string{"ship"})
	equal("visits", x.Visits[0].Phase.Value+fmt.Sprint(x.Visits[0].Times.Value), "build2")
	equal("routes", x.Routes.Values(), []string{"test -> build"})
	equal("feedback", []bool{x.Feedback[0].Texts[0].Set, x.Feedback[0].Texts[1].Set}, []bool{false, true})
	equal("no feedback", len(x.Feedback[1].Texts), 0)
	equal("j", c.J.Value, 2)

	// Every leaf knows its place.
	for what, at := range map[string]diag.Span{"all of it": c.Name.Span(), "limit": build.List[2].Stop.Span(), `"FAIL"`: test.List[0].Output.Span(), "approve": ship.List[0].Span,
		"not today": ship.List[2].Note.Span(), "FAIL": x.Feedback[0].Texts[1].Span(), "test -> build": x.Routes.Items[0].Span(), "fail": first.Gates.Items[0].Value.Span()} {
		if at.Text() != what {
			t.Errorf("the place of %q is %q", what, at.Text())
		}
	}
}

func TestMistakesInTests(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"a word that is no answer", "given: {ship: [aprove]}", `unknown-enum-value aprove: "ship" is one of approve and reject; "aprove" is not`},
		{"an entry without a list", "given: {test: {exit: 1}}", `wrong-type {: "test" takes a list of entries, not a mapping`},
		{"no entries at all", "given: [test]", `wrong-type [test]: "given" takes a mapping from names to lists of entries, not a list`},
		{"a gate that ends otherwise", "given: {b: [{reply: x, gates: {vet: failed}}]}", `unknown-enum-value failed: a gate ends with pass, fail or empty; "failed" is none of them`},
		{"a review without a verdict", "given: {b: [{reply: x, review: {reason: no}}]}", `missing-key review: the answer of a reviewer needs the key "verdict"`},
		{"a verdict that is none", "given: {b: [{reply: x, review: {verdict: reject}}]}", `unknown-enum-value reject: "verdict" is one of pass, fail, unreachable and unverified; "reject" is not`},
		{"an unknown key", "given: {b: [{exitcode: 1}]}", `unknown-key exitcode: an entry of a test has no key "exitcode"`},
		{"an exit in quotes", "given: {b: [{exit: \"1\"}]}", `bad-number "1": "exit" takes a plain whole number, not "1"`},
		{"one changed path", "given: {b: [{changed: a}]}", `wrong-type a: "changed" takes a list of texts, not a text`},
		{"params in a list", "params: [a]", `wrong-type [a]: "params" takes a mapping from params to values, not a list`},
		{"a status that is none", "expect: {status: acepted}", `unknown-enum-value acepted: "status" is one of accepted, rejected, failed, waiting and paused; "acepted" is not`},
		{"visits in a list", "expect: {visits: [a]}", `wrong-type [a]: "visits" takes a mapping from phases to whole numbers, not a list`},
		{"feedback in a text", "expect: {feedback: {a: b}}", `wrong-type b: "a" takes a list with a text, or null, for each visit, not "b"`},
		{"a path of one", "expect: {path: a}", `wrong-type a: "path" takes a list of texts, not a text`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			more := ""
			if !strings.HasPrefix(tt.text, "expect") {
				more = ", expect: {}"
			}
			_, list := DecodeTests(diag.NewSource("t", "tests: [{name: a, "+tt.text+more+"}]"))
			var got []string
			for _, d := range list.Sorted() {
				got = append(got, fmt.Sprintf("%s %s: %s", d.Rule, d.Span.Text(), d.Message))
			}
			if strings.Join(got, "\n") != tt.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "\n"), tt.want)
			}
		})
	}
	_, list := DecodeTests(diag.NewSource("t", "tests:\n  - {name: a, expect: {}}\n  - {name: b, expect: {}}\n  - {name: a, expect: {}}\n"))
	if got := list.Sorted(); len(got) != 1 || got[0].Rule != diag.DuplicateID || got[0].Span.Position().Line != 4 || len(got[0].Notes) != 1 {
		t.Error(show(got))
	}
}
