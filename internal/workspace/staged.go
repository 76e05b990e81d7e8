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

// A person who lets a run work in the checkout may have staged something before. It is theirs: a commit of the run
// leaves it out, and it stays staged. The commit is made through an index of its own, in which those paths are as HEAD
// has them; the person's index keeps its entries all the time, so a kill in between loses none.

// stagedPath is a path whose entry in the index is not HEAD's. A mode of zeros is no entry.
type stagedPath struct {
	path             string
	headMode, head   string // the entry that HEAD has
	indexMode, index string
}

// line is the entry in the form that update-index --index-info takes.
func (d stagedPath) line() string { return d.indexMode + " " + d.index + "\t" + d.path }

// differing lists what differs between a commit, "" being none, and the index.
func (t *Tree) differing(ctx context.Context, commit string) ([]stagedPath, error) {
	if commit == "" {
		commit = objectID(t.repo.format, "tree", nil)
	}
	return t.rawDifferences(ctx, "diff-index", "--cached", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=dirty", commit)
}

func (t *Tree) rawDifferences(ctx context.Context, args ...string) ([]stagedPath, error) {
	recs, err := t.listed(ctx, args...)
	if err != nil {
		return nil, err
	}
	var list []stagedPath
	for i := 0; i+1 < len(recs); i += 2 {
		f := strings.Fields(recs[i])
		if len(f) != 5 {
			return nil, fmt.Errorf("git answered %q", recs[i])
		}
		list = append(list, stagedPath{recs[i+1], f[0][1:], f[2], f[1], f[3]})
	}
	return list, nil
}

// rememberStaged notes what is staged in the checkout when a run begins.
func (t *Tree) rememberStaged(ctx context.Context) error {
	head, _, err := t.git.head(ctx)
	if err != nil && !errors.Is(err, ErrNoCommits) {
		return err
	}
	list, err := t.differing(ctx, head)
	if err != nil {
		return fmt.Errorf("remember what is staged: %w", err)
	}
	t.shadow.state.Staged = nil
	for _, d := range list {
		t.shadow.state.Staged = append(t.shadow.state.Staged, d.line())
	}
	return nil
}

// leaveStaged has a commit go through an index of its own when something is staged in the checkout since before the run.
// done takes that index away.
func (t *Tree) leaveStaged(ctx context.Context, head string, c *committing) (done func(), err error) {
	none := func() {}
	if !t.checkout || len(t.shadow.state.Staged) == 0 {
		return none, nil
	}
	list, err := t.differing(ctx, head)
	if err != nil {
		return none, err
	}
	var paths []string
	var back strings.Builder
	for _, d := range list {
		if slices.Contains(t.shadow.state.Staged, d.line()) {
			paths = append(paths, d.path)
			back.WriteString(d.headMode + " " + d.head + "\t" + d.path + "\x00")
		}
	}
	if len(paths) == 0 {
		return none, nil
	}
	data, err := os.ReadFile(filepath.Join(t.admin, "index"))
	if err != nil {
		return none, fmt.Errorf("copy the index: %w", err)
	}
	own := filepath.Join(t.shadow.dir, "index-commit")
	if err := replaceFile(own, data, 0o600); err != nil {
		return none, fmt.Errorf("copy the index: %w", err)
	}
	done = func() { os.Remove(own) } // the next commit writes it anew
	c.env, c.own = append(c.env, "GIT_INDEX_FILE="+own), true
	_, err = t.git.do(ctx, call{args: []string{"update-index", "-z", "--index-info"}, stdin: []byte(back.String()), env: c.env, writes: true})
	if err != nil {
		done()
		return none, err
	}
	c.notes = append(c.notes, "left out, since it was staged before the run, and still staged: "+few(paths))
	return done, nil
}

// follow brings the person's index to a commit that was made through an index of its own: hooks may have put other
// content into it than what was staged for it.
func (t *Tree) follow(ctx context.Context, old, made string) error {
	if old == "" {
		old = objectID(t.repo.format, "tree", nil)
	}
	list, err := t.rawDifferences(ctx, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", old, made)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, d := range list {
		lines.WriteString(d.line() + "\x00")
	}
	_, err = t.git.do(ctx, call{args: []string{"update-index", "-z", "--index-info"}, stdin: []byte(lines.String()), writes: true})
	return err
}
