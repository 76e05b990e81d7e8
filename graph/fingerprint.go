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

func (d *digest) agent(g *Graph, i int) {
	a := &g.Agents[i]
	d.text(a.Name, a.Harness, a.Model, a.Light, a.Heavy, a.Effort, a.Permissions)
	d.texts(a.Argv)
	d.texts(a.Allow)
	d.texts(a.Deny)
	d.template(a.System)
	d.int(a.EnvelopeRetries, int(a.TurnTimeout), int(a.StallTimeout))
	d.bool(a.ReadOnly)
	d.env(a.Env)
	d.int(len(a.Script))
	for _, t := range a.Script {
		d.text(t.Run, t.Reply)
		d.int(len(t.Files))
		for _, f := range t.Files {
			d.text(f.Path, f.Text)
			d.bool(f.Delete)
		}
	}
	d.int(len(a.Fallback))
	for _, j := range a.Fallback {
		d.text(g.Agents[j].Name)
	}
}

// phase writes what a phase's result depends on.
func (d *digest) phase(g *Graph, ph *Phase, agents []string) {
	d.text(ph.Name)
	d.int(int(ph.Kind), len(ph.Needs))
	for _, n := range ph.Needs {
		d.text(g.Phases[n].Name)
	}
	d.bool(ph.Detour, ph.Optional, ph.Commits, ph.Nonzero)
	d.cond(ph.When)
	d.int(len(ph.Boundary.Protect))
	for _, r := range ph.Boundary.Protect {
		d.text(r.Glob)
	}
	d.int(len(ph.Boundary.Writes))
	for _, l := range ph.Boundary.Writes {
		d.texts(l.Globs)
	}
	d.int(int(ph.Timeout), ph.Retries, len(ph.ExitCodes))
	d.int(ph.ExitCodes...)
	d.env(ph.Env)
	d.text(ph.Dir, ph.Model)
	d.texts(ph.Sources)
	if ph.Agent >= 0 {
		d.text(agents[ph.Agent])
		for _, i := range g.Agents[ph.Agent].Fallback {
			d.text(agents[i])
		}
	}
	if ph.Envelope != nil {
		d.text(ph.Envelope.Name)
		d.fields(ph.Envelope.Fields)
	}
	d.template(ph.Prompt, ph.Message, ph.Question)
	d.int(len(ph.Inputs))
	for _, in := range ph.Inputs {
		d.text(in.Name)
	}
	if ph.Call != nil {
		for _, s := range ph.Call.Set {
			d.text(s.Name)
			d.template(s.Value)
		}
	}
	d.script(&ph.Script)
	d.int(len(ph.Outputs))
	for _, o := range ph.Outputs {
		d.text(o.Name, o.Regex, o.JSON)
		d.int(int(o.Type))
		d.bool(o.Required)
	}
	d.int(len(ph.Gates))
	for i := range ph.Gates {
		d.gate(&ph.Gates[i])
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
	d.int(int(r.Phase), int(r.Trigger), int(r.Action), int(r.Target), int(r.Way), r.Retry)
	d.cond(r.When)
	d.cond(r.With)
	d.text(r.Message)
}

// fingerprint is the pass.
func (c *compiler) fingerprint() {
	g := c.g
	agents := make([]string, len(g.Agents))
	for i := range g.Agents {
		d := newDigest()
		d.agent(g, i)
		agents[i] = d.sum()
	}
	all := newDigest()
	all.text(g.Pipeline, g.AcceptText)
	all.int(int(g.Isolation), int(g.Merge), len(g.Phases))
	for i := range g.Phases {
		d := newDigest()
		d.phase(g, &g.Phases[i], agents)
		if callee := c.calls[g.Phases[i].ID]; callee != nil {
			d.text(callee.g.Fingerprint)
		}
		g.Phases[i].Fingerprint = d.sum()
		all.text(g.Phases[i].Fingerprint)
	}
	all.int(len(g.Rules))
	for i := range g.Rules {
		all.rule(g, &g.Rules[i])
	}
	all.int(len(g.Criteria))
	for i := range g.Criteria {
		all.text(g.Criteria[i].Name)
		all.bool(g.Criteria[i].Required)
		all.command(&g.Criteria[i].Command)
	}
	all.bool(g.FailFast, g.KeepGoing, g.NeedRequest, g.NoRequest)
	all.settings(g)
	g.Fingerprint = all.sum()
}

func (d *digest) settings(g *Graph) {
	d.int(int(g.Limits.Time), g.Limits.Turns, g.Limits.Tokens, g.Limits.Phases)
	d.text(strconv.FormatFloat(g.Limits.Cost, 'g', -1, 64))
	d.int(len(g.Params))
	for i := range g.Params {
		p := &g.Params[i]
		d.text(p.Name, p.Default)
		d.int(int(p.Type))
		d.bool(p.Has, p.Required)
		d.texts(p.Choices)
	}
	p := &g.Project
	d.text(p.Name, p.Base)
	d.env(p.Env)
	d.bool(p.Hooks)
	d.texts(p.Copy)
	d.texts(p.Link)
	d.texts(p.Scratch)
	d.int(len(p.Setup))
	for i := range p.Setup {
		d.script(&p.Setup[i])
	}
}
