package schema

// From bytes to a document. The order is fixed: is it text that YAML may hold; is it YAML, and one document of
// it; is its structure sound; and only then what each key says. A later step never repeats what an earlier one
// reported. The decoder never stops at a finding: what is wrong is left out of the document and the rest is read.

import (
	"errors"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"foundry/diag"
)

// Decode reads a pipeline file. The document is never nil; what could not be read is absent from it. When
// Broken is set not even the YAML could be read, and the document is empty.
func Decode(src *diag.Source) (*Document, diag.List) {
	d, root := open(src)
	doc := &Document{Source: src}
	if root == nil {
		doc.Broken = true
		return doc, d.finish()
	}
	d.lang = theLanguage()
	d.document(root, doc)
	doc.Unread, doc.Unlisted = d.lost > d.local, d.holes > 0
	return doc, d.finish()
}

// DecodeTests reads a file of pipeline tests, which has the one key `tests`. What could not be read is left out.
func DecodeTests(src *diag.Source) ([]Test, diag.List) {
	d, root := open(src)
	if root == nil {
		return nil, d.finish()
	}
	d.lang = theLanguage()
	var doc Document
	v := d.value(root, "the file", diag.Span{Source: src}, nil)
	if v.node.Kind != yaml.MappingNode {
		d.wrongType(v, "a mapping with the key tests")
	} else {
		decodeSection(d, d.lang.testFile, v, &doc)
	}
	return doc.Tests, d.finish()
}

// decoder holds what one decoding needs. It is used by one goroutine.
type decoder struct {
	src   *diag.Source
	index *lineIndex
	lang  *language
	list  diag.List
	count map[diag.Rule]int
	lost  int // keys and values that could not be made out
	local int // those of them that are in a pipeline or a test
	holes int // lists and mappings that are none
	spare []entry
	last  struct { // what reread keeps
		node    *yaml.Node
		written written
	}
}

const maxFindings = 100 // of one rule; more are counted and not shown

// open takes a source as far as a sound tree; the root is nil when there is none.
func open(src *diag.Source) (*decoder, *yaml.Node) {
	d := &decoder{src: src, count: map[diag.Rule]int{}}
	if !d.checkText() {
		return d, nil
	}
	d.index = newLineIndex(src.Text)
	text := withoutDirective(src.Text)
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		d.syntaxError(text, err)
		return d, nil
	}
	if len(doc.Content) == 0 || isNull(doc.Content[0]) && doc.Content[0].Value == "" {
		d.list.Report(diag.MissingKey, d.place(0), "the file is empty: there is no pipeline in it").Hintf("begin with `version: 1`, or run foundry init")
		return d, nil
	}
	d.furtherDocuments(dec, text)
	d.checkStructure(doc.Content[0])
	return d, doc.Content[0]
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// place is the byte at an offset.
func (d *decoder) place(at int) diag.Span {
	return diag.Span{Source: d.src, Start: at, End: min(at+1, len(d.src.Text))}
}

// furtherDocuments reports a second document that says something.
func (d *decoder) furtherDocuments(dec *yaml.Decoder, text string) {
	for {
		var next yaml.Node
		err := dec.Decode(&next)
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil && (len(next.Content) == 0 || isNull(next.Content[0]) && next.Content[0].Value == "") {
			continue // only comments
		}
		at := d.place(len(text))
		if err == nil {
			at = d.marker(d.index.offset(next.Content[0].Line, next.Content[0].Column))
		} else if mark, ok := secondMarker(text); ok {
			at = d.marker(mark)
		}
		d.list.Report(diag.SeveralDocuments, at, "a second document begins here; a pipeline file holds one").
			Hintf("--- at the beginning of a line ends the file; indent it if it is text, or move what follows to a file of its own")
		return
	}
}

// marker is the --- at or above an offset, or the place itself.
func (d *decoder) marker(at int) diag.Span {
	for from := at; ; {
		from = strings.LastIndexByte(d.src.Text[:from], '\n') + 1
		if isMarker(d.src.Text[from:]) {
			return diag.Span{Source: d.src, Start: from, End: from + 3}
		}
		if from == 0 {
			return d.place(at)
		}
		from--
	}
}

func isMarker(s string) bool {
	return strings.HasPrefix(s, "---") && (len(s) == 3 || strings.ContainsRune(" \t\r\n", rune(s[3])))
}

// secondMarker finds the --- that ends the first document.
func secondMarker(text string) (int, bool) {
	content := false
	for at := 0; at < len(text); {
		end := at + strings.IndexByte(text[at:], '\n')
		if end < at {
			end = len(text)
		}
		line := strings.TrimSpace(text[at:end])
		if isMarker(text[at:]) {
			if content {
				return at, true
			}
			content = true
		} else if line != "" && line[0] != '#' && line[0] != '%' {
			content = true
		}
		at = end + 1
	}
	return 0, false
}

// report adds a finding about a place that was reached through aliases; each of them is named in a note. Of a
// rule that fires very often only the first findings are kept.
func (d *decoder) report(through *via, rule diag.Rule, at diag.Span, format string, args ...any) *diag.Diagnostic {
	d.count[rule]++
	if rule.Severity() == diag.Error && rule != diag.UnknownKey {
		d.lost++
	}
	if d.count[rule] > maxFindings {
		return &diag.Diagnostic{}
	}
	found := d.list.Report(rule, at, format, args...)
	for ; through != nil; through = through.up {
		found.Notef(d.spanOfAlias(through.alias), "used here through the alias %q", "*"+through.alias.Value)
	}
	return found
}

// loses says whether something of a pipeline or a test could not be read.
func (d *decoder) loses(read func()) bool {
	before := d.lost
	read()
	d.local += d.lost - before
	return d.lost > before
}

// finish returns the findings, with a count of those that were left out.
func (d *decoder) finish() diag.List {
	for _, r := range diag.Rules() {
		if n := d.count[r.Name]; n > maxFindings {
			d.list.Report(r.Name, d.place(len(d.src.Text)), "%d more findings of this kind are not shown", n-maxFindings).As(r.Severity)
		}
	}
	return d.list
}
