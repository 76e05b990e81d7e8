package graph

import (
	"slices"

	"foundry/diag"
	"foundry/dsl"
	"foundry/envelope"
	"foundry/schema"
)

// This file holds the passes of compilation in their order. Each pass adds one thing to the graph and reports
// what is wrong with it; a later pass works with what the earlier ones could make out, so that one mistake
// does not hide the next. A graph with errors is never handed out.

// Compile makes the graph of a pipeline. The findings are those of the pipeline, of the definitions it uses
// and of the project section; the graph is nil when one of them is an error, or when reading the file found one in
// what the pipeline is made of.
func (c *Catalogue) Compile(pipeline string) (*Graph, diag.List) {
	p, ok := c.pipeline(pipeline)
	if !ok {
		var list diag.List
		list.Merge(c.included)
		c.unknownPipeline(&list, diag.Span{}, pipeline)
		return nil, list
	}
	comp := c.complete(p)
	var list diag.List
	c.checkProject(&list)
	list.Merge(comp.findings())
	if list.HasErrors() || comp.list.HasErrors() || comp.unread() {
		return nil, list
	}
	return comp.g, list
}

// checked runs the passes that have findings over a pipeline, once.
func (c *Catalogue) checked(p *schema.Pipeline) *compiler {
	comp, done := c.whole[p]
	if !done {
		comp = c.compiler(p)
		comp.run()
		c.whole[p] = comp
	}
	return comp
}

// complete is checked with what a run and a caller need beside, once, however many others call the pipeline. The
// linter goes without it for pipelines that none calls: nothing here has findings.
func (c *Catalogue) complete(p *schema.Pipeline) *compiler {
	comp := c.checked(p)
	if !comp.complete && !comp.list.HasErrors() && !comp.unread() {
		comp.complete = true
		comp.g.Bound = comp.bound()
		comp.fingerprint()
		comp.inline()
	}
	return comp
}

// Lint returns the findings of the whole file of the user: the project, every definition, used or not, and
// every pipeline.
func (c *Catalogue) Lint() diag.List {
	var list diag.List
	if c.user.Broken {
		return list
	}
	if c.user.Default.Set {
		if _, ok := c.pipeline(c.user.Default.Value); !ok {
			c.unknownPipeline(&list, c.user.Default.Span(), c.user.Default.Value)
		}
	}
	c.checkProject(&list)
	list.Merge(c.included)
	all := newUses()
	for i := range c.user.Pipelines {
		comp := c.checked(&c.user.Pipelines[i])
		list.Merge(comp.findings())
		all.add(comp.used)
	}
	c.lintUnused(&list, all)
	return list
}

// unknownPipeline reports a name that is no pipeline and returns the one that was likely meant.
func (c *Catalogue) unknownPipeline(list *diag.List, at diag.Span, name string) (*schema.Pipeline, bool) {
	if c.partial && !at.IsZero() {
		return nil, false
	}
	known := names(pipelineName, c.user.Pipelines, c.builtin.Pipelines)
	d := list.Report(diag.UnknownPipeline, at, "there is no pipeline %q", name)
	return c.pipeline(didYouMean(d, name, known, "`foundry ls pipelines` lists what there is"))
}

// compiler is the compilation of one pipeline.
type compiler struct {
	cat  *Catalogue
	own  *schema.Pipeline // as it is written
	p    *schema.Pipeline // with what it extends merged in
	def  *pipelineDef
	g    *Graph
	list diag.List
	used *uses

	body string // the fingerprint of the pipeline without what is said of runs

	complete bool // the bound, the fingerprints and the called phases are there

	src    []*schema.Phase // by PhaseID
	parsed []parsed        // by RuleID
	byName map[string]PhaseID
	names  []string // of the phases, sorted

	calls     map[PhaseID]*compiler // the called pipelines
	called    int                   // the phases of all of them that stand in the graph
	most      int                   // how many there can be, with those that are called for each item
	agents    map[*schema.Agent]int
	agentDefs []*agentDef // by index into Graph.Agents
	commands  map[*schema.Command]*Command
	templates map[templateKey]*dsl.Template
	kinds     map[string]*envelope.Kind
	shells    places // where shell texts stand that were checked

	itemParsed map[PhaseID][]dsl.Rule // the rules of Each.Rules

	scopes  scopes
	project []EnvVar
	lost    bool // a route's target is unknown and resembles nothing

	flow       []exits   // by PhaseID: where a phase's rules can lead
	reachable  Set       // the phases that some path enters
	lastPhases []PhaseID // what nothing but detours depends on
}

// templateKey is the place of a template and how it is compiled.
type templateKey struct {
	at   diag.Span
	text string
	mode dsl.Mode
	item PhaseID // whose item the text may name
}

func (c *Catalogue) compiler(p *schema.Pipeline) *compiler {
	def := c.resolvePipeline(p)
	comp := &compiler{cat: c, own: p, p: &def.p, def: def, used: newUses(), byName: map[string]PhaseID{},
		calls: map[PhaseID]*compiler{}, itemParsed: map[PhaseID][]dsl.Rule{}, agents: map[*schema.Agent]int{}, commands: map[*schema.Command]*Command{}, templates: map[templateKey]*dsl.Template{},
		kinds: map[string]*envelope.Kind{},
		g:     &Graph{Body: Body{Pipeline: p.Name.Value}, Description: def.p.Description.Value, Span: p.Name.Span()}}
	if find(c.user.Pipelines, p.Name.Value, pipelineName) == p {
		comp.g.File = c.home(p.Name.Span())
	} else {
		comp.g.Builtin = true
	}
	comp.list.Merge(c.included)
	comp.list.Merge(def.list)
	return comp
}

// prepare is the order of the passes up to what texts can name.
func (c *compiler) prepare() {
	c.settings() // params, limits, policies
	c.collect()  // one Phase for each phase of the file, ids
	c.work()     // what each phase does: its kind, agent, envelope, command
	c.order()    // needs, and what lies before and after what
	c.routes()   // rules with their targets; the detours take their place in the order
	c.open()     // the scopes that all texts are compiled in
}

// run is the order of the passes that have findings.
func (c *compiler) run() {
	c.prepare()
	c.protection() // what nobody may write
	c.texts()      // conditions, templates, gates, what each phase may write
	c.acceptance() // accept, criteria
	c.afters()     // what follows the end of a run
	if len(c.g.Phases) > 0 {
		c.follow()        // where the rules can lead: reachability and its findings
		c.judgeAccept()   // whether accept can hold, and on which paths
		c.judgeVerdicts() // what may change after it was judged
	}
	c.unusedParams()
}

// collect makes the phases. A second phase of the same id stays in the list, so that the order is as written,
// but no name leads to it.
func (c *compiler) collect() {
	n := len(c.p.Phases)
	c.src, c.names = make([]*schema.Phase, 0, n), make([]string, 0, n)
	c.byName = make(map[string]PhaseID, n)
	c.g.Phases, c.g.Own = make([]Phase, 0, n), make([]PhaseID, 0, n)
	for i := range c.p.Phases {
		src := &c.p.Phases[i]
		id := PhaseID(len(c.src))
		if _, twice := c.byName[src.ID.Value]; !twice && src.ID.Set {
			c.byName[src.ID.Value] = id
			c.names = append(c.names, src.ID.Value)
		}
		at := src.ID.Span()
		if at.IsZero() {
			at = src.Span
		}
		c.src = append(c.src, src)
		c.g.Own = append(c.g.Own, id)
		c.g.Phases = append(c.g.Phases, Phase{ID: id, Name: src.ID.Value, Local: src.ID.Value, Owner: -1, Description: src.Description.Value, Hint: src.Hint.Value, Span: at,
			Detour: src.Detour.Value, Optional: src.Optional.Value, Agent: -1})
	}
	slices.Sort(c.names)
}

// unknownPhase reports a name that is no phase of the pipeline and returns the phase that was likely meant.
func (c *compiler) unknownPhase(at diag.Span, name string) (PhaseID, bool) {
	d := c.list.Report(diag.UnknownPhase, at, "phase %q is not defined", name)
	if near := diag.Suggest(name, c.names); near != "" {
		id := c.byName[near]
		d.Hintf("did you mean %q? (defined at line %d)", near, c.g.Phases[id].Span.Position().Line)
		return id, true
	}
	if len(c.names) > 12 {
		d.Hintf("`foundry graph %s` lists the phases", c.p.Name.Value)
	} else {
		d.Hintf("the phases are %s", listed(c.names))
	}
	return -1, false
}
