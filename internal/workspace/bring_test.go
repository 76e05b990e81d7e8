package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// TestBring brings names back that git, a shell or a pattern would read as something else, and loses nothing.
func TestBring(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	write := func(name, text string) {
		t.Helper()
		full := filepath.Join(f.root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o777), os.WriteFile(full, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"plain", "a*b", ":(glob)x", "-f", "line\nbreak", "quo\"te", "dir/[x]"}
	if runtime.GOOS == "linux" { // elsewhere a name is text
		names = append(names, "\xff\xfe")
	}
	for _, name := range names {
		write(name, "then "+name)
	}
	f.sh(f.root, "git add -A; git commit -qm then")
	then := f.sh(f.root, "git rev-parse 'HEAD^{tree}'")
	for _, name := range names {
		write(name, "committed since")
	}
	f.sh(f.root, "git commit -qam since")
	write("plain", "in no commit")
	r := f.open().repo
	is := func(name, want string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(f.root, name)); err != nil || string(got) != want {
			t.Errorf("%q holds %q, want %q (%v)", name, got, want, err)
		}
	}
	for _, name := range names[1:] {
		done, err := r.Bring(ctx, BringSpec{Run: "run_1", Tree: then, Path: name})
		if err != nil || !slices.Equal(done.Written, []string{name}) || done.Kept != "" {
			t.Errorf("%q: %+v, %v", name, done, err)
		}
		is(name, "then "+name)
	}
	is("plain", "in no commit")

	// All of it: one file is in no commit, so nothing is touched; and with Replace it is kept.
	write("a*b", "committed since")
	var blocked *BlockedError
	if _, err := r.Bring(ctx, BringSpec{Run: "run_1", Tree: then}); !errors.As(err, &blocked) || !slices.Equal(blocked.Paths, []string{"plain"}) {
		t.Errorf("not refused: %v", err)
	}
	is("a*b", "committed since")
	done, err := r.Bring(ctx, BringSpec{Run: "run_1", Tree: then, Replace: true})
	if err != nil || !slices.Equal(done.Written, []string{"a*b", "plain"}) || done.Kept == "" {
		t.Fatalf("%+v, %v", done, err)
	}
	is("plain", "then plain")
	if kept := f.sh(f.root, "git cat-file blob "+done.Kept+":plain"); kept != "in no commit" {
		t.Errorf("%s holds %q", done.Kept, kept)
	}
	if _, err := r.Bring(ctx, BringSpec{Run: "run_1", Tree: then, Path: "dir/x"}); !errors.Is(err, ErrNoSuchPath) {
		t.Errorf("a path that is none: %v", err)
	}
}
