package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A commit of Foundry's holds work and nothing else: tracked files that changed, and new ones that no rule
// ignores; not what agents hand to each other, not nested repositories, and not files that only look changed.

// Committed is what came of a commit.
type Committed struct {
	Commit  string   // where HEAD is now
	Nothing bool     // there was nothing to commit, and HEAD is where it was
	Notes   []string // sentences about hooks, signing, locks, and what was left out
}

// Commit commits what is uncommitted in the workspace, with the user's identity. hooks runs the user's hooks.
// Changes of line endings alone are left out, and so is what stands there untracked as the setup of the worktree
// left it.
func (t *Tree) Commit(ctx context.Context, message string, hooks bool) (Committed, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.verify(ctx); err != nil {
		return Committed{}, err
	}
	c := committing{message: message, hooks: hooks, skipEOL: true}
	done, err := t.commitAll(ctx, &c)
	if err != nil {
		return Committed{}, fmt.Errorf("commit in %s: %w", t.dir, err)
	}
	if !done.Nothing {
		done.Notes = append(done.Notes, t.aboutHooks(ctx, hooks)...)
		done.Notes = append(done.Notes, t.aboutSigning(ctx)...)
	}
	return done, nil
}

// committing says how to commit.
type committing struct {
	message string
	hooks   bool
	skipEOL bool     // leave changes of line endings out
	env     []string // over the environment
	own     bool     // env names an index of its own; see leaveStaged
	notes   []string // what there is to say
}

func (t *Tree) commitAll(ctx context.Context, c *committing) (Committed, error) {
	if t.dropLock("index.lock") {
		c.notes = append(c.notes, "a git that was killed had left index.lock in the worktree; it was removed")
	}
	t.dropHeadLocks()
	old, branch, err := t.git.head(ctx)
	if err != nil && !errors.Is(err, ErrNoCommits) {
		return Committed{}, err
	}
	if going := t.repo.Busy(); t.checkout && going != "" && !strings.Contains(going, "index.lock") {
		return Committed{}, &BlockedError{Reason: going + " in the checkout, and a commit would become part of it", Hint: "finish it, or give it up (git status says how), then go on with the run"}
	}
	if err := t.stage(ctx, old, c); err != nil {
		return Committed{}, err
	}
	done, err := t.leaveStaged(ctx, old, c)
	if err != nil {
		return Committed{}, err
	}
	defer done()
	out, err := t.git.do(ctx, call{args: []string{"write-tree"}, env: c.env, writes: true})
	if err != nil {
		return Committed{}, err
	}
	tree := strings.TrimSpace(string(out.out))
	if old != "" {
		was, err := t.git.line(ctx, "rev-parse", old+"^{tree}")
		if err != nil {
			return Committed{}, err
		}
		if was == tree {
			return Committed{Commit: old, Nothing: true, Notes: c.notes}, nil
		}
	}
	if err := t.makeCommit(ctx, c, tree, old); err != nil {
		return Committed{}, err
	}
	sha, now, err := t.git.head(ctx)
	switch {
	case err != nil:
		return Committed{}, err
	case sha == old:
		return Committed{}, errors.New("git said that it had made a commit, but HEAD is where it was")
	case now != branch:
		return Committed{}, fmt.Errorf("HEAD is on %q after the commit instead of %q", now, branch)
	}
	if c.own && c.hooks {
		if err := t.follow(ctx, old, sha); err != nil {
			return Committed{}, fmt.Errorf("bring the index to the commit: %w", err)
		}
	}
	return Committed{Commit: sha, Notes: c.notes}, nil
}

func (t *Tree) makeCommit(ctx context.Context, c *committing, tree, old string) error {
	message := strings.TrimSpace(c.message) + "\n"
	if c.hooks {
		_, err := t.git.do(ctx, call{
			args:  []string{"-c", "commit.gpgSign=false", "commit", "-q", "--no-edit", "--cleanup=whitespace", "-F", "-"},
			stdin: []byte(message), env: c.env, timeout: t.hookTime, hooks: true, writes: true,
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
func (t *Tree) stage(ctx context.Context, head string, c *committing) error {
	var paths, left []string
	setup, err := t.repo.leftBySetup(ctx, t.shadow)
	if err != nil {
		return err
	}
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
			if was, ok := setup[p]; ok && (!known || t.checkout) && t.mode(p) == was.mode && t.holds(p, was.blob) {
				left = append(left, p)
				return true
			}
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
	if len(left) > 0 {
		what := "left out, since it is untracked and as the setup left it: "
		if t.checkout {
			what = "left out, since it was there before the run and nobody changed it: "
		}
		c.notes = append(c.notes, what+few(left))
	}
	if c.skipEOL && head != "" {
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

// holds reports whether a file has the bytes of a blob, or a link its target.
func (t *Tree) holds(p, blob string) bool {
	full := filepath.Join(t.dir, p)
	if to, err := os.Readlink(full); err == nil {
		return t.repo.isBlob([]byte(to), blob)
	}
	return t.repo.sameBytes(full, blob)
}

// sameBytes reports whether a file has exactly the bytes of a blob: then it is unchanged, whatever git would
// make of it under the attributes of today.
func (r *Repo) sameBytes(full, blob string) bool {
	st, err := os.Lstat(full)
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	data, err := os.ReadFile(full)
	return err == nil && r.isBlob(data, blob)
}

func (r *Repo) isBlob(data []byte, blob string) bool {
	return objectID(r.format, "blob", data) == blob
}

// unstageEOL takes changes of line endings alone out of the index again.
func (t *Tree) unstageEOL(ctx context.Context, head string) error {
	a, err := t.git.do(ctx, call{args: []string{"write-tree"}, writes: true})
	if err != nil {
		return err
	}
	list, err := t.shadow.git.diffTrees(ctx, head+"^{tree}", strings.TrimSpace(string(a.out)))
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
func (r *Repo) fallbackIdentity(ctx context.Context) []string {
	if _, err := r.git.read(ctx, "var", "GIT_COMMITTER_IDENT"); err == nil {
		return nil
	}
	return []string{"GIT_AUTHOR_NAME=Foundry", "GIT_AUTHOR_EMAIL=foundry@localhost", "GIT_COMMITTER_NAME=Foundry", "GIT_COMMITTER_EMAIL=foundry@localhost"}
}
