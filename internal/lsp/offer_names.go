package lsp

import (
	"slices"

	"foundry/graph"
)

// This file offers the names of definitions and of phases.

// nameOffers are the definitions of a kind: those of the text as it is now, then what else the project has.
func (v *view) nameOffers(u use) []offer {
	var out []offer
	seen := map[string]bool{}
	add := func(label, name, detail string) {
		if seen[label] {
			return
		}
		seen[label] = true
		out = append(out, offer{label: label, kind: kindClass, detail: detail,
			doc:    func() string { return v.nameCard(u.names, label) },
			target: target{kind: u.names, name: name}})
	}
	for _, d := range v.names.byKind[u.names] {
		add(d.name, d.name, u.names.String())
	}
	for _, n := range v.cat.Names() {
		if n.Kind != u.names || !n.Builtin && !v.isElsewhere(n) {
			continue
		}
		detail := u.names.String()
		if n.Builtin {
			detail += ", ships with Foundry"
		}
		add(n.Name, n.Name, detail)
	}
	if u.kind == useParent {
		for _, name := range v.shipped(u.names) {
			add("builtin/"+name, "", u.names.String()+", ships with Foundry")
		}
	}
	return out
}

// isElsewhere says that the catalogue knows of a name that the outline does not show: it stands in another file,
// or comes out of an alias. Of an older text the catalogue's names may be gone.
func (v *view) isElsewhere(n graph.Name) bool {
	return !n.Place.IsZero() && (!v.stale || n.Place.Source.Name != v.file)
}

// shipped are the names of a kind that ship, those that the file shadows among them.
func (v *view) shipped(kind graph.NameKind) []string {
	var out []string
	for _, n := range v.cat.Names() {
		if n.Kind == kind && (n.Builtin || n.Shadows) {
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	return out
}

// phaseOffers are the phases that a place can name.
func (v *view) phaseOffers(p place, kind useKind) []offer {
	var out []offer
	own := v.phaseID(p)
	passed := false // the phase itself: nothing below it can be needed
	for _, ph := range v.phases(p.pipeline) {
		passed = passed || ph.name == own
		o := v.phaseOffer(p.pipeline, ph)
		switch kind {
		case useID:
			o.hidden = true
		case useEarlier:
			o.hidden = passed || ph.detour
		}
		out = append(out, o)
	}
	return out
}

func (v *view) phaseOffer(pipeline string, ph phaseName) offer {
	detail := ph.does
	if ph.at != nil {
		detail = v.workAt(ph.at)
	}
	return offer{label: ph.name, kind: kindReference, detail: detail,
		doc:    func() string { return v.phaseCard(pipeline, ph) },
		target: target{phase: true, name: ph.name, pipeline: pipeline}}
}
