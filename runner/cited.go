package runner

import (
	"strconv"
	"strings"

	"foundry/gates"
	"foundry/internal/lazyregexp"
)

// This file tells whether what a reviewer cites exists.

// A place in a file, as people and programs write it behind a path: ":12", ":12:3", ":12-20", "#L12-L20".
var placeBehind = lazyregexp.New(`(:\d+(:\d+)?(-\d+)?|#L\d+(-L?\d+)?)$`)

var callNumber = lazyregexp.New(`^(?i:call)\s*#?\s*(\d+)\b`)

// CheckCited looks for each thing that is cited: a call by its number or as it was listed, else a path, with a place in
// it or without. exists says whether there is such a path, or was one among what the visit changed.
func CheckCited(cited, calls []string, exists func(path string) bool) []gates.Check {
	var out []gates.Check
	for _, item := range cited {
		c := gates.Check{Item: item}
		switch path, ok := strings.TrimSpace(item), false; {
		case isCall(path, calls):
			c.OK, c.Note = true, "a call that was made"
		default:
			if path, ok = strings.Trim(path, "`\"'"), path != "" && exists(path); !ok {
				path = placeBehind().ReplaceAllString(path, "")
				ok = path != "" && exists(path)
			}
			if c.OK = ok; ok {
				c.Note = "it exists"
			} else {
				c.Note = "no such path, and no such call"
			}
		}
		out = append(out, c)
	}
	return out
}

func isCall(item string, calls []string) bool {
	if m := callNumber().FindStringSubmatch(item); m != nil {
		n, err := strconv.Atoi(m[1])
		return err == nil && n >= 1 && n <= len(calls)
	}
	for _, call := range calls {
		_, what, _ := strings.Cut(call, " ")
		if item != "" && (item == call || item == what) {
			return true
		}
	}
	return false
}
