package drive

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"foundry/internal/workspace"
)

// TestDigests has files read again exactly when they may hold something else. What a file holds decides, however it was
// changed.
func TestDigests(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("nothing is remembered here")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var s Digests
	later := time.Second // by which the clock is ahead of when the file was touched
	look := func() string {
		t.Helper()
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.of(dir, []string{"*.txt"}, func() time.Time { return changedAt(t, info).Add(later) })
		if err != nil {
			t.Fatal(err)
		}
		return got["a.txt"]
	}
	write("one")
	one := look()
	if look(); s.reads != 2 {
		t.Errorf("a file that was just written was read %d times in two looks", s.reads)
	}
	later = time.Minute
	if look(); look() != one || s.reads != 3 {
		t.Errorf("a file that nobody touched was read %d times", s.reads)
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{one: true}
	for _, c := range []struct {
		name   string
		change func()
		seen   bool
	}{
		{"of the same size, the time of writing set back", func() {
			is := before
			for changedAt(t, is) == changedAt(t, before) { // within one step of the clock nobody could tell
				write("two")
				if err := os.Chtimes(file, before.ModTime(), before.ModTime()); err != nil {
					t.Fatal(err)
				}
				if is, err = os.Stat(file); err != nil {
					t.Fatal(err)
				}
			}
		}, false},
		{"of another size", func() { write("three") }, false},
		{"replaced by one with the same bytes", func() {
			other := filepath.Join(dir, "b")
			if err := os.WriteFile(other, []byte("three"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(other, before.ModTime(), before.ModTime()); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(other, file); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"executable", func() {
			write("three or four")
			if err := os.Chmod(file, 0o700); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		c.change()
		reads := s.reads
		got := look()
		if seen[got] != c.seen {
			t.Errorf("%s: the digest is %s, of those before %v", c.name, got, seen)
		}
		seen[got] = true
		if s.reads != reads+1 {
			t.Errorf("%s: it was not read", c.name)
		}
	}
}

func changedAt(t *testing.T, info os.FileInfo) time.Time {
	t.Helper()
	stamp, ok := workspace.StampOf(info)
	if !ok {
		t.Fatal("nothing tells when a file was changed")
	}
	return stamp.Touched()
}
