package dsl

import (
	"testing"
	"unicode/utf8"

	"foundry/diag"
)

// inside fails when a finding points out of the file, or at no place at all.
func inside(t *testing.T, l diag.List) {
	t.Helper()
	for _, d := range l.Sorted() {
		s := d.Span
		if s.Source == nil || s.Start < 0 || s.End < s.Start || s.End > len(s.Source.Text) {
			t.Fatalf("%s points at %d..%d: %s", d.Rule, s.Start, s.End, d.Message)
		}
		if d.Message == "" {
			t.Fatalf("%s says nothing", d.Rule)
		}
	}
}

func FuzzRoute(f *testing.F) {
	for _, s := range []string{
		"on fail -> build retry 2 // x", "on fail when exit == 2 -> plan retry 1 with \"x\" + tail(output, 4)", "on timeout -> abort \"x\"\non any -> next",
		"on fial -> \"x\" retry -1 with", "on pass when 'a -> b' == `c` -> d with // e", "on fail when => x", "- # \xff", "on fail -> abort '\\u00e9\\q'",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, bad := ParseRule(in(text))
		inside(t, bad)
		if bad.HasErrors() {
			return
		}
		if r.Trigger == 0 || r.Action == 0 || r.Frag.Text == "" || r.HasRetry && r.Retry < 1 {
			t.Fatalf("%q was read as %+v", text, r)
		}
		again, bad := ParseRule(in(r.Frag.Text))
		if bad.Len() > 0 || again.When.Text != r.When.Text || again.Target.Text != r.Target.Text || again.With.Text != r.With.Text {
			t.Fatalf("the rule %q of %q reads differently by itself: %s", r.Frag.Text, text, found(bad))
		}
	})
}

func FuzzCond(f *testing.F) {
	for _, s := range []string{
		`exit == 2 && passed("build") || !envelope.approved`, `any(changed, # startsWith "src/")`, `phases["test"].envelope.findings[0].met`,
		`a < b < c`, `exit ? changed : {a: 1}`, `max(1, params.n, envelope.count) % 2 ** 3`, `count(envelope.findings, .met) in 1..3`, "`a``b` matches '('",
		`let x = 1; x`, `(((`, `exit == 2 // x`, `x /* y`, `"\u{61}"`, `#index`, `phases.test.status != "success"`, `!!!-+1`, `len(1..9)`, `"é" + exti`,
	} {
		f.Add(s)
	}
	s := scopeOf()
	f.Fuzz(func(t *testing.T, text string) {
		for _, want := range []*Type{boolT, nil} {
			c, bad := CompileCond(in(text), s, want)
			inside(t, bad)
			if (c == nil) != bad.HasErrors() {
				t.Fatalf("%q: a condition beside errors, or neither", text)
			}
			if c == nil {
				continue
			}
			for _, r := range c.Reads() {
				if r.Span.Source == nil || r.Span.End > len(r.Span.Source.Text) {
					t.Fatalf("%q: a read at %v", text, r.Span)
				}
			}
			c.machines()
			o := c.Eval(valuesOf())
			if o.Err == nil {
				Text(o.Value)
			}
			c.Inputs(valuesOf())
			c.Eval(Values{})
			if want == nil {
				continue
			}
			holds, _, err := c.Holds(valuesOf())
			accepted, _ := c.Accept(valuesOf())
			if err == nil && holds != accepted {
				t.Fatalf("%q holds %v and is accepted %v", text, holds, accepted)
			}
			if may := c.Possible(func(Term) Ternary { return Unknown }); may != Unknown && err == nil && holds != (may == True) {
				t.Fatalf("%q holds %v and can only be %d", text, holds, may)
			}
		}
	})
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{
		"{{request}} {{{{ }} {{envelope:build.summary}}", "{{ \"}}\" }}{{", "{{'x}}", "{{envelope:plan.x}} {{phases.ghost}}", "é{{}}", "{{{{{{{request}}", "{{ #`}}` }}",
	} {
		f.Add(s)
	}
	s := scopeOf()
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range []Mode{Prompt, Strict} {
			tm, bad := CompileTemplate(in(text), s, m)
			inside(t, bad)
			if tm == nil {
				continue
			}
			out, err := tm.Render(valuesOf())
			if err == nil && utf8.ValidString(text) && !utf8.ValidString(out) {
				t.Fatalf("%q renders as %q", text, out)
			}
		}
		inside(t, FindInShell(in(text), s))
	})
}
