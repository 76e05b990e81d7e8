package graph

import (
	"strings"

	"foundry/diag"
	"foundry/gates"
	"foundry/glob"
	"foundry/schema"
)

// This file is the pass that says what each phase may write: what is protected, by whom, and the lists of
// writable globs, each of which must allow a path.

// ownFiles is why the texts that a pipeline is made of are protected.
const ownFiles = "the pipeline's own files"

func (c *compiler) protection() {
	shared := protectRules(c.cat.user.Project.Protect, "project.protect", "")
	shared = append(shared, protectRules(c.p.Protect, "protect of pipeline ", c.p.Name.Value)...)
	if c.cat.files.Path != "" {
		shared = append(shared, glob.Rule{Glob: glob.Literal(c.cat.files.Path), Why: ownFiles})
	}
	for _, pattern := range c.cat.protect {
		shared = append(shared, glob.Rule{Glob: pattern, Why: ownFiles})
	}
	for _, name := range c.cat.named {
		shared = append(shared, glob.Rule{Glob: glob.Literal(name), Why: ownFiles})
	}
	c.g.Protect = shared[:len(shared):len(shared)]
}

// boundary says what one phase may write. It comes with the phase's texts, since those of an item say it too.
func (c *compiler) boundary(ph *Phase, src *schema.Phase) {
	own := src.Writes
	own.Items = nil
	for i, t := range src.Writes.Items {
		layer := 0
		if ph.Agent >= 0 && c.agentDefs[ph.Agent].a.Writes.Set {
			layer = 1
		}
		if !c.itemWrites(ph, t, layer, i) {
			own.Items = append(own.Items, t)
		}
	}
	checkGlobs(&c.list, own, ofWrites)
	checkGlobs(&c.list, src.Protect, ofProtect)
	checkGlobs(&c.list, src.Sources, ofSources)
	ph.Sources = src.Sources.Values()
	b := glob.Boundary{Protect: c.g.Protect}
	var ofAgent schema.Texts
	if ph.Agent >= 0 {
		a := &c.agentDefs[ph.Agent].a
		b.Protect = append(b.Protect, protectRules(a.Protect, "protect of agent ", a.Name.Value)...)
		ofAgent = a.Writes
	}
	b.Protect = append(b.Protect, protectRules(src.Protect, "protect of phase ", ph.Name)...)
	for _, l := range [...]schema.Texts{ofAgent, src.Writes} {
		if l.Set {
			b.Writes = append(b.Writes, glob.Layer{Globs: l.Values()})
			ph.Declared = true
			c.boundaryProtected(ph, b, l)
		}
	}
	ph.Boundary = b
	switch ph.Work() {
	case AgentWork:
		ph.Writer = !b.ReadOnly()
	case Code:
		ph.Writer = ph.Declared && !b.ReadOnly()
	case Commit:
		ph.Writer = true
	case Calls:
		ph.Writer = !b.ReadOnly() && c.callHas(ph.ID, func(in *Phase) bool { return in.Writer })
	}
	c.artifactOutside(ph, src)
}

// protectRules are the rules of a list that stands under a key of what has a name.
func protectRules(t schema.Texts, key, name string) []glob.Rule {
	var out []glob.Rule
	for i := range t.Items {
		out = append(out, glob.Rule{Glob: t.Items[i].Value, Why: key + name})
	}
	return out
}

// boundaryProtected reports a writable glob all of which is protected.
func (c *compiler) boundaryProtected(ph *Phase, b glob.Boundary, writes schema.Texts) {
	for _, t := range writes.Items {
		why := ""
		for _, r := range b.Protect {
			if covers(r.Glob, t.Value) {
				why = r.Glob + " in " + r.Why
				break
			}
		}
		first, _, _ := strings.Cut(t.Value, "/")
		if first == ".git" || first == ".foundry" || first == ".foundry-worktrees" {
			why = first + " belongs to git and foundry"
		}
		if why != "" {
			c.list.Report(diag.BoundaryProtected, t.Span(), "%q is protected (%s), so %q cannot write it", t.Value, why, ph.Name).
				Hintf("remove it from writes, or from what protects it")
		}
	}
}

// covers says whether a pattern surely matches all that another one does.
func covers(protect, writes string) bool {
	if protect == writes || protect == "**" {
		return true
	}
	if dir, ok := strings.CutSuffix(protect, "/**"); ok && literal(dir) {
		return strings.HasPrefix(writes, dir+"/")
	}
	if strings.HasSuffix(protect, "/") && literal(protect) {
		return strings.HasPrefix(writes, protect)
	}
	return literal(writes) && glob.Match(protect, writes)
}

// literal says that a pattern is a plain path.
func literal(pattern string) bool { return !strings.ContainsAny(pattern, `*?[{\`) }

// artifactOutside reports a read-only phase whose gates demand that it wrote something.
func (c *compiler) artifactOutside(ph *Phase, src *schema.Phase) {
	if ph.Work() != AgentWork || !ph.Boundary.ReadOnly() {
		return
	}
	for i := range ph.Gates {
		s := &ph.Gates[i].Spec
		if !s.Require || s.Kind != gates.DiffMatchesClaims && (s.Kind != gates.ArtifactsExist || s.MayExist) {
			continue
		}
		at := src.ID.Span()
		for j := range src.Gates {
			if src.Gates[j].Kind.Value == s.Name {
				at = src.Gates[j].Kind.Span()
			}
		}
		c.list.Report(diag.ArtifactOutsideBoundary, at, "%s requires a file that %q wrote, and %q may write nothing", s.Name, ph.Name, ph.Name).
			Hintf("give the phase or its agent writes, or remove require")
	}
}
