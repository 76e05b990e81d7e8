package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// One path of the checkout is brought back to what a tree has there. Git's filters take no part: the bytes are those
// of the snapshot. No link is followed on the way. A file that would be lost, because HEAD does not have exactly it, is in the
// way unless it may be replaced, and then a ref keeps it first. Files that the tree does not have are left alone.

// BringSpec says which path, and from where.
type BringSpec struct {
	Run     string // whose refs keep what is replaced
	Tree    string // a tree or commit that has the path
	Path    string // from the root of the repository, with slashes; "" is all of it
	Replace bool   // what is not committed may be replaced, once it is kept
}

// Brought says what was done.
type Brought struct {
	Written []string // the paths that were changed, sorted
	Same    int      // files that were so already
	Left    []string // of a directory: tracked files that were not in it then; they are left as they are
	Skipped []string // submodules, which a tree does not hold
	Kept    string   // the ref with what was replaced and is in no commit; "" when there was none
}

// Entry is one file or link that a tree holds.
type Entry struct {
	Path string // from the root of the repository
	Mode string // "100644", "100755", "120000", "160000" of a submodule
	blob string
}

// ErrNoSuchPath says that a tree has nothing at a path.
var ErrNoSuchPath = errors.New("there was no such path")

// Entries lists what a tree has at a path and below it, sorted. It returns ErrNoSuchPath when there is nothing.
func (r *Repo) Entries(ctx context.Context, tree, at string) ([]Entry, error) {
	args := []string{"ls-tree", "-r", "-z", "--full-tree", tree}
	if at != "" {
		args = append(args, "--", at)
	}
	out, err := r.git.read(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", at, err)
	}
	lines, err := fields(out)
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, line := range lines {
		head, name, _ := strings.Cut(line, "\t")
		f := strings.Fields(head)
		if len(f) != 3 {
			return nil, fmt.Errorf("list %s: git answered %q", at, line)
		}
		list = append(list, Entry{name, f[0], f[2]})
	}
	if len(list) == 0 {
		return nil, ErrNoSuchPath
	}
	return list, nil
}

// Content is the file of an entry byte for byte, or what a link says.
func (r *Repo) Content(ctx context.Context, e Entry) ([]byte, error) {
	got, err := r.git.blobs(ctx, []string{e.blob})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", e.Path, err)
	}
	return got[e.blob], nil
}

// Bring writes a path as a tree has it. A refusal is a *BlockedError, and has touched nothing.
func (r *Repo) Bring(ctx context.Context, s BringSpec) (Brought, error) {
	var done Brought
	if err := checkRun(s.Run); err != nil {
		return done, err
	}
	want, err := r.Entries(ctx, s.Tree, s.Path)
	if err != nil {
		return done, err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return done, err
	}
	defer unlock()
	b := bringing{r: r, tree: &Tree{repo: r, dir: r.root}, edits: map[string]edit{}}
	if err := b.look(ctx, want, s.Replace, &done); err != nil {
		return done, err
	}
	if done.Left, err = b.others(ctx, want, s.Path); err != nil {
		return done, err
	}
	if done.Kept, err = b.keep(ctx, s.Run); err != nil {
		return done, fmt.Errorf("keep what would be replaced: %w", err)
	}
	for chunk := range slices.Chunk(b.steps, 64) {
		if err := b.write(ctx, chunk, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

// bringing is one Bring.
type bringing struct {
	r     *Repo
	tree  *Tree
	steps []Entry
	edits map[string]edit // what is replaced and in no commit
	lost  []string
	dirty []string // what git says is not committed, once it was asked
	asked bool
}

// look finds what has to be written, and what is in the way of it.
func (b *bringing) look(ctx context.Context, want []Entry, replace bool, done *Brought) error {
	committed, err := b.committed(ctx)
	if err != nil {
		return err
	}
	store := b.store()
	var blocked []string
	for _, e := range want {
		if e.Mode == "160000" {
			done.Skipped = append(done.Skipped, e.Path)
			continue
		}
		if b.blocked(e.Path) {
			blocked = append(blocked, e.Path)
			continue
		}
		mode, data, err := b.now(e.Path)
		if err != nil {
			return fmt.Errorf("read %s: %w", e.Path, err)
		}
		id := ""
		if mode != "" {
			id = objectID(b.r.format, "blob", data)
		}
		if mode == e.Mode && id == e.blob {
			done.Same++
			continue
		}
		held := mode == ""
		if was := committed[e.Path]; !held && was.Mode == mode {
			if held, err = b.held(ctx, was, id, data); err != nil {
				return err
			}
		}
		if !held {
			b.lost = append(b.lost, e.Path)
			if replace {
				if _, err := store.put("blob", data); err != nil {
					return fmt.Errorf("keep %s: %w", e.Path, err)
				}
				b.edits[e.Path] = edit{mode, id}
			}
		}
		b.steps = append(b.steps, e)
	}
	switch {
	case len(blocked) > 0:
		return &BlockedError{Reason: "something that is no file stands in the way", Paths: blocked, Hint: "move it away, or print the file instead"}
	case len(b.lost) > 0 && !replace:
		return &BlockedError{Reason: "what is there is not committed and would be replaced", Paths: b.lost,
			Hint: "commit it, or replace it with --force, which keeps it under a ref"}
	}
	return nil
}

// held says whether HEAD has a file: its bytes, or those that git makes other line ends of in a checkout.
func (b *bringing) held(ctx context.Context, was Entry, id string, data []byte) (bool, error) {
	if was.blob == id {
		return true, nil
	}
	if !b.asked {
		dirty, err := b.r.Dirty(ctx)
		if err != nil {
			return false, err
		}
		b.dirty, b.asked = dirty, true
	}
	if slices.Contains(b.dirty, was.Path) {
		return false, nil
	}
	text, err := b.r.Content(ctx, was)
	lf := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }
	return err == nil && bytes.Equal(lf(text), lf(data)), err
}

func (b *bringing) store() *store {
	return &store{dir: filepath.Join(b.r.common, "objects"), format: b.r.format}
}

// committed is what HEAD has; nothing before a first commit.
func (b *bringing) committed(ctx context.Context) (map[string]Entry, error) {
	sha, _, err := b.r.git.head(ctx)
	if err != nil || sha == "" {
		return nil, err
	}
	list, err := b.r.Entries(ctx, sha, "")
	if err != nil && !errors.Is(err, ErrNoSuchPath) {
		return nil, err
	}
	all := make(map[string]Entry, len(list))
	for _, e := range list {
		all[e.Path] = e
	}
	return all, nil
}

// blocked says whether a path cannot be written: a directory or a special file stands there, or a parent is no directory.
func (b *bringing) blocked(p string) bool {
	kind, _ := kindAt(b.tree.dir, p)
	return kind != "none" && kind != "file" && kind != "symlink"
}

// now is what the checkout has at a path: mode "" when there is nothing.
func (b *bringing) now(p string) (mode string, data []byte, err error) {
	kind, st := kindAt(b.tree.dir, p)
	full := filepath.Join(b.tree.dir, p)
	switch kind {
	case "symlink":
		to, err := os.Readlink(full)
		return "120000", []byte(to), err
	case "file":
		data, err := os.ReadFile(full)
		return modeOf(kind, st), data, err
	}
	return "", nil, nil
}

// others are the files that git tracks below a path and that were not there then.
func (b *bringing) others(ctx context.Context, want []Entry, at string) ([]string, error) {
	args := []string{"ls-files", "-z"}
	if at != "" {
		args = append(args, "--", at)
	}
	out, err := b.r.git.read(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("list the tracked files: %w", err)
	}
	tracked, err := fields(out)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, e := range want {
		there[e.Path] = true
	}
	var left []string
	for _, p := range slices.Compact(tracked) {
		if _, err := os.Lstat(filepath.Join(b.tree.dir, p)); err == nil && !there[p] {
			left = append(left, p)
		}
	}
	return left, nil
}

// keep makes a commit of what is replaced and in no other one.
func (b *bringing) keep(ctx context.Context, run string) (string, error) {
	if len(b.edits) == 0 {
		return "", nil
	}
	store := b.store()
	empty, err := store.put("tree", nil)
	if err != nil {
		return "", err
	}
	tree, err := newTrees(b.r.git, store).patch(ctx, empty, b.edits)
	if err != nil {
		return "", err
	}
	commit, err := store.commit(tree, "what a restore from "+run+" replaced\n")
	if err != nil {
		return "", err
	}
	ref := "refs/foundry-restored/" + run + "/" + commit[:12] // no run's own: nothing of Foundry's ever deletes it
	return ref, b.r.git.write(ctx, "update-ref", "--no-deref", "-m", "foundry: restore", ref, commit)
}

func (b *bringing) write(ctx context.Context, steps []Entry, done *Brought) error {
	ids := make([]string, len(steps))
	for i, e := range steps {
		ids[i] = e.blob
	}
	blobs, err := b.r.git.blobs(ctx, ids)
	if err != nil {
		return fmt.Errorf("read the files of the snapshot: %w", err)
	}
	for _, e := range steps {
		if err := b.put(e, blobs[e.blob]); err != nil {
			return fmt.Errorf("write %s: %w", e.Path, err)
		}
		done.Written = append(done.Written, e.Path)
	}
	return nil
}

// put writes one file. A link in its place is taken away first: what it leads to is never written.
func (b *bringing) put(e Entry, data []byte) error {
	if kind, _ := kindAt(b.tree.dir, e.Path); kind == "symlink" {
		if err := b.tree.unlink(filepath.Join(b.tree.dir, e.Path)); err != nil {
			return err
		}
	}
	return b.tree.put(e.Path, e.Mode, data)
}
