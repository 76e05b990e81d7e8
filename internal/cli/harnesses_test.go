package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	"foundry/internal/drive"
	"foundry/internal/harness"
	"foundry/runner"
)

// needs are what a pipeline can want of a harness: the column of the documented table, how it is said in a file, and
// what the refusal says. Without a refusal the need is met in another way, which the text below the table says.
var needs = []struct{ column, agent, pipeline, refusal string }{
	{"remembers a conversation", "", "", ""},
	{"and in a new process", "", "", ""},
	{"asks for permission", "permissions: ask", "", "has no permission requests"},
	{"tells tokens", "", "limits: {tokens: 1000}", "a token limit cannot be kept"},
	{"tells cost", "", "limits: {cost: 1}", "a cost limit cannot be kept"},
	{"`effort`", "effort: high", "", ""},
	{"`tools`", "tools: {allow: [Read]}", "", "cannot keep tools to a list"},
	{"in a `sandbox`", "sandbox: {}", "", "cannot run in a sandbox"},
}

// What the documentation says that a harness cannot do is what a run that needs it is refused for, and nothing else is.
func TestHarnessesAreRefusedWhatTheyCannotDo(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/harnesses.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "<!-- generated: harnesses can -->\n")
	var columns []string
	seen := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if columns == nil {
			columns = cells
			for _, n := range needs {
				if !slices.Contains(columns, n.column) {
					t.Errorf("the table has no column %q", n.column)
				}
			}
			if len(columns) != len(needs)+1 {
				t.Fatalf("the table has %d columns, and %d needs are tried", len(columns)-1, len(needs))
			}
			continue
		}
		info, ok := harness.Find(strings.Trim(cells[0], "`"))
		if !ok {
			if strings.HasPrefix(line, "|---") {
				continue
			}
			break
		}
		seen++
		for _, n := range needs {
			can := cells[slices.Index(columns, n.column)]
			got := refused(t, info.Name, n.agent, n.pipeline)
			if n.refusal == "" {
				if len(got) > 0 {
					t.Errorf("%s, %s: refused for %q", info.Name, n.column, got)
				}
				continue
			}
			if (can == "no") != (len(got) > 0) || can != "no" && can != "yes" || len(got) > 0 && !strings.Contains(got[0], n.refusal) {
				t.Errorf("%s, %s: the table says %s, and a run is refused for %q", info.Name, n.column, can, got)
			}
		}
	}
	if seen != len(harness.Table()) {
		t.Errorf("the table has %d harnesses of %d", seen, len(harness.Table()))
	}
}

// refused is what keeps a pipeline from starting whose agent has a harness and wants something, its program aside.
func refused(t *testing.T, name, agent, pipeline string) []string {
	t.Helper()
	p := parse("version: 1\nagents:\n  coder:\n    harness: " + name + "\n    argv: [sh]\n    script: [{reply: x}]\n    envelope: generic\n    " + agent +
		"\npipelines:\n  p:\n    " + pipeline + "\n    phases: [{id: a, agent: coder, prompt: x}]\n")
	g, found := p.names.Compile("p")
	if g == nil {
		t.Fatalf("%s: %s", name, found.Sorted()[0].Message)
	}
	all := append(drive.Preflight(g, runner.RunInfo{}, "."), drive.SandboxProblems(g, drive.Ground{Top: t.TempDir(), Isolated: true}, func() error { return nil })...)
	var out []string
	for _, problem := range all {
		if strings.Contains(problem.Text, "bwrap") { // a program
			continue
		}
		out = append(out, problem.Text)
	}
	return out
}
