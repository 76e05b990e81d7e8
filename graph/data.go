package graph

import (
	"encoding/json"
	"strconv"
	"strings"

	"foundry/schema"
)

// This file turns free-form values of a document into the text forms that a graph holds.

// reply is what a scripted agent answers: a string as it is, anything else as JSON.
func reply(d schema.Data) string {
	if s, ok := d.Value.(string); ok {
		return s
	}
	if !d.Set {
		return ""
	}
	var b strings.Builder
	writeJSON(&b, d)
	return b.String()
}

// writeJSON keeps the order of the file.
func writeJSON(b *strings.Builder, d schema.Data) {
	switch v := d.Value.(type) {
	case nil:
		b.WriteString("null")
	case []schema.Data:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, item)
		}
		b.WriteByte(']')
	case []schema.DataField:
		b.WriteByte('{')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeScalar(b, item.Name.Value)
			b.WriteByte(':')
			writeJSON(b, item.Value)
		}
		b.WriteByte('}')
	default:
		writeScalar(b, v)
	}
}

func writeScalar(b *strings.Builder, v any) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: a value of a document is no JSON: " + err.Error())
	}
	b.WriteString(strings.TrimSuffix(text.String(), "\n"))
}

// SplitList reads the text form of a list: a JSON array of strings, else words between commas. A text of
// blanks is the empty list.
func SplitList(text string) []string {
	text = strings.TrimSpace(text)
	out := []string{}
	if strings.HasPrefix(text, "[") && json.Unmarshal([]byte(text), &out) == nil {
		return out
	}
	out = []string{}
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// CheckParam says why a text is no value of the param; "" when it is one.
func (p *Param) CheckParam(text string) (why string) {
	switch p.Type {
	case ParamInt:
		if _, err := strconv.Atoi(text); err != nil {
			return "must be a whole number"
		}
	case ParamBool:
		if text != "true" && text != "false" {
			return "must be true or false"
		}
	case ParamChoice:
		for _, choice := range p.Choices {
			if choice == text {
				return ""
			}
		}
		return "must be one of " + listed(p.Choices)
	case ParamPath:
		if text == "" || strings.HasPrefix(text, "/") || text == ".." || strings.HasPrefix(text, "../") || strings.Contains(text, "/../") || strings.HasSuffix(text, "/..") {
			return "must be a path inside the repository"
		}
	}
	return ""
}
