package check

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"foundry/builtins"
	"foundry/diag"
	"foundry/graph"
	"foundry/schema"
)

// One mistake is told once. Here every key of the tour is mistyped and every value taken away, one at a time: besides
// the finding that says so, no other may claim that something is missing, unknown or without use. Findings that offer
// a name are all about that one.

var (
	tourKey   = regexp.MustCompile(`(?m)(^ *(?:- )?|[{,] ?)([a-z_]{4,}):`)
	tourValue = regexp.MustCompile(`(?m)(^ *(?:- )?|[{,] ?)[a-z_]+:( [^\s|>#{}\[\],&*'"][^#{}\[\],\n]*)`)
)

// alone are the findings of a text that do not offer a name.
func alone(t *testing.T, ships *schema.Document, text string) (other []diag.Diagnostic, all int) {
	t.Helper()
	doc, found := schema.Decode(diag.NewSource("foundry.yaml", text))
	cat := graph.New(doc, ships, graph.Files{Path: "foundry.yaml"})
	found.Merge(cat.Lint())
	found.Merge(NewSuite(cat).Add(cat.User().Tests))
	for _, d := range found.Sorted() {
		if !strings.HasPrefix(d.Hint, "did you mean ") {
			other = append(other, d)
		}
	}
	return other, found.Len()
}

func TestOneMistakeIsToldOnce(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../foundry.yaml.example")
	if err != nil {
		t.Fatal(err)
	}
	tour := string(content)
	ships, _ := schema.Decode(diag.NewSource(builtins.Name, builtins.YAML()))
	if found, _ := alone(t, ships, tour); len(found) > 0 {
		t.Fatalf("the tour has findings: %v", found)
	}
	known := map[string]bool{}
	for _, k := range schema.Keys() {
		known[k.Name] = true
	}
	told := 0
	try := func(from, to int, instead string) {
		found, all := alone(t, ships, tour[:from]+instead+tour[to:])
		if all > 0 { // what an agent replies is checked when it does
			told++
		}
		if len(found) > 1 {
			line := tour[strings.LastIndexByte(tour[:from], '\n')+1:]
			line, _, _ = strings.Cut(line, "\n")
			t.Errorf("%q for %q in %q:", instead, tour[from:to], strings.TrimSpace(line))
			for _, d := range found {
				t.Errorf("    %d: %s [%s] (%s)", d.Span.Position().Line, d.Message, d.Rule, d.Hint)
			}
		}
	}
	for _, m := range tourKey.FindAllStringSubmatchIndex(tour, -1) {
		if word := tour[m[4]:m[5]]; known[word] {
			n := len(word)
			mistyped := word[:n-2] + word[n-1:] + word[n-2:n-1]
			if mistyped == word {
				mistyped = word[:n-1]
			}
			try(m[4], m[5], mistyped)
		}
	}
	for _, m := range tourValue.FindAllStringSubmatchIndex(tour, -1) {
		try(m[4], m[5], " ")
	}
	if told < 350 {
		t.Errorf("only %d mistakes were told", told)
	}
}

// What is next to a part that could not be read is told all the same.
func TestOneMistakeHidesNoOther(t *testing.T) {
	t.Parallel()
	ships, _ := schema.Decode(diag.NewSource(builtins.Name, builtins.YAML()))
	for name, c := range map[string]struct {
		text string
		want []diag.Rule
	}{
		"an agent that is not there, and a route": {
			"version: 1\npipelines:\n  p:\n    phases:\n      - {id: a, agent: nobody, gates: [diff_matches_claims, nothing]}\n      - {id: b, run: x, route: [on fail -> a]}\n",
			[]diag.Rule{diag.UnknownAgent, diag.UnknownGate, diag.UnboundedLoop}},
		"two phases without a name, and a field": {
			"version: 1\npipelines:\n  p:\n    phases:\n      - {id: , run: x}\n      - {id: b, run: x}\n      - {id: c, run: x, when: phases.b.outptu == \"\"}\n",
			[]diag.Rule{diag.WrongType, diag.UnknownField}},
		"a list that is none, and a word": {
			"version: 1\nagents: none\npipelines:\n  p:\n    phases:\n      - {id: a, agent: mine}\n      - {id: b, run: x, route: [on failure -> next]}\n",
			[]diag.Rule{diag.WrongType, diag.RouteSyntax}},
	} {
		doc, found := schema.Decode(diag.NewSource("foundry.yaml", c.text))
		cat := graph.New(doc, ships, graph.Files{Path: "foundry.yaml"})
		found.Merge(cat.Lint())
		var got []diag.Rule
		for _, d := range found.Sorted() {
			got = append(got, d.Rule)
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v\n%s", name, got, c.want, findings(found))
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
		if g, _ := cat.Compile("p"); g != nil {
			t.Errorf("%s: compiles", name)
		}
	}
}
