package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// edges says which packages of this module a package may import. ARCHITECTURE.md says why. An edge that is
// not here fails TestImports: a new one is a decision, not an accident.
var edges = map[string][]string{
	".":                   {"internal/cli"},
	"diag":                {"internal/terminal"},
	"builtins":            {},
	"docs":                {},
	"glob":                {},
	"secret":              {},
	"schema":              {"diag", "glob", "internal/lazyregexp"},
	"dsl":                 {"diag", "glob"},
	"envelope":            {"diag", "glob"},
	"gates":               {"diag", "glob", "internal/lazyregexp"},
	"graph":               {"schema", "dsl", "gates", "envelope", "glob", "diag"},
	"runner":              {"graph", "gates", "envelope", "dsl", "glob", "diag", "internal/lazyregexp"},
	"internal/process":    {"secret"},
	"internal/workspace":  {"internal/process", "internal/filestat", "internal/atomicfile", "internal/lazyregexp", "glob"},
	"internal/harness":    {"internal/process", "internal/lazyregexp", "internal/terminal", "diag", "secret"},
	"internal/fakemodel":  {},
	"internal/journal":    {"runner", "secret", "internal/filestat", "internal/atomicfile"},
	"internal/report":     {"runner", "graph", "gates", "diag", "internal/terminal"},
	"internal/check":      {"runner", "graph", "schema", "dsl", "gates", "envelope", "diag", "internal/lazyregexp", "internal/terminal"},
	"internal/live":       {"runner", "graph", "internal/report"},
	"internal/watch":      {"internal/filestat"},
	"internal/filestat":   {},
	"internal/atomicfile": {},
	"internal/seed":       {},
	"internal/terminal":   {},
	"internal/lazyregexp": {},
	"internal/lsp":        {"schema", "graph", "diag", "internal/lazyregexp"},
	"internal/drive":      {"runner", "graph", "gates", "envelope", "dsl", "glob", "secret", "internal/workspace", "internal/harness", "internal/process", "internal/journal", "internal/atomicfile", "internal/filestat"},
	"internal/cli":        {"*"},
}

// pure are the packages that touch no clock, disk, process, network or chance.
var pure = []string{"diag", "schema", "dsl", "glob", "secret", "envelope", "gates", "graph", "runner", "builtins", "docs", "internal/lazyregexp", "internal/terminal"}

// impure are the standard packages that a pure one may not import. Reading embedded files is no effect.
var impure = []string{"os", "os/exec", "os/signal", "os/user", "net", "net/http", "math/rand", "math/rand/v2", "crypto/rand", "syscall", "log", "path/filepath", "io/ioutil"}

// homes says through which one package a library enters.
var homes = map[string]string{
	"gopkg.in/yaml.v3":                     "schema",
	"github.com/alecthomas/participle/v2":  "dsl",
	"github.com/expr-lang/expr":            "dsl",
	"github.com/bmatcuk/doublestar/v4":     "glob",
	"github.com/urfave/cli/v2":             "internal/cli",
	"github.com/gofrs/flock":               "internal/journal",
	"github.com/coder/acp-go-sdk":          "internal/harness",
	"github.com/landlock-lsm/go-landlock":  "internal/process",
	"github.com/fsnotify/fsnotify":         "internal/watch",
	"charm.land/bubbletea/v2":              "internal/live",
	"charm.land/lipgloss/v2":               "internal/live",
	"github.com/charmbracelet":             "internal/live",
	"github.com/clipperhouse/displaywidth": "internal/terminal",
	"golang.org/x/term":                    "internal/cli",
	"github.com/hashicorp/go-multierror":   "*",
	"golang.org/x/sys":                     "*",
}

// source is one file of the module, as far as imports go.
type source struct {
	pkg, file string
	imports   []string
}

func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	err := filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "testdata" || (strings.HasPrefix(e.Name(), ".") && name != ".")):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		s := source{pkg: path.Dir(filepath.ToSlash(name)), file: name}
		for _, i := range f.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			s.imports = append(s.imports, p)
		}
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("only %d files were found: the walk is broken", len(out))
	}
	return out
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		allowed, known := edges[s.pkg]
		if !known {
			t.Errorf("%s: package %s has no row in edges", s.file, s.pkg)
			continue
		}
		for _, imp := range s.imports {
			inner, ours := strings.CutPrefix(imp, "foundry/")
			if ours && !slices.Contains(allowed, inner) && !slices.Contains(allowed, "*") {
				t.Errorf("%s: %s may not import %s", s.file, s.pkg, inner)
			}
			if slices.Contains(pure, s.pkg) && slices.Contains(impure, imp) {
				t.Errorf("%s: %s is pure and may not import %s", s.file, s.pkg, imp)
			}
			if s.pkg != "internal/fakemodel" && (imp == "net" || imp == "net/http") {
				t.Errorf("%s: %s may not import %s: the program talks to nobody, and would start a twentieth slower", s.file, s.pkg, imp)
			}
		}
	}
}

func TestLibrariesEnterThroughOnePackage(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, s := range sources(t) {
		for _, imp := range s.imports {
			if !strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
				continue
			}
			lib := ""
			for known := range homes {
				if (imp == known || strings.HasPrefix(imp, known+"/")) && len(known) > len(lib) {
					lib = known
				}
			}
			switch {
			case lib == "":
				t.Errorf("%s: %s has no row in homes", s.file, imp)
			case homes[lib] != "*" && homes[lib] != s.pkg:
				t.Errorf("%s: %s enters through %s only", s.file, lib, homes[lib])
			}
			used[lib] = true
		}
	}
	for lib := range homes {
		if !used[lib] {
			t.Errorf("%s has a row in homes and nobody imports it", lib)
		}
	}
}

// TestPureCodeHasNoClock looks for the calls that an import list cannot show.
func TestPureCodeHasNoClock(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !slices.Contains(pure, s.pkg) {
			continue
		}
		text, err := os.ReadFile(s.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{"time.Now(", "time.Since(", "time.Sleep(", "time.After(", "time.NewTimer("} {
			if strings.Contains(string(text), call) {
				t.Errorf("%s: %s is pure and calls %s)", s.file, s.pkg, call)
			}
		}
	}
}

func TestOnlyMainExits(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		text, err := os.ReadFile(s.file)
		if err != nil {
			t.Fatal(err)
		}
		if s.file != "main.go" && strings.Contains(string(text), "os.Exit(") {
			t.Errorf("%s: os.Exit below main", s.file)
		}
	}
}
