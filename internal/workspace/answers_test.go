package workspace

import (
	"strings"
	"testing"
)

// What git answers is read without trust: cut off or strange answers are errors, and nothing panics.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(":100644 100755 aaaa aaaa M\x00a.txt\x00:100644 100644 aaaa bbbb R100\x00b\x00c\x001\t2\ta.txt\x00-\t-\t\x00b\x00c\x00"))
	f.Add([]byte(":000000 100644 0000 aaaa A\x00"))
	f.Add([]byte("40000 dir\x0001234567890123456789100644 f\x0001234567890123456789"))
	f.Add([]byte("git version 2.39.5 (Apple Git-154)"))
	f.Add([]byte("H 100644 aaaa 0\tpath"))
	f.Add([]byte("aaaa tree 27\n100644 f\x0001234567890123456789\nbbbb missing\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if recs, err := fields(raw); err == nil {
			if list, err := parseDiff(recs); err == nil {
				for _, c := range list {
					if c.Kind == 0 {
						t.Errorf("a change of no kind: %+v", c)
					}
				}
			}
		}
		c := newTrees(git{}, &store{format: "sha1"})
		if entries, err := c.parse(raw); err == nil && entries == nil {
			t.Error("a tree that looks as if it was not read")
		}
		_ = c.readBatch(raw, 2) // an answer may be anything but a panic
		if e, err := parseEntry(string(raw)); err == nil && (e.stage == "" || strings.Contains(e.stage, " ")) {
			t.Errorf("an entry without a stage: %+v", e)
		}
		if v, err := parseVersion(string(raw)); err == nil && v[0] < 0 {
			t.Errorf("version %v", v)
		}
		lockIn(&GitError{Stderr: string(raw)})
	})
}

func TestCutOffAnswers(t *testing.T) {
	t.Parallel()
	if _, err := fields([]byte("a\x00b")); err == nil {
		t.Error("an answer that ends in the middle was taken")
	}
	for _, raw := range []string{":100644 100644 a b M\x00", ":100644 100644 a b R90\x00x\x00", ":x\x00y\x00", ":1 2 3 4 Q\x00y\x00", "1\t2\tunknown\x00"} {
		recs, err := fields([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if list, err := parseDiff(recs); err == nil {
			t.Errorf("%q: taken as %+v", raw, list)
		}
	}
	for stderr, want := range map[string]string{
		"fatal: Unable to create '/r/.git/index.lock': File exists.\n\nAnother git process":                 "/r/.git/index.lock",
		"fatal: cannot lock ref 'refs/heads/x': Unable to create '/r/.git/refs/heads/x.lock': File exists.": "/r/.git/refs/heads/x.lock",
		"error: could not lock config file .git/config: File exists":                                        ".git/config.lock",
		"fatal: not a git repository": "",
	} {
		if got := lockIn(&GitError{Stderr: stderr}); got != want {
			t.Errorf("%q: got %q", stderr, got)
		}
	}
}
