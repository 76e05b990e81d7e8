package schema

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"foundry/diag"
	"foundry/internal/seed"
)

var _ = seed.FromEnvironment()

// Formatting must not lose a comment, change a value, or find something to do a second time. The files here are
// made of everything that YAML allows in one, with comments in every place where one can stand.

// scribe writes a random file.
type scribe struct {
	t       *rapid.T
	b       strings.Builder
	notes   int
	anchors []string // of scalars, complete and usable
	merges  []string // of mappings
	fence   int      // comments must be indented less than this, so that they do not become text; 0: no limit
}

func (w *scribe) one(of ...string) string { return rapid.SampledFrom(of).Draw(w.t, "one") }
func (w *scribe) chance(percent int) bool {
	return rapid.IntRange(1, 100).Draw(w.t, "chance") <= percent
}
func (w *scribe) upTo(n int) int                 { return rapid.IntRange(0, n).Draw(w.t, "n") }
func (w *scribe) put(format string, args ...any) { fmt.Fprintf(&w.b, format, args...) }

func (w *scribe) note() string {
	w.notes++
	return fmt.Sprintf("#c%d%s", w.notes, w.one("", " why: [it, 'is'", "  ", " - a"))
}

// end ends a line, perhaps with a comment.
func (w *scribe) end() {
	if w.chance(15) {
		w.put("%s%s", w.one(" ", "   "), w.note())
	} else if w.chance(5) {
		w.put("  ")
	}
	w.put("\n")
}

// between writes blank lines and comments above a key or a dash in the column col.
func (w *scribe) between(col int) {
	for w.chance(20) {
		switch at := w.upTo(2); {
		case w.chance(30):
			w.put("%s\n", w.one("", "", "  "))
		case at == 0 || w.fence > 0:
			w.put("%s%s\n", strings.Repeat(" ", col), w.note())
		default:
			w.put("%s%s\n", strings.Repeat(" ", w.upTo(col+4)), w.note())
		}
	}
	w.fence = 0
}

func (w *scribe) word() string {
	return w.one("a", "build", "it's", "größe", "x:y", "true", "12", "1.10", "on fail -> a retry 1", "a, b", "-x", "~/x", "é#1", "null")
}

// scalar writes a scalar behind a key or a dash that stands in the column col.
func (w *scribe) scalar(col int) {
	pad := func(n int) string { return strings.Repeat(" ", col+1+w.upTo(n)) }
	if w.chance(4) {
		name := fmt.Sprintf("s%d", len(w.anchors))
		w.anchors = append(w.anchors, name)
		w.put(" &%s", name)
	} else if len(w.anchors) > 0 && w.chance(6) {
		w.put(" *%s", rapid.SampledFrom(w.anchors).Draw(w.t, "alias"))
		w.end()
		return
	}
	switch w.upTo(9) {
	case 0:
		w.put(" \"%s\"", w.one("", "a # b", `a\"b`, `\u00e9 {`, "{{request}}", `tail \`+"\n"+pad(2)+"of it", "two\n\n"+pad(2)+"- three"))
	case 1:
		w.put(" '%s'", w.one("", "# no comment", "it''s", "one\n"+pad(2)+"# two", "[a"))
	case 2:
		w.put(" %s\n%s%s", w.one("one", "two:three"), pad(3), w.one("more", "- item", "it's"))
	case 3, 4:
		w.blockScalar(col)
		return
	case 5:
		w.flow(col)
	default:
		w.put(" %s", w.word())
	}
	w.end()
}

func (w *scribe) blockScalar(col int) {
	depth := col + 1 + w.upTo(3)
	header := w.one("|", ">") + w.one("", "", "-", "+")
	if step := depth - col; w.chance(25) && step > 0 && step < 10 {
		header += fmt.Sprint(step)
	}
	w.put(" %s%s\n", header, w.one("", "", " "))
	for i := w.upTo(4); i > 0; i-- {
		if text := w.one("text", "key: value", "# no comment", "- item", "", "  deeper", "on fail -> a // b", "tail  "); text == "" {
			w.put("%s\n", strings.Repeat(" ", w.upTo(depth)))
		} else {
			w.put("%s%s\n", strings.Repeat(" ", depth), text)
		}
	}
	w.fence = depth
}

func (w *scribe) flow(col int) {
	brk := func() string {
		if w.chance(80) {
			return w.one("", " ")
		}
		note := ""
		if w.chance(50) {
			note = " " + w.note()
		}
		return note + "\n" + strings.Repeat(" ", w.upTo(col+4))
	}
	item := func() string { return w.one("a", "'b c'", `"d # e"`, "it's", "[x, y]", "{k: v}", "1", "[p: q]") }
	if w.chance(50) {
		w.put(" [%s%s%s,%s %s%s]", brk(), item(), brk(), brk(), item(), brk())
	} else {
		w.put(" {%sk: %s%s,%s 'l': %s%s}", brk(), item(), brk(), brk(), item(), brk())
	}
}

// mapping writes a block mapping; its first key goes on a line that is begun when inline.
func (w *scribe) mapping(at place, col int, inline bool, levels int) {
	var names []string
	shapes := map[string]place{}
	if at.shape == ShapeSection {
		l := &layout{table: readingOrder()}
		for _, k := range l.table[at.of] {
			names = append(names, k.Name)
			shapes[k.Name] = l.inside(at, k.Name)
		}
	} else {
		names = []string{"alpha", "beta", "gamma"}
		for _, n := range names {
			shapes[n] = (&layout{}).inside(at, n)
		}
	}
	names = append(names, "x-odd", "'quoted'", "other")
	list := rapid.Permutation(names).Draw(w.t, "keys")
	for i, name := range list[:1+w.upTo(min(5, len(list)-1))] {
		if i > 0 || !inline {
			w.between(col)
			w.put("%s", strings.Repeat(" ", col))
		}
		if len(w.merges) > 0 && i == 1 && w.chance(10) {
			w.put("<<: *%s", rapid.SampledFrom(w.merges).Draw(w.t, "merge"))
			w.end()
			continue
		}
		w.put("%s%s:", name, w.one("", "", "", " "))
		w.value(shapes[name], col, false, levels)
	}
}

// value writes what stands behind a key, or behind the dash of a list, in the column col.
func (w *scribe) value(at place, col int, dash bool, levels int) {
	if w.chance(15) {
		at = place{rapid.SampledFrom([]Shape{ShapeSection, ShapeList, ShapeData}).Draw(w.t, "shape"), ""}
	}
	if levels == 0 || w.chance(5) {
		at.shape = ShapeText
	}
	switch at.shape {
	case ShapeSection, ShapeMap, ShapeEntries:
		inner := col + 1 + w.upTo(3)
		if dash && w.chance(75) {
			space := 1 + w.upTo(2)
			w.put("%s", strings.Repeat(" ", space))
			w.mapping(at, col+1+space, true, levels-1)
			return
		}
		if w.chance(8) {
			name := fmt.Sprintf("m%d", w.upTo(3))
			w.put(" &%s", name)
			defer func() { w.merges = append(w.merges, name) }()
		}
		w.end()
		w.mapping(at, inner, false, levels-1)
	case ShapeList, ShapeGates, ShapeScripts, ShapeTexts, ShapeData:
		inner := col + w.upTo(3)
		if dash {
			inner++
		}
		if dash && w.chance(60) {
			space := 1 + w.upTo(1)
			w.put("%s", strings.Repeat(" ", space))
			w.list(at, col+1+space, true, levels-1)
			return
		}
		w.end()
		w.list(at, inner, false, levels-1)
	default:
		if w.chance(8) {
			w.end()
			return
		}
		w.scalar(col)
	}
}

func (w *scribe) list(at place, col int, inline bool, levels int) {
	for i := 0; i <= w.upTo(2); i++ {
		if i > 0 || !inline {
			w.between(col)
			w.put("%s", strings.Repeat(" ", col))
		}
		w.put("-")
		w.value((&layout{}).inside(at, ""), col, true, levels)
	}
}

func (w *scribe) file() string {
	if w.chance(10) {
		w.put("%s\n---%s\n", w.note(), w.one("", " "+w.note()))
	}
	w.mapping(rootPlace, 0, false, 6)
	w.between(0)
	if w.chance(10) {
		w.put("...\n%s\n", w.note())
	}
	text := w.b.String()
	if w.chance(15) {
		text = strings.TrimSuffix(text, "\n")
	}
	if w.chance(15) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if w.chance(5) {
		text = "\ufeff" + text
	}
	return text
}

func TestFormatKeepsEverything(t *testing.T) {
	t.Parallel()
	files, changed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := &scribe{t: t}
		text := w.file()
		src := diag.NewSource("foundry.yaml", text)
		out, found, err := Format(src)
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if found.HasErrors() {
			if out != text {
				t.Fatalf("a file that cannot be read was changed:\n%s", text)
			}
			return
		}
		files++
		if out == text {
			return
		}
		changed++
		checkFormatted(t, text, out)
		if a, b := notesOf(text), notesOf(out); !slices.Equal(a, b) {
			t.Fatalf("the comments are %v, were %v:\n%s\n=>\n%s", b, a, text, out)
		}
	})
	if !testing.Short() && (files < 50 || changed < 40) { // which draws few
		t.Errorf("only %d files could be read and %d had to be formatted: the generator is broken", files, changed)
	}
}

// notesOf are the comments that a scribe wrote, to their ends.
func notesOf(text string) []string {
	notes := regexp.MustCompile(`#c\d+[^\r\n]*`).FindAllString(text, -1)
	sort.Strings(notes)
	return notes
}

// checkFormatted holds a formatted text against the original, without the code that formats: the trees, what
// they decode to, and whether formatting it again changes something.
func checkFormatted(t interface{ Fatalf(string, ...any) }, text, out string) {
	if a, b := treeOf(text), treeOf(out); a != b {
		t.Fatalf("the tree changed:\n%s\n=>\n%s\n%s\n=>\n%s", text, out, a, b)
	}
	before, foundBefore := Decode(diag.NewSource("foundry.yaml", text))
	after, foundAfter := Decode(diag.NewSource("foundry.yaml", out))
	if at := difference(reflect.ValueOf(*before), reflect.ValueOf(*after), ""); at != "" {
		t.Fatalf("the document changed at %s:\n%s\n=>\n%s", at, text, out)
	}
	if a, b := rulesOf(foundBefore), rulesOf(foundAfter); a != b {
		t.Fatalf("the findings were %s and are %s:\n%s\n=>\n%s", a, b, text, out)
	}
	again, _, err := Format(diag.NewSource("foundry.yaml", out))
	if err != nil || again != out {
		t.Fatalf("formatting again changes it (%v):\n%s\n=>\n%s\n=>\n%s", err, text, out, again)
	}
}

func rulesOf(list diag.List) string {
	var rules []string
	for _, d := range list.Sorted() {
		rules = append(rules, string(d.Rule))
	}
	sort.Strings(rules)
	return strings.Join(rules, " ")
}

// treeOf writes down the tree of a text, the keys of each mapping sorted, aliases with what they stand for.
func treeOf(text string) string {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return err.Error()
	}
	var show func(n *yaml.Node) string
	show = func(n *yaml.Node) string {
		if n.Kind == yaml.AliasNode {
			return "*" + n.Value + show(n.Alias)
		}
		s := fmt.Sprintf("%d %s %q %d &%s", n.Kind, n.Tag, n.Value, n.Style, n.Anchor)
		var parts []string
		for i := 0; i < len(n.Content); i++ {
			part := show(n.Content[i])
			if n.Kind == yaml.MappingNode {
				i++
				part += ": " + show(n.Content[i])
			}
			parts = append(parts, part)
		}
		if n.Kind == yaml.MappingNode {
			sort.Strings(parts)
		}
		return s + "(" + strings.Join(parts, ", ") + ")"
	}
	return show(&doc)
}

// difference is where two documents differ, "" when they do not. Where things stand is left aside.
func difference(a, b reflect.Value, at string) string {
	if a.IsValid() != b.IsValid() || a.IsValid() && a.Type() != b.Type() {
		return at + ": other types"
	}
	if !a.IsValid() || a.Type() == reflect.TypeFor[diag.Span]() || a.Type() == reflect.TypeFor[*diag.Source]() {
		return ""
	}
	if a.Type() == reflect.TypeFor[diag.Fragment]() {
		return difference(a.FieldByName("Text"), b.FieldByName("Text"), at+".Text")
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type() == reflect.TypeFor[Entry]() && a.Type().Field(i).Name == "Keys" {
				continue // the keys as they were written, in their order
			}
			if d := difference(a.Field(i), b.Field(i), at+"."+a.Type().Field(i).Name); d != "" {
				return d
			}
		}
		return ""
	case reflect.Slice:
		if a.Len() != b.Len() {
			return at + ": other lengths"
		}
		for i := range a.Len() {
			if d := difference(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", at, i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Interface:
		return difference(a.Elem(), b.Elem(), at)
	}
	if !a.Equal(b) {
		return at
	}
	return ""
}

// FuzzFormat formats whatever can be read.
func FuzzFormat(f *testing.F) {
	f.Add(tour)
	f.Add("default: a # c\nversion: 1\n# end")
	f.Add("pipelines:\n  p:\n    phases:\n    - run: |+\n        x\n\n    # c\n      id: a\n      \n    -\n      id: b\n")
	f.Add("agents: {a: [b, # c\n d]}\nx-a: &a\n  - - 1\n    -  2\nversion: 1\r\n")
	f.Add("---\n? a\n: b\nversion: !!int 1\n...\n# end\n")
	f.Fuzz(func(t *testing.T, text string) {
		out, found, err := Format(diag.NewSource("foundry.yaml", text))
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if out == text {
			return
		}
		if found.HasErrors() {
			t.Fatal("a file that cannot be read was changed")
		}
		if !sameLines(text, out) {
			t.Fatalf("lines were lost:\n%s\n=>\n%s", text, out)
		}
		checkFormatted(t, text, out)
	})
}
