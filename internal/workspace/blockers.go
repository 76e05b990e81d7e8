package workspace

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Before a checkout is updated, every path that is to change in it is looked at with lstat: whatever a person
// has there, changed, staged, new or ignored, is his. All of it is listed at once.

// blockers refuses when something in the checkout is in the way.
func (m *merging) blockers(ctx context.Context) error {
	entries, err := m.indexEntries(ctx)
	if err != nil {
		return err
	}
	staged, edited, err := m.dirtyPaths(ctx)
	if err != nil {
		return err
	}
	ways := map[string][]string{} // what is in the way: paths
	for _, c := range m.incoming {
		if m.already(c, entries) {
			continue // a merge that was cut off got this far
		}
		switch {
		case staged[c.Path]:
			ways["staged changes"] = append(ways["staged changes"], c.Path)
		case edited[c.Path] || m.hiddenEdit(c, entries):
			ways["uncommitted changes"] = append(ways["uncommitted changes"], c.Path)
		case c.Kind == Created:
			if p := m.inTheWay(c.Path, entries); p != "" {
				ways["untracked files"] = append(ways["untracked files"], p)
			}
		}
	}
	if err := m.nameIgnored(ctx, ways); err != nil {
		return err
	}
	if len(ways) == 0 {
		return nil
	}
	b := &BlockedError{Hint: "commit, move or remove them, then merge again; nothing was changed"}
	var kinds []string
	for _, kind := range []string{"staged changes", "uncommitted changes", "untracked files", "ignored files"} {
		if len(ways[kind]) > 0 {
			kinds = append(kinds, kind)
			b.Paths = append(b.Paths, ways[kind]...)
		}
	}
	slices.Sort(b.Paths)
	b.Paths = slices.Compact(b.Paths)
	b.Reason = fmt.Sprintf("%s in %s would be overwritten", strings.Join(kinds, " and "), m.target.workTree)
	return b
}

// indexEntries returns the index of the checkout.
func (m *merging) indexEntries(ctx context.Context) (map[string]entry, error) {
	out, err := m.target.read(ctx, "ls-files", "-s", "-v", "-z")
	if err != nil {
		return nil, err
	}
	recs, err := fields(out)
	if err != nil {
		return nil, err
	}
	list := make(map[string]entry, len(recs))
	for _, rec := range recs {
		e, err := parseEntry(rec)
		if err != nil {
			return nil, err
		}
		list[e.path] = e
	}
	return list, nil
}

// dirtyPaths returns what is staged, and what differs from the index, both against the branch point.
func (m *merging) dirtyPaths(ctx context.Context) (staged, edited map[string]bool, err error) {
	st, err := m.target.status(ctx, "no")
	if err != nil {
		return nil, nil, err
	}
	staged, edited = map[string]bool{}, map[string]bool{}
	for _, s := range st {
		if s.x != ' ' {
			staged[s.path] = true
		}
		if s.y != ' ' {
			edited[s.path] = true
		}
	}
	return staged, edited, nil
}

// already reports whether index and file are what comes in.
func (m *merging) already(c Change, entries map[string]entry) bool {
	e, tracked := entries[c.Path]
	kind, _ := kindAt(m.target.workTree, c.Path)
	if c.Kind == Deleted {
		return !tracked && (kind == "none" || kind == "beyond")
	}
	return tracked && e.mode == c.NewMode && e.blob == c.newBlob && kind == "file" && m.r.sameBytes(m.target.workTree+"/"+c.Path, c.newBlob)
}

// hiddenEdit finds a change under an entry that is marked so that git does not look.
func (m *merging) hiddenEdit(c Change, entries map[string]entry) bool {
	e, tracked := entries[c.Path]
	if !tracked || !('a' <= e.tag && e.tag <= 'z' || e.tag == 'S') {
		return false
	}
	kind, _ := kindAt(m.target.workTree, c.Path)
	if kind == "none" && e.tag == 'S' {
		return false // left out by a sparse checkout
	}
	return kind != "file" || !m.r.sameBytes(m.target.workTree+"/"+c.Path, e.blob)
}

// inTheWay returns what a new file would overwrite: the path itself, a file where a directory must be, or a
// directory with something in it.
func (m *merging) inTheWay(p string, entries map[string]entry) string {
	root := m.target.workTree
	kind, _ := kindAt(root, p)
	switch kind {
	case "none":
		return ""
	case "beyond":
		for d := path.Dir(p); d != "."; d = path.Dir(d) {
			if k, _ := kindAt(root, d); k != "dir" && k != "none" && k != "beyond" {
				if _, tracked := entries[d]; tracked {
					return "" // a tracked file that the same merge takes away, or git refuses
				}
				return d
			}
		}
		return p
	case "dir":
		list, err := rawDir(root + "/" + p)
		if err == nil && len(list) == 0 {
			return ""
		}
		for name := range entries {
			if strings.HasPrefix(name, p+"/") {
				return "" // tracked files that the same merge takes away
			}
		}
	}
	if _, tracked := entries[p]; tracked {
		return ""
	}
	return p
}

// nameIgnored tells untracked files that an ignore rule matches from the others.
func (m *merging) nameIgnored(ctx context.Context, ways map[string][]string) error {
	paths := ways["untracked files"]
	if len(paths) == 0 {
		return nil
	}
	hit, err := m.target.checkIgnore(ctx, paths)
	if err != nil {
		return err
	}
	var plain, ignored []string
	for _, p := range paths {
		if hit[p] {
			ignored = append(ignored, p)
		} else {
			plain = append(plain, p)
		}
	}
	delete(ways, "untracked files")
	if len(plain) > 0 {
		ways["untracked files"] = plain
	}
	if len(ignored) > 0 {
		ways["ignored files"] = ignored
	}
	return nil
}
