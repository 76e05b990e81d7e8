package schema

// The table of keys. Every mapping of the language is a section; each row of a section says what a key is
// called, what it takes, what it means, and how it is read into the document. The decoder walks these rows and
// nothing else, so that what is documented and what is accepted cannot part.

import (
	"math"
	"slices"
	"strings"

	"foundry/diag"
)

// Shape is what a key's value looks like.
type Shape uint8

// The shapes; the zero value is invalid.
const (
	ShapeText      Shape = iota + 1 // any text
	ShapeInt                        // a plain whole number
	ShapeNumber                     // a plain decimal number
	ShapeBool                       // true or false
	ShapeDuration                   // 90s, 15m, 1h30m
	ShapeSize                       // 100MB
	ShapeTexts                      // a list of texts
	ShapePatterns                   // one text, or a list of texts
	ShapeArgv                       // a list of texts that names a program and its arguments
	ShapePairs                      // a mapping of texts
	ShapeFiles                      // a mapping from paths to texts, or to null for a file that is deleted
	ShapeProse                      // a text, or {file: path}
	ShapeScript                     // a text for a shell, or a list as argv
	ShapeScripts                    // a list of those
	ShapeExitCodes                  // a list of whole numbers, or the word nonzero
	ShapeRoute                      // rules: a block text or a list
	ShapeGates                      // a list of gate entries: a name, or {gate: arguments}
	ShapeChoice                     // one of Enum, some of which YAML reads as true and false
	ShapeSection                    // a mapping with the keys of section Of
	ShapeList                       // a list of such mappings
	ShapeMap                        // a mapping from names to such mappings
	ShapeData                       // anything
	ShapeEntries                    // a mapping from names to lists of such mappings, or of the words approve and reject
	ShapeCounts                     // a mapping from names to whole numbers
	ShapeTextLists                  // a mapping from names to lists of texts, or of null
)

// Key describes one key of the language.
type Key struct {
	Where    string   // the section it stands in
	Name     string   // as written
	Shape    Shape    // what it takes
	Of       string   // the section of its value, or of the entries of its value
	Enum     []string // the words it takes, when it takes no others
	Default  string   // what holds when it is absent, as text; "" when nothing does or the text says it
	Doc      string   // one line
	Required bool
	Unless   string // the key that, when it is there, makes this one not required
	Kind     string // of phase keys that only one kind of phase has: agent, code, ask, call, each
	Min, Max int    // of whole numbers; Max is math.MaxInt when there is no upper end
}

// Keys returns the whole table, section by section, in the order of the language's documentation.
func Keys() []Key {
	l := theLanguage()
	return slices.Concat(
		l.file.rows(), l.project.rows(), l.worktree.rows(), l.keep.rows(), l.command.rows(), l.envelope.rows(), l.field.rows(),
		l.gate.rows(), l.agent.rows(), l.models.rows(), l.tools.rows(), l.sandbox.rows(), l.turn.rows(),
		l.pipeline.rows(), l.param.rows(), l.limits.rows(), l.criterion.rows(), l.after.rows(), l.afterPhase.rows(), l.phase.rows(), l.each.rows(), l.patch.own(), l.output.rows(),
		l.test.rows(), l.entry.rows(), l.usage.rows(), l.review.rows(), l.expect.rows(),
	)
}

// KeysOf returns the rows of all keys that a mapping of a section takes: for most its rows of the table, for a patch
// those of a phase as well.
func KeysOf(name string) []Key {
	if name == "patch" {
		return theLanguage().patch.rows()
	}
	return slices.DeleteFunc(Keys(), func(k Key) bool { return k.Where != name })
}

// section is the keys of one kind of mapping, which is decoded into a T.
type section[T any] struct {
	name   string // as Key.Where has it
	noun   string // as messages have it: "an agent"
	keys   []*key[T]
	byName map[string]*key[T]
}

// key is one row. read is nil for keys that are only described here and read elsewhere.
type key[T any] struct {
	Key
	read   func(d *decoder, k *Key, v value, t *T)
	absent diag.Rule // of one that must be there: the rule of the finding that it is not
}

func newSection[T any](name, noun string, keys ...*key[T]) *section[T] {
	s := &section[T]{name: name, noun: noun, byName: make(map[string]*key[T], len(keys))}
	for _, k := range keys {
		k.Where = name
		s.add(k)
	}
	return s
}

func (s *section[T]) add(k *key[T]) {
	s.keys, s.byName[k.Name] = append(s.keys, k), k
}

func (s *section[T]) find(name string) *key[T] { return s.byName[name] }

func (s *section[T]) rows() []Key {
	out := make([]Key, len(s.keys))
	for i, k := range s.keys {
		out[i] = k.Key
	}
	return out
}

// own are the rows that no other section has as well.
func (s *section[T]) own() []Key {
	return slices.DeleteFunc(s.rows(), func(k Key) bool { return k.Where != s.name })
}

func row[T any](name string, shape Shape, doc string, read func(*decoder, *Key, value, *T)) *key[T] {
	return &key[T]{Key{Name: name, Shape: shape, Doc: doc, Max: math.MaxInt}, read, diag.MissingKey}
}

// The modifiers of a row.

func (k *key[T]) def(s string) *key[T]         { k.Default = s; return k }
func (k *key[T]) must() *key[T]                { k.Required = true; return k }
func (k *key[T]) lacking(r diag.Rule) *key[T]  { k.absent = r; return k }
func (k *key[T]) unless(other string) *key[T]  { k.Unless = other; return k }
func (k *key[T]) enum(words ...string) *key[T] { k.Enum = words; return k }
func (k *key[T]) from(low int) *key[T]         { k.Min = low; return k }
func (k *key[T]) to(high int) *key[T]          { k.Max = high; return k }
func (k *key[T]) only(kind string) *key[T]     { k.Kind = kind; return k }
func (k *key[T]) of(section string) *key[T]    { k.Of = section; return k }

func text[T any](name, doc string, at func(*T) *Text) *key[T] {
	return row(name, ShapeText, doc, func(d *decoder, k *Key, v value, t *T) {
		if x, ok := d.text(v); ok && d.oneOf(k, v, x) {
			*at(t) = x
		}
	})
}

func integer[T any](name, doc string, at func(*T) *Int) *key[T] {
	return row(name, ShapeInt, doc, func(d *decoder, k *Key, v value, t *T) {
		if x, ok := d.number(v, k.Min, k.Max); ok {
			*at(t) = x
		}
	})
}

func decimal[T any](name, doc string, at func(*T) *Number) *key[T] {
	return row(name, ShapeNumber, doc, func(d *decoder, _ *Key, v value, t *T) {
		if x, ok := d.decimal(v); ok {
			*at(t) = x
		}
	})
}

func boolean[T any](name, doc string, at func(*T) *Bool) *key[T] {
	return row(name, ShapeBool, doc, func(d *decoder, _ *Key, v value, t *T) {
		if x, ok := d.boolean(v); ok {
			*at(t) = x
		}
	})
}

func duration[T any](name, doc string, at func(*T) *Duration) *key[T] {
	return row(name, ShapeDuration, doc, func(d *decoder, _ *Key, v value, t *T) {
		if x, ok := d.duration(v); ok {
			*at(t) = x
		}
	})
}

func texts[T any](name, doc string, at func(*T) *Texts) *key[T] {
	return row(name, ShapeTexts, doc, func(d *decoder, _ *Key, v value, t *T) { *at(t) = d.texts(v) })
}

func pairs[T any](name, doc string, at func(*T) *Pairs) *key[T] {
	return row(name, ShapePairs, doc, func(d *decoder, _ *Key, v value, t *T) { *at(t) = d.pairs(v) })
}

func prose[T any](name, doc string, at func(*T) *Prose) *key[T] {
	return row(name, ShapeProse, doc, func(d *decoder, _ *Key, v value, t *T) { *at(t) = d.prose(v) })
}

func script[T any](name, doc string, at func(*T) *Script) *key[T] {
	return row(name, ShapeScript, doc, func(d *decoder, _ *Key, v value, t *T) { *at(t) = d.script(v) })
}

func exitCodes[T any](name, doc string, at func(*T) *ExitCodes) *key[T] {
	return row(name, ShapeExitCodes, doc, func(d *decoder, _ *Key, v value, t *T) { *at(t) = d.exitCodes(v) }).def("[0]")
}

func data[T any](name, doc string, at func(*T) *Data) *key[T] {
	return row(name, ShapeData, doc, func(d *decoder, _ *Key, v value, t *T) { *at(t) = d.data(v) })
}

func argv[T any](name, doc string, at func(*T) *Texts) *key[T] {
	return row(name, ShapeArgv, doc, func(d *decoder, _ *Key, v value, t *T) { *at(t) = d.argv(v) })
}

// nested is a key whose value is a mapping with the keys of another section.
func nested[T any](name, of, doc string, read func(*decoder, value, *T)) *key[T] {
	return within(name, ShapeSection, of, doc, read)
}

// list is a key whose value is a list of such mappings.
func list[T any](name, of, doc string, read func(*decoder, value, *T)) *key[T] {
	return within(name, ShapeList, of, doc, read)
}

// names is a key whose value is a mapping from names to such mappings.
func names[T any](name, of, doc string, read func(*decoder, value, *T)) *key[T] {
	return within(name, ShapeMap, of, doc, read)
}

func within[T any](name string, shape Shape, of, doc string, read func(*decoder, value, *T)) *key[T] {
	k := row(name, shape, doc, func(d *decoder, _ *Key, v value, t *T) { read(d, v, t) })
	k.Of = of
	return k
}

// oneOf checks a text against the words that its key takes.
func (d *decoder) oneOf(k *Key, v value, t Text) bool {
	if len(k.Enum) == 0 || slices.Contains(k.Enum, t.Value) {
		return true
	}
	d.enumError(k, v, t.Value)
	return false
}

func (d *decoder) enumError(k *Key, v value, got string) {
	found := d.report(v.via, diag.UnknownEnumValue, d.span(v), "%q is one of %s; %q is not", k.Name, words(k.Enum), clip(got))
	s := otherTypes[strings.ToLower(got)]
	if !slices.Contains(k.Enum, s) {
		s = diag.Suggest(got, k.Enum)
	}
	if s != "" {
		found.Hintf("did you mean %q?", s)
	}
}

// otherTypes are the words that other tools have for the types of the language.
var otherTypes = map[string]string{
	"integer": "int", "int64": "int", "long": "int", "boolean": "bool", "flag": "bool", "str": "string", "text": "string", "char": "string",
	"float": "number", "double": "number", "decimal": "number", "array": "list", "slice": "list", "strings": "list",
	"dict": "object", "map": "object", "mapping": "object", "hash": "object", "struct": "object", "file": "path", "filename": "path", "dir": "path",
	"enum": "choice", "select": "choice", "choices": "choice", "option": "choice",
}

// words joins words for a sentence: a, b and c.
func words(list []string) string { return joined(list, " and ") }

// either joins words for a choice: a, b or c.
func either(list []string) string { return joined(list, " or ") }

func joined(list []string, last string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + last + list[len(list)-1]
}
