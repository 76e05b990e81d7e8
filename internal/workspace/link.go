package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A worktree lies inside the repository it belongs to. If its .git file goes, git climbs to the repository
// above and would work on the user's checkout instead. So the link is verified before anything is done, and
// every call names its git directory and work tree.

// Verify checks that the worktree is still what was made: its directory, its link and its entry in the
// repository. The error wraps ErrBrokenLink.
func (t *Tree) Verify(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.verify(ctx)
}

func (t *Tree) verify(context.Context) error {
	broken := func(what string) error { return fmt.Errorf("%w: %s", ErrBrokenLink, what) }
	st, err := os.Lstat(t.dir)
	if err != nil || !st.IsDir() {
		return broken(t.dir + " is not a directory any more")
	}
	if t.checkout {
		return nil
	}
	file := filepath.Join(t.dir, ".git")
	st, err = os.Lstat(file)
	switch {
	case err != nil:
		return broken(".git is gone")
	case !st.Mode().IsRegular():
		return broken(".git is now a " + typeName(st.Mode()))
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != t.link {
		return broken(".git points somewhere else")
	}
	b, err := os.ReadFile(filepath.Join(t.admin, "gitdir"))
	if err != nil || strings.TrimSpace(string(b)) != file {
		return broken("the repository's entry for it is gone or points somewhere else")
	}
	for _, name := range []string{"HEAD", "commondir"} {
		if st, err := os.Lstat(filepath.Join(t.admin, name)); err != nil || !st.Mode().IsRegular() {
			return broken("the repository's entry for it lacks " + name)
		}
	}
	return nil
}

// mend restores a broken link. What stood in its place is kept. It returns a sentence about what it found.
func (t *Tree) mend(ctx context.Context, was Snapshot) (string, error) {
	found := t.verify(ctx)
	if found == nil {
		return "", nil
	}
	note := strings.TrimPrefix(found.Error(), ErrBrokenLink.Error()+": ")
	if st, err := os.Lstat(t.dir); err != nil || !st.IsDir() {
		if err == nil {
			if err := os.Remove(t.dir); err != nil {
				return note, fmt.Errorf("mend the link: %w", err)
			}
		}
		if err := os.MkdirAll(t.dir, 0o755); err != nil {
			return note, fmt.Errorf("mend the link: %w", err)
		}
	}
	file := filepath.Join(t.dir, ".git")
	if b, err := os.ReadFile(file); err != nil || string(b) != t.link {
		if _, err := os.Lstat(file); err == nil {
			kept, err := t.takeAwayNested("")
			if err != nil {
				return note, fmt.Errorf("mend the link: %w", err)
			}
			note += "; what stood there is kept at " + kept
		}
		if err := replaceFile(file, []byte(t.link), 0o644); err != nil {
			return note, fmt.Errorf("mend the link: %w", err)
		}
	}
	if err := t.mendEntry(was); err != nil {
		return note, fmt.Errorf("mend the link: %w", err)
	}
	if err := t.verify(ctx); err != nil {
		return note, err
	}
	return note, nil
}

// mendEntry makes the repository's entry for the worktree again where a part of it is missing.
func (t *Tree) mendEntry(was Snapshot) error {
	head := was.Head
	if was.Branch != "" {
		head = "ref: " + was.Branch
	}
	for name, text := range map[string]string{"gitdir": filepath.Join(t.dir, ".git"), "commondir": "../..", "HEAD": head} {
		path := filepath.Join(t.admin, name)
		b, err := os.ReadFile(path)
		if err == nil && (name == "HEAD" || strings.TrimSpace(string(b)) == text) {
			continue
		}
		if err := replaceFile(path, []byte(text+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// headState returns where HEAD is: the commit, and the full name of the branch.
func (t *Tree) headState(ctx context.Context) (head, branch string, err error) {
	b, err := os.ReadFile(filepath.Join(t.admin, "HEAD"))
	if err != nil {
		return "", "", fmt.Errorf("read HEAD: %w", err)
	}
	if name, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "ref: "); ok {
		branch = name
	}
	if t.last != nil && t.last.Head != "" && t.last.Branch == branch {
		if branch != "" {
			b, _ = os.ReadFile(filepath.Join(t.repo.common, filepath.FromSlash(branch))) // refs can be kept in other ways
		}
		if strings.TrimSpace(string(b)) == t.last.Head {
			return t.last.Head, branch, nil // nothing to ask git
		}
	}
	a, err := t.git.do(ctx, call{args: []string{"rev-parse", "-q", "--verify", "HEAD^{commit}"}, ok: 1})
	if err != nil {
		return "", "", fmt.Errorf("read HEAD: %w", err)
	}
	return strings.TrimSpace(string(a.out)), branch, nil
}

// operations are the files by which git remembers that it is in the middle of something.
var operations = []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply", "sequencer"}

// busy returns which of them a git directory has.
func busy(gitDir string) []string {
	var list []string
	for _, name := range operations {
		if _, err := os.Lstat(filepath.Join(gitDir, name)); err == nil {
			list = append(list, name)
		}
	}
	return list
}

// saveIndex copies the real index when it changed since it was last copied, and returns the name of the copy.
func (t *Tree) saveIndex() (string, error) {
	if t.checkout {
		return "", nil // it is never put back
	}
	path := filepath.Join(t.admin, "index")
	id, err := identify(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look at the index: %w", err)
	}
	if id == t.saved && t.copied != "" {
		return t.copied, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("copy the index: %w", err)
	}
	name := fmt.Sprintf("index-%d", t.next)
	if err := replaceFile(filepath.Join(t.shadow.dir, name), data, 0o600); err != nil {
		return "", fmt.Errorf("copy the index: %w", err)
	}
	t.saved, t.copied = id, name
	if old := t.next - 32; old >= 0 { // no phase takes so many snapshots; a lost copy is made from HEAD
		os.Remove(filepath.Join(t.shadow.dir, fmt.Sprintf("index-%d", old)))
	}
	return name, nil
}
