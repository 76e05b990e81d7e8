package schema

// The JSON Schema of a pipeline file, for editors. It is made of the same table that the decoder walks, so that
// what an editor offers and what a file may hold cannot part. It is never stricter than the decoder: a file that
// lints clean validates. It is looser where JSON Schema has no words: names are not resolved, expressions not
// read.

import (
	"slices"
	"strconv"
	"strings"
)

// Vocabulary is what a schema lists beside the table of keys: words that the rest of the program knows.
type Vocabulary struct {
	Harnesses []string
	Steps     []string // the values of `builtin`
	Gates     []GateWords
}

// GateWords is a kind of gate as a schema describes it.
type GateWords struct {
	Name, Doc string
	Short     string // the argument that a bare value stands for; "" when there is none
	Args      []Key  // Name and Shape, and Enum where it applies
}

// JSONSchema is the schema (draft 2020-12) of a pipeline file, with a line break at its end. The same
// vocabulary gives the same bytes.
func JSONSchema(v Vocabulary) []byte {
	g := newGenerator(v)
	return g.document("foundry.yaml", "a pipeline file of Foundry", g.section("file"))
}

// TestsSchema is the same for a file of pipeline tests.
func TestsSchema(v Vocabulary) []byte {
	g := newGenerator(v)
	var tests Key
	for _, k := range g.sections["file"] {
		if k.Name == "tests" {
			tests = k
		}
	}
	return g.document("foundry-test.yaml", "a file of pipeline tests of Foundry", object{{"type", "object"},
		{"properties", g.properties([]Key{tests})}, {"required", wordList("tests")}, {"additionalProperties", false}})
}

func newGenerator(v Vocabulary) *generator {
	g := &generator{words: v, sections: map[string][]Key{}}
	for _, k := range Keys() {
		if _, seen := g.sections[k.Where]; !seen {
			g.order = append(g.order, k.Where)
		}
		g.sections[k.Where] = append(g.sections[k.Where], k)
	}
	return g
}

// document is a whole schema, whose root is given.
func (g *generator) document(title, about string, root object) []byte {
	all := object{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}, {"description", about}}
	all = append(append(all, root...), member{"$defs", g.definitions()})
	var b strings.Builder
	encode(&b, all, "")
	return []byte(b.String() + "\n")
}

// generator turns the table into a schema.
type generator struct {
	words    Vocabulary
	order    []string // of the sections, as the table has them
	sections map[string][]Key
}

const (
	longNames  = "^[a-z][a-z0-9_-]*$"
	shortNames = "^[a-z][a-z0-9_]*$"
)

func (g *generator) definitions() object {
	defs := object{
		{"text", object{{"type", wordList("string", "number", "boolean")}}},
		{"texts", arrayOf(ref("text"))},
		{"argv", object{{"type", "array"}, {"minItems", 1}, {"items", object{{"type", wordList("string", "number")}}}}},
		{"script", anyOf(ref("text"), ref("argv"))},
		{"prose", anyOf(ref("text"), object{{"type", "object"}, {"properties", object{{"file", object{{"$ref", "#/$defs/text"},
			{"description", "the file that holds the text, from the directory of this file"}}}}}, {"required", wordList("file")}, {"additionalProperties", false}})},
		{"duration", object{{"type", "string"}, {"pattern", "^[0-9][0-9.]*(ms|s|m|h)([0-9.]+(ms|s|m|h))*$"}}},
		{"size", object{{"type", "string"}, {"pattern", "^[1-9][0-9]*(KiB|MiB|GiB|KB|MB|GB)$"}}},
		{"exit_codes", anyOf(object{{"const", "nonzero"}},
			object{{"type", "array"}, {"minItems", 1}, {"items", object{{"type", "integer"}, {"minimum", 0}, {"maximum", 255}}}})},
		{"route", anyOf(object{{"type", "string"}}, arrayOf(object{{"type", "string"}}))},
	}
	for _, name := range g.order {
		switch name {
		case "file":
		case "gate":
			defs = append(defs, member{"gate", g.gate(false)}, member{"gate_entry", g.gate(true)}, member{"gate_command", g.gateCommand()})
		case "command":
			defs = append(defs, member{"command", anyOf(ref("script"), g.section(name))})
		case "entry":
			defs = append(defs, member{"entry", anyOf(object{{"enum", wordList("approve", "reject")}}, g.section(name))})
		default:
			defs = append(defs, member{sectionName(name), g.section(name)})
		}
	}
	return defs
}

// sectionName is the name of a section's definition; the shape of a command is called script, too.
func sectionName(section string) string {
	if section == "script" {
		return "script_turn"
	}
	return section
}

// section is a mapping with the keys of a section and no others.
func (g *generator) section(name string) object {
	keys := g.sections[name]
	if name == "patch" {
		keys = KeysOf(name)
	}
	out := object{{"type", "object"}, {"properties", g.properties(keys)}}
	if name == "file" {
		out = append(out, member{"patternProperties", object{{"^x-", object{{"description", "left alone: a place for YAML anchors"}}}}})
	}
	var required []any
	for _, k := range keys {
		if k.Required && k.Unless == "" {
			required = append(required, k.Name)
		}
	}
	if len(required) > 0 {
		out = append(out, member{"required", required})
	}
	out = append(out, member{"additionalProperties", false})
	for _, k := range keys {
		if k.Required && k.Unless != "" {
			out = append(out, member{"anyOf", []any{requires(k.Name), requires(k.Unless)}})
		}
	}
	switch name {
	case "phase":
		out = append(out, member{"oneOf", phaseKinds(keys)})
	case "criterion", "after_phase":
		out = append(out, member{"oneOf", []any{requires("run"), requires("command")}})
	case "output":
		out = append(out, member{"oneOf", []any{requires("regex"), requires("json")}})
	}
	return out
}

func (g *generator) properties(keys []Key) object {
	var out object
	for _, k := range keys {
		out = append(out, member{k.Name, g.property(k)})
	}
	return out
}

// property is a key's value, with what editors show of it.
func (g *generator) property(k Key) object {
	out := object{{"description", description(k)}}
	out = append(out, g.value(k)...)
	if v, ok := k.defaultValue(); ok {
		out = append(out, member{"default", v})
	}
	return out
}

// description is the key's line, with a default that is no value of the key.
func description(k Key) string {
	if _, ok := k.defaultValue(); ok || k.Default == "" {
		return k.Doc
	}
	return k.Doc + "; the default is " + k.Default
}

// value is the shape of a key's value.
func (g *generator) value(k Key) object {
	if words := g.enumOf(k); len(words) > 0 && k.Shape != ShapeChoice && k.Shape != ShapePairs {
		return object{{"enum", wordList(words...)}}
	}
	switch k.Shape {
	case ShapeText:
		return named(k)
	case ShapeInt:
		return integerBetween(k.Min, k.Max)
	case ShapeNumber:
		return object{{"type", "number"}, {"minimum", 0}}
	case ShapeBool:
		return object{{"type", "boolean"}}
	case ShapeDuration:
		return ref("duration")
	case ShapeSize:
		return ref("size")
	case ShapeTexts:
		return ref("texts")
	case ShapePatterns:
		return anyOf(object{{"type", "string"}}, object{{"type", "array"}, {"minItems", 1}, {"items", object{{"type", "string"}}}})
	case ShapeArgv:
		return ref("argv")
	case ShapePairs:
		if len(k.Enum) > 0 {
			return mapOfAny(object{{"enum", wordList(k.Enum...)}})
		}
		return object{{"type", "object"}, {"propertyNames", object{{"pattern", "^[^=]+$"}}}, {"additionalProperties", ref("text")}}
	case ShapeFiles:
		return mapOfAny(object{{"type", wordList("string", "number", "boolean", "null")}})
	case ShapeProse:
		return ref("prose")
	case ShapeScript:
		return ref("script")
	case ShapeScripts:
		return arrayOf(ref("script"))
	case ShapeExitCodes:
		return ref("exit_codes")
	case ShapeRoute:
		return ref("route")
	case ShapeGates:
		return arrayOf(ref("gate_entry"))
	case ShapeChoice:
		return object{{"enum", choices(k.Enum)}}
	case ShapeSection:
		return ref(sectionName(k.Of))
	case ShapeList:
		if k.Name == "phases" {
			return object{{"type", "array"}, {"minItems", 1}, {"items", ref(sectionName(k.Of))}}
		}
		return arrayOf(ref(sectionName(k.Of)))
	case ShapeMap:
		return object{{"type", "object"}, {"patternProperties", object{{k.names(), ref(sectionName(k.Of))}}}, {"additionalProperties", false}}
	case ShapeData:
		return nil
	case ShapeEntries:
		return mapOfAny(arrayOf(ref(sectionName(k.Of))))
	case ShapeCounts:
		return mapOfAny(integerBetween(k.Min, k.Max))
	case ShapeTextLists:
		return mapOfAny(arrayOf(object{{"type", wordList("string", "number", "boolean", "null")}}))
	}
	panic("BUG: no schema for the shape of " + k.Where + "." + k.Name)
}

// enumOf are the words that a key takes, those that the rest of the program knows among them.
func (g *generator) enumOf(k Key) []string {
	switch k.Where + "." + k.Name {
	case "project.harness", "agent.harness":
		return g.words.Harnesses
	case "phase.builtin":
		return g.words.Steps
	}
	return k.Enum
}

// named is a text, or a name where the decoder wants one.
func named(k Key) object {
	switch k.Where + "." + k.Name {
	case "phase.id":
		return object{{"type", "string"}, {"pattern", shortNames}, {"not", object{{"enum", wordList(reserved...)}}}}
	case "criterion.name":
		return object{{"type", "string"}, {"pattern", longNames}}
	}
	return ref("text")
}

// names is the pattern of the names in a mapping from names.
func (k Key) names() string {
	if k.Where == "file" {
		return longNames
	}
	return shortNames // expressions speak of them
}

// phaseKinds says that a phase does one thing, and has no keys that belong to another.
func phaseKinds(keys []Key) []any {
	var out []any
	for _, k := range keys {
		if _, is := kinds[k.Name]; !is {
			continue
		}
		var foreign object
		for _, other := range keys {
			if !other.Beside(k.Name) {
				foreign = append(foreign, member{other.Name, false})
			}
		}
		out = append(out, object{{"required", wordList(k.Name)}, {"properties", foreign}})
	}
	return out
}

// gate is an entry of a phase's gates, or of the section gates, where no other name of the section counts.
func (g *generator) gate(entry bool) object {
	props := g.properties(g.sections["gate"])
	var names []any
	for _, w := range g.words.Gates {
		names = append(names, w.Name)
		props = append(props, member{w.Name, g.gateArguments(w)})
	}
	long, short := object{{"type", "object"}, {"properties", props}}, object{{"enum", names}}
	if entry {
		short = object{{"type", "string"}, {"pattern", longNames}}
		common := object{{"type", "object"}, {"properties", g.properties(g.sections["gate"])}, {"additionalProperties", false}}
		long = append(long, member{"propertyNames", object{{"pattern", longNames}}}, member{"additionalProperties", common})
	} else {
		long = append(long, member{"additionalProperties", false})
	}
	return anyOf(short, append(long, member{"oneOf", oneGate()}))
}

// oneGate says that a mapping has one key beside require and message.
func oneGate() []any {
	neither := object{{"not", object{{"anyOf", []any{requires("require"), requires("message")}}}}}
	return []any{
		append(object{{"minProperties", 1}, {"maxProperties", 1}}, neither...),
		object{{"minProperties", 2}, {"maxProperties", 2}, {"oneOf", []any{requires("require"), requires("message")}}},
		object{{"minProperties", 3}, {"maxProperties", 3}, {"required", wordList("require", "message")}},
	}
}

// gateArguments are the arguments of a kind of gate, or the one that a bare value stands for.
func (g *generator) gateArguments(w GateWords) object {
	var bare object
	for _, k := range w.Args {
		if k.Shape == ShapeSection {
			return append(object{{"description", w.Doc}}, ref("gate_command")...)
		}
		if k.Name == w.Short {
			bare = g.value(k)
		}
	}
	long := object{{"type", "object"}, {"properties", append(g.properties(w.Args), g.properties(g.sections["gate"])...)}, {"additionalProperties", false}}
	if bare == nil {
		return append(object{{"description", w.Doc}}, long...)
	}
	return append(object{{"description", w.Doc}}, anyOf(bare, long)...)
}

// gateCommand is the command of a gate: a text, an argv, or a mapping.
func (g *generator) gateCommand() object {
	props := object{{"command", object{{"description", "the name of a command, or a command"}, {"$ref", "#/$defs/script"}}}}
	props = append(append(props, g.properties(g.sections["command"])...), g.properties(g.sections["gate"])...)
	return anyOf(ref("script"), object{{"type", "object"}, {"properties", props}, {"additionalProperties", false}})
}

// defaultValue is the default as a value of the key; false when the text says it in words, or nothing holds.
func (k Key) defaultValue() (any, bool) {
	d := k.Default
	switch k.Shape {
	case ShapeBool, ShapeChoice:
		if d == "true" || d == "false" {
			return d == "true", true
		}
		return nil, false
	case ShapeInt:
		n, err := strconv.Atoi(d)
		return n, err == nil
	case ShapeDuration:
		_, ok := parseDuration(d)
		return d, ok
	case ShapeTexts, ShapeExitCodes:
		inner, ok := strings.CutPrefix(d, "[")
		if !ok {
			return nil, false
		}
		var out []any
		for _, word := range strings.Split(strings.TrimSuffix(inner, "]"), ",") {
			word = strings.TrimSpace(word)
			if n, err := strconv.Atoi(word); err == nil && k.Shape == ShapeExitCodes {
				out = append(out, n)
			} else {
				out = append(out, word)
			}
		}
		return out, true
	case ShapeText:
		if d == "" || len(k.Enum) > 0 && !slices.Contains(k.Enum, d) {
			return nil, false
		}
		return d, true
	case ShapeSize:
		return d, d != ""
	}
	return nil, false
}
