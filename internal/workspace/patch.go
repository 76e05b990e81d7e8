package workspace

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
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

// treeMode is the mode of an entry that is a tree itself.
const treeMode = "40000"

// trees reads, makes and remembers tree objects.
type trees struct {
	git    git
	format string
	cache  map[string][]leaf // by id
}

// cacheTrees is how many trees are remembered before the memory is emptied.
const cacheTrees = 20000

func newTrees(g git, format string) *trees {
	return &trees{git: g, format: format, cache: map[string][]leaf{}}
}

// dirNode holds the edits of one directory.
type dirNode struct {
	files map[string]edit
	dirs  map[string]*dirNode
}

func newDirNode() *dirNode { return &dirNode{files: map[string]edit{}, dirs: map[string]*dirNode{}} }

// patch returns the tree that root becomes by the edits.
func (c *trees) patch(ctx context.Context, root string, edits map[string]edit) (string, error) {
	if len(edits) == 0 {
		return root, nil
	}
	if len(c.cache) > cacheTrees {
		c.cache = map[string][]leaf{}
	}
	top := newDirNode()
	dirs := map[string]bool{"": true}
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
	if err := c.load(ctx, root, dirs); err != nil {
		return "", fmt.Errorf("read a snapshot: %w", err)
	}
	w := &treeWriter{c: c}
	entries, err := w.apply(top, root)
	if err != nil {
		return "", err
	}
	id := w.add(entries)
	if err := w.flush(ctx); err != nil {
		return "", fmt.Errorf("write a snapshot: %w", err)
	}
	return id, nil
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
	size := c.hash().Size()
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

func (c *trees) hash() hash.Hash {
	if c.format == "sha256" {
		return sha256.New()
	}
	return sha1.New()
}

// treeWriter collects new trees, children before their parents.
type treeWriter struct {
	c     *trees
	input bytes.Buffer
	ids   []string
}

// apply returns the entries of a directory after its edits. id is its tree before, or "".
func (w *treeWriter) apply(n *dirNode, id string) ([]leaf, error) {
	old := w.c.cache[id]
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
		list, err := w.apply(sub, was)
		if err != nil {
			return nil, err
		}
		switch {
		case len(list) > 0:
			entries[name] = leaf{mode: treeMode, name: name, id: w.add(list)}
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

// add returns the id of a tree, and has it written when it is not known to be there.
func (w *treeWriter) add(entries []leaf) string {
	var raw bytes.Buffer
	for _, l := range entries {
		raw.WriteString(l.mode + " " + l.name + "\x00")
		b, err := hex.DecodeString(l.id)
		if err != nil {
			panic("BUG: workspace: an object id that is not hexadecimal: " + l.id)
		}
		raw.Write(b)
	}
	h := w.c.hash()
	fmt.Fprintf(h, "tree %d\x00", raw.Len())
	h.Write(raw.Bytes())
	id := hex.EncodeToString(h.Sum(nil))
	if _, known := w.c.cache[id]; known {
		return id
	}
	w.c.cache[id] = entries
	for _, l := range entries {
		kind := "blob"
		switch l.mode {
		case treeMode:
			kind = "tree"
		case "160000":
			kind = "commit"
		}
		fmt.Fprintf(&w.input, "%s %s %s\t%s\x00", l.mode, kind, l.id, l.name)
	}
	w.input.WriteByte(0)
	w.ids = append(w.ids, id)
	return id
}

// flush writes the new trees.
func (w *treeWriter) flush(ctx context.Context) error {
	if len(w.ids) == 0 {
		return nil
	}
	a, err := w.c.git.do(ctx, call{args: []string{"mktree", "-z", "--missing", "--batch"}, stdin: w.input.Bytes(), writes: true})
	if err == nil {
		if got := strings.Fields(string(a.out)); !slices.Equal(got, w.ids) {
			err = errors.New("git made other trees than it was told to")
		}
	}
	if err != nil { // what was not written must not be taken for known
		for _, id := range w.ids {
			delete(w.c.cache, id)
		}
	}
	return err
}
