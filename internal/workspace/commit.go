package workspace

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A commit of Foundry's holds work and nothing else: tracked files that changed, and new ones that no rule
// ignores; not what agents hand to each other, not nested repositories, and not files that only look changed.

// Commit commits what is uncommitted in the workspace, with the user's identity. hooks runs the user's hooks.
// nothing is true when there was nothing to commit; sha is then where HEAD is. Changes of line endings alone
// are left out.
func (t *Tree) Commit(ctx context.Context, message string, hooks bool) (sha string, nothing bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.verify(ctx); err != nil {
		return "", false, err
	}
	sha, nothing, err = t.commitAll(ctx, committing{message: message, hooks: hooks, skipEOL: true})
	if err != nil {
		return "", false, fmt.Errorf("commit in %s: %w", t.dir, err)
	}
	return sha, nothing, nil
}

// committing says how to commit.
type committing struct {
	message string
	hooks   bool
	skipEOL bool     // leave changes of line endings out
	env     []string // over the environment
}

func (t *Tree) commitAll(ctx context.Context, c committing) (sha string, nothing bool, err error) {
	t.dropLock("index.lock")
	t.dropHeadLocks()
	old, branch, err := t.git.head(ctx)
	if err != nil && !errors.Is(err, ErrNoCommits) {
		return "", false, err
	}
	if err := t.stage(ctx, old, c.skipEOL); err != nil {
		return "", false, err
	}
	out, err := t.git.do(ctx, call{args: []string{"write-tree"}, writes: true})
	if err != nil {
		return "", false, err
	}
	tree := strings.TrimSpace(string(out.out))
	if old != "" {
		was, err := t.git.line(ctx, "rev-parse", old+"^{tree}")
		if err != nil {
			return "", false, err
		}
		if was == tree {
			return old, true, nil
		}
	}
	if err := t.makeCommit(ctx, c, tree, old); err != nil {
		return "", false, err
	}
	sha, now, err := t.git.head(ctx)
	switch {
	case err != nil:
		return "", false, err
	case sha == old:
		return "", false, errors.New("git said that it had made a commit, but HEAD is where it was")
	case now != branch:
		return "", false, fmt.Errorf("HEAD is on %q after the commit instead of %q", now, branch)
	}
	return sha, false, nil
}

func (t *Tree) makeCommit(ctx context.Context, c committing, tree, old string) error {
	message := strings.TrimSpace(c.message) + "\n"
	if c.hooks {
		_, err := t.git.do(ctx, call{
			args:  []string{"-c", "commit.gpgSign=false", "commit", "-q", "--no-edit", "--cleanup=whitespace", "-F", "-"},
			stdin: []byte(message), env: c.env, timeout: hookTime, hooks: true, writes: true,
		})
		return err
	}
	args := []string{"commit-tree", tree}
	if old != "" {
		args = append(args, "-p", old)
	}
	a, err := t.git.do(ctx, call{args: args, stdin: []byte(message), env: c.env, writes: true})
	if err != nil {
		return err
	}
	sha := strings.TrimSpace(string(a.out))
	first, _, _ := strings.Cut(message, "\n")
	if old == "" {
		old = strings.Repeat("0", len(sha))
	}
	_, err = t.git.do(ctx, call{args: []string{"update-ref", "-m", "commit: " + first, "HEAD", sha, old}, env: c.env, writes: true})
	return err
}

// stage brings the real index to what is to be committed.
func (t *Tree) stage(ctx context.Context, head string, skipEOL bool) error {
	var paths []string
	for _, args := range [][]string{
		{"-c", "core.fileMode=true", "diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all"},
		{"ls-files", "-o", "--exclude-standard", "-z"},
	} {
		out, err := t.git.read(ctx, args...)
		if err != nil {
			return err
		}
		list, err := fields(out)
		if err != nil {
			return err
		}
		paths = append(paths, list...)
	}
	staged, err := t.staged(ctx)
	if err != nil {
		return err
	}
	var remove []string
	paths = slices.DeleteFunc(paths, func(p string) bool {
		top, _, _ := strings.Cut(p, "/")
		if strings.HasSuffix(p, "/") || top == handoffDir || top == recordsDir || top == worktreesDir || slices.Contains(t.shadow.state.Links, p) {
			return true
		}
		switch kind, _ := kindAt(t.dir, p); kind {
		case "file", "symlink":
			e, known := staged[p]
			return known && t.mode(p) == e.mode && t.repo.sameBytes(filepath.Join(t.dir, p), e.blob)
		}
		remove = append(remove, p)
		return true
	})
	for p := range staged {
		if strings.HasPrefix(p, handoffDir+"/") {
			remove = append(remove, p)
		}
	}
	for _, u := range []struct {
		flags []string
		paths []string
	}{{[]string{"--force-remove"}, remove}, {[]string{"--add", "--replace", "--remove"}, paths}} {
		if len(u.paths) == 0 {
			continue
		}
		args := append(append([]string{"-c", "core.fileMode=true", "update-index"}, u.flags...), "-z", "--stdin")
		if _, err := t.git.do(ctx, call{args: args, stdin: nul(u.paths), writes: true, timeout: longTime}); err != nil {
			return err
		}
	}
	if skipEOL && head != "" {
		return t.unstageEOL(ctx, head)
	}
	return nil
}

// staged returns the entries of the real index by path.
func (t *Tree) staged(ctx context.Context) (map[string]entry, error) {
	out, err := t.git.read(ctx, "ls-files", "-s", "-v", "-z")
	if err != nil {
		return nil, err
	}
	recs, err := fields(out)
	if err != nil {
		return nil, err
	}
	m := make(map[string]entry, len(recs))
	for _, rec := range recs {
		e, err := parseEntry(rec)
		if err != nil {
			return nil, err
		}
		m[e.path] = e
	}
	return m, nil
}

// mode returns the mode that git would record for a file or link.
func (t *Tree) mode(p string) string {
	kind, st := kindAt(t.dir, p)
	return modeOf(kind, st)
}

// sameBytes reports whether a file has exactly the bytes of a blob: then it is unchanged, whatever git would
// make of it under the attributes of today.
func (r *Repo) sameBytes(full, blob string) bool {
	st, err := os.Lstat(full)
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	data, err := os.ReadFile(full)
	if err != nil {
		return false
	}
	head := fmt.Sprintf("blob %d\x00", len(data))
	if r.format == "sha256" {
		h := sha256.New()
		h.Write([]byte(head))
		h.Write(data)
		return fmt.Sprintf("%x", h.Sum(nil)) == blob
	}
	h := sha1.New()
	h.Write([]byte(head))
	h.Write(data)
	return fmt.Sprintf("%x", h.Sum(nil)) == blob
}

// unstageEOL takes changes of line endings alone out of the index again.
func (t *Tree) unstageEOL(ctx context.Context, head string) error {
	a, err := t.git.do(ctx, call{args: []string{"write-tree"}, writes: true})
	if err != nil {
		return err
	}
	list, err := t.shadow.git.diffTrees(ctx, head+"^{tree}", strings.TrimSpace(string(a.out)), false)
	if err != nil {
		return err
	}
	var back strings.Builder
	for _, c := range list {
		if c.EOLOnly {
			back.WriteString(c.OldMode + " " + c.oldBlob + "\t" + c.Path + "\x00")
		}
	}
	if back.Len() == 0 {
		return nil
	}
	_, err = t.git.do(ctx, call{args: []string{"update-index", "-z", "--index-info"}, stdin: []byte(back.String()), writes: true})
	return err
}

// fallbackIdentity is who commits where no person is configured; nil where one is.
func (t *Tree) fallbackIdentity(ctx context.Context) []string {
	if _, err := t.git.read(ctx, "var", "GIT_COMMITTER_IDENT"); err == nil {
		return nil
	}
	return []string{"GIT_AUTHOR_NAME=Foundry", "GIT_AUTHOR_EMAIL=foundry@localhost", "GIT_COMMITTER_NAME=Foundry", "GIT_COMMITTER_EMAIL=foundry@localhost"}
}
