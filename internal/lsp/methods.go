package lsp

import (
	"encoding/json"
	"slices"
	"strings"
)

// This file is the list of what the server understands.

// request carries out a request.
func (s *server) request(m message) (any, *rpcError) {
	switch {
	case m.Method == "initialize":
		return s.initialize(m.Params)
	case s.stage == starting:
		return nil, failed(codeNotInitialized, "%s before initialize", m.Method)
	case s.stage == closing:
		return nil, failed(codeInvalidRequest, "%s after shutdown", m.Method)
	}
	switch m.Method {
	case "shutdown":
		s.stage = closing
		return nil, nil
	case "textDocument/hover":
		return s.hover(m.Params)
	case "textDocument/definition":
		return s.definition(m.Params)
	case "textDocument/completion":
		return s.completion(m.Params)
	}
	return nil, failed(codeNoMethod, "there is no method %q", m.Method)
}

// notified carries out a notification. One that is not known is none of the server's business.
func (s *server) notified(m message) {
	if s.stage != running {
		return
	}
	switch m.Method {
	case "textDocument/didOpen":
		s.didOpen(m.Params)
	case "textDocument/didChange":
		s.didChange(m.Params)
	case "textDocument/didSave", "workspace/didChangeWatchedFiles":
		s.filesChanged()
	case "textDocument/didClose":
		s.didClose(m.Params)
	}
}

// params reads the parameters of a message.
func params[P any](raw json.RawMessage) (P, *rpcError) {
	var p P
	if len(raw) == 0 {
		return p, failed(codeInvalidParams, "there are no parameters")
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, failed(codeInvalidParams, "the parameters are not what the method takes: %v", err)
	}
	return p, nil
}

func (s *server) initialize(raw json.RawMessage) (any, *rpcError) {
	if s.stage != starting {
		return nil, failed(codeInvalidRequest, "initialize for a second time")
	}
	p, bad := params[initializeParams](raw)
	if bad != nil {
		return nil, bad
	}
	s.stage = running
	s.encoding = agree(p.Capabilities.General.PositionEncodings)
	text := p.Capabilities.TextDocument
	s.relates = text.PublishDiagnostics.RelatedInformation
	s.markdownHover = prefersMarkdown(text.Hover.ContentFormat)
	s.markdownItems = prefersMarkdown(text.Completion.CompletionItem.DocumentationFormat)
	return initializeResult{
		Capabilities: capabilities{
			PositionEncoding: s.encoding.String(),
			TextDocumentSync: syncOptions{OpenClose: true, Change: fullSync},
			HoverProvider:    true, DefinitionProvider: true,
			CompletionProvider: completionOptions{TriggerCharacters: []string{" ", ".", ":", "\"", "'", "{"}},
		},
		ServerInfo: serverInfo{Name: "foundry", Version: s.config.Version},
	}, nil
}

// prefersMarkdown says that a client lists Markdown before plain text. One that lists nothing takes plain text.
func prefersMarkdown(formats []string) bool {
	return len(formats) > 0 && formats[0] == "markdown"
}

func (s *server) didOpen(raw json.RawMessage) {
	p, bad := params[didOpenParams](raw)
	if bad != nil || p.TextDocument.URI == "" {
		s.logf("didOpen: %v", bad)
		return
	}
	t := p.TextDocument
	d := &document{uri: t.URI, path: pathOf(t.URI), language: t.LanguageID}
	d.setText(t.Text, &t.Version)
	if old := s.documents[t.URI]; old != nil {
		d.touched = old.touched
	}
	s.documents[t.URI] = d
	s.changed(d.path)
	if d.due = d.isOurs(); !d.due {
		s.logf("%s is left alone: it is called neither foundry.yaml nor NAME.foundry-test.yaml, and does not look like a pipeline file", t.URI)
	}
}

func (s *server) didChange(raw json.RawMessage) {
	p, bad := params[didChangeParams](raw)
	d := s.documents[p.TextDocument.URI]
	if bad != nil || d == nil || len(p.ContentChanges) == 0 {
		s.logf("didChange of %q: it is not open, or nothing is said of its text", p.TextDocument.URI)
		return
	}
	last := p.ContentChanges[len(p.ContentChanges)-1]
	if last.Range != nil {
		s.notify("window/logMessage", logParams{logWarning, "foundry lsp takes whole texts, and was sent a part of one; it does not know " + d.uri + " any longer"})
		s.close(d)
		return
	}
	ours := d.good != nil || d.isOurs()
	d.setText(last.Text, p.TextDocument.Version)
	d.due = ours || d.isOurs()
	s.changed(d.path)
}

// filesChanged looks at every document again: the texts that a pipeline file names may have changed.
func (s *server) filesChanged() {
	for _, d := range s.documents {
		if d.project != nil || d.isOurs() {
			d.project, d.due = nil, true
		}
	}
}

func (s *server) didClose(raw json.RawMessage) {
	p, bad := params[documentParams](raw)
	if d := s.documents[p.TextDocument.URI]; bad == nil && d != nil {
		s.close(d)
	}
}

func (s *server) close(d *document) {
	delete(s.documents, d.uri)
	s.forget(d)
	s.changed(d.path)
}

// openURIs are the URIs of the open documents, sorted.
func (s *server) openURIs() []string {
	var out []string
	for uri := range s.documents {
		out = append(out, uri)
	}
	slices.Sort(out)
	return out
}

// cursorOf is the document and the offset that a request is about. A document that is left alone is nil.
func (s *server) cursorOf(raw json.RawMessage) (*document, int, positionParams, *rpcError) {
	p, bad := params[positionParams](raw)
	if bad != nil {
		return nil, 0, p, bad
	}
	d := s.documents[p.TextDocument.URI]
	if d == nil {
		return nil, 0, p, failed(codeInvalidParams, "the document %q is not open", p.TextDocument.URI)
	}
	if d.good == nil && !d.isOurs() {
		return nil, 0, p, nil
	}
	return d, d.lines.offset(p.Position, s.encoding), p, nil
}

func (s *server) hover(raw json.RawMessage) (any, *rpcError) {
	d, offset, _, bad := s.cursorOf(raw)
	if bad != nil || d == nil {
		return nil, bad
	}
	text, from, to, ok := s.view(d, -1).hover(offset)
	if !ok {
		return nil, nil
	}
	return hover{Contents: *s.markup(text, s.markdownHover), Range: d.lines.span(from, to, s.encoding)}, nil
}

func (s *server) definition(raw json.RawMessage) (any, *rpcError) {
	d, offset, _, bad := s.cursorOf(raw)
	if bad != nil || d == nil {
		return nil, bad
	}
	return d.located(s, s.view(d, -1).definition(offset)), nil
}

func (s *server) completion(raw json.RawMessage) (any, *rpcError) {
	d, offset, p, bad := s.cursorOf(raw)
	if bad != nil || d == nil {
		return nil, bad
	}
	list := completionList{Items: []completionItem{}}
	line := d.lines.starts[d.lines.line(offset)]
	if p.Context.TriggerCharacter == " " && strings.TrimSpace(d.text[line:offset]) == "" {
		return list, nil // indentation is being typed
	}
	list.Items = s.items(d, s.view(d, offset).complete(offset))
	return list, nil
}

// plainText takes the marks of Markdown out.
var plainText = strings.NewReplacer("**", "", "```yaml\n", "", "```sh\n", "", "\n```", "", "`` ", "", " ``", "", "`", "")
