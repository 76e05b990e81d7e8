package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIgnores compares with what git check-ignore says of each path by itself.
func TestIgnores(t *testing.T) {
	t.Parallel()
	f := newRepo(t).open()
	repo := f.repo
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(repo.root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(".gitignore", "build/\n!build/keep.txt\n*.log\n!important.log\n/src/*.gen.go\ndocs/**/tmp\n\\#notes\ntrail\\ \nfoo[ab].txt\n")
	for _, name := range []string{"build/x", "build/keep.txt", "a.log", "important.log", "src/a.gen.go", "src/sub/a.gen.go", "docs/a/b/tmp/f", "#notes", "trail ", "fooa.txt", "foo[ab].txt", "other/build"} {
		write(name, "x\n")
	}
	write("nested/.gitignore", "*.o\n")
	write("nested/a.o", "x\n")
	write("forced.log", "x\n")
	f.sh(repo.root, "git add -f forced.log")
	if err := os.Symlink("nested", filepath.Join(repo.root, "link")); err != nil {
		t.Fatal(err)
	}
	ignores, err := repo.Ignores(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ignores.Close()
	want := map[string]bool{
		"build/x": true, "build/keep.txt": true, "build": true, "a.log": true, "important.log": false, "src/a.gen.go": true,
		"src/sub/a.gen.go": false, "docs/a/b/tmp/f": true, "#notes": true, "trail ": true, "fooa.txt": true, "foo[ab].txt": false,
		"other/build": false, // a file
		"nested/a.o":  true, "nested": false, "forced.log": false, "link/a.o": false, "not/there": false, "new\nline.log": true,
	}
	var paths []string
	for p := range want {
		paths = append(paths, p)
	}
	for round := range 2 {
		got, err := ignores.Ignored(paths)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range paths {
			if got[i] != want[p] {
				t.Errorf("round %d: %q ignored: %v", round, p, got[i])
			}
		}
	}
	write(".gitignore", "*.txt\n")
	ignores.Reload()
	got, err := ignores.Ignored([]string{"a.log", "fooa.txt"})
	if err != nil || got[0] || !got[1] {
		t.Errorf("after the rules changed: %v, %v", got, err)
	}
	many := make([]string, 50000)
	for i := range many {
		many[i] = strings.Repeat("d/", i%7) + "x.txt"
	}
	if got, err := ignores.Ignored(many); err != nil || len(got) != len(many) || !got[0] {
		t.Errorf("many paths: %d answers, %v", len(got), err)
	}
}
