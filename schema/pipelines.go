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
				x.Untyped = got.has("type") && !x.Type.Set || got.has("choices") && !x.Choices.Set
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
		nested("after", "after", "commands for when the run has ended and its work is where it belongs", func(d *decoder, v value, p *Pipeline) {
			mapping(d, l.after, v, &p.After)
			d.distinctAfter(&p.After)
		}),
		list("phases", "phase", "the phases, in order", func(d *decoder, v value, p *Pipeline) { p.Phases = d.phases(v) }).must().unless("extends"),
	)
	l.afters()
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

// afters are the keys of after and of the commands in it.
func (l *language) afters() {
	of := func(name, doc string, at func(*After) *AfterList) *key[After] {
		return list(name, "after_phase", doc, func(d *decoder, v value, a *After) {
			*at(a) = AfterList{List: listOf(d, v, d.afterPhase), Set: true}
		})
	}
	l.after = newSection("after", "after",
		of("accepted", "after a run that was accepted: in the merged checkout, or in the worktree where merge is never", func(a *After) *AfterList { return &a.Accepted }),
		of("rejected", "after a run that was rejected, in its worktree", func(a *After) *AfterList { return &a.Rejected }),
		of("always", "after every run that was not killed, behind the others", func(a *After) *AfterList { return &a.Always }),
	)
	l.afterPhase = newSection("after_phase", "a phase of after",
		row("id", ShapeText, "its name, for logs and for resume --after", readAfterID).must(),
		text("when", "the expression without which it is skipped; it may read every phase", func(a *AfterPhase) *Text { return &a.When }),
		script("run", "the command: a text for a shell, or a list as argv", func(a *AfterPhase) *Script { return &a.Run }),
		text("command", "the named command", func(a *AfterPhase) *Text { return &a.Command }),
		pairs("env", "variables of its environment; values are templates, which may read every phase", func(a *AfterPhase) *Pairs { return &a.Env }),
		text("dir", "the directory it runs in, from the directory of this file", func(a *AfterPhase) *Text { return &a.Dir }),
		duration("timeout", "how long it may take", func(a *AfterPhase) *Duration { return &a.Timeout }).def("15m"),
		exitCodes("exit_codes", "the exit codes that are a pass, or nonzero", func(a *AfterPhase) *ExitCodes { return &a.ExitCodes }),
	)
}

func readAfterID(d *decoder, _ *Key, v value, a *AfterPhase) {
	if t, ok := d.text(v); ok && d.checkName(v.via, t, false) {
		a.ID = t
	}
}

func (d *decoder) afterPhase(v value, a *AfterPhase) bool {
	got, ok := mapping(d, d.lang.afterPhase, v, a)
	if !ok {
		return false
	}
	a.Span = d.opening(v.node)
	if a.ID.Set {
		a.Span = a.ID.Span()
	}
	d.exactlyOne(v, got, a.Span, noun{"phase", a.ID.Value}, "run", "command")
	return true
}

// distinctAfter reports ids that occur twice in after, whichever list they stand in.
func (d *decoder) distinctAfter(a *After) {
	var all []AfterPhase
	for _, l := range [...]AfterList{a.Accepted, a.Rejected, a.Always} {
		all = append(all, l.List...)
	}
	unique(d, all, "phase", func(x *AfterPhase) *Text { return &x.ID })
}

func (d *decoder) pipeline(name Text, v value) Pipeline {
	p := Pipeline{Name: name, Span: name.Span()}
	p.Unread = d.loses(func() { mapping(d, d.lang.pipeline, v, &p) })
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
		found := d.report(v.via, diag.NotBoolean, d.span(v), "%s takes true, false or detached, not %q", v.label(), clip(n.Value))
		if near := diag.Suggest(n.Value, k.Enum); near != "" {
			found.Hintf("did you mean %s?", near)
		}
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
			if first != nil && (first.mistyped() || e.mistyped()) {
				continue // which one is meant shows when the name is right
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
