package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A repository inside the workspace (a submodule, or one that an agent made) hides its files from git
// altogether. Snapshots hold them as ordinary files. What cannot be held is its git directory; of that the
// commit it is at is remembered.

// nested returns the commits that nested repositories are at; "" is for one without a commit.
func (t *Tree) nested(ctx context.Context, dirs []string) (map[string]string, error) {
	if len(dirs) == 0 {
		return nil, nil
	}
	at := make(map[string]string, len(dirs))
	for _, d := range dirs {
		a, err := t.inner(d).do(ctx, call{args: []string{"rev-parse", "-q", "--verify", "HEAD^{commit}"}, ok: 1})
		var ge *GitError
		if err != nil && !errors.As(err, &ge) {
			return nil, fmt.Errorf("look at the nested repository %q: %w", d, err)
		}
		at[d] = "" // a .git that is no repository counts as one without a commit
		if err == nil {
			at[d] = strings.TrimSpace(string(a.out))
		}
	}
	return at, nil
}

// inner is for calls in a nested repository.
func (t *Tree) inner(dir string) git {
	full := filepath.Join(t.dir, dir)
	return git{env: t.git.env, dir: full, gitDir: filepath.Join(full, ".git"), workTree: full, lockWait: t.git.lockWait}
}

// putBackNested brings a nested repository to the commit it was at, its index with it. Its files are put
// back one by one like all others. What it was at stays under a ref of its own.
func (t *Tree) putBackNested(ctx context.Context, dir, was, now string) error {
	g := t.inner(dir)
	if now != "" {
		if err := g.write(ctx, "update-ref", refOf(t.run, "was-"+now[:12]), now); err != nil {
			return err
		}
	}
	if err := g.write(ctx, "update-ref", "-m", "foundry: put back", "HEAD", was); err != nil {
		return err
	}
	return g.write(ctx, "read-tree", was)
}

// takeAwayNested moves the git directory of a repository that the phase made out of the workspace. It is kept.
func (t *Tree) takeAwayNested(dir string) (kept string, err error) {
	from := filepath.Join(t.dir, dir, ".git")
	lost := filepath.Join(filepath.Dir(t.dir), ".lost", t.run) // on the same file system
	if err := os.MkdirAll(lost, 0o700); err != nil {
		return "", err
	}
	to, err := os.MkdirTemp(lost, "git-*")
	if err != nil {
		return "", err
	}
	to = filepath.Join(to, "git")
	return to, os.Rename(from, to)
}
