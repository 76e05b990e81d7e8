package workspace

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// An agent in a worktree can write to the checkout beside it, by an absolute path, and to refs that all
// worktrees share. Whether it did cannot be told from a person who works there at the same time; so this is
// only looked at and reported, and nothing is ever put back.

// Outside is what there is beside a run's worktree at one moment: the refs, and what is not committed in the
// user's checkout.
type Outside struct {
	refs  map[string]string
	files map[string]string
}

// Outside looks at what lies outside all worktrees of runs. It costs one status of the checkout. base is the
// branch that a run merges into; it moves as people work and is left out, as are the refs of runs.
func (r *Repo) Outside(ctx context.Context, base string) (Outside, error) {
	o := Outside{refs: map[string]string{}, files: map[string]string{}}
	out, err := r.git.read(ctx, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags", "refs/stash")
	if err != nil {
		return o, fmt.Errorf("list the refs: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		name, sha, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "refs/heads/"+base && !strings.HasPrefix(name, "refs/heads/foundry/") {
			o.refs[name] = sha
		}
	}
	st, err := r.git.status(ctx, "all")
	if err != nil {
		return o, err
	}
	for _, s := range st {
		if top, _, _ := strings.Cut(s.path, "/"); top == recordsDir || top == worktreesDir || top == handoffDir {
			continue
		}
		id, err := identify(filepath.Join(r.root, s.path))
		o.files[s.path] = fmt.Sprint(string([]byte{s.x, s.y}), id, err != nil)
	}
	return o, nil
}

// OutsideChange is a ref or a path of the checkout that differs from an earlier moment.
type OutsideChange struct {
	Ref    string // full name; "" for a path
	Path   string // from the top of the checkout; "" for a ref
	Change string // created, moved, deleted, changed
}

// String is the change as `refs/tags/v9 created` or `a.txt changed`.
func (c OutsideChange) String() string { return c.Ref + c.Path + " " + c.Change }

// became says how a path differs, from what the status of the checkout said of it at two moments; "" when it said nothing.
func became(was, now string) string {
	const untracked = "??"
	switch {
	case was == "" && strings.HasPrefix(now, untracked):
		return "created"
	case now == "" && strings.HasPrefix(was, untracked), len(now) > 1 && (now[0] == 'D' || now[1] == 'D'):
		return "deleted"
	}
	return "changed"
}

// Since lists what differs from an earlier moment, sorted.
func (o Outside) Since(before Outside) []OutsideChange {
	var list []OutsideChange
	for name, now := range o.refs {
		switch old, had := before.refs[name]; {
		case !had:
			list = append(list, OutsideChange{Ref: name, Change: "created"})
		case old != now:
			list = append(list, OutsideChange{Ref: name, Change: "moved"})
		}
	}
	for name := range before.refs {
		if _, has := o.refs[name]; !has {
			list = append(list, OutsideChange{Ref: name, Change: "deleted"})
		}
	}
	// A file that is in only one of the two was clean at the other moment.
	paths := maps.Clone(before.files)
	maps.Copy(paths, o.files)
	for p := range paths {
		if before.files[p] != o.files[p] {
			list = append(list, OutsideChange{Path: p, Change: became(before.files[p], o.files[p])})
		}
	}
	slices.SortFunc(list, func(a, b OutsideChange) int { return strings.Compare(a.String(), b.String()) })
	return list
}
