package schema

// The canonical form of a file: keys in the order in which a person reads them, two blanks a level, blank lines
// where they help. Whole lines are moved and indented anew, and nothing else: no value and no comment is ever
// written again from what was understood of it. What cannot be moved safely stays where it is, and at the end the
// result is held against the original; when the two do not say the same there is no result.

import (
	"errors"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"foundry/diag"
)

// errFormat says that formatting would have changed the file in more than its form.
var errFormat = errors.New("the formatted text would not say the same")

// Format returns a pipeline file, or a file of tests, in canonical form. A file that cannot be read, or whose
// keys are not unique, is returned as it is with the findings that are the reason; unknown keys and wrong values
// are no reason. An error means that Format itself went wrong; the text is the original one then, too.
func Format(src *diag.Source) (string, diag.List, error) {
	d, root := open(src)
	found := d.finish()
	if root == nil || found.HasErrors() {
		return src.Text, found, nil
	}
	bom := ""
	if strings.HasPrefix(src.Text, "\ufeff") {
		bom = "\ufeff"
	}
	f := &layout{d: d, table: readingOrder()}
	f.lines, f.ended = sourceLines(src.Text[len(bom):])
	whole := f.read(root)
	if whole == nil {
		return src.Text, found, nil
	}
	out := bom + f.write(whole)
	if out == src.Text {
		return out, found, nil
	}
	again, other := open(diag.NewSource(src.Name, out))
	if list := again.finish(); other == nil || list.HasErrors() || !f.same(root, other, rootPlace) || !sameLines(src.Text, out) {
		return src.Text, found, errFormat
	}
	return out, found, nil
}

// sourceLines cuts a text into lines without their line breaks, and says whether the last one has one.
func sourceLines(text string) (lines []string, ended bool) {
	lines = strings.Split(text, "\n")
	if ended = lines[len(lines)-1] == ""; ended {
		lines = lines[:len(lines)-1]
	}
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines, ended
}

// same compares two trees: each value, its style, its tag and its anchor. Keys that have an order of their own
// may stand in any.
func (f *layout) same(a, b *yaml.Node, at place) bool {
	if a.Kind != b.Kind || a.Tag != b.Tag || a.Value != b.Value || a.Style != b.Style || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	at = placeOf(a, at)
	if a.Kind != yaml.MappingNode {
		for i := range a.Content {
			if !f.same(a.Content[i], b.Content[i], f.inside(at, "")) {
				return false
			}
		}
		return true
	}
	for i := 0; i+1 < len(a.Content); i += 2 {
		k, j := a.Content[i], i
		if f.ordered(at) && k.Kind == yaml.ScalarNode {
			for j = 0; j < len(b.Content) && !sameKey(k, b.Content[j]); j += 2 {
			}
			if j == len(b.Content) {
				return false
			}
		}
		if !f.same(k, b.Content[j], place{}) || !f.same(a.Content[i+1], b.Content[j+1], f.inside(at, k.Value)) {
			return false
		}
	}
	return true
}

// sameLines says that two texts have the same lines, in any order, apart from blank ones, indentation, the dashes
// of lists and blanks at the end. Every comment is a part of a line.
func sameLines(a, b string) bool {
	return slices.Equal(bareLines(a), bareLines(b))
}

func bareLines(text string) []string {
	var out []string
	lines, _ := sourceLines(strings.TrimPrefix(text, "\ufeff"))
	for _, line := range lines {
		line = strings.Trim(line, " \t")
		for strings.HasPrefix(line, "- ") {
			line = strings.TrimLeft(line[2:], " \t")
		}
		if line != "" {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}
