package gates

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The gates that look at declared files: do they exist, do they have bytes, do they parse.

// declared are the claims about files as they are: not those of a plan, each path once. Of several fields
// that declare a path, one that demands more of it than changed_files stands for all.
func declared(claims []Claim) []Claim {
	var out []Claim
	at := make(map[string]int)
	for _, c := range claims {
		i, seen := at[c.Path]
		switch {
		case c.Planned:
		case !seen:
			at[c.Path] = len(out)
			out = append(out, c)
		case mayBeGone(out[i]):
			out[i].Field = c.Field
		}
	}
	return out
}

// jsonClaims are the declared files whose name ends in .json, in any case.
func jsonClaims(claims []Claim) []Claim {
	return slices.DeleteFunc(declared(claims), func(c Claim) bool {
		return len(c.Path) < len(".json") || !strings.EqualFold(c.Path[len(c.Path)-len(".json"):], ".json")
	})
}

// paths are the paths of claims, sorted.
func paths(claims []Claim) []string {
	var out []string
	for _, c := range claims {
		out = append(out, c.Path)
	}
	slices.Sort(out)
	return out
}

// mayBeGone says that the claim is kept by a deletion, too: changed_files lists what changed, and that is
// one way to change. Every other field says that there is a file.
func mayBeGone(c Claim) bool { return c.Field == "changed_files" }

// deleted says that the visit deleted the path or renamed it away.
func deleted(changes []Change, path string) bool {
	return slices.ContainsFunc(changes, func(c Change) bool {
		return c.Kind == Deleted && c.Path == path || c.From == path
	})
}

// written says that the visit created or changed the path, or something below it.
func written(changes []Change, path string) bool {
	return slices.ContainsFunc(changes, func(c Change) bool {
		if c.Kind == Deleted {
			return false
		}
		return c.Path == path || strings.HasPrefix(c.Path, strings.TrimSuffix(path, "/")+"/")
	})
}

// absent is the check of a path that is no file to look into, and false when it is one.
func absent(e Evidence, c Claim) (Check, bool) {
	f, looked := e.Files[c.Path]
	switch {
	case !looked:
		return Check{Item: c.Path, Note: "was not looked at"}, true
	case f.Problem != "":
		return Check{Item: c.Path, Note: f.Problem + ": name a file of the repository, from its root"}, true
	case f.Exists:
		return Check{}, false
	case mayBeGone(c) && deleted(e.Changes, c.Path):
		return Check{Item: c.Path, OK: true, Note: "deleted in this visit"}, true
	case deleted(e.Changes, c.Path):
		return Check{Item: c.Path, Note: fmt.Sprintf("was deleted in this visit: take it out of %s, or write it", c.Field)}, true
	}
	return Check{Item: c.Path, Note: fmt.Sprintf("does not exist: write it, or take it out of %s", c.Field)}, true
}

func (s Spec) artifactsExist(e Evidence) []Check {
	var out []Check
	for _, c := range declared(e.Claims) {
		check, gone := absent(e, c)
		f := e.Files[c.Path]
		switch {
		case gone:
		case s.MayExist:
			check = Check{Item: c.Path, OK: true, Note: f.sized()}
		case written(e.Changes, c.Path):
			check = Check{Item: c.Path, OK: true, Note: "written in this visit, " + f.sized()}
		default:
			check = Check{Item: c.Path, Note: fmt.Sprintf("exists, but this visit did not write it, or git ignores it: write it, or take it out of %s", c.Field)}
		}
		out = append(out, check)
	}
	return out
}

// sized is the type of a file with its size.
func (f File) sized() string {
	if f.Type == "file" {
		return bytesOf(f.Size)
	}
	return f.Type
}

func bytesOf(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

func filesNonEmpty(e Evidence) []Check {
	var out []Check
	for _, c := range declared(e.Claims) {
		check, gone := absent(e, c)
		f := e.Files[c.Path]
		switch {
		case gone:
		case f.Type == "dir":
			continue // it holds files, and those are what can be empty
		case f.Size == 0:
			check = Check{Item: c.Path, Note: fmt.Sprintf("is empty: write its content, or take it out of %s", c.Field)}
		default:
			check = Check{Item: c.Path, OK: true, Note: f.sized()}
		}
		out = append(out, check)
	}
	return out
}

func jsonParses(e Evidence) []Check {
	var out []Check
	for _, c := range jsonClaims(e.Claims) {
		check, gone := absent(e, c)
		f := e.Files[c.Path]
		switch {
		case gone:
		case f.Type != "file":
			check = Check{Item: c.Path, Note: fmt.Sprintf("is a %s, not a file that could be parsed", f.Type)}
		case f.Truncated:
			check = Check{Item: c.Path, Note: fmt.Sprintf("%s are more than can be checked, only %d were read", bytesOf(f.Size), len(f.Data))}
		default:
			check = parseJSON(c.Path, f.Data)
		}
		out = append(out, check)
	}
	return out
}

// parseJSON checks that data is one JSON value.
func parseJSON(path string, data []byte) Check {
	var value json.RawMessage
	err := json.Unmarshal(data, &value)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return Check{Item: path, OK: true, Note: fmt.Sprintf("%s, %s", shapeOf(value), bytesOf(int64(len(data))))}
	case len(bytes.TrimSpace(data)) == 0:
		return Check{Item: path, Note: "is empty, and that is not JSON"}
	case bytes.HasPrefix(data, []byte("\ufeff")):
		return Check{Item: path, Note: "begins with a byte order mark, which JSON does not have: remove it"}
	case errors.As(err, &syntax):
		line, column := place(data, int(syntax.Offset)-1)
		return Check{Item: path, Note: fmt.Sprintf("does not parse: line %d, column %d: %v", line, column, syntax)}
	}
	return Check{Item: path, Note: "does not parse: " + err.Error()}
}

func shapeOf(value []byte) string {
	switch bytes.TrimSpace(value)[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// place converts an offset to a line and a column in bytes, both from 1.
func place(data []byte, offset int) (line, column int) {
	before := data[:min(max(offset, 0), len(data))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}
