package workspace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What a snapshot knows besides its tree is written as JSON, which cannot hold every path: a path is bytes, and
// JSON is text. So whatever is written is escaped first, and comes back as the bytes it was.

// meta is what a snapshot knows besides its tree. It is written into the message of its commit.
type meta struct {
	Head    string             `json:"head,omitempty"`
	Branch  string             `json:"branch,omitempty"`
	Own     map[string]ownFile `json:"own,omitempty"`
	Special map[string]string  `json:"special,omitempty"` // path: fifo, socket, device
	Nested  map[string]string  `json:"nested,omitempty"`  // nested repository: its HEAD, or ""
	Empty   []string           `json:"empty,omitempty"`   // empty directories
	Hidden  map[string]string  `json:"hidden,omitempty"`  // .gitignore files that are in no tree, since they hide themselves: content
	Busy    []string           `json:"busy,omitempty"`    // operations that HEAD is in the middle of
	Index   string             `json:"index,omitempty"`   // the file in the snapshot area that is a copy of the index
}

// equal reports whether two metas say the same.
func (m meta) equal(o meta) bool {
	return m.Head == o.Head && m.Branch == o.Branch && maps.Equal(m.Own, o.Own) && maps.Equal(m.Special, o.Special) && maps.Equal(m.Nested, o.Nested) &&
		slices.Equal(m.Empty, o.Empty) && maps.Equal(m.Hidden, o.Hidden) && slices.Equal(m.Busy, o.Busy) && m.Index == o.Index
}

// each returns a meta in which f has been applied to every text that may hold any bytes.
func (m meta) each(f func(string) string) meta {
	m.Branch = f(m.Branch)
	m.Own = eachKey(m.Own, f)
	m.Special = eachKey(m.Special, f)
	m.Nested = eachKey(m.Nested, f)
	m.Empty = eachOf(m.Empty, f)
	m.Hidden = eachKey(m.Hidden, f)
	for p, text := range m.Hidden {
		m.Hidden[p] = f(text)
	}
	return m
}

func (m meta) encode() []byte {
	b, err := json.Marshal(m.each(escape))
	if err != nil {
		panic("BUG: workspace: " + err.Error())
	}
	return b
}

func decodeMeta(text string) (meta, error) {
	var m meta
	err := json.Unmarshal([]byte(text), &m)
	return m.each(unescape), err
}

func eachKey[V any](m map[string]V, f func(string) string) map[string]V {
	if m == nil {
		return nil
	}
	out := make(map[string]V, len(m))
	for k, v := range m {
		out[f(k)] = v
	}
	return out
}

func eachOf(list []string, f func(string) string) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = f(s)
	}
	return out
}

// escape makes valid UTF-8 of any bytes: those that are none, and the percent sign, become %XX.
func escape(s string) string {
	if utf8.ValidString(s) && !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || r == '%' {
			fmt.Fprintf(&b, "%%%02X", s[0])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// unescape undoes escape. What escape does not write it leaves as it is.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
