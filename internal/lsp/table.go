package lsp

import (
	"slices"

	"foundry/schema"
)

// This file follows the table of keys downwards: what a value takes whose place in the file is known.

// table is the table of keys by section. The arguments of each kind of gate are a section, too.
type table struct {
	sections map[string][]schema.Key
	shorts   map[string]string // the argument that a bare value stands for, by the kind of gate
}

const (
	testFileSection = "file of tests"
	proseSection    = "text in a file"
	gatePrefix      = "gate/" // and the kind, for its arguments
)

func newTable(words Vocabulary) *table {
	t := &table{sections: map[string][]schema.Key{}, shorts: map[string]string{}}
	for _, k := range schema.Keys() {
		t.sections[k.Where] = append(t.sections[k.Where], k)
		if k.Where == "file" && k.Name == "tests" {
			t.sections[testFileSection] = []schema.Key{k}
		}
	}
	t.sections["patch"] = schema.KeysOf("patch") // those of a phase, too
	t.sections[proseSection] = []schema.Key{{Where: proseSection, Name: "file", Shape: schema.ShapeText, Required: true,
		Doc: "the file that holds the text, from the directory of this file"}}
	for _, g := range words.Gates {
		t.shorts[g.Name] = g.Short
		keys := slices.Clone(g.Args)
		for i := range keys {
			keys[i].Where = gatePrefix + g.Name
			if keys[i].Shape == schema.ShapeSection { // a command, in place or by name
				keys[i].Shape = schema.ShapeScript
				keys = append(keys, t.sections["command"]...)
			}
		}
		t.sections[gatePrefix+g.Name] = append(keys, t.sections["gate"]...)
	}
	return t
}

func (t *table) key(section, name string) *schema.Key {
	keys := t.sections[section]
	for i := range keys {
		if keys[i].Name == name {
			return &keys[i]
		}
	}
	return nil
}

// want is what stands, or could stand, at a place.
type want struct {
	key     *schema.Key // the key whose value it is, or is part of; nil when that is not known
	level   int         // 0 for the value itself, 1 for what is in it, and so on
	section string      // the section whose keys a mapping has here, "" when it has none of the table's
}

// valueOfKey is the value of a key.
func valueOfKey(k *schema.Key) want {
	w := want{key: k}
	if k == nil {
		return w
	}
	switch k.Shape {
	case schema.ShapeSection:
		w.section = k.Of
	case schema.ShapeProse:
		w.section = proseSection
	}
	return w
}

// entry is the value of an entry of a mapping.
func (t *table) entry(w want, name string) want {
	switch {
	case w.section == "gate":
		if k := t.key("gate", name); k != nil {
			return valueOfKey(k)
		}
		return want{key: t.key(gatePrefix+name, t.shorts[name]), section: gatePrefix + name}
	case w.section != "":
		return valueOfKey(t.key(w.section, name))
	case w.key == nil:
		return want{}
	}
	below := want{key: w.key, level: w.level + 1}
	if w.level == 0 && w.key.Shape == schema.ShapeMap {
		below.section = w.key.Of
	}
	return below
}

// item is an item of a sequence.
func (t *table) item(w want) want {
	if w.key == nil {
		return want{}
	}
	below := want{key: w.key, level: w.level + 1}
	switch {
	case w.level == 0 && w.key.Shape == schema.ShapeList, w.level == 1 && w.key.Shape == schema.ShapeEntries:
		below.section = w.key.Of
	case w.level == 0 && w.key.Shape == schema.ShapeGates:
		below.section = "gate"
	}
	return below
}

// names says that the keys of a mapping here are names: of definitions, phases, variables or files.
func (w want) names() bool {
	if w.key == nil || w.section != "" || w.level > 0 {
		return false
	}
	switch w.key.Shape {
	case schema.ShapeMap, schema.ShapePairs, schema.ShapeFiles, schema.ShapeEntries, schema.ShapeCounts, schema.ShapeTextLists:
		return true
	}
	return false
}
