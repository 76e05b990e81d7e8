package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// These tests hold ARCHITECTURE.md to the code: what it lists is there, and what is there is listed.

func architecture(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(text), "\n"); lines > 250 {
		t.Errorf("ARCHITECTURE.md has %d lines; it is to be read in one sitting", lines)
	}
	return string(text)
}

// fenced is the code block of a section.
func fenced(text, heading string) string {
	_, section, _ := strings.Cut(text, "\n"+heading+"\n")
	_, block, _ := strings.Cut(section, "```\n")
	block, _, _ = strings.Cut(block, "```")
	return block
}

func TestArchitectureListsThePackages(t *testing.T) {
	t.Parallel()
	listed := regexp.MustCompile(`(?m)^([a-z/]+)/ +\S`).FindAllStringSubmatch(strings.SplitN(architecture(t), "## ", 2)[0], -1)
	var names []string
	for _, m := range listed {
		names = append(names, m[1])
		if info, err := os.Stat(filepath.FromSlash(m[1])); err != nil || !info.IsDir() {
			t.Errorf("%s is listed and not there", m[1])
		}
	}
	for pkg := range edges {
		if pkg != "." && !slices.Contains(names, pkg) {
			t.Errorf("package %s is not in the list of folders", pkg)
		}
	}
}

func TestArchitectureHasTheImports(t *testing.T) {
	t.Parallel()
	table := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(fenced(architecture(t), "## Who may import whom")), "\n") {
		from, to, ok := strings.Cut(line, " -> ")
		if !ok {
			t.Fatalf("not a row of the table: %q", line)
		}
		may := strings.Split(to, ", ")
		switch to {
		case "(std)":
			may = nil
		case "everything":
			may = []string{"*"}
		}
		for _, pkg := range strings.Split(from, ", ") {
			table[strings.Replace(pkg, "main", ".", 1)] = may
		}
	}
	for pkg, may := range edges {
		have, ok := table[pkg]
		if !ok {
			t.Errorf("%s is not in the table of imports", pkg)
		}
		if !slices.Equal(slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(may))) {
			t.Errorf("%s may import %v, and the table says %v", pkg, may, have)
		}
	}
	for pkg := range table {
		if _, ok := edges[pkg]; !ok {
			t.Errorf("%s is in the table of imports and in no row of edges", pkg)
		}
	}
}

func TestArchitectureGivesAReasonForEachLibrary(t *testing.T) {
	t.Parallel()
	text := architecture(t)
	for lib := range homes {
		if !strings.Contains(text, "\n| "+lib+" |") {
			t.Errorf("no reason is given for %s", lib)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\| (\S+\.\S+/\S+) \|`).FindAllStringSubmatch(text, -1) {
		if _, ok := homes[m[1]]; !ok {
			t.Errorf("%s has a row and nobody imports it", m[1])
		}
	}
}

// TestArchitectureNamesWhatIsThere finds each file and each name in code that the page speaks of.
func TestArchitectureNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	text := architecture(t)
	code, all := map[string]string{}, ""
	files := map[string]bool{}
	for _, s := range sources(t) {
		text, err := os.ReadFile(s.file)
		if err != nil {
			t.Fatal(err)
		}
		code[filepath.Base(s.pkg)] += string(text)
		all += string(text)
		files[filepath.ToSlash(s.file)] = true
		files[filepath.Base(s.file)] = true
	}
	for _, m := range regexp.MustCompile("`([a-z_/]+\\.(?:go|md|txtar))`").FindAllStringSubmatch(text, -1) {
		at, _ := filepath.Glob(filepath.Join("*", "*", m[1]))
		deeper, _ := filepath.Glob(m[1])
		script, _ := filepath.Glob(filepath.Join("testdata", "script", m[1]))
		if !files[m[1]] && len(at)+len(deeper)+len(script) == 0 {
			t.Errorf("the file %s is not there", m[1])
		}
	}
	for _, m := range regexp.MustCompile("`([A-Za-z]+)\\.([A-Za-z]+)`").FindAllStringSubmatch(text, -1) {
		of, name := m[1], m[2]
		if slices.Contains([]string{"go", "md", "txtar"}, name) || m[0] == "`os.Exit`" {
			continue
		}
		method := regexp.MustCompile(`func \(\w+ \*?` + of + `\) ` + name + `\(`)
		field := regexp.MustCompile(`(?s)type ` + of + ` struct \{[^}]*\b` + name + `\b`)
		member := regexp.MustCompile(`(?m)^(?:func|type|\t) ?` + name + `\b`)
		if !method.MatchString(all) && !field.MatchString(all) && !member.MatchString(code[of]) {
			t.Errorf("%s.%s is spoken of and not there", of, name)
		}
	}
}
