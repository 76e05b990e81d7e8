package graph

import (
	"slices"
	"strings"

	"foundry/diag"
	"foundry/dsl"
	"foundry/envelope"
	"foundry/gates"
	"foundry/schema"
)

// This file keeps track of what pipelines use, and lints what nothing uses: it is reported as unused, and what
// is wrong with it shows all the same.

// uses are the names that pipelines use.
type uses struct {
	agents, commands, gates, envelopes, paramNames map[string]bool
	everyParam                                     bool // params as a whole is read
}

func newUses() *uses {
	return &uses{agents: map[string]bool{}, commands: map[string]bool{}, gates: map[string]bool{}, envelopes: map[string]bool{}, paramNames: map[string]bool{}}
}

// add marks all names that another pipeline uses; its params are its own.
func (u *uses) add(other *uses) {
	for name := range other.agents {
		u.agents[name] = true
	}
	for name := range other.commands {
		u.commands[name] = true
	}
	for name := range other.gates {
		u.gates[name] = true
	}
	for name := range other.envelopes {
		u.envelopes[name] = true
	}
}

// agent marks an agent, what it extends and what it falls back on.
func (u *uses) agent(c *Catalogue, a *schema.Agent) {
	if find(c.user.Agents, a.Name.Value, agentName) != a || u.agents[a.Name.Value] {
		return
	}
	u.agents[a.Name.Value] = true
	if p, ok := c.parent(a); ok && a.Extends.Set {
		u.agent(c, p)
	}
	if def := c.resolveAgent(a); def.a.Envelope.Set {
		u.envelope(c, def.a.Envelope.Value)
	}
	for _, name := range a.Fallback.Values() {
		if next, ok := c.agent(name); ok {
			u.agent(c, next)
		}
	}
}

// envelope marks a kind and what it extends.
func (u *uses) envelope(c *Catalogue, name string) {
	e := find(c.user.Envelopes, name, kindName)
	if e == nil || u.envelopes[name] {
		return
	}
	u.envelopes[name] = true
	u.envelope(c, e.Extends.Value)
}

func (u *uses) params(reads []dsl.Read) {
	for _, r := range reads {
		if r.Phase != "" || r.Field != "params" {
			continue
		}
		_, name, _ := strings.Cut(r.Path, ".")
		if name, _, _ = strings.Cut(name, "."); name == "" {
			u.everyParam = true
		}
		u.paramNames[name] = true
	}
}

// unusedParams reports params that no text of the pipeline reads.
func (c *compiler) unusedParams() {
	if c.used.everyParam || c.list.HasErrors() || c.unread() {
		return
	}
	for i := range c.g.Params {
		if p := &c.g.Params[i]; !c.used.paramNames[p.Name] {
			c.list.Report(diag.Unused, p.Span, "nothing reads param %q", p.Name).Hintf("read it as params.%s, or remove it", p.Name)
		}
	}
}

// lintUnused reports definitions that no pipeline uses, and checks them by themselves. What a builtin
// pipeline would use counts as used: defining its name is how it is exchanged. What an included file defines is
// for whoever includes it, and so is never unused.
func (c *Catalogue) lintUnused(list *diag.List, used *uses) {
	shipped := c.shippedUses()
	mistyped := map[diag.Rule]bool{} // a definition whose name was mistyped only looks unused
	for _, d := range list.Sorted() {
		mistyped[d.Rule] = true
	}
	// What could not be read may use anything.
	whole := !c.unread && !slices.ContainsFunc(c.user.Pipelines, func(p schema.Pipeline) bool { return p.Unread })
	var lone *compiler // made for the first that nothing uses
	alone := func() *compiler {
		if lone == nil {
			lone = c.loneCompiler()
		}
		return lone
	}
	for i := range c.user.Commands {
		cmd := &c.user.Commands[i]
		if used.commands[cmd.Name.Value] {
			continue
		}
		if !shipped.commands[cmd.Name.Value] && whole && !c.isIncluded(cmd.Name.Span()) && !mistyped[diag.UnknownCommand] {
			list.Report(diag.Unused, cmd.Name.Span(), "no pipeline uses command %q", cmd.Name.Value).Hintf("remove it, or run it in a phase")
		}
		alone().inPlace(*cmd)
	}
	for i := range c.user.Gates {
		gate := &c.user.Gates[i]
		if used.gates[gate.Name.Value] {
			continue
		}
		if !slices.Contains(builtinGates(), gate.Name.Value) && whole && !c.isIncluded(gate.Name.Span()) && !mistyped[diag.UnknownGate] {
			list.Report(diag.Unused, gate.Name.Span(), "no phase uses gate %q", gate.Name.Value).Hintf("remove it, or list it under a phase's gates")
		}
		alone().loneGate(gate)
	}
	for i := range c.user.Agents {
		a := &c.user.Agents[i]
		if used.agents[a.Name.Value] {
			continue
		}
		if find(c.builtin.Agents, a.Name.Value, agentName) != nil {
			used.agent(c, a)
		} else if whole && !c.isIncluded(a.Name.Span()) && !mistyped[diag.UnknownAgent] {
			list.Report(diag.Unused, a.Name.Span(), "no phase uses agent %q", a.Name.Value).Hintf("remove it, or give it a phase")
		}
		alone().agentIndex(a)
	}
	for i := range c.user.Envelopes {
		e := &c.user.Envelopes[i]
		if used.envelopes[e.Name.Value] {
			continue
		}
		if _, ships := envelope.Builtin(e.Name.Value); !ships && whole && !c.isIncluded(e.Name.Span()) && !mistyped[diag.UnknownEnvelope] {
			list.Report(diag.Unused, e.Name.Span(), "no agent and no phase uses envelope %q", e.Name.Value).Hintf("remove it, or name it as an agent's envelope")
		}
		alone().list.Merge(c.resolveKind(e).list)
	}
	if lone != nil {
		lone.agentBodies()
		list.Merge(lone.list)
	}
}

// shippedUses are the commands that builtin pipelines name.
func (c *Catalogue) shippedUses() *uses {
	out := newUses()
	for i := range c.builtin.Pipelines {
		for j := range c.builtin.Pipelines[i].Phases {
			out.commands[c.builtin.Pipelines[i].Phases[j].Command.Value] = true
		}
	}
	return out
}

// loneCompiler compiles texts that no pipeline uses: they may name anything that some place has.
func (c *Catalogue) loneCompiler() *compiler {
	lone := c.compiler(&schema.Pipeline{})
	lone.list = diag.List{}
	lone.loneScope()
	return lone
}

func (c *compiler) loneScope() {
	s := &c.scopes
	s.params = anyType
	s.prompt = c.scope(templateNames...)
	for _, name := range c.cat.everyPhase() {
		s.phases = append(s.phases, dsl.PhaseVar{Name: name, Type: anyType, Approves: true})
	}
	s.strict = c.scope(templateNames...)
}

// loneGate checks a gate that no phase lists.
func (c *compiler) loneGate(entry *schema.Gate) {
	spec, _, args, ok := c.cat.gate(&schema.Gate{Kind: entry.Name, Span: entry.Span}, &c.list)
	switch spec.Kind {
	case gates.CommandPasses:
		if !ok {
			return
		}
		c.gateCommand(args["command"], entry)
	case gates.Expression:
		any := []dsl.Var{}
		for _, name := range []string{"status", "reason", "exit", "output", "outputs", "envelope", "changed", "violations", "answer", "attempt", "visit"} {
			any = append(any, dsl.Var{Name: name, Type: anyType})
		}
		t, has := dataText(args["expr"])
		if !has {
			return
		}
		c.cond(t.Frag, c.scope(any...), boolType)
	}
}
