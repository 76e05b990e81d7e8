package lsp

import (
	"strings"
	"testing"

	"foundry/gates"
	"foundry/schema"
)

func TestTemplateAt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "-", "a": "-", "a {{": "", "a {{ b": " b", "a {{b}} c": "-", "{{a}} {{b": "b", "{{{{ a": "-", "{{ \"}}\" + ": " \"}}\" + ", "{{ 'a": " 'a", "{{{{{{ a": " a",
	} {
		got, open := templateAt(text)
		if !open {
			got = "-"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestChain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "-", "a": "-", "a.": "a", "x + a.b.": "a b", "phases.p.envelope.list[0].": "phases p envelope list []", "!a.": "a", "1.": "-", ").": "-", "#.": "-",
		"envelope:plan.": "phases plan envelope", "envelope:plan.steps[1].": "phases plan envelope steps []", "f(a.": "a",
	} {
		got := "-"
		if path, ok := chain(text); ok {
			got = strings.Join(path, " ")
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestQuoteAt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`a`: -1, `a "b`: 2, `a "b" 'c`: 6, `"a\"`: 0, "`a\\`": -1, "'a' // 'b": -2, "a // b\n\"": 7, `"//`: 0,
	} {
		at, comment := quoteAt(text)
		if comment {
			at = -2
		}
		if at != want {
			t.Errorf("%q: %d, want %d", text, at, want)
		}
	}
}

// TestUsesAreKeys: what is known of a text is known of a key that there is.
func TestUsesAreKeys(t *testing.T) {
	t.Parallel()
	known, section := map[string]bool{}, map[string]bool{}
	for _, k := range schema.Keys() {
		known[k.Where+"."+k.Name], section[k.Where] = true, true
	}
	for _, g := range gates.Table() {
		for _, a := range g.Args {
			known[gatePrefix+g.Name+"."+a.Name] = true
		}
	}
	known[commandGate+".run"] = true // of the command in place
	for name := range uses {
		where, _, _ := strings.Cut(name, ".")
		if !known[name] && (section[where] || strings.HasPrefix(where, gatePrefix)) {
			t.Errorf("there is no key %s", name)
		}
	}
	for name := range does {
		if !known["phase."+name] {
			t.Errorf("there is no key phase.%s", name)
		}
	}
	for _, s := range sections {
		if !known["file."+s.key] {
			t.Errorf("there is no key file.%s", s.key)
		}
	}
}

// TestShapesHaveWords: every key that is shown says what it takes.
func TestShapesHaveWords(t *testing.T) {
	t.Parallel()
	for _, k := range schema.Keys() {
		if k.Shape != schema.ShapeData && k.Shape != schema.ShapeChoice && shapeWords(k) == "" {
			t.Errorf("%s.%s takes nothing that has a word", k.Where, k.Name)
		}
	}
}
