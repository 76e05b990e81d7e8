package graph

import (
	"slices"
	"strings"
	"time"

	"foundry/diag"
	"foundry/schema"
)

// This file resolves agents: what an agent extends is merged in (maps merge, lists replace), and what belongs
// to another harness is left behind.

// agentDef is a resolved agent: the merged definition, its texts read.
type agentDef struct {
	a      schema.Agent // the name and the place are the agent's own
	system diag.Fragment
	prompt diag.Fragment // Text "" when no prompt was written
	hasSys bool
	hasPr  bool
	list   diag.List
	unfit  diag.List // why it cannot be started as it is
	active bool      // being resolved, to find circles
	unread bool      // what it extends or reports could not be made out

	file        schema.Agent // as the file has it, for agents that extend it
	fileHarness string
	tried       bool // its harness is another than the file's (Try)

	harness   string // what it runs on; "" only when neither it nor the project says
	harnessAt diag.Span
}

// builtinPrefix marks a name of what ships, whatever shadows it.
const builtinPrefix = "builtin/"

// harnesses are those that there are.
var harnesses = []string{"acp", "claude", "claude-acp", "codex", "codex-acp", "command", "droid", "gemini", "opencode", "qwen", "script"}

// checkHarness reports a harness that does not exist.
func checkHarness(list *diag.List, h schema.Text) {
	if !h.Set || slices.Contains(harnesses, h.Value) {
		return
	}
	d := list.Report(diag.UnknownHarness, h.Span(), "there is no harness %q", h.Value)
	if near := diag.Suggest(h.Value, harnesses); near != "" {
		d.Hintf("did you mean %q?", near)
		return
	}
	d.Hintf("use one of %s", strings.Join(harnesses, ", "))
}

// unknownAgent reports a name that is no agent and returns the agent that was likely meant.
func (c *Catalogue) unknownAgent(list *diag.List, at diag.Span, name string) (*schema.Agent, bool) {
	if c.partial {
		return nil, false
	}
	known := names(agentName, c.user.Agents, c.builtin.Agents)
	d := list.Report(diag.UnknownAgent, at, "agent %q is not defined", name)
	return c.agent(didYouMean(d, name, known, "define it under agents"))
}

// parent finds what an agent extends.
func (c *Catalogue) parent(a *schema.Agent) (*schema.Agent, bool) {
	name, builtin := strings.CutPrefix(a.Extends.Value, builtinPrefix)
	if builtin {
		p := find(c.builtin.Agents, name, agentName)
		return p, p != nil
	}
	if find(c.user.Agents, a.Name.Value, agentName) != a { // an agent that ships extends what ships
		p := find(c.builtin.Agents, name, agentName)
		return p, p != nil
	}
	return c.agent(name)
}

func (c *Catalogue) resolveAgent(a *schema.Agent) *agentDef {
	if def, ok := c.agents[a]; ok {
		if def.active {
			d := def.list.Report(diag.Cycle, a.Extends.Span(), "agent %q extends itself", a.Name.Value)
			if find(c.builtin.Agents, a.Name.Value, agentName) != nil {
				d.Hintf("write builtin/%s to extend the one that ships", a.Name.Value)
			} else {
				d.Hintf("extend an agent that does not lead back here")
			}
		}
		return def
	}
	def := &agentDef{a: *a, active: true, unread: a.Unread}
	c.agents[a] = def
	defer func() { def.active = false }()
	if a.Extends.Set {
		p, ok := c.parent(a)
		if !ok {
			p, ok = c.unknownParent(def, a)
		}
		if !ok {
			def.unread = true
		} else if parent := c.resolveAgent(p); !parent.active {
			def.a, def.unread = mergeAgent(parent.file, *a, parent.fileHarness), def.unread || parent.unread
		}
	}
	checkHarness(&def.list, a.Harness)
	def.harness, def.harnessAt = def.a.Harness.Value, def.a.Harness.Span()
	if !def.a.Harness.Set {
		def.harness, def.harnessAt = c.user.Project.Harness.Value, c.user.Project.Harness.Span()
	}
	def.file, def.fileHarness = def.a, def.harness
	if other, ok := c.tried(a.Name.Value); ok && other != def.harness {
		forHarness(&def.a)
		def.harness, def.tried = other, true
	}
	if project := &c.user.Project; def.harness == project.Harness.Value {
		inherit(&def.a.Model, def.a.Model.Set, project.Model)
		inherit(&def.a.Argv, def.a.Argv.Set, project.Argv)
		inherit(&def.a.Models.Light, def.a.Models.Light.Set, project.Models.Light)
		inherit(&def.a.Models.Heavy, def.a.Models.Heavy.Set, project.Models.Heavy)
	}
	def.system, def.hasSys = c.prose(def.a.System, &def.list)
	def.prompt, def.hasPr = c.prose(def.a.Prompt, &def.list)
	c.checkAgent(def)
	return def
}

func (c *Catalogue) unknownParent(def *agentDef, a *schema.Agent) (*schema.Agent, bool) {
	name, builtin := strings.CutPrefix(a.Extends.Value, builtinPrefix)
	if !builtin {
		return c.unknownAgent(&def.list, a.Extends.Span(), name)
	}
	known := names(agentName, c.builtin.Agents)
	d := def.list.Report(diag.UnknownBuiltin, a.Extends.Span(), "no agent %q ships with foundry", name)
	near := didYouMean(d, name, known, "extend an agent of this file")
	if near != "" {
		d.Hintf("did you mean %q?", builtinPrefix+near)
	}
	p := find(c.builtin.Agents, near, agentName)
	return p, p != nil
}

// mergeAgent lays an agent over the one it extends. Fallback is never inherited; what only makes sense for
// the parent's harness is not when the child names another.
func mergeAgent(parent, child schema.Agent, parentHarness string) schema.Agent {
	out := child
	if child.Harness.Set && child.Harness.Value != parentHarness {
		forHarness(&parent)
	}
	inherit(&out.Description, out.Description.Set, parent.Description)
	inherit(&out.Harness, out.Harness.Set, parent.Harness)
	inherit(&out.Model, out.Model.Set, parent.Model)
	inherit(&out.Models.Light, out.Models.Light.Set, parent.Models.Light)
	inherit(&out.Models.Heavy, out.Models.Heavy.Set, parent.Models.Heavy)
	inherit(&out.Effort, out.Effort.Set, parent.Effort)
	inherit(&out.Envelope, out.Envelope.Set, parent.Envelope)
	inherit(&out.Permissions, out.Permissions.Set, parent.Permissions)
	inherit(&out.Argv, out.Argv.Set, parent.Argv)
	inherit(&out.Allow, out.Allow.Set, parent.Allow)
	inherit(&out.Deny, out.Deny.Set, parent.Deny)
	inherit(&out.Writes, out.Writes.Set, parent.Writes)
	inherit(&out.Protect, out.Protect.Set, parent.Protect)
	inherit(&out.Sandbox.Write, out.Sandbox.Write.Set, parent.Sandbox.Write)
	if parent.Sandbox.Set && !out.Sandbox.Set {
		out.Sandbox.Set, out.Sandbox.Span = true, parent.Sandbox.Span
	}
	if !out.ScriptSet {
		out.Script, out.ScriptSet = parent.Script, parent.ScriptSet
	}
	inherit(&out.System, out.System.Set(), parent.System)
	inherit(&out.Prompt, out.Prompt.Set(), parent.Prompt)
	inherit(&out.EnvelopeRetries, out.EnvelopeRetries.Set, parent.EnvelopeRetries)
	inherit(&out.TurnTimeout, out.TurnTimeout.Set, parent.TurnTimeout)
	inherit(&out.StallTimeout, out.StallTimeout.Set, parent.StallTimeout)
	out.Env = mergePairs(parent.Env, out.Env)
	return out
}

// forHarness takes from an agent what only makes sense for its harness.
func forHarness(a *schema.Agent) {
	a.Model, a.Models = schema.Text{}, schema.Models{}
	a.Argv, a.Script, a.ScriptSet = schema.Texts{}, nil, false
}

// inherit takes over what is not set.
func inherit[T any](to *T, set bool, from T) {
	if !set {
		*to = from
	}
}

// overlaid is a list with another laid over it: what has the same name is replaced, what has not is added.
func overlaid[T any](list, over []T, name func(*T) string) []T {
	out := slices.Clone(list)
	for i := range over {
		at := slices.IndexFunc(out, func(o T) bool { return name(&o) == name(&over[i]) })
		if at >= 0 {
			out[at] = over[i]
		} else {
			out = append(out, over[i])
		}
	}
	return out
}

// mergePairs lays the entries of the later maps over those of the earlier ones.
func mergePairs(maps ...schema.Pairs) schema.Pairs {
	var out schema.Pairs
	for _, m := range maps {
		if !m.Set || len(m.Items) == 0 {
			continue
		}
		out.Set, out.Span = true, m.Span
		out.Items = overlaid(out.Items, m.Items, func(p *schema.Pair) string { return p.Name.Value })
	}
	return out
}

// checkAgent checks what can be said of an agent by itself.
func (c *Catalogue) checkAgent(def *agentDef) {
	a, list := &def.a, &def.list
	checkGlobs(list, a.Writes, ofWrites)
	checkGlobs(list, a.Protect, ofProtect)
	checkSandbox(list, a.Sandbox.Write)
	if a.Envelope.Set {
		if _, _, ok := c.envelope(a.Envelope.Value); !ok {
			a.Envelope.Value = c.unknownEnvelope(list, a.Envelope.Span(), a.Envelope.Value)
			def.unread = def.unread || a.Envelope.Value == ""
		} else if e := find(c.user.Envelopes, a.Envelope.Value, kindName); e != nil {
			def.unread = def.unread || c.resolveKind(e).unread
		}
	}
	// Whether it could be started matters only where it is: an agent that others extend need not run by itself.
	if def.harness == "script" && !a.ScriptSet && !def.unread {
		def.unfit.Report(diag.MissingKey, def.harnessAt, "agent %q runs on script and has no script", a.Name.Value).
			Hintf("add script: with one entry for each turn")
	}
	if def.harness == "command" && len(a.Argv.Items) == 0 && !def.unread {
		def.unfit.Report(diag.MissingKey, def.harnessAt, "agent %q runs on command and has no argv", a.Name.Value).
			Hintf("add argv: [./agent.sh]")
	}
	for i := range a.Fallback.Items {
		f := a.Fallback.Items[i]
		if _, ok := c.agent(f.Value); !ok {
			c.unknownAgent(list, f.Span(), f.Value)
		}
	}
	c.fallbackCycle(def)
}

// fallbackCycle reports an agent that its fallbacks lead back to.
func (c *Catalogue) fallbackCycle(def *agentDef) {
	name := def.a.Name.Value
	for i := range def.a.Fallback.Items {
		first := def.a.Fallback.Items[i]
		seen, queue := map[string]bool{}, []string{first.Value}
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			if at == name {
				def.list.Report(diag.FallbackCycle, first.Span(), "agent %q falls back on itself", name).
					Hintf("remove %q here, or from the fallback that leads back", first.Value)
				break
			}
			if next, ok := c.agent(at); ok && !seen[at] {
				seen[at] = true
				queue = append(queue, next.Fallback.Values()...)
			}
		}
	}
}

// agentIndex puts an agent and its fallbacks into the graph once and returns its index. The texts follow when
// the scopes are open.
func (c *compiler) agentIndex(a *schema.Agent) int {
	if i, ok := c.agents[a]; ok {
		return i
	}
	def := c.cat.resolveAgent(a)
	c.mergeAgent(a, map[*schema.Agent]bool{})
	c.list.Merge(def.unfit)
	if def.a.Envelope.Set {
		c.kindNamed(def.a.Envelope.Value)
	}
	i := len(c.g.Agents)
	c.agents[a] = i
	c.agentDefs = append(c.agentDefs, def)
	agent := newAgent(def)
	agent.Session = i
	c.g.Agents = append(c.g.Agents, agent)
	for _, name := range def.a.Fallback.Values() {
		if next, ok := c.cat.agent(name); ok && next != a {
			j := c.agentIndex(next)
			c.g.Agents[i].Fallback = append(c.g.Agents[i].Fallback, j)
		}
	}
	return i
}

// mergeAgent adds the findings of an agent and of all that it extends.
func (c *compiler) mergeAgent(a *schema.Agent, seen map[*schema.Agent]bool) {
	if seen[a] {
		return
	}
	seen[a] = true
	c.list.Merge(c.cat.resolveAgent(a).list)
	if p, ok := c.cat.parent(a); ok && a.Extends.Set {
		c.mergeAgent(p, seen)
	}
}

func newAgent(def *agentDef) Agent {
	a := &def.a
	out := Agent{
		Name: a.Name.Value, Description: a.Description.Value, Harness: def.harness, Argv: a.Argv.Values(),
		Model: a.Model.Value, Light: a.Models.Light.Value, Heavy: a.Models.Heavy.Value, Effort: a.Effort.Value,
		Allow: a.Allow.Values(), Deny: a.Deny.Values(),
		EnvelopeRetries: 3, ReadOnly: a.Writes.Set && len(a.Writes.Items) == 0, Permissions: "deny",
		TurnTimeout: a.TurnTimeout.Or(20 * time.Minute), StallTimeout: a.StallTimeout.Or(5 * time.Minute), Span: a.Span,
	}
	if a.Sandbox.Set {
		out.Sandbox = &Sandbox{Write: a.Sandbox.Write.Values()}
	}
	if a.EnvelopeRetries.Set {
		out.EnvelopeRetries = a.EnvelopeRetries.Value
	}
	if a.Permissions.Set {
		out.Permissions = a.Permissions.Value
	}
	return out
}

// agentBodies compiles the texts of the agents.
func (c *compiler) agentBodies() {
	for i, def := range c.agentDefs {
		out := &c.g.Agents[i]
		if def.hasSys {
			out.System = c.prompt(def.system)
		}
		out.Env = c.env(def.a.Env)
		for j := range def.a.Script {
			out.Script = append(out.Script, c.scriptTurn(&def.a.Script[j]))
		}
	}
}

func (c *compiler) scriptTurn(t *schema.ScriptTurn) ScriptTurn {
	out := ScriptTurn{Item: t.Item.Value, Run: t.Run.Value, Reply: reply(t.Reply)}
	if t.Run.Set {
		c.shell(t.Run)
	}
	for _, f := range t.Files {
		out.Files = append(out.Files, ScriptFile{Path: f.Path.Value, Text: f.Text.Value, Delete: f.Delete})
	}
	return out
}
