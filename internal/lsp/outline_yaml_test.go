package lsp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"foundry/builtins"
)

// TestOutlineIsYAML: of a text that parses, the outline says what a YAML library says: the same mappings, lists and
// scalars, at the same places.
func TestOutlineIsYAML(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"builtins": builtins.YAML()}
	for _, pattern := range []string{"foundry.yaml.example", "builtins/demo/*.yaml.txt", "builtins/testdata/*.yaml", "schema/testdata/*/*.yaml", "graph/testdata/*/*.yaml"} {
		files, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("nothing matches %s: %v", pattern, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			texts[name] = string(text)
		}
	}
	compared := 0
	for name, text := range texts {
		var doc yaml.Node
		if !utf8.ValidString(text) || yaml.Unmarshal([]byte(text), &doc) != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
			continue
		}
		if strings.Contains(text, "\n---") {
			continue // a second document, which the outline takes for more of the first
		}
		compared++
		c := comparison{t: t, name: name, text: text, lines: newLines(text)}
		c.same(outline(text), doc.Content[0], true)
	}
	if compared < 40 {
		t.Errorf("only %d texts were compared", compared)
	}
}

type comparison struct {
	t     *testing.T
	name  string
	text  string
	lines *lines
}

func (c *comparison) errorf(n *yaml.Node, format string, args ...any) {
	c.t.Helper()
	c.t.Errorf("%s:%d:%d: %s", c.name, n.Line, n.Column, fmt.Sprintf(format, args...))
}

func (c *comparison) same(n *node, y *yaml.Node, root bool) {
	if n == nil {
		if y.Kind != yaml.ScalarNode || y.Value != "" {
			c.errorf(y, "the outline has nothing for %q", y.Value)
		}
		return
	}
	if p := c.lines.position(n.start, utf32); !root && y.Anchor == "" && y.Style&yaml.TaggedStyle == 0 && (p.Line+1 != y.Line || p.Character+1 != y.Column) {
		c.errorf(y, "the outline has it at %d:%d", p.Line+1, p.Character+1)
	}
	switch y.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(y.Content); i += 2 {
			if k := y.Content[i].Kind; k != yaml.ScalarNode && k != yaml.AliasNode {
				return // a key that is no text, which the language has none of
			}
		}
		if n.shape != mapping || len(n.pairs) != len(y.Content)/2 {
			c.errorf(y, "a mapping of %d entries is %s", len(y.Content)/2, drawn(c.text, n))
			return
		}
		for i, p := range n.pairs {
			c.same(p.key, y.Content[2*i], false)
			c.same(p.value, y.Content[2*i+1], false)
		}
	case yaml.SequenceNode:
		if n.shape != sequence || len(n.items) != len(y.Content) {
			c.errorf(y, "a list of %d items is %s", len(y.Content), drawn(c.text, n))
			return
		}
		for i, item := range n.items {
			c.same(item, y.Content[i], false)
		}
	case yaml.AliasNode:
		if n.shape != alias {
			c.errorf(y, "an alias is %s", drawn(c.text, n))
		}
	case yaml.ScalarNode:
		if n.shape != scalar {
			c.errorf(y, "%q is %s", y.Value, drawn(c.text, n))
			return
		}
		if n.style <= double && !strings.Contains(c.text[n.start:n.end], "\n") && valueOf(c.text, n) != y.Value && !strings.Contains(c.text[n.start:n.end], `\`) {
			c.errorf(y, "%q is %q", y.Value, valueOf(c.text, n))
		}
	}
}
