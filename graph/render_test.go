package graph_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"foundry/graph"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestRenderers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"tdd", "nested", "triage"} {
		g := compile(t, pipeline(t, name))
		golden(t, name+".txt", g.Text())
		golden(t, name+".mmd", g.Mermaid())
		golden(t, name+".dot", g.DOT())
	}
	g := compile(t, pipeline(t, "nested"))
	g.Fingerprint = "FINGERPRINT"
	for i := range g.Phases {
		g.Phases[i].Fingerprint = "OF " + g.Phases[i].Name
	}
	text, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "nested.json", string(text)+"\n")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update rewrites it); got\n%s", path, got)
	}
}

// TestDrawingsAreQuoted puts what the two languages would read as markup into every text that is drawn.
func TestDrawingsAreQuoted(t *testing.T) {
	t.Parallel()
	g := compile(t, `version: 1
pipelines:
  p:
    phases:
      - id: a
        run: 'echo "<b>" \ | cat; # x'
        route:
          - 'on pass when output contains "\"; -> <x>" -> finish'
`)
	if s := g.Mermaid(); strings.Contains(strings.ReplaceAll(s, "<br/>", ""), "<") || strings.Count(s, `"`)%2 != 0 {
		t.Errorf("mermaid is not quoted:\n%s", s)
	}
	if s := g.DOT(); !strings.Contains(s, `echo \"<b>\" \\ | cat`) {
		t.Errorf("dot is not quoted:\n%s", s)
	}
}

// TestFingerprints changes one thing at a time and looks which fingerprints change with it.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	base := pipeline(t, "tdd")
	before := compile(t, base)
	tests := []struct {
		name, old, new string
		graph          bool
		phases         string // whose fingerprint changes
	}{
		{"the same", "", "", false, ""},
		{"moved", "pipelines:", "\n# a comment\npipelines:", false, ""},
		{"a route", "-> code retry 1", "-> code retry 2", true, ""},
		{"a limit", "turns: 20", "turns: 21", true, ""},
		{"acceptance", `passed("green") && approved`, `approved`, true, ""},
		{"a command", "test: go test ./...", "test: go test -race ./...", true, "green"},
		{"a gate", "go vet ./...", "staticcheck", true, "code"},
		{"an agent", `"**/*_test.go"], script`, `"**/*_test.go", "x"], script`, true, "write_test code"},
		{"a sandbox", `"**/*_test.go"], script`, `"**/*_test.go"], sandbox: {write: [/opt]}, script`, true, "write_test code"},
		{"an input", "[request, write_test]", "[write_test]", true, "code"},
		{"a message", "envelope:code.commit_message", "envelope:code.summary", true, "commit"},
		{"exit codes", "exit_codes: nonzero", "exit_codes: [1]", true, "red"},
		{"an id", "id: commit,", "id: save,", true, "save review"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.old != "" && !strings.Contains(base, tt.old) {
				t.Fatalf("%q is not in the file", tt.old)
			}
			after := compile(t, strings.ReplaceAll(base, tt.old, tt.new))
			if tt.old == "" {
				after = compile(t, base)
			}
			var changed []string
			for i := range after.Phases {
				if after.Phases[i].Fingerprint != before.Phases[i].Fingerprint {
					changed = append(changed, after.Phases[i].Name)
				}
			}
			if got := strings.Join(changed, " "); got != tt.phases {
				t.Errorf("changed: %q, want %q", got, tt.phases)
			}
			if changed := after.Fingerprint != before.Fingerprint; changed != tt.graph {
				t.Errorf("the graph's fingerprint changed: %v, want %v", changed, tt.graph)
			}
		})
	}
	if len(before.Fingerprint) != 32 || before.Fingerprint == before.Phases[0].Fingerprint {
		t.Errorf("fingerprints %q and %q", before.Fingerprint, before.Phases[0].Fingerprint)
	}
	seen := map[string]string{}
	for i := range before.Phases {
		ph := &before.Phases[i]
		if other, twice := seen[ph.Fingerprint]; twice {
			t.Errorf("%s and %s share a fingerprint", other, ph.Name)
		}
		seen[ph.Fingerprint] = ph.Name
	}
	var _ json.Marshaler = (*graph.Graph)(nil)
}
