package lsp

// Findings become diagnostics of the protocol. A finding in a text that the pipeline file names is published for
// that text's own document; one that stands in no file is put at the beginning of the document.

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"foundry/diag"
)

// check publishes the findings of a document.
func (s *server) check(d *document) {
	d.due = false
	d.open(s)
	found := map[string][]diagnostic{d.uri: {}}
	places := map[*diag.Source]*lines{}
	for _, f := range d.project.Lint() {
		uri, item := s.diagnostic(d, f, places)
		found[uri] = append(found[uri], item)
	}
	for _, uri := range d.touched {
		if _, still := found[uri]; !still {
			found[uri] = []diagnostic{}
		}
	}
	d.touched = d.touched[:0]
	for uri, list := range found {
		s.findings[key{uri, d.uri}] = list
		if uri != d.uri && len(list) > 0 {
			d.touched = append(d.touched, uri)
		}
	}
	slices.Sort(d.touched)
	for _, uri := range sortedKeys(found) {
		s.publish(uri)
	}
}

// key says for which document findings are, and from which they come.
type key struct{ uri, owner string }

func sortedKeys(m map[string][]diagnostic) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// publish sends what is known of a document, from all documents that have findings for it.
func (s *server) publish(uri string) {
	p := publishParams{URI: uri, Diagnostics: []diagnostic{}}
	if d := s.documents[uri]; d != nil {
		p.Version = d.version
	}
	var owners []string
	for k, list := range s.findings {
		switch {
		case k.uri != uri:
		case len(list) == 0:
			delete(s.findings, k)
		default:
			owners = append(owners, k.owner)
		}
	}
	slices.Sort(owners)
	for _, owner := range owners {
		for _, item := range s.findings[key{uri, owner}] {
			if !slices.ContainsFunc(p.Diagnostics, func(o diagnostic) bool {
				return o.Code == item.Code && o.Range == item.Range && o.Message == item.Message
			}) {
				p.Diagnostics = append(p.Diagnostics, item)
			}
		}
	}
	s.notify("textDocument/publishDiagnostics", p)
}

// forget takes back all that a document has published.
func (s *server) forget(d *document) {
	for _, uri := range append(slices.Clone(d.touched), d.uri) {
		delete(s.findings, key{uri, d.uri})
		s.publish(uri)
	}
}

// diagnostic turns a finding into one of the protocol, and says for which document.
func (s *server) diagnostic(d *document, f diag.Diagnostic, places map[*diag.Source]*lines) (string, diagnostic) {
	out := diagnostic{Severity: severityError, Code: string(f.Rule), Source: "foundry", Message: f.Message}
	if f.Severity == diag.Warning {
		out.Severity = severityWarning
	}
	uri, at, inFile := s.locate(d, f.Span, places)
	out.Range = at
	if !inFile && !f.Span.IsZero() {
		p := f.Span.Position()
		out.Message += fmt.Sprintf(" (%s:%d:%d)", f.Span.Source.Name, p.Line, p.Column)
	}
	if f.Hint != "" {
		out.Message += "\nhint: " + f.Hint
	}
	for _, n := range f.Notes {
		uri, at, inFile := s.locate(d, n.Span, places)
		if s.relates && inFile {
			out.Related = append(out.Related, related{location{uri, at}, n.Message})
			continue
		}
		p := n.Span.Position()
		out.Message += fmt.Sprintf("\nnote: %s (%s:%d:%d)", n.Message, n.Span.Source.Name, p.Line, p.Column)
	}
	return uri, out
}

// locate is where a place stands for the client. What is in no file that an editor can open is put at the
// beginning of the document.
func (s *server) locate(d *document, at diag.Span, places map[*diag.Source]*lines) (uri string, r textRange, inFile bool) {
	if at.IsZero() {
		return d.uri, textRange{}, false
	}
	if at.Source == d.project.Source {
		return d.uri, d.lines.span(at.Start, at.End, s.encoding), true
	}
	if d.project.Root == "" || strings.HasPrefix(at.Source.Name, "builtin/") {
		return d.uri, textRange{}, false
	}
	l := places[at.Source]
	if l == nil {
		l = newLines(at.Source.Text)
		places[at.Source] = l
	}
	return s.uriOf(filepath.Join(d.project.Root, filepath.FromSlash(at.Source.Name))), l.span(at.Start, at.End, s.encoding), true
}

// uriOf is the URI of a file: the client's own when it has the document open, since there are several spellings.
func (s *server) uriOf(path string) string {
	for uri, d := range s.documents {
		if d.path == path {
			return uri
		}
	}
	return uriOf(path)
}
