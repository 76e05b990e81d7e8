package lsp

// An offer is something that could stand at the cursor. Completion shows all of them; hover and go-to-definition
// look for the one that does stand there. So what is completed, explained and found cannot part.

import (
	"foundry/graph"
)

// offer is one word that is possible.
type offer struct {
	label  string
	insert string // what is inserted, the label when ""
	kind   int    // of the completion
	detail string
	doc    func() string // Markdown; nil when there is nothing more to say
	hidden bool          // explained and found, and not offered
	target target
}

// target is what a word names, for go-to-definition. The zero target is nothing.
type target struct {
	kind     graph.NameKind
	name     string
	phase    bool // a phase of the pipeline, "" for any
	pipeline string
}

// ask is the word at the cursor with what could stand there.
type ask struct {
	from, to int // of the word, in bytes
	offers   []offer
}

// word is the text of the word.
func (a ask) word(text string) string { return text[a.from:a.to] }

// current is the offer that stands there, false when none of them does.
func (a ask) current(text string) (offer, bool) {
	for _, o := range a.offers {
		if o.label == a.word(text) {
			return o, true
		}
	}
	return offer{}, false
}

// askAt is what could stand at an offset, taken as the end of a word.
func (v *view) askAt(offset int) (ask, place, bool) {
	p, ok := v.at(offset)
	if !ok {
		return ask{}, p, false
	}
	from, to := p.leaf.inside(v.text)
	if offset < from || offset > to { // before the quote, or on the header line of a block
		return ask{from: offset, to: offset}, p, true
	}
	whole := ask{from: from, to: offset}
	if p.isKey {
		whole.offers = v.keyOffers(p)
		return whole, p, true
	}
	u := useOf(p.want)
	switch u.kind {
	case useRoute, useExpr, useTemplate, useInput:
		word := offset
		for word > from && isNameByte(v.text[word-1]) {
			word--
		}
		return ask{word, offset, v.textOffers(p, u, before(v.text, p.leaf, word, u.kind))}, p, true
	}
	whole.offers = v.valueOffers(p, u)
	return whole, p, true
}

// isNameByte says that a byte can be part of a name in an expression.
func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// valueOffers is what a whole scalar could be.
func (v *view) valueOffers(p place, u use) []offer {
	var out []offer
	switch u.kind {
	case useWord:
		out = wordOffers(p.want.key)
	case useName, useParent:
		out = v.nameOffers(u)
		if p.want.key.Where == "file" && u.names == graph.GateName {
			out = v.gateKinds("")
		}
	case useID, usePhase, useEarlier:
		out = v.phaseOffers(p, u.kind)
	case useHarness:
		for _, h := range v.words.Harnesses {
			out = append(out, offer{label: h, kind: kindValue, detail: "harness"})
		}
	case useStep:
		for _, s := range v.words.Steps {
			out = append(out, offer{label: s, kind: kindValue, detail: "built-in step"})
		}
	}
	switch { // a word that may become the first key of a mapping
	case p.inline || p.want.section == "gate":
	case p.want.section != "":
		out = append(out, v.sectionOffers(p.want.section, nil)...)
	default:
		out = append(out, v.namedKeyOffers(p)...)
	}
	return out
}
