package glob

import (
	"strings"
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, path string
		want          bool
	}{
		{"src/**", "src/a.go", true},
		{"src/**", "src/a/b/c.go", true},
		{"src/**", "srcs/a.go", false},
		{"src/**", "lib/src/a.go", false}, // anchored
		{"src/**/x.go", "src/x.go", true}, // ** matches none
		{"src/**/x.go", "src/a/b/x.go", true},
		{"**/x.go", "x.go", true},
		{"**", "a/b/c", true},
		{"*", "a/b", false},
		{"*", ".env", true}, // dot files match
		{"**", ".github/workflows/ci.yml", true},
		{"src/", "src/a/b.go", true},
		{"src/", "src/a.go", true},
		{"src/", "src", false}, // below, not itself
		{"src", "src/a.go", false},
		{"*.go", "A.GO", false},
		{"A.txt", "a.txt", false},
		{"{a,b}/*.go", "b/x.go", true},
		{"[ab].go", "b.go", true},
		{"[!ab].go", "b.go", false},
		{`\*.txt`, "*.txt", true},
		{`\*.txt`, "a.txt", false},
		{`\!x`, "!x", true},
		{"*", `back\slash`, true},
		{"src/*", "src/ü -> [x] ok.go", true},
		{"?", "ü", true},
		{"new*", "new\nline.txt", true},
		{"*", "caf\xe9", true},
		{":(top)a.txt", ":(top)a.txt", true}, // no pathspec magic
		{"[", "[", false},                    // not a glob
	} {
		if got := Match(tc.pattern, tc.path); got != tc.want {
			t.Errorf("Match(%q, %q) = %v, want %v", tc.pattern, tc.path, got, tc.want)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"**", "src/**", "src/", "*.go", "go.sum", "{a,b}/**", "src/.{env,local}", "[!a]*", `[\]/]x`, `\!x`, `a\ b`,
		`\*\*x`, "{src/**,docs/**}", ".github/**", "{a/b,c}", "...", "a..b", "[.][.]",
	} {
		if err := Validate(good); err != nil {
			t.Errorf("Validate(%q) = %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		"":           "empty",
		"!src/**":    "negated",
		"/src/**":    `write "src/**"`,
		"//":         "relative to the repository root",
		"./src/*":    `contains "."`,
		"src/./x":    `contains "."`,
		"a/../b":     `".."`,
		"..":         `".."`,
		"../x":       `".."`,
		"a//b":       "empty name",
		"src//":      "empty name",
		"[a":         "left open",
		"{a,b":       "left open",
		`a\`:         "left open",
		"{src/,b}":   "ends an alternative",
		"{b,src/}/x": "ends an alternative",
		"**.go":      "beside other characters",
		"src/**x/y":  "beside other characters",
		"a\x00b":     "NUL",
	} {
		err := Validate(bad)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate(%q) = %v, want %q", bad, err, want)
		}
	}
}

func TestMatchDoesNotBlowUp(t *testing.T) {
	t.Parallel()
	start := time.Now()
	path := strings.Repeat("a/", 200) + strings.Repeat("a", 200)
	for _, pattern := range []string{
		strings.Repeat("**/", 50) + "b", strings.Repeat("*a", 100) + "b", strings.Repeat("{a,aa}", 20) + "b",
	} {
		if Match(pattern, path) {
			t.Errorf("%q matched", pattern)
		}
	}
	if spent := time.Since(start); spent > 2*time.Second {
		t.Errorf("took %v", spent)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("src/**", "src/a.go")
	f.Add("{a/,b}[!x]", "b")
	f.Add(`\`, "[")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern) > 60 || len(path) > 200 {
			t.Skip()
		}
		if Match(pattern, path) && strings.HasPrefix(pattern, "src/") && !strings.HasPrefix(path, "src") {
			t.Errorf("%q matched %q outside its directory", pattern, path)
		}
		_ = Validate(pattern)
		b := Boundary{Protect: []Rule{{pattern, "project.protect"}}, Writes: []Layer{{Globs: []string{"**"}}}}
		if why, ok := b.Check(path); ok != (why == "") {
			t.Errorf("Check(%q) = %q, %v", path, why, ok)
		}
	})
}
