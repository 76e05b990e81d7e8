package dsl

import (
	"strings"
	"testing"

	"foundry/diag"
)

func TestParseRule(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text                 string
		trigger              Trigger
		when                 string
		action               Action
		target               string
		retry                int
		with, message, whole string
	}{
		{text: `on fail -> build retry 2    // anything else`, trigger: Fail, action: Goto, target: "build", retry: 2, whole: "on fail -> build retry 2"},
		{text: `on fail when exit == 2 -> plan retry 1 with "does not compile:\n" + tail(output, 40)`, trigger: Fail, when: "exit == 2",
			action: Goto, target: "plan", retry: 1, with: `"does not compile:\n" + tail(output, 40)`},
		{text: `on timeout -> abort "tests hang"`, trigger: Timeout, action: Abort, target: "abort", message: "tests hang"},
		{text: `on timeout -> abort`, trigger: Timeout, action: Abort, target: "abort"},
		{text: "on any -> abort `a \\n b`", trigger: Any, action: Abort, target: "abort", message: `a \n b`},
		{text: `on skip -> abort 'it\'s "x" é \u00e9 \x41'`, trigger: Skip, action: Abort, target: "abort", message: `it's "x" é é A`},
		{text: `on pass -> next`, trigger: Pass, action: Next, target: "next"},
		{text: `on reject -> finish`, trigger: Reject, action: Finish, target: "finish"},
		{text: `on pass when output contains "->" && x - 1 > -2 -> build`, trigger: Pass, when: `output contains "->" && x - 1 > -2`, action: Goto, target: "build"},
		{text: `on pass when 'a -> b' == output -> human`, trigger: Pass, when: `'a -> b' == output`, action: Goto, target: "human"},
		{text: "on pass when `a // b` == output -> human // why", trigger: Pass, when: "`a // b` == output", action: Goto, target: "human", whole: "on pass when `a // b` == output -> human"},
		{text: `on fail -> fix with tail(output, 20)  // inner loop`, trigger: Fail, action: Goto, target: "fix", with: "tail(output, 20)", whole: "on fail -> fix with tail(output, 20)"},
		{text: `on fail -> fix with "see http://x -> y"`, trigger: Fail, action: Goto, target: "fix", with: `"see http://x -> y"`},
		{text: "on fail\n  when exit == 1\n    && attempt > 1\n  -> fix\n  retry 2", trigger: Fail, when: "exit == 1\n    && attempt > 1", action: Goto, target: "fix", retry: 2},
		{text: `  on fail when exit == 2->plan`, trigger: Fail, when: "exit == 2", action: Goto, target: "plan", whole: "on fail when exit == 2->plan"},
		{text: `on fail when a / b > 1 -> plan`, trigger: Fail, when: "a / b > 1", action: Goto, target: "plan"},
		{text: `on fail -> finisher`, trigger: Fail, action: Goto, target: "finisher"},
		{text: `on fail -> self retry 1`, trigger: Fail, action: Goto, target: Self, retry: 1},
		{text: `on fail -> retry_all retry 1`, trigger: Fail, action: Goto, target: "retry_all", retry: 1},
	} {
		r, bad := ParseRule(in(tc.text))
		if bad.Len() > 0 {
			t.Errorf("%s: %s", tc.text, found(bad))
			continue
		}
		if r.Trigger != tc.trigger || r.When.Text != tc.when || r.Action != tc.action || r.Target.Text != tc.target || r.Retry != tc.retry ||
			r.HasRetry != (tc.retry > 0) || r.With.Text != tc.with || r.Message != tc.message {
			t.Errorf("%s: got %v when %q %v %q retry %v %d with %q message %q", tc.text, r.Trigger, r.When.Text, r.Action, r.Target.Text, r.HasRetry, r.Retry, r.With.Text, r.Message)
		}
		if tc.whole != "" && r.Frag.Text != tc.whole {
			t.Errorf("%s: the rule is %q", tc.text, r.Frag.Text)
		}
		for _, f := range []diag.Fragment{r.When, r.Target, r.With, r.Frag} {
			if f.Text != "" && f.Whole().Text() != f.Text {
				t.Errorf("%s: %q stands at %q", tc.text, f.Text, f.Whole().Text())
			}
		}
		if r.HasRetry && !strings.Contains(tc.text, "retry "+r.RetrySpan.Text()) {
			t.Errorf("%s: the count stands at %q", tc.text, r.RetrySpan.Text())
		}
	}
}

func TestRuleErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                 `[] the rule is empty`,
		"  // only a note": `the rule is empty`,
		"on":               `[on] no trigger after "on": pass, reject, fail, timeout, skip or any was expected`,
		"on fail":          `[fail] the rule leads nowhere: "->" was expected after "fail"`,
		"on fail ->":       `[->] nothing follows "->": a phase, next, finish or abort was expected`,
		"on fial -> build": `[fial] "fial" is no trigger: pass, reject, fail, timeout, skip or any was expected; did you mean "fail"?`,
		"on Fail -> build": `[Fail] "Fail" is no trigger: pass, reject, fail, timeout, skip or any was expected; did you mean "fail"?`,
		"onn fail -> x":    `[onn] a rule begins with "on", not with "onn"; did you mean "on"?`,
		"fail -> x":        `[fail] a rule begins with "on", not with "fail"; write on fail`,
		"- on fail -> x":   `[-] a rule begins with "on", not with "-"; in a block text each line is a rule: leave the dash out`,
		"# note":           `[#] a rule begins with "on", not with "#"; a comment begins with //`,
		"on fail build":    `[build] "build" is not expected here: "when" or "->" was; write -> build`,
		"on fail => build": `[=>] "=" is not expected here: "when" or "->" was; write the arrow as ->`,
		"on fail → build":  `[→] "→" is not expected here: "when" or "->" was; write the arrow as ->`,

		"on fail wen exit == 2 -> x":                  `[wen] "wen" is not expected here: "when" or "->" was; did you mean "when"?`,
		"on fail when -> x":                           `[when] nothing follows "when": an expression was expected`,
		"on fail when":                                `[when] nothing follows "when"`,
		"on fail when  // c\n -> x":                   `[when] nothing follows "when"`,
		"on fail when exit == 2 build":                `[exit == 2 build] no "->" follows the condition after "when"`,
		"on fail when exit == 2 => build":             `[=>] no "->" follows the condition after "when"`,
		"on fail when exit == 2 with x":               `[exit == 2 with x] no "->" follows`,
		"on fail with \"x\" -> build":                 `[with] "with" is not expected here: "when" or "->" was; the order is: on fail -> PHASE retry N with TEXT`,
		"on fail retry 1 -> build":                    `[retry] "retry" is not expected here: "when" or "->" was; the order is: on fail -> PHASE retry N with TEXT`,
		"on fail -> build when exit == 2":             `[when] "when" stands before "->"`,
		"on fail -> next when exit == 2":              `[when] "when" stands before "->"`,
		"on fail -> build rety 2":                     `[rety] "rety" is not expected here: retry, with or the end of the rule was; did you mean "retry"?`,
		"on fail -> build retry 2 wth x":              `[wth] "wth" is not expected here: with or the end of the rule was; did you mean "with"?`,
		"on fail -> build retry":                      `[retry] a count was expected after "retry"; write it as in retry 2`,
		"on fail -> build retry two":                  `[two] a count was expected after "retry"`,
		"on fail -> build retry -1":                   `[-1] a count was expected after "retry"`,
		"on fail -> build retry 0":                    `[0] "retry 0" never jumps: a count of at least 1 was expected`,
		"on fail -> build retry 2_0":                  `[2_0] "2_0" is not a count: a whole number in plain decimals was expected`,
		"on fail -> build retry 07":                   `[07] "07" is not a count`,
		"on fail -> build retry 1.5":                  `[1.5] "1.5" is not a count`,
		"on fail -> build retry 99999999999999999999": `[99999999999999999999] "99999999999999999999" is too large for a count`,
		"on fail -> build retry 1 retry 2":            `[retry] a second "retry"`,
		"on fail -> build 2":                          `[2] a count stands after "retry"; write retry 2`,
		"on fail -> build \"why\"":                    `["why"] a text is handed on by "with"; write with "why"`,
		"on fail -> build with":                       `[with] nothing follows "with": an expression was expected`,
		"on fail -> build with  // c":                 `[with] nothing follows "with"`,
		"on fail -> build on pass -> x":               `[on] "on" is not expected here: the rule ends before it`,
		"on fail -> a -> b":                           `[->] "->" is not expected here: the rule ends before it`,
		"on fail -> a, b":                             `[,] "," is not expected here: the rule ends before it`,
		"on fail -> next retry 1":                     `[retry] "next" takes no "retry": a bound belongs to a jump back to a phase; leave "retry" out`,
		"on fail -> finish retry 1":                   `[retry] "finish" takes no "retry"`,
		"on fail -> abort retry 1":                    `[retry] "abort" takes no "retry"`,
		"on fail -> finish with \"x\"":                `[with] "finish" takes no "with"`,
		"on fail -> abort with \"x\"":                 `[with] "abort" takes no "with"; write the text right after it: abort "why"`,
		"on fail -> abort tests hang":                 `[tests hang] the text of "abort" stands in quotes`,
		"on fail -> abort \"a\" b":                    `[b] "b" is not expected here: the rule ends before it`,
		"on fail -> retry":                            `[retry] "retry" is a word of the language and no phase`,
		"on fail -> retry 2":                          `[retry] "retry" is a word of the language and no phase`,
		"on fail -> fail":                             `[fail] "fail" is a word of the language and no phase`,
		"on fail -> when x":                           `[when] "when" is a word of the language and no phase`,
		"on fail -> true":                             `[true] "true" is a word of the language and no phase`,
		"on fail -> \"build\"":                        `["build"] "build" is no target: a phase, next, finish or abort was expected; name a phase by its id, without quotes`,
		"on fail -> abort \"x":                        `["x] a string begins with " and does not end; close it with "`,
		"on fail when a == 'x -> build":               `['x -> build] a string begins with ' and does not end`,
		"on fail -> build with `x":                    "[`x] a string begins with ` and does not end",
		"on fail -> abort \"a\\qb\"":                  `[\q] "\q" is not an escape`,
		"on fail -> \xff":                             `the rule is not valid UTF-8`,
	} {
		_, bad := ParseRule(in(text))
		got := found(bad)
		if bad.Len() != 1 || !strings.HasPrefix(got, "route-syntax ") || !strings.Contains(got, want) {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}

// A trigger that resembles one is taken for it, so that the rest of the rule is looked at as well.
func TestSlipOfATrigger(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		meant   Trigger
		guessed bool
		found   string
	}{
		"on fial when exit == 2 -> build retry 1": {Fail, true, "fail"},
		"on sucess -> next":                       {Pass, true, "pass"},
		"on Rejected when exit == 2 -> build":     {Reject, true, "reject"},
		"on fial -> build retry 0":                {Fail, false, "retry 0"},
		"on fial when exit == 2":                  {0, false, `no "->"`},
		"on monday -> build":                      {0, false, "no trigger"},
	} {
		r, bad := ParseRule(in(text))
		if got := found(bad); r.Trigger != want.meant || r.Guessed != want.guessed || !strings.Contains(got, want.found) {
			t.Errorf("%s: trigger %s, guessed %v, want %v:\n%s", text, r.Trigger, r.Guessed, want, got)
		}
		if r.Guessed && (r.When.Text != "" && r.When.Whole().Text() != "exit == 2" || r.Target.Whole().Text() != r.Target.Text) {
			t.Errorf("%s: %q stands at %q, %q at %q", text, r.When.Text, r.When.Whole().Text(), r.Target.Text, r.Target.Whole().Text())
		}
	}
}

// The work grows with the length of a rule and not faster, quotes that do not end included.
func TestLargeRules(t *testing.T) {
	t.Parallel()
	for _, part := range []string{`"\`, `'"`, "`", `"" `, "a -> ", "// x\n", "'\n"} {
		_, bad := ParseRule(in("on fail when " + strings.Repeat(part, 60_000)))
		inside(t, bad)
	}
}

func TestRouteGrammar(t *testing.T) {
	t.Parallel()
	want := `Rule = "on" ("pass" | "reject" | "fail" | "timeout" | "skip" | "any") ("when" Expr)? "->" (Goto | Go | Stop) .
Expr = (<text> | <string>)+ .
Goto = Target ("retry" Count)? ("with" Expr)? .
Target = <phaseid> .
Count = <int> .
Go = ("next" | "finish") .
Stop = "abort" Message? .
Message = <string> .`
	if got := strings.TrimSpace(RouteGrammar()); got != want {
		t.Errorf("the grammar is\n%s\nwant\n%s", got, want)
	}
}

func TestWordsAreNamed(t *testing.T) {
	t.Parallel()
	if Trigger(0).String() != "invalid" || Action(0).String() != "invalid" || Kind(0).String() != "invalid" {
		t.Error("a zero value has a name")
	}
	if Any.String() != "any" || Abort.String() != "abort" || Object.String() != "object" {
		t.Error("a last value has the wrong name")
	}
}
