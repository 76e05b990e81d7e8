package graph

import (
	"slices"

	"foundry/diag"
	"foundry/dsl"
	"foundry/schema"
)

// This file compiles what follows the end of a run. Its texts may read every phase: all of them have ended.

func (c *compiler) afters() {
	for _, l := range [...]struct {
		on   On
		list []schema.AfterPhase
	}{{Accepted, c.p.After.Accepted.List}, {Rejected, c.p.After.Rejected.List}, {Always, c.p.After.Always.List}} {
		for i := range l.list {
			c.after(l.on, &l.list[i])
		}
	}
}

func (c *compiler) after(on On, src *schema.AfterPhase) {
	out := AfterRun{ID: src.ID.Value, On: on, Span: src.Span}
	if src.When.Set {
		out.When = c.cond(src.When.Frag, c.scopes.accept, boolType)
	}
	var ok bool
	if out.Command, ok = c.ownCommand(src.Command, schema.Command{Run: src.Run, Timeout: src.Timeout, Dir: src.Dir, ExitCodes: src.ExitCodes, Env: src.Env}); !ok {
		return
	}
	out.Command.Env = mergeEnv(c.project, out.Command.Env)
	c.outsidePhases(&out.Command, "what follows a run", "feedback", "context", "handoff_dir", "handoff_files")
	c.g.After = append(c.g.After, out)
}

// outsidePhases reports names that a command which belongs to no phase cannot read.
func (c *compiler) outsidePhases(cmd *Command, who string, names ...string) {
	texts := make([]*dsl.Template, 0, len(cmd.Script.Argv)+len(cmd.Env))
	texts = append(texts, cmd.Script.Argv...)
	for _, v := range cmd.Env {
		texts = append(texts, v.Value)
	}
	for _, t := range texts {
		for _, r := range t.Reads() {
			if r.Phase == "" && slices.Contains(names, r.Field) {
				c.list.Report(diag.TemplateUnknown, r.Span, "%s is given no %s", who, r.Field).Hintf("remove it")
			}
		}
	}
}
