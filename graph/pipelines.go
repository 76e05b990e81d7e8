package graph

import (
	"strconv"
	"strings"
	"time"

	"foundry/diag"
	"foundry/glob"
	"foundry/schema"
)

// This file resolves what a pipeline says as a whole: what it extends, its params, limits and policies, and
// what the project section says for all pipelines.

// pipelineDef is a pipeline with what it extends merged in.
type pipelineDef struct {
	p      schema.Pipeline
	list   diag.List
	ok     bool // what it extends could be resolved
	unread bool // it, or what it extends, could not be made out as a whole
	active bool
}

func (c *Catalogue) resolvePipeline(p *schema.Pipeline) *pipelineDef {
	if def, known := c.pipelines[p]; known {
		if def.active {
			def.ok = false
			def.list.Report(diag.Cycle, p.Extends.Span(), "pipeline %q extends itself", p.Name.Value).
				Hintf("extend a pipeline that does not lead back here, or write builtin/%s for the one that ships", p.Name.Value)
		}
		return def
	}
	def := &pipelineDef{p: *p, ok: true, active: true, unread: p.Unread}
	c.pipelines[p] = def
	defer func() { def.active = false }()
	if !p.Extends.Set {
		if !p.PatchSpan.IsZero() && !p.Unread {
			def.list.Report(diag.MissingKey, p.PatchSpan, "patch changes the phases of what a pipeline extends, and %q extends nothing", p.Name.Value).
				Hintf("add extends: PIPELINE, or change the phases where they stand")
		}
		return def
	}
	name, builtin := cutBuiltin(p.Extends.Value)
	var parent *schema.Pipeline
	if builtin || find(c.user.Pipelines, p.Name.Value, pipelineName) != p {
		parent = find(c.builtin.Pipelines, name, pipelineName)
	} else {
		parent, _ = c.pipeline(name)
	}
	if parent == nil {
		def.ok = false
		if parent, _ = c.unknownPipeline(&def.list, p.Extends.Span(), p.Extends.Value); parent == nil || parent == p {
			def.unread = true
			return def
		}
	}
	if up := c.resolvePipeline(parent); !up.active {
		def.unread = def.unread || up.unread
		def.p = mergePipeline(up.p, *p)
		if len(p.Patch) > 0 {
			c.patch(def, p)
		}
	}
	return def
}

func cutBuiltin(name string) (string, bool) {
	if len(name) > len(builtinPrefix) && name[:len(builtinPrefix)] == builtinPrefix {
		return name[len(builtinPrefix):], true
	}
	return name, false
}

// mergePipeline lays a pipeline over the one it extends: maps merge, lists replace.
func mergePipeline(parent, child schema.Pipeline) schema.Pipeline {
	out := child
	inherit(&out.Description, out.Description.Set, parent.Description)
	inherit(&out.Request, out.Request.Set, parent.Request)
	inherit(&out.Isolation, out.Isolation.Set, parent.Isolation)
	inherit(&out.Merge, out.Merge.Set, parent.Merge)
	inherit(&out.Accept, out.Accept.Set, parent.Accept)
	inherit(&out.Protect, out.Protect.Set, parent.Protect)
	inherit(&out.FailFast, out.FailFast.Set, parent.FailFast)
	inherit(&out.KeepGoing, out.KeepGoing.Set, parent.KeepGoing)
	inherit(&out.Criteria, out.Criteria != nil, parent.Criteria)
	inherit(&out.Phases, out.Phases != nil, parent.Phases)
	for _, l := range []struct{ to, from *schema.AfterList }{
		{&out.After.Accepted, &parent.After.Accepted}, {&out.After.Rejected, &parent.After.Rejected}, {&out.After.Always, &parent.After.Always},
	} {
		inherit(l.to, l.to.Set, *l.from)
	}
	out.Params = overlaid(parent.Params, child.Params, func(p *schema.Param) string { return p.Name.Value })
	l, up := &out.Limits, &parent.Limits
	inherit(&l.Time, l.Time.Set, up.Time)
	inherit(&l.Turns, l.Turns.Set, up.Turns)
	inherit(&l.Tokens, l.Tokens.Set, up.Tokens)
	inherit(&l.Cost, l.Cost.Set, up.Cost)
	inherit(&l.Phases, l.Phases.Set, up.Phases)
	return out
}

// settings is the pass over all that is not a phase.
func (c *compiler) settings() {
	g, p := c.g, c.p
	g.Limits = Limits{Time: p.Limits.Time.Or(2 * time.Hour), Turns: 60, Tokens: p.Limits.Tokens.Value, Cost: p.Limits.Cost.Value, Phases: p.Limits.Phases.Value}
	if p.Limits.Turns.Set {
		g.Limits.Turns = p.Limits.Turns.Value
	}
	g.NeedRequest, g.NoRequest = p.Request.Value == "required", p.Request.Value == "none"
	g.FailFast, g.KeepGoing = p.FailFast.Value, p.KeepGoing.Value
	if g.FailFast && g.KeepGoing {
		c.list.Report(diag.WrongType, p.KeepGoing.Span, "fail_fast and keep_going contradict each other").Hintf("keep one of them")
	}
	project := &c.cat.user.Project
	g.Isolation = Worktree
	if !project.Isolation.Or(true) {
		g.Isolation = Checkout
	}
	if p.Isolation.Set {
		g.Isolation = map[string]Isolation{"true": Worktree, "false": Checkout, "detached": Detached}[p.Isolation.Value]
	}
	policies := map[string]Policy{"ask": MergeAsk, "auto": MergeAuto, "never": MergeNever}
	g.Merge = MergeAsk
	for _, t := range []schema.Text{project.Merge, p.Merge} {
		if policy, ok := policies[t.Value]; ok && t.Set {
			g.Merge = policy
		}
	}
	checkGlobs(&c.list, p.Protect, ofProtect)
	g.Project = newProject(project)
	for i := range p.Params {
		c.param(&p.Params[i])
	}
}

func newProject(p *schema.Project) Project {
	out := Project{Name: p.Name.Value, Base: p.Base.Value, Hooks: p.Hooks.Or(true), Secrets: p.Secrets.Values(),
		Copy: p.Worktree.Copy.Values(), Link: p.Worktree.Link.Values(),
		Scratch: []string{"node_modules", "target", "dist", "build", ".venv", "__pycache__", "coverage", ".cache"},
		Keep:    KeepOf(&p.Keep)}
	if p.Worktree.Scratch.Set {
		out.Scratch = p.Worktree.Scratch.Values()
	}
	return out
}

// KeepOf is what a file says is kept, with what is kept where it says nothing.
func KeepOf(k *schema.Keep) Keep {
	out := Keep{Runs: 50, Days: 30, LogBytes: 100 << 20}
	if k.Runs.Set {
		out.Runs = k.Runs.Value
	}
	if k.Days.Set {
		out.Days = k.Days.Value
	}
	if k.Log.Set {
		out.LogBytes = int64(k.Log.Value)
	}
	return out
}

// checkProject checks the project section, which every pipeline of the file uses.
func (c *Catalogue) checkProject(list *diag.List) {
	p := &c.user.Project
	checkHarness(list, p.Harness)
	checkGlobs(list, p.Protect, ofProtect)
	checkGlobs(list, p.Worktree.Copy, "remove it: copy names what is copied, and nothing else is")
	for _, t := range p.Worktree.Link.Items {
		if why := (&Param{Type: ParamPath}).CheckParam(t.Value); why != "" {
			list.Report(diag.BadGlob, t.Span(), "a linked path %s", why).Hintf("write it relative to the repository root")
		}
	}
}

// What to do about a pattern that was meant as an exception, by the key that it stands under.
const (
	ofProtect = "remove it: what protect names has no exceptions"
	ofWrites  = "remove it, and name under protect what must not be written"
	ofSources = "remove it: what sources names has no exceptions"
)

// checkGlobs reports patterns that could never match what their author meant. The hint is for one that begins with !.
func checkGlobs(list *diag.List, t schema.Texts, negated string) {
	for i := range t.Items {
		if strings.HasPrefix(t.Items[i].Value, "!") {
			list.Report(diag.BadGlob, t.Items[i].Span(), "there are no patterns for exceptions, and %q is meant as one", t.Items[i].Value).Hintf("%s", negated)
			continue
		}
		if templated(t.Items[i].Value) {
			list.Report(diag.BadGlob, t.Items[i].Span(), "%q is no pattern", t.Items[i].Value).
				Hintf(`only an entry of writes in a phase with each is looked up, and it stands alone: "{{item.files}}"`)
			continue
		}
		if err := glob.Validate(t.Items[i].Value); err != nil {
			list.Report(diag.BadGlob, t.Items[i].Span(), "%s", err)
		}
	}
}

var paramTypes = map[string]ParamType{"string": ParamString, "text": ParamText, "int": ParamInt, "bool": ParamBool,
	"choice": ParamChoice, "list": ParamList, "path": ParamPath}

// param compiles one param with its default.
func (c *compiler) param(src *schema.Param) {
	out := Param{Name: src.Name.Value, Type: ParamString, Required: src.Required.Value, Choices: src.Choices.Values(), ChoicesAt: src.Choices.Span, Span: src.Name.Span()}
	if src.Type.Set {
		out.Type = paramTypes[src.Type.Value]
	}
	if src.Untyped {
		out.Type = 0
		c.g.Params = append(c.g.Params, out)
		return
	}
	switch {
	case out.Type == ParamChoice && len(out.Choices) == 0:
		c.list.Report(diag.MissingKey, src.Type.Span(), "a choice needs its choices").Hintf("add choices: [one, two]")
	case out.Type != ParamChoice && src.Choices.Set:
		c.list.Report(diag.WrongType, src.Choices.Span, "only a choice has choices, and %q is of another type", out.Name).Hintf("write type: choice")
	}
	if src.Default.Set {
		text, ok := paramText(out.Type, src.Default)
		why := ""
		if ok && len(out.Choices) > 0 || ok && out.Type != ParamChoice {
			why = out.CheckParam(text)
		}
		if !ok || why != "" {
			if why == "" {
				why = "is of another type"
			}
			c.list.Report(diag.WrongType, src.Default.Span, "the default of param %q %s", out.Name, why).
				Hintf("write a default of type %s", src.Type.Value)
		}
		out.Default, out.Has = text, true
		if out.Required {
			c.list.Report(diag.WrongType, src.Required.Span, "param %q is required and has a default", out.Name).
				Hintf("remove required or the default")
		}
	}
	c.g.Params = append(c.g.Params, out)
}

// paramText is the text form of a default, as --set would give it.
func paramText(t ParamType, d schema.Data) (string, bool) {
	switch v := d.Value.(type) {
	case string:
		return v, t != ParamInt && t != ParamBool && t != ParamList
	case int64:
		return strconv.FormatInt(v, 10), t == ParamInt
	case bool:
		return strconv.FormatBool(v), t == ParamBool
	case []schema.Data:
		for _, item := range v {
			if _, ok := item.Value.(string); !ok {
				return "", false
			}
		}
		return reply(d), t == ParamList
	}
	return "", false
}
