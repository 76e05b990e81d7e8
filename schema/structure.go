package schema

// The checks that need no knowledge of the language: a key twice in one mapping, an anchor inside itself,
// nesting, and how much the aliases would expand to. They run over the whole tree once, before anything is
// decoded, so that the decoder may follow aliases without fear: what was found here is taken out of the tree.

import (
	"gopkg.in/yaml.v3"

	"foundry/diag"
)

const (
	maxLevels = 64
	maxVisits = 100_000 // nodes that aliases may add to the file's own
)

// gone marks a node that was reported already; nothing more is said about it.
const gone yaml.Kind = 0

type structure struct {
	d       *decoder
	open    map[*yaml.Node]bool   // anchored nodes around the current one
	done    map[*yaml.Node]extent // anchored nodes that are complete
	visits  int
	tooDeep bool
	tooMany bool
}

type extent struct{ size, height int }

func (d *decoder) checkStructure(root *yaml.Node) {
	s := &structure{d: d, open: map[*yaml.Node]bool{}, done: map[*yaml.Node]extent{}}
	s.walk(root, 1)
}

func (s *structure) walk(n *yaml.Node, level int) extent {
	if n.Kind == yaml.AliasNode {
		return s.alias(n, level)
	}
	if n.Kind == yaml.ScalarNode {
		return extent{1, 0}
	}
	if level > maxLevels {
		s.deep(n)
		return extent{1, 1}
	}
	if n.Anchor != "" {
		s.open[n] = true
	}
	e := extent{size: 1}
	for _, c := range n.Content {
		x := s.walk(c, level+1)
		e.size += x.size
		e.height = max(e.height, x.height)
	}
	e.height++
	if n.Kind == yaml.MappingNode {
		s.d.duplicates(n)
	}
	if n.Anchor != "" {
		delete(s.open, n)
		s.done[n] = e
	}
	return e
}

func (s *structure) alias(n *yaml.Node, level int) extent {
	at := s.d.spanOfAlias(n)
	if s.open[n.Alias] {
		s.d.list.Report(diag.AnchorCycle, at, "anchor %q contains itself", n.Value).
			Notef(s.d.anchorSpan(n.Alias), "the anchor stands here")
		n.Kind = gone
		return extent{1, 1}
	}
	e, ok := s.done[n.Alias]
	if !ok { // a scalar
		e = extent{1, 0}
	}
	if level-1+e.height > maxLevels {
		s.deep(n)
		return extent{1, 1}
	}
	if s.visits+e.size > maxVisits {
		if !s.tooMany {
			s.d.list.Report(diag.TooLarge, at, "the aliases of this file stand for more than %d values", maxVisits).
				Notef(s.d.anchorSpan(n.Alias), "the anchor stands here")
		}
		s.tooMany = true
		n.Kind = gone
		return extent{1, 1}
	}
	s.visits += e.size
	return e
}

func (s *structure) deep(n *yaml.Node) {
	if !s.tooDeep {
		at := s.d.index.offset(n.Line, n.Column)
		s.d.list.Report(diag.TooLarge, diag.Span{Source: s.d.src, Start: at, End: min(at+1, len(s.d.src.Text))}, "nested deeper than %d levels", maxLevels)
	}
	s.tooDeep = true
	n.Kind = gone
}

// duplicates reports every key that a mapping has more than once and takes the later ones out.
func (d *decoder) duplicates(n *yaml.Node) {
	find := func(i int) int { // the first key equal to the one at i
		for j := 0; j < i; j += 2 {
			if sameKey(n.Content[j], n.Content[i]) {
				return j
			}
		}
		return i
	}
	if len(n.Content) > 32 {
		first := make(map[string]int, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			k := n.Content[i].Value
			if _, dup := first[k]; !dup && n.Content[i].Kind == yaml.ScalarNode {
				first[k] = i
			}
		}
		find = func(i int) int {
			if j, ok := first[n.Content[i].Value]; ok && sameKey(n.Content[j], n.Content[i]) {
				return j
			}
			return i
		}
	}
	for i := 2; i+1 < len(n.Content); i += 2 {
		j := find(i)
		if j == i {
			continue
		}
		k := n.Content[i]
		d.report(nil, diag.DuplicateKey, d.spanOf(k), "%q is set twice in this mapping", k.Value).
			Notef(d.spanOf(n.Content[j]), "the first %q stands here and is the one that counts for the other findings", k.Value).
			Hintf("keep one of the two")
		k.Kind = gone
	}
}

func sameKey(a, b *yaml.Node) bool {
	return a.Kind == yaml.ScalarNode && b.Kind == yaml.ScalarNode && a.Value == b.Value
}

func (d *decoder) spanOfAlias(n *yaml.Node) diag.Span {
	at := d.index.offset(n.Line, n.Column)
	return diag.Span{Source: d.src, Start: at, End: min(at+1+len(n.Value), len(d.src.Text))}
}

// anchorSpan is the &name of an anchored node.
func (d *decoder) anchorSpan(n *yaml.Node) diag.Span {
	s, at := d.src.Text, d.index.offset(n.Line, n.Column)
	for at < len(s) && s[at] != '&' && breakLen(s, at) == 0 {
		at++
	}
	return diag.Span{Source: d.src, Start: at, End: min(at+1+len(n.Anchor), len(s))}
}
