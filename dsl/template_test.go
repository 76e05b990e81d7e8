package dsl

import (
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                    "",
		"plain {a} }} {\"b\": {\"c\": 1}}":    "plain {a} }} {\"b\": {\"c\": 1}}",
		"{{request}}":                         "do it",
		"a {{ request }} b {{params.area}}\n": "a do it b api\n",
		"{{changed}}":                         "- a.go\n- src/b.go",
		"{{envelope.extra}}":                  "{\n  \"k\": 1\n}",
		"{{envelope:build.summary}}":          "built",
		"{{ envelope:build.summary }}!":       "built!",
		"{{envelope:build}}":                  "{\n  \"summary\": \"built\"\n}",
		"{{phases.build.envelope.summary}}":   "built",
		"{{{{request}} {{{{":                  "{{request}} {{",
		"{{{{{{request}}":                     "{{do it",
		"{{phases.test}}":                     "{\n  \"status\": \"queued\",\n  \"visits\": 0\n}",
		"{{phases.build.visits}} {{sizes}}":   "1 - 1\n- 2\n- 3",
		`{{ "a}}b" + 'c}}' }}`:                "a}}bc}}",
		`{{passed("build") ? "y" : "n"}}`:     "y",
		`{{passed("test")}} {{exit}}`:         "false 2",
		`{{any(changed, {# == "a.go"})}}`:     "true",
		"{{\n  tail(output, 1)\n}}":           "three",
		"é{{request}}ü":                       "édo itü",
	} {
		for _, m := range []Mode{Prompt, Strict} {
			tm, bad := CompileTemplate(in(text), scopeOf(), m)
			if tm == nil || bad.Len() > 0 {
				t.Errorf("%q: %s", text, found(bad))
				continue
			}
			if got, err := tm.Render(valuesOf()); err != nil || got != want {
				t.Errorf("%q: %q, %v; want %q", text, got, err, want)
			}
			if tm.Source() != text {
				t.Errorf("%q: source %q", text, tm.Source())
			}
		}
	}
}

// What was put in is text, whatever it looks like.
func TestSubstitutedTextIsNotScanned(t *testing.T) {
	t.Parallel()
	v := valuesOf()
	v.Vars["request"] = "{{output}} {{{{"
	tm, _ := CompileTemplate(in("{{request}}"), scopeOf(), Strict)
	if got, err := tm.Render(v); err != nil || got != "{{output}} {{{{" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNotAvailable(t *testing.T) {
	t.Parallel()
	for text, term := range map[string]string{
		"{{phases.test.output}}":              "phases.test.output",
		"{{envelope:test.summary}}":           "envelope:test.summary",
		"{{tail(phases.test.output, 3)}}":     "phases.test.output",
		"{{phases.review.envelope.blocking}}": "phases.review.envelope.blocking",
	} {
		p, _ := CompileTemplate(in("<"+text+">"), scopeOf(), Prompt)
		if got, err := p.Render(valuesOf()); err != nil || got != "<(not available)>" {
			t.Errorf("%s in a prompt: %q, %v", text, got, err)
		}
		s, _ := CompileTemplate(in(text), scopeOf(), Strict)
		if _, err := s.Render(valuesOf()); err == nil || err.Error() != term+" has no value" {
			t.Errorf("%s: %v", text, err)
		}
	}
	// A failure is no absence, in a prompt neither.
	p, _ := CompileTemplate(in("{{exit / 0}}"), scopeOf(), Prompt)
	if _, err := p.Render(valuesOf()); err == nil {
		t.Error("a division by zero was rendered")
	}
}

func TestTemplateErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{ // in a prompt, and elsewhere
		"{{request":                 {`template-syntax [{{] "{{" is not closed; close it with }}; for a literal {{ write {{{{`},
		"{{{{ {{":                   {`template-syntax [{{] "{{" is not closed`},
		"{{}}":                      {`template-syntax [{{}}] {{ }} is empty: an expression was expected`},
		"a {{  }}":                  {`template-syntax [{{  }}] {{ }} is empty`},
		"{{ it's }} and on":         {`template-syntax ['] a string begins with ' inside {{ }} and does not end; close it with '`},
		"{{ \"x }}\n":               {`template-syntax ["] a string begins with " inside {{ }} and does not end`},
		"{{ .Values.x }}":           {`template-syntax [.] "." is not expected here; for a literal {{ write {{{{`},
		"{{ request request }}":     {`template-syntax [request] an operator was expected before "request"`},
		"{{ # }}":                   {`template-syntax [#] "#" is not expected here`},
		"{{envelope:}}":             {`template-syntax [envelope:] a phase was expected after "envelope:"`},
		"{{envelop:build.summary}}": {`template-syntax [envelop:] "envelop:" is not a spelling that templates have; did you mean "envelope:"?`},
		"{{ docker:x }}":            {`template-syntax [:] ":" is not expected here; for a literal {{ write {{{{`},
		"{{envelope:1}}":            {`template-syntax [1] only a phase and a field of its envelope follow "envelope:"`},
		"{{reqest}}":                {`template-unknown [reqest] "reqest" is not a name that is known here; did you mean "request"?`},
		"x {{ \"é\" + reqest }}":    {`template-unknown [reqest] "reqest"`},
		"{{feedback}}":              {`template-unknown [feedback] "feedback" has no value here`},
		"{{github.sha}}":            {`template-unknown [github] "github" is not a name that is known here`},
		"{{params.aera}}":           {`unknown-param [aera] param "aera" is not declared; did you mean "area"?`},
		"{{envelope:build.sumary}}": {`unknown-field [sumary] there is no field "sumary" here; did you mean "summary"?`},
		"{{\"a\" + exit}}":          {`expr-type ["a"] "+" adds two numbers`},
		"{{phases.ghost.output}}": {`warning template-unknown [ghost] no pipeline has a phase "ghost": the text will say "(not available)"`,
			`template-unknown [ghost] phase "ghost" is not defined`},
		"{{envelope:biuld.summary}}": {`warning template-unknown [biuld] no pipeline has a phase "biuld": the text will say "(not available)"; did you mean "build"?`,
			`template-unknown [biuld] phase "biuld" is not defined; did you mean "build"?`},
		"{{envelope:plan.summary}}": {"", `template-unknown [plan] phase "plan" is not defined`},
		`{{passed("plan")}}`:        {"", `template-unknown ["plan"] phase "plan" is not defined`},
	} {
		if want[1] == "" {
			want[1] = want[0]
		}
		for i, m := range []Mode{Prompt, Strict} {
			tm, bad := CompileTemplate(in(text), scopeOf(), m)
			got := found(bad)
			if !strings.HasPrefix(got, want[i]) || bad.Len() > 1 || want[i] == "" && got != "" {
				t.Errorf("%q:\n got %s\nwant %s", text, got, want[i])
			}
			if (tm == nil) != bad.HasErrors() {
				t.Errorf("%q: a template beside errors", text)
			}
			if tm != nil {
				if got, err := tm.Render(valuesOf()); err != nil || got != "(not available)" {
					t.Errorf("%q renders as %q, %v", text, got, err)
				}
			}
		}
	}
	_, bad := CompileTemplate(in("{{exti}} {{envelope:build.sumary}} {{ok"), scopeOf(), Strict)
	if bad.Len() != 3 {
		t.Errorf("three mistakes, found\n%s", found(bad))
	}
}

func TestTemplateReads(t *testing.T) {
	t.Parallel()
	tm, _ := CompileTemplate(in("{{request}} {{envelope:build.summary}} {{phases.test.output}} {{envelope:plan.summary}}"), scopeOf(), Prompt)
	var got []string
	for _, r := range tm.Reads() {
		got = append(got, r.Phase+"."+r.Path+"="+r.Span.Text())
	}
	if want := ".request=request build.envelope.summary=build.summary test.output=phases.test.output"; strings.Join(got, " ") != want {
		t.Errorf("reads %v", got)
	}
}

func TestLiteral(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "plain": "plain", "{{{{x}}": "{{x}}"} {
		tm, _ := CompileTemplate(in(text), scopeOf(), Strict)
		if got, ok := tm.Literal(); !ok || got != want {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
	tm, _ := CompileTemplate(in("{{request}}"), scopeOf(), Strict)
	if _, ok := tm.Literal(); ok {
		t.Error("a template with an expression is literal")
	}
	l := LiteralTemplate("{{request}} {{{{")
	if got, err := l.Render(Values{}); err != nil || got != "{{request}} {{{{" || l.Source() != got {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFindInShell(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"echo hello":                            "",
		"docker ps --format '{{.ID}}'":          "",
		"helm template {{ json .Values }}":      "",
		"echo '{{ item }}'":                     "",
		"go list -f '{{context .}}'":            "",
		"echo {{request":                        "",
		"echo {{request}}":                      "[{{request}}] write env: {REQUEST: \"{{request}}\"} and \"$REQUEST\" in the command",
		"echo \"{{ envelope:build.summary }}\"": "[{{ envelope:build.summary }}] write env: {BUILD_SUMMARY: \"{{envelope:build.summary}}\"} and \"$BUILD_SUMMARY\" in the command",
		"x {{envelope:bild.sumary}}":            "[{{envelope:bild.sumary}}] write env: {BUILD_SUMARY: \"{{envelope:build.sumary}}\"} and \"$BUILD_SUMARY\" in the command[bild] did you mean \"build\"?",
		"x {{params.aera}}":                     "[{{params.aera}}] write env: {AREA: \"{{params.area}}\"} and \"$AREA\" in the command[aera] did you mean \"area\"?",
		"x {{params.zzz}}":                      "[zzz] there is: area, n, shaped; or declare it: params: {zzz: {type: string, default: \"\"}}",
		"x {{phases.build.output}}":             "[{{phases.build.output}}] write env: {BUILD_OUTPUT: \"{{phases.build.output}}\"} and \"$BUILD_OUTPUT\" in the command",
		"x {{params.area}}":                     "[{{params.area}}] write env: {AREA: \"{{params.area}}\"} and \"$AREA\" in the command",
		"x {{phases[\"build\"].exit}}":          "[{{phases[\"build\"].exit}}] write env: {BUILD_EXIT: \"{{phases['build'].exit}}\"} and \"$BUILD_EXIT\" in the command",
		"x {{answer}}":                          "[answer] say of which phase: phases.ID.answer",
	} {
		bad := FindInShell(in(text), scopeOf())
		got := ""
		for _, d := range bad.Sorted() {
			if shell := strings.HasPrefix(d.Hint, "write env"); shell != (d.Rule == "template-in-shell") {
				t.Errorf("%s: rule %s", text, d.Rule)
			}
			got += "[" + d.Span.Text() + "] " + d.Hint
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
	if bad := FindInShell(in("{{request}} {{output}}"), scopeOf()); bad.Len() != 2 {
		t.Errorf("two names, %d findings", bad.Len())
	}
}

// The braces of a large text cost no more than a look at them.
func TestLargeTemplate(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("{ \"a\": {} } }} ", 100_000) + "{{request}}"
	tm, bad := CompileTemplate(in(text), scopeOf(), Prompt)
	if tm == nil {
		t.Fatal(found(bad))
	}
	if got, err := tm.Render(valuesOf()); err != nil || !strings.HasSuffix(got, "}} do it") {
		t.Error(err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		give any
		want string
	}{
		{nil, ""}, {"a\nb", "a\nb"}, {true, "true"}, {-3, "-3"}, {2.50, "2.5"}, {1e21, "1000000000000000000000"},
		{[]any{}, ""}, {[]string{"a", "b"}, "- a\n- b"}, {[]any{"a\nb", 1, 1.5, true}, "- a\n  b\n- 1\n- 1.5\n- true"},
		{[]any{map[string]any{"b": 1, "a": "<&>"}, []any{1}}, "- {\"a\":\"<&>\",\"b\":1}\n- [1]"},
		{map[string]any{"b": []any{}, "a": nil}, "{\n  \"a\": null,\n  \"b\": []\n}"},
	} {
		if got := Text(tc.give); got != tc.want {
			t.Errorf("%#v: %q, want %q", tc.give, got, tc.want)
		}
	}
}
