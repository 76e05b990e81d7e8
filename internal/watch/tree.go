package watch

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"foundry/internal/filestat"
)

// This file keeps what is known of the tree, and compares it with the disk. A file whose size, times, inode and
// mode are as they were is taken to be unchanged, except when it was written so shortly before the last look that a
// second write could hide in the clock's steps; every other one is read, and its bytes decide.

const (
	readLimit = 64 << 20  // of a larger file size and times decide
	readAhead = 256 << 20 // how much is read in the background before the first change
	readEach  = 1 << 20   // and of one file
)

// node is a directory or a file that is known.
type node struct {
	children map[string]*node // of a directory
	file     *file            // of a file or a symbolic link
}

// file is what is known of one. sum is of the content, if it was read.
type file struct {
	size  int64
	mtime int64
	inode uint64
	mode  fs.FileMode
	sum   uint64
	read  bool
	racy  bool // written shortly before it was looked at
}

type tree struct {
	root  string
	rules Rules
	seed  maphash.Seed

	quiet time.Duration

	mu    sync.Mutex
	top   *node
	moved map[string]bool // what seemed to be in the middle of a save at the last look, and is told at the next as it is then
}

func newTree(root string, rules Rules, quiet time.Duration) *tree {
	return &tree{root: root, rules: rules, quiet: quiet, seed: maphash.MakeSeed(), top: &node{children: map[string]*node{}}, moved: map[string]bool{}}
}

func (t *tree) abs(rel string) string { return filepath.Join(t.root, filepath.FromSlash(rel)) }

// ignored answers for each path; the built-in ones need no rules.
func (t *tree) ignored(paths []string) ([]bool, error) {
	out := make([]bool, len(paths))
	if t.rules == nil || len(paths) == 0 {
		return out, nil
	}
	return t.rules.Ignored(paths)
}

// walk goes through a directory, the levels one after the other. dir is told of each directory before it is listed,
// so that what is made later gives an event; found gets each entry that is no directory.
func (t *tree) walk(ctx context.Context, top string, dir func(rel string) error, found func(rel string, e fs.DirEntry)) error {
	level := []string{top}
	for len(level) > 0 {
		var below []string
		for _, d := range level {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := dir(d); err != nil {
				return err
			}
			entries, err := os.ReadDir(t.abs(d))
			if err != nil && (d == "" || !gone(err) && !errors.Is(err, fs.ErrPermission)) {
				return fmt.Errorf("watch: %w", err)
			}
			for _, e := range entries {
				rel := path.Join(d, e.Name())
				switch {
				case skipped(rel):
				case e.IsDir():
					below = append(below, rel)
				default:
					found(rel, e)
				}
			}
		}
		ignored, err := t.ignored(below)
		if err != nil {
			return err
		}
		level = level[:0]
		for i, d := range below {
			if !ignored[i] {
				level = append(level, d)
			}
		}
	}
	return nil
}

// gone says that a path is not there any more, or not as what it was.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || isNotDir(err)
}

// directories walks without looking at files.
func (t *tree) directories(ctx context.Context, top string, dir func(rel string) error) error {
	return t.walk(ctx, top, dir, func(string, fs.DirEntry) {})
}

// load takes the first look: what is there is known from now on.
func (t *tree) load(ctx context.Context, dir func(rel string) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	return t.walk(ctx, "", func(rel string) error {
		t.put(rel, &node{children: map[string]*node{}})
		return dir(rel)
	}, func(rel string, e fs.DirEntry) {
		if info, err := e.Info(); err == nil {
			if f := look(info, now); f != nil {
				t.put(rel, &node{file: f})
			}
		}
	})
}

// look is what one lstat says of a file; nil for what is neither a file nor a link.
func look(info fs.FileInfo, now time.Time) *file {
	mode := info.Mode()
	if !mode.IsRegular() && mode&fs.ModeSymlink == 0 {
		return nil
	}
	return &file{size: info.Size(), mtime: info.ModTime().UnixNano(), inode: filestat.Inode(info), mode: mode & (fs.ModeSymlink | 0o100), racy: now.Sub(info.ModTime()) < filestat.CoarsestStep}
}

// content is what the file holds, as far as it was read. One that was not counts as different from every other.
func (f *file) content() content {
	if f == nil {
		return content{}
	}
	return content{there: true, read: f.read, sum: f.sum, mode: f.mode}
}

func (f *file) same(o *file) bool {
	return f.size == o.size && f.mtime == o.mtime && f.inode == o.inode && f.mode == o.mode
}

func (t *tree) get(rel string) *node {
	n := t.top
	if rel == "" {
		return n
	}
	for name := range strings.SplitSeq(rel, "/") {
		if n = n.children[name]; n == nil {
			return nil
		}
	}
	return n
}

// put sets a node; the directories above it are made known as well.
func (t *tree) put(rel string, n *node) {
	if rel == "" {
		t.top = n
		return
	}
	at := t.top
	for name := range strings.SplitSeq(path.Dir(rel), "/") {
		if name == "." {
			break
		}
		next := at.children[name]
		if next == nil || next.children == nil {
			next = &node{children: map[string]*node{}}
			at.children[name] = next
		}
		at = next
	}
	at.children[path.Base(rel)] = n
}

func (t *tree) drop(rel string) {
	if above := t.get(strings.TrimPrefix(path.Dir(rel), ".")); above != nil {
		delete(above.children, path.Base(rel))
	}
}

// files calls found for every known file below a directory, or for the file itself.
func (n *node) files(rel string, found func(rel string, f *file)) {
	if n.file != nil {
		found(rel, n.file)
	}
	for name, child := range n.children {
		child.files(path.Join(rel, name), found)
	}
}

// compare looks at the paths that were hinted at. It returns the files whose content differs from what was known.
func (t *tree) compare(ctx context.Context, paths map[string]bool) ([]File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]string, 0, len(paths))
	for rel := range paths {
		list = append(list, rel)
	}
	slices.Sort(list) // what took a file's place comes before what is in it
	bare := make([]string, len(list))
	for i, rel := range list {
		bare[i] = strings.TrimSuffix(rel, "/")
	}
	ignored, err := t.ignored(bare)
	if err != nil {
		return nil, err
	}
	d := t.difference()
	governed := false
	for i, rel := range list {
		if ignored[i] {
			t.note(bare[i])
			continue
		}
		if err := d.at(ctx, rel); err != nil {
			return nil, err
		}
		governed = governed || t.rules != nil && t.rules.Governs(rel)
	}
	if governed {
		t.rules.Reload()
		if err := d.all(ctx); err != nil {
			return nil, err
		}
	}
	return d.files()
}

// unsettled are the files that are to be looked at again.
func (t *tree) unsettled() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.moved))
}

// note brings up to date what is known of an ignored file, so that it is not taken for changed when the rules bring it
// back. Its content is not read.
func (t *tree) note(rel string) {
	info, err := os.Lstat(t.abs(rel))
	if err != nil {
		t.drop(rel)
	} else if f := look(info, time.Now()); f != nil {
		t.put(rel, &node{file: f})
	}
}

// compareAll looks at the whole tree.
func (t *tree) compareAll(ctx context.Context) ([]File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rules != nil {
		t.rules.Reload()
	}
	d := t.difference()
	if err := d.all(ctx); err != nil {
		return nil, err
	}
	return d.files()
}

// difference is one comparison under way; the tree's lock is held.
type difference struct {
	t     *tree
	now   time.Time
	found map[string]File
	again map[string]bool // what seemed to be in the middle of a save at the comparison before
}

func (t *tree) difference() *difference {
	d := &difference{t: t, now: time.Now(), found: map[string]File{}, again: t.moved}
	t.moved = map[string]bool{}
	return d
}

// files are those that changed and are not ignored.
func (d *difference) files() ([]File, error) {
	var paths []string
	for rel := range d.found {
		paths = append(paths, rel)
	}
	ignored, err := d.t.ignored(paths)
	if err != nil {
		return nil, err
	}
	var out []File
	for i, rel := range paths {
		if !ignored[i] {
			out = append(out, d.found[rel])
		}
	}
	return out, nil
}

// at compares one path, and all below it when it is a directory that was not known, or came anew: then it ends in a
// slash.
func (d *difference) at(ctx context.Context, rel string) error {
	rel, whole := strings.CutSuffix(rel, "/")
	info, err := os.Lstat(d.t.abs(rel))
	known := d.t.get(rel)
	switch {
	case err != nil && gone(err):
		if known == nil || known.file == nil || !d.saving(rel, path.Dir(rel)) {
			d.gone(rel, known)
		}
		return nil
	case err != nil:
		return fmt.Errorf("watch: %w", err)
	case !info.IsDir():
		d.file(rel, info, known)
		return nil
	case whole || known == nil || known.children == nil:
		return d.below(ctx, rel, known)
	}
	return nil // what changed in it is hinted at by itself
}

// below compares all that is in a directory.
func (d *difference) below(ctx context.Context, top string, known *node) error {
	if known != nil && known.file != nil {
		d.gone(top, known)
		known = nil
	}
	seen := map[string]bool{}
	err := d.t.walk(ctx, top, func(rel string) error {
		if n := d.t.get(rel); n == nil || n.children == nil {
			d.gone(rel, n)
			d.t.put(rel, &node{children: map[string]*node{}})
		}
		seen[rel] = true
		return nil
	}, func(rel string, e fs.DirEntry) {
		seen[rel] = true
		if info, err := e.Info(); err == nil {
			d.file(rel, info, d.t.get(rel))
		}
	})
	if err != nil || known == nil {
		return err
	}
	d.vanished(top, known, seen)
	return nil
}

func (d *difference) all(ctx context.Context) error { return d.below(ctx, "", d.t.top) }

// vanished forgets what is known below a directory and was not seen there.
func (d *difference) vanished(rel string, n *node, seen map[string]bool) {
	for name, child := range n.children {
		at := path.Join(rel, name)
		if !seen[at] {
			d.gone(at, child)
		} else {
			d.vanished(at, child, seen)
		}
	}
}

// gone forgets a path, and tells of every file that was known there.
func (d *difference) gone(rel string, known *node) {
	if known == nil {
		return
	}
	known.files(rel, func(rel string, f *file) { d.tell(rel, f, nil) })
	d.t.drop(rel)
}

// tell notes how a file differs; what one comparison finds of it twice, as when a directory took its place, is one
// difference.
func (d *difference) tell(rel string, was, is *file) {
	f := File{Path: rel, Last: d.now, was: was.content(), is: is.content()}
	if before, ok := d.found[rel]; ok {
		f.was = before.was
	}
	d.found[rel] = f
}

// saving says that a file that is empty, or not there, may be in the middle of being saved: there, which is itself or
// its directory, was written just now. That is said once; at the next look the file counts as it is.
func (d *difference) saving(rel, there string) bool {
	if d.again[rel] {
		return false
	}
	info, err := os.Lstat(d.t.abs(there))
	if err != nil || d.now.Sub(info.ModTime()) > d.t.quiet {
		return false
	}
	d.t.moved[rel] = true
	return true
}

// file compares one file with what is known of it.
func (d *difference) file(rel string, info fs.FileInfo, known *node) {
	f := look(info, d.now)
	if f == nil {
		d.gone(rel, known)
		return
	}
	if known != nil && known.file == nil {
		d.gone(rel, known)
		known = nil
	}
	if known == nil {
		f.sum, f.read = d.t.sum(rel, f)
		d.t.put(rel, &node{file: f})
		d.tell(rel, nil, f)
		return
	}
	old := known.file
	if old.same(f) && !(old.racy && old.read) {
		return
	}
	if f.size == 0 && f.mode.IsRegular() && d.saving(rel, rel) {
		return
	}
	f.sum, f.read = d.t.sum(rel, f)
	known.file = f
	switch {
	case old.same(f) && !(f.read && f.sum != old.sum):
	case old.read && f.read && old.sum == f.sum && old.mode == f.mode:
	default:
		d.tell(rel, old, f)
	}
}

// sum reads a file. ok is false when it cannot be read, or is too large: size and times decide then.
func (t *tree) sum(rel string, f *file) (sum uint64, ok bool) {
	if f.mode&fs.ModeSymlink != 0 {
		to, err := os.Readlink(t.abs(rel))
		return maphash.String(t.seed, to), err == nil
	}
	if f.size > readLimit {
		return 0, false
	}
	in, err := openFile(t.abs(rel))
	if err != nil {
		return 0, false
	}
	defer in.Close()
	var h maphash.Hash
	h.SetSeed(t.seed)
	_, err = io.Copy(&h, io.LimitReader(in, readLimit+1))
	return h.Sum64(), err == nil
}

// readAll reads what is known and was not read, so that a file that is written again with the same bytes is not
// taken for a change.
func (t *tree) readAll(ctx context.Context) {
	type job struct {
		rel string
		f   *file
	}
	var jobs []job
	t.mu.Lock()
	t.top.files("", func(rel string, f *file) {
		if !f.read && f.size <= readEach {
			jobs = append(jobs, job{rel, f})
		}
	})
	t.mu.Unlock()
	left := int64(readAhead)
	for _, j := range jobs {
		if left -= j.f.size; ctx.Err() != nil || left < 0 {
			return
		}
		sum, ok := t.sum(j.rel, j.f)
		info, err := os.Lstat(t.abs(j.rel))
		t.mu.Lock()
		if n := t.get(j.rel); ok && err == nil && n != nil && n.file == j.f && !j.f.read {
			if now := look(info, time.Now()); now != nil && now.same(j.f) {
				j.f.sum, j.f.read = sum, true
			}
		}
		t.mu.Unlock()
	}
}
