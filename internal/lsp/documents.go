package lsp

import (
	"path"
	"strings"

	"foundry/graph"
)

// This file keeps the open documents: their text, and what was last made of it.

// document is an open text.
type document struct {
	uri      string
	path     string // "" when it is no file
	language string
	version  *int
	text     string
	lines    *lines

	project *Project // of this text; nil until it is needed
	good    *Project // the newest one that could be read, for names
	outline *node    // of this text; nil until it is needed
	due     bool     // the findings of this text have not been published
	touched []string // the documents that its findings were published for
}

// setText replaces the text. What was made of the old one is kept only as far as its names are concerned.
func (d *document) setText(text string, version *int) {
	d.text, d.version, d.lines = text, version, newLines(text)
	d.project, d.outline, d.due = nil, nil, true
}

// name is the name of the document's source.
func (d *document) name() string {
	if d.project != nil && d.project.Source != nil {
		return d.project.Source.Name
	}
	return ""
}

// open makes the project of the text, if that has not been done.
func (d *document) open(s *server) {
	if d.project != nil {
		return
	}
	p := s.config.Open(d.path, d.text, s.unsaved)
	d.project = &p
	if !p.Broken || d.good == nil {
		d.good = &p
	}
}

// unsaved is the text of a file that the client has open.
func (s *server) unsaved(path string) (string, bool) {
	for _, d := range s.documents {
		if d.path == path && path != "" {
			return d.text, true
		}
	}
	return "", false
}

// changed looks again at the documents that have read a file whose text has changed.
func (s *server) changed(path string) {
	for _, d := range s.documents {
		if d.project != nil && d.path != path && path != "" && d.project.Uses(path) {
			d.project, d.due = nil, true
		}
	}
}

// view is the document as a request sees it. With mark set it is seen with a letter at that offset that no text
// has, so that an empty place is something, too; the offset is negative when there is no mark.
func (s *server) view(d *document, mark int) *view {
	d.open(s)
	text, root := d.text, d.outline
	switch {
	case mark >= 0:
		text = d.text[:mark] + cursor + d.text[mark:]
		root = outline(text)
	case root == nil:
		root = outline(text)
		d.outline = root
	}
	v := &view{text: text, root: root, names: namesOf(text, root), cat: d.good.Names, table: s.table, words: &s.config.Words,
		top: "file", file: d.name(), stale: d.good != d.project}
	if d.project.Tests {
		v.top = testFileSection
	}
	return v
}

// cursor marks where the cursor is while completions are looked for.
const cursor = "\ue000"

// isOurs says whether a document is looked at. An editor may show every YAML file to the server.
func (d *document) isOurs() bool {
	name := path.Base(strings.ReplaceAll(d.uri, `\`, "/"))
	switch {
	case d.language != "" && strings.Contains(d.language, "foundry"):
		return true
	case name == "foundry.yaml", name == "foundry.yml", strings.HasPrefix(name, "foundry.yaml."), strings.HasSuffix(name, ".foundry-test.yaml"):
		return true
	}
	root := outline(d.text)
	if valueOf(d.text, root.get(d.text, "version")) != "1" {
		return false
	}
	n := namesOf(d.text, root)
	return len(n.byKind[graph.PipelineName])+len(n.byKind[graph.AgentName])+len(n.byKind[graph.EnvelopeName])+len(n.byKind[graph.GateName]) > 0
}
