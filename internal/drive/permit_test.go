package drive

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"foundry/glob"
	"foundry/internal/harness"
)

func TestPermits(t *testing.T) {
	t.Parallel()
	base := resolved(t.TempDir())
	root := filepath.Join(base, "work")
	for _, d := range []string{"work/src", "work/docs", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"work/src/out": "../../elsewhere", "work/src/in": "../docs", "work/src/new": "../../elsewhere/new.txt", "work/src/loop": "loop", "top": "work"} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	bounds := glob.Boundary{Protect: []glob.Rule{{Glob: "**/*.lock", Why: "project.protect"}}, Writes: []glob.Layer{{Globs: []string{"src/**", "*.lock"}}}}
	for _, c := range []struct {
		kind   harness.ToolKind
		paths  string // from base
		policy string
		want   string // allow, ask, or words of the refusal
	}{
		{harness.Edit, "work/src/a.go", "deny", "allow"},
		{harness.Edit, "work/src/deep/er/a.go", "deny", "allow"},
		{harness.Edit, "top/src/a.go", "deny", "allow"},
		{harness.Edit, "work/.foundry-handoff/plan.md", "deny", "allow"},
		{harness.Edit, "work/docs/a.md", "allow", "not in writes"},
		{harness.Edit, "work/src/a.lock", "allow", "protected (**/*.lock in project.protect)"},
		{harness.Edit, "work/.git/config", "allow", "belongs to git"},
		{harness.Edit, "elsewhere/a.go", "allow", "outside the workspace"},
		{harness.Edit, "work/src/../../elsewhere/a.go", "allow", "outside the workspace"},
		{harness.Edit, "work/src/out/a.go", "allow", "outside the workspace"},
		{harness.Edit, "work/src/in/a.go", "allow", "docs/a.go: not in writes"},
		{harness.Edit, "work/src/new", "allow", "outside the workspace"},
		{harness.Edit, "work/src/loop", "deny", "allow"},
		{harness.Edit, "work/src/a.go work/docs/a.md", "allow", "not in writes"},
		{harness.Edit, "", "deny", "permissions: deny"},
		{harness.Edit, "", "allow", "allow"},
		{harness.Read, "work/docs/a.md", "deny", "allow"},
		{harness.Read, "work", "deny", "allow"},
		{harness.Read, "", "deny", "allow"},
		{harness.Read, "elsewhere/secret", "allow", "outside the workspace"},
		{harness.Think, "", "deny", "allow"},
		{harness.Execute, "", "deny", "permissions: deny"},
		{harness.Execute, "", "allow", "allow"},
		{harness.Execute, "", "ask", "ask"},
		{harness.Execute, "elsewhere/x", "allow", "outside the workspace"},
		{harness.Fetch, "", "deny", "permissions: deny"},
		{harness.Other, "", "ask", "ask"},
		{harness.Other, "elsewhere/x", "ask", "outside the workspace"},
	} {
		r := harness.Request{Tool: harness.Tool{Name: "Tool", Kind: c.kind}}
		for _, p := range strings.Fields(c.paths) {
			r.Tool.Paths = append(r.Tool.Paths, filepath.FromSlash(base+"/"+p))
		}
		d, ask := permits{root: root, boundary: bounds, policy: c.policy}.answer(r)
		got := d.Reason
		switch {
		case d.Allow:
			got = "allow"
		case ask:
			got = "ask"
		}
		if got != c.want && (c.want == "allow" || c.want == "ask" || !strings.Contains(got, c.want)) {
			t.Errorf("%s %q with %s: %q, want %q", c.kind, c.paths, c.policy, got, c.want)
		}
	}
}
