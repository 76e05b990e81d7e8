package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Objects are what git would have written: it names them the same, finds them in order, and lets others read
// them who may read the rest.
func TestObjectsAreGits(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			f := &fix{t: t, root: t.TempDir()}
			f.sh(f.root, "git init -q --object-format="+format+" --shared=group . && printf 'some\\0bytes' >x")
			s := &store{dir: filepath.Join(f.root, ".git/objects"), format: format}
			blob, err := s.put("blob", []byte("some\x00bytes"))
			if err != nil {
				t.Fatal(err)
			}
			c := newTrees(git{}, s)
			tree, err := c.add([]leaf{{"100755", "a", blob}, {"120000", "b\nc", blob}})
			if err != nil {
				t.Fatal(err)
			}
			commit, err := s.commit(tree, "words\n")
			if err != nil {
				t.Fatal(err)
			}
			got := f.sh(f.root, "git hash-object x; git ls-tree -z "+commit+" | tr '\\0' ';'; git log -1 --format=%an%s "+commit+"; git update-ref refs/heads/main "+commit+"; git fsck --strict --no-dangling; find .git/objects -name "+blob[2:]+" -perm -0440 | wc -l; find .git/objects/"+blob[:2]+" -maxdepth 0 -perm -2070 | wc -l")
			want := blob + "\n100755 blob " + blob + "\ta;120000 blob " + blob + "\tb\nc;Foundrywords\n"
			if rest, ok := strings.CutPrefix(got, want); !ok || strings.Join(strings.Fields(rest), " ") != "1 1" {
				t.Errorf("git says %q", got)
			}
			if again, err := s.put("blob", []byte("some\x00bytes")); err != nil || again != blob {
				t.Errorf("a second time: %s %v", again, err)
			}
		})
	}
}

func TestObjectThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := &store{dir: dir, format: "sha1"}
	id := objectID("sha1", "blob", []byte("x"))
	if err := os.WriteFile(filepath.Join(dir, id[:2]), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.put("blob", []byte("x")); err == nil || !strings.Contains(err.Error(), "keep a blob") {
		t.Errorf("got %v", err)
	}
}
