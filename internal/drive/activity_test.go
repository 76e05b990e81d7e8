package drive

import (
	"slices"
	"strings"
	"testing"

	"foundry/internal/harness"
	"foundry/runner"
	"foundry/secret"
)

// Words that come in pieces are one note, each use of a tool is one by itself, nothing is secret, and nothing comes when
// the turn has ended.
func TestTeller(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var got []string
	var tools []runner.Tool
	spent := 0
	mask := secret.New([]secret.Value{{Name: "TOKEN", Text: "hunter2hunter2"}})
	seen := newTeller(runner.Event{Kind: runner.Activity, Phase: "build", Visit: 2, Turn: 3}, root, mask,
		func(e runner.Event) {
			if e.Phase != "build" || e.Visit != 2 || e.Turn != 3 {
				t.Errorf("the note is not of its turn: %+v", e)
			}
			if warned := e.Kind == runner.Warned; warned != strings.HasPrefix(e.Text, "the same call") || !warned && e.Kind != runner.Activity {
				t.Errorf("the note is another one: %+v", e)
			}
			got = append(got, strings.TrimSpace(e.Outcome+" "+e.Text))
			if e.Tool != nil {
				tools = append(tools, *e.Tool)
			}
		}, func(harness.Usage) { spent++ })
	edit := harness.Tool{Name: "Edit", Kind: harness.Edit, Paths: []string{root + "/src/a.go", "/etc/passwd"}}
	run := harness.Tool{Name: "Bash", Kind: harness.Execute, Command: "curl -H hunter2hunter2\n" + strings.Repeat("é", 3000)}
	for _, a := range []harness.Activity{
		{Kind: harness.SaidText, Text: "I look"}, {Kind: harness.SaidText, Text: "at hunter2hunter2."}, {Kind: harness.PrintedOutput, Text: "noise"},
		{Kind: harness.CalledTool, Tool: edit}, {Kind: harness.GotResult, Tool: edit, Text: "fine"},
		{Kind: harness.CalledTool, Tool: run}, {Kind: harness.GotResult, Tool: edit, Text: "no such file\nat all", Failed: true},
		{Kind: harness.AskedPermission, Tool: harness.Tool{Name: "Fetch", Kind: harness.Fetch}, Text: "Fetch a page", Failed: true},
		{Kind: harness.GoesRound, Tool: run, Text: "the same call: curl hunter2hunter2"},
		{Kind: harness.Metered}, {Kind: harness.SaidText, Text: "done"},
	} {
		seen.activity(a)
	}
	seen.end()
	seen.activity(harness.Activity{Kind: harness.CalledTool, Tool: run})
	if len(got) != 7 || !strings.HasPrefix(got[2], "Bash curl -H [secret TOKEN] éé") || len(got[2]) > mostOfWords+len("…") {
		t.Fatalf("got %q", got)
	}
	got[2] = ""
	want := []string{"I look at [secret TOKEN].", "Edit src/a.go, /etc/passwd", "", "failed Edit src/a.go, /etc/passwd failed: no such file", "refused refused: Fetch a page", "the same call: curl [secret TOKEN]", "done"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if len(tools) != 4 || !slices.Equal(tools[0].Paths, []string{"src/a.go", "/etc/passwd"}) || !strings.HasPrefix(tools[1].Command, "curl -H [secret TOKEN]\n") {
		t.Errorf("tools are %+v", tools)
	}
	if spent > 0 {
		t.Error("what a turn that ended has spent was told besides its end")
	}
}
