package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The differences between the files and the private index are what a snapshot is made of. This file brings
// them up to date: it reads what changed, keeps the bytes as objects, and makes the new tree.

// difference is a path whose file is not what the private index has for it.
type difference struct {
	edit
	id      identity // of the file when it was read
	tracked bool     // the index has an entry
	base    edit     // and this is what it says
}

// apply brings the differences, and with them t.now, up to date with a survey.
func (t *Tree) apply(ctx context.Context, s survey) error {
	want := make(map[string]difference, len(s.changed)+len(s.scan.untracked))
	for p, base := range s.changed {
		want[p] = difference{tracked: true, base: base}
	}
	for _, p := range slices.Concat(s.scan.untracked, t.watched(s.ignored)) {
		if _, known := want[p]; !known {
			want[p] = difference{}
		}
	}
	for p, old := range t.over {
		if _, known := want[p]; !known && !old.tracked {
			want[p] = difference{} // what was seen once is not lost sight of because a rule matches it now
		}
	}
	return t.become(ctx, want)
}

// become makes exactly the given paths the differences, reads what changed in them, and makes the new tree.
func (t *Tree) become(ctx context.Context, want map[string]difference) error {
	var read []string
	for p, d := range want {
		kind, st := kindAt(t.dir, p)
		if kind != "file" && kind != "symlink" {
			if !d.tracked {
				delete(want, p)
			}
			continue
		}
		if kind == "file" && st.Mode().Perm()&0o400 == 0 {
			os.Chmod(filepath.Join(t.dir, p), st.Mode().Perm()|0o400)
			st, _ = os.Lstat(filepath.Join(t.dir, p))
		}
		d.id = identityOf(st)
		d.mode = modeOf(kind, st)
		if old, known := t.over[p]; known && old.id == d.id && old.blob != "" {
			d.blob = old.blob
		} else {
			read = append(read, p)
		}
		want[p] = d
	}
	blobs, err := t.keepFiles(ctx, read)
	if err != nil {
		return err
	}
	for i, p := range read {
		d := want[p]
		d.blob = blobs[i]
		want[p] = d
	}
	edits := map[string]edit{}
	for p, d := range want {
		if old, known := t.over[p]; !known || old.edit != d.edit {
			edits[p] = d.edit
		}
	}
	for p, old := range t.over {
		if _, known := want[p]; !known {
			edits[p] = old.base // what the index has, or nothing
		}
	}
	tree, err := t.trees.patch(ctx, t.now, edits)
	if err != nil {
		return err
	}
	t.now, t.over = tree, want
	t.scan.addPaths(read)
	if len(want) > mostDifferences {
		return t.fold(ctx)
	}
	return nil
}

// mostDifferences is how many differences are kept in memory before they go into the index.
const mostDifferences = 5000

// fold puts the differences into the private index.
func (t *Tree) fold(ctx context.Context) error {
	var add, remove []string
	for p, d := range t.over {
		if d.mode == "" {
			remove = append(remove, p)
		} else {
			add = append(add, p)
		}
	}
	for _, u := range []struct {
		paths []string
		flags []string
	}{{remove, []string{"--force-remove"}}, {add, []string{"--add", "--replace"}}} {
		if len(u.paths) == 0 {
			continue
		}
		if err := t.shadow.update(ctx, u.paths, u.flags...); err != nil {
			return err
		}
	}
	t.scan.learn(add, remove)
	t.over, t.shadow.bulk = map[string]difference{}, 1
	return nil
}

// modeOf returns the mode that git has for a file or link.
func modeOf(kind string, st fs.FileInfo) string {
	switch {
	case kind == "symlink":
		return "120000"
	case kind == "file" && st.Mode().Perm()&0o100 != 0:
		return "100755"
	case kind == "file":
		return "100644"
	}
	return ""
}

// keepFiles keeps the bytes of files and links as objects, and returns their ids in the same order.
func (t *Tree) keepFiles(ctx context.Context, paths []string) ([]string, error) {
	ids := make([]string, len(paths))
	var batch []string
	var at []int
	for i, p := range paths {
		full := filepath.Join(t.dir, p)
		st, err := os.Lstat(full)
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", p, err)
		}
		var data []byte
		switch {
		case st.Mode()&fs.ModeSymlink != 0:
			var to string
			to, err = os.Readlink(full)
			data = []byte(to)
		case st.Size() > largest && !strings.Contains(p, "\n") && !strings.HasPrefix(p, `"`): // those git would read as something else
			batch, at = append(batch, p), append(at, i)
			continue
		default:
			data, err = os.ReadFile(full)
		}
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", p, err)
		}
		if ids[i], err = t.shadow.store.put("blob", data); err != nil {
			return nil, err
		}
	}
	if len(batch) == 0 {
		return ids, nil
	}
	a, err := t.shadow.git.do(ctx, call{
		args:  []string{"hash-object", "-w", "--no-filters", "--stdin-paths"},
		stdin: []byte(strings.Join(batch, "\n") + "\n"), writes: true, timeout: longTime,
	})
	if err != nil {
		return nil, fmt.Errorf("keep the files: %w", err)
	}
	got := strings.Fields(string(a.out))
	if len(got) != len(batch) {
		return nil, fmt.Errorf("keep the files: git kept %d of %d", len(got), len(batch))
	}
	for k, id := range got {
		ids[at[k]] = id
	}
	return ids, nil
}
