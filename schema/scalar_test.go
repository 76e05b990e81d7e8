package schema

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"foundry/diag"
)

// A scalar is drawn as source text in one of the five styles, made of words that occur once. Whatever the
// library makes of it, each word of the value must map to the one place where the word stands in the file.
func TestScalarMapsEachWord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := &scalarDraw{t: t}
		text := g.file()
		d, n := scalarNode(t, text)
		f, w := d.scalar(n)
		if f.Text != n.Value {
			t.Fatalf("text %q, value %q", f.Text, n.Value)
		}
		if at := f.Span(0, 0); n.Value != "" && at.Start != at.End {
			t.Fatalf("no map for %q", text)
		}
		last := -1
		for _, word := range g.words {
			i := strings.Index(f.Text, word)
			if i < 0 {
				t.Fatalf("the drawing is wrong: %q is not in %q\n%s", word, f.Text, text)
			}
			span := f.Span(i, i+len(word))
			if got := span.Text(); got != word && unescaped(got) != word {
				t.Fatalf("word %q maps to %q\nvalue %q\n%s", word, got, f.Text, text)
			}
			if strings.Count(text, word) == 1 && span.Start != strings.Index(text, word) {
				t.Fatalf("word %q maps to %d", word, span.Start)
			}
			if span.Start <= last {
				t.Fatalf("word %q maps backwards", word)
			}
			last = span.Start
		}
		at := -1
		for i := range f.Text {
			s := f.Span(i, i+1)
			if s.Start < at || s.Start < w.start || s.End > len(text) {
				t.Fatalf("byte %d maps to %d after %d", i, s.Start, at)
			}
			at = s.Start
			r, _ := utf8.DecodeRuneInString(f.Text[i:])
			c, _ := utf8.DecodeRuneInString(text[s.Start:])
			if r != c && c != '\\' && !(r == ' ' || r == '\n') {
				t.Fatalf("%q maps to %q in %q", r, c, text)
			}
		}
		if end := strings.TrimRight(text[:w.end], " \t"); n.Value != "" && w.end != len(end) && n.Style == 0 {
			t.Fatalf("the scalar ends with blanks at %d", w.end)
		}
	})
}

func unescaped(s string) string {
	return strings.NewReplacer(`\x41`, "A", `\u00e9`, "é", `\U0001F600`, "😀", `\t`, "\t", `''`, "'", `\"`, `"`, `\\`, `\`).Replace(s)
}

type fataler interface{ Fatalf(string, ...any) }

// scalarNode finds the value of the key k.
func scalarNode(t fataler, text string) (*decoder, *yaml.Node) {
	d := &decoder{src: diag.NewSource("t.yaml", text), index: newLineIndex(text), count: map[diag.Rule]int{}}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	root := doc.Content[0]
	for i := 0; i < len(root.Content); i += 2 {
		if root.Content[i].Value == "k" {
			n := root.Content[i+1]
			if n.Kind == yaml.SequenceNode {
				n = n.Content[1]
			}
			return d, n
		}
	}
	t.Fatalf("no k in %q", text)
	return nil, nil
}

type scalarDraw struct {
	t     *rapid.T
	words []string
}

func (g *scalarDraw) pick(label string, options ...string) string {
	return rapid.SampledFrom(options).Draw(g.t, label)
}

func (g *scalarDraw) word(decorations ...string) string {
	w := fmt.Sprintf("w%dx%s", len(g.words), g.pick("decoration", append(decorations, "", "é", "日本", "😀", "#", "a-b")...))
	g.words = append(g.words, unescaped(w))
	return w
}

func (g *scalarDraw) file() string {
	style := g.pick("style", "plain", "single", "double", "literal", "folded")
	flow := (style == "plain" || style == "single" || style == "double") && rapid.Bool().Draw(g.t, "flow")
	properties := g.pick("properties", "", "", "&a ", "!!str ", "&a !!str ", "&a # why\n  ")
	if flow && strings.Contains(properties, "#") {
		properties = ""
	}
	if style == "literal" || style == "folded" {
		properties = strings.Replace(properties, "# why\n  ", "", 1)
	}
	var body string
	switch style {
	case "plain":
		body = g.flowText("", "")
	case "single":
		body = "'" + g.flowText("''", "") + "'"
	case "double":
		body = `"` + g.flowText(`\"`, `\`) + `"`
	default:
		body = g.block(style == "folded")
	}
	value := properties + body
	if flow {
		value = "[z, " + value + g.pick("after", "", " ", ", q", " , q") + "]"
	}
	text := g.pick("head", "", "# höhe\n", "x-p: é日\n") + g.pick("before", "k: ", "k:   ", "k:\n  ") + value + g.pick("comment", "", " # end") + "\nz: 1\n"
	if style == "literal" || style == "folded" {
		text = g.pick("head", "", "# höhe\n", "x-p: é日\n") + "k: " + value + "z: 1\n"
	}
	if rapid.Bool().Draw(g.t, "crlf") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return g.pick("mark", "", "\ufeff") + text
}

// flowText is words with blanks and folds between them.
func (g *scalarDraw) flowText(quote, backslash string) string {
	var b strings.Builder
	for i := range rapid.IntRange(1, 8).Draw(g.t, "words") {
		if i > 0 {
			separators := []string{" ", " ", "  ", "\n  ", "  \n    ", "\n\n  ", " \n \t\n\n   "}
			if backslash != "" {
				separators = append(separators, "\\\n  ", " \\\n  ", `\n`, `\t`, "\\\n\n  ")
			}
			b.WriteString(g.pick("separator", separators...))
		}
		more := []string{}
		if quote != "" {
			more = append(more, quote)
		}
		if backslash != "" {
			more = append(more, `\x41`, `\u00e9`, `\U0001F600`, `\\`)
		}
		b.WriteString(g.word(more...))
	}
	return b.String()
}

// block is lines of words behind | or >.
func (g *scalarDraw) block(folded bool) string {
	var b strings.Builder
	b.WriteString(map[bool]string{false: "|", true: ">"}[folded])
	indent := g.pick("indent", "  ", "    ", " ")
	explicit := rapid.Bool().Draw(g.t, "explicit")
	if explicit {
		fmt.Fprintf(&b, "%d", len(indent))
	}
	b.WriteString(g.pick("chomp", "", "-", "+") + g.pick("comment", "", " ", " # why") + "\n")
	for range rapid.IntRange(0, 2).Draw(g.t, "leading") {
		b.WriteString("\n")
	}
	lines := rapid.IntRange(1, 6).Draw(g.t, "lines")
	for i := range lines {
		if i > 0 {
			b.WriteString(g.pick("between", "", "", "\n", indent+"\n", "\n\n"))
		}
		extra := ""
		if i > 0 || explicit {
			extra = g.pick("extra", "", "", "  ", "\t")
		}
		b.WriteString(indent + extra + g.word(`"`, "'", `\`, ": ", "  ") + g.pick("more", "", " // c", " -> x") + "\n")
	}
	b.WriteString(g.pick("trailing", "", "\n", "\n\n"))
	return b.String()
}

func TestScalarMapByHand(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, find, want string }{
		{"plain", "k: on fail -> build\n", "build", "build"},
		{"after wide runes", "k: 'Größe 日本 build'\n", "build", "build"},
		{"doubled quote", "k: 'it''s so'\n", "'", "''"},
		{"escape", `k: "a\u00e9b"`, "é", `\u00e9`},
		{"escaped newline", `k: "a\nb"`, "\n", `\n`},
		{"folded break", "k: a\n  b\n", "b", "b"},
		{"literal", "k: |\n  one\n    two\n  three\n", "  two", "  two"},
		{"literal with CRLF", "k: |\r\n  one\r\n  two\r\n", "two", "two"},
		{"literal break", "k: |\r\n  one\r\n  two\r\n", "e\nt", "e\r\n  t"},
		{"no last line break", "k: |\n  one\n  two", "two", "two"},
		{"behind a tag", "k: !!str one two\n", "two", "two"},
		{"behind an anchor on its own line", "k: &a\n  # c\n  one two\n", "two", "two"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, n := scalarNode(t, tt.text)
			f, _ := d.scalar(n)
			i := strings.Index(f.Text, tt.find)
			if i < 0 {
				t.Fatalf("%q is not in %q", tt.find, f.Text)
			}
			if got := f.Span(i, i+len(tt.find)).Text(); got != tt.want {
				t.Errorf("%q in %q maps to %q, want %q", tt.find, f.Text, got, tt.want)
			}
		})
	}
}

func TestWholeCoversTheScalar(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"k: plain text # c\n", "plain text"},
		{"k: 'it''s' # c\n", "'it''s'"},
		{"k: \"a\\\"b\" # c\n", `"a\"b"`},
		{"k: |\n  one\n  two\n\nz: 1\n", "|\n  one\n  two"},
		{"k: >-\n  one\n  two\nz: 1\n", ">-\n  one\n  two"},
		{"k: [a, 'b c' , d]\n", "'b c'"},
		{"k: a\n  b\nz: 1\n", "a\n  b"},
	}
	for _, tt := range tests {
		d, n := scalarNode(t, tt.text)
		f, _ := d.scalar(n)
		if got := f.Whole().Text(); got != tt.want {
			t.Errorf("%q: whole is %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestOffsetsOfLongLines(t *testing.T) {
	t.Parallel()
	text := "a: 1\n# " + strings.Repeat("é日x", 500) + "\nb: é2\n"
	x := newLineIndex(text)
	line := strings.Split(text, "\n")[1]
	runes := []rune(line)
	for c := range runes {
		if got, want := x.offset(2, c+1), 5+len(string(runes[:c])); got != want {
			t.Fatalf("column %d is at %d, want %d", c+1, got, want)
		}
	}
	if got := x.offset(3, 5); text[got] != '2' {
		t.Errorf("column 5 of line 3 is %q", text[got:])
	}
	if got := x.offset(99, 1); got != len(text) {
		t.Errorf("a line past the end is at %d", got)
	}
}
