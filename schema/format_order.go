package schema

// The order in which keys are written. It is that of the table, with a few exceptions: the table tells the
// language, while a phase is read as what it is called, what it does, how it is checked and where it leads, and
// an agent with its long texts at the end.

import (
	"slices"

	"gopkg.in/yaml.v3"
)

// reading has the keys that are written first, and those that are written last; the others stand between them in
// the order of the table.
var reading = map[string]struct{ first, last []string }{
	"project": {first: []string{"name", "base", "harness", "argv", "model", "models"}},
	"agent": {
		first: []string{"extends", "description", "envelope", "envelope_retries"},
		last:  []string{"system", "prompt", "script"},
	},
	"pipeline": {
		first: []string{"extends", "description"},
		last:  []string{"patch", "phases", "after"},
	},
	"phase": {
		first: []string{
			"id", "description", "hint", "needs", "detour", "when", "optional", "each",
			"agent", "run", "command", "builtin", "ask", "call", "set", "message", "model", "envelope", "prompt", "inputs", "retries",
		},
		last: []string{"gates", "route"},
	},
}

// place says what stands at a node: the shape of the value, and the section it belongs to.
type place struct {
	shape Shape
	of    string
}

var rootPlace = place{ShapeSection, "file"}

// placeOf is the place of a node that stands in one. What has an anchor may be used in others, in which the order
// of its keys may matter.
func placeOf(n *yaml.Node, at place) place {
	if n.Anchor != "" {
		return place{}
	}
	return at
}

// readingOrder is the table, each section in the order in which its keys are written.
func readingOrder() map[string][]Key {
	table := map[string][]Key{}
	for _, k := range Keys() {
		table[k.Where] = append(table[k.Where], k)
	}
	for section, keys := range table {
		first, last := reading[section].first, reading[section].last
		weight := func(k Key) int {
			if i := slices.Index(first, k.Name); i >= 0 {
				return i - len(first)
			}
			return 1 + slices.Index(last, k.Name)
		}
		slices.SortStableFunc(keys, func(a, b Key) int { return weight(a) - weight(b) })
	}
	return table
}

// ordered says whether the keys of a mapping have an order of their own.
func (f *layout) ordered(at place) bool { return at.shape == ShapeSection && f.table[at.of] != nil }

// inside is what stands at the value of a key, or at an entry of a list.
func (f *layout) inside(at place, key string) place {
	switch at.shape {
	case ShapeSection:
		for _, k := range f.table[at.of] {
			if k.Name == key && k.Shape == ShapeGates {
				return place{ShapeList, "gate"}
			} else if k.Name == key {
				return place{k.Shape, k.Of}
			}
		}
	case ShapeList, ShapeMap:
		return place{ShapeSection, at.of}
	case ShapeEntries:
		return place{ShapeList, at.of}
	}
	return place{}
}

// inOrder are the entries of a block as they are written. A key that the section does not know stays behind the
// one that it follows. An alias has to stay behind its anchor, and keys that are not known may have a meaning that
// depends on their order, such as the names of gates; where such entries would change places the block is left
// alone.
func (f *layout) inOrder(b *block) []*entryLines {
	if b.fixed || b.isList || !f.ordered(b.at) {
		return b.entries
	}
	keys := f.table[b.at.of]
	rank, last := map[*entryLines]int{}, -1
	bound := map[*entryLines]bool{}
	for _, e := range b.entries {
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == e.key.Value })
		if i >= 0 {
			last = i
		}
		rank[e], bound[e] = last, i < 0 || hasLinks(e.key) || hasLinks(e.value)
	}
	out := slices.Clone(b.entries)
	slices.SortStableFunc(out, func(a, b *entryLines) int { return rank[a] - rank[b] })
	free := func(e *entryLines) bool { return !bound[e] }
	if end := len(out) - 1; b.pinned && out[end] != b.entries[end] {
		return b.entries
	}
	if !slices.Equal(slices.DeleteFunc(slices.Clone(out), free), slices.DeleteFunc(slices.Clone(b.entries), free)) {
		return b.entries
	}
	return out
}

// hasLinks says whether there is an anchor or an alias in a tree.
func hasLinks(n *yaml.Node) bool {
	return n.Anchor != "" || n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasLinks)
}
