package envelope

import (
	"encoding/json"
	"strings"
)

// Example is a JSON object for the prompt: a value for each field that shows its type, an enum as all its
// values. It is not itself a valid envelope, so that an agent which repeats it has reported nothing.
func (k *Kind) Example() string {
	var b strings.Builder
	writeFields(&b, k.Fields, "")
	return b.String()
}

func writeFields(b *strings.Builder, fields []Field, indent string) {
	if len(fields) == 0 {
		b.WriteString("{}")
		return
	}
	b.WriteString("{\n")
	for i, f := range fields {
		b.WriteString(indent + "  " + quote(f.Name) + ": ")
		f.write(b, indent+"  ")
		if i < len(fields)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString(indent + "}")
}

func (f Field) write(b *strings.Builder, indent string) {
	switch f.Type {
	case Int:
		b.WriteString("0")
	case Number:
		b.WriteString("0.5")
	case Bool:
		b.WriteString("false")
	case Nested:
		writeFields(b, f.Fields, indent)
	case List:
		element := Field{Type: f.Of, Enum: f.Enum, Fields: f.Fields, Doc: f.Doc}
		b.WriteByte('[')
		element.write(b, indent)
		b.WriteByte(']')
	case Path:
		b.WriteString(quote(f.shown("path/from/the/repository/root")))
	default:
		b.WriteString(quote(f.shown("a string")))
	}
}

// shown is the text that stands for a string.
func (f Field) shown(otherwise string) string {
	switch {
	case f.Enum != nil:
		return strings.Join(f.Enum, " | ")
	case f.Doc != "":
		return f.Doc
	}
	return otherwise
}

// quote makes a JSON string; unlike Marshal it leaves <, > and & as they are.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("BUG: a string cannot be encoded: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}
