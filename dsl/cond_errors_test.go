package dsl

import (
	"strings"
	"testing"
)

// Each entry is the beginning of the one finding that a condition earns.
func TestConditionErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		// syntax
		``:                                      `expr-syntax [] the expression is empty`,
		"  \n":                                  `the expression is empty`,
		`exit ==`:                               `expr-syntax [==] the expression ends too early`,
		`exit == 2 &&`:                          `expr-syntax [&&] the expression ends too early`,
		`(exit == 2`:                            `expr-syntax [(] "(" is not closed; close it with )`,
		`exit == 2)`:                            `expr-syntax [)] ")" is not expected here`,
		`exit = 2`:                              `expr-syntax [=] "=" compares nothing; write ==`,
		`exit is 2`:                             `expr-syntax [is] an operator was expected before "is"; write ==`,
		`exit == 2 AND exit == 3`:               `expr-syntax [AND] an operator was expected before "AND"; write and`,
		`exit == 2 exit == 3`:                   `expr-syntax [exit] an operator was expected before "exit"`,
		`exit & 1`:                              `expr-syntax [&] "&" is not part of the language`,
		`changed | len() == 1`:                  `expr-syntax [|] "|" is not part of the language`,
		`exit == 1; exit == 2`:                  `expr-syntax [;] ";" is not part of the language`,
		`let x = exit; x == 2`:                  `expr-syntax [let] "let" is not part of the language`,
		`if exit == 2 { true } else { false }`:  `expr-syntax [if] "if" is not part of the language; write condition ? a : b`,
		`(free ?? 1) == 1`:                      `expr-syntax [??] "??" is not part of the language`,
		`phases?.build.exit == 1`:               `expr-syntax [?.] "?." is not part of the language`,
		`$env.exit == 2`:                        `expr-syntax [$env] "$env" is not part of the language`,
		`${{ true }} extra`:                     `expr-syntax [$] "$" is not part of the language`,
		`{{ exit == 2 }}`:                       `expr-syntax [{{ exit == 2 }}] an expression stands here by itself, without braces; leave {{ and }} out`,
		`envelope:review.approved`:              `expr-syntax [envelope:review.approved] "envelope:review.approved" is a spelling of templates; write phases.review.envelope.approved`,
		`output contains "it's`:                 `expr-syntax ["it's] a string begins with " and does not end; close it with "`,
		`exit == 2 // "` + "\n && output == 'x": `expr-syntax ['x] a string begins with ' and does not end`,
		`output == "\q"`:                        `expr-syntax [\q] this is not an escape`,
		`exit == 2 @ 1`:                         `expr-syntax [@] "@" means nothing in an expression`,
		`exit == nil`:                           `expr-syntax [nil] "nil" is not part of the language`,
		`b"x" == output`:                        `expr-syntax [b"x"] there are no byte strings`,
		`len({"a": 1}) == 1`:                    `expr-syntax [{] objects cannot be made`,
		`changed[0:1] == changed`:               `expr-syntax [[] parts of a list or a text cannot be cut out`,
		`changed[exit] == "a"`:                  `expr-syntax [exit] an index is a whole number that stands there`,
		`phases[request].exit == 0`:             `expr-syntax [request] a phase is named by its id`,
		`# == 1`:                                `expr-syntax [#] "#" is not expected here`,
		`any(changed, #index > 1)`:              `expr-syntax [#] #index is not part of the language`,
		`1 < exit < 3`:                          `expr-syntax [<] comparisons cannot be chained; write a < b && b < c`,
		`params.shaped ?: true`:                 `expr-syntax [params.shaped] "?:" without a value between`,
		`len(1..5) == 5`:                        `expr-syntax [..] a range stands only to the right of "in"`,
		`exit in 1..params.n`:                   `expr-syntax [..] a range stands between two whole numbers`,
		`exit in 5..1`:                          `expr-type [5..1] the range 5..1 is empty; write 1..5`,
		`exit in 1..5000`:                       `expr-type [1..5000] the range has more than 1000 numbers`,
		`output.trim() == ""`:                   `expr-syntax [trim] values have fields and no methods`,
		`output matches "("`:                    `expr-syntax ["("] not a regular expression: missing closing )`,
		`now() > 1`:                             `expr-syntax [now] there is no function "now"; conditions do not depend on time`,
		`find(changed, true) == ""`:             `expr-syntax [find] there is no function "find"; write first(filter(list, condition))`,
		`get(envelope, "x") == 1`:               `expr-syntax [get] there is no function "get"`,
		`lenn(changed) == 1`:                    `expr-syntax [lenn] there is no function "lenn"; did you mean "len"?`,
		`zzzzzz(changed) == 1`:                  `expr-syntax [zzzzzz] there is no function "zzzzzz"; there are: all, any, approved`,
		`len == 2`:                              `expr-syntax [len] "len" is a function; call it: len(list or text)`,
		`phases == 1`:                           `expr-syntax [phases] "phases" is not a value`,
		`any(changed)`:                          `expr-syntax [any] "any" takes more arguments; write it as in any(list, condition)`,
		`any(changed, any(changed, any(changed, any(changed, true))))`: `expr-syntax [true] more than 3 of any, all`,

		`any(changed, true, 1)`:        `expr-syntax`,
		`exit == 99999999999999999999`: `expr-syntax [99999999999999999999] "99999999999999999999" is not a number that can be used here`,
		`exit == 2 /* why`:             `expr-syntax [/*] a comment begins with /* and does not end`,
		`{`:                            `expr-syntax [{] objects cannot be made`,
		`envelope.`:                    `expr-syntax [.] a field was expected after "."`,
		`"a" "b"`:                      `expr-syntax ["b"] an operator was expected before "b"`,

		// names
		`exti == 2`:                         `unknown-field [exti] "exti" is not a name that is known here; did you mean "exit"?`,
		`!envelope.aproved`:                 `unknown-field [aproved] there is no field "aproved" here; did you mean "approved"?`,
		`any(envelope.findings, .lin > 3)`:  `unknown-field [lin] there is no field "lin" here; there is: met, requirement, weight`,
		`any(envelope.findings, met)`:       `unknown-field [met] "met" is not a name that is known here; write .met for the field of the element`,
		`first(envelope.findings).mett`:     `unknown-field [mett] there is no field "mett"`,
		`envelope.findings[0].mett`:         `unknown-field [mett] there is no field "mett"`,
		`build.exit == 0`:                   `unknown-field [build] "build" is not a name that is known here; write phases.build for what the phase has, or passed("build")`,
		`answer == "approve"`:               `unknown-field [answer] "answer" has no value here; say of which phase: phases.ID.answer`,
		`feedback == ""`:                    `unknown-field [feedback] "feedback" has no value here; known here: changed`,
		`params.areaa == "x"`:               `unknown-param [areaa] param "areaa" is not declared; did you mean "area"?`,
		`!phases.ghost.envelope.approved`:   `unknown-phase [ghost] phase "ghost" is not defined; there is: build, review, test`,
		`phases["biuld"].exit == 0`:         `unknown-phase ["biuld"] phase "biuld" is not defined; did you mean "build"?`,
		`phases.plan.visits == 1`:           `unknown-phase [plan] phase "plan" is not defined`,
		`passed("biuld")`:                   `unknown-phase ["biuld"] phase "biuld" is not defined; did you mean "build"?`,
		`phases.build.exti == 0`:            `unknown-field [exti] phase "build" has no "exti"; did you mean "exit"?`,
		`phases.test.status == "succes"`:    `unknown-enum-value ["succes"] "succes" is never the value here: it is fail, queued, rejected, skipped or success; did you mean "success"?`,
		`"hgih" != envelope.severity`:       `unknown-enum-value ["hgih"] "hgih" is never the value here: it is high or low; did you mean "high"?`,
		`status in ["fail", "bad"]`:         `unknown-enum-value ["bad"]`,
		`status not in ["bad"]`:             `unknown-enum-value ["bad"]`,
		`request == "🙂é" && exti == 1`:      `unknown-field [exti]`,
		`len(glob("/src/**", changed)) > 0`: `bad-glob ["/src/**"] globs are relative to the repository root`,

		// types
		`'false'`:                            `expr-type ['false'] a condition is true or false, and this is a string; write false without quotes`,
		`request`:                            `expr-type [request] a condition is true or false, and this is a string; compare it: request != ""`,
		`exit`:                               `expr-type [exit] a condition is true or false, and this is an int; compare it: exit != 0`,
		`changed`:                            `expr-type [changed] a condition is true or false, and this is a list of strings; compare its length: len(changed) > 0`,
		`envelope`:                           `expr-type [envelope] a condition is true or false, and this is an object; name a field of it`,
		`(exit + 1)`:                         `expr-type [exit + 1] a condition is true or false`,
		`exit == 2 && output`:                `expr-type [output] a condition is true or false`,
		`any(changed, len(#))`:               `expr-type [len(#)] a condition is true or false, and this is an int`,
		`exit ? true : false`:                `expr-type [exit] a condition is true or false`,
		`envelope.count > '10'`:              `expr-type ['10'] ">" compares two numbers or two texts, and this is an int with a string; leave the quotes out: 10`,
		`exit == "2"`:                        `expr-type ["2"] "==" compares two of a kind, and this is an int with a string; leave the quotes out: 2`,
		`envelope.approved == "true"`:        `expr-type ["true"] "==" compares two of a kind`,
		`exit == output`:                     `expr-type [==] "==" compares two of a kind, and this is an int with a string`,
		`exit in ["1"]`:                      `expr-type [in] "in" looks for an item of the same kind`,
		`1 in changed`:                       `expr-type [1] "in" looks for an item of the same kind`,
		`"a" in output`:                      `expr-type [output] "in" looks into a list, and this is a string; write output contains "a"`,
		`output in 1..5`:                     `expr-type [output] a range holds whole numbers`,
		`changed contains "x"`:               `expr-type [changed] "contains" looks into a text, and this is a list; write "x" in changed`,
		`changed startsWith "x"`:             `expr-type ["x"] "startsWith" takes two texts, and this is a list of strings with a string; write any(changed, # startsWith "x")`,
		`exit contains "x"`:                  `expr-type ["x"] "contains" takes two texts`,
		`changed == []`:                      `expr-type [==] "==" compares texts, numbers and truths`,
		`envelope == request`:                `expr-type [==] "==" compares texts, numbers and truths, not an object with a string; compare a field of it`,
		`"a" + exit == "a2"`:                 `expr-type ["a"] "+" adds two numbers or joins two texts, and this is a string with an int; make a text of the other side: string(exit)`,
		`"a" + changed == "a2"`:              `expr-type ["a"] "+" adds two numbers or joins two texts, and this is a string with a list of strings; make a text of the other side: text(changed)`,
		`output - 1 == 2`:                    `expr-type [1] "-" takes two numbers`,
		`score % 2 == 1`:                     `expr-type [2] "%" takes two whole numbers`,
		`!exit == 2`:                         `expr-type [exit] "!" takes true or false, and this is an int; put all that is negated in parentheses: !(…)`,
		`-output == ""`:                      `expr-type [output] "-" takes a number`,
		`envelope.summary.x == 1`:            `expr-type [x] a string has no fields`,
		`envelope.findings.met`:              `expr-type [met] a list has no fields`,
		`output[0] == "a"`:                   `expr-type [0] only a list has an index`,
		`passed(build)`:                      `expr-type [build] "passed" takes the id of a phase in quotes; write passed("build")`,
		`passed()`:                           `expr-type [passed] "passed" takes the id of one phase`,
		`passed("build", "test")`:            `expr-type [passed("build", "test")] "passed" takes the id of one phase`,
		`approved("build")`:                  `expr-type ["build"] phase "build" approves nothing: it is neither a review nor an ask; write passed("build")`,
		`string(changed) == ""`:              `expr-type [changed] "string" takes a string, an int, a number or a bool here, and this is a list of strings; write text(changed)`,
		`tail(output) == ""`:                 `expr-type [tail(output)] "tail" does not take 1 argument; write it as in tail(output, 40)`,
		`tail(output, "4") == ""`:            `expr-type ["4"] "tail" takes an int here`,
		`max(changed) == 1`:                  `expr-type [changed] numbers are compared here`,
		`sum(changed) == 1`:                  `expr-type [changed] "sum" adds numbers`,
		`sum(changed, #) == 1`:               `expr-type [#] "sum" takes an int or a number here`,
		`count(changed) == 1`:                `expr-type [count(changed)] "count" counts what a condition holds for`,
		`join(envelope.findings, ",") == ""`: `expr-type [join(envelope.findings, ",")] "join" joins texts`,
		`len(exit) == 1`:                     `expr-type [exit] "len" takes a string, a list or an object here`,
		`filter(exit, true) == 1`:            `expr-type [exit] "filter" takes a list here`,
	} {
		c, bad := CompileCond(in(text), scopeOf(), boolT)
		got := found(bad)
		if c != nil || bad.Len() == 0 || bad.Len() > 1 || !strings.HasPrefix(got, want) && !strings.Contains(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}

// All mistakes of one condition are found at once.
func TestSeveralErrors(t *testing.T) {
	t.Parallel()
	_, bad := CompileCond(in(`exti == 2 && phases.ghost.exit == 1 || envelope.aproved && status == "x"`), scopeOf(), boolT)
	if got := found(bad); bad.Len() != 4 {
		t.Errorf("%d findings:\n%s", bad.Len(), got)
	}
}

// A slip does not hide what else is wrong.
func TestErrorsBesideASlip(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`exti = 2 && passed("bild")`:         "[exti] [=] [\"bild\"]",
		`"größe" == output || statsu = exit`: "[statsu] [=]",
		`exit = 2 && (`:                      "[=]",
		`!params.zzz`:                        "[zzz]",
		`params.zzz == "fast"`:               "[zzz]",
	} {
		_, bad := CompileCond(in(text), scopeOf(), boolT)
		var got []string
		for _, d := range bad.Sorted() {
			got = append(got, "["+d.Span.Text()+"]")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %s, want %s:\n%s", text, got, want, found(bad))
		}
	}
	for text, want := range map[string]string{
		`!params.zzz`:                   "params: {zzz: {type: bool, default: false}}",
		`exit == 1 && params.zzz`:       "params: {zzz: {type: bool, default: false}}",
		`(params.zzz) || exit == 1`:     "params: {zzz: {type: bool, default: false}}",
		`params.zzz == "fast"`:          `params: {zzz: {type: string, default: ""}}`,
		`request contains params.areas`: `did you mean "area"?`,
	} {
		_, bad := CompileCond(in(text), scopeOf(), boolT)
		if got := found(bad); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestWantedType(t *testing.T) {
	t.Parallel()
	if _, bad := CompileCond(in("exit"), scopeOf(), stringT); !strings.HasPrefix(found(bad), "expr-type [exit] a string was expected, and this is an int") {
		t.Error(found(bad))
	}
	for _, text := range []string{"request", "free"} {
		if _, bad := CompileCond(in(text), scopeOf(), stringT); bad.Len() > 0 {
			t.Error(found(bad))
		}
	}
}
