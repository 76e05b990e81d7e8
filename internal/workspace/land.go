package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Landing is the part of a merge that changes something: the files of the checkout that has the base, then
// the base itself by compare-and-swap. It is finished or taken back, never left in between.

// moveRef moves the base by compare-and-swap.
func (m *merging) moveRef(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	ref := "refs/heads/" + m.s.Base
	if now, err := m.r.ref(ctx, ref); err == nil && now == m.Commit {
		return nil
	}
	err := m.r.git.write(ctx, "update-ref", "--no-deref", "-m", "foundry: merge "+m.s.Run, ref, m.Commit, m.s.BranchPoint)
	if err == nil {
		return nil
	}
	var ge *GitError
	if now, rerr := m.r.ref(ctx, ref); rerr == nil && now != m.s.BranchPoint && errors.As(err, &ge) {
		return &BlockedError{Reason: fmt.Sprintf("%q moved while the merge began", m.s.Base), Hint: "nothing was changed; try again"}
	}
	return err
}

// update brings the checkout that has the base to the new commit, then moves the base. From here on it is
// finished or taken back, whatever becomes of ctx.
func (m *merging) update(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longTime)
	defer cancel()
	// A file that was only touched, or that came here as a copy, has other times than the index knows; read-tree would
	// take it for changed. Those that did change were refused before.
	_, err := m.target.do(ctx, call{args: []string{"update-index", "--refresh"}, ok: 1, writes: true, timeout: longTime})
	if err != nil {
		return err
	}
	_, err = m.target.do(ctx, call{args: []string{"read-tree", "-m", "-u", m.s.BranchPoint, m.Commit}, writes: true, timeout: longTime})
	var lock *LockError
	if errors.As(err, &lock) {
		return err // git takes the lock before it touches anything
	}
	if err == nil {
		err = m.verifyFiles(ctx)
	}
	if err == nil {
		err = m.moveRef(ctx)
	}
	if err == nil {
		return nil
	}
	if back := m.takeBack(ctx); back != nil {
		return fmt.Errorf("%v; bringing %s back to where it was failed too: %v", err, m.target.workTree, back)
	}
	return fmt.Errorf("%w; %s is as it was", err, m.target.workTree)
}

// verifyFiles checks that index and files of the checkout hold what came in.
func (m *merging) verifyFiles(ctx context.Context) error {
	staged, err := m.target.changedFrom(ctx, m.Commit)
	if err != nil {
		return err
	}
	for _, c := range m.incoming {
		if staged[c.Path] {
			return fmt.Errorf("%q is not in the checkout as it was merged", c.Path)
		}
	}
	return nil
}

// changedFrom returns the paths whose index entry or file differs from a commit.
func (g git) changedFrom(ctx context.Context, commit string) (map[string]bool, error) {
	differ := map[string]bool{}
	out, err := g.read(ctx, "diff-index", "--cached", "-z", "--name-only", "--no-renames", "--ignore-submodules=all", commit)
	if err != nil {
		return nil, err
	}
	paths, err := fields(out)
	if err != nil {
		return nil, err
	}
	st, err := g.status(ctx, "no")
	if err != nil {
		return nil, err
	}
	for _, s := range st {
		if s.y != ' ' {
			paths = append(paths, s.path)
		}
	}
	for _, p := range paths {
		differ[p] = true
	}
	return differ, nil
}

// takeBack undoes a half-made update. The paths were clean before, so their old content is in the old commit.
func (m *merging) takeBack(ctx context.Context) error {
	var lines strings.Builder
	var old []string
	for _, c := range m.incoming {
		if c.Kind == Created {
			fmt.Fprintf(&lines, "0 %s\t%s\x00", strings.Repeat("0", len(c.newBlob)), c.Path)
			continue
		}
		fmt.Fprintf(&lines, "%s %s\t%s\x00", c.OldMode, c.oldBlob, c.Path)
		old = append(old, c.Path)
	}
	var errs []error
	for _, c := range m.incoming {
		if c.Kind != Created {
			continue
		}
		if kind, _ := kindAt(m.target.workTree, c.Path); kind == "file" || kind == "symlink" {
			errs = append(errs, os.Remove(filepath.Join(m.target.workTree, c.Path)))
			for d := filepath.Dir(c.Path); d != "."; d = filepath.Dir(d) {
				if os.Remove(filepath.Join(m.target.workTree, d)) != nil {
					break
				}
			}
		}
	}
	_, err := m.target.do(ctx, call{args: []string{"update-index", "-z", "--index-info"}, stdin: []byte(lines.String()), writes: true})
	errs = append(errs, err)
	_, err = m.target.do(ctx, call{args: []string{"checkout-index", "-f", "-u", "-q", "-z", "--stdin"}, stdin: nul(old), writes: true, timeout: longTime})
	return errors.Join(append(errs, err)...)
}
