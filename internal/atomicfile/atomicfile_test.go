package atomicfile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	type writer func(path string, data []byte, perm os.FileMode) error
	for name, write := range map[string]writer{
		"plain":  Write,
		"synced": WriteSynced,
		"among": func(path string, data []byte, perm os.FileMode) error {
			return WriteAmong("tmp_obj_*", path, data, perm)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path, other := filepath.Join(dir, "a"), filepath.Join(dir, "other")
			if err := os.WriteFile(other, []byte("other"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, step := range []struct {
				before func() error
				data   string
				perm   os.FileMode
			}{
				{nil, "new", 0o600},
				{nil, "in place of another", 0o666}, // whatever the umask is
				{nil, "", 0o444},
				{nil, "in place of one that cannot be written", 0o755},
				{func() error { return os.Remove(path) }, "in place of nothing", 0o640},
				{func() error { os.Remove(path); return os.Symlink(other, path) }, "in place of a link", 0o600},
			} {
				if step.before != nil {
					if err := step.before(); err != nil {
						t.Fatal(err)
					}
				}
				if err := write(path, []byte(step.data), step.perm); err != nil {
					t.Fatal(err)
				}
				info, err := os.Lstat(path)
				if err != nil {
					t.Fatal(err)
				}
				if runtime.GOOS != "windows" && info.Mode() != step.perm {
					t.Errorf("%q has the mode %s, want %s", step.data, info.Mode(), step.perm)
				}
				if got := read(t, path); got != step.data {
					t.Errorf("%q was written as %q", step.data, got)
				}
			}
			if got := read(t, other); got != "other" {
				t.Errorf("what the link led to is %q", got)
			}
			only(t, dir, "a", "other")
		})
	}
}

// TestWriteThatFails leaves what was there, and nothing beside it.
func TestWriteThatFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	if err := os.MkdirAll(filepath.Join(full, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		Write(full, []byte("in place of a directory"), 0o600),
		WriteSynced(full, []byte("in place of a directory"), 0o600),
		Write(filepath.Join(dir, "none", "a"), nil, 0o600),
	} {
		if err == nil {
			t.Error("no error")
		}
	}
	only(t, dir, "full")
	only(t, full, "x")
}

func TestIsTemporary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.CreateTemp(dir, temporary+"*") // a writer that was killed
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "whole"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, temporary+"1"), 0o700); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		if got, want := IsTemporary(e), e.Name() == filepath.Base(f.Name()); got != want {
			t.Errorf("%s: %t", e.Name(), got)
		}
	}
}

func TestSyncDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := SyncDir(dir); err != nil {
		t.Error(err)
	}
	if err := SyncDir(filepath.Join(dir, "none")); err == nil {
		t.Error("a directory that is not there was synced")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range entries {
		if i >= len(names) || e.Name() != names[i] {
			t.Errorf("%s holds %s", dir, e.Name())
		}
	}
	if len(entries) < len(names) {
		t.Errorf("%s holds %d entries, want %d", dir, len(entries), len(names))
	}
}
