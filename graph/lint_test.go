package graph_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"foundry/builtins"
	"foundry/diag"
	"foundry/graph"
	"foundry/schema"
)

// Fixtures carry what is expected on the line: `# want rule "text" rule "text"`. Every finding must be wanted,
// and everything wanted must be found.

var wanted = regexp.MustCompile(`([a-z-]+) ("(?:[^"\\]|\\.)*")`)

type want struct {
	line int
	rule string
	text string
}

func wants(t *testing.T, text string) []want {
	t.Helper()
	var out []want
	for i, line := range strings.Split(text, "\n") {
		_, comment, found := strings.Cut(line, "# want ")
		if !found {
			continue
		}
		for _, m := range wanted.FindAllStringSubmatch(comment, -1) {
			s, err := strconv.Unquote(m[2])
			if err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			out = append(out, want{i + 1, m[1], s})
		}
	}
	return out
}

func shipped(t testing.TB) *schema.Document {
	t.Helper()
	doc, list := schema.Decode(diag.NewSource(builtins.Name, builtins.YAML()))
	if list.HasErrors() {
		t.Fatalf("what ships does not decode: %v", list.Sorted()[0])
	}
	return doc
}

// lint is what a user would see of a file.
func lint(t testing.TB, text string) []diag.Diagnostic {
	t.Helper()
	doc, list := schema.Decode(diag.NewSource("foundry.yaml", text))
	c := graph.New(doc, shipped(t), graph.Files{Path: "foundry.yaml", Read: func(path string) (string, error) {
		return "", fmt.Errorf("no such file")
	}})
	list.Merge(c.Lint())
	return list.Sorted()
}

func fixtures(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("testdata/lint/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal("no fixtures")
	}
	out := map[string]string{}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(p)] = string(text)
	}
	return out
}

func TestLintFixtures(t *testing.T) {
	t.Parallel()
	for name, text := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left := wants(t, text)
			for _, d := range lint(t, text) {
				at := d.Span.Position().Line
				i := slices.IndexFunc(left, func(w want) bool {
					return w.line == at && w.rule == string(d.Rule) && strings.Contains(d.Message, w.text)
				})
				if i < 0 {
					t.Errorf("%d:%d: %s: %s [%s] was not wanted (hint: %s)", at, d.Span.Position().Column, d.Severity, d.Message, d.Rule, d.Hint)
					continue
				}
				left = slices.Delete(left, i, i+1)
				if d.Hint == "" && d.Rule != diag.BadGlob && d.Rule != diag.ExprType { // the message says it
					t.Errorf("%d: %s has no hint: %s", at, d.Rule, d.Message)
				}
				if strings.HasSuffix(d.Message, ".") || strings.HasSuffix(d.Hint, ".") && !strings.HasSuffix(d.Hint, "...") {
					t.Errorf("%d: a full stop: %s / %s", at, d.Message, d.Hint)
				}
			}
			for _, w := range left {
				t.Errorf("%d: %s %q was not found", w.line, w.rule, w.text)
			}
		})
	}
}

// owned are the rules that this package reports; each has a fixture.
var owned = []diag.Rule{diag.PhaseKind, diag.MissingKey, diag.WrongType, diag.UnknownAgent, diag.UnknownCommand, diag.UnknownGate,
	diag.UnknownPhase, diag.UnknownPipeline, diag.UnknownEnvelope, diag.UnknownField, diag.UnknownParam, diag.UnknownBuiltin,
	diag.UnknownHarness, diag.UnknownEnumValue, diag.ExprSyntax, diag.ExprType, diag.RouteSyntax, diag.UnboundedLoop, diag.NeedsLater,
	diag.DetourBack, diag.ReadsParallelPhase, diag.ReadsLaterPhase, diag.JumpSideways, diag.Cycle, diag.AcceptNever, diag.AcceptSkippable,
	diag.OptionalAsk, diag.GateConfig, diag.GateMismatch, diag.TemplateUnknown, diag.TemplateInShell, diag.BadGlob, diag.MissingFile, diag.Recursion,
	diag.FallbackCycle, diag.UnreachableRule, diag.UnreachablePhase, diag.DanglingPhase, diag.NeedsBypassesRoute, diag.FeedbackUnread,
	diag.ShellSyntax, diag.BoundaryProtected, diag.ArtifactOutsideBoundary, diag.VerdictThenWrite, diag.Unused}

func TestEveryRuleHasAFixture(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, text := range fixtures(t) {
		for _, w := range wants(t, text) {
			seen[w.rule] = true
		}
	}
	for _, r := range owned {
		if !seen[string(r)] {
			t.Errorf("no fixture wants %s", r)
		}
	}
}

func TestSeverityOfSkippable(t *testing.T) {
	t.Parallel()
	severity := map[string]diag.Severity{}
	for _, d := range lint(t, fixtures(t)["accept.yaml"]) {
		if d.Rule == diag.AcceptSkippable {
			severity[d.Message] = d.Severity
		}
	}
	for message, s := range severity {
		want := diag.Warning
		if strings.Contains(message, "human") {
			want = diag.Error
		}
		if s != want {
			t.Errorf("%s: %s, want %s", message, s, want)
		}
	}
	if len(severity) != 2 {
		t.Errorf("got %d findings, want 2", len(severity))
	}
}
