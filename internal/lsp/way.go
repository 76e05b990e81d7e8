package lsp

import (
	"strconv"
	"strings"
)

// This file leads from an offset to the node that holds it.

// step is one level on the way down to an offset.
type step struct {
	in    *node // a mapping or a sequence
	index int   // of the pair or item
	key   bool  // the offset is in the pair's key
}

// find leads to the scalar that holds an offset, or ends at it. Without one, leaf is nil.
func find(root *node, offset int) (way []step, leaf *node) {
	if root == nil || offset < root.start || offset > root.end {
		return nil, nil
	}
	switch root.shape {
	case mapping:
		for i, p := range root.pairs {
			if p.key.start <= offset && offset <= p.key.end {
				return []step{{root, i, true}}, p.key
			}
			if rest, leaf := find(p.value, offset); leaf != nil {
				return append([]step{{root, i, false}}, rest...), leaf
			}
		}
	case sequence:
		for i, item := range root.items {
			if rest, leaf := find(item, offset); leaf != nil {
				return append([]step{{root, i, false}}, rest...), leaf
			}
		}
	case scalar:
		if offset == root.end && (root.style == literal || root.style == folded) {
			return nil, nil // the next line
		}
		return nil, root
	}
	return nil, nil
}

// get is the value of a key of a mapping, nil when there is none.
func (n *node) get(text, name string) *node {
	if n == nil {
		return nil
	}
	for _, p := range n.pairs {
		if p.colon && valueOf(text, p.key) == name {
			return p.value
		}
	}
	return nil
}

// valueOf is what a scalar says, "" for anything else. Folding is not undone.
func valueOf(text string, n *node) string {
	if n == nil || n.shape != scalar {
		return ""
	}
	from, to := n.inside(text)
	return unquoted(text[from:to], n.style)
}

// inside is the range of a scalar's text without its quotes or its header line.
func (n *node) inside(text string) (from, to int) {
	from, to = n.start, n.end
	switch n.style {
	case single, double:
		from++
		if to > from && text[to-1] == text[n.start] {
			to--
		}
	case literal, folded:
		if i := strings.IndexByte(text[from:to], '\n'); i >= 0 {
			from += i + 1
		} else {
			from = to
		}
	}
	return from, max(from, to)
}

// unquoted is what a part of a scalar means, its quotes already left off.
func unquoted(raw string, s style) string {
	switch {
	case s == single:
		return strings.ReplaceAll(raw, "''", "'")
	case s == double && strings.Contains(raw, `\`):
		if out, err := strconv.Unquote(`"` + raw + `"`); err == nil {
			return out
		}
		return strings.ReplaceAll(strings.ReplaceAll(raw, `\"`, `"`), `\\`, `\`)
	}
	return raw
}
