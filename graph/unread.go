package graph

import (
	"slices"
	"strings"

	"foundry/diag"
	"foundry/schema"
)

// This file keeps one mistake from being told many times. A phase of which it could not be made out what it does may
// have every field and end in every way; a name that is missing may be that of the phase whose id could not be read.
// What could only be told of those is left out until they are mended. The name that a mistyped one resembles is taken
// for it (didYouMean), so that the rest shows as it will be.

// vague says that what a phase does could not be made out, which was reported.
func (c *compiler) vague(ph *Phase) bool {
	switch src := c.src[ph.ID]; ph.Work() {
	case AgentWork:
		return ph.Envelope == nil
	case Noop:
		return src.Builtin.Value != "noop"
	case Calls:
		return c.calls[ph.ID] == nil
	}
	return false
}

// nameless says that the id of a phase could not be read.
func (c *compiler) nameless() bool {
	return slices.ContainsFunc(c.src, func(p *schema.Phase) bool { return !p.ID.Set })
}

// findings are what is told of a pipeline.
func (c *compiler) findings() diag.List {
	absent := map[diag.Rule]bool{}
	if c.nameless() || c.cat.partial {
		absent[diag.UnknownPhase], absent[diag.TemplateUnknown], absent[diag.ReadsParallelPhase] = true, true, true
	}
	if c.cat.partial {
		absent[diag.UnknownParam], absent[diag.UnknownField] = true, true
	}
	if slices.ContainsFunc(c.src, func(p *schema.Phase) bool { return p.Needs.Unread }) {
		absent[diag.JumpSideways], absent[diag.DanglingPhase], absent[diag.ReadsParallelPhase] = true, true, true
	}
	return c.list.Without(func(d diag.Diagnostic) bool { return absent[d.Rule] && !strings.HasPrefix(d.Hint, "did you mean ") })
}

// maybeAnything are the names that the end of a vague phase may have beside those that every one has.
var maybeAnything = []string{"output", "outputs", "envelope", "answer"}

// unread says whether something of the pipeline, or of what it is made of, could not be read.
func (c *compiler) unread() bool {
	if c.cat.unread || c.def.unread {
		return true
	}
	for _, callee := range c.calls {
		if callee.unread() {
			return true
		}
	}
	return false
}
