package graph

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"foundry/diag"
	"foundry/dsl"
	"foundry/schema"
)

// This file is the pass that compiles every text of every phase, and checks that what a phase reads has ended
// when it is read.

func (c *compiler) texts() {
	c.project = c.env(c.cat.user.Project.Env)
	for i := range c.cat.user.Project.Worktree.Setup {
		script := c.script(c.cat.user.Project.Worktree.Setup[i])
		c.g.Project.Setup = append(c.g.Project.Setup, script)
		for _, t := range script.Argv {
			c.early(t)
		}
	}
	c.g.Project.Env = c.project
	c.agentBodies()
	for i := range c.g.Phases {
		ph, src := &c.g.Phases[i], c.src[i]
		if src.When.Set {
			if ph.When = c.cond(src.When.Frag, c.scopes.when, boolType); ph.When != nil {
				c.condReads(ph.ID, ph.When)
			}
		}
		closeItem := c.eachTexts(ph, src)
		ph.Dir = c.dir(src.Dir)
		env := c.env(src.Env)
		switch ph.Work() {
		case AgentWork:
			c.agentTexts(ph, src)
		case Code:
			env = mergeEnv(c.codeTexts(ph, src), env)
		case Commit:
			if src.Message.Set {
				ph.Message = c.strict(src.Message.Frag)
				c.templateReads(ph.ID, ph.Message, false)
			}
		case Ask:
			ph.Question = c.strict(src.Ask.Frag)
			c.templateReads(ph.ID, ph.Question, false)
		case Calls:
			c.settingTexts(ph, src)
		}
		if ph.Work() != Calls {
			ph.Env = mergeEnv(c.project, env)
		}
		for _, v := range ph.Env {
			c.templateReads(ph.ID, v.Value, false)
		}
		if k := ph.Work(); k != Ask && k != AgentWork && k != Calls {
			ph.Timeout = c.timeout(ph, src)
		}
		if ph.Work() != Calls {
			c.phaseGates(ph, src)
		}
		c.itemRuleTexts(ph)
		c.boundary(ph, src)
		c.apart(ph, src)
		closeItem()
		c.ruleTexts(ph)
	}
}

// early reports what a text of worktree.setup cannot know: no phase has run.
func (c *compiler) early(t *dsl.Template) {
	for _, r := range t.Reads() {
		if r.Phase != "" || slices.Contains([]string{"feedback", "context", "handoff_files"}, r.Field) {
			c.list.Report(diag.TemplateUnknown, r.Span, "setup runs before the first phase, so this has no value").
				Hintf("use what is known then: request, params, run_id, branch, base or worktree")
		}
	}
}

func (c *compiler) agentTexts(ph *Phase, src *schema.Phase) {
	ph.Prompt = dsl.LiteralTemplate("")
	if ph.Agent >= 0 {
		if def := c.agentDefs[ph.Agent]; def.hasPr && !src.Prompt.Set() {
			ph.Prompt = c.prompt(def.prompt)
		}
		for _, i := range append([]int{ph.Agent}, c.g.Agents[ph.Agent].Fallback...) {
			agent := &c.g.Agents[i]
			c.templateReads(ph.ID, agent.System, true)
			for _, v := range agent.Env {
				c.templateReads(ph.ID, v.Value, false)
			}
		}
	}
	if src.Prompt.Set() {
		if f, ok := c.cat.prose(src.Prompt, &c.list); ok {
			ph.Prompt = c.prompt(f)
		}
	}
	c.templateReads(ph.ID, ph.Prompt, true)
	for i := range ph.Inputs {
		c.checkInput(ph, &ph.Inputs[i], src)
	}
}

// codeTexts compiles a script and returns the environment of the command that it names.
func (c *compiler) codeTexts(ph *Phase, src *schema.Phase) []EnvVar {
	ph.ExitCodes, ph.Nonzero = exitCodes(src.ExitCodes)
	var env []EnvVar
	switch {
	case src.Command.Set:
		cmd, ok := c.cat.command(src.Command.Value)
		if !ok {
			if cmd, ok = c.unknownCommand(src.Command); !ok {
				return nil
			}
		}
		named := c.namedCommand(cmd)
		ph.Command, ph.Script, env = cmd.Name.Value, named.Script, named.Env
		if !src.Dir.Set {
			ph.Dir = named.Dir
		}
		if !hasExitCodes(src.ExitCodes) {
			ph.ExitCodes, ph.Nonzero = named.ExitCodes, named.Nonzero
		}
	case src.Run.Set():
		ph.Script = c.script(src.Run)
	}
	for _, t := range ph.Script.Argv {
		c.templateReads(ph.ID, t, false)
	}
	return env
}

func (c *compiler) timeout(ph *Phase, src *schema.Phase) time.Duration {
	t := commandTimeout
	if ph.Kind == Commit {
		t = commitTimeout
	}
	if cmd, ok := c.cat.command(ph.Command); ok && ph.Command != "" {
		t = cmd.Timeout.Or(commandTimeout)
	}
	return src.Timeout.Or(t)
}

// checkInput checks that what is handed over exists and has ended by then.
func (c *compiler) checkInput(ph *Phase, in *Input, src *schema.Phase) {
	if in.Kind != InputPhase && in.Kind != InputField {
		return
	}
	i := slices.IndexFunc(src.Inputs.Items, func(t schema.Text) bool { return t.Value == in.Name })
	at := src.Inputs.Items[i]
	other := &c.g.Phases[in.Phase]
	if c.relation(ph.ID, in.Phase) == beside {
		c.sayBeside(at.Span(), ph, other)
	}
	if in.Kind != InputField || c.vague(other) {
		return
	}
	if other.Kind == Calls {
		c.list.Report(diag.UnknownField, at.Span(), "%q is a call, and a call has no report", other.Name).
			Hintf("write %s as a whole, which is how it ended", other.Name)
		return
	}
	if other.Kind == FansOut {
		c.list.Report(diag.UnknownField, at.Span(), "%q is repeated over a list, and each of its items has a report of its own", other.Name).
			Hintf("write %s as a whole, which is how its items ended", other.Name)
		return
	}
	known := fieldNames(c.result(other))
	if other.Envelope != nil {
		known = known[:0:0]
		for _, f := range other.Envelope.Fields {
			known = append(known, f.Name)
		}
	}
	for i := range other.Outputs {
		known = append(known, other.Outputs[i].Name)
	}
	if !slices.Contains(known, in.Field) {
		slices.Sort(known)
		d := c.list.Report(diag.UnknownField, at.Frag.Span(len(other.Name)+1, len(at.Value)), "phase %q has no field %q", other.Name, in.Field)
		didYouMean(d, in.Field, known, "name a field of its envelope")
	}
}

func fieldNames(t *dsl.Type) []string {
	var out []string
	for _, f := range t.Fields {
		out = append(out, f.Name)
	}
	return out
}

// ruleTexts compiles the conditions and the texts of a phase's rules.
func (c *compiler) ruleTexts(ph *Phase) {
	for i := int(ph.First); i < int(ph.First)+ph.Count; i++ {
		rule, src := &c.g.Rules[i], &c.parsed[i].rule
		scope := c.endedScope(ph)
		if src.When.Text != "" {
			if rule.When = c.cond(src.When, scope, boolType); rule.When != nil {
				c.condReads(ph.ID, rule.When)
			}
		}
		if src.With.Text == "" {
			continue
		}
		if rule.With = c.cond(src.With, scope, nil); rule.With != nil {
			c.condReads(ph.ID, rule.With)
		}
		if rule.Target < 0 {
			continue
		}
		to := &c.g.Phases[rule.Target]
		if c.vague(to) {
			continue
		}
		switch to.Work() {
		case Noop, Commit, Status:
			c.list.Report(diag.FeedbackUnread, src.With.Whole(), "%q does not read feedback", to.Name).
				Hintf("remove with, or send it to a phase that works on it")
		case Calls:
			if !c.handsOnFeedback(to) {
				c.list.Report(diag.FeedbackUnread, src.With.Whole(), "%q is a call, and none of its params is given the feedback", to.Name).
					Hintf(`remove with, or hand it on: set: {note: "{{feedback}}"}`)
			}
		}
	}
}

// relation says how a phase stands to one that it reads.
type relation uint8

const (
	earlier relation = iota + 1 // itself, or what it depends on
	later                       // what depends on it, or a detour that is never under way at the same time
	beside                      // what may run at the same time
)

func (c *compiler) relation(reader, read PhaseID) relation {
	r, p := &c.g.Phases[reader], &c.g.Phases[read]
	switch {
	case reader == read || r.Before.Has(read):
		return earlier
	case p.Before.Has(reader):
		return later
	case p.Detour && c.heldWhile(p, r), r.Detour && c.heldWhile(r, p):
		return later
	}
	return beside
}

// heldWhile says whether a phase never runs while a detour is under way: it depends on every phase that
// routes there. Two detours exclude each other when the routers of one all depend on those of the other.
func (c *compiler) heldWhile(d, ph *Phase) bool {
	if len(d.Routers) == 0 {
		return true
	}
	if ph.Detour {
		after := func(a, b *Phase) bool {
			for _, r := range a.Routers {
				for _, s := range b.Routers {
					if r != s && !c.g.Phases[r].Before.Has(s) {
						return false
					}
				}
			}
			return true
		}
		return after(d, ph) || after(ph, d)
	}
	for _, r := range d.Routers {
		if !ph.Before.Has(r) {
			return false
		}
	}
	return true
}

// condReads checks what a condition of a phase reads.
func (c *compiler) condReads(reader PhaseID, cond *dsl.Cond) {
	c.reads(reader, cond.Reads(), inCondition)
	for _, t := range cond.Terms() {
		if t.Phase != "" {
			read := func(r dsl.Read) bool {
				return r.Phase == t.Phase && t.Span.Start <= r.Span.Start && r.Span.End <= t.Span.End
			}
			if slices.ContainsFunc(cond.Reads(), read) { // phases.x.status == "success", said as a read
				continue
			}
			if id, ok := c.byName[t.Phase]; ok && c.relation(reader, id) == beside {
				c.sayBeside(t.Span, &c.g.Phases[reader], &c.g.Phases[id])
			}
			continue
		}
		for i := range c.g.Phases {
			if c.relation(reader, PhaseID(i)) == beside {
				c.sayBeside(t.Span, &c.g.Phases[reader], &c.g.Phases[i])
				break
			}
		}
	}
}

// templateReads checks what a text of a phase reads. In a prompt a phase without a result says so, so only
// what may run beside is refused there.
func (c *compiler) templateReads(reader PhaseID, t *dsl.Template, prompt bool) {
	switch {
	case t == nil:
	case prompt:
		c.reads(reader, t.Reads(), inPrompt)
	default:
		c.reads(reader, t.Reads(), inText)
	}
}

// place is the kind of text that reads a phase.
type place uint8

const (
	inCondition place = iota + 1 // which may ask first whether there is a result
	inPrompt                     // in which what is not available says so
	inText                       // any other template: it cannot ask, and fails its phase
)

func (c *compiler) reads(reader PhaseID, reads []dsl.Read, where place) {
	for _, r := range reads {
		id, ok := c.byName[r.Phase]
		if r.Phase == "" || !ok {
			continue
		}
		switch c.relation(reader, id) {
		case beside:
			c.sayBeside(r.Span, &c.g.Phases[reader], &c.g.Phases[id])
		case later:
			if where == inPrompt || r.Guarded || r.Field == "status" || r.Field == "visits" {
				continue
			}
			why := "comes after " + strconv.Quote(c.g.Phases[reader].Name)
			if c.g.Phases[id].Detour {
				why = "is a detour"
			}
			d := c.list.Report(diag.ReadsLaterPhase, r.Span, "%q %s and may have no result yet", r.Phase, why)
			if where == inCondition {
				d.Hintf("read it behind a guard: phases.%s.visits > 0 && …", r.Phase)
			} else {
				d.Hintf("%s", c.laterText(&c.g.Phases[reader], &c.g.Phases[id]))
			}
		}
	}
}

// laterText says what to do about a text that reads a phase which has not run by then.
func (c *compiler) laterText(reader, read *Phase) string {
	const why = "a phase that has not run has no value here"
	for _, r := range c.g.RulesOf(read.ID) {
		if r.Target == reader.ID {
			return fmt.Sprintf("%s: write {{feedback}}, and hand the value over on the rule that leads back: -> %s … with …", why, reader.Name)
		}
	}
	if read.Detour || reader.Detour {
		return why + ": write {{feedback}}, and hand the value over with `with` on a rule that leads here"
	}
	return fmt.Sprintf("%s: move %q above %q, or write {{feedback}} and hand the value over with `with` on a rule that leads back here", why, read.Name, reader.Name)
}

func (c *compiler) sayBeside(at diag.Span, reader, read *Phase) {
	d := c.list.Report(diag.ReadsParallelPhase, at, "%q may run beside %q, so what is read would depend on which ends first", read.Name, reader.Name)
	switch {
	case read.Detour || reader.Detour:
		d.Hintf("read it where the detour cannot be under way, or in accept")
	case read.ID < reader.ID:
		d.Hintf("add %q to the needs of %q", read.Name, reader.Name)
	default:
		d.Hintf("move %q above %q and add it to its needs, or read it in accept", read.Name, reader.Name)
	}
}
