package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// This file reads the names of phases: call/phase for one of a called pipeline, phase[key] for an item. A key can be
// any text that can be printed, such as a path.

// Within says whether a phase belongs to what another one runs, by their names.
func Within(of, name string) bool {
	rest, ok := strings.CutPrefix(name, of)
	return ok && (strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "["))
}

// Typed is the name of a phase as a person types it in a shell: the brackets and blanks of a key mean something there.
func Typed(phase string) string {
	if !strings.ContainsFunc(phase, func(r rune) bool { return !strings.ContainsRune(plainInShells, r) }) {
		return phase
	}
	return "'" + strings.ReplaceAll(phase, "'", `'\''`) + "'"
}

const plainInShells = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./@"

// longestFile is how long the name of a phase may be as a part of the name of a file, in bytes.
const longestFile = 120

// FileName is the name of a phase as a part of the name of a file: the slash before a called phase is a dot, which no
// phase has, and of a key only small letters, digits, _ and - stay as they are. Two phases never have the same.
func FileName(phase string) string {
	var b strings.Builder
	depth := 0
	for i := range len(phase) {
		switch c := phase[i]; {
		case c == '[':
			depth++
			b.WriteByte(c)
		case c == ']':
			depth--
			b.WriteByte(c)
		case c == '/' && depth == 0:
			b.WriteByte('.')
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	name := b.String()
	if len(name) <= longestFile {
		return name
	}
	sum := sha256.Sum256([]byte(phase))
	return name[:longestFile-17] + "~" + hex.EncodeToString(sum[:8])
}
