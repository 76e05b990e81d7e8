package cli

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"foundry/internal/lazyregexp"
)

// This file finds definitions in the text of a pipeline file by its layout, comments included, for the
// places where the words a person wrote matter and not only what they mean: eject, explain, and telling
// whether an ejected copy is older than what ships. Whoever writes on the strength of it decodes the
// result again.

// textLines cuts a text into lines that keep their line breaks.
func textLines(text string) []string { return strings.SplitAfter(text, "\n") }

// sectionLines finds the lines of a key at the left margin: its own line, and the end of what belongs to it
// (exclusive): the last line that is neither blank nor a comment at the margin.
func sectionLines(lines []string, key string) (start, end int, ok bool) {
	start = -1
	for i, line := range lines {
		content := strings.TrimRight(line, " \t\r\n")
		margin := content != "" && content[0] != ' ' && content[0] != '\t'
		switch {
		case start < 0 && margin && keyOf(content) == key:
			start, end = i, i+1
		case start < 0 || content == "" || content[0] == '#':
		case margin && !strings.HasPrefix(content, "- "):
			return start, end, true
		default:
			end = i + 1
		}
	}
	return start, end, start >= 0
}

var keyPattern = lazyregexp.New(`^\s*(?:"([^"]+)"|'([^']+)'|([A-Za-z_][A-Za-z0-9_-]*))\s*:(?:\s|$)`)

// keyOf is the key with which a line begins, "" when it begins with none.
func keyOf(line string) string {
	m := keyPattern().FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return m[1] + m[2] + m[3]
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func isComment(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "#") }

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

// entryIndent is the indentation of the entries of a section, 0 when it has none.
func entryIndent(lines []string, start, end int) int {
	for _, line := range lines[start+1 : end] {
		if !isBlank(line) && !isComment(line) {
			return indentOf(line)
		}
	}
	return 0
}

// definition is the text of one entry of a section with the comments right above it, moved to the left margin.
func definition(text, section, name string) (string, bool) {
	lines := textLines(text)
	start, end, ok := sectionLines(lines, section)
	if !ok {
		return "", false
	}
	indent := entryIndent(lines, start, end)
	from := -1
	for i := start + 1; i < end && indent > 0; i++ {
		if indentOf(lines[i]) == indent && keyOf(lines[i]) == name {
			from = i
			break
		}
	}
	if from < 0 {
		return "", false
	}
	to := from + 1
	for to < end && (isBlank(lines[to]) || indentOf(lines[to]) > indent) {
		to++
	}
	for to > from+1 && (isBlank(lines[to-1]) || isComment(lines[to-1]) && indentOf(lines[to-1]) <= indent) {
		to--
	}
	for from > start+1 && isComment(lines[from-1]) && indentOf(lines[from-1]) == indent {
		from--
	}
	return shift(lines[from:to], -indent), true
}

// shift moves lines to the right, or to the left by no more than they are indented, and ends them with LF.
func shift(lines []string, by int) string {
	var b strings.Builder
	for _, line := range lines {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case isBlank(line):
		case by >= 0:
			b.WriteString(strings.Repeat(" ", by) + line)
		default:
			b.WriteString(line[min(-by, indentOf(line)):])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ejectMark is the comment that tells of which text a definition is a copy.
func ejectMark(name, shipped string) string {
	return fmt.Sprintf("# ejected from builtin/%s, text %s", name, digestOf(shipped))
}

var markPattern = lazyregexp.New(`(?m)^# ejected from builtin/([a-z0-9_-]+), text ([0-9a-f]{12})$`)

// digestOf names a text so that a change of it is noticed.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%x", sum[:6])
}

// isOutdated says that a definition was ejected from a builtin whose text has changed since.
func isOutdated(copied, shipped string) bool {
	m := markPattern().FindStringSubmatch(copied)
	return m != nil && m[2] != digestOf(shipped)
}
