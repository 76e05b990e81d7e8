package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"foundry/glob"
)

// Two phases that worked side by side, each in a worktree of its own, have developed one tree in two ways. Here the two
// are brought together, path by path. What comes of it depends on the three trees alone: no attribute, no merge driver
// and nothing in anybody's configuration has a say, and a path that was renamed is one that went and one that came.
// Where both cannot be had, ours stays and the path is told; nothing of either is dropped in silence. Objects are
// written, refs are not: whoever asks keeps the tree, by a snapshot.

// Combined is what comes of two developments of one tree.
type Combined struct {
	Tree      string     // ours with all changes of theirs that fit; where both cannot be had it is as in ours
	Conflicts []Conflict // sorted by path, each path once; empty when everything fits
}

// Conflict is a path at which two developments cannot both be had. Why is a phrase such as "both changed the same
// lines" or "deleted in one and changed in the other".
type Conflict struct{ Path, Why string }

// Combine brings two developments of the tree base together; all three are ids of trees. Below the agents' handoff area
// nothing conflicts: theirs counts there. On a file system that folds case, names that differ only in case cannot
// both be had.
func (r *Repo) Combine(ctx context.Context, base, ours, theirs string) (Combined, error) {
	c, err := r.combine(ctx, base, ours, theirs, r.foldsCase())
	if err != nil {
		return Combined{}, fmt.Errorf("combine two developments of %s: %w", base, err)
	}
	return c, nil
}

// combining is one call of Combine.
type combining struct {
	git       git
	store     *store
	trees     *trees
	folds     bool
	edits     map[string]edit // of theirs, at paths that ours has or that go
	created   map[string]edit // of theirs, at paths that ours does not have
	lines     []textMerge     // files that both changed
	conflicts []Conflict
}

// sides is one path in the three trees. An edit without a mode says that nothing is there.
type sides struct{ base, ours, theirs edit }

func (r *Repo) combine(ctx context.Context, base, ours, theirs string, folds bool) (Combined, error) {
	switch {
	case theirs == base || theirs == ours:
		return Combined{Tree: ours}, nil
	case ours == base:
		return Combined{Tree: theirs}, nil
	}
	s := r.store()
	c := &combining{git: r.git, store: s, trees: newTrees(r.git, s), folds: folds, edits: map[string]edit{}, created: map[string]edit{}}
	mine, err := c.trees.diff(ctx, base, ours)
	if err != nil {
		return Combined{}, err
	}
	changed := make(map[string]edit, len(mine))
	for _, m := range mine {
		changed[m.Path] = m.is()
	}
	others, err := c.trees.diff(ctx, base, theirs)
	if err != nil {
		return Combined{}, err
	}
	for _, o := range others {
		v := sides{base: o.was(), ours: o.was(), theirs: o.is()}
		if now, both := changed[o.Path]; both {
			v.ours = now
		}
		c.judge(o.Path, v)
	}
	if err := c.mergeLines(ctx); err != nil {
		return Combined{}, err
	}
	tree, err := c.tree(ctx, ours)
	slices.SortFunc(c.conflicts, func(a, b Conflict) int { return strings.Compare(a.Path, b.Path) })
	return Combined{Tree: tree, Conflicts: c.conflicts}, err
}

// was is what there was before a change.
func (c Change) was() edit { return at(c.OldMode, c.oldBlob) }

// is is what there is after it.
func (c Change) is() edit { return at(c.NewMode, c.newBlob) }

func at(mode, blob string) edit {
	if mode == nothing {
		return edit{}
	}
	return edit{mode: mode, blob: blob}
}

// judge decides about a path that theirs changed.
func (c *combining) judge(p string, v sides) {
	if v.ours == v.theirs {
		return
	}
	if v.ours == v.base {
		c.take(p, v)
		return
	}
	why := v.apart()
	if why == "" {
		mode, modeFits := threeWay(v.base.mode, v.ours.mode, v.theirs.mode)
		blob, blobFits := threeWay(v.base.blob, v.ours.blob, v.theirs.blob)
		switch {
		case !modeFits:
			why = "both changed its mode"
		case blobFits:
			c.edits[p] = edit{mode: mode, blob: blob}
			return
		default:
			c.lines = append(c.lines, textMerge{path: p, sides: v, mode: mode})
			return
		}
	}
	c.conflict(p, v, why)
}

// threeWay returns what somebody changed a value to; ok is false when both did, each to something else.
func threeWay(base, ours, theirs string) (value string, ok bool) {
	switch {
	case ours == theirs || theirs == base:
		return ours, true
	case ours == base:
		return theirs, true
	}
	return "", false
}

// take has theirs at a path.
func (c *combining) take(p string, v sides) {
	if v.ours.mode == "" {
		c.created[p] = v.theirs
	} else {
		c.edits[p] = v.theirs
	}
}

// conflict records that both cannot be had at a path, unless it is the agents' own.
func (c *combining) conflict(p string, v sides, why string) {
	if glob.InHandoff(p) {
		c.take(p, v)
	} else {
		c.conflicts = append(c.conflicts, Conflict{Path: p, Why: why})
	}
}

// apart says why there is no way to have both of two different changes of a path; "" when they are changes of one
// file, of which some may be had.
func (v sides) apart() string {
	ours, theirs := nounOf(v.ours.mode), nounOf(v.theirs.mode)
	switch {
	case v.ours.mode == "" || v.theirs.mode == "":
		return "deleted in one and changed in the other"
	case ours != theirs:
		names := []string{ours, theirs}
		slices.Sort(names)
		return names[0] + " in one and " + names[1] + " in the other"
	case v.base.mode == "" && v.ours.blob == v.theirs.blob:
		return "both created it, with different modes"
	case v.base.mode == "":
		return "both created it, with different content"
	case ours == symlink:
		return "both changed where the link leads"
	case ours == gitlink:
		return "both changed which commit is recorded there"
	case nounOf(v.base.mode) != ours:
		return "both made " + ours + " of it, with different content"
	}
	return ""
}

// The kinds of what a tree can have at a path, as words.
const (
	regular = "a file"
	symlink = "a symbolic link"
	gitlink = "a nested repository"
)

func nounOf(mode string) string {
	switch {
	case strings.HasPrefix(mode, "12"):
		return symlink
	case strings.HasPrefix(mode, "16"):
		return gitlink
	}
	return regular
}

// tree makes of ours what fits. What is created has to find room: what theirs deletes has made way then.
func (c *combining) tree(ctx context.Context, ours string) (string, error) {
	tree, err := c.trees.patch(ctx, ours, c.edits)
	if err != nil || len(c.created) == 0 {
		return tree, err
	}
	top, dirs := nodes(c.created)
	if err := c.trees.load(ctx, tree, dirs); err != nil {
		return "", err
	}
	c.room(top, tree, "")
	return c.trees.patch(ctx, tree, c.created)
}

// room finds what theirs creates below a directory and what cannot be there together with what ours has. id is the
// directory's tree.
func (c *combining) room(n *dirNode, id, dir string) {
	here, folded := map[string]leaf{}, map[string]string{}
	for _, l := range c.trees.cache[id] {
		here[l.name] = l
		if c.folds {
			folded[fold(l.name)] = l.name
		}
	}
	const mixed = "a file in one and a directory in the other"
	other := func(name string) (why string) {
		if twin, there := folded[fold(name)]; there {
			why = fmt.Sprintf("%q in the other differs from its name only in case", join2(dir, twin))
		}
		return why
	}
	for name := range n.files {
		if _, there := here[name]; there {
			c.refuse(join2(dir, name), mixed)
		} else if why := other(name); why != "" {
			c.refuseCase(join2(dir, name), why)
		}
	}
	for name, sub := range n.dirs {
		l, there := here[name]
		switch {
		case l.mode == treeMode:
			c.room(sub, l.id, join2(dir, name))
		case there:
			sub.each(join2(dir, name), func(p string) { c.refuse(p, mixed) })
		default:
			if why := other(name); why != "" {
				sub.each(join2(dir, name), func(p string) { c.refuseCase(p, why) })
			}
		}
	}
}

// refuse leaves out a path that theirs creates. In the agents' area it takes the place of what ours has.
func (c *combining) refuse(p, why string) {
	if !glob.InHandoff(p) {
		delete(c.created, p)
		c.conflicts = append(c.conflicts, Conflict{Path: p, Why: why})
	}
}

// refuseCase leaves out a path that theirs creates and that is another file of ours to the file system. In the agents'
// area that stays as it is.
func (c *combining) refuseCase(p, why string) {
	delete(c.created, p)
	if !glob.InHandoff(p) {
		c.conflicts = append(c.conflicts, Conflict{Path: p, Why: why})
	}
}

// fold returns what all names have in common that differ only in case.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }
