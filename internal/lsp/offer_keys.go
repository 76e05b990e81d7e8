package lsp

import (
	"slices"
	"strings"

	"foundry/graph"
	"foundry/schema"
)

// This file offers keys, and the words that a key takes.

// keyOffers is what the key of a mapping could be.
func (v *view) keyOffers(p place) []offer {
	if p.want.section == "gate" {
		return v.gateEntryOffers(p)
	}
	if p.want.section != "" {
		return v.sectionOffers(p.want.section, p.siblings)
	}
	return v.namedKeyOffers(p)
}

// namedKeyOffers are the keys of a mapping whose keys are names.
func (v *view) namedKeyOffers(p place) []offer {
	if !p.want.names() {
		return nil
	}
	key := p.want.key
	switch {
	case key.Where == "pipeline" && key.Name == "patch", key.Where == "test" && key.Name == "given", key.Where == "expect" && (key.Name == "visits" || key.Name == "feedback"):
		out := v.phaseOffers(p, usePhase)
		for i := range out {
			out[i].insert = out[i].label + ":"
		}
		return out
	}
	for _, s := range sections {
		if key.Where == "file" && key.Name == s.key {
			return hide(v.nameOffers(use{names: s.kind}))
		}
	}
	return nil
}

// hide marks offers that are explained where they stand, and not offered: a definition gives itself a name.
func hide(list []offer) []offer {
	for i := range list {
		list[i].hidden = true
	}
	return list
}

// sectionOffers are the keys of a section; those that the mapping has are known but not offered again.
func (v *view) sectionOffers(section string, siblings *node) []offer {
	var out []offer
	says := v.phaseSays(section, siblings)
	for _, k := range v.table.sections[section] {
		o := keyOffer(k)
		o.hidden = v.taken(siblings, k.Name) || says != "" && (does[k.Name] || !k.Beside(says))
		out = append(out, o)
	}
	return out
}

// gateEntryOffers are the keys of a gate entry: a kind of gate, where one is used also a gate of the file, and what
// every gate takes.
func (v *view) gateEntryOffers(p place) []offer {
	out := v.gateKinds(": ")
	if p.want.key.Where == "phase" {
		out = v.nameOffers(use{names: graph.GateName})
		for i := range out {
			out[i].insert = out[i].label + ": "
		}
	}
	return append(out, v.sectionOffers("gate", p.siblings)...)
}

// does are the keys that say what a phase does; a phase has one of them.
var does = map[string]bool{"agent": true, "run": true, "command": true, "builtin": true, "ask": true, "call": true}

// phaseSays is the key with which a phase says already what it does.
func (v *view) phaseSays(section string, siblings *node) string {
	if section != "phase" && section != "patch" {
		return ""
	}
	for _, k := range v.table.sections[section] {
		if does[k.Name] && v.taken(siblings, k.Name) {
			return k.Name
		}
	}
	return ""
}

// taken says that a mapping has a key.
func (v *view) taken(in *node, name string) bool {
	return in != nil && slices.ContainsFunc(in.pairs, func(p pair) bool { return p.colon && valueOf(v.text, p.key) == name })
}

func keyOffer(k schema.Key) offer {
	return offer{label: k.Name, insert: k.Name + keyEnding(k.Shape), kind: kindProperty, detail: shapeWords(k), doc: func() string { return keyCard(k) }}
}

// keyEnding is what is written behind a key: what stands on its line, or is begun there.
func keyEnding(s schema.Shape) string {
	switch s {
	case schema.ShapeSection, schema.ShapeList, schema.ShapeMap, schema.ShapePairs, schema.ShapeFiles, schema.ShapeEntries,
		schema.ShapeCounts, schema.ShapeTextLists, schema.ShapeScripts:
		return ":"
	}
	return ": "
}

// wordOffers are the words that a key takes.
func wordOffers(k *schema.Key) []offer {
	words := k.Enum
	switch {
	case len(words) > 0:
	case k.Shape == schema.ShapeBool:
		words = []string{"true", "false"}
	case k.Shape == schema.ShapeExitCodes:
		words = []string{"nonzero"}
	}
	var out []offer
	for _, w := range words {
		o := offer{label: w, kind: kindMember, detail: k.Name}
		if w == k.Default {
			o.detail += ", the default"
		}
		out = append(out, o)
	}
	return out
}

// gateKinds are the kinds of gates, with what is written behind them.
func (v *view) gateKinds(behind string) []offer {
	var out []offer
	for _, g := range v.words.Gates {
		o := offer{label: g.Name, insert: g.Name + behind, kind: kindFunction, detail: "gate", doc: func() string { return v.gateCard(g.Name) }}
		o.target = target{kind: graph.GateName, name: g.Name}
		out = append(out, o)
	}
	return out
}

// shapeWords say in a few words what a key takes.
func shapeWords(k schema.Key) string {
	if len(k.Enum) > 0 {
		words := strings.Join(k.Enum, ", ")
		if k.Shape == schema.ShapePairs {
			return "by name: " + words
		}
		return words
	}
	switch k.Shape {
	case schema.ShapeText:
		return "text"
	case schema.ShapeInt:
		return "whole number"
	case schema.ShapeNumber:
		return "number"
	case schema.ShapeBool:
		return "true, false"
	case schema.ShapeDuration:
		return "duration, such as 90s or 15m"
	case schema.ShapeSize:
		return "size, such as 100MB"
	case schema.ShapeTexts:
		return "list of texts"
	case schema.ShapePatterns:
		return "pattern, or list of patterns"
	case schema.ShapeArgv:
		return "program with its arguments, as a list"
	case schema.ShapePairs:
		return "texts by name"
	case schema.ShapeFiles:
		return "texts by path, or null"
	case schema.ShapeProse:
		return "text, or {file: path}"
	case schema.ShapeScript:
		return "text for a shell, or list as argv"
	case schema.ShapeScripts:
		return "list of commands"
	case schema.ShapeExitCodes:
		return "list of whole numbers, or nonzero"
	case schema.ShapeRoute:
		return "rules, one a line"
	case schema.ShapeGates:
		return "list of gates"
	case schema.ShapeSection:
		return "mapping"
	case schema.ShapeList:
		return "list of mappings"
	case schema.ShapeMap:
		return "mappings by name"
	case schema.ShapeEntries:
		return "lists of entries by name"
	case schema.ShapeCounts:
		return "whole numbers by name"
	case schema.ShapeTextLists:
		return "lists of texts by name"
	}
	return ""
}
