package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Git does not see everything there is in a directory: pipes, sockets and devices, empty directories, what
// lies in a nested repository, and a directory whose own .gitignore hides it whole. The scan looks at the
// directories themselves. A directory is read again only when it changed, so a scan costs one lstat for each.

// scanner remembers the directories of a workspace.
type scanner struct {
	root    string
	dirs    map[string]*dirState // by path; the root is ""
	tracked map[string]bool      // directories that have entries in the last tree
	rules   map[string]bool      // .gitignore files that have entries
	ignored map[string]bool      // answers of git about directories without entries, and about special files
	under   string               // the rules that those answers were given under
}

// dirState is what was found in one directory.
type dirState struct {
	id      identity
	read    int64
	special map[string]string // name: fifo, socket, device
	subdirs []string
	ignores bool // there is a .gitignore
	nested  bool // there is a .git
	files   bool // there is a regular file or a link
}

// found is the sum of a scan.
type found struct {
	special map[string]string // path: type
	nested  []string          // directories with a .git of their own, the root excepted
	empty   []string          // directories with nothing in them but such directories
	rules   []string          // .gitignore files
	notes   []string
}

// tick is more than the granularity of time stamps: a directory that changed so shortly before it was read
// may have changed again without a trace.
const tick = int64(50 * time.Millisecond)

func newScanner(root string) *scanner {
	return &scanner{root: root, dirs: map[string]*dirState{}, ignored: map[string]bool{}}
}

// forgetIgnored must be called when an ignore rule may have changed.
func (s *scanner) forgetIgnored() { s.ignored, s.under = map[string]bool{}, "" }

// underThese forgets the answers that were given under other rules, and reports whether there were any.
func (s *scanner) underThese(rules string) bool {
	stale := s.under != rules && len(s.ignored) > 0
	if stale {
		s.forgetIgnored()
	}
	s.under = rules
	return stale
}

// clear forgets which directories have entries.
func (s *scanner) clear() {
	s.tracked = map[string]bool{"": true}
	s.rules = map[string]bool{}
}

// addPaths adds the directories of further paths that have entries, or will get one.
func (s *scanner) addPaths(paths []string) {
	for _, p := range paths {
		for d := path.Dir(p); d != "." && !s.tracked[d]; d = path.Dir(d) {
			s.tracked[d] = true
		}
	}
}

// addRules adds the .gitignore files among paths that have entries.
func (s *scanner) addRules(paths []string) {
	for _, p := range paths {
		if path.Base(p) == ".gitignore" {
			s.rules[p] = true
		}
	}
}

// look returns what is in one directory; nil when it is none any more.
func (s *scanner) look(rel string, notes *[]string) *dirState {
	full := filepath.Join(s.root, rel)
	id, err := identify(full)
	if err != nil || !id.mode.IsDir() {
		delete(s.dirs, rel)
		return nil
	}
	old := s.dirs[rel]
	if old != nil && old.id == id && max(id.mtime, id.ctime) < old.read-tick {
		return old
	}
	d := &dirState{id: id, read: time.Now().UnixNano()}
	entries, err := readDir(full, id.mode)
	if err != nil {
		*notes = append(*notes, fmt.Sprintf("%q cannot be read: %v", rel, err))
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		switch t := e.Type(); {
		case name == ".git":
			d.nested = true
		case t.IsDir():
			d.subdirs = append(d.subdirs, name)
		case t.IsRegular() || t&fs.ModeSymlink != 0:
			d.files = true
			d.ignores = d.ignores || name == ".gitignore" && t.IsRegular() // git follows no link to rules
		default:
			if d.special == nil {
				d.special = map[string]string{}
			}
			d.special[name] = typeName(t)
		}
	}
	slices.Sort(d.subdirs)
	s.dirs[rel] = d
	return d
}

// readDir reads a directory, giving its owner the right to read it when that was taken away.
func readDir(full string, mode fs.FileMode) ([]fs.DirEntry, error) {
	entries, err := rawDir(full)
	if err != nil && os.IsPermission(err) {
		if os.Chmod(full, mode.Perm()|0o700) == nil {
			entries, err = rawDir(full)
		}
	}
	return entries, err
}

// rawDir is os.ReadDir without the sorting.
func rawDir(full string) ([]fs.DirEntry, error) {
	f, err := os.Open(full)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

func typeName(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "dir"
	case m&fs.ModeSymlink != 0:
		return "symlink"
	case m&fs.ModeNamedPipe != 0:
		return "fifo"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special"
}

// scan looks at every directory that is not ignored. check asks git which of some directories an ignore rule
// matches; they are named without a trailing slash, which git would take for a question about what is in them.
func (s *scanner) scan(ctx context.Context, check func(context.Context, []string) (map[string]bool, error)) (found, error) {
	f := found{special: map[string]string{}}
	level := []string{""}
	for len(level) > 0 {
		var next, unknown []string
		for _, rel := range level {
			d := s.look(rel, &f.notes)
			if d == nil {
				continue
			}
			s.collect(&f, rel, d)
			for _, name := range d.subdirs {
				p := join2(rel, name)
				if rel == "" && (name == recordsDir || name == worktreesDir) {
					continue
				}
				if s.tracked[p] || p == handoffDir {
					next = append(next, p)
				} else if ignored, known := s.ignored[p]; !known {
					unknown = append(unknown, p)
				} else if !ignored {
					next = append(next, p)
				}
			}
		}
		if len(unknown) > 0 {
			hit, err := check(ctx, unknown)
			if err != nil {
				return f, err
			}
			for _, p := range unknown {
				s.ignored[p] = hit[p]
				if !s.ignored[p] {
					next = append(next, p)
				}
			}
		}
		level = next
	}
	if err := s.plainSpecial(ctx, f.special, check); err != nil {
		return f, err
	}
	slices.Sort(f.nested)
	slices.Sort(f.empty)
	return f, nil
}

// plainSpecial asks which pipes, sockets and devices are ignored, so that the answers are known.
func (s *scanner) plainSpecial(ctx context.Context, special map[string]string, check func(context.Context, []string) (map[string]bool, error)) error {
	var unknown []string
	for p := range special {
		if _, known := s.ignored[p]; !known {
			unknown = append(unknown, p)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	hit, err := check(ctx, unknown)
	for _, p := range unknown {
		s.ignored[p] = hit[p]
	}
	return err
}

// collect adds what is in one directory.
func (s *scanner) collect(f *found, rel string, d *dirState) {
	for name, t := range d.special {
		f.special[join2(rel, name)] = t
	}
	if d.nested && rel != "" {
		f.nested = append(f.nested, rel)
	}
	if d.ignores {
		f.rules = append(f.rules, join2(rel, ".gitignore"))
	}
	if rel != "" && !s.tracked[rel] && !d.files && !d.nested && len(d.special) == 0 {
		f.empty = append(f.empty, rel)
	}
}

func join2(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// kindAt tells what is at a path below root, without following any symlink on the way: file, dir, symlink,
// fifo, socket, device, none, or beyond when a parent is no real directory.
func kindAt(root, rel string) (string, fs.FileInfo) {
	at := root
	parts := strings.Split(rel, "/")
	for i, part := range parts {
		at = filepath.Join(at, part)
		st, err := os.Lstat(at)
		if err != nil {
			return "none", nil
		}
		if i == len(parts)-1 {
			return typeName(st.Mode()), st
		}
		if !st.IsDir() {
			return "beyond", nil
		}
	}
	return "none", nil
}
