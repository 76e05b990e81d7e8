package schema

// The sections of the language: everything outside agents and pipelines. This is the table in the order in
// which the documentation tells it.

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"foundry/diag"
)

// Version is the version of the language that this program reads.
const Version = 1

// language holds every section. Its rows refer to one another through it. Once built it is only read.
type language struct {
	file       *section[Document]
	testFile   *section[Document]
	project    *section[Project]
	worktree   *section[Worktree]
	keep       *section[Keep]
	command    *section[Command]
	envelope   *section[Envelope]
	field      *section[Field]
	gate       *section[Gate]
	prose      *section[Prose]
	agent      *section[Agent]
	models     *section[Models]
	tools      *section[Agent]
	sandbox    *section[Sandbox]
	each       *section[Each]
	turn       *section[ScriptTurn]
	pipeline   *section[Pipeline]
	param      *section[Param]
	limits     *section[Limits]
	criterion  *section[Criterion]
	after      *section[After]
	afterPhase *section[AfterPhase]
	phase      *section[Phase]
	patch      *section[Patch]
	output     *section[Output]
	test       *section[Test]
	entry      *section[Entry]
	usage      *section[Usage]
	review     *section[Review]
	expect     *section[Expect]
}

// theLanguage is built when it is first needed.
var theLanguage = sync.OnceValue(newLanguage)

func newLanguage() *language {
	l := &language{}
	l.basics()
	l.agents()
	l.pipelines()
	l.phases()
	l.tests()
	return l
}

// legal are the places where a key may stand, as messages call them.
func (l *language) legal(name string) []string {
	var out []string
	add := func(noun string, known bool) {
		if known {
			out = append(out, noun)
		}
	}
	add(l.file.noun, l.file.find(name) != nil)
	add(l.project.noun, l.project.find(name) != nil)
	add(l.worktree.noun, l.worktree.find(name) != nil)
	add(l.keep.noun, l.keep.find(name) != nil)
	add(l.command.noun, l.command.find(name) != nil)
	add(l.envelope.noun, l.envelope.find(name) != nil)
	add(l.field.noun, l.field.find(name) != nil)
	add(l.gate.noun, l.gate.find(name) != nil)
	add(l.agent.noun, l.agent.find(name) != nil)
	add(l.models.noun, l.models.find(name) != nil)
	add(l.tools.noun, l.tools.find(name) != nil)
	add(l.sandbox.noun, l.sandbox.find(name) != nil)
	add(l.each.noun, l.each.find(name) != nil)
	add(l.turn.noun, l.turn.find(name) != nil)
	add(l.pipeline.noun, l.pipeline.find(name) != nil)
	add(l.param.noun, l.param.find(name) != nil)
	add(l.limits.noun, l.limits.find(name) != nil)
	add(l.criterion.noun, l.criterion.find(name) != nil)
	add(l.after.noun, l.after.find(name) != nil)
	add(l.afterPhase.noun, l.afterPhase.find(name) != nil)
	add(l.phase.noun, l.phase.find(name) != nil)
	add(l.patch.noun, slices.ContainsFunc(l.patch.own(), func(k Key) bool { return k.Name == name }))
	add(l.output.noun, l.output.find(name) != nil)
	return out
}

func (l *language) basics() {
	l.file = newSection("file", "a pipeline file",
		row("version", ShapeInt, "the version of the language: 1", readVersion).must().from(Version).to(Version),
		text("default", "the pipeline that runs when none is named; else the only one of the file", func(f *Document) *Text { return &f.Default }),
		texts("include", "files whose agents, gates, commands, envelopes, pipelines and tests are added, as patterns from the directory of this file", func(f *Document) *Texts { return &f.Include }),
		nested("project", "project", "what holds for the whole repository", func(d *decoder, v value, f *Document) {
			f.Project.Span = d.span(v)
			mapping(d, l.project, v, &f.Project)
		}),
		names("commands", "command", "named commands, for phases and criteria", func(d *decoder, v value, f *Document) { f.Commands = mapOf(d, v, longName, d.command) }),
		names("envelopes", "envelope", "kinds of report that agents must give", func(d *decoder, v value, f *Document) {
			f.Envelopes = mapOf(d, v, longName, func(name Text, v value) Envelope {
				e := Envelope{Name: name}
				mapping(d, l.envelope, v, &e)
				return e
			})
		}),
		names("gates", "gate", "named gates: checks of what an agent reported and did", func(d *decoder, v value, f *Document) {
			f.Gates = mapOf(d, v, longName, func(name Text, v value) Gate {
				g, _ := d.gate(v)
				g.Name = name
				return g
			})
		}),
		names("agents", "agent", "agents: who works, on what harness, and what they may write", func(d *decoder, v value, f *Document) { f.Agents = mapOf(d, v, longName, d.agent) }),
		names("pipelines", "pipeline", "pipelines: phases in order, and when the result is accepted", func(d *decoder, v value, f *Document) {
			f.Pipelines = mapOf(d, v, longName, d.pipeline)
		}),
		list("tests", "test", "pipeline tests: given outcomes and the path that must follow", readTests),
	)
	l.testFile = newSection("file", "a file of tests",
		list("tests", "test", "pipeline tests: given outcomes and the path that must follow", readTests).must(),
	)
	l.project = newSection("project", "the project",
		text("name", "what reports call the project", func(p *Project) *Text { return &p.Name }),
		text("base", "the branch that runs start from and merge into; the one checked out if absent", func(p *Project) *Text { return &p.Base }),
		boolean("isolation", "whether a run works in a worktree of its own", func(p *Project) *Bool { return &p.Isolation }).def("true"),
		text("merge", "what happens to an accepted run", func(p *Project) *Text { return &p.Merge }).enum("auto", "ask", "never").def("ask"),
		texts("protect", "patterns of paths that no phase may write", func(p *Project) *Texts { return &p.Protect }),
		pairs("env", "variables of the environment for every phase; values are templates", func(p *Project) *Pairs { return &p.Env }),
		text("harness", "what agents run on unless they say otherwise", func(p *Project) *Text { return &p.Harness }),
		argv("argv", "the program of the project's harness, where it needs one", func(p *Project) *Texts { return &p.Argv }),
		text("model", "the model of agents that name none", func(p *Project) *Text { return &p.Model }),
		nested("models", "models", "the models by weight of agents that name none", func(d *decoder, v value, p *Project) { mapping(d, l.models, v, &p.Models) }),
		texts("secrets", "names of environment variables whose values are masked in all that a run keeps, shows and sends", func(p *Project) *Texts { return &p.Secrets }),
		boolean("hooks", "whether the repository's git hooks run on foundry's commits", func(p *Project) *Bool { return &p.Hooks }).def("true"),
		nested("worktree", "worktree", "how a fresh worktree is made ready", func(d *decoder, v value, p *Project) { mapping(d, l.worktree, v, &p.Worktree) }),
		nested("keep", "keep", "how long the records of runs are kept", func(d *decoder, v value, p *Project) { mapping(d, l.keep, v, &p.Keep) }),
	)
	l.worktree = newSection("worktree", "project.worktree",
		texts("copy", "ignored files that a fresh worktree gets a copy of", func(w *Worktree) *Texts { return &w.Copy }),
		texts("link", "ignored files or directories that a fresh worktree links to", func(w *Worktree) *Texts { return &w.Link }),
		row("setup", ShapeScripts, "commands that make a fresh worktree ready; a failure fails the run", func(d *decoder, _ *Key, v value, w *Worktree) { w.Setup = d.scripts(v) }),
		texts("scratch", "ignored paths that may be lost with the worktree", func(w *Worktree) *Texts { return &w.Scratch }).
			def("[node_modules, target, dist, build, .venv, __pycache__, coverage, .cache]"),
	)
	l.keep = newSection("keep", "project.keep",
		integer("runs", "records of so many runs are kept, the newest", func(k *Keep) *Int { return &k.Runs }).def("50").from(1),
		integer("days", "records are kept for so many days", func(k *Keep) *Int { return &k.Days }).def("30").from(1),
		row("log", ShapeSize, "the most that one phase may log", func(d *decoder, _ *Key, v value, k *Keep) {
			if x, ok := d.size(v); ok {
				k.Log = x
			}
		}).def("100MB"),
	)
	l.command = newSection("command", "a command",
		script("run", "the command: a text for a shell, or a list as argv", func(c *Command) *Script { return &c.Run }).must(),
		text("dir", "the directory it runs in, from the directory of this file", func(c *Command) *Text { return &c.Dir }),
		pairs("env", "variables of its environment; values are templates", func(c *Command) *Pairs { return &c.Env }),
		duration("timeout", "how long it may take", func(c *Command) *Duration { return &c.Timeout }).def("15m"),
		exitCodes("exit_codes", "the exit codes that are a pass, or nonzero", func(c *Command) *ExitCodes { return &c.ExitCodes }),
	)
	l.envelope = newSection("envelope", "an envelope",
		text("extends", "the kind whose fields it has as well", func(e *Envelope) *Text { return &e.Extends }).def("generic"),
		names("fields", "field", "its own fields, by name", func(d *decoder, v value, e *Envelope) { e.Fields = d.fields(v) }),
	)
	l.field = newSection("field", "a field",
		text("type", "what the field holds", func(f *Field) *Text { return &f.Type }).enum("string", "int", "number", "bool", "list", "object", "path").def("string"),
		text("of", "what a list holds", func(f *Field) *Text { return &f.Of }).enum("string", "int", "number", "bool", "object", "path").def("string"),
		texts("enum", "the only texts that it may hold", func(f *Field) *Texts { return &f.Enum }),
		boolean("required", "whether a report without it is refused", func(f *Field) *Bool { return &f.Required }).def("false"),
		data("default", "what it holds when the report does not say", func(f *Field) *Data { return &f.Default }),
		names("fields", "field", "the fields of an object, or of a list's objects", func(d *decoder, v value, f *Field) { f.Fields = d.fields(v) }),
	)
	l.gate = newSection("gate", "a gate",
		boolean("require", "whether nothing to look at is a failure", func(g *Gate) *Bool { return &g.Require }).def("false"),
		text("message", "what is said when it fails", func(g *Gate) *Text { return &g.Message }),
	)
	l.prose = newSection("text", "a text in a file",
		text("file", "the file that holds the text, from the directory of this file", func(p *Prose) *Text { return &p.File }).must(),
	)
}

// document reads the whole file.
func (d *decoder) document(root *yaml.Node, doc *Document) {
	v := d.value(root, "the file", diag.Span{}, nil)
	if v.node.Kind != yaml.MappingNode {
		if v.node.Kind != gone {
			d.report(nil, diag.WrongType, d.opening(v.node), "a pipeline file is a mapping with the key version, not a %s", shape(v.node)).Hintf("begin with `version: 1`")
		}
		return
	}
	decodeSection(d, d.lang.file, v, doc)
}

func readVersion(d *decoder, _ *Key, v value, doc *Document) {
	n := v.node
	if n.Kind != yaml.ScalarNode || isNull(n) || n.Style&yaml.TaggedStyle != 0 {
		d.wrongType(v, "a whole number")
		return
	}
	if want := strconv.Itoa(Version); n.Value != want {
		d.report(v.via, diag.UnsupportedVersion, d.span(v), "version %q of the language is not known to this foundry", clip(n.Value)).Hintf("write version: %s, or use a newer foundry", want)
		return
	} else if n.Style != 0 {
		d.report(v.via, diag.BadNumber, d.span(v), "%s takes a plain whole number, not a quoted text", v.label()).Hintf("write version: %s", want)
		return
	}
	doc.Version = Int{Value: Version, Span: d.span(v), Set: true}
}

func (d *decoder) command(name Text, v value) Command {
	c := Command{Name: name}
	if v.node.Kind == yaml.MappingNode {
		if strings.HasPrefix(d.src.Text[d.properties(v.node).start:], "{{") {
			d.wrongType(v, "a command")
			return c
		}
		decodeSection(d, d.lang.command, v, &c)
		return c
	}
	v.code = true
	c.Run = d.script(v)
	return c
}

// scripts reads a list of commands.
func (d *decoder) scripts(v value) []Script {
	if v.node.Kind != yaml.SequenceNode {
		d.wrongType(v, "a list of commands")
		return nil
	}
	var out []Script
	for _, item := range d.items(v) {
		if s := d.script(item); s.Set() {
			out = append(out, s)
		}
	}
	return out
}

func (d *decoder) fields(v value) []Field {
	return mapOf(d, v, shortName, func(name Text, v value) Field {
		f := Field{Name: name, Span: name.Span()}
		got, _ := mapping(d, d.lang.field, v, &f)
		if f.Untyped = got.has("type") && !f.Type.Set || got.has("of") && !f.Of.Set; f.Untyped {
			return f
		}
		isList, isObject := f.Type.Value == "list", f.Type.Value == "object" || f.Of.Value == "object"
		for _, e := range got.entries {
			switch {
			case e.name == "of" && !isList:
				d.report(e.via, diag.WrongType, d.spanOf(e.key), "%q says what a list holds, and this field is no list", e.name).Hintf("write type: list")
			case e.name == "fields" && !isObject:
				d.report(e.via, diag.WrongType, d.spanOf(e.key), "%q are the fields of an object, and this field is none", e.name).Hintf("write type: object, or type: list with of: object")
			}
		}
		return f
	})
}

// gate reads a gate entry: a name, or one gate's name with its arguments beside require and message.
func (d *decoder) gate(v value) (Gate, bool) {
	n := v.node
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		t, ok := d.text(v)
		return Gate{Kind: t, Span: t.Span()}, ok
	}
	if n.Kind != yaml.MappingNode {
		d.wrongType(v, "gates, each a name or {name: arguments}")
		return Gate{}, false
	}
	g := Gate{Span: d.spanOf(n)}
	for _, e := range d.entries(v) {
		switch k := d.lang.gate.find(e.name); {
		case k != nil:
			k.read(d, &k.Key, e.value, &g)
		case n.Style&yaml.FlowStyle != 0 && isNull(e.node) && !isName(e.name, true):
			d.unknownKey("a gate", d.lang.gate.rows(), e, true, seen{})
		case g.Kind.Set:
			d.report(e.via, diag.UnknownKey, d.spanOf(e.key), "a gate entry names one gate, and %q is a second one", clip(e.name)).
				Notef(g.Kind.Span(), "the first is here").Hintf("write an entry of its own for each gate")
		default:
			g.Kind = d.keyText(e)
			g.Args = d.data(e.value)
			if isNull(e.node) {
				d.report(e.via, diag.WrongType, d.spanOf(e.key), "gate %q has no arguments after the colon", g.Kind.Value).Hintf("write %s alone if it takes none", g.Kind.Value)
				g.Args = Data{}
			}
		}
	}
	if !g.Kind.Set {
		d.report(v.via, diag.MissingKey, d.opening(n), "this gate entry names no gate").Hintf("write a gate's name, or {name: arguments}")
		return g, false
	}
	return g, true
}
