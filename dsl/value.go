package dsl

// Values as text: for prompts and feedback, and on one line for people.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text is a value as people and prompts read it: a text as it is, a list as bullets, an object as indented
// JSON, an item that is no text as JSON on its line. Nothing (nil, an empty list) is the empty text.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any, []string, []int:
		return bullets(elements(v))
	}
	return encode(v, "  ")
}

func bullets(list []any) string {
	var b strings.Builder
	for i, e := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("- ")
		switch e := e.(type) {
		case string:
			b.WriteString(strings.ReplaceAll(e, "\n", "\n  "))
		case bool, int, float64:
			b.WriteString(Text(e))
		default:
			b.WriteString(encode(e, ""))
		}
	}
	return b.String()
}

// encode is a value as JSON, with the characters < > & as they are and keys sorted.
func encode(v any, indent string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v) // an infinite number, the one value here that JSON does not have
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// brief is a value on one line of at most 200 bytes.
func brief(v any) string {
	s := encode(v, "")
	if len(s) <= 200 {
		return s
	}
	cut := 200
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
