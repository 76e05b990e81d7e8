package drive

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"foundry/glob"
	"foundry/graph"
)

// oneAgent is a graph with an agent in a sandbox, and a phase in which it works.
func oneAgent(write []string, protect ...string) *graph.Graph {
	g := &graph.Graph{Agents: []graph.Agent{{Name: "a", Harness: "command", Sandbox: &graph.Sandbox{Write: write}}}, Phases: []graph.Phase{{Kind: graph.AgentWork}}}
	for _, p := range protect {
		g.Phases[0].Boundary.Protect = append(g.Phases[0].Boundary.Protect, glob.Rule{Glob: p, Why: "test"})
	}
	return g
}

// grounds makes a repository's directories, and names the rest of a world in which HOME and TMPDIR are beside it.
func grounds(t *testing.T, files ...string) (Ground, string) {
	t.Helper()
	world, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, "repo/.git/objects/x", "repo/.foundry/session/x", "home/.cache/x", "tmp/x") {
		p := filepath.Join(world, f)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	repo := filepath.Join(world, "repo")
	return Ground{Top: filepath.Join(world, "repo/.foundry-worktrees/run"), Isolated: true, Root: repo, Home: repo, Common: repo + "/.git", Session: repo + "/.foundry/session",
		Env: []string{"HOME=" + world + "/home", "TMPDIR=" + world + "/tmp"}}, world
}

func TestSandboxInTheWorkspace(t *testing.T) {
	t.Parallel()
	const tree = "repo/.foundry-worktrees/run/"
	for name, tc := range map[string]struct {
		protect []string
		files   []string
		inside  string // from the top
		narrow  string
		checked string
	}{
		"nothing is protected":     {nil, []string{"src/a"}, "", "", ""},
		"a file is protected":      {[]string{"go.sum", "**/*.pem"}, []string{"go.sum"}, "", "", "go.sum **/*.pem"},
		"a missing directory":      {[]string{".github/**"}, []string{"src/a"}, "", "", ".github/**"},
		"a directory":              {[]string{".github/**", "go.sum"}, []string{".github/x", ".git", "src/a", "b"}, "/b /src /.foundry-handoff", ".", "go.sum"},
		"a file in it":             {[]string{".github/", ".github/x"}, []string{".github/x", "b"}, "/b /.foundry-handoff", ".", ""},
		"one deep down":            {[]string{"a/b/c/**"}, []string{"a/b/c/x", "a/b/y", "a/z", "top"}, "/a/b/y /a/z /top /.foundry-handoff", ". a a/b", ""},
		"everything":               {[]string{"**"}, []string{"src/a"}, "/.foundry-handoff", "", ""},
		"the handoff area is free": {[]string{".foundry-handoff/**"}, []string{".foundry-handoff/x"}, "", "", ".foundry-handoff/**"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var files []string
			for _, f := range tc.files {
				files = append(files, tree+f)
			}
			at, _ := grounds(t, files...)
			s, err := SandboxOf(oneAgent(nil, tc.protect...), 0, at)
			if err != nil {
				t.Fatal(err)
			}
			var inside []string
			for _, p := range s.Inside {
				inside = append(inside, strings.TrimPrefix(p, at.Top))
			}
			got := [3]string{strings.Join(inside, " "), strings.Join(s.Narrow, " "), strings.Join(s.Checked, " ")}
			if want := [3]string{tc.inside, tc.narrow, tc.checked}; got != want || s.Whole != (tc.inside == "") {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestSandboxFollowsNoLinkOfTheAgent: a link in the place of what is granted would open what it leads to.
func TestSandboxFollowsNoLinkOfTheAgent(t *testing.T) {
	t.Parallel()
	at, world := grounds(t, "repo/.foundry-worktrees/run/.github/x", "home/secret/x", "home/mine/x")
	for _, link := range []string{at.Top + "/link", at.Top + "/build", world + "/home/.cache/tool", world + "/home/mine/in"} {
		if err := os.Symlink(world+"/home/secret", link); err != nil {
			t.Fatal(err)
		}
	}
	at.Env = append(at.Env, "GOCACHE="+world+"/home/.cache/tool")
	s, err := SandboxOf(oneAgent([]string{"build", "~/mine", "~/mine/in"}, ".github/**"), 0, at)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Paths() {
		if strings.Contains(p, "secret") || strings.HasSuffix(p, "/link") {
			t.Errorf("%s is granted", p)
		}
	}
}

func TestSandboxOutside(t *testing.T) {
	t.Parallel()
	at, world := grounds(t, "repo/.foundry-worktrees/run/a", "home/mine/x", "home/.claude/x", "home/.claude.json", "home/go/pkg/mod/x", "home/.npm/x", "home/.cargo/bin/x", "home/.cargo/registry/x", "home/.ssh/id")
	if err := os.Symlink("mine", world+"/home/led"); err != nil {
		t.Fatal(err)
	}
	g := oneAgent([]string{"~/led", world + "/home/missing"})
	g.Agents[0].Harness = "claude"
	list := func(at Ground) (out []string, temp string) {
		s, err := SandboxOf(g, 0, at)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Outside {
			if rel, ok := strings.CutPrefix(r.Path, world+"/"); ok {
				out = append(out, rel)
			}
		}
		return out, s.Temp
	}
	want := []string{"tmp", "home/mine", "home/.npm", "home/.cache", "home/go/pkg", "home/.claude", "repo/.git/objects", "home/.claude.json", "home/.cargo/registry", "repo/.foundry/session"}
	got, temp := list(at)
	if diff := cmp.Diff(want, got); diff != "" || temp != "" {
		t.Errorf("-want +got\n%s%s", diff, temp)
	}
	// A directory for temporary files that holds the repository would open all of it.
	at.Env[1] = "TMPDIR=" + world
	if got, temp := list(at); got[0] == "tmp" || temp != at.Session+"/tmp" {
		t.Errorf("%q, and temporary files in %q", got, temp)
	}
}

// TestSandboxInTheCheckout: without isolation the directories of git and of foundry are in the workspace.
func TestSandboxInTheCheckout(t *testing.T) {
	t.Parallel()
	at, world := grounds(t, "repo/src/a")
	at.Top, at.Isolated = at.Root, false
	s, err := SandboxOf(oneAgent(nil), 0, at)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{world + "/repo/src", world + "/repo/.foundry-handoff"}, s.Inside); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, p := range s.Paths() {
		if below(p, world+"/repo/.git/hooks") || below(p, world+"/repo/.foundry/runs") {
			t.Errorf("%s is granted", p)
		}
	}
}

// TestSandboxIsRefusedWhereItCannotBeKept has a system that cannot confine programs.
func TestSandboxIsRefusedWhereItCannotBeKept(t *testing.T) {
	t.Parallel()
	at, _ := grounds(t, "repo/.foundry-worktrees/run/a")
	cannot := func() error { return errors.New("only Linux can confine programs, and this is plan9") }
	found := SandboxProblems(oneAgent(nil), at, cannot)
	if len(found) != 1 || !strings.Contains(found[0].Text, "agent a: a sandbox cannot be had here: only Linux") || !strings.Contains(found[0].Fix, "take `sandbox` out") {
		t.Errorf("%+v", found)
	}
	g := oneAgent(nil)
	g.Agents[0].Sandbox = nil
	if found := SandboxProblems(g, at, cannot); len(found) > 0 {
		t.Errorf("nobody asked for a sandbox: %+v", found)
	}
	if found := SandboxProblems(oneAgent([]string{"build"}), at, func() error { return nil }); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}
