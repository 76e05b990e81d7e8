package graph_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"foundry/diag"
	"foundry/glob"
	"foundry/graph"
	"foundry/schema"
)

// repository is a pipeline file, ci/foundry.yaml, with the files that it may reach.
func repository(t testing.TB, files map[string]string) (*graph.Catalogue, diag.List) {
	t.Helper()
	doc, list := schema.Decode(diag.NewSource("ci/foundry.yaml", files["ci/foundry.yaml"]))
	return graph.New(doc, shipped(t), graph.Files{Path: "ci/foundry.yaml",
		Read: func(path string) (string, error) {
			if text, ok := files[path]; ok {
				return text, nil
			}
			return "", errors.New("no such file")
		},
		List: func(pattern string) ([]string, error) {
			var out []string
			for name := range files {
				if glob.Match(pattern, name) {
					out = append(out, name)
				}
			}
			slices.Sort(out)
			return out, nil
		}}), list
}

func findings(list diag.List) string {
	var out []string
	for _, d := range list.Sorted() {
		out = append(out, fmt.Sprintf("%s:%d %s: %s", d.Span.Source.Name, d.Span.Position().Line, d.Rule, d.Message))
	}
	return strings.Join(out, "\n")
}

func TestIncludePrecedence(t *testing.T) {
	t.Parallel()
	c, list := repository(t, map[string]string{
		"ci/foundry.yaml": "version: 1\ninclude: [a.yaml, ../lib/b.yaml]\ncommands: {top: make mine}\npipelines: {p: {phases: [{id: a, command: top}, {id: b, command: middle}, {id: c, command: shared}]}}\n",
		"ci/a.yaml":       "version: 1\ninclude: [../lib/c.yaml]\ncommands: {top: make a, middle: make a}\n",
		"lib/b.yaml":      "version: 1\ninclude: [c.yaml]\n",
		"lib/c.yaml":      "version: 1\ncommands: {top: make c, middle: make c, shared: {run: make c, dir: sub}}\n",
	})
	list.Merge(c.Lint())
	if want := `lib/c.yaml:2 duplicate-id: command "middle" is defined in two included files`; findings(list) != want {
		t.Fatalf("b.yaml hands on what a.yaml defines anew:\n%s", findings(list))
	}
	c, list = repository(t, map[string]string{
		"ci/foundry.yaml": "version: 1\ninclude: [a.yaml, ../lib/b.yaml]\ncommands: {top: make mine}\npipelines: {p: {phases: [{id: a, command: top}, {id: b, command: middle}, {id: c, command: shared}]}}\n",
		"ci/a.yaml":       "version: 1\ninclude: [../lib/c.yaml]\ncommands: {top: make a, middle: make a}\n",
		"lib/b.yaml":      "version: 1\ninclude: [d.yaml]\n",
		"lib/c.yaml":      "version: 1\ninclude: [d.yaml]\ncommands: {top: make c, middle: make c}\n",
		"lib/d.yaml":      "version: 1\ncommands: {shared: {run: make d, dir: sub}}\n",
	})
	list.Merge(c.Lint())
	if list.Len() != 0 {
		t.Fatalf("a file reached on two ways is read once, and nothing included is unused:\n%s", findings(list))
	}
	g := compileNamed(t, c, "p")
	got := []string{g.Phases[0].Script.Shell, g.Phases[1].Script.Shell, g.Phases[2].Script.Shell, g.Phases[2].Dir}
	if !slices.Equal(got, []string{"make mine", "make a", "make d", "lib/sub"}) {
		t.Errorf("got %q", got)
	}
	for _, n := range c.Names() {
		if n.Kind != graph.CommandName {
			continue
		}
		place := map[string]string{"top": "ci/a.yaml", "middle": "lib/c.yaml", "shared": ""}[n.Name]
		if (place == "") != n.Replaces.IsZero() || place != "" && n.Replaces.Source.Name != place {
			t.Errorf("%s replaces %v, want %q", n.Name, n.Replaces, place)
		}
		if n.Included != (n.Name != "top") {
			t.Errorf("%s: included is %v", n.Name, n.Included)
		}
	}
	for _, path := range []string{"ci/foundry.yaml", "ci/a.yaml", "lib/b.yaml", "lib/c.yaml", "lib/d.yaml"} {
		if _, ok := g.Phases[0].Boundary.Check(path); ok {
			t.Errorf("%s can be written", path)
		}
	}
	if want := []string{"ci/a.yaml", "lib/b.yaml", "lib/c.yaml", "lib/d.yaml"}; !slices.Equal(c.Included(), want) {
		t.Errorf("included are %v", c.Included())
	}
}

// A pattern means other files, not the one it stands in, and no files of tests; new files that it would match are
// protected too.
func TestIncludePattern(t *testing.T) {
	t.Parallel()
	c, list := repository(t, map[string]string{
		"ci/foundry.yaml":          "version: 1\ninclude: [\"*.yaml\"]\n",
		"ci/a.yaml":                "version: 1\npipelines: {p: {phases: [{id: a, builtin: git_commit}]}}\n",
		"ci/a.foundry-test.yaml":   "tests: []\n",
		"elsewhere/foundry.yaml":   "version: 1\nnope: 1\n",
		"ci/below/unread/nope.yml": "nope: 1\n",
	})
	list.Merge(c.Lint())
	if list.Len() != 0 {
		t.Fatal(findings(list))
	}
	if name, ok := c.Default(); name != "p" || !ok {
		t.Errorf("the only pipeline is %q", name)
	}
	g := compileNamed(t, c, "p")
	if g.File != "ci/a.yaml" {
		t.Errorf("the pipeline's file is %q", g.File)
	}
	if _, ok := g.Phases[0].Boundary.Check("ci/new.yaml"); ok {
		t.Error("a new file that the pattern matches can be written")
	}
}

// What an included file would have defined is not called missing when the file cannot be read.
func TestIncludeFindings(t *testing.T) {
	t.Parallel()
	uses := "pipelines:\n  p:\n    extends: lost\n    phases:\n      - {id: a, agent: lost, gates: [lost]}\n      - {id: b, command: lost}\n"
	for name, test := range map[string]struct {
		file  string
		other string
		want  string
	}{
		"missing":      {"version: 1\ninclude: [none.yaml]\n" + uses, "", `ci/foundry.yaml:2 missing-file: "none.yaml" cannot be read: no such file`},
		"broken":       {"version: 1\ninclude: [other.yaml]\n" + uses, "version: [1\n", "ci/other.yaml:1 yaml-syntax: "},
		"no match":     {"version: 1\ninclude: ['x/*.yaml']\n" + uses, "", `ci/foundry.yaml:2 missing-file: "x/*.yaml" matches no file`},
		"outside":      {"version: 1\ninclude: [../../up.yaml]\n" + uses, "", `ci/foundry.yaml:2 missing-file: "../../up.yaml" is outside the repository`},
		"absolute":     {"version: 1\ninclude: [/etc/foundry.yaml]\n" + uses, "", `ci/foundry.yaml:2 missing-file: "/etc/foundry.yaml" is outside the repository`},
		"bad pattern":  {"version: 1\ninclude: ['a[.yaml']\n" + uses, "", "ci/foundry.yaml:2 bad-glob: "},
		"itself":       {"version: 1\ninclude: [foundry.yaml]\n", "", `ci/foundry.yaml:2 cycle: "ci/foundry.yaml" includes itself`},
		"in a circle":  {"version: 1\ninclude: [other.yaml]\n", "version: 1\ninclude: [foundry.yaml]\n", `ci/other.yaml:2 cycle: "ci/foundry.yaml" includes itself`},
		"default":      {"version: 1\ninclude: [other.yaml]\n", "version: 1\ndefault: plan\n", `ci/other.yaml:2 unknown-key: "default" has no place in a file that is included`},
		"own findings": {"version: 1\ninclude: [other.yaml]\n", "version: 1\ncommands: {a: {run: x, dir: ../..}}\n", `ci/other.yaml:2 missing-file: "../.." is outside the repository`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, list := repository(t, map[string]string{"ci/foundry.yaml": test.file, "ci/other.yaml": test.other})
			list.Merge(c.Lint())
			got := findings(list)
			if !strings.HasPrefix(got, test.want) || strings.Contains(got, "\n") {
				t.Errorf("got\n%s\nwant %s", got, test.want)
			}
			if strings.Contains(test.file, "pipelines") {
				if g, found := c.Compile("p"); g != nil || !found.HasErrors() {
					t.Error("it compiles all the same")
				}
			}
		})
	}
}
