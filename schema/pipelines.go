package schema

// The keys of pipelines, and of what stands in one beside its phases.

import (
	"slices"

	"gopkg.in/yaml.v3"

	"foundry/diag"
)

func (l *language) pipelines() {
	l.pipeline = newSection("pipeline", "a pipeline",
		text("extends", "the pipeline whose keys it has unless it says otherwise, such as builtin/plan-build-test", func(p *Pipeline) *Text { return &p.Extends }),
		names("patch", "patch", "changes of single phases of the extended pipeline, by id, and new ones", func(d *decoder, v value, p *Pipeline) {
			p.PatchSpan = v.at
			p.Patch = mapOf(d, v, shortName, d.patch)
		}),
		text("description", "what it does, in one line", func(p *Pipeline) *Text { return &p.Description }),
		names("params", "param", "values that a run may set with --set", func(d *decoder, v value, p *Pipeline) {
			p.Params = mapOf(d, v, shortName, func(name Text, v value) Param {
				x := Param{Name: name, Span: name.Span()}
				got, _ := mapping(d, l.param, v, &x)
				x.Untyped = got.has("type") && !x.Type.Set
				return x
			})
		}),
		text("request", "whether a run needs a request", func(p *Pipeline) *Text { return &p.Request }).enum("optional", "required", "none").def("optional"),
		row("isolation", ShapeChoice, "where a run works: true a worktree, detached one without a branch, false the checkout itself", readIsolation).
			enum("true", "false", "detached").def("the project's"),
		text("merge", "what happens to an accepted run", func(p *Pipeline) *Text { return &p.Merge }).enum("auto", "ask", "never").def("the project's"),
		texts("protect", "patterns of paths that no phase of it may write", func(p *Pipeline) *Texts { return &p.Protect }),
		text("accept", "the expression that decides between accepted and rejected", func(p *Pipeline) *Text { return &p.Accept }).def("all_phases_pass"),
		nested("limits", "limits", "budgets of a run", func(d *decoder, v value, p *Pipeline) {
			p.Limits.Span = d.span(v)
			mapping(d, l.limits, v, &p.Limits)
		}),
		list("criteria", "criterion", "checks before the work and after it", func(d *decoder, v value, p *Pipeline) {
			p.Criteria = listOf(d, v, d.criterion)
			unique(d, p.Criteria, "criterion", func(c *Criterion) *Text { return &c.Name })
		}),
		boolean("fail_fast", "whether the first failure stops everything", func(p *Pipeline) *Bool { return &p.FailFast }).def("false"),
		boolean("keep_going", "whether phases run although what they need failed", func(p *Pipeline) *Bool { return &p.KeepGoing }).def("false"),
		unbuilt[Pipeline]("after", ShapeSection, "code phases after the run has ended"),
		list("phases", "phase", "the phases, in order", func(d *decoder, v value, p *Pipeline) { p.Phases = d.phases(v) }).must().unless("extends"),
	)
	l.param = newSection("param", "a param",
		text("type", "what it holds", func(p *Param) *Text { return &p.Type }).enum("string", "text", "int", "bool", "choice", "list", "path").def("string"),
		data("default", "its value when a run does not set it", func(p *Param) *Data { return &p.Default }),
		boolean("required", "whether a run must set it", func(p *Param) *Bool { return &p.Required }).def("false"),
		texts("choices", "the texts that a choice takes", func(p *Param) *Texts { return &p.Choices }),
	)
	l.limits = newSection("limits", "limits",
		duration("time", "how long something of the run may be running", func(x *Limits) *Duration { return &x.Time }).def("2h"),
		integer("turns", "turns of agents", func(x *Limits) *Int { return &x.Turns }).def("60").from(1),
		integer("tokens", "tokens, of all agents together", func(x *Limits) *Int { return &x.Tokens }).from(1),
		decimal("cost", "money in dollars, as harnesses report it", func(x *Limits) *Number { return &x.Cost }),
		integer("phases", "visits of phases", func(x *Limits) *Int { return &x.Phases }).from(1),
	)
	l.criterion = newSection("criterion", "a criterion",
		row("name", ShapeText, "what it is called in the verdict", func(d *decoder, _ *Key, v value, c *Criterion) {
			if t, ok := d.text(v); ok && d.checkName(v.via, t, true) {
				c.Name = t
			}
		}).must(),
		script("run", "the command that checks it", func(c *Criterion) *Script { return &c.Run }),
		text("command", "the named command that checks it", func(c *Criterion) *Text { return &c.Command }),
		exitCodes("exit_codes", "the exit codes that are a pass, or nonzero", func(c *Criterion) *ExitCodes { return &c.ExitCodes }),
		boolean("required", "whether a run that does not meet it is rejected", func(c *Criterion) *Bool { return &c.Required }).def("true"),
	)
}

func (d *decoder) pipeline(name Text, v value) Pipeline {
	p := Pipeline{Name: name, Span: name.Span()}
	mapping(d, d.lang.pipeline, v, &p)
	return p
}

func readIsolation(d *decoder, k *Key, v value, p *Pipeline) {
	n := v.node
	if n.Kind == yaml.ScalarNode && n.Style == 0 && n.Tag == "!!bool" && (n.Value == "true" || n.Value == "false") {
		f, _ := d.scalar(n)
		p.Isolation = Text{Value: n.Value, Frag: f, Set: true}
		return
	}
	if n.Kind != yaml.ScalarNode || isNull(n) || n.Style&yaml.TaggedStyle != 0 {
		d.wrongType(v, "true, false or detached")
		return
	}
	if n.Value != "detached" {
		d.report(v.via, diag.NotBoolean, d.span(v), "%s takes true, false or detached, not %q", v.label(), clip(n.Value))
		return
	}
	p.Isolation, _ = d.text(v)
}

func (d *decoder) criterion(v value, c *Criterion) bool {
	got, ok := mapping(d, d.lang.criterion, v, c)
	if !ok {
		return false
	}
	c.Span = d.opening(v.node)
	if c.Name.Set {
		c.Span = c.Name.Span()
	}
	d.exactlyOne(v, got, c.Span, noun{word: "this criterion"}, "run", "command")
	return true
}

// exactlyOne checks that one of the keys was written, and only one.
func (d *decoder) exactlyOne(v value, got seen, at diag.Span, what noun, keys ...string) {
	var first *entry
	for i := range got.entries {
		e := &got.entries[i]
		for _, k := range keys {
			if e.name != k {
				continue
			}
			if first != nil {
				keep := "keep one of them"
				if slices.Contains(keys, "agent") {
					keep += ", or make two phases"
				}
				d.report(e.via, diag.PhaseKind, d.spanOf(e.key), "%s has both %q and %q", what, first.name, e.name).
					Notef(d.spanOf(first.key), "%q stands here", first.name).Hintf("%s", keep)
				continue
			}
			first = e
		}
	}
	if first == nil && !got.unknown {
		d.report(v.via, diag.PhaseKind, at, "%s does not say what to do", what).Hintf("write %s", either(keys))
	}
}

// unique reports names that occur twice in a list.
func unique[T any](d *decoder, list []T, noun string, name func(*T) *Text) {
	first := make(map[string]int, len(list))
	for i := range list {
		t := name(&list[i])
		if !t.Set {
			continue
		}
		if j, dup := first[t.Value]; dup {
			d.report(nil, diag.DuplicateID, t.Span(), "%s %q is defined twice", noun, t.Value).Notef(name(&list[j]).Span(), "the first one is here").Hintf("give it a name of its own")
			continue
		}
		first[t.Value] = i
	}
}
