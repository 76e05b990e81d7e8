package graph

import (
	"maps"
	"path"
	"slices"
	"strings"

	"foundry/diag"
	"foundry/glob"
	"foundry/schema"
)

// This file adds the definitions of the files that a pipeline file includes, and of those that they include.
// What comes of it is one document in which every name stands once: a file's own definitions come first and win
// over those that it includes; two files that are included beside each other may not define the same name. A file
// that is reached on two ways is read once.

// testFiles is how the names of files of tests end, which no pattern means.
const testFiles = ".foundry-test.yaml"

// unit is one file of those that make up the document.
type unit struct {
	path     string
	doc      *schema.Document
	includes []*unit
	open     bool // its includes are being followed
}

// include makes c.user the document of the file with all that it includes.
func (c *Catalogue) include() {
	if !c.user.Include.Set {
		return
	}
	known := map[string]*unit{}
	root := &unit{path: c.files.Path, doc: c.user}
	known[root.path] = root
	c.follow(root, known)
	merged := *c.user
	merged.Commands = mergeUnits(c, root, "command", commandsOf, func(d *schema.Command) *schema.Text { return &d.Name })
	merged.Envelopes = mergeUnits(c, root, "envelope", envelopesOf, func(d *schema.Envelope) *schema.Text { return &d.Name })
	merged.Gates = mergeUnits(c, root, "gate", gatesOf, func(d *schema.Gate) *schema.Text { return &d.Name })
	merged.Agents = mergeUnits(c, root, "agent", agentsOf, func(d *schema.Agent) *schema.Text { return &d.Name })
	merged.Pipelines = mergeUnits(c, root, "pipeline", pipelinesOf, func(d *schema.Pipeline) *schema.Text { return &d.Name })
	merged.Tests = slices.Clone(root.doc.Tests)
	for _, u := range reached(root) {
		merged.Tests = append(merged.Tests, u.doc.Tests...)
	}
	c.user = &merged
}

func commandsOf(d *schema.Document) []schema.Command   { return d.Commands }
func envelopesOf(d *schema.Document) []schema.Envelope { return d.Envelopes }
func gatesOf(d *schema.Document) []schema.Gate         { return d.Gates }
func agentsOf(d *schema.Document) []schema.Agent       { return d.Agents }
func pipelinesOf(d *schema.Document) []schema.Pipeline { return d.Pipelines }

// reached are the units that a unit includes, directly or not, each once, in the order of their patterns.
func reached(u *unit) []*unit {
	var out []*unit
	var visit func(*unit)
	visit = func(u *unit) {
		for _, next := range u.includes {
			if !slices.Contains(out, next) {
				out = append(out, next)
				visit(next)
			}
		}
	}
	visit(u)
	return out
}

// follow reads the files that a unit includes.
func (c *Catalogue) follow(u *unit, known map[string]*unit) {
	u.open = true
	defer func() { u.open = false }()
	for i := range u.doc.Include.Items {
		t := u.doc.Include.Items[i]
		for _, name := range c.matches(u, t) {
			next, ok := known[name]
			switch {
			case ok && next.open:
				d := c.included.Report(diag.Cycle, t.Span(), "%q includes itself", c.shown(name))
				d.Hintf("include files that do not lead back here")
				if u.path != name {
					d.Hintf("%q is included by it, directly or not: remove one of the two", c.shown(u.path))
				}
				continue
			case !ok:
				if next = c.readUnit(name, t); next == nil {
					continue
				}
				known[name] = next
				c.follow(next, known)
			}
			if !slices.Contains(u.includes, next) {
				u.includes = append(u.includes, next)
			}
		}
	}
}

// matches are the files that an entry of include means, and the entry is noted as protected.
func (c *Catalogue) matches(u *unit, t schema.Text) []string {
	pattern, inside := join(u.path, t.Value)
	if !inside {
		c.partial = true
		c.included.Report(diag.MissingFile, t.Span(), "%q is outside the repository", t.Value).
			Hintf("name files inside the repository, relative to the one that includes them")
		return nil
	}
	if literal(t.Value) {
		c.protect = append(c.protect, glob.Literal(pattern))
		return []string{pattern}
	}
	if err := glob.Validate(pattern); err != nil {
		c.partial = true
		c.included.Report(diag.BadGlob, t.Span(), "%s", err)
		return nil
	}
	c.protect = append(c.protect, pattern)
	var found []string
	var err error
	if c.files.List != nil {
		found, err = c.files.List(pattern)
	}
	if err != nil {
		c.partial = true
		c.included.Report(diag.MissingFile, t.Span(), "the files of %q cannot be listed: %s", t.Value, err).Hintf("name them one by one")
		return nil
	}
	found = slices.DeleteFunc(slices.Clone(found), func(name string) bool { return name == u.path || strings.HasSuffix(name, testFiles) })
	if len(found) == 0 {
		c.partial = true
		c.included.Report(diag.MissingFile, t.Span(), "%q matches no file", t.Value).
			Hintf("patterns are relative to the directory of %s; create a file that it matches, or remove it", path.Base(u.path))
	}
	return found
}

// readUnit reads an included file; nil when there is nothing in it that could be used.
func (c *Catalogue) readUnit(name string, t schema.Text) *unit {
	text, err := "", error(nil)
	if c.files.Read == nil {
		c.partial = true
		c.included.Report(diag.MissingFile, t.Span(), "%q cannot be read: there is nothing to read files from", t.Value)
		return nil
	}
	if text, err = c.files.Read(name); err != nil {
		c.partial = true
		c.included.Report(diag.MissingFile, t.Span(), "%q cannot be read: %s", t.Value, err).Hintf("create %s, or remove it from include", name)
		return nil
	}
	src := diag.NewSource(c.shown(name), text)
	c.homes[src] = name
	doc, found := schema.Decode(src)
	c.included.Merge(found)
	c.partial = c.partial || doc.Broken || doc.Unlisted
	c.unread = c.unread || doc.Unread
	for _, key := range []struct {
		name string
		at   diag.Span
	}{{"default", doc.Default.Span()}, {"project", doc.Project.Span}} {
		if !key.at.IsZero() {
			c.included.Report(diag.UnknownKey, key.at, "%q has no place in a file that is included", key.name).
				Hintf("move it to %s, which includes this file", c.shown(c.files.Path)).Notef(t.Span(), "it is included here")
		}
	}
	return &unit{path: name, doc: doc}
}

// mergeUnits are the definitions of one kind: the unit's own, then those that it includes.
func mergeUnits[T any](c *Catalogue, root *unit, noun string, of func(*schema.Document) []T, name func(*T) *schema.Text) []T {
	var out []T
	for _, d := range definitions(c, root, noun, of, name) {
		out = append(out, *d)
	}
	return out
}

func definitions[T any](c *Catalogue, u *unit, noun string, of func(*schema.Document) []T, name func(*T) *schema.Text) []*T {
	var out []*T
	own := of(u.doc)
	first := map[string]*T{}
	for i := range own {
		out = append(out, &own[i])
		if n := name(&own[i]).Value; first[n] == nil {
			first[n] = &own[i]
		}
	}
	included := map[string]*T{}
	for _, next := range u.includes {
		for _, d := range definitions(c, next, noun, of, name) {
			t := name(d)
			mine, other := first[t.Value], included[t.Value]
			switch {
			case mine != nil:
				if _, known := c.replaced[name(mine).Span()]; !known {
					c.replaced[name(mine).Span()] = t.Span()
				}
			case other == nil:
				included[t.Value] = d
				out = append(out, d)
			case other != d:
				c.included.Report(diag.DuplicateID, t.Span(), "%s %q is defined in two included files", noun, t.Value).
					Notef(name(other).Span(), "the other one is here").
					Hintf("give one of them another name, or define %s in %s: its own definition wins", t.Value, c.shown(u.path))
			}
		}
	}
	return out
}

// home is the path of the pipeline file that a place lies in.
func (c *Catalogue) home(at diag.Span) string {
	if name, ok := c.homes[at.Source]; ok {
		return name
	}
	return c.files.Path
}

// isIncluded says whether a place lies in an included file.
func (c *Catalogue) isIncluded(at diag.Span) bool {
	_, ok := c.homes[at.Source]
	return ok
}

func (c *Catalogue) shown(name string) string {
	if c.files.Show == nil {
		return name
	}
	return c.files.Show(name)
}

// Included are the paths of the included files, sorted.
func (c *Catalogue) Included() []string { return slices.Sorted(maps.Values(c.homes)) }

// User is the document of the pipeline file with what it includes.
func (c *Catalogue) User() *schema.Document { return c.user }
