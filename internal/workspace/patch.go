package workspace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A new tree is made from the one before it: only the directories in which something changed are read and
// written. Writing it from an index instead would cost as much as three looks at all files.

// edit is what a path is to be: a file, a link, or nothing when mode is empty.
type edit struct{ mode, blob string }

// leaf is one entry of a tree object.
type leaf struct{ mode, name, id string }

const (
	treeMode = "40000"  // of an entry that is a tree itself
	nothing  = "000000" // stands in comparisons where there is no entry
)

// trees reads, makes and remembers tree objects.
type trees struct {
	git   git
	store *store
	cache map[string][]leaf // by id
}

// cacheTrees is how many trees are remembered before the memory is emptied.
const cacheTrees = 20000

func newTrees(g git, s *store) *trees {
	return &trees{git: g, store: s, cache: map[string][]leaf{}}
}

// dirNode holds the edits of one directory.
type dirNode struct {
	files map[string]edit
	dirs  map[string]*dirNode
}

func newDirNode() *dirNode { return &dirNode{files: map[string]edit{}, dirs: map[string]*dirNode{}} }

// nodes arranges edits by directory. dirs are all directories that they are in.
func nodes(edits map[string]edit) (top *dirNode, dirs map[string]bool) {
	top, dirs = newDirNode(), map[string]bool{"": true}
	for p, e := range edits {
		n := top
		parts := strings.Split(p, "/")
		for i, part := range parts[:len(parts)-1] {
			dirs[strings.Join(parts[:i+1], "/")] = true
			if n.dirs[part] == nil {
				n.dirs[part] = newDirNode()
			}
			n = n.dirs[part]
		}
		n.files[parts[len(parts)-1]] = e
	}
	return top, dirs
}

// each calls f with every path below a directory that has an edit.
func (n *dirNode) each(dir string, f func(p string)) {
	for name := range n.files {
		f(join2(dir, name))
	}
	for name, sub := range n.dirs {
		sub.each(join2(dir, name), f)
	}
}

// patch returns the tree that root becomes by the edits.
func (c *trees) patch(ctx context.Context, root string, edits map[string]edit) (string, error) {
	if len(edits) == 0 {
		return root, nil
	}
	if len(c.cache) > cacheTrees {
		c.cache = map[string][]leaf{}
	}
	top, dirs := nodes(edits)
	if err := c.load(ctx, root, dirs); err != nil {
		return "", fmt.Errorf("read a snapshot: %w", err)
	}
	entries, err := c.apply(top, root)
	if err != nil {
		return "", err
	}
	return c.add(entries)
}

// load reads the trees of some directories below root that are not remembered.
func (c *trees) load(ctx context.Context, root string, dirs map[string]bool) error {
	var names, odd []string
	for d := range dirs {
		if id, known := c.find(root, d); known && (id == "" || c.cache[id] != nil) {
			continue
		}
		if strings.Contains(d, "\n") {
			odd = append(odd, d)
			continue
		}
		names = append(names, root+":"+d)
	}
	if len(names) > 0 {
		a, err := c.git.do(ctx, call{args: []string{"cat-file", "--batch"}, stdin: []byte(strings.Join(names, "\n") + "\n")})
		if err != nil {
			return err
		}
		if err := c.readBatch(a.out, len(names)); err != nil {
			return err
		}
	}
	for _, d := range odd { // a name with a line break cannot be asked for in a batch
		id, err := c.git.line(ctx, "rev-parse", "-q", "--verify", root+":"+d)
		var ge *GitError
		if errors.As(err, &ge) && ge.Reason != 0 && ge.Exit == 1 {
			continue // there is none
		}
		if err != nil {
			return err
		}
		kind, err := c.git.line(ctx, "cat-file", "-t", id)
		if err != nil {
			return err
		}
		if kind != "tree" {
			continue
		}
		raw, err := c.git.read(ctx, "cat-file", "tree", id)
		if err != nil {
			return err
		}
		if c.cache[id], err = c.parse(raw); err != nil {
			return err
		}
	}
	return nil
}

// find returns the id of the tree of a directory, "" when there is none, as far as trees are remembered.
func (c *trees) find(root, dir string) (id string, known bool) {
	id = root
	if dir == "" {
		return id, true
	}
	for part := range strings.SplitSeq(dir, "/") {
		entries, ok := c.cache[id]
		if !ok {
			return "", false
		}
		i := slices.IndexFunc(entries, func(l leaf) bool { return l.name == part })
		if i < 0 || entries[i].mode != treeMode {
			return "", true
		}
		id = entries[i].id
	}
	return id, true
}

// diff compares two trees entry by entry. The result is sorted by path. Between trees that were made or read
// here it asks git nothing.
func (c *trees) diff(ctx context.Context, from, to string) ([]Change, error) {
	var list []Change
	level := []twins{{was: from, is: to}}
	for len(level) > 0 {
		if err := c.loadIDs(ctx, level); err != nil {
			return nil, err
		}
		var next []twins
		for _, d := range level {
			next = c.diffDir(d, next, &list)
		}
		level = next
	}
	sortChanges(list)
	return list, nil
}

// twins is a directory in two trees; an id is empty where there is none.
type twins struct{ dir, was, is string }

// diffDir compares one directory. It adds what differs to list, and the directories that do to next.
func (c *trees) diffDir(d twins, next []twins, list *[]Change) []twins {
	if d.was == d.is {
		return next
	}
	old := make(map[string]leaf, len(c.cache[d.was]))
	for _, l := range c.cache[d.was] {
		old[l.name] = l
	}
	differ := func(was, is leaf) {
		p := join2(d.dir, cmp.Or(was.name, is.name))
		sub := twins{dir: p}
		if was.mode == treeMode {
			sub.was, was = was.id, leaf{}
		}
		if is.mode == treeMode {
			sub.is, is = is.id, leaf{}
		}
		if sub.was != sub.is {
			next = append(next, sub)
		}
		if was.mode != "" || is.mode != "" {
			*list = append(*list, leafChange(p, was, is))
		}
	}
	for _, l := range c.cache[d.is] {
		was := old[l.name]
		delete(old, l.name)
		if was != l {
			differ(was, l)
		}
	}
	for _, was := range old {
		differ(was, leaf{})
	}
	return next
}

// leafChange says how the file or link at p differs; a leaf without a mode is none.
func leafChange(p string, was, is leaf) Change {
	c := Change{Path: p, OldMode: cmp.Or(was.mode, nothing), NewMode: cmp.Or(is.mode, nothing), oldBlob: was.id, newBlob: is.id, Kind: Modified}
	switch {
	case was.mode == "":
		c.Kind = Created
	case is.mode == "":
		c.Kind = Deleted
	case was.mode[:3] != is.mode[:3]:
		c.Kind = TypeChanged
	case was.id == is.id:
		c.Kind = ModeChanged
	}
	return c
}

// loadIDs reads the trees that are not remembered.
func (c *trees) loadIDs(ctx context.Context, dirs []twins) error {
	var ids []string
	for _, d := range dirs {
		for _, id := range []string{d.was, d.is} {
			if id != "" && d.was != d.is && c.cache[id] == nil {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	a, err := c.git.do(ctx, call{args: []string{"cat-file", "--batch"}, stdin: []byte(strings.Join(ids, "\n") + "\n")})
	if err != nil {
		return err
	}
	if err := c.readBatch(a.out, len(ids)); err != nil {
		return err
	}
	for _, id := range ids {
		if c.cache[id] == nil {
			return fmt.Errorf("the tree %s is not in the repository", id)
		}
	}
	return nil
}

// readBatch reads the answers of cat-file --batch.
func (c *trees) readBatch(out []byte, want int) error {
	for range want {
		head, rest, ok := bytes.Cut(out, []byte("\n"))
		if !ok {
			return errors.New("git's answer is cut off")
		}
		out = rest
		if bytes.HasSuffix(head, []byte(" missing")) {
			continue
		}
		f := strings.Fields(string(head))
		if len(f) != 3 {
			return fmt.Errorf("git answered %q", head)
		}
		n, err := strconv.Atoi(f[2])
		if err != nil || len(out) < n+1 {
			return errors.New("git's answer is cut off")
		}
		if f[1] == "tree" {
			if c.cache[f[0]], err = c.parse(out[:n]); err != nil {
				return err
			}
		}
		out = out[n+1:]
	}
	return nil
}

// parse reads a tree object. The result is never nil.
func (c *trees) parse(raw []byte) ([]leaf, error) {
	size := newHash(c.store.format).Size()
	entries := []leaf{}
	for len(raw) > 0 {
		head, rest, ok := bytes.Cut(raw, []byte{0})
		mode, name, ok2 := strings.Cut(string(head), " ")
		if !ok || !ok2 || len(rest) < size {
			return nil, errors.New("a tree object is damaged")
		}
		entries = append(entries, leaf{mode: mode, name: name, id: hex.EncodeToString(rest[:size])})
		raw = rest[size:]
	}
	return entries, nil
}

// apply returns the entries of a directory after its edits. id is its tree before, or "".
func (c *trees) apply(n *dirNode, id string) ([]leaf, error) {
	old := c.cache[id]
	if id != "" && old == nil {
		return nil, fmt.Errorf("BUG: workspace: the tree %s was not read", id)
	}
	entries := make(map[string]leaf, len(old))
	for _, l := range old {
		entries[l.name] = l
	}
	for name, sub := range n.dirs {
		was := ""
		if l, ok := entries[name]; ok && l.mode == treeMode {
			was = l.id
		}
		list, err := c.apply(sub, was)
		if err != nil {
			return nil, err
		}
		switch {
		case len(list) > 0:
			sub, err := c.add(list)
			if err != nil {
				return nil, err
			}
			entries[name] = leaf{mode: treeMode, name: name, id: sub}
		case was != "":
			delete(entries, name)
		}
	}
	for name, e := range n.files {
		switch l, there := entries[name]; {
		case e.mode != "":
			entries[name] = leaf{mode: e.mode, name: name, id: e.blob}
		case there && l.mode != treeMode:
			delete(entries, name)
		}
	}
	list := make([]leaf, 0, len(entries))
	for _, l := range entries {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b leaf) int { return strings.Compare(sortName(a), sortName(b)) })
	return list, nil
}

// sortName is the name by which git sorts entries.
func sortName(l leaf) string {
	if l.mode == treeMode {
		return l.name + "/"
	}
	return l.name
}

// add writes a tree and returns its id.
func (c *trees) add(entries []leaf) (string, error) {
	var raw bytes.Buffer
	for _, l := range entries {
		raw.WriteString(l.mode + " " + l.name + "\x00")
		b, err := hex.DecodeString(l.id)
		if err != nil {
			panic("BUG: workspace: an object id that is not hexadecimal: " + l.id)
		}
		raw.Write(b)
	}
	id, err := c.store.put("tree", raw.Bytes())
	if err != nil {
		return "", fmt.Errorf("write a snapshot: %w", err)
	}
	c.cache[id] = entries
	return id, nil
}
