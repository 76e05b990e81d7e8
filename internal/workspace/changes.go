package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Changes compares two snapshot trees. Trees hold literal bytes, so a change of line endings is a change
// here, marked as one; whether that matters is for others to say.

// Changes returns what differs between two trees, or commits, sorted by path, with renames found. A change is marked as
// Ignored by the rules that are in the workspace now.
func (t *Tree) Changes(ctx context.Context, from, to string) ([]Change, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range []*string{&from, &to} {
		if t.trees.cache[*id] != nil {
			continue
		}
		tree, err := t.git.line(ctx, "rev-parse", "-q", "--verify", *id+"^{tree}")
		if err != nil {
			return nil, fmt.Errorf("compare two snapshots: %w", err)
		}
		*id = tree
	}
	plain, err := t.compare(ctx, from, to)
	if err != nil {
		return nil, err
	}
	return t.describe(ctx, from, to, plain)
}

// compare returns what differs between two trees, sorted by path: kinds, modes and blobs, without renames.
func (t *Tree) compare(ctx context.Context, from, to string) ([]Change, error) {
	list, err := t.trees.diff(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("compare two snapshots: %w", err)
	}
	return list, nil
}

// describe returns what others are told of a comparison: renames, counts of lines, and marks.
func (t *Tree) describe(ctx context.Context, from, to string, plain []Change) ([]Change, error) {
	var list []Change
	var matched map[string]bool
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() { matched, errs[0] = t.matched(ctx, plain) })
	list, errs[1] = t.count(ctx, from, to, plain)
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return list, t.markIgnored(ctx, list, matched)
}

// count returns a comparison with renames, counts of lines, and the mark of line endings.
func (t *Tree) count(ctx context.Context, from, to string, plain []Change) ([]Change, error) {
	if len(plain) == 0 {
		return nil, nil
	}
	var list []Change
	var lines map[string]bool
	var errs [2]error
	var wg sync.WaitGroup
	if slices.ContainsFunc(plain, func(c Change) bool { return c.Kind == Modified }) {
		wg.Go(func() { lines, errs[0] = t.shadow.git.realLines(ctx, from, to) })
	}
	list, errs[1] = t.shadow.git.count(ctx, from, to, mayHaveMoved(plain))
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("compare two snapshots: %w", err)
	}
	seen := 0
	for i, c := range list {
		list[i].EOLOnly = isEOL(c, lines)
		seen++
		if c.Kind == Renamed {
			seen++
		}
	}
	if seen != len(plain) {
		return nil, fmt.Errorf("compare two snapshots: git counted the lines of %d paths, and %d differ", seen, len(plain))
	}
	return list, nil
}

// mayHaveMoved says whether a list without renames has what a rename is made of: a path that came and one that went.
func mayHaveMoved(list []Change) bool {
	is := func(k ChangeKind) bool {
		return slices.ContainsFunc(list, func(c Change) bool { return c.Kind == k })
	}
	return is(Created) && is(Deleted)
}

// diffTrees compares two trees of this repository, without renames.
func (g git) diffTrees(ctx context.Context, from, to string) ([]Change, error) {
	list, err := g.count(ctx, from, to, false)
	if err != nil || !slices.ContainsFunc(list, maybeEOL) {
		return list, err
	}
	lines, err := g.realLines(ctx, from, to)
	if err != nil {
		return nil, err
	}
	for i, c := range list {
		list[i].EOLOnly = isEOL(c, lines)
	}
	return list, nil
}

// count compares two trees and counts lines. The list is sorted by path.
func (g git) count(ctx context.Context, from, to string, renames bool) ([]Change, error) {
	how := "--no-renames"
	if renames {
		how = "-M"
	}
	out, err := g.read(ctx, "diff-tree", "-r", "-z", "--raw", "--numstat", "--no-abbrev", "--no-ext-diff", "--no-textconv", "-l1000", how, from, to)
	if err != nil {
		return nil, err
	}
	recs, err := fields(out)
	if err != nil {
		return nil, err
	}
	list, err := parseDiff(recs)
	if err != nil {
		return nil, err
	}
	sortChanges(list)
	return list, nil
}

func sortChanges(list []Change) {
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
}

// parseDiff reads the records of --raw --numstat -z: first all of the one, then all of the other.
func parseDiff(recs []string) ([]Change, error) {
	var list []Change
	at := map[string]int{}
	next := func(i int) (string, error) {
		if i >= len(recs) {
			return "", errors.New("git's answer ends in the middle of a record")
		}
		return recs[i], nil
	}
	i := 0
	for i < len(recs) && strings.HasPrefix(recs[i], ":") {
		f := strings.Fields(recs[i][1:])
		p, err := next(i + 1)
		if err != nil {
			return nil, err
		}
		if len(f) != 5 {
			return nil, fmt.Errorf("git answered %q", recs[i])
		}
		i += 2
		c := Change{Path: p, OldMode: f[0], NewMode: f[1], oldBlob: f[2], newBlob: f[3]}
		switch f[4][0] {
		case 'A':
			c.Kind = Created
		case 'D':
			c.Kind = Deleted
		case 'T':
			c.Kind = TypeChanged
		case 'R':
			c.Kind = Renamed
			if c.Path, err = next(i); err != nil {
				return nil, err
			}
			c.From = p
			i++
		case 'M':
			c.Kind = Modified
			if f[2] == f[3] {
				c.Kind = ModeChanged
			}
		default:
			return nil, fmt.Errorf("git answered %q", recs[i-2])
		}
		at[c.Path] = len(list)
		list = append(list, c)
	}
	for i < len(recs) {
		f := strings.SplitN(recs[i], "\t", 3)
		if len(f) != 3 {
			return nil, fmt.Errorf("git answered %q", recs[i])
		}
		p := f[2]
		i++
		if p == "" { // a rename has both names in records of their own
			var err error
			if p, err = next(i + 1); err != nil {
				return nil, err
			}
			i += 2
		}
		k, ok := at[p]
		if !ok {
			return nil, fmt.Errorf("git counted the lines of %q, which did not change", p)
		}
		if f[0] == "-" {
			list[k].Binary = true
			continue
		}
		list[k].Added, _ = strconv.Atoi(f[0])
		list[k].Removed, _ = strconv.Atoi(f[1])
	}
	return list, nil
}

// maybeEOL reports whether a change could be one of line endings: as many lines went as came.
func maybeEOL(c Change) bool {
	return c.Kind == Modified && !c.Binary && c.Added == c.Removed && c.Added > 0 && c.OldMode == c.NewMode
}

// isEOL reports whether a change is one of line endings only. lines has the paths of which more differs.
func isEOL(c Change, lines map[string]bool) bool { return maybeEOL(c) && !lines[c.Path] }

// realLines returns the paths that still differ when carriage returns at line ends are not looked at.
func (g git) realLines(ctx context.Context, from, to string) (map[string]bool, error) {
	out, err := g.read(ctx, "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-cr-at-eol", from, to)
	if err != nil {
		return nil, err
	}
	recs, err := fields(out)
	if err != nil {
		return nil, err
	}
	lines := map[string]bool{}
	for _, rec := range recs {
		f := strings.SplitN(rec, "\t", 3)
		if len(f) != 3 {
			return nil, fmt.Errorf("git answered %q", rec)
		}
		if f[0] != "0" || f[1] != "0" {
			lines[f[2]] = true
		}
	}
	return lines, nil
}

// matched returns those of the changed paths that an ignore rule of the workspace or of the user's matches.
// The index has no say in it: git would refuse questions about what is in a repository that the index names.
func (t *Tree) matched(ctx context.Context, list []Change) (map[string]bool, error) {
	var paths []string
	for _, c := range list {
		if kind, _ := kindAt(t.dir, c.Path); c.Kind != Deleted && kind != "beyond" { // git refuses that as well
			paths = append(paths, c.Path)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	return t.git.checkIgnore(ctx, paths, "--no-index")
}

// markIgnored marks the changes that git would not commit, because a rule matches and it does not track them.
func (t *Tree) markIgnored(ctx context.Context, list []Change, matched map[string]bool) error {
	if len(matched) == 0 {
		return nil
	}
	tracked, err := t.staged(ctx)
	if err != nil {
		return fmt.Errorf("ask which paths git tracks: %w", err)
	}
	for i, c := range list {
		_, known := tracked[c.Path]
		list[i].Ignored = c.Kind != Deleted && matched[c.Path] && !known
	}
	return nil
}
