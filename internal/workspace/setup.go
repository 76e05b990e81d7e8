package workspace

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// The commands that prepare a worktree often leave files that no rule ignores and nobody means to commit: lock
// files, virtual environments, generated code. They are remembered with their content when the setup is done. A
// commit leaves them out as long as they are untracked and unchanged; what a phase makes of them is work.

// rememberSetup keeps what the setup left untracked, and says that, and which tracked files it changed.
func (t *Tree) rememberSetup(ctx context.Context) error {
	var left, changed []string
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() { left, errs[0] = t.listed(ctx, "ls-files", "-o", "--exclude-standard", "-z") })
	wg.Go(func() {
		changed, errs[1] = t.listed(ctx, "-c", "core.fileMode=true", "diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all")
	})
	wg.Wait()
	if err := cmp.Or(errs[:]...); err != nil {
		return err
	}
	left = slices.DeleteFunc(left, func(p string) bool {
		top, _, _ := strings.Cut(p, "/")
		return top == handoffDir || top == recordsDir || top == worktreesDir || slices.Contains(t.shadow.state.Links, p)
	})
	changed = slices.DeleteFunc(changed, func(p string) bool { return slices.Contains(t.shadow.state.Sparse, p) })
	if len(left)+len(changed) == 0 {
		return nil
	}
	s, err := t.take(ctx, nil)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		t.shadow.state.Setup = s.Commit
		t.notes = append(t.notes, "the setup left untracked files, which no commit takes up unless a phase changes them: "+few(left))
	}
	if now, err := t.repo.git.diffTrees(ctx, s.Head, s.Tree); err == nil {
		changed = slices.DeleteFunc(changed, func(p string) bool {
			return !slices.ContainsFunc(now, func(c Change) bool { return c.Path == p && !c.EOLOnly })
		})
	}
	if len(changed) > 0 {
		t.notes = append(t.notes, "the setup changed tracked files, and a commit will hold that: "+few(changed))
	}
	return nil
}

// rememberCheckout keeps the checkout as a run found it: commits of the run leave out what is not committed there and
// nobody touches, and what is staged.
func (t *Tree) rememberCheckout(ctx context.Context) error {
	if err := t.syncExcludes(nil); err != nil {
		return err
	}
	s, err := t.take(ctx, nil)
	if err != nil {
		return fmt.Errorf("remember the checkout as it is: %w", err)
	}
	t.shadow.state.Setup = s.Commit
	if err := t.rememberStaged(ctx); err != nil {
		return err
	}
	return t.shadow.save()
}

// listed calls git for a list of paths.
func (t *Tree) listed(ctx context.Context, args ...string) ([]string, error) {
	out, err := t.git.read(ctx, args...)
	if err != nil {
		return nil, err
	}
	return fields(out)
}

// leftBySetup returns the files there were when the setup was done, those that git tracked among them; nothing
// when it left none untracked.
func (r *Repo) leftBySetup(ctx context.Context, s *shadow) (map[string]entry, error) {
	if s.state.Setup == "" {
		return nil, nil
	}
	out, err := r.git.read(ctx, "ls-tree", "-r", "-z", "--full-tree", s.state.Setup)
	if err != nil {
		return nil, fmt.Errorf("read what the setup left: %w", err)
	}
	recs, err := fields(out)
	if err != nil {
		return nil, fmt.Errorf("read what the setup left: %w", err)
	}
	files := make(map[string]entry, len(recs))
	for _, rec := range recs {
		info, path, ok := strings.Cut(rec, "\t")
		f := strings.Fields(info)
		if !ok || len(f) != 3 {
			return nil, fmt.Errorf("read what the setup left: git listed %q", rec)
		}
		files[path] = entry{mode: f[0], blob: f[2], path: path}
	}
	return files, nil
}

// commitHooks are the hooks of git commit, in the order in which they run.
var commitHooks = []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"}

// aboutHooks says which of the user's hooks ran with a commit, were left out, or are not where the configuration
// says: a directory that only an installer makes is not in a fresh worktree, and git says nothing of it.
func (t *Tree) aboutHooks(ctx context.Context, ran bool) []string {
	a, err := t.git.do(ctx, call{args: []string{"rev-parse", "--git-path", "hooks"}, hooks: true})
	if err != nil {
		return nil
	}
	dir := strings.TrimSuffix(string(a.out), "\n")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(t.dir, dir)
	}
	if _, err := os.Stat(dir); err != nil {
		if ran && dir != filepath.Join(t.repo.common, "hooks") {
			return []string{"no hook ran: core.hooksPath names " + dir + ", which is not there"}
		}
		return nil
	}
	names, _ := hooksIn(dir)
	switch {
	case len(names) == 0:
		return nil
	case ran:
		return []string{"hooks ran: " + strings.Join(names, ", ")}
	}
	return []string{"hooks did not run, as project.hooks says: " + strings.Join(names, ", ")}
}

// aboutSigning says that a commit is not signed although the user signs his: nobody is there to unlock a key.
func (t *Tree) aboutSigning(ctx context.Context) []string {
	a, err := t.git.do(ctx, call{args: []string{"config", "--type=bool", "--get", "commit.gpgSign"}, ok: 1, hooks: true})
	if err != nil || strings.TrimSpace(string(a.out)) != "true" {
		return nil
	}
	return []string{"not signed, although commit.gpgSign is set: nobody is there to unlock a key"}
}

// few shows the first paths of a list.
func few(paths []string) string {
	const most = 5
	shown := make([]string, 0, most+1)
	for _, p := range paths[:min(most, len(paths))] {
		shown = append(shown, fmt.Sprintf("%q", p))
	}
	if n := len(paths) - most; n > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(shown, ", ")
}
