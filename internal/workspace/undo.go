package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// An undo touches exactly the paths it is given and nothing else: first everything that is there now is
// removed, then what was there before is written, byte by byte from the snapshot. Git takes no part in it, so
// no path can be mistaken for a pattern; and no symlink is followed on the way, whatever a phase put there.

// step is one path to bring back to a state.
type step struct {
	path string
	mode string // before; "000000" or "" when there was nothing
	blob string
	note string // why it did not work; empty when it did
}

// undo brings paths back. The steps it returns are the same ones, each with its outcome.
func (t *Tree) undo(ctx context.Context, steps []step, keepDirs []string) error {
	slices.SortFunc(steps, func(a, b step) int { return strings.Compare(a.path, b.path) })
	// Deepest first, so that a directory is empty when its turn comes.
	for i := len(steps) - 1; i >= 0; i-- {
		steps[i].note = t.remove(steps[i].path, steps[i].mode)
	}
	for chunk := range slices.Chunk(steps, 64) {
		if err := t.writeBack(ctx, chunk); err != nil {
			return err
		}
	}
	for i := len(steps) - 1; i >= 0; i-- {
		t.prune(path.Dir(steps[i].path), keepDirs)
	}
	return nil
}

// remove takes away what is at a path. A directory is only taken away when it is empty: what is in it are
// paths of their own.
func (t *Tree) remove(p, mode string) (note string) {
	kind, st := kindAt(t.dir, p)
	full := filepath.Join(t.dir, p)
	switch kind {
	case "none", "beyond":
		return ""
	case "file":
		if mode == "100644" || mode == "100755" {
			return "" // it is replaced in one step, keeping its permissions
		}
	case "dir":
		if st.Mode().Perm()&0o700 != 0o700 {
			os.Chmod(full, st.Mode().Perm()|0o700)
		}
		t.removeEmpty(full) // what is left in it is in the way of what is written back, which then says so
		return ""
	}
	if err := t.unlink(full); err != nil {
		return fmt.Sprintf("it could not be removed: %v", err)
	}
	return ""
}

// unlink removes a file or link, giving the owner the right to write its directory when that was taken away.
func (t *Tree) unlink(full string) error {
	err := os.Remove(full)
	if err != nil && errors.Is(err, fs.ErrPermission) {
		dir := filepath.Dir(full)
		if st, serr := os.Lstat(dir); serr == nil && st.IsDir() && os.Chmod(dir, st.Mode().Perm()|0o700) == nil {
			err = os.Remove(full)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeEmpty removes a directory if there is nothing in it but directories.
func (t *Tree) removeEmpty(full string) {
	entries, err := rawDir(full)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			t.removeEmpty(filepath.Join(full, e.Name()))
		}
	}
	os.Remove(full)
}

// writeBack writes what there was.
func (t *Tree) writeBack(ctx context.Context, steps []step) error {
	var ids []string
	for _, s := range steps {
		if s.note == "" && s.blob != "" {
			ids = append(ids, s.blob)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	blobs, err := t.shadow.git.blobs(ctx, ids)
	if err != nil {
		return fmt.Errorf("read the files of the snapshot: %w", err)
	}
	for i, s := range steps {
		if s.note == "" && s.blob != "" {
			if err := t.put(s.path, s.mode, blobs[s.blob]); err != nil {
				steps[i].note = fmt.Sprintf("it could not be written back: %v", err)
			}
		}
	}
	return nil
}

// put writes one file or link.
func (t *Tree) put(p, mode string, data []byte) error {
	if err := t.parents(path.Dir(p)); err != nil {
		return err
	}
	full := filepath.Join(t.dir, p)
	kind, st := kindAt(t.dir, p)
	if mode == "120000" {
		if kind == "dir" {
			return errors.New("a directory that is not empty stands there")
		}
		if err := t.unlink(full); err != nil {
			return err
		}
		return os.Symlink(string(data), full)
	}
	perm := fs.FileMode(0o666)
	if mode == "100755" {
		perm = 0o777
	}
	switch kind {
	case "file":
		// The permissions stay as they are but for the right to execute, which is all that was recorded.
		perm = st.Mode().Perm()&^0o111 | 0o600
		if mode == "100755" {
			perm |= (perm & 0o444) >> 2
		}
		if old, err := os.ReadFile(full); err == nil && bytes.Equal(old, data) && st.Mode().Perm() == perm {
			return nil
		}
		// The file may have another name, which is to stay as it is: it is made anew even for its permissions.
		if err := t.unlink(full); err != nil {
			return err
		}
	case "dir":
		return errors.New("a directory that is not empty stands there")
	case "none":
	default:
		return fmt.Errorf("a %s stands there", kind)
	}
	f, err := os.OpenFile(full, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && kind == "file" {
		err = f.Chmod(perm)
	}
	return errors.Join(err, f.Close())
}

// parents makes the directories above a path. A parent that is something else is in the way.
func (t *Tree) parents(dir string) error {
	if dir == "." {
		return nil
	}
	if err := t.parents(path.Dir(dir)); err != nil {
		return err
	}
	full := filepath.Join(t.dir, dir)
	switch kind, st := kindAt(t.dir, dir); kind {
	case "dir":
		if st.Mode().Perm()&0o300 != 0o300 {
			return os.Chmod(full, st.Mode().Perm()|0o700)
		}
		return nil
	case "none":
		return os.Mkdir(full, 0o777)
	default:
		return fmt.Errorf("its directory %q is now a %s", dir, kind)
	}
}

// prune removes directories that an undo has left empty, upwards, as far as they were not empty before.
func (t *Tree) prune(dir string, keep []string) {
	for ; dir != "."; dir = path.Dir(dir) {
		if slices.Contains(keep, dir) {
			return
		}
		if kind, _ := kindAt(t.dir, dir); kind != "dir" {
			return
		}
		if os.Remove(filepath.Join(t.dir, dir)) != nil {
			return
		}
	}
}

// blobs reads objects.
func (g git) blobs(ctx context.Context, ids []string) (map[string][]byte, error) {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	a, err := g.do(ctx, call{args: []string{"cat-file", "--batch"}, stdin: []byte(strings.Join(ids, "\n") + "\n"), timeout: longTime})
	if err != nil {
		return nil, err
	}
	got := make(map[string][]byte, len(ids))
	rest := a.out
	for _, id := range ids {
		head, tail, ok := bytes.Cut(rest, []byte("\n"))
		f := strings.Fields(string(head))
		if !ok || len(f) != 3 || f[0] != id {
			return nil, fmt.Errorf("git answered %q for the object %s", head, id)
		}
		n, err := strconv.Atoi(f[2])
		if err != nil || len(tail) < n+1 {
			return nil, fmt.Errorf("git's answer for the object %s is cut off", id)
		}
		got[id] = tail[:n:n]
		rest = tail[n+1:]
	}
	return got, nil
}
