package schema

// The keys of agents.

import (
	"gopkg.in/yaml.v3"

	"foundry/diag"
)

func (l *language) agents() {
	l.agent = newSection("agent", "an agent",
		text("extends", "the agent whose keys it has unless it says otherwise, such as builtin/builder", func(a *Agent) *Text { return &a.Extends }),
		text("description", "what it is for, in one line", func(a *Agent) *Text { return &a.Description }),
		text("harness", "what drives it: the project's harness unless it says otherwise", func(a *Agent) *Text { return &a.Harness }),
		argv("argv", "the program that the harness starts", func(a *Agent) *Texts { return &a.Argv }),
		list("script", "script", "the turns of a scripted agent, in order", func(d *decoder, v value, a *Agent) {
			a.Script = listOf(d, v, d.turn)
			a.ScriptSet = v.node.Kind == yaml.SequenceNode
		}),
		text("model", "the model it uses", func(a *Agent) *Text { return &a.Model }),
		nested("models", "models", "models by weight of the work", func(d *decoder, v value, a *Agent) { mapping(d, l.models, v, &a.Models) }),
		text("effort", "how hard it thinks", func(a *Agent) *Text { return &a.Effort }).enum("low", "medium", "high"),
		nested("tools", "tools", "the tools that it may use", func(d *decoder, v value, a *Agent) { mapping(d, l.tools, v, a) }),
		prose("system", "its system prompt", func(a *Agent) *Prose { return &a.System }),
		prose("prompt", "its prompt, a template", func(a *Agent) *Prose { return &a.Prompt }),
		text("envelope", "the kind of report it must give", func(a *Agent) *Text { return &a.Envelope }).def("generic"),
		integer("envelope_retries", "corrections of a report that cannot be read, in one attempt", func(a *Agent) *Int { return &a.EnvelopeRetries }).def("3").to(100),
		texts("writes", "patterns of the paths it may write; absent: all that is not protected, []: none", func(a *Agent) *Texts { return &a.Writes }),
		texts("protect", "patterns of paths that it may not write", func(a *Agent) *Texts { return &a.Protect }),
		text("permissions", "what is answered when it asks for permission", func(a *Agent) *Text { return &a.Permissions }).enum("deny", "allow", "ask").def("deny"),
		pairs("env", "variables of its environment", func(a *Agent) *Pairs { return &a.Env }),
		duration("turn_timeout", "how long one turn may take", func(a *Agent) *Duration { return &a.TurnTimeout }).def("20m"),
		duration("stall_timeout", "how long it may show no activity", func(a *Agent) *Duration { return &a.StallTimeout }).def("5m"),
		texts("fallback", "agents that are tried in order when its harness fails", func(a *Agent) *Texts { return &a.Fallback }),
		nested("sandbox", "sandbox", "has the kernel let it write the workspace, its own state, caches and temp, and nothing else; Linux only", func(d *decoder, v value, a *Agent) {
			_, a.Sandbox.Set = mapping(d, l.sandbox, v, &a.Sandbox)
			a.Sandbox.Span = d.spanOf(v.node)
		}),
	)
	l.models = newSection("models", "models by weight of the work",
		text("light", "the model for trivial work: what `model: light` means", func(m *Models) *Text { return &m.Light }),
		text("heavy", "the model for complex work: what `model: heavy` means", func(m *Models) *Text { return &m.Heavy }),
	)
	l.tools = newSection("tools", "an agent's tools",
		texts("allow", "tools that it may use", func(a *Agent) *Texts { return &a.Allow }),
		texts("deny", "tools that it may not use", func(a *Agent) *Texts { return &a.Deny }),
	)
	l.sandbox = newSection("sandbox", "a sandbox",
		texts("write", "further paths that it may write: absolute, from ~/, or from the top of the workspace", func(s *Sandbox) *Texts { return &s.Write }),
	)
	l.turn = newSection("script", "a turn of a script",
		text("item", "the item that it is kept for", func(t *ScriptTurn) *Text { return &t.Item }),
		row("files", ShapeFiles, "files written before the reply, by path; null deletes", readScriptFiles),
		text("run", "a shell command in the workspace, before the reply", func(t *ScriptTurn) *Text { return &t.Run }),
		data("reply", "what it answers: an object is sent as JSON, a text verbatim", func(t *ScriptTurn) *Data { return &t.Reply }).must(),
	)
}

func (d *decoder) agent(name Text, v value) Agent {
	a := Agent{Name: name, Span: name.Span()}
	before := d.lost
	mapping(d, d.lang.agent, v, &a)
	a.Unread = d.lost > before
	return a
}

func (d *decoder) turn(v value, t *ScriptTurn) bool {
	t.Span = d.spanOf(v.node)
	_, ok := mapping(d, d.lang.turn, v, t)
	return ok
}

func readScriptFiles(d *decoder, _ *Key, v value, t *ScriptTurn) { t.Files = d.files(v) }

// files reads texts by path; null deletes a file.
func (d *decoder) files(v value) []ScriptFile {
	if v.node.Kind != yaml.MappingNode {
		d.wrongType(v, "a mapping from paths to texts")
		return nil
	}
	out := make([]ScriptFile, 0, len(v.node.Content)/2)
	for _, e := range d.entries(v) {
		f := ScriptFile{Path: d.keyText(e)}
		if e.name == "" {
			d.report(e.via, diag.WrongType, d.spanOf(e.key), "a path is not empty")
			continue
		}
		if f.Delete = e.node.Kind == yaml.ScalarNode && isNull(e.node); !f.Delete {
			text, ok := d.text(e.value)
			if !ok {
				continue
			}
			f.Text = text
		}
		out = append(out, f)
	}
	return out
}
