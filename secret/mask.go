// Package secret owns the mask: it finds the values that must not be kept, in the spellings that they usually come in,
// and puts their names in their place. The same text always gives the same masked text, whatever pieces it comes in,
// and masked text is not changed by masking it again.
package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Shortest is how many bytes a value must have to be masked. A shorter one stands in too many texts by chance.
const Shortest = 4

// safeForm is how many bytes a spelling that is only a part of a value must have: a line of it, or what is certain of
// its base64.
const safeForm = 8

// Value is a secret with the name of the variable that holds it.
type Value struct{ Name, Text string }

// Mask replaces values. A nil Mask replaces nothing. It may be used by several goroutines.
type Mask struct {
	forms   []form           // the longest first
	starts  [1 << 16]bool    // the first two bytes of a form, as a number
	byStart map[uint16][]int // which forms begin so
	longest int
}

// form is one spelling of a value.
type form struct {
	text []byte
	put  []byte // what stands for it
}

// New makes a mask of values; those that are too short are left out. It is nil when nothing is to be masked.
func New(values []Value) *Mask {
	m := &Mask{byStart: map[uint16][]int{}}
	seen := map[string]bool{}
	for _, v := range values {
		if len(strings.TrimSpace(v.Text)) < Shortest {
			continue
		}
		for _, text := range spellings(v.Text) {
			if !seen[text] {
				seen[text] = true
				m.forms = append(m.forms, form{[]byte(text), []byte("[secret " + v.Name + "]")})
			}
		}
	}
	if len(m.forms) == 0 {
		return nil
	}
	slices.SortStableFunc(m.forms, func(a, b form) int { return len(b.text) - len(a.text) })
	m.longest = len(m.forms[0].text)
	for i, f := range m.forms {
		s := start(f.text)
		m.starts[s] = true
		m.byStart[s] = append(m.byStart[s], i)
	}
	return m
}

func start(b []byte) uint16 { return uint16(b[0])<<8 | uint16(b[1]) }

// spellings are the forms in which a value is looked for: itself, its lines, and as JSON, URLs, base64 and hexadecimal
// digits have it.
func spellings(value string) []string {
	trimmed := strings.TrimSpace(value)
	out := []string{value, trimmed, inJSON(value, true), inJSON(value, false), inJSON(trimmed, true), inJSON(trimmed, false)}
	for _, v := range []string{value, trimmed} {
		out = append(out, url.QueryEscape(v), url.PathEscape(v), hex.EncodeToString([]byte(v)), strings.ToUpper(hex.EncodeToString([]byte(v))),
			base64.StdEncoding.EncodeToString([]byte(v)), base64.URLEncoding.EncodeToString([]byte(v)))
	}
	lines := strings.FieldsFunc(trimmed, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) > 1 {
		for _, line := range lines {
			// The frame of a key in PEM is no secret.
			if line = strings.TrimSpace(line); len(line) >= safeForm && !strings.HasPrefix(line, "-----") {
				out = append(out, line, inJSON(line, false))
			}
		}
	}
	out = append(out, inBase64(trimmed)...)
	return slices.DeleteFunc(out, func(s string) bool { return len(s) < Shortest })
}

// inJSON is the value as it stands between the quotes of a JSON string.
func inJSON(value string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if err := e.Encode(value); err != nil {
		panic("BUG: secret: a string has no JSON: " + err.Error())
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}

// inBase64 are the parts of base64 texts that are the same wherever the value stands in what was encoded, and the lines
// of such a text when it was broken after 76 characters.
func inBase64(value string) []string {
	var out []string
	for _, code := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := code.EncodeToString(append(make([]byte, before), value...))
			// Characters that also hold bits of what stands before and behind.
			from, to := (before*8+5)/6, (before+len(value))*8/6
			if part := text[from:to]; len(part) >= safeForm {
				out = append(out, part)
			}
			for line := text; before == 0 && len(text) > 76 && len(line) >= safeForm; line = line[min(76, len(line)):] {
				out = append(out, line[:min(76, len(line))])
			}
		}
	}
	return out
}

// Text returns the text with every value replaced.
func (m *Mask) Text(s string) string {
	if m == nil || len(s) < Shortest {
		return s
	}
	if out, changed := m.replace([]byte(s)); changed {
		return string(out)
	}
	return s
}

// Bytes returns what Text would; it is p itself when there is nothing to replace.
func (m *Mask) Bytes(p []byte) []byte {
	if m == nil {
		return p
	}
	if out, changed := m.replace(p); changed {
		return out
	}
	return p
}

// Finds reports whether a text holds a value, and the name of the first one.
func (m *Mask) Finds(s string) (name string, ok bool) {
	if m == nil {
		return "", false
	}
	p := []byte(s)
	for i := m.next(p, 0); i < len(p); i = m.next(p, i+1) {
		if f := m.at(p[i:]); f != nil {
			return strings.TrimSuffix(strings.TrimPrefix(string(f.put), "[secret "), "]"), true
		}
	}
	return "", false
}

// next returns the first place from i on at which a form may begin, and the length of p when there is none.
func (m *Mask) next(p []byte, i int) int {
	for ; i+1 < len(p); i++ {
		if m.starts[start(p[i:])] {
			return i
		}
	}
	return len(p)
}

// at returns the longest form that p begins with, or nil; p has two bytes that a form begins with.
func (m *Mask) at(p []byte) *form {
	for _, i := range m.byStart[start(p)] {
		if bytes.HasPrefix(p, m.forms[i].text) {
			return &m.forms[i]
		}
	}
	return nil
}

func (m *Mask) replace(p []byte) (out []byte, changed bool) {
	from := 0
	for i := m.next(p, 0); i < len(p); {
		f := m.at(p[i:])
		if f == nil {
			i = m.next(p, i+1)
			continue
		}
		out = append(append(out, p[from:i]...), f.put...)
		from = i + len(f.text)
		i = m.next(p, from)
		changed = true
	}
	if !changed {
		return p, false
	}
	return append(out, p[from:]...), true
}
