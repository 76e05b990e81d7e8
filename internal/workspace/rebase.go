package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// When the base has moved since a run began, its commits can be replayed on the new base. That is done in a
// worktree of its own, which nobody sees and which is taken away again: a conflict has touched nothing. What comes
// out is a tree that nothing has judged, so it lands only when somebody says that it may.

// replay puts the run's commits on top of where the base is now. From then on the merge is one from there.
func (m *merging) replay(ctx context.Context) error {
	tip := m.Commit
	merges, err := m.r.git.line(ctx, "rev-list", "--merges", "--count", m.s.BranchPoint+".."+tip)
	if err != nil {
		return err
	}
	if merges != "0" {
		return &BlockedError{Reason: "the run's branch holds merge commits, which cannot be replayed", Hint: fmt.Sprintf("git merge %s", m.s.Branch)}
	}
	commit, err := m.replayed(ctx, tip)
	if err != nil {
		return err
	}
	trees, err := m.r.git.line(ctx, "rev-parse", tip+"^{tree}", commit+"^{tree}")
	if err != nil {
		return err
	}
	if was, is, _ := strings.Cut(trees, "\n"); was != is && !m.s.Untested {
		return &BlockedError{Reason: fmt.Sprintf("%q moved since the run began; the run's work fits on top of it, but nothing has checked the two together", m.s.Base),
			Hint: "foundry merge --rebase --untested " + m.s.Run + " lands it all the same; a new run checks it"}
	}
	if err := m.r.git.write(ctx, "update-ref", "--no-deref", "-m", "foundry: before the rebase", refOf(m.s.Run, "kept"), tip); err != nil {
		return fmt.Errorf("keep the commits as they were: %w", err)
	}
	m.Was, m.Commit, m.s.BranchPoint = tip, commit, m.onto
	return nil
}

// replayed makes the commits anew and returns the last.
func (m *merging) replayed(ctx context.Context, tip string) (commit string, err error) {
	r := m.r
	dir := r.worktreeDir(AsideOf(m.s.Run, replaying))
	if err := r.takeAway(dir); err != nil { // one that a crash left
		return "", err
	}
	defer func() { err = errors.Join(err, r.takeAway(dir)) }()
	if _, err := r.git.do(ctx, call{args: []string{"-c", workers(), "worktree", "add", "-q", "--detach", dir, tip}, writes: true, timeout: longTime}); err != nil {
		return "", fmt.Errorf("make a worktree to replay the commits in: %w", err)
	}
	g := git{env: r.git.env, dir: dir, gitDir: r.entryOf(dir), workTree: dir, lockWait: r.git.lockWait}
	if g.gitDir == "" {
		return "", fmt.Errorf("make a worktree to replay the commits in: git did not register %s", dir)
	}
	_, err = g.do(ctx, call{args: []string{"-c", "rebase.updateRefs=false", "-c", "rebase.autoStash=false", "-c", "rebase.autoSquash=false", "-c", "sequence.editor=:",
		"rebase", "-q", "--no-verify", "--onto", m.onto, m.s.BranchPoint}, env: r.fallbackIdentity(ctx), writes: true, timeout: longTime})
	if err != nil {
		return "", m.conflict(ctx, g, err)
	}
	sha, branch, err := g.head(ctx)
	if err == nil && branch != "" {
		err = fmt.Errorf("the commits were replayed on %q instead of beside it", branch)
	}
	return sha, err
}

// conflict tells conflicts from other failures of a rebase.
func (m *merging) conflict(ctx context.Context, g git, failed error) error {
	out, err := g.read(ctx, "diff-files", "-z", "--name-only", "--diff-filter=U")
	if err != nil {
		return failed
	}
	paths, err := fields(out)
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("replay the commits: %w", failed)
	}
	return &BlockedError{Reason: fmt.Sprintf("the run's work and what is new on %q conflict", m.s.Base), Paths: paths,
		Hint: fmt.Sprintf("nothing was changed; merge by hand (git merge %s), or run again from the new %s", m.s.Branch, m.s.Base)}
}

// takeAway removes a worktree with its entry, whole or begun.
func (r *Repo) takeAway(dir string) error {
	admin := cmp.Or(r.entryOf(dir), r.begunEntry(dir))
	if err := removeTree(dir); err != nil {
		return err
	}
	if admin == "" {
		return nil
	}
	return os.RemoveAll(admin)
}
