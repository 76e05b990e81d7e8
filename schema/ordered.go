package schema

// JSON in an order of our own. The schema is read by people too, and a schema that is made twice has to be the
// same bytes; a Go map has no order to keep.

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// object is a JSON object. Values are object, []any, string, bool and int.
type object []member

type member struct {
	name  string
	value any
}

func ref(name string) object { return object{{"$ref", "#/$defs/" + name}} }

func arrayOf(items object) object { return object{{"type", "array"}, {"items", items}} }

func mapOfAny(values object) object {
	return object{{"type", "object"}, {"additionalProperties", values}}
}

func anyOf(shapes ...object) object {
	out := make([]any, len(shapes))
	for i, s := range shapes {
		out[i] = s
	}
	return object{{"anyOf", out}}
}

func requires(name string) object { return object{{"required", wordList(name)}} }

func wordList(words ...string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}

// choices are words of which YAML reads some as booleans.
func choices(words []string) []any {
	out := wordList(words...)
	for i, w := range words {
		if w == "true" || w == "false" {
			out[i] = w == "true"
		}
	}
	return out
}

func integerBetween(low, high int) object {
	if low == high {
		return object{{"const", low}}
	}
	out := object{{"type", "integer"}, {"minimum", low}}
	if high != math.MaxInt {
		out = append(out, member{"maximum", high})
	}
	return out
}

// encode writes a value with two blanks a level; a list of words stands on one line.
func encode(b *strings.Builder, value any, indent string) {
	switch v := value.(type) {
	case object:
		if len(v) == 0 {
			b.WriteString("{}")
			return
		}
		b.WriteString("{\n")
		for i, m := range v {
			b.WriteString(indent + "  ")
			encode(b, m.name, "")
			b.WriteString(": ")
			encode(b, m.value, indent+"  ")
			if i < len(v)-1 {
				b.WriteByte(',')
			}
			b.WriteByte('\n')
		}
		b.WriteString(indent + "}")
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			encode(b, e, indent)
		}
		b.WriteByte(']')
	case string:
		var text strings.Builder
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			panic("BUG: a text is no JSON: " + err.Error())
		}
		b.WriteString(strings.TrimSuffix(text.String(), "\n"))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int:
		b.WriteString(strconv.Itoa(v))
	default:
		panic("BUG: a schema holds a value of another type")
	}
}
