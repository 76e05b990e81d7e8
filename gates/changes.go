package gates

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"foundry/glob"
)

// The gates that look at what a visit changed. The handoff area is not looked at, and neither are its paths
// among the claims.

func diffMatchesClaims(e Evidence) []Check {
	claims := declared(e.Claims)
	claims = slices.DeleteFunc(claims, func(c Claim) bool { return glob.InHandoff(c.Path) })
	claimed := make(map[string]bool)
	for _, c := range claims {
		claimed[c.Path] = true
	}
	now := make(map[string]Change)
	var out []Check
	for _, c := range e.Changes {
		for _, side := range c.sides() {
			now[side] = c
			out = append(out, changeClaimed(c, side, claimed[side]))
		}
	}
	earlier := make(map[string]bool)
	for _, c := range e.Earlier {
		for _, side := range c.sides() {
			earlier[side] = true
		}
	}
	for _, c := range claims {
		if _, changed := now[c.Path]; changed {
			continue
		}
		if earlier[c.Path] {
			out = append(out, Check{Item: c.Path, OK: true, Note: "from an earlier visit"})
			continue
		}
		out = append(out, Check{Item: c.Path, Note: claimUnfounded(c, now)})
	}
	return out
}

// sides are the paths that a change is seen at: both names of a rename, those in the handoff area left out.
func (c Change) sides() []string {
	var out []string
	if c.From != "" && c.From != c.Path {
		out = append(out, c.From)
	}
	out = append(out, c.Path)
	return slices.DeleteFunc(out, glob.InHandoff)
}

// changeClaimed is the check of one side of a change.
func changeClaimed(c Change, side string, claimed bool) Check {
	what := c.Kind.String()
	switch {
	case c.EOLOnly:
		return Check{Item: side, OK: true, Note: "line endings only"}
	case c.From == side:
		what = "renamed to " + c.Path
	case c.Kind == Renamed:
		what = "renamed from " + c.From
	}
	if claimed {
		return Check{Item: side, OK: true, Note: what}
	}
	return Check{Item: side, Note: what + ", but not claimed: list it, or undo the change"}
}

// claimUnfounded says what is wrong with a claim that nothing bears out, and how it may have been meant.
func claimUnfounded(c Claim, now map[string]Change) string {
	cleaned := path.Clean(c.Path)
	if _, changed := now[cleaned]; changed && cleaned != c.Path {
		return fmt.Sprintf("is not how the changed file is named: write %s", cleaned)
	}
	var below []string
	for p := range now {
		if strings.EqualFold(p, c.Path) {
			return fmt.Sprintf("differs from the changed file in case: write %s", p)
		}
		if strings.HasPrefix(p, cleaned+"/") {
			below = append(below, p)
		}
	}
	if len(below) > 0 {
		slices.Sort(below)
		return fmt.Sprintf("is a directory: name the files in it, such as %s", below[0])
	}
	return fmt.Sprintf("did not change: take it out of %s, or make the change", c.Field)
}

func (s Spec) testsUntouched(changes []Change) []Check {
	var out []Check
	seen := make(map[string]bool)
	for _, pattern := range s.Globs {
		touched := false
		for _, c := range changes {
			for _, side := range c.sides() {
				if !glob.Match(pattern, side) {
					continue
				}
				touched = true
				if !seen[side] {
					seen[side] = true
					out = append(out, Check{Item: side, Note: c.what() + ", but must stay as it was at the start: put it back"})
				}
			}
		}
		if !touched {
			out = append(out, Check{Item: pattern, OK: true, Note: "unchanged"})
		}
	}
	return out
}

// what says how the path changed.
func (c Change) what() string {
	if c.EOLOnly {
		return c.Kind.String() + " (line endings only)"
	}
	return c.Kind.String()
}

func (s Spec) maxDiff(changes []Change) []Check {
	files, lines, gone := 0, 0, 0
	for _, c := range changes {
		if c.EOLOnly || len(c.sides()) == 0 {
			continue
		}
		files++
		lines += c.Added + c.Removed
		if c.Kind == Deleted {
			gone++
		}
	}
	if files == 0 {
		return nil
	}
	var out []Check
	for _, n := range [...]struct {
		item        string
		count, most int
		advice      string
	}{
		{"files", files, s.MaxFiles, "change fewer files"},
		{"lines", lines, s.MaxLines, "make a smaller change"},
		{"deleted", gone, s.MaxDeleted, "put back what need not go"},
	} {
		switch {
		case n.most < 0:
		case n.count > n.most:
			out = append(out, Check{Item: n.item, Note: fmt.Sprintf("%d, at most %d are allowed: %s", n.count, n.most, n.advice)})
		default:
			out = append(out, Check{Item: n.item, OK: true, Note: fmt.Sprintf("%d of at most %d", n.count, n.most)})
		}
	}
	return out
}
