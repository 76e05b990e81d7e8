package graph

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strconv"

	"foundry/dsl"
	"foundry/envelope"
)

// This file computes the fingerprints: of each phase, of all that its result depends on except where its
// routes lead; and of the graph, of everything. Places in the file are no part of it, so moving a phase's text
// about changes nothing. Every value is written with its length, so that no two graphs run together.

type digest struct {
	h   hash.Hash
	buf [binary.MaxVarintLen64]byte
}

func newDigest() *digest { return &digest{h: sha256.New()} }

func (d *digest) sum() string { return hex.EncodeToString(d.h.Sum(nil)[:16]) }

func (d *digest) text(values ...string) {
	for _, s := range values {
		d.int(len(s))
		d.h.Write([]byte(s))
	}
}

func (d *digest) texts(list []string) {
	d.int(len(list))
	d.text(list...)
}

func (d *digest) int(values ...int) {
	for _, n := range values {
		d.h.Write(d.buf[:binary.PutVarint(d.buf[:], int64(n))])
	}
}

func (d *digest) bool(values ...bool) {
	for _, b := range values {
		if b {
			d.int(1)
		} else {
			d.int(0)
		}
	}
}

func (d *digest) template(list ...*dsl.Template) {
	for _, t := range list {
		if t == nil {
			d.int(-1)
		} else {
			d.text(t.Source())
		}
	}
}

func (d *digest) cond(c *dsl.Cond) {
	if c == nil {
		d.int(-1)
	} else {
		d.text(c.Text())
	}
}

func (d *digest) env(env []EnvVar) {
	d.int(len(env))
	for _, v := range env {
		d.text(v.Name)
		d.template(v.Value)
	}
}

func (d *digest) script(s *Script) {
	d.text(s.Shell)
	d.int(len(s.Argv))
	d.template(s.Argv...)
}

func (d *digest) command(c *Command) {
	d.bool(c != nil)
	if c == nil {
		return
	}
	d.script(&c.Script)
	d.env(c.Env)
	d.text(c.Dir)
	d.int(int(c.Timeout), len(c.ExitCodes))
	d.int(c.ExitCodes...)
	d.bool(c.Nonzero)
}

func (d *digest) fields(fields []envelope.Field) {
	d.int(len(fields))
	for i := range fields {
		f := &fields[i]
		d.text(f.Name)
		d.int(int(f.Type), int(f.Of))
		d.texts(f.Enum)
		d.bool(f.Required)
		d.text(dsl.Text(f.Default))
		d.fields(f.Fields)
	}
}

// part is what a definition says under one key of the file.
type part struct {
	key   string
	write func(*digest)
}

// sumOf is the digest of some parts.
func sumOf(parts []part) string {
	d := newDigest()
	for _, p := range parts {
		d.text(p.key)
		p.write(d)
	}
	return d.sum()
}

// agentParts are what an agent's work depends on.
func (g *Graph) agentParts(i int) []part {
	a := &g.Agents[i]
	return []part{
		{"harness", func(d *digest) { d.text(a.Harness) }},
		{"model", func(d *digest) { d.text(a.Model) }},
		{"models", func(d *digest) { d.text(a.Light, a.Heavy) }},
		{"effort", func(d *digest) { d.text(a.Effort) }},
		{"permissions", func(d *digest) { d.text(a.Permissions); d.bool(a.ReadOnly) }},
		{"argv", func(d *digest) { d.texts(a.Argv) }},
		{"tools", func(d *digest) { d.texts(a.Allow); d.texts(a.Deny) }},
		{"sandbox", func(d *digest) {
			d.bool(a.Sandbox != nil)
			if a.Sandbox != nil {
				d.texts(a.Sandbox.Write)
			}
		}},
		{"system", func(d *digest) { d.template(a.System) }},
		{"envelope_retries", func(d *digest) { d.int(a.EnvelopeRetries) }},
		{"turn_timeout", func(d *digest) { d.int(int(a.TurnTimeout)) }},
		{"stall_timeout", func(d *digest) { d.int(int(a.StallTimeout)) }},
		{"env", func(d *digest) { d.env(a.Env) }},
		{"script", func(d *digest) { d.turns(a.Script) }},
		{"fallback", func(d *digest) {
			d.int(len(a.Fallback))
			for _, j := range a.Fallback {
				d.text(g.Agents[j].Name)
			}
		}},
	}
}

func (d *digest) turns(turns []ScriptTurn) {
	d.int(len(turns))
	for _, t := range turns {
		d.text(t.Item, t.Run, t.Reply)
		d.int(len(t.Files))
		for _, f := range t.Files {
			d.text(f.Path, f.Text)
			d.bool(f.Delete)
		}
	}
}

// phaseParts are what a phase's result depends on. That the files of the pipeline itself are protected is no part of
// it: a text that another phase names would else change them all.
func (g *Graph) phaseParts(ph *Phase) []part {
	return []part{
		{"kind", func(d *digest) { d.int(int(ph.Kind)) }},
		{"needs", func(d *digest) {
			d.int(len(ph.Needs))
			for _, n := range ph.Needs {
				d.text(g.Phases[n].Local)
			}
		}},
		{"detour", func(d *digest) { d.bool(ph.Detour) }},
		{"optional", func(d *digest) { d.bool(ph.Optional) }},
		{"when", func(d *digest) { d.cond(ph.When) }},
		{"run", func(d *digest) { d.script(&ph.Script) }},
		{"exit_codes", func(d *digest) { d.int(len(ph.ExitCodes)); d.int(ph.ExitCodes...); d.bool(ph.Nonzero) }},
		{"outputs", func(d *digest) { d.outputs(ph.Outputs) }},
		{"agent", func(d *digest) { d.agents(g, ph.Agent) }},
		{"model", func(d *digest) { d.text(ph.Model) }},
		{"envelope", func(d *digest) {
			if ph.Envelope != nil {
				d.text(ph.Envelope.Name)
				d.fields(ph.Envelope.Fields)
			}
		}},
		{"prompt", func(d *digest) { d.template(ph.Prompt) }},
		{"inputs", func(d *digest) {
			d.int(len(ph.Inputs))
			for _, in := range ph.Inputs {
				d.text(in.Name)
			}
		}},
		{"retries", func(d *digest) { d.int(ph.Retries) }},
		{"session", func(d *digest) { d.bool(ph.Fresh) }},
		{"review", func(d *digest) {
			if ph.Review != nil {
				d.agents(g, ph.Review.Agent)
			}
		}},
		{"review_retries", func(d *digest) {
			if ph.Review != nil {
				d.int(ph.Review.Retries)
			}
		}},
		{"revert_rejected", func(d *digest) { d.bool(ph.Review != nil && ph.Review.Revert) }},
		{"message", func(d *digest) { d.template(ph.Message) }},
		{"ask", func(d *digest) { d.template(ph.Question) }},
		{"call", func(d *digest) {
			switch call := ph.call(); {
			case call == nil:
			case ph.Each != nil:
				d.text(call.Fingerprint)
			default:
				d.text(call.Pipeline, call.Fingerprint)
			}
		}},
		{"set", func(d *digest) {
			if call := ph.call(); call != nil {
				for _, s := range call.Set {
					d.text(s.Name)
					d.template(s.Value)
				}
			}
		}},
		{"each", func(d *digest) {
			if e := ph.Each; e != nil {
				d.cond(e.In)
				d.text(e.As)
				d.int(e.Limit, int(e.Kind))
				d.bool(e.Any)
			}
			if ph.Item != nil {
				d.item("", ph.Item)
			}
		}},
		{"gates", func(d *digest) {
			d.int(len(ph.Gates))
			for i := range ph.Gates {
				d.gate(&ph.Gates[i])
			}
		}},
		{"protect", func(d *digest) {
			for _, r := range ph.Boundary.Protect {
				if r.Why != ownFiles {
					d.text(r.Glob)
				}
			}
		}},
		{"writes", func(d *digest) {
			for _, l := range ph.Boundary.Writes {
				d.texts(l.Globs)
			}
		}},
		{"commits", func(d *digest) { d.bool(ph.Commits) }},
		{"parallel", func(d *digest) { d.bool(ph.aside()) }},
		{"timeout", func(d *digest) { d.int(int(ph.Timeout)) }},
		{"env", func(d *digest) { d.env(ph.Env) }},
		{"dir", func(d *digest) { d.text(ph.Dir) }},
		{"repeat", func(d *digest) { d.int(ph.Repeat) }},
		{"sources", func(d *digest) { d.texts(ph.Sources) }},
	}
}

// agents writes an agent, none for -1, and those that may take its place.
func (d *digest) agents(g *Graph, agent int) {
	if agent < 0 {
		return
	}
	for _, i := range g.AndFallbacks(agent) {
		d.text(g.Agents[i].Name, sumOf(g.agentParts(i)))
	}
}

func (d *digest) outputs(outputs []Output) {
	d.int(len(outputs))
	for _, o := range outputs {
		d.text(o.Name, o.Regex, o.JSON)
		d.int(int(o.Type))
		d.bool(o.Required)
	}
}

func (d *digest) gate(gate *Gate) {
	s := &gate.Spec
	d.text(s.Name, s.Message, s.Report, s.File)
	d.int(int(s.Kind), s.Min, s.MaxFiles, s.MaxLines, s.MaxDeleted)
	d.bool(s.Require, s.MayExist)
	d.texts(s.Globs)
	d.command(gate.Command)
	d.cond(gate.Cond)
}

func (d *digest) rule(g *Graph, r *Rule) {
	d.int(int(r.Trigger), int(r.Action), int(r.Way), r.Retry)
	if r.Target >= 0 && r.Way != 0 {
		d.text(g.Phases[r.Target].Local)
	}
	d.cond(r.When)
	d.cond(r.With)
	d.text(r.Message)
}

func (d *digest) rules(g *Graph, ph *Phase) {
	d.int(ph.Count)
	for _, r := range g.RulesOf(ph.ID) {
		d.rule(g, &r)
	}
	if ph.Each != nil {
		d.int(len(ph.Each.Rules))
		for i := range ph.Each.Rules {
			d.rule(g, &ph.Each.Rules[i])
		}
	}
}

// item writes an entry of a list over which a phase is repeated; of is the phase.
func (d *digest) item(of string, it *Item) {
	d.text(of, it.Key, it.Weight, dsl.Text(it.Value))
	for _, globs := range it.Writes {
		d.texts(globs)
	}
}

// bodyParts are what a pipeline says beside its phases, of those that decide how it goes.
func (b *Body) bodyParts() []part {
	return []part{
		{"accept", func(d *digest) { d.text(b.AcceptText) }},
		{"criteria", func(d *digest) {
			d.int(len(b.Criteria))
			for i := range b.Criteria {
				d.text(b.Criteria[i].Name)
				d.bool(b.Criteria[i].Required)
				d.command(&b.Criteria[i].Command)
			}
		}},
		{"params", func(d *digest) {
			d.int(len(b.Params))
			for i := range b.Params {
				p := &b.Params[i]
				d.text(p.Name, p.Default)
				d.int(int(p.Type))
				d.bool(p.Has, p.Required)
				d.texts(p.Choices)
			}
		}},
		{"fail_fast", func(d *digest) { d.bool(b.FailFast) }},
		{"keep_going", func(d *digest) { d.bool(b.KeepGoing) }},
	}
}

// settingParts are what the file says of a run as a whole.
func (g *Graph) settingParts() []part {
	p := &g.Project
	return []part{
		{"limits", func(d *digest) {
			d.int(int(g.Limits.Time), g.Limits.Turns, g.Limits.Tokens, g.Limits.Phases)
			d.text(strconv.FormatFloat(g.Limits.Cost, 'g', -1, 64))
		}},
		{"isolation", func(d *digest) { d.int(int(g.Isolation)) }},
		{"merge", func(d *digest) { d.int(int(g.Merge)) }},
		{"after", func(d *digest) {
			d.int(len(g.After))
			for i := range g.After {
				a := &g.After[i]
				d.text(a.ID, a.On.String())
				d.cond(a.When)
				d.command(&a.Command)
			}
		}},
		{"request", func(d *digest) { d.bool(g.NeedRequest, g.NoRequest) }},
		{"project.name", func(d *digest) { d.text(p.Name) }},
		{"project.base", func(d *digest) { d.text(p.Base) }},
		{"project.env", func(d *digest) { d.env(p.Env) }},
		{"project.hooks", func(d *digest) { d.bool(p.Hooks) }},
		{"project.worktree.copy", func(d *digest) { d.texts(p.Copy) }},
		{"project.worktree.link", func(d *digest) { d.texts(p.Link) }},
		{"project.worktree.scratch", func(d *digest) { d.texts(p.Scratch) }},
		{"project.worktree.setup", func(d *digest) {
			for i := range p.Setup {
				d.script(&p.Setup[i])
			}
		}},
	}
}

// fingerprint is the pass.
func (c *compiler) fingerprint() {
	g := c.g
	body := newDigest()
	body.text(sumOf(g.bodyParts()))
	for i := range g.Phases {
		ph := &g.Phases[i]
		if callee := c.calls[ph.ID]; callee != nil {
			ph.call().Fingerprint = callee.body
		}
		parts := g.phaseParts(ph)
		ph.Fingerprint = sumOf(append(parts, part{"id", func(d *digest) { d.text(ph.Local) }}))
		body.text(ph.Fingerprint)
		body.rules(g, ph)
	}
	c.body = body.sum()
	all := newDigest()
	all.text(g.Pipeline, c.body, sumOf(g.settingParts()))
	g.Fingerprint = all.sum()
}
