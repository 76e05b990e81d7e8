// Package docs holds the parts of the documentation that the program itself shows: one section for each
// lint rule and one for each gate.
package docs

import (
	_ "embed"
	"strings"
)

//go:embed rules.md
var rules string

//go:embed gates.md
var gates string

// Rule is the section on a lint rule as Markdown, without its heading; false when there is none.
func Rule(name string) (string, bool) { return section(rules, name) }

// Gate is the section on a gate as Markdown, without its heading; false when there is none.
func Gate(name string) (string, bool) { return section(gates, name) }

// section cuts out what stands between the heading "## name" and the next heading of its kind.
func section(text, name string) (string, bool) {
	_, rest, ok := strings.Cut(text, "\n## "+name+"\n")
	if !ok {
		return "", false
	}
	body, _, _ := strings.Cut(rest, "\n## ")
	return strings.TrimSpace(body) + "\n", true
}
