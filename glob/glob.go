// Package glob owns the path pattern: one meaning of a glob for boundaries, gates and expressions.
//
// Patterns and paths are relative to the repository root and use "/" on every system. A pattern is anchored
// at the root; "**" crosses directories and also matches none; "*" and "?" stay within a name and match a
// leading dot; a trailing "/" means everything below; letters are compared as written. There is no negation.
package glob

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Match says whether the pattern matches the path. A pattern that Validate refuses matches nothing.
func Match(pattern, path string) bool {
	if strings.HasSuffix(pattern, "/") {
		// "src/**" would match "src" itself too, which a trailing slash does not mean.
		pattern += "**/*"
	}
	ok, err := doublestar.Match(pattern, path)
	return ok && err == nil
}

// Literal is the pattern that matches exactly this path.
func Literal(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`).Replace(path)
}

// Base is the directory in which all that a pattern matches lies, as far as it is written without a wildcard;
// "." is the root.
func Base(pattern string) string {
	dir, _ := doublestar.SplitPattern(pattern)
	return dir
}

// Validate says why a pattern could never match what its author meant; nil when it is fine. The message is
// worded for a diagnostic: what is wrong and what to write.
func Validate(pattern string) error {
	switch {
	case pattern == "":
		return errors.New("a glob is empty, write \"**\" for every file")
	case strings.HasPrefix(pattern, "!"):
		return errors.New("a glob cannot be negated, list what must not be written under `protect`")
	case strings.HasPrefix(pattern, "/"):
		return fmt.Errorf("globs are relative to the repository root, write %q", strings.TrimLeft(pattern, "/"))
	case strings.ContainsRune(pattern, 0):
		return errors.New("a glob contains a NUL character")
	case !doublestar.ValidatePattern(pattern):
		return fmt.Errorf("%q is not a glob: a bracket, a brace or a backslash is left open", pattern)
	}
	return validateSegments(pattern)
}

// validateSegments refuses what a normalised path never contains: it looks at the names between slashes
// that stand outside braces, and at alternatives that end in a slash, which no path does.
func validateSegments(pattern string) error {
	start, depth, class := 0, 0, false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '{':
			depth++
		case depth > 0 && (c == ',' || c == '}'):
			if pattern[i-1] == '/' {
				return fmt.Errorf("%q ends an alternative in \"/\", write \"/**\" there", pattern)
			}
			if c == '}' {
				depth--
			}
		case depth == 0 && c == '/':
			if err := validateSegment(pattern, pattern[start:i]); err != nil {
				return err
			}
			start = i + 1
		}
	}
	if start == len(pattern) {
		return nil // the trailing slash that means everything below
	}
	return validateSegment(pattern, pattern[start:])
}

func validateSegment(pattern, segment string) error {
	switch {
	case segment == "":
		return fmt.Errorf("%q contains an empty name (\"//\")", pattern)
	case segment == ".":
		return fmt.Errorf("%q contains \".\", write the path without it", pattern)
	case segment == "..":
		return fmt.Errorf("%q leaves its directory with \"..\", globs are relative to the repository root", pattern)
	case segment != "**" && !strings.ContainsAny(segment, "{[") && !escaped(segment, "**"):
		return fmt.Errorf("%q has \"**\" beside other characters, it crosses directories only when it stands alone between slashes", pattern)
	}
	return nil
}

// escaped says that no occurrence of what in the segment is free of a backslash before it.
func escaped(segment, what string) bool {
	for i := 0; i+len(what) <= len(segment); i++ {
		if segment[i] == '\\' {
			i++
		} else if segment[i:i+len(what)] == what {
			return false
		}
	}
	return true
}
