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

// A merge moves the base branch to the run's work, and only ever forward from the commit the run began at:
// what lands is the tree that was judged, never a mixture that nobody looked at. Everything that could be in
// the way is looked for first; a refusal has touched nothing. What is done is verified by content.

// Merge lands a run. It refuses with a *BlockedError. The worktree's uncommitted work is committed first;
// that commit stays on the run's branch when the merge is then refused.
func (r *Repo) Merge(ctx context.Context, s MergeSpec) (MergeResult, error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return MergeResult{}, fmt.Errorf("merge %s: %w", s.Run, err)
	}
	defer unlock()
	m := &merging{r: r, s: s}
	if err := m.run(ctx); err != nil {
		r.allLocks(ctx, s.Base, err)
		return m.MergeResult, fmt.Errorf("merge %s into %s: %w", s.Branch, s.Base, err)
	}
	return m.MergeResult, nil
}

// merging is one call of Merge.
type merging struct {
	MergeResult
	r        *Repo
	s        MergeSpec
	incoming []Change
	onto     string // where the base is, when the commits are to be replayed there
	target   git    // of the checkout that has the base; its workTree is empty when none has it
}

func (m *merging) run(ctx context.Context) error {
	if m.s.Base == "" {
		return &BlockedError{Reason: "the run began at a commit, not on a branch: there is nothing to merge into", Hint: "git merge " + m.s.Branch}
	}
	if m.s.Branch == "" {
		return &BlockedError{Reason: "the run has no branch: it worked in a detached worktree", Hint: "run it with isolation: true"}
	}
	landed, notes, err := m.r.unfinished(ctx, m.s.Run)
	if m.Notes = notes; err != nil || landed != nil {
		return m.again(ctx, landed, err)
	}
	if err := m.baseUnmoved(ctx); err != nil {
		return err
	}
	if err := m.findTarget(ctx); err != nil {
		return err
	}
	if err := m.commitWork(ctx); err != nil {
		return err
	}
	if m.onto != "" {
		if err := m.replay(ctx); err != nil {
			return err
		}
	}
	if m.incoming, err = m.r.git.diffTrees(ctx, m.s.BranchPoint, m.Commit); err != nil {
		return err
	}
	for _, c := range m.incoming {
		m.Files = append(m.Files, c.Path)
	}
	if err := m.gitlinks(ctx); err != nil {
		return err
	}
	if m.Commit == m.s.BranchPoint {
		return nil
	}
	move := m.moveRef
	if m.target.workTree != "" {
		if err := m.blockers(ctx); err != nil {
			return err
		}
		m.Checkout, move = m.target.workTree, m.update
	}
	if err := m.r.mark(landing{m.s.Run, m.s.Base, m.s.BranchPoint, m.Commit}); err != nil {
		return err
	}
	if err := move(ctx); err != nil {
		return errors.Join(err, m.r.unmark(m.s.Run))
	}
	return nil
}

// again is the end of a merge that an earlier process has made and could not tell.
func (m *merging) again(ctx context.Context, l *landing, err error) error {
	if err != nil {
		return err
	}
	m.Commit = l.to
	list, err := m.r.git.diffTrees(ctx, l.from, l.to)
	for _, c := range list {
		m.Files = append(m.Files, c.Path)
	}
	return err
}

// baseUnmoved compares the base with the branch point.
func (m *merging) baseUnmoved(ctx context.Context) error {
	now, err := m.r.ref(ctx, "refs/heads/"+m.s.Base)
	switch {
	case err != nil:
		return err
	case now == "":
		return &BlockedError{Reason: fmt.Sprintf("the branch %q does not exist any more", m.s.Base), Hint: "the work is on " + m.s.Branch}
	case now == m.s.BranchPoint:
		return nil
	}
	// A merge that was cut off after its last step is done.
	tip, err := m.r.ref(ctx, "refs/heads/"+m.s.Branch)
	if err == nil && tip == now {
		return nil
	}
	b := &BlockedError{Hint: fmt.Sprintf("foundry merge --rebase %s replays the work on the new %s; or run again from there", m.s.Run, m.s.Base)}
	a, err := m.r.git.do(ctx, call{args: []string{"merge-base", "--is-ancestor", m.s.BranchPoint, now}, ok: 1})
	if err != nil {
		return err
	}
	if a.exit != 0 {
		b.Reason = fmt.Sprintf("%q no longer contains the commit that the run began at (it was rewound, or the history is shallow)", m.s.Base)
		b.Hint = fmt.Sprintf("look at both and merge by hand: git merge %s", m.s.Branch)
		return b
	}
	if m.s.Rebase {
		m.onto = now
		return nil
	}
	n, err := m.r.git.line(ctx, "rev-list", "--count", m.s.BranchPoint+".."+now)
	if err != nil {
		return err
	}
	b.Reason = fmt.Sprintf("%q moved by %s commits since the run began", m.s.Base, n)
	if n == "1" {
		b.Reason = fmt.Sprintf("%q moved by 1 commit since the run began", m.s.Base)
	}
	return b
}

// findTarget finds the checkout that has the base, and refuses when some worktree is in the middle of an
// operation on it.
func (m *merging) findTarget(ctx context.Context) error {
	list, err := m.r.Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, w := range list {
		if w.Missing || w.Bare {
			if w.Branch == m.s.Base && w.Missing {
				m.Notes = append(m.Notes, fmt.Sprintf("the worktree at %s, which has %s, is missing on disk", w.Dir, m.s.Base))
			}
			continue
		}
		g := git{env: m.r.git.env, dir: w.Dir, lockWait: m.r.git.lockWait}
		dir, err := g.line(ctx, "rev-parse", "--absolute-git-dir")
		if err != nil {
			return fmt.Errorf("look at the worktree %s: %w", w.Dir, err)
		}
		for _, at := range []string{"rebase-merge/head-name", "rebase-apply/head-name"} {
			b, err := os.ReadFile(filepath.Join(dir, at))
			if err == nil && strings.TrimSpace(string(b)) == "refs/heads/"+m.s.Base {
				return &BlockedError{Reason: fmt.Sprintf("%s is being rebased in %s", m.s.Base, w.Dir), Hint: "finish or abort the rebase"}
			}
		}
		if b, err := os.ReadFile(filepath.Join(dir, "BISECT_START")); err == nil && strings.TrimSpace(string(b)) == m.s.Base {
			return &BlockedError{Reason: fmt.Sprintf("a bisect that began on %s is going on in %s", m.s.Base, w.Dir), Hint: "git bisect reset"}
		}
		if w.Branch != m.s.Base {
			continue
		}
		if ops := busy(dir); len(ops) > 0 {
			return &BlockedError{Reason: fmt.Sprintf("another operation is going on in %s (%s)", w.Dir, strings.Join(ops, ", ")), Hint: "finish or abort it"}
		}
		g.gitDir, g.workTree = dir, w.Dir
		m.target = g
	}
	return nil
}

// commitWork makes sure that the branch holds exactly what was judged.
func (m *merging) commitWork(ctx context.Context) error {
	r := m.r
	tip, err := r.ref(ctx, "refs/heads/"+m.s.Branch)
	if err != nil {
		return err
	}
	if tip == "" {
		return &BlockedError{Reason: fmt.Sprintf("the branch %q does not exist", m.s.Branch)}
	}
	if _, err := os.Lstat(r.worktreeDir(m.s.Run)); err != nil {
		m.Commit = tip
		return m.withoutWorktree(ctx, tip)
	}
	t, err := r.OpenWorktree(ctx, WorktreeSpec{Run: m.s.Run, Branch: m.s.Branch, Commit: m.s.BranchPoint})
	if err != nil {
		return err
	}
	if err := m.judged(ctx, t); err != nil {
		return err
	}
	if err := m.nestedWork(ctx, t); err != nil {
		return err
	}
	head, branch, err := t.git.head(ctx)
	if err != nil {
		return err
	}
	if branch != m.s.Branch || head != tip {
		return &BlockedError{Reason: fmt.Sprintf("the worktree is not on the run's branch %q", m.s.Branch)}
	}
	done, err := t.commitAll(ctx, &committing{message: m.s.Message, env: m.r.fallbackIdentity(ctx)})
	if err != nil {
		return fmt.Errorf("commit what is not committed: %w", err)
	}
	m.Commit, m.Notes = done.Commit, append(m.Notes, done.Notes...)
	if err := m.judged(ctx, t); err != nil {
		return err
	}
	if err := m.complete(ctx, t); err != nil {
		return err
	}
	return m.ahead(ctx)
}

// complete refuses when the branch lacks a file that was judged. An ignore rule that came later hides it from the
// commit, and it would go with the worktree. What the work's own rules ignore is not meant to be committed.
func (m *merging) complete(ctx context.Context, t *Tree) error {
	if m.s.Tree == "" {
		return nil
	}
	list, err := m.r.git.diffTrees(ctx, m.s.Tree, m.Commit)
	if err != nil {
		return err
	}
	b := &BlockedError{Reason: "files that were judged are ignored now, so they could not be committed",
		Hint: "change the ignore rule, or add them by hand (git -C " + t.dir + " add -f …), then merge again"}
	setup, err := m.r.leftBySetup(ctx, t.shadow)
	if err != nil {
		return err
	}
	within := withinGitlink(list)
	for _, c := range list {
		if was, ok := setup[c.Path]; ok && c.Kind == Deleted && was.blob == c.oldBlob && was.mode == c.OldMode || within(c.Path) {
			continue
		}
		if c.Kind == Deleted && c.OldMode != "160000" && !strings.HasPrefix(c.Path, handoffDir+"/") && !watches(t.shadow.state.Watch, c.Path) {
			b.Paths = append(b.Paths, c.Path)
		}
	}
	if len(b.Paths) == 0 {
		return nil
	}
	own, err := t.git.ownIgnored(ctx, b.Paths)
	if err != nil {
		return err
	}
	b.Paths = slices.DeleteFunc(b.Paths, func(p string) bool { return own[p] })
	if len(b.Paths) > 0 {
		return b
	}
	return nil
}

// judged compares the worktree with the tree that was judged. What agents hand to each other does not count.
func (m *merging) judged(ctx context.Context, t *Tree) error {
	if m.s.Tree == "" {
		return nil
	}
	now, err := t.Snapshot(ctx)
	if err != nil {
		return err
	}
	list, err := t.Changes(ctx, m.s.Tree, now.Tree)
	if err != nil {
		return err
	}
	b := &BlockedError{Reason: "the worktree is not what was judged", Hint: "somebody changed it since; resume the run to have it judged again"}
	for _, c := range list {
		if !strings.HasPrefix(c.Path, handoffDir+"/") && !c.Ignored {
			b.Paths = append(b.Paths, c.Path)
		}
	}
	if len(b.Paths) > 0 {
		return b
	}
	return nil
}

// withoutWorktree checks that a branch whose worktree is gone holds what was judged.
func (m *merging) withoutWorktree(ctx context.Context, tip string) error {
	if m.s.Tree == "" {
		return m.ahead(ctx)
	}
	list, err := m.r.git.diffTrees(ctx, m.s.Tree, tip)
	if err != nil {
		return err
	}
	b := &BlockedError{Reason: "the worktree is gone, and the branch is not what was judged", Hint: "what was judged is kept by the run's snapshots (foundry diff)"}
	sh, err := openShadow(m.r, m.r.shadowDir(m.s.Run), m.r.worktreeDir(m.s.Run))
	if err != nil {
		return err
	}
	setup, err := m.r.leftBySetup(ctx, sh)
	if err != nil {
		return err
	}
	within := withinGitlink(list)
	for _, c := range list {
		if was, ok := setup[c.Path]; ok && c.Kind == Deleted && was.blob == c.oldBlob && was.mode == c.OldMode || within(c.Path) {
			continue
		}
		if !strings.HasPrefix(c.Path, handoffDir+"/") && c.NewMode != "160000" {
			b.Paths = append(b.Paths, c.Path)
		}
	}
	if len(b.Paths) > 0 {
		return b
	}
	return m.ahead(ctx)
}

// withinGitlink says of a path whether it lies in a submodule that a commit names: a snapshot holds the files of one
// that is there, a commit its place alone. That they are those of that commit is for nestedWork.
func withinGitlink(list []Change) func(string) bool {
	var dirs []string
	for _, c := range list {
		if c.NewMode == "160000" {
			dirs = append(dirs, c.Path+"/")
		}
	}
	return func(p string) bool {
		return slices.ContainsFunc(dirs, func(d string) bool { return strings.HasPrefix(p, d) })
	}
}

// ahead checks that the merge only goes forward.
func (m *merging) ahead(ctx context.Context) error {
	a, err := m.r.git.do(ctx, call{args: []string{"merge-base", "--is-ancestor", m.s.BranchPoint, m.Commit}, ok: 1})
	if err != nil {
		return err
	}
	if a.exit != 0 {
		return &BlockedError{Reason: fmt.Sprintf("%q does not contain the commit that the run began at", m.s.Branch)}
	}
	return nil
}

// nestedWork refuses when a nested repository has work that a merge cannot carry.
func (m *merging) nestedWork(ctx context.Context, t *Tree) error {
	first, err := t.Reload(ctx, "1")
	if err != nil {
		first = Snapshot{} // without it only what the branch point names is known
	}
	b := &BlockedError{Reason: "nested repositories have changed, and a merge cannot carry them", Hint: "push what is in them and commit the new version by hand"}
	if t.last == nil {
		return nil
	}
	for d, at := range t.last.meta.Nested {
		if was, known := first.meta.Nested[d]; known && was == at {
			continue
		}
		if link, err := m.r.git.line(ctx, "rev-parse", "-q", "--verify", m.s.BranchPoint+":"+d); err == nil && link == at {
			continue
		}
		b.Paths = append(b.Paths, d)
	}
	slices.Sort(b.Paths)
	if len(b.Paths) > 0 {
		return b
	}
	return nil
}

// gitlinks refuses a merge that moves a submodule to a commit that may exist nowhere else.
func (m *merging) gitlinks(ctx context.Context) error {
	b := &BlockedError{Reason: "the run moved a submodule to a commit that may exist only here", Hint: "push it from the submodule, then merge by hand"}
	for _, c := range m.incoming {
		if c.NewMode == "160000" {
			b.Paths = append(b.Paths, c.Path)
		}
	}
	if len(b.Paths) > 0 {
		return b
	}
	return nil
}
