package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Changes compares two snapshot trees. Trees hold literal bytes, so a change of line endings is a change
// here, marked as one; whether that matters is for others to say.

// Changes returns what differs between two trees, sorted by path, with renames found. A change is marked as
// Ignored by the rules that are in the workspace now.
func (t *Tree) Changes(ctx context.Context, from, to string) ([]Change, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.report(ctx, from, to)
}

// report is what others are told: with renames, and marks.
func (t *Tree) report(ctx context.Context, from, to string) ([]Change, error) {
	list, err := t.compare(ctx, from, to, true)
	if err == nil {
		err = t.markIgnored(ctx, list)
	}
	return list, err
}

// comparison is the last one that was made without renames: a check of a boundary asks for it three times.
type comparison struct {
	from, to string
	list     []Change
}

func (t *Tree) compare(ctx context.Context, from, to string, renames bool) ([]Change, error) {
	if from == to {
		return nil, nil
	}
	if c := t.compared; c.from == from && c.to == to && !(renames && mayHaveMoved(c.list)) {
		return slices.Clone(c.list), nil
	}
	list, err := t.shadow.git.diffTrees(ctx, from, to, renames)
	if err != nil {
		return nil, fmt.Errorf("compare two snapshots: %w", err)
	}
	if !renames {
		t.compared = comparison{from, to, slices.Clone(list)}
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

// diffTrees compares two trees of this repository.
func (g git) diffTrees(ctx context.Context, from, to string, renames bool) ([]Change, error) {
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
	if slices.ContainsFunc(list, func(c Change) bool { return maybeEOL(c) }) {
		if err := g.markEOL(ctx, from, to, list); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
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
	return (c.Kind == Modified || c.Kind == Renamed) && !c.Binary && c.Added == c.Removed && c.Added > 0 && c.OldMode == c.NewMode
}

// markEOL marks the changes that vanish when carriage returns at line ends are not looked at.
func (g git) markEOL(ctx context.Context, from, to string, list []Change) error {
	out, err := g.read(ctx, "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-cr-at-eol", from, to)
	if err != nil {
		return err
	}
	recs, err := fields(out)
	if err != nil {
		return err
	}
	real := map[string]bool{}
	for _, rec := range recs {
		f := strings.SplitN(rec, "\t", 3)
		if len(f) != 3 {
			return fmt.Errorf("git answered %q", rec)
		}
		if f[0] != "0" || f[1] != "0" {
			real[f[2]] = true
		}
	}
	for i, c := range list {
		if c.Kind == Modified && maybeEOL(c) && !real[c.Path] {
			list[i].EOLOnly = true
		}
	}
	return nil
}

// markIgnored marks the changes that git would not commit, because a rule matches and it does not track them.
func (t *Tree) markIgnored(ctx context.Context, list []Change) error {
	var paths []string
	for _, c := range list {
		if c.Kind != Deleted && !t.inNested(c.Path) { // git refuses questions about what is in another repository
			paths = append(paths, c.Path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	hit, err := t.git.checkIgnore(ctx, paths)
	if err != nil {
		return err
	}
	for i, c := range list {
		list[i].Ignored = c.Kind != Deleted && hit[c.Path]
	}
	return nil
}

// inNested reports whether a path is in a nested repository.
func (t *Tree) inNested(p string) bool {
	for _, d := range t.shadow.state.Modules {
		if strings.HasPrefix(p, d+"/") {
			return true
		}
	}
	if t.last != nil {
		for d := range t.last.meta.Nested {
			if strings.HasPrefix(p, d+"/") {
				return true
			}
		}
	}
	return false
}
