package glob

import "testing"

func TestBoundary(t *testing.T) {
	t.Parallel()
	src := Layer{Globs: []string{"src/**", "go.mod"}}
	protect := []Rule{{"go.sum", "project.protect"}, {"src/gen/", "agent builder"}}
	for name, tc := range map[string]struct {
		b    Boundary
		path string
		want string // "" is allowed
	}{
		"zero allows":             {Boundary{}, "any/where.txt", ""},
		"inside writes":           {Boundary{Writes: []Layer{src}}, "src/a.go", ""},
		"outside writes":          {Boundary{Writes: []Layer{src}}, "docs/a.md", `not in writes ["src/**", "go.mod"]`},
		"named layer":             {Boundary{Writes: []Layer{{[]string{"a/**"}, "writes of phase build"}}}, "b", `not in writes of phase build ["a/**"]`},
		"every layer must allow":  {Boundary{Writes: []Layer{src, {Globs: []string{"src/api/**"}}}}, "src/a.go", `not in writes ["src/api/**"]`},
		"both layers allow":       {Boundary{Writes: []Layer{src, {Globs: []string{"src/api/**"}}}}, "src/api/a.go", ""},
		"read-only":               {Boundary{Writes: []Layer{{Globs: []string{}}}}, "a", "read-only (writes: [])"},
		"read-only second layer":  {Boundary{Writes: []Layer{src, {}}}, "src/a.go", "read-only (writes: [])"},
		"protect beats writes":    {Boundary{Protect: protect, Writes: []Layer{{Globs: []string{"**"}}}}, "go.sum", "protected (go.sum in project.protect)"},
		"protect below directory": {Boundary{Protect: protect}, "src/gen/x.go", "protected (src/gen/ in agent builder)"},
		"git":                     {Boundary{Writes: []Layer{{Globs: []string{"**"}}}}, ".git/hooks/pre-commit", "protected (.git belongs to git)"},
		"git file":                {Boundary{}, ".git", "protected (.git belongs to git)"},
		"git in other case":       {Boundary{}, ".Git/config", "protected (.git belongs to git)"},
		"records":                 {Boundary{}, ".foundry/runs/x", "protected (.foundry belongs to Foundry)"},
		"worktrees":               {Boundary{}, ".foundry-worktrees/x/y", "protected (.foundry-worktrees belongs to Foundry)"},
		"not foundry's":           {Boundary{}, ".foundryrc", ""},
		"gitignore is a file":     {Boundary{}, ".gitignore", ""},
		"handoff when read-only":  {Boundary{Writes: []Layer{{}}}, ".foundry-handoff/notes.md", ""},
		"handoff when protected":  {Boundary{Protect: []Rule{{"**", "project.protect"}}}, ".foundry-handoff/notes.md", ""},
		"handoff lookalike":       {Boundary{Writes: []Layer{{}}}, ".foundry-handoffs/x", "read-only (writes: [])"},
		"out of handoff":          {Boundary{}, ".foundry-handoff/../src/a", "not a path inside the repository"},
		"absolute":                {Boundary{}, "/etc/passwd", "not a path inside the repository"},
		"parent":                  {Boundary{}, "../x", "not a path inside the repository"},
		"empty":                   {Boundary{}, "", "not a path inside the repository"},
		"case differs":            {Boundary{Writes: []Layer{{Globs: []string{"a.txt"}}}}, "A.txt", `not in writes ["a.txt"]`},
	} {
		why, ok := tc.b.Check(tc.path)
		if why != tc.want || ok != (tc.want == "") {
			t.Errorf("%s: Check(%q) = %q, %v; want %q", name, tc.path, why, ok, tc.want)
		}
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		b    Boundary
		want bool
	}{
		{Boundary{}, false},
		{Boundary{Writes: []Layer{{Globs: []string{"a"}}}}, false},
		{Boundary{Writes: []Layer{{}}}, true},
		{Boundary{Writes: []Layer{{Globs: []string{"a"}}, {}}}, true},
	} {
		if got := tc.b.ReadOnly(); got != tc.want {
			t.Errorf("ReadOnly(%v) = %v", tc.b, got)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	boundary := Boundary{
		Protect: []Rule{{".github/**", "project.protect"}, {"go.sum", "project.protect"}},
		Writes:  []Layer{{Globs: []string{"docs/**", "src/**", "go.mod"}}},
	}
	for b.Loop() {
		boundary.Check("src/internal/deep/er/file_test.go")
	}
}
