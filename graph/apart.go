package graph

import (
	"slices"

	"foundry/diag"
	"foundry/schema"
)

// This file compiles `parallel: worktree`. What works in a worktree of its own has to be able to change something there,
// and the run has to have a worktree that it comes into: neither what cannot work so nor a run in the checkout of a
// person gets past the compiler.

// aside says whether a phase, or each of its items, works in a worktree of its own.
func (p *Phase) aside() bool { return p.Apart || p.Each != nil && p.Each.Apart }

// RunsApart says whether a phase, or anything that its items are or call, works in a worktree of its own. What a call
// runs stands in the graph and says so itself.
func (p *Phase) RunsApart() bool {
	return p.aside() || p.Each != nil && p.Each.Callee != nil && slices.ContainsFunc(p.Each.Callee.Phases, func(in Phase) bool { return in.RunsApart() })
}

// apart reads how a phase shares the workspace. What it may write is known.
func (c *compiler) apart(ph *Phase, src *schema.Phase) {
	if ph.Work() == Calls && c.g.Isolation != Worktree && c.callHas(ph.ID, (*Phase).RunsApart) {
		c.list.Report(diag.PhaseKind, src.Call.Span(), "phases of %s work in worktrees of their own, and a run of %s %s", src.Call.Value, c.g.Pipeline, c.worksWhere()).
			Hintf("write isolation: true in pipeline %s, or call one without parallel: worktree", c.g.Pipeline)
	}
	if src.Parallel.Value != "worktree" {
		return
	}
	at := src.Parallel.Span()
	say := func(hint, why string, args ...any) { c.list.Report(diag.PhaseKind, at, why, args...).Hintf("%s", hint) }
	switch kind := ph.Work(); {
	case kind == Ask:
		say("remove parallel", "%q asks a person, and changes nothing that could be merged", ph.Name)
		return
	case kind == Calls:
		say("remove parallel: write it in "+src.Call.Value+", at the phases that are to overlap", "%q is a call, and its phases say themselves how they share the workspace", ph.Name)
		return
	case kind != AgentWork && kind != Code:
		say("remove parallel", "%q is a builtin, which works in the workspace of the run", ph.Name)
		return
	case kind == Code && !ph.Declared:
		say("remove parallel, or say with writes what it may change", "%q does not say what it may write, so nothing of it would be merged", ph.Name)
		return
	case !ph.Writer:
		say("remove parallel: what only reads overlaps as it is", "%q may write nothing, so there is nothing of it to merge", ph.Name)
		return
	}
	if src.Commits.Value == "allow" {
		say("remove commits, or parallel", "%q may commit and move branches itself, and what comes out of its worktree is merged file by file", ph.Name)
	}
	if src.Session.Value == "keep" {
		say("remove session, or parallel", "%q is to keep the session of its agent, which cannot move from one worktree to another", ph.Name)
	}
	if c.g.Isolation != Worktree {
		say("remove parallel, or write isolation: true in pipeline "+c.g.Pipeline, "%q is to be merged into the worktree of the run, and a run of %s %s", ph.Name, c.g.Pipeline, c.worksWhere())
	}
	ph.Apart = ph.Each == nil
	if ph.Each != nil {
		ph.Each.Apart = true
	}
}

// worksWhere says where a run without a worktree on a branch of its own works.
func (c *compiler) worksWhere() string {
	if c.g.Isolation == Checkout {
		return "works in the checkout (isolation: false)"
	}
	return "leaves no branch (isolation: detached)"
}
