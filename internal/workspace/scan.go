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

	"foundry/internal/filestat"
)

// What the private index does not have is found by looking at the directories themselves: new files, and what git
// does not see at all, which is pipes, sockets and devices, empty directories, what lies in a nested repository,
// and what a .gitignore hides together with itself. Git is asked which of them its rules ignore. A directory is
// read again only when it changed, so a scan costs one lstat for each.

// scanner remembers the directories of a workspace.
type scanner struct {
	root    string
	dirs    map[string]*dirState // by path; the root is ""
	entries map[string]bool      // paths that the private index has
	tracked map[string]bool      // directories above these, and above what is in the last tree
	ignored map[string]bool      // answers of git about what has no entry; directories end in a slash
	under   string               // the rules that those answers were given under
}

// dirState is what was found in one directory.
type dirState struct {
	id      identity
	read    int64
	special map[string]string // name: fifo, socket, device
	subdirs []string
	unknown []string // files and links that have no entry
	ignores bool     // there is a .gitignore
	nested  bool     // there is a .git
	files   bool     // there is a regular file or a link
}

// found is the sum of a scan.
type found struct {
	untracked []string          // files and links without an entry that are not ignored
	special   map[string]string // path: type, of what is not ignored
	nested    []string          // directories with a .git of their own, the root excepted
	empty     []string          // directories with nothing in them but such directories
	rules     []string          // .gitignore files
}

// asker asks git which of some paths an ignore rule matches. Directories are named without a trailing slash,
// which git would take for a question about what is in them.
type asker func(ctx context.Context, paths []string, dirs bool) (map[string]bool, error)

// Time stamps are as fine as the file system has them. What changed less than a tick before it was read may have
// changed again without a trace.
const (
	tick       = int64(50 * time.Millisecond)
	coarseTick = int64(filestat.CoarsestStep) + 2*tick // where stamps are whole seconds, or every second one
)

// settled reports whether a change after the given time would show. Without a time that no program can set
// nothing shows for sure.
func (id identity) settled(read int64) bool {
	last, need := max(id.mtime, id.ctime), tick
	if id.mtime%int64(time.Second) == 0 && id.ctime%int64(time.Second) == 0 {
		need = coarseTick
	}
	return id.ctime != 0 && last < read-need
}

func newScanner(root string) *scanner {
	return &scanner{root: root, dirs: map[string]*dirState{}, ignored: map[string]bool{}}
}

// forgetIgnored must be called when an ignore rule may have changed.
func (s *scanner) forgetIgnored() { s.ignored, s.under = map[string]bool{}, "" }

// again returns a scanner of the same directories that knows no answers.
func (s *scanner) again() *scanner {
	return &scanner{root: s.root, dirs: s.dirs, entries: s.entries, tracked: s.tracked, ignored: map[string]bool{}}
}

// underThese forgets the answers that were given under other rules, and reports whether there were any.
func (s *scanner) underThese(rules string) bool {
	stale := s.under != rules && len(s.ignored) > 0
	if stale {
		s.forgetIgnored()
	}
	s.under = rules
	return stale
}

// know says what has an entry from now on.
func (s *scanner) know(entries []string) {
	s.entries = make(map[string]bool, len(entries))
	s.dirs = map[string]*dirState{}
	s.tracked = map[string]bool{"": true}
	for _, p := range entries {
		s.entries[p] = true
	}
	s.addPaths(entries)
}

// learn says which entries came and went.
func (s *scanner) learn(came, went []string) {
	for _, p := range came {
		s.entries[p] = true
	}
	for _, p := range went {
		delete(s.entries, p)
	}
	s.dirs = map[string]*dirState{} // what was unknown there may be known now
	s.addPaths(came)
}

// addPaths adds the directories of further paths that are in a tree now.
func (s *scanner) addPaths(paths []string) {
	for _, p := range paths {
		for d := path.Dir(p); d != "." && !s.tracked[d]; d = path.Dir(d) {
			s.tracked[d] = true
		}
	}
}

// look returns what is in one directory; nil when it is none any more. One that cannot be read is an error: what
// is in it would not be seen.
func (s *scanner) look(rel string) (*dirState, error) {
	full := filepath.Join(s.root, rel)
	id, err := identify(full)
	if err != nil || !id.mode.IsDir() {
		delete(s.dirs, rel)
		return nil, nil
	}
	old := s.dirs[rel]
	if old != nil && old.id == id && id.settled(old.read) {
		return old, nil
	}
	d := &dirState{id: id, read: time.Now().UnixNano()}
	entries, err := readDir(full, id.mode)
	if err != nil {
		return nil, fmt.Errorf("list the files: %w", err)
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
			if !s.entries[join2(rel, name)] {
				d.unknown = append(d.unknown, name)
			}
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
	return d, nil
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

// scan looks at every directory that is not ignored.
func (s *scanner) scan(ctx context.Context, ask asker) (found, error) {
	f := found{special: map[string]string{}}
	level := []string{""}
	for len(level) > 0 {
		var next, maybe []string
		for _, rel := range level {
			d, err := s.look(rel)
			if err != nil {
				return f, err
			}
			if d == nil {
				continue
			}
			s.collect(&f, rel, d)
			for _, name := range d.subdirs {
				p := join2(rel, name)
				switch {
				case rel == "" && (name == recordsDir || name == worktreesDir):
				case s.tracked[p] || p == handoffDir:
					next = append(next, p)
				default:
					maybe = append(maybe, p)
				}
			}
		}
		shown, err := s.shown(ctx, maybe, true, ask)
		if err != nil {
			return f, err
		}
		level = append(next, shown...)
	}
	slices.Sort(f.nested)
	slices.Sort(f.empty)
	var err error
	if f.untracked, err = s.shown(ctx, f.untracked, false, ask); err != nil {
		return f, err
	}
	var ownless []string // what stands in the place of an entry counts like that
	for p := range f.special {
		if !s.entries[p] {
			ownless = append(ownless, p)
		}
	}
	shown, err := s.shown(ctx, slices.Clone(ownless), false, ask)
	for _, p := range ownless {
		if !slices.Contains(shown, p) {
			delete(f.special, p)
		}
	}
	return f, err
}

// shown returns those of the paths that are not ignored.
func (s *scanner) shown(ctx context.Context, paths []string, dirs bool, ask asker) ([]string, error) {
	var unknown []string
	kind := ""
	if dirs {
		kind = "/"
	}
	for _, p := range paths {
		if _, known := s.ignored[p+kind]; !known {
			unknown = append(unknown, p)
		}
	}
	if len(unknown) > 0 {
		hit, err := ask(ctx, unknown, dirs)
		if err != nil {
			return nil, err
		}
		for _, p := range unknown {
			s.ignored[p+kind] = hit[p]
		}
	}
	return slices.DeleteFunc(paths, func(p string) bool { return s.ignored[p+kind] }), nil
}

// collect adds what is in one directory.
func (s *scanner) collect(f *found, rel string, d *dirState) {
	for name, t := range d.special {
		f.special[join2(rel, name)] = t
	}
	for _, name := range d.unknown {
		f.untracked = append(f.untracked, join2(rel, name))
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
