package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"foundry/internal/process"
)

// A run works in a worktree of its own, at .foundry-worktrees/<run>, made from one exact commit. It is made
// completely or not at all: whatever a half-way failure leaves (directory, entry, branch) is taken back.

// AddWorktree makes the worktree of a run. Making worktrees is serialised per repository.
func (r *Repo) AddWorktree(ctx context.Context, s WorktreeSpec) (*Tree, error) {
	if err := checkRun(s.Run); err != nil {
		return nil, err
	}
	if (s.Branch == "") != s.Detached {
		panic("BUG: workspace: a worktree has a branch or is detached")
	}
	if err := r.Exclude(ctx); err != nil {
		return nil, err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, fmt.Errorf("make the worktree of %s: %w", s.Run, err)
	}
	defer unlock()
	if s.Again {
		if err := r.retract(ctx, s); err != nil {
			return nil, fmt.Errorf("take away the half-made worktree of %s: %w", s.Run, err)
		}
	}
	if err := r.freePlace(ctx, s); err != nil {
		return nil, fmt.Errorf("make the worktree of %s: %w", s.Run, err)
	}
	dir := r.worktreeDir(s.Run)
	args := []string{"-c", workers(), "-c", "core.longpaths=true", "worktree", "add", "-q", "--no-track"}
	if s.Detached {
		args = []string{"-c", workers(), "-c", "core.longpaths=true", "worktree", "add", "-q", "--detach"}
	} else {
		args = append(args, "-b", s.Branch)
	}
	a, err := r.git.do(ctx, call{args: append(args, dir, s.Commit), writes: true, timeout: longTime})
	var t *Tree
	if err == nil {
		t, err = r.made(ctx, s)
	}
	if err != nil {
		if rerr := r.rollback(ctx, s); rerr != nil {
			err = fmt.Errorf("%w; taking back what was made failed too: %w", err, rerr)
		}
		return nil, fmt.Errorf("make the worktree of %s: %w", s.Run, err)
	}
	if said := strings.TrimSpace(a.stderr); said != "" {
		t.notes = append(t.notes, "git said while the worktree was made: "+said)
	}
	return t, nil
}

// checkRun refuses names that would not be one path segment and one ref segment.
func checkRun(run string) error {
	ok := run != "" && run[0] != '.' && run[0] != '-' && !strings.HasSuffix(run, ".lock") && !strings.HasSuffix(run, ".") && !strings.Contains(run, "..")
	if _, aside := ownerOf(run); aside == replaying || aside == landingMark {
		ok = false // the run has these for itself
	}
	for _, c := range []byte(run) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.')
	}
	if !ok {
		return fmt.Errorf("%q cannot be the name of a run", run)
	}
	return nil
}

func (r *Repo) worktreeDir(run string) string { return filepath.Join(r.home, worktreesDir, run) }

func (r *Repo) shadowDir(run string) string { return filepath.Join(r.common, "foundry", run) }

// lock serialises what changes the repository's list of worktrees, and landings. Only who holds it writes files into
// its directory: one there that is not whole is what somebody who was killed has left.
func (r *Repo) lock(ctx context.Context) (func(), error) {
	dir := filepath.Join(r.common, "foundry")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, queueTime, fmt.Errorf("it was held for %s", queueTime))
	defer cancel()
	unlock, err := process.Lock(ctx, filepath.Join(dir, "lock"))
	if err == nil {
		dropTemporary(dir, 0)
	}
	return unlock, err
}

// freePlace makes sure that nothing that exists is taken over.
func (r *Repo) freePlace(ctx context.Context, s WorktreeSpec) error {
	top := filepath.Join(r.home, worktreesDir)
	if st, err := os.Lstat(top); err == nil && !st.IsDir() {
		return &BlockedError{Reason: worktreesDir + " is not a directory", Hint: "remove or rename it"}
	}
	if _, err := os.Lstat(r.worktreeDir(s.Run)); err == nil {
		return &BlockedError{Reason: "the directory " + r.worktreeDir(s.Run) + " already exists"}
	}
	if sha, err := r.ref(ctx, "refs/heads/"+s.Branch); s.Branch != "" && (err != nil || sha != "") {
		if err != nil {
			return err
		}
		return &BlockedError{Reason: fmt.Sprintf("the branch %q already exists", s.Branch), Hint: "delete it when nothing needs it: git branch -D " + s.Branch}
	}
	if admin := r.entryOf(r.worktreeDir(s.Run)); admin != "" { // its directory is gone, see above
		if err := os.RemoveAll(admin); err != nil {
			return err
		}
	}
	return os.RemoveAll(r.shadowDir(s.Run))
}

// entryOf returns the repository's entry for a worktree directory, or "".
func (r *Repo) entryOf(dir string) string {
	entries, err := os.ReadDir(filepath.Join(r.common, "worktrees"))
	if err != nil {
		return ""
	}
	for _, e := range entries {
		admin := filepath.Join(r.common, "worktrees", e.Name())
		if b, err := os.ReadFile(filepath.Join(admin, "gitdir")); err == nil && strings.TrimSpace(string(b)) == filepath.Join(dir, ".git") {
			return admin
		}
	}
	return ""
}

// begunEntry returns an entry that a git which was killed had only begun to write: it has the name, and the
// place is missing or cut off.
func (r *Repo) begunEntry(dir string) string {
	admin := filepath.Join(r.common, "worktrees", filepath.Base(dir))
	if st, err := os.Lstat(admin); err != nil || !st.IsDir() {
		return ""
	}
	b, err := os.ReadFile(filepath.Join(admin, "gitdir"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(filepath.Join(dir, ".git"), string(b)) {
		return ""
	}
	return admin
}

// made judges by the outcome whether a worktree is there as it was asked for.
func (r *Repo) made(ctx context.Context, s WorktreeSpec) (*Tree, error) {
	dir := r.worktreeDir(s.Run)
	admin := r.entryOf(dir)
	if admin == "" {
		return nil, errors.New("git did not register it")
	}
	t, err := r.newTree(ctx, s.Run, dir, admin, s.Branch)
	if err != nil {
		return nil, err
	}
	if err := t.verify(ctx); err != nil {
		return nil, err
	}
	head, branch, err := t.headState(ctx)
	if err != nil {
		return nil, err
	}
	if head != s.Commit || branch != t.branch {
		return nil, fmt.Errorf("it is at %s on %q instead of %s on %q", head, branch, s.Commit, t.branch)
	}
	if _, err := os.Stat(filepath.Join(admin, "index")); err != nil {
		return nil, errors.New("git did not check it out")
	}
	t.shadow.state.Scratch = s.Scratch
	t.shadow.state.Admin, t.shadow.state.Branch = admin, t.branch
	return t, t.shadow.save()
}

// newTree makes the value for a worktree.
func (r *Repo) newTree(ctx context.Context, run, dir, admin, branch string) (*Tree, error) {
	t := &Tree{repo: r, run: run, dir: dir, admin: admin, link: "gitdir: " + admin + "\n", over: map[string]difference{}, hookTime: hookTime}
	if branch != "" {
		t.branch = "refs/heads/" + strings.TrimPrefix(branch, "refs/heads/")
	}
	t.git = git{env: r.git.env, dir: dir, gitDir: admin, workTree: dir, lockWait: r.git.lockWait}
	t.own = owner{common: r.common, admin: admin}
	t.scan = newScanner(dir)
	var err error
	if t.shadow, err = openShadow(r, r.shadowDir(run), dir); err != nil {
		return nil, err
	}
	t.trees = newTrees(t.shadow.git, t.shadow.store)
	r.dropSnapshotLocks(run)
	t.next, err = r.nextSnapshot(ctx, run)
	return t, err
}

// dropSnapshotLocks removes the locks that a git which was killed left among the run's own refs. Nobody but the
// process that has the run writes there.
func (r *Repo) dropSnapshotLocks(run string) {
	dir := filepath.Join(r.common, filepath.FromSlash(refOf(run, "")))
	loose, _ := os.ReadDir(dir) // there are none before the first snapshot
	for _, f := range loose {
		if strings.HasSuffix(f.Name(), ".lock") {
			os.Remove(filepath.Join(dir, f.Name()))
		}
	}
}

// nextSnapshot returns the first number that no snapshot of the run has.
func (r *Repo) nextSnapshot(ctx context.Context, run string) (int, error) {
	out, err := r.git.read(ctx, "for-each-ref", "--format=%(refname)", refOf(run, ""))
	if err != nil {
		return 0, fmt.Errorf("list the snapshots of %s: %w", run, err)
	}
	last := 0
	for _, name := range strings.Fields(string(out)) {
		if n, err := strconv.Atoi(path.Base(name)); err == nil {
			last = max(last, n)
		}
	}
	return last + 1, nil
}

// rollback takes back everything of a worktree that could not be made. It goes on when ctx has ended.
func (r *Repo) rollback(ctx context.Context, s WorktreeSpec) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	errs := []error{r.removePlace(s.Run)}
	if s.Branch != "" {
		full := "refs/heads/" + s.Branch
		sha, err := r.ref(ctx, full)
		if err == nil && sha == s.Commit { // freePlace saw that there was none before
			err = r.git.write(ctx, "update-ref", "--no-deref", "-d", full, sha)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// removePlace removes the directory of a worktree, its entry and its private index, in this order: what is cut off
// between can still be opened, or holds nothing.
func (r *Repo) removePlace(name string) error {
	dir := r.worktreeDir(name)
	if err := r.takeAway(dir); err != nil {
		return err
	}
	for _, d := range []string{filepath.Join(r.common, "worktrees"), filepath.Dir(dir)} {
		os.Remove(d) // when it is empty
	}
	return os.RemoveAll(r.shadowDir(name))
}

// retract is rollback for a worktree that a process which was killed has begun: its git may outlive it by a
// moment and still be writing.
func (r *Repo) retract(ctx context.Context, s WorktreeSpec) error {
	deadline := time.Now().Add(undoTime)
	for {
		if s.Branch != "" { // nobody else writes to the run's branch
			os.Remove(filepath.Join(r.common, "refs", "heads", filepath.FromSlash(s.Branch)+".lock"))
		}
		err := r.rollback(ctx, s)
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// removeTree removes a directory with all that is in it, also what its owner may not write.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err != nil && errors.Is(err, fs.ErrPermission) {
		makeReadable(dir)
		err = os.RemoveAll(dir)
	}
	return err
}

// OpenWorktree returns the worktree of a run that an earlier process made. Its link may be broken (see
// Verify); Restore and Enforce mend it.
func (r *Repo) OpenWorktree(ctx context.Context, s WorktreeSpec) (*Tree, error) {
	if err := checkRun(s.Run); err != nil {
		return nil, err
	}
	dir := r.worktreeDir(s.Run)
	sh, err := openShadow(r, r.shadowDir(s.Run), dir)
	if err != nil {
		return nil, fmt.Errorf("open the worktree of %s: %w", s.Run, err)
	}
	admin := sh.state.Admin
	if admin == "" {
		admin = r.entryOf(dir)
	}
	if _, err := os.Lstat(dir); err != nil && admin == "" {
		os.RemoveAll(sh.dir)
		return nil, fmt.Errorf("open the worktree of %s: %s: %w", s.Run, dir, fs.ErrNotExist)
	}
	if admin == "" {
		return nil, fmt.Errorf("open the worktree of %s: %w: the repository has no entry for it", s.Run, ErrBrokenLink)
	}
	if s.Branch == "" && !s.Detached {
		s.Branch = sh.state.Branch
	}
	t, err := r.newTree(ctx, s.Run, dir, admin, s.Branch)
	if err != nil {
		return nil, fmt.Errorf("open the worktree of %s: %w", s.Run, err)
	}
	return t, nil
}

// Checkout returns a workspace over the checkout itself, for runs without isolation. Nothing in it is ever
// put back.
func (r *Repo) Checkout(ctx context.Context, run string) (*Tree, error) {
	if err := checkRun(run); err != nil {
		return nil, err
	}
	if err := r.Exclude(ctx); err != nil {
		return nil, err
	}
	t, err := r.newTree(ctx, run, r.root, r.gitDir, "")
	if err != nil {
		return nil, fmt.Errorf("open the checkout: %w", err)
	}
	t.checkout, t.link = true, ""
	t.own.admin = r.common
	return t, nil
}

// Notes returns sentences about how the workspace was set up, for the record.
func (t *Tree) Notes() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	notes := t.notes
	if n := len(t.shadow.state.Sparse); n > 0 {
		notes = append(notes[:len(notes):len(notes)], fmt.Sprintf("sparse checkout: %d tracked files are not in the worktree", n))
	}
	return notes
}
