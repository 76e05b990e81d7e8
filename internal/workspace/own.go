package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The git directory decides what git runs and what it hides: configuration, hooks, excludes, attributes. A
// snapshot holds their bytes, so that a phase that changed one can be found out and the file put back.

// ownFile is one of git's own files at one moment.
type ownFile struct {
	Mode string `json:"mode"` // 100644, 100755, 120000
	Blob string `json:"blob"`
}

// owner remembers what the files were when they were last read.
type owner struct {
	common, admin string // admin is common for the main checkout
	seen          map[string]ownSeen
	excludes      map[string][]byte // contents of info/exclude, by blob
	kept          []leaf            // the last set
	commit        string            // and the commit that keeps it
}

type ownSeen struct {
	id   identity
	file ownFile
}

// paths returns the files there are, by the name they have in reports.
func (o *owner) paths() (map[string]string, error) {
	list := map[string]string{}
	add := func(name, path string) error {
		st, err := os.Lstat(path)
		if err == nil && (st.Mode().IsRegular() || st.Mode()&fs.ModeSymlink != 0) {
			list[name] = path
		}
		if err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("look at %s: %w", path, err)
		}
		return nil
	}
	for _, name := range []string{"config", "config.worktree", "info/exclude", "info/attributes", "info/grafts"} {
		if err := add(".git/"+name, filepath.Join(o.common, name)); err != nil {
			return nil, err
		}
	}
	if o.admin != o.common {
		for _, name := range []string{"config.worktree", "info/sparse-checkout"} {
			if err := add(".git/worktrees/"+filepath.Base(o.admin)+"/"+name, filepath.Join(o.admin, name)); err != nil {
				return nil, err
			}
		}
	}
	hooks, err := os.ReadDir(filepath.Join(o.common, "hooks"))
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("look at the hooks: %w", err)
	}
	for _, h := range hooks {
		if strings.HasSuffix(h.Name(), ".sample") {
			continue // git never runs these
		}
		if err := add(".git/hooks/"+h.Name(), filepath.Join(o.common, "hooks", h.Name())); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// place returns where a file of this name is.
func (o *owner) place(name string) string {
	rel := strings.TrimPrefix(name, ".git/")
	if rest, ok := strings.CutPrefix(rel, "worktrees/"); ok {
		_, rest, _ = strings.Cut(rest, "/")
		return filepath.Join(o.admin, rest)
	}
	return filepath.Join(o.common, rel)
}

// state returns the files with their content kept as blobs.
func (o *owner) state(st *store) (map[string]ownFile, error) {
	paths, err := o.paths()
	if err != nil {
		return nil, err
	}
	files := make(map[string]ownFile, len(paths))
	if o.seen == nil {
		o.seen, o.excludes = map[string]ownSeen{}, map[string][]byte{}
	}
	for name, path := range paths {
		id, err := identify(path)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", path, err)
		}
		if old, ok := o.seen[name]; ok && old.id == id {
			files[name] = old.file
			continue
		}
		file := ownFile{Mode: "100644"}
		var data []byte
		if id.mode&fs.ModeSymlink != 0 {
			var to string
			to, err = os.Readlink(path)
			file.Mode, data = "120000", []byte(to)
		} else {
			data, err = os.ReadFile(path)
			if id.mode.Perm()&0o100 != 0 {
				file.Mode = "100755"
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if file.Blob, err = st.put("blob", data); err != nil {
			return nil, err
		}
		if name == ".git/info/exclude" {
			o.excludes[file.Blob] = append([]byte{}, data...)
		}
		o.seen[name] = ownSeen{id: id, file: file}
		files[name] = file
	}
	return files, nil
}

// keep returns a commit that holds the files, so that their blobs are not collected.
func (o *owner) keep(c *trees, files map[string]ownFile) (string, error) {
	entries := make([]leaf, 0, len(files))
	for name, f := range files {
		flat := strings.NewReplacer("%", "%25", "/", "%2F").Replace(strings.TrimPrefix(name, ".git/"))
		entries = append(entries, leaf{mode: f.Mode, name: flat, id: f.Blob})
	}
	slices.SortFunc(entries, func(a, b leaf) int { return strings.Compare(a.name, b.name) })
	if o.commit != "" && slices.Equal(entries, o.kept) {
		return o.commit, nil
	}
	tree, err := c.add(entries)
	if err != nil {
		return "", err
	}
	commit, err := c.store.commit(tree, "foundry: git's own files\n")
	if err != nil {
		return "", err
	}
	o.kept, o.commit = entries, commit
	return commit, nil
}
