package dsl

import (
	"reflect"
	"strings"
	"testing"

	"foundry/diag"
)

// byParticiple is ParseRule without the short way: what participle makes of a rule, false when it refuses it.
func byParticiple(f diag.Fragment) (Rule, diag.List, bool) {
	p := ruleParser{frag: f}
	node, err := grammar().ParseString("", f.Text)
	if err != nil {
		return Rule{}, p.diags, false
	}
	return p.rule(node), p.diags, true
}

// sameReading fails when a rule is read in the short way and participle reads it differently or not at all. It
// says whether it was read in the short way.
func sameReading(t *testing.T, text string) bool {
	t.Helper()
	if openQuote(text) >= 0 {
		return false // refused before either reads it
	}
	j, ok := plainJump(text)
	if !ok {
		return false
	}
	p := ruleParser{frag: in(text)}
	got := p.plain(j)
	want, bad, read := byParticiple(in(text))
	if !read || !reflect.DeepEqual(withoutSource(got), withoutSource(want)) || !reflect.DeepEqual(found(p.diags), found(bad)) {
		t.Fatalf("%q was read as %+v with %q, want %+v with %q", text, got, found(p.diags), want, found(bad))
	}
	return true
}

// withoutSource is a rule whose parts are compared by their text and their offsets.
func withoutSource(r Rule) []any {
	out := []any{r.Trigger, r.Action, r.HasRetry, r.Retry, r.RetrySpan.Start, r.RetrySpan.End, r.Message, r.Guessed}
	for _, f := range []diag.Fragment{r.When, r.Target, r.With, r.Frag} {
		out = append(out, f.Text, f.Whole().Start, f.Whole().End)
	}
	return out
}

// The short way and participle agree on every rule that can be put together from these parts.
func TestPlainJumpsAreParticiples(t *testing.T) {
	t.Parallel()
	short := 0
	for _, on := range []string{"on", "on ", " \ton\n", "On ", "on on ", "", "// on\non "} {
		for _, trigger := range []string{"pass", "fail", "any", "timeout", "fial", "next", "pass-x", ""} {
			for _, when := range []string{"", " when exit == 2", " when  output contains \"->\" // no\n && x - 1 > -2 ", " when // \n ", " when `a`", "when x", " when"} {
				for _, to := range []string{"->build", " -> build", " -> self", "-> next", " -> abort 'no'", " - > build", "-> a-b", "-> Été", "-> 2", " => build", "->"} {
					for _, tail := range []string{"", " retry 2", " retry 02 ", " retry 0", " retry x", " retry 1.5 with x", " with tail(output, 40) // why", " with ", " with \"a // b\"+ x // c",
						" with // only\n", " with x\n// last", " // end", " build", " with a retry 1", " retry 3 with`x`"} {
						if sameReading(t, on+trigger+when+to+tail) {
							short++
						}
					}
				}
			}
		}
	}
	if short < 1000 {
		t.Errorf("only %d rules were read in the short way", short)
	}
	for _, text := range []string{"on fail -> build retry 2", "on fail when exit == 2 -> build retry 1 with tail(output, 20)", "on reject -> plan // again"} {
		if !sameReading(t, text) {
			t.Errorf("%q was left to participle", text)
		}
	}
}

func FuzzPlainJump(f *testing.F) {
	for _, s := range []string{
		"on fail when exit == 2 -> build retry 2 with tail(output, 20) // why", "on any->b-2", "on pass when \"->\" 'x' `y` -> é retry 9 with -", "on skip -> x with // \n a / b // c\n",
		"on fail when // \n -> x", "on timeout -> self retry 0", "on pass -> next",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text = strings.ToValidUTF8(text, "?"); len(text) < 1<<12 {
			sameReading(t, text)
		}
	})
}
