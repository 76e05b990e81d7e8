package graph

import (
	"slices"

	"foundry/diag"
	"foundry/schema"
)

// This file applies a pipeline's patch to the phases of what it extends: of a phase that is there, the keys that
// the patch has take the place of those that it had (maps merge, lists replace); a new one stands behind another.

// kindKeys are the keys that say what a phase does, with the kind of keys that may stand beside each.
var kindKeys = map[string]string{"agent": "agent", "run": "code", "command": "code", "builtin": "code", "ask": "ask", "call": "call"}

// patch changes def's phases, which are those of the pipeline that p extends.
func (c *Catalogue) patch(def *pipelineDef, p *schema.Pipeline) {
	if len(p.Phases) > 0 {
		def.list.Report(diag.WrongType, p.PatchSpan, "phases takes the place of all phases of %q, so there is nothing to patch", p.Extends.Value).
			Hintf("keep one of phases and patch")
		return
	}
	def.p.Phases = slices.Clone(def.p.Phases)
	at := func(name string) int {
		return slices.IndexFunc(def.p.Phases, func(ph schema.Phase) bool { return ph.ID.Value == name })
	}
	var added []*schema.Patch // the new ones, which may stand behind each other in any order
	for i := range p.Patch {
		x := &p.Patch[i]
		switch j := at(x.Name.Value); {
		case j >= 0 && x.After.Set:
			def.list.Report(diag.UnknownKey, keySpan(x, "after"), "after says where a new phase stands, and %q has a phase %q", p.Extends.Value, x.Name.Value).
				Hintf("remove after: a patch moves no phase; or give the new one another id").Notef(def.p.Phases[j].ID.Span(), "%q is defined here", x.Name.Value)
		case j >= 0:
			def.p.Phases[j] = patched(def.p.Phases[j], x)
			strayKeys(&def.list, &def.p.Phases[j], x)
		case x.After.Set:
			if kindOfPhase(&x.Phase) == "" && !slices.ContainsFunc(x.Keys, func(k schema.Text) bool { return kindKeys[k.Value] != "" }) {
				def.list.Report(diag.PhaseKind, x.Name.Span(), "phase %q does not say what to do", x.Name.Value).
					Hintf("write agent, run, command, builtin, ask or call")
			}
			added = append(added, x)
		case hasKey(x, "after"): // where it stands could not be read
		default:
			d := def.list.Report(diag.UnknownPhase, x.Name.Span(), "pipeline %q has no phase %q", p.Extends.Value, x.Name.Value)
			if near := diag.Suggest(x.Name.Value, phaseNames(def.p.Phases)); near != "" {
				d.Hintf("did you mean %q?", near)
			} else {
				d.Hintf("say where a new phase stands: after: PHASE")
			}
		}
	}
	for len(added) > 0 {
		rest := slices.DeleteFunc(slices.Clone(added), func(x *schema.Patch) bool {
			j := at(x.After.Value)
			if j >= 0 {
				def.p.Phases = slices.Insert(def.p.Phases, j+1, x.Phase)
			}
			return j >= 0
		})
		if len(rest) == len(added) {
			break
		}
		added = rest
	}
	for _, x := range added {
		known := phaseNames(def.p.Phases)
		d := def.list.Report(diag.UnknownPhase, x.After.Span(), "phase %q is not defined", x.After.Value)
		didYouMean(d, x.After.Value, known, "name a phase of "+p.Extends.Value)
	}
}

func phaseNames(phases []schema.Phase) []string {
	return names(func(p *schema.Phase) string { return p.ID.Value }, phases)
}

func hasKey(x *schema.Patch, key string) bool {
	return slices.ContainsFunc(x.Keys, func(k schema.Text) bool { return k.Value == key })
}

func keySpan(x *schema.Patch, key string) diag.Span {
	for _, k := range x.Keys {
		if k.Value == key {
			return k.Span()
		}
	}
	return x.Name.Span()
}

// patched lays a patch over a phase.
func patched(base schema.Phase, x *schema.Patch) schema.Phase {
	dropKind(&base, x)
	out := x.Phase
	out.ID, out.Span = base.ID, base.Span
	for _, t := range []struct{ to, from *schema.Text }{
		{&out.Description, &base.Description}, {&out.Hint, &base.Hint}, {&out.When, &base.When}, {&out.Dir, &base.Dir}, {&out.Commits, &base.Commits}, {&out.Parallel, &base.Parallel},
		{&out.Agent, &base.Agent}, {&out.Envelope, &base.Envelope}, {&out.Model, &base.Model}, {&out.Command, &base.Command},
		{&out.Review, &base.Review}, {&out.Builtin, &base.Builtin}, {&out.Message, &base.Message}, {&out.Ask, &base.Ask}, {&out.Call, &base.Call},
	} {
		inherit(t.to, t.to.Set, *t.from)
	}
	for _, t := range []struct{ to, from *schema.Texts }{
		{&out.Needs, &base.Needs}, {&out.Writes, &base.Writes}, {&out.Protect, &base.Protect}, {&out.Inputs, &base.Inputs}, {&out.Sources, &base.Sources},
	} {
		inherit(t.to, t.to.Set, *t.from)
	}
	inherit(&out.Detour, out.Detour.Set, base.Detour)
	inherit(&out.Optional, out.Optional.Set, base.Optional)
	inherit(&out.Route, out.Route.Set, base.Route)
	inherit(&out.Gates, out.Gates != nil, base.Gates)
	inherit(&out.Each, out.Each.Set, base.Each)
	inherit(&out.Timeout, out.Timeout.Set, base.Timeout)
	inherit(&out.Prompt, out.Prompt.Set(), base.Prompt)
	inherit(&out.Session, out.Session.Set, base.Session)
	inherit(&out.Reuse, out.Reuse.Set, base.Reuse)
	inherit(&out.Retries, out.Retries.Set, base.Retries)
	inherit(&out.ReviewRetries, out.ReviewRetries.Set, base.ReviewRetries)
	inherit(&out.RevertRejected, out.RevertRejected.Set, base.RevertRejected)
	inherit(&out.Run, out.Run.Set(), base.Run)
	inherit(&out.Repeat, out.Repeat.Set, base.Repeat)
	inherit(&out.ExitCodes, hasExitCodes(out.ExitCodes), base.ExitCodes)
	out.Env, out.Set = mergePairs(base.Env, out.Env), mergePairs(base.Set, out.Set)
	out.Outputs = overlaid(base.Outputs, x.Phase.Outputs, func(o *schema.Output) string { return o.Name.Value })
	return out
}

// dropKind takes out of a phase what it does, and the keys that only made sense for that, when the patch says that
// it does something else.
func dropKind(base *schema.Phase, x *schema.Patch) {
	now := ""
	for _, k := range x.Keys {
		if kindKeys[k.Value] != "" {
			now = k.Value
		}
	}
	if now == "" {
		return
	}
	was := kindOfPhase(base)
	base.Agent, base.Run, base.Command, base.Builtin, base.Ask, base.Call = schema.Text{}, schema.Script{}, schema.Text{}, schema.Text{}, schema.Text{}, schema.Text{}
	if now != "call" {
		base.Set = schema.Pairs{}
	}
	if now == "builtin" || now == "ask" || now == "call" {
		base.Parallel = schema.Text{}
	}
	if kindKeys[was] != kindKeys[now] {
		base.Prompt, base.Inputs, base.Envelope, base.Model, base.Retries = schema.Prose{}, schema.Texts{}, schema.Text{}, schema.Text{}, schema.Int{}
		base.Reuse, base.RevertRejected = schema.Bool{}, schema.Bool{}
		base.Review, base.ReviewRetries, base.Session = schema.Text{}, schema.Int{}, schema.Text{}
	}
	if kindKeys[was] != kindKeys[now] || was == "builtin" || now == "builtin" {
		base.Message, base.ExitCodes, base.Outputs, base.Repeat, base.Sources = schema.Text{}, schema.ExitCodes{}, nil, schema.Int{}, schema.Texts{}
	}
}

// kindOfPhase is the key that says what a phase does.
func kindOfPhase(p *schema.Phase) string {
	switch {
	case p.Agent.Set:
		return "agent"
	case p.Run.Set():
		return "run"
	case p.Command.Set:
		return "command"
	case p.Builtin.Set:
		return "builtin"
	case p.Ask.Set:
		return "ask"
	case p.Call.Set:
		return "call"
	}
	return ""
}

// strayKeys reports keys of a patch that belong to another kind of phase than the one it changes. When the patch
// says what the phase does, they were reported when it was read.
func strayKeys(list *diag.List, ph *schema.Phase, x *schema.Patch) {
	for _, k := range x.Keys {
		if kindKeys[k.Value] != "" {
			return
		}
	}
	does := kindOfPhase(ph)
	rows := schema.KeysOf("phase")
	for _, k := range x.Keys {
		i := slices.IndexFunc(rows, func(row schema.Key) bool { return row.Name == k.Value })
		if i >= 0 && k.Value != "each" && !rows[i].Beside(does) {
			list.Report(diag.UnknownKey, k.Span(), "%q is only for %s, and phase %q is not one", k.Value, schema.KindNoun(rows[i].Kind), ph.ID.Value).
				Hintf("remove it").Notef(ph.ID.Span(), "the phase is defined here")
		}
	}
}
