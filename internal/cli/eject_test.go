package cli

import (
	"strings"
	"testing"

	"foundry/builtins"
	"foundry/diag"
	"foundry/graph"
)

// parse reads a text as the pipeline file of a repository without other files.
func parse(text string) *project {
	return newProject(".", "", "foundry.yaml", diag.NewSource("foundry.yaml", text), nil)
}

func TestInsert(t *testing.T) {
	t.Parallel()
	block := "# mark\n# about\nplan:\n  phases: []\n"
	for _, tt := range []struct {
		name, text, want string
		line             int
		err              string
	}{
		{name: "empty", text: "", want: "pipelines:\n  # mark\n  # about\n  plan:\n    phases: []\n", line: 4},
		{name: "no section", text: "version: 1\n", want: "version: 1\n\npipelines:\n  # mark\n  # about\n  plan:\n    phases: []\n", line: 6},
		{name: "no line break at the end", text: "version: 1", want: "version: 1\n\npipelines:\n  # mark\n  # about\n  plan:\n    phases: []\n", line: 6},
		{name: "empty section", text: "version: 1\npipelines: # none yet\n", want: "version: 1\npipelines: # none yet\n  # mark\n  # about\n  plan:\n    phases: []\n", line: 5},
		{name: "between sections",
			text: "pipelines:\n    a:\n        phases: []\n    # the last word\n\n# about agents\nagents:\n    b: {}\n",
			want: "pipelines:\n    a:\n        phases: []\n    # the last word\n\n    # mark\n    # about\n    plan:\n      phases: []\n\n# about agents\nagents:\n    b: {}\n", line: 8},
		{name: "right before a section",
			text: "\"pipelines\":\n  a:\n    phases: []\nagents:\n",
			want: "\"pipelines\":\n  a:\n    phases: []\n\n  # mark\n  # about\n  plan:\n    phases: []\n\nagents:\n", line: 7},
		{name: "block text with blank lines",
			text: "pipelines:\n  a:\n    description: |\n      x\n\n      agents:\n\nversion: 1\n",
			want: "pipelines:\n  a:\n    description: |\n      x\n\n      agents:\n\n  # mark\n  # about\n  plan:\n    phases: []\n\nversion: 1\n", line: 10},
		{name: "CRLF", text: "version: 1\r\npipelines:\r\n  a: {}\r\n",
			want: "version: 1\r\npipelines:\r\n  a: {}\r\n\r\n  # mark\r\n  # about\r\n  plan:\r\n    phases: []\r\n", line: 7},
		{name: "end of document", text: "version: 1\n...\n", want: "version: 1\n\npipelines:\n  # mark\n  # about\n  plan:\n    phases: []\n\n...\n", line: 6},
		{name: "flow", text: "pipelines: {a: {phases: []}}\n", err: "lines of their own"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, line, err := insert(tt.text, "pipelines", block)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Fatalf("error %v\ngot:\n%q\nwant:\n%q", err, got, tt.want)
			}
			if named := strings.Split(got, "\n")[line-1]; strings.TrimSpace(named) != "plan:" {
				t.Errorf("line %d is %q", line, named)
			}
		})
	}
}

// TestEjectAll ejects everything that ships, one after the other, into one file, and compiles each pipeline of it.
func TestEjectAll(t *testing.T) {
	t.Parallel()
	text := "# mine\nversion: 1\ncommands:\n  test: go test ./...\n"
	for _, n := range newProject(".", "", "", nil, nil).names.Names() {
		section := sectionOf(n.Kind)
		if section == "" {
			continue
		}
		block, ok := definition(builtins.YAML(), section, n.Name)
		if !ok {
			t.Fatalf("%s %s has no text", n.Kind, n.Name)
		}
		if !strings.HasPrefix(block, "# ") {
			t.Errorf("%s %s has no comment above it", n.Kind, n.Name)
		}
		next, _, err := insert(text, section, ejectMark(n.Name, block)+"\n"+block)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkInsertion(parse(text), n.Kind, n.Name, next); err != nil {
			t.Fatalf("%s %s: %v", n.Kind, n.Name, err)
		}
		text = next
	}
	p := parse(text)
	if list := p.names.Lint(); p.findings.HasErrors() || list.HasErrors() {
		t.Fatalf("findings: %v %v", p.findings.Sorted(), list.Sorted())
	}
	for _, n := range p.names.Names() {
		if sectionOf(n.Kind) == "" {
			continue
		}
		if !n.Shadows || p.outdated(n) {
			t.Errorf("%s %s: shadows %v, outdated %v", n.Kind, n.Name, n.Shadows, p.outdated(n))
		}
	}
}

func TestOutdated(t *testing.T) {
	t.Parallel()
	block, _ := definition(builtins.YAML(), "agents", "builder")
	old := ejectMark("builder", "# another text\n"+block) + "\n" + block
	text, _, err := insert("version: 1\n", "agents", old)
	if err != nil {
		t.Fatal(err)
	}
	p := parse(text)
	for _, n := range p.names.Names() {
		if n.Kind == graph.AgentName && n.Name == "builder" && !p.outdated(n) {
			t.Error("a copy of another text is not outdated")
		}
	}
}

// TestCheckInsertion refuses a result that means something else than the file and the builtin together.
func TestCheckInsertion(t *testing.T) {
	t.Parallel()
	text := "version: 1\npipelines:\n  mine:\n    phases:\n      - {id: a, run: x}\n"
	block, _ := definition(builtins.YAML(), "pipelines", "scout")
	good, _, err := insert(text, "pipelines", block)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ text, want string }{
		"as it is":         {good, ""},
		"invalid":          {good + "\n  [", "would not be valid"},
		"the copy differs": {strings.Replace(good, "agent: scout", "agent: reviewer", 1), "the copy would not mean"},
		"the rest differs": {strings.Replace(good, "run: x", "run: y", 1), "the rest of the file would mean"},
		"not there":        {text, "would not be found again"},
	} {
		err := checkInsertion(parse(text), graph.PipelineName, "scout", tt.text)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
}

// FuzzInsert puts a definition into texts of all kinds: what was there stays, in order, around what was added.
func FuzzInsert(f *testing.F) {
	for _, text := range []string{"", "version: 1\n", "pipelines:\n  a: {}\n\nagents:\n", "pipelines: {}\n", "a\r\npipelines:\r\n", "...\n", "\t\n- x\npipelines:\n#"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, line, err := insert(text, "pipelines", "# about\nplan:\n  phases: []\n")
		if err != nil {
			return
		}
		lines := strings.Split(got, "\n")
		if line < 1 || line > len(lines) || strings.TrimSpace(lines[line-1]) != "plan:" {
			t.Fatalf("line %d of %q is not the definition", line, got)
		}
		prefix := 0
		for prefix < len(text) && prefix < len(got) && text[prefix] == got[prefix] {
			prefix++
		}
		rest := text[prefix:]
		if !strings.HasSuffix(got, rest) && !strings.HasSuffix(strings.TrimRight(got, "\r\n"), rest) { // a last line gets its line break
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// FuzzDefinition looks for a definition in texts of all kinds.
func FuzzDefinition(f *testing.F) {
	f.Add("agents:\n  # about\n  a:\n    x: 1\n\n  b: {}\n", "a")
	f.Add("agents:\n\ta: 1\n", "a")
	f.Fuzz(func(t *testing.T, text, name string) {
		block, ok := definition(text, "agents", name)
		if !ok {
			return
		}
		for _, line := range strings.Split(block, "\n") {
			if keyOf(line) == name && indentOf(line) == 0 {
				return
			}
		}
		t.Fatalf("%q has no line for %q", block, name)
	})
}
