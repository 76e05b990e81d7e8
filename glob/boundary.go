package glob

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Boundary says which paths a phase may write. Protection beats everything; then each layer must allow the
// path; no layers allow all. The zero Boundary protects Foundry's own paths and allows the rest.
type Boundary struct {
	Protect []Rule
	Writes  []Layer
}

// Rule protects the paths that a glob matches. Why says where that was written or what the path is:
// "project.protect", "the pipeline file".
type Rule struct {
	Glob string
	Why  string
}

// Layer is one list of writable globs; no globs mean that nothing may be written. Why says whose list it
// is; "" stands for "writes".
type Layer struct {
	Globs []string
	Why   string
}

// Handoff is the agents' own working area at the root of a workspace: always writable, never a change that
// anyone has to claim.
const Handoff = ".foundry-handoff"

// own are the directories at the root that belong to git and to Foundry.
var own = [...]string{".git", ".foundry", ".foundry-worktrees"}

// InHandoff says whether the path lies in the handoff area.
func InHandoff(path string) bool {
	return path == Handoff || strings.HasPrefix(path, Handoff+"/")
}

// Check says whether the path may be written; why is the reason of a refusal, worded to follow the path and
// a colon.
func (b Boundary) Check(path string) (why string, ok bool) {
	if !normal(path) {
		return "not a path inside the repository", false
	}
	if InHandoff(path) {
		return "", true
	}
	first, _, _ := strings.Cut(path, "/")
	for _, name := range own {
		// A file system that folds case takes ".GIT" for ".git".
		if strings.EqualFold(first, name) {
			return fmt.Sprintf("protected (%s belongs to %s)", name, owner(name)), false
		}
	}
	for _, r := range b.Protect {
		if Match(r.Glob, path) {
			return fmt.Sprintf("protected (%s in %s)", r.Glob, r.Why), false
		}
	}
	for _, l := range b.Writes {
		name := l.Why
		if name == "" {
			name = "writes"
		}
		if len(l.Globs) == 0 {
			return fmt.Sprintf("read-only (%s: [])", name), false
		}
		if !slices.ContainsFunc(l.Globs, func(g string) bool { return Match(g, path) }) {
			return fmt.Sprintf("not in %s %s", name, quoted(l.Globs)), false
		}
	}
	return "", true
}

// ReadOnly says that nothing but the handoff area may be written.
func (b Boundary) ReadOnly() bool {
	return slices.ContainsFunc(b.Writes, func(l Layer) bool { return len(l.Globs) == 0 })
}

func owner(name string) string {
	if name == ".git" {
		return "git"
	}
	return "Foundry"
}

// normal says that the path is relative and has no empty, "." or ".." segments, so that what a glob sees is
// what the file system would open.
func normal(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

// quoted shows globs the way the file has them: ["src/**", "go.mod"].
func quoted(globs []string) string {
	parts := make([]string, len(globs))
	for i, g := range globs {
		b, err := json.Marshal(g)
		if err != nil {
			panic("BUG: a string cannot be marshalled: " + err.Error())
		}
		parts[i] = string(b)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
