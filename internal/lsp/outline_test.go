package lsp

import (
	"strings"
	"testing"
)

// drawn writes an outline on one line: {key: value}, [items], word? for a word without a colon, *alias.
func drawn(text string, n *node) string {
	if n == nil {
		return "~"
	}
	switch n.shape {
	case mapping:
		var out []string
		for _, p := range n.pairs {
			if !p.colon {
				out = append(out, text[p.key.start:p.key.end]+"?")
				continue
			}
			out = append(out, drawn(text, p.key)+": "+drawn(text, p.value))
		}
		return "{" + strings.Join(out, ", ") + "}"
	case sequence:
		var out []string
		for _, item := range n.items {
			out = append(out, drawn(text, item))
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	return strings.ReplaceAll(text[n.start:n.end], "\n", "|")
}

func TestOutline(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "{}"},
		{"comment only", "# nothing\n\n", "{}"},
		{"entries", "a: 1\nb:\n  c: x y # said\n  d: \"q: # q\"\n", `{a: 1, b: {c: x y, d: "q: # q"}}`},
		{"list below", "a:\n  - x\n  - y: 1\n    z: 2\n  -\n    w: 3\n", "{a: [x, {y: 1, z: 2}, {w: 3}]}"},
		{"list at the column of its key", "a:\n- x: 1\n  y:\n  - z\n- w: 2\nb: 3\n", "{a: [{x: 1, y: [z]}, {w: 2}], b: 3}"},
		{"lists in lists", "a:\n  - - x\n    - y\n  - z\n", "{a: [[x, y], z]}"},
		{"literal", "a: |\n  x: 1\n\n  y\nb: 2\n", "{a: ||  x: 1||  y|, b: 2}"},
		{"literal at the end", "a: >-\n  x\n", "{a: >-|  x|}"},
		{"plain over lines", "a: x\n  y\nb: 2\n", "{a: x|  y, b: 2}"},
		{"quoted over lines", "a: 'it''s\n  so'\nb: 2\n", "{a: 'it''s|  so', b: 2}"},
		{"flow", "a: {x: 1, y: [p, 'q', {z: }], w}\n", "{a: {x: 1, y: [p, 'q', {z: ~}], w?}}"},
		{"flow over lines", "a: {x: 1,\n    y: 2 # y\n  }\nb: [p,\n]\nc: 1\n", "{a: {x: 1, y: 2}, b: [p], c: 1}"},
		{"pair in a list", "a: [b: c, d]\n", "{a: [{b: c}, d]}"},
		{"anchors and tags", "a: &x\n  b: 1\nc: !t v\nd: &y {e: 2}\nf: *x\n<<: *y\n", "{a: {b: 1}, c: v, d: {e: 2}, f: *x, <<: *y}"},
		{"quoted keys", "\"a\": 1\n'b c' : 2\n", `{"a": 1, 'b c': 2}`},
		{"carriage returns", "a: 1\r\nb:\r\n  - x\r\n  - y\r\n", "{a: 1, b: [x, y]}"},
		{"markers", "%YAML 1.2\n--- # one\na: 1\n...\n", "{a: 1}"},
		{"url", "a: http://x:80/y\n", "{a: http://x:80/y}"},

		// What an editor asks about.
		{"a word", "ver\n", "{ver?}"},
		{"a word among keys", "a: 1\nwor\nb: 2\n", "{a: 1, wor?, b: 2}"},
		{"a word above keys", "p:\n  wor\n  b: 2\n", "{p: {wor?, b: 2}}"},
		{"two words", "p:\n  a: 1\n  one\n  two\n", "{p: {a: 1, one?, two?}}"},
		{"a word for a mapping", "p:\n  wor\nq: 1\n", "{p: wor, q: 1}"},
		{"a word in an item", "p:\n  - i\n    b: 2\n  - c: 3\n", "{p: [{i?, b: 2}, {c: 3}]}"},
		{"an empty dash", "p:\n  - a: 1\n  -\nq: 2\n", "{p: [{a: 1}, ~], q: 2}"},
		{"open bracket", "p:\n  - a: [x, y\n    b: 2\n  - c: {d: 1, e\nq: 3\n", "{p: [{a: [x, y], b: 2}, {c: {d: 1, e?}}], q: 3}"},
		{"open quote", "a: \"x y\nb: 2\n", `{a: "x y, b: 2}`},
		{"open quote in brackets", "a: [\"x, y\nb: 2\n", `{a: ["x, y], b: 2}`},
		{"too deep an entry", "p:\n  a: 1\n    b: 2\n  c: 3\n", "{p: {a: 1, b: 2, c: 3}}"},
		{"an entry between levels", "p:\n    - a: 1\n   b: 2\n", "{p: [{a: 1}], b: 2}"},
		{"a stray dash", "- x\na: 1\n", "{a: 1}"},
		{"stray brackets", "]\na: 1\n}}\n", "{]?, a: 1, }}?}"},
	} {
		if got := drawn(tc.text, outline(tc.text)); got != tc.want {
			t.Errorf("%s: %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// checkOutline fails when a node is outside of its parent, or out of order.
func checkOutline(t *testing.T, text string, n *node, from, to int) {
	t.Helper()
	if n == nil {
		return
	}
	if n.start < from || n.end < n.start || n.end > to {
		t.Fatalf("a node is at %d-%d, in %d-%d of %q", n.start, n.end, from, to, text)
	}
	at := n.start
	next := func(child *node) {
		if child != nil {
			checkOutline(t, text, child, at, n.end)
			at = child.end
		}
	}
	for _, p := range n.pairs {
		next(p.key)
		next(p.value)
	}
	for _, item := range n.items {
		next(item)
	}
}

func FuzzOutline(f *testing.F) {
	for _, seed := range []string{
		"a: {x: [1, 'y', \"z\\\"\"]}\nb:\n- c: |\n    d\n  e: >\n   f\n- - g\n", "a:\n  b: [\n c: }\n", "&a !t *b\n? x\n: y\n",
		"\ufeffa: 1\r\n\tb: 2\n", "[[[[{{{{", "- - - - -", "a: 'x\n\n  y'\n z", "k: |2\n    x\n  y\n", "a: &b,]}\n", "{a: &b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkOutline(t, text, outline(text), 0, len(text))
	})
}

// TestOutlineOfDeepText: brackets and dashes without end are read, and read fast.
func TestOutlineOfDeepText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("[", 200_000), strings.Repeat("- ", 200_000), strings.Repeat("a: {", 50_000), strings.Repeat("{a: ", 50_000)} {
		outline(text)
	}
	var b strings.Builder
	for i := range 2000 {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	outline(b.String())
}
