package check

import (
	"slices"
	"strings"

	"foundry/diag"
	"foundry/graph"
	"foundry/runner"
	"foundry/schema"
)

// This file turns tests into cases: every name is looked up in the graph of the test's pipeline, and every
// entry is held against what its phase does. A test with a mistake in it becomes no case.

// Suite collects the cases of any number of files against one pipeline file. It compiles each pipeline once.
type Suite struct {
	Broken diag.List // of pipelines that tests name and that do not compile

	cat    *graph.Catalogue
	graphs map[string]*graph.Graph // nil when it does not compile
	names  []string                // of all pipelines, sorted
	cases  []*Case
}

// Case is one test, ready to be run any number of times.
type Case struct {
	Name     string
	At       diag.Span // of its name
	Graph    *graph.Graph
	Info     runner.RunInfo
	Phases   map[string][]Given
	Criteria map[string][]Given
	Expect   schema.Expect

	entered map[string]diag.Span // where the entries of a phase begin
}

// NewSuite makes an empty suite.
func NewSuite(cat *graph.Catalogue) *Suite {
	s := &Suite{cat: cat, graphs: map[string]*graph.Graph{}}
	for _, n := range cat.Names() {
		if n.Kind == graph.PipelineName {
			s.names = append(s.names, n.Name)
		}
	}
	slices.Sort(s.names)
	return s
}

// Cases are the cases added so far, in order.
func (s *Suite) Cases() []*Case { return s.cases }

// Graph is a pipeline's graph; nil when there is no such pipeline, or it does not compile.
func (s *Suite) Graph(pipeline string) *graph.Graph {
	g, known := s.graphs[pipeline]
	if known || !slices.Contains(s.names, pipeline) {
		return g
	}
	g, found := s.cat.Compile(pipeline)
	if found.HasErrors() {
		s.Broken.Merge(found)
		g = nil
	}
	s.graphs[pipeline] = g
	return g
}

// Add makes cases of tests and returns what is wrong with them.
func (s *Suite) Add(tests []schema.Test) diag.List {
	var list diag.List
	for i := range tests {
		p := preparing{suite: s, test: &tests[i]}
		if c := p.prepare(); c != nil {
			s.cases = append(s.cases, c)
		}
		list.Merge(p.list)
	}
	return list
}

// preparing is one test on its way to a case.
type preparing struct {
	suite *Suite
	test  *schema.Test
	list  diag.List
	g     *graph.Graph
	c     *Case
}

// prepare returns nil when the test has mistakes, or its pipeline does not compile.
func (p *preparing) prepare() *Case {
	t := p.test
	name, ok := p.pipeline()
	if !ok {
		return nil
	}
	if p.g = p.suite.Graph(name); p.g == nil {
		return nil
	}
	p.c = &Case{Name: t.Name.Value, At: t.Name.Span(), Graph: p.g, Expect: t.Expect, entered: map[string]diag.Span{},
		Info: runner.RunInfo{ID: "run_test", Pipeline: p.g.Pipeline, Request: strings.TrimSpace(t.Request.Value), Jobs: max(t.J.Value, 1), Fingerprint: p.g.Fingerprint}}
	if p.c.At.IsZero() {
		p.c.At = t.Span
	}
	p.request()
	p.params()
	p.given()
	p.criteria()
	p.expect()
	if p.list.HasErrors() || t.Unread {
		return nil
	}
	return p.c
}

func (p *preparing) pipeline() (string, bool) {
	if !p.test.Pipeline.Set {
		if p.test.Unread { // its name may be what could not be read
			return "", false
		}
		name, ok := p.suite.cat.Default()
		if !ok {
			p.list.Report(diag.MissingKey, p.test.Span, "the test names no pipeline, and there is no default one").Hintf("add pipeline: NAME")
		}
		return name, ok
	}
	name := p.test.Pipeline.Value
	if !slices.Contains(p.suite.names, name) {
		if p.suite.cat.User().Unlisted {
			return "", false
		}
		d := p.list.Report(diag.UnknownPipeline, p.test.Pipeline.Span(), "there is no pipeline %q", name)
		suggest(d, name, p.suite.names, "there is")
		return "", false
	}
	return name, true
}

// suggest hints at the nearest name, else at all there are.
func suggest(d *diag.Diagnostic, word string, known []string, lead string) {
	known = slices.Sorted(slices.Values(known))
	switch near := diag.Suggest(word, known); {
	case near != "":
		d.Hintf("did you mean %q?", near)
	case len(known) == 0:
		d.Hintf("there are none")
	case len(known) <= 12:
		d.Hintf("%s %s", lead, strings.Join(known, ", "))
	}
}

func (p *preparing) request() {
	switch {
	case p.g.NeedRequest && p.c.Info.Request == "" && !p.test.Unread:
		p.list.Report(diag.MissingKey, p.c.At, "pipeline %q needs a request", p.g.Pipeline).Hintf("add request: what is to be done")
	case p.g.NoRequest && p.test.Request.Set:
		p.list.Report(diag.UnknownKey, p.test.Request.Span(), "pipeline %q takes no request", p.g.Pipeline).Hintf("remove it")
	}
}

func (p *preparing) params() {
	p.c.Info.Params = map[string]string{}
	var known []string
	for i := range p.g.Params {
		known = append(known, p.g.Params[i].Name)
	}
	for _, set := range p.test.Params {
		i := slices.Index(known, set.Name.Value)
		if i < 0 {
			d := p.list.Report(diag.UnknownParam, set.Name.Span(), "pipeline %q has no param %q", p.g.Pipeline, set.Name.Value)
			suggest(d, set.Name.Value, known, "there is")
			continue
		}
		param := &p.g.Params[i]
		text, ok := param.ParamText(set.Value)
		why := "is of another type"
		if ok {
			why = param.CheckParam(text)
		}
		if why != "" {
			p.list.Report(diag.WrongType, set.Value.Span, "the value of param %q %s", param.Name, why).Hintf("write it as it would be given with --set; texts that look like numbers need quotes")
		}
		p.c.Info.Params[param.Name] = text
	}
	for i := range p.g.Params {
		param := &p.g.Params[i]
		if _, ok := p.c.Info.Params[param.Name]; !ok && param.Required && !param.Has {
			p.list.Report(diag.MissingKey, p.c.At, "pipeline %q needs param %q", p.g.Pipeline, param.Name).Hintf("add params: {%s: VALUE}", param.Name)
		}
	}
}

// phase looks a phase up; an item, which no graph has yet, is one like the others.
func (p *preparing) phase(name schema.Text) (*graph.Phase, bool) {
	if ph, ok := p.g.Expect(name.Value); ok {
		return ph, true
	}
	var known []string
	for i := range p.g.Phases {
		known = append(known, p.g.Phases[i].Name)
	}
	d := p.list.Report(diag.UnknownPhase, name.Span(), "pipeline %q has no phase %q", p.g.Pipeline, name.Value)
	phase, item, isItem := strings.Cut(name.Value, "[")
	if near := diag.Suggest(phase, known); isItem && near != "" {
		d.Hintf("did you mean %q?", near+"["+item)
	} else {
		suggest(d, name.Value, known, "the phases are")
	}
	return nil, false
}

func (p *preparing) given() {
	p.c.Phases = map[string][]Given{}
	for _, of := range p.test.Given {
		ph, ok := p.phase(of.Name)
		if !ok {
			continue
		}
		if ph.Kind == graph.Noop && len(of.List) > 0 {
			p.list.Report(diag.WrongType, of.Name.Span(), "phase %q does nothing, so nothing can be given for it", ph.Name).Hintf("remove it")
			continue
		}
		if ph.Call != nil || ph.Each != nil && ph.Each.Call != nil {
			first := ""
			if ph.Each == nil && ph.Call.Last > ph.ID {
				first = p.g.Phases[ph.ID+1].Name
			} else if of := p.g.Repeats(ph.Name); of != nil {
				first = ph.Name + "/" + of.Each.Callee.Phases[0].Name
			} else if ph.Each != nil {
				first = ph.Name + "/" + ph.Each.Callee.Phases[0].Name
			}
			d := p.list.Report(diag.WrongType, of.Name.Span(), "phase %q is a call, and ends as its own phases let it", ph.Name)
			d.Hintf("give something for those: %s", first)
			continue
		}
		p.c.entered[ph.Name] = of.Name.Span()
		p.c.Phases[ph.Name] = p.entries(of.List, kindOf(ph), ph)
	}
}

func (p *preparing) criteria() {
	p.c.Criteria = map[string][]Given{}
	var known []string
	for i := range p.g.Criteria {
		known = append(known, p.g.Criteria[i].Name)
	}
	for i := range p.g.Phases {
		if call := p.g.Phases[i].Call; call != nil {
			for j := range call.Criteria {
				known = append(known, p.g.Phases[i].Name+"/"+call.Criteria[j].Name)
			}
		}
	}
	for _, of := range p.test.Criteria {
		if !slices.Contains(known, of.Name.Value) {
			d := p.list.Report(diag.UnknownPhase, of.Name.Span(), "pipeline %q has no criterion %q", p.g.Pipeline, of.Name.Value)
			suggest(d, of.Name.Value, known, "the criteria are")
			continue
		}
		p.c.Criteria[of.Name.Value] = p.entries(of.List, criterionEntry, nil)
	}
}

// entries turns the entries of a phase, or of a criterion when ph is nil, into outcomes.
func (p *preparing) entries(list []schema.Entry, kind entryKind, ph *graph.Phase) []Given {
	out := make([]Given, 0, len(list))
	for i := range list {
		e := &list[i]
		p.fits(e, kind, ph)
		out = append(out, p.outcome(e))
		if e.Repeat.Value && i < len(list)-1 {
			p.list.Report(diag.Unused, list[i+1].Span, "what follows a repeated entry is never used").As(diag.Error).
				Notef(e.Repeat.Span, "this one serves all that follows").Hintf("put the repeated entry last")
		}
	}
	return out
}

var stops = map[string]runner.Stop{"truncated": runner.StopTruncated, "limit": runner.StopLimit, "timeout": runner.StopTimeout, "error": runner.StopError}

func (p *preparing) outcome(e *schema.Entry) Given {
	out := Given{Reply: graph.ReplyText(e.Reply), Stop: stops[e.Stop.Value], Exit: e.Exit.Value, Output: e.Output.Value, HasOutput: e.Output.Set, Timeout: e.Timeout.Value,
		Approve: e.Answer.Value == "approve", Note: e.Note.Value, HasFiles: e.FilesSet, Looked: e.Changed.Set,
		Tokens: e.Usage.Tokens.Value, Cost: e.Usage.Cost.Value, NoCost: (e.Usage.Tokens.Set || e.Usage.Calls.Set) && !e.Usage.Cost.Set,
		Calls: e.Usage.Calls.Value, HasCalls: e.Usage.Calls.Set, Repeat: e.Repeat.Value, Review: reviewOf(&e.Review), Conflict: e.Conflict.Values(), At: e.Span}
	if e.Changed.Set {
		out.Changed = e.Changed.Values()
	}
	for _, f := range e.Files {
		out.Files = append(out.Files, File{Path: f.Path.Value, Text: f.Text.Value, Delete: f.Delete})
	}
	for _, gate := range e.Gates.Items {
		if out.Gates == nil {
			out.Gates = map[string]string{}
		}
		out.Gates[gate.Name.Value] = gate.Value.Value
	}
	return out
}
