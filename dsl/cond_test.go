package dsl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/parser/operator"

	"foundry/diag"
)

func TestHolds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`exit == 2`: true, ` false `: false, `true`: true, `exit in [0, 3]`: false, `exit in 1..5`: true, `exit not in [0, 3]`: true,
		`exit == 2 and not (status == "fail")`: true, `exit == 1 or exit == 2`: true, `!(exit == 2)`: false,
		`envelope.approved`: false, `!envelope.approved`: true, `params.shaped`: true, `params["shaped"]`: true,
		`envelope.count == 4`: true, `envelope.count + 1 == 5`: true, `envelope.count in [4]`: true, `envelope.count % 3 == 1`: true,
		`params.n == 3`: true, `params.n > 2.5`: true, `score == 2`: true, `score in [2, 3]`: true, `score >= 1.5`: true, `-score < 0`: true,
		`passed("build")`: true, `passed('test')`: false, `approved("review")`: false, `all_phases_pass`: true, `last_phase_pass`: false,
		`phases.build.exit == 0`: true, `phases["build"].exit == 0`: true, `phases.build.envelope.summary == "built"`: true,
		`passed("test") && phases.test.exit == 0`: false, `phases.test.visits > 0 && phases.test.exit == 1`: false,
		`passed("build") || phases.test.exit == 0`: true, `passed("test") ? phases.test.exit == 0 : true`: true,
		`phases.build.status == "success"`: true, `phases.build.status != "success"`: false, `phases.test.status in ["queued", "skipped"]`: true,
		`any(changed, # startsWith "src/")`: true, `all(changed, {# endsWith ".go"})`: true, `none(changed, # == "x")`: true, `one(changed, # == "a.go")`: true,
		`count(changed, # contains "/") == 1`: true, `"go.mod" in changed`: false, `"a.go" in changed`: true, `!("go.mod" in changed)`: true, `"go.mod" not in changed`: true,
		`len(changed) <= 5`: true, `len(output) == 14`: true, `changed[0] == "a.go"`: true, `changed[-1] == "src/b.go"`: true,
		`first(changed) == "a.go"`: true, `last(filter(changed, # contains "/")) == "src/b.go"`: true,
		`len(glob("src/**", changed)) == 1`: true, `join(changed, ",") == "a.go,src/b.go"`: true, `join(map(changed, upper(#)), " ") == "A.GO SRC/B.GO"`: true,
		`tail(output, 1) == "three"`: true, `tail(output, 2) == "two\nthree"`: true, `tail(output, 9) == "one\ntwo\nthree"`: true, `tail(output, 0) == ""`: true,
		`len(lines(output)) == 3`: true, `lines(output)[1] == "two"`: true, `any(lines(output), # == "three")`: true,
		`output matches "(?m)^two$"`: true, `output contains "two"`: true, `request startsWith "do"`: true,
		`any(envelope.findings, !.met)`: true, `all(envelope.findings, .weight > 1)`: true, `sum(envelope.findings, .weight) == 5`: true,
		`sum(map(envelope.findings, .weight)) == 5`: true, `envelope.findings[1].requirement == "r2"`: true,
		`max(map(envelope.findings, .weight)) == 3`: true, `min(exit, params.n) == 2`: true, `max(exit, score, 2.5) == 2.5`: true,
		`any(envelope.findings, any(changed, # contains "a"))`: true,
		`trim("  x ") == "x"`: true, `split("a,b", ",")[1] == "b"`: true, `replace("aa", "a", "b") == "bb"`: true, `lower("A") + upper("b") == "aB"`: true,
		`string(exit) == "2"`: true, `int("12") + int(2.9) == 14`: true, `int(" 7 ") == 7`: true, `exit / 4 == 0.5`: true, `exit ** 3 == 8`: true, `(exit + 1) * 2 == 6`: true,
		`text(changed) == "- a.go\n- src/b.go"`: true, `envelope.severity == ""`: false, `free == "x"`: true, `envelope.extra.k == 1`: true, `"k" in envelope.extra`: true,
		`any(changed, !approved("review"))`: true, `exit == 2 ? all_phases_pass : last_phase_pass`: true, `exit == 3 ? all_phases_pass : last_phase_pass`: false,
		`sum(sizes) == 6`: true, `2 in sizes`: true, `sizes[0] == 1`: true, `count(sizes, # > 1) == 2`: true, `max(sizes) == 3`: true, `max(sizes, 7) == 7`: true,
		`count(map(changed, # == "a.go")) == 1`: true, `free in ["x", 1]`: true, `(exit == 2 ? exit : score) == 2`: true, `len(exit == 2 ? changed : []) == 2`: true,
		`first(envelope.findings).met`: false, `first(envelope.findings).weight == 2`: true, `free == 1 || true`: true, `string(score) == "2"`: true,
		`exit == 2 ? true : false`: true, `status == "rejected" && exit == 9 || true`: true,
		"exit == 2 // a note": true, "exit == 2\n  && exit > 1": true, `"a -> b" == 'a -> b'`: true, "`\\d` == '\\\\d'": true,
	} {
		c := condition(t, text)
		got, seen, err := c.Holds(valuesOf())
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
		if len(seen) == 0 {
			t.Errorf("%s: nothing was seen", text)
		}
		if accepted, _ := c.Accept(valuesOf()); accepted != want {
			t.Errorf("%s: accepted %v, want %v", text, accepted, want)
		}
	}
}

func TestNoValue(t *testing.T) {
	t.Parallel()
	for text, term := range map[string]string{
		`phases.test.exit == 0`:                                   "phases.test.exit",
		`!(phases.test.exit == 0)`:                                "phases.test.exit",
		`!phases.review.envelope.approved`:                        "phases.review.envelope.approved",
		`phases["test"].envelope.summary == ""`:                   `phases["test"].envelope.summary`,
		`phases.build.envelope.count == 0`:                        "phases.build.envelope.count",
		`phases.build.output contains "x"`:                        "phases.build.output",
		`exit == 2 && phases.test.exit == 0`:                      "phases.test.exit",
		`any(phases.test.changed, # == "x")`:                      "phases.test.changed",
		`len(phases.test.changed) == 0`:                           "phases.test.changed",
		`passed("build") ? phases.test.exit == 0 : true`:          "phases.test.exit",
		`changed[7] == "x"`:                                       "changed[7]",
		`first(filter(changed, false)) == "x"`:                    "first(filter(changed, false))",
		`last(phases.build.changed) == "x"`:                       "last(phases.build.changed)",
		`max(map(filter(envelope.findings, false), .weight)) > 1`: "max(map(filter(envelope.findings, false), .weight))",
		`envelope.extra.none == 1`:                                "envelope.extra.none",
		`free.deep == 1`:                                          "",
	} {
		c := condition(t, text)
		_, seen, err := c.Holds(valuesOf())
		var absent *NoValueError
		if term == "" {
			var failed *EvalError
			if !errors.As(err, &failed) {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if !errors.As(err, &absent) || absent.Term != term || err.Error() != term+" has no value" {
			t.Errorf("%s: %v, want no value of %s", text, err, term)
			continue
		}
		if last := seen[len(seen)-1]; last.Value != "(no value)" || !strings.Contains(text, last.Term) {
			t.Errorf("%s: seen %v", text, seen)
		}
		if ok, seen := c.Accept(valuesOf()); ok || seen[len(seen)-1].Value != "(no value)" {
			t.Errorf("%s: accepted %v, seen %v", text, ok, seen)
		}
	}
}

// A null, a value of another type and a function that nobody gave are no values either.
func TestValuesThatDoNotFit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		key  string
		give any
		want string
	}{
		{`exit == 2`, "exit", nil, "exit has no value"},
		{`exit == 2`, "exit", "2", "exit: an int was expected, and it is a string"},
		{`exit == 2`, "exit", 2.5, "exit: an int was expected, and it is a number"},
		{`output == ""`, "output", []any{}, "output: a string was expected, and it is a list"},
		{`len(changed) == 0`, "changed", []any{"a", 1}, "changed: a list of strings was expected, and it is a list"},
		{`len(changed) == 0`, "changed", []any{nil}, "changed: a list of strings was expected, and it is a list"},
		{`params.n == 1`, "params", "x", "params.n: params is a string and has no fields"},
		{`free`, "free", 1, "free: a condition is true or false, and this is an int"},
		{`exit / 0 == 1`, "exit", 1, "exit / 0 == 1: division by zero"},
		{`exit % (exit - 1) == 1`, "exit", 1, "exit % (exit - 1) == 1: division by zero"},
		{`int(output) == 1`, "output", "abc", `int(output) == 1: "abc" is not a whole number`},
		{`glob(request, changed)[0] == ""`, "request", "/abs", `glob(request, changed)[0] == "": globs are relative to the repository root, write "abs"`},
		{`output matches request`, "request", "(", "output matches request: error parsing regexp: missing closing ): `(`"},
	} {
		v := valuesOf()
		v.Vars[tc.key] = tc.give
		_, _, err := condition(t, tc.text).Holds(v)
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s with %s = %v: %v, want %s", tc.text, tc.key, tc.give, err, tc.want)
		}
	}
	for _, text := range []string{`passed("build")`, `approved("review")`, `all_phases_pass`, `last_phase_pass`, `phases.build.exit == 0`} {
		if _, _, err := condition(t, text).Holds(Values{}); err == nil {
			t.Errorf("%s holds without values", text)
		}
	}
}

func TestSeen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`exit == 2`:                    "exit == 2: true",
		`exit == 1 && passed("build")`: "exit == 1: false",
		`(exit == 1 || (exit) == 2) && !params.shaped`: "exit == 1: false, (exit) == 2: true, params.shaped: true",
		`"go.mod" not in changed && all_phases_pass`:   `"go.mod" not in changed: true, all_phases_pass: true`,
		`not ("go.mod" in changed)`:                    `"go.mod" in changed: false`,
		`any(changed, (# == "x") || # == "a.go")`:      `any(changed, (# == "x") || # == "a.go"): true`,
		`passed("build") ? exit == 2 : false`:          `passed("build") ? exit == 2 : false: true`,
		`passed("build") && phases.test.exit == 1`:     `passed("build"): true, phases.test.exit == 1: (no value)`,
		`len(changed) / 0 > 1 || true`:                 "len(changed) / 0 > 1: (failed)",
		`(len(changed) + 1) * (exit) == 6`:             "(len(changed) + 1) * (exit) == 6: true",
	} {
		_, seen, _ := condition(t, text).Holds(valuesOf())
		var got []string
		for _, s := range seen {
			got = append(got, s.Term+": "+s.Value)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: seen %s, want %s", text, strings.Join(got, ", "), want)
		}
	}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`passed("build") && phases.test.exit == 0`:    false,
		`phases.test.exit == 0 || passed("build")`:    true,
		`phases.test.exit == 0 || passed("test")`:     false,
		`!(phases.test.exit == 0)`:                    false, // nobody knows, so nothing is accepted
		`!(phases.test.exit == 0 || passed("build"))`: false,
		`!(phases.test.exit == 0 && passed("test"))`:  true, // whatever the exit was
	} {
		ok, seen := condition(t, text).Accept(valuesOf())
		if ok != want || seen[0].Term == "" {
			t.Errorf("%s: %v, want %v (%v)", text, ok, want, seen)
		}
	}
}

func TestPossible(t *testing.T) {
	t.Parallel()
	known := func(x Term) Ternary {
		switch x.Func + x.Phase {
		case "passedbuild", "all_phases_pass":
			return True
		case "passedtest", "approvedreview":
			return False
		}
		return Unknown
	}
	for text, want := range map[string]Ternary{
		`passed("build")`: True, `passed("test")`: False, `!passed("test")`: True, `last_phase_pass`: Unknown, `all_phases_pass`: True,
		`passed("build") && approved("review")`: False, `passed("build") || exit == 1`: True, `passed("test") || exit == 1`: Unknown,
		`passed("test") && exit == 1`: False, `!(passed("test") && exit == 1)`: True, `true`: True, `false || passed("build")`: True, `!true`: False,
		`phases.build.status == "success"`: True, `"success" == phases.test.status`: False, `phases.test.status != "success"`: True, `phases.test.status == "fail"`: Unknown,
		`passed("build") ? true : false`: Unknown, `exit == 2`: Unknown, `((passed("test"))) and not last_phase_pass`: False,
		`passed("review")`: Unknown,
	} {
		if got := condition(t, text).Possible(known); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	c, _ := CompileCond(in(`"a" + request`), scopeOf(), nil)
	if c.Possible(known) != Unknown {
		t.Error("what is no condition is not unknown")
	}
}

func TestReads(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`exit == 2 && params.area == "x"`:                                       ".exit .params.area",
		`passed("test") && phases.test.exit == 1`:                               "test.exit!",
		`phases.test.exit == 1 && passed("test")`:                               "test.exit",
		`phases.test.visits > 0 && phases.test.envelope.count == 1`:             "test.visits test.envelope.count!",
		`phases.test.status == "success" && phases.build.exit == 1`:             "test.status build.exit",
		`passed("test") || phases.test.exit == 1`:                               "test.exit",
		`(passed("test") && exit == 1) && (phases.test.exit == 1 || exit == 0)`: ".exit test.exit! .exit",
		`passed("test") && any(phases.test.changed, # == phases.test.output)`:   "test.changed! test.output!",
		`any(changed, approved("review") && phases.review.exit == 1)`:           ".changed review.exit!",
		`(exit == 1 || passed("test")) && phases.test.exit == 1`:                ".exit test.exit",
		`!passed("test") && phases.test.exit == 1`:                              "test.exit",
		`!(phases.test.visits == 0) && phases.test.exit == 1`:                   "test.visits test.exit!",
		`passed("test") && exit == 1 && phases.test.exit == 1`:                  ".exit test.exit!",
		`changed[0] == first(phases.build.changed)`:                             ".changed build.changed",
	} {
		var got []string
		for _, r := range condition(t, text).Reads() {
			s := r.Phase + "." + r.Path
			if r.Guarded {
				s += "!"
			}
			got = append(got, s)
			if field, _, _ := strings.Cut(r.Path, "."); field != r.Field {
				t.Errorf("%s: field %q of path %q", text, r.Field, r.Path)
			}
			if !strings.Contains(r.Span.Text(), r.Field) {
				t.Errorf("%s: a read of %s stands at %q", text, s, r.Span.Text())
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: reads %s, want %s", text, strings.Join(got, " "), want)
		}
	}
}

func TestTerms(t *testing.T) {
	t.Parallel()
	c := condition(t, `passed("build") && (approved("review") || exit == 1 ? all_phases_pass : phases.test.status == "success")`)
	var got []string
	for _, x := range c.Terms() {
		got = append(got, x.Func+" "+x.Phase+" "+x.Span.Text())
	}
	want := []string{`passed build passed("build")`, `approved review approved("review")`, `all_phases_pass  all_phases_pass`, `passed test phases.test.status == "success"`}
	if !slices.Equal(got, want) {
		t.Errorf("terms %q, want %q", got, want)
	}
}

func TestStringAndInputs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"does not compile:\n" + tail(output, 1)`: "does not compile:\nthree",
		`envelope.blocking`:                       "- x\n- y", `exit`: "2", `score`: "2", `exit == 2`: "true", `changed`: "- a.go\n- src/b.go",
		`envelope.extra`: "{\n  \"k\": 1\n}", `filter(envelope.findings, .met)`: `- {"met":true,"requirement":"r2","weight":3}`,
		`passed("build") ? "yes" : "no"`: "yes", `passed("test") && exit == 2`: "false",
	} {
		c, bad := CompileCond(in(text), scopeOf(), nil)
		if c == nil {
			t.Errorf("%s: %s", text, found(bad))
			continue
		}
		if got, _, err := c.String(valuesOf()); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	c, _ := CompileCond(in(`"x" + phases.test.output`), scopeOf(), nil)
	if _, _, err := c.String(valuesOf()); err == nil || err.Error() != "phases.test.output has no value" {
		t.Errorf("a text without a value: %v", err)
	}
	in := condition(t, `exit == 2 && exit != 3 && phases.test.exit == 1 && "a.go" in changed`).Inputs(valuesOf())
	if got, want := fmt.Sprint(in), `[{exit 2} {phases.test.exit (no value)} {changed ["a.go","src/b.go"]}]`; got != want {
		t.Errorf("inputs %s, want %s", got, want)
	}
	v := valuesOf()
	v.Vars["output"] = strings.Repeat("é", 300)
	if got := condition(t, `output == ""`).Inputs(v)[0].Value; len(got) > 210 || !strings.HasSuffix(got, "é…") {
		t.Errorf("a long input is %q", got)
	}
}

func TestTextAndSpan(t *testing.T) {
	t.Parallel()
	c := condition(t, "  exit == 2 \n")
	if c.Text() != "exit == 2" || c.Span().Text() != "exit == 2" {
		t.Errorf("text %q, span %q", c.Text(), c.Span().Text())
	}
	// A caller that changes the scope afterwards changes nothing.
	s := scopeOf()
	c, _ = CompileCond(in("exit == 2"), s, boolT)
	*s = Scope{}
	if ok, _, err := c.Holds(valuesOf()); !ok || err != nil {
		t.Error(ok, err)
	}
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	c := condition(t, `any(envelope.findings, .weight > 1) && passed("build") && len(changed) == 2`)
	s := scopeOf()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			v := valuesOf()
			for range 50 {
				if ok, _, err := c.Holds(v); !ok || err != nil {
					t.Error(ok, err)
				}
				if _, bad := CompileCond(in(`max(map(envelope.findings, .weight)) == sum([1, exit])`), s, boolT); bad.Len() > 0 {
					t.Error(found(bad))
				}
			}
		})
	}
	wg.Wait()
}

// Each name that expr has must have been judged: a new version of expr cannot add one silently.
func TestEveryBuiltinIsJudged(t *testing.T) {
	t.Parallel()
	refused := strings.Fields(`find findIndex findLast findLastIndex groupBy sortBy reduce type abs ceil floor round float trimPrefix trimSuffix
		splitAfter repeat indexOf lastIndexOf hasPrefix hasSuffix mean median toJSON fromJSON toBase64 fromBase64 now duration date timezone
		get take keys values toPairs fromPairs reverse uniq concat flatten sort bitand bitor bitxor bitnand bitshl bitshr bitushr bitnot`)
	for _, name := range builtin.Names {
		if (find(name) != nil) == slices.Contains(refused, name) {
			t.Errorf("%s is neither allowed nor refused, or both", name)
		}
		if find(name) == nil {
			if _, bad := CompileCond(in(name+"(changed, true)"), scopeOf(), nil); bad.Len() == 0 {
				t.Errorf("%s can be called", name)
			}
		}
	}
	known := strings.Fields("| or || and && == != < > >= <= in matches contains startsWith endsWith .. + - * / % ** ^ ??")
	for op := range operator.Binary {
		if !slices.Contains(known, op) {
			t.Errorf("operator %s is not judged", op)
		}
	}
	for op := range operator.Unary {
		if !slices.Contains([]string{"not", "!", "-", "+"}, op) {
			t.Errorf("unary operator %s is not judged", op)
		}
	}
}

// A hint that names one word is right: put in place of what is marked, it makes the finding go away.
func TestDidYouMean(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`exti == 2`, `envelope.aproved`, `parms.area == "x"`, `params.aera == "x"`, `phases.biuld.exit == 0`, `passed("biuld")`, `phases.build.exti == 0`,
		`status == "rejectd"`, `status in ["fail", "skiped"]`, `envelope.severity == "hgih"`, `lenn(changed) == 0`, `any(envelope.findings, .mett)`, `all_phases_pas`, `phase.build.exit == 0`,
	} {
		_, bad := CompileCond(in(text), scopeOf(), boolT)
		if bad.Len() != 1 {
			t.Errorf("%s: %s", text, found(bad))
			continue
		}
		d := bad.Sorted()[0]
		word, ok := strings.CutPrefix(d.Hint, "did you mean ")
		word = strings.Trim(word, `"?`)
		if strings.HasPrefix(d.Span.Text(), `"`) {
			word = `"` + word + `"`
		}
		start := d.Span.Start - len(before)
		fixed := text[:start] + word + text[d.Span.End-len(before):]
		if _, bad := CompileCond(in(fixed), scopeOf(), boolT); !ok || bad.Len() > 0 {
			t.Errorf("%s: %q, then %s: %s", text, d.Hint, fixed, found(bad))
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"long":     `request == "` + strings.Repeat("x", maxSource) + `"`,
		"deep":     strings.Repeat("(", maxNesting+1) + "true" + strings.Repeat(")", maxNesting+1),
		"unclosed": strings.Repeat("[", 4000),
	} {
		if c, bad := CompileCond(in(text), scopeOf(), boolT); c != nil || bad.Len() != 1 || bad.Sorted()[0].Rule != diag.ExprSyntax {
			t.Errorf("%s: %s", name, found(bad))
		}
	}
	for name, text := range map[string]string{
		"nots":  strings.Repeat("!", 4000) + "true",
		"chain": "exit == 2" + strings.Repeat(" && true", 500),
		"deep":  strings.Repeat("(", maxNesting) + "true" + strings.Repeat(")", maxNesting),
	} {
		if ok, _, err := condition(t, text).Holds(valuesOf()); !ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
}
