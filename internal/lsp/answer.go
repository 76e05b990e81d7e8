package lsp

// The three questions: what is this, where is it defined, what could stand here. Each is put to the offers at the
// cursor.

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"foundry/diag"
	"foundry/graph"
)

// askUnder is the word under an offset, to its end, with what could stand there.
func (v *view) askUnder(offset int) (ask, place, bool) {
	p, ok := v.at(offset)
	if !ok {
		return ask{}, p, false
	}
	_, to := p.leaf.inside(v.text)
	end := to
	switch useOf(p.want).kind {
	case useRoute, useExpr, useTemplate, useInput:
		if !p.isKey {
			for end = offset; end < to && isNameByte(v.text[end]); {
				end++
			}
		}
	}
	return v.askAt(end)
}

// hover explains what stands at an offset; false when there is nothing to say.
func (v *view) hover(offset int) (text string, from, to int, ok bool) {
	a, p, ok := v.askUnder(offset)
	if !ok {
		return "", 0, 0, false
	}
	if o, found := a.current(v.text); found && a.from < a.to {
		return v.explain(o), a.from, a.to, true
	}
	if k := p.want.key; k != nil && !p.isKey && p.want.level < 2 && useOf(p.want).kind < useRoute {
		return keyCard(*k), p.leaf.start, p.leaf.end, true
	}
	return "", 0, 0, false
}

func (v *view) explain(o offer) string {
	text := ""
	if o.doc != nil {
		text = o.doc()
	}
	if text != "" && (o.kind == kindProperty || o.target != target{}) {
		return text // a card, with its own title
	}
	title := "**" + o.label + "**"
	if o.detail != "" {
		title += " (" + o.detail + ")"
	}
	return card(title, text)
}

// spot is a place in a source, by the source's name; "" is the text itself.
type spot struct {
	file       string
	start, end int
	source     *diag.Source // of another file
}

// definition is where the word at an offset is defined: nowhere for what is part of the program, in several places
// for a phase that several pipelines have.
func (v *view) definition(offset int) []spot {
	a, _, ok := v.askUnder(offset)
	if !ok {
		return nil
	}
	o, ok := a.current(v.text)
	if !ok || o.target == (target{}) {
		return nil
	}
	if o.target.phase {
		return v.phaseSpots(o.target)
	}
	if d, ok := v.names.find(o.target.kind, o.target.name); ok {
		return []spot{nodeSpot(d.key)}
	}
	for _, n := range v.cat.Names() {
		if n.Kind == o.target.kind && n.Name == o.target.name && !n.Builtin {
			return v.placeSpot(n.Place)
		}
	}
	return nil
}

func nodeSpot(n *node) spot { return spot{start: n.start, end: n.end} }

// placeSpot is a place of the catalogue; of a text that has changed since, the place may be another one now.
func (v *view) placeSpot(at diag.Span) []spot {
	if at.IsZero() || at.Source.Name == v.file && v.stale {
		return nil
	}
	return []spot{{file: at.Source.Name, start: at.Start, end: at.End, source: at.Source}}
}

func (v *view) phaseSpots(t target) []spot {
	var out []spot
	for _, d := range v.names.phase(t.pipeline, t.name) {
		out = append(out, nodeSpot(d.key))
	}
	if len(out) > 0 || t.pipeline == "" {
		return out
	}
	p, _ := v.cat.Pipeline(t.pipeline)
	for i := range p.Phases {
		if p.Phases[i].ID.Value == t.name && !v.ships(p.Phases[i].ID.Span()) {
			return v.placeSpot(p.Phases[i].ID.Span())
		}
	}
	return nil
}

// ships says that a place is in what ships, which is no file that an editor could open.
func (v *view) ships(at diag.Span) bool {
	return slices.ContainsFunc(v.cat.Names(), func(n graph.Name) bool {
		return n.Builtin && !n.Place.IsZero() && n.Place.Source == at.Source
	})
}

// complete is what could stand at an offset. The text of the view has a mark at the offset, so that something
// stands there.
func (v *view) complete(offset int) ask {
	a, p, ok := v.askAt(offset)
	if !ok || strings.Contains(v.text[a.from:a.to], "\n") { // a word is on one line
		return ask{}
	}
	a.offers = slices.DeleteFunc(a.offers, func(o offer) bool { return o.hidden })
	if p.isKey && v.hasColon(p) {
		for i := range a.offers {
			a.offers[i].insert = a.offers[i].label
		}
	}
	return a
}

// hasColon says that the key at the cursor has its colon already.
func (v *view) hasColon(p place) bool {
	return slices.ContainsFunc(p.siblings.pairs, func(x pair) bool { return x.key == p.leaf && x.colon })
}

// located turns spots into places of the protocol.
func (d *document) located(s *server, list []spot) []location {
	out := []location{}
	for _, at := range list {
		l := location{URI: d.uri}
		lines := d.lines
		if at.source != nil && at.file != d.name() {
			l.URI = s.uriOf(filepath.Join(d.project.Root, filepath.FromSlash(at.file)))
			lines = newLines(at.source.Text)
		}
		l.Range = lines.span(at.start, at.end, s.encoding)
		out = append(out, l)
	}
	return out
}

// items turns offers into completions.
func (s *server) items(d *document, a ask) []completionItem {
	out := make([]completionItem, 0, len(a.offers))
	at := d.lines.span(a.from, a.to, s.encoding)
	for i, o := range a.offers {
		item := completionItem{Label: o.label, Kind: o.kind, Detail: o.detail, SortText: fmt.Sprintf("%04d", i), FilterText: o.label,
			TextEdit: textEdit{Range: at, NewText: o.insert}}
		if o.insert == "" {
			item.TextEdit.NewText = o.label
		}
		if o.doc != nil {
			item.Documentation = s.markup(o.doc(), s.markdownItems)
		}
		out = append(out, item)
	}
	return out
}

// markup is Markdown, or for a client that does not show it the same without its marks.
func (s *server) markup(text string, markdown bool) *markup {
	if markdown {
		return &markup{Kind: "markdown", Value: text}
	}
	return &markup{Kind: "plaintext", Value: plainText.Replace(text)}
}
