package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What runs leave in a repository: worktrees, branches, refs, and snapshot areas. This file finds all of it by the
// name of the run, and proves of a worktree that nothing in it is only there.

// Remains is what is left of one run.
type Remains struct {
	Run      string
	Dir      string   // of the worktree; empty when there is no directory
	Entry    string   // git's entry for the worktree; empty when there is none
	Branch   string   // the commit that its branch is at; empty when there is none
	Refs     int      // under refs/foundry/, those of Aside among them
	Aside    []string // names of further worktrees, of which a directory or an entry is there, sorted; see Repo.Aside and AsideDir
	snapshot bool     // there is a snapshot area, of one of its worktrees
}

// Worktree says whether something of a worktree is there.
func (m Remains) Worktree() bool { return m.Dir != "" || m.Entry != "" || len(m.Aside) > 0 }

// Remains lists what is left of runs, sorted by run.
func (r *Repo) Remains(ctx context.Context) ([]Remains, error) {
	byRun := map[string]*Remains{}
	of := func(name string) (m *Remains, aside string) {
		run, aside := ownerOf(name)
		if checkRun(run) != nil {
			return &Remains{}, "" // nothing of Foundry's
		}
		if byRun[run] == nil {
			byRun[run] = &Remains{Run: run}
		}
		return byRun[run], aside
	}
	out, err := r.git.read(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "refs/foundry/", "refs/heads/foundry/")
	if err != nil {
		return nil, fmt.Errorf("list what runs have left: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		sha, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if run, ok := strings.CutPrefix(name, "refs/heads/foundry/"); ok {
			if m, aside := of(run); aside == "" {
				m.Branch = sha
			}
		} else if place, _, ok := strings.Cut(strings.TrimPrefix(name, "refs/foundry/"), "/"); ok {
			m, _ := of(place)
			m.Refs++
		}
	}
	for _, d := range []struct {
		at  string
		put func(m *Remains, aside, path string)
	}{
		{filepath.Join(r.home, worktreesDir), func(m *Remains, aside, path string) {
			if aside == "" {
				m.Dir = path
			} else {
				m.Aside = append(m.Aside, aside)
			}
		}},
		{filepath.Join(r.common, "foundry"), func(m *Remains, _, _ string) { m.snapshot = true }},
	} {
		list, err := os.ReadDir(d.at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list what runs have left: %w", err)
		}
		for _, e := range list {
			if e.IsDir() {
				m, aside := of(e.Name())
				d.put(m, aside, filepath.Join(d.at, e.Name()))
			}
		}
	}
	trees, err := r.Worktrees(ctx)
	if err != nil {
		return nil, fmt.Errorf("list what runs have left: %w", err)
	}
	for _, w := range trees {
		if w.Run == "" {
			continue
		}
		if m, aside := of(filepath.Base(w.Dir)); aside == "" {
			m.Entry = r.entryOf(w.Dir)
		} else {
			m.Aside = append(m.Aside, aside)
		}
	}
	list := make([]Remains, 0, len(byRun))
	for _, m := range byRun {
		slices.Sort(m.Aside)
		m.Aside = slices.Compact(m.Aside)
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b Remains) int { return strings.Compare(a.Run, b.Run) })
	return list, nil
}

// Clean takes away the worktree and the branch of a run when it is proven that nothing is lost with them: the branch's
// commits are in another branch or a tag, what is in the worktree is committed there, and nothing that is ignored is
// outside scratch. It refuses with a *BlockedError that says what would be lost; whatever cannot be found out is
// a refusal too. Refs under refs/foundry/ stay.
func (r *Repo) Clean(ctx context.Context, m Remains, scratch []string) error {
	if err := r.clean(ctx, m, scratch); err != nil {
		return fmt.Errorf("clean up after %s: %w", m.Run, err)
	}
	return nil
}

func (r *Repo) clean(ctx context.Context, m Remains, scratch []string) error {
	if err := r.losesNothing(ctx, m, scratch); err != nil {
		return err
	}
	if m.Worktree() || m.snapshot {
		if err := r.removeWorktree(ctx, m.Run, scratch, false); err != nil {
			return err
		}
	}
	if m.Branch != "" {
		return r.deleteBranch(ctx, "foundry/"+m.Run, m.Branch)
	}
	return nil
}

// LosesNothing is the proof that Clean asks for. It touches nothing.
func (r *Repo) LosesNothing(ctx context.Context, m Remains, scratch []string) error {
	if err := r.losesNothing(ctx, m, scratch); err != nil {
		return fmt.Errorf("look at what %s has left: %w", m.Run, err)
	}
	return nil
}

func (r *Repo) losesNothing(ctx context.Context, m Remains, scratch []string) error {
	if m.Branch != "" {
		if err := r.heldElsewhere(ctx, m.Run, m.Run, m.Branch); err != nil {
			return err
		}
	}
	for _, a := range m.Aside {
		if a == replaying {
			continue // its commits are made from those of the branch
		}
		if err := r.heldInWorktree(ctx, m.Run, AsideOf(m.Run, a), scratch); err != nil {
			return err
		}
	}
	return r.heldInWorktree(ctx, m.Run, m.Run, scratch)
}

// heldInWorktree refuses when something is only in one of the worktrees of a run.
func (r *Repo) heldInWorktree(ctx context.Context, run, name string, scratch []string) error {
	dir := r.worktreeDir(name)
	if _, err := os.Lstat(dir); err != nil {
		return nil
	}
	t, err := r.OpenWorktree(ctx, WorktreeSpec{Run: name})
	if err != nil {
		if left, lerr := rawDir(dir); lerr == nil && len(left) == 0 {
			return nil
		}
		return &BlockedError{Reason: "git does not know the directory " + dir + " (" + err.Error() + ")", Hint: "look at it, and remove it by hand"}
	}
	if err := t.Verify(ctx); err != nil {
		return &BlockedError{Reason: err.Error(), Hint: "look at " + dir + ", and remove it by hand"}
	}
	head, _, err := t.git.head(ctx)
	if err != nil {
		return err
	}
	if err := r.heldElsewhere(ctx, run, name, head); err != nil {
		return err
	}
	st, err := t.git.status(ctx, "all")
	if err != nil {
		return err
	}
	b := &BlockedError{Reason: "what is not committed in " + dir + " is nowhere else", Hint: "foundry discard " + run + " keeps it under a ref and drops the worktree"}
	for _, s := range st {
		if top, _, _ := strings.Cut(s.path, "/"); top != handoffDir {
			b.Paths = append(b.Paths, s.path)
		}
	}
	if len(b.Paths) > 0 {
		slices.Sort(b.Paths)
		return b
	}
	if err := t.ready(ctx); err != nil {
		return err
	}
	return t.ignoredLost(ctx, scratch)
}

// heldElsewhere refuses when no branch of a person's, and no tag, holds a commit of one of a run's worktrees. A worktree
// beside the run's begins at what the run had then, which the run's own snapshots may hold.
func (r *Repo) heldElsewhere(ctx context.Context, run, name, commit string) error {
	places := []string{"refs/heads/", "refs/tags/", "refs/remotes/"}
	if name != run {
		places = append(places, refOf(run, ""))
	}
	out, err := r.git.read(ctx, append([]string{"for-each-ref", "--format=%(refname)", "--contains", commit}, places...)...)
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(string(out)) {
		if !strings.HasPrefix(name, "refs/heads/foundry/") {
			return nil
		}
	}
	return &BlockedError{Reason: fmt.Sprintf("its commits (%.10s) are in no other branch", commit), Hint: "foundry merge " + run + ", or foundry discard " + run}
}
