package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"foundry/diag"
	"foundry/docs"
	"foundry/gates"
)

// notTriggered are the rules whose bad example is prose, or is not found by the linter.
var notTriggered = map[diag.Rule]bool{
	diag.TooLarge: true, diag.Encoding: true, diag.Deprecated: true, diag.NotBuilt: true,
}

var shownExample = regexp.MustCompile("(?s)(Bad|Good):\n```yaml\n(.*?)```")

// TestRuleDocs runs the examples of docs/rules.md: the bad one of each rule has the finding, the good one has
// none that is an error, and not that one.
func TestRuleDocs(t *testing.T) {
	t.Parallel()
	for _, r := range diag.Rules() {
		text, ok := docs.Rule(string(r.Name))
		if !ok {
			t.Errorf("docs/rules.md has no section %s", r.Name)
			continue
		}
		if first, _, _ := strings.Cut(text, "\n"); !strings.HasSuffix(strings.TrimSpace(first), ".") || !strings.Contains(text, "\nWhy: ") {
			t.Errorf("%s: the section does not begin with a sentence, or has no Why", r.Name)
		}
		shown := map[string]string{}
		for _, m := range shownExample.FindAllStringSubmatch(text, -1) {
			shown[m[1]] = m[2]
		}
		if notTriggered[r.Name] {
			continue
		}
		if shown["Bad"] == "" || shown["Good"] == "" {
			t.Errorf("%s: no bad or no good example", r.Name)
			continue
		}
		if found := findingsOf(shown["Bad"]); !strings.Contains(found, "["+string(r.Name)+"]") {
			t.Errorf("%s: the bad example has these findings instead:\n%s", r.Name, found)
		}
		if found := findingsOf(shown["Good"]); strings.Contains(found, "["+string(r.Name)+"]") || strings.Contains(found, "error") {
			t.Errorf("%s: the good example has findings:\n%s", r.Name, found)
		}
	}
}

// TestGateDocs holds docs/gates.md to the table of gates, arguments included, and lints its examples.
func TestGateDocs(t *testing.T) {
	t.Parallel()
	for _, info := range gates.Table() {
		text, ok := docs.Gate(info.Name)
		if !ok {
			t.Errorf("docs/gates.md has no section %s", info.Name)
			continue
		}
		for _, arg := range info.Args {
			if !strings.Contains(text, "| `"+arg.Name+"` |") {
				t.Errorf("%s: the argument %s is not in the table", info.Name, arg.Name)
			}
		}
		_, code, ok := strings.Cut(text, "```yaml\n")
		code, _, _ = strings.Cut(code, "```")
		if found := findingsOf(code); !ok || strings.Contains(found, "error") {
			t.Errorf("%s: no example, or one with findings:\n%s", info.Name, found)
		}
	}
	whole, err := os.ReadFile("../../docs/gates.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(whole), "```yaml\n")
	code, _, _ = strings.Cut(code, "```")
	if found := findingsOf(code); strings.Contains(found, "error") {
		t.Errorf("the first example has findings:\n%s", found)
	}
}

// TestNoStraySections finds sections on what does not exist.
func TestNoStraySections(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, r := range diag.Rules() {
		known[string(r.Name)] = true
	}
	for _, g := range gates.Table() {
		known[g.Name] = true
	}
	for _, file := range []string{"../../docs/rules.md", "../../docs/gates.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(text), -1) {
			if !known[m[1]] {
				t.Errorf("%s: section %q is about nothing", file, m[1])
			}
		}
	}
}

// findingsOf lints an example: a whole file, sections of one, or the phases of a pipeline.
func findingsOf(code string) string {
	switch {
	case strings.HasPrefix(code, "- "):
		code = "version: 1\npipelines:\n  main:\n    phases:\n      " + strings.ReplaceAll(strings.TrimSuffix(code, "\n"), "\n", "\n      ") + "\n"
	case !strings.Contains(code, "version:"):
		code = "version: 1\n" + code
	}
	p := parse(code)
	found := p.findings
	if !p.doc.Broken {
		found.Merge(p.names.Lint())
	}
	var b strings.Builder
	diag.RenderText(&b, diag.Unsilenced(found.Sorted()), false)
	return b.String()
}
