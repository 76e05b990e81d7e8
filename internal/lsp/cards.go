package lsp

import (
	"fmt"
	"strings"

	"foundry/graph"
	"foundry/schema"
)

// This file writes what hover shows: a line that says what a thing is, and what there is to know of it.

// card is a title and lines of Markdown; empty lines are left out.
func card(title string, lines ...string) string {
	out := []string{title}
	for _, l := range lines {
		if l != "" {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n\n")
}

func code(s string) string {
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

func codeList(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = code(w)
	}
	return strings.Join(out, ", ")
}

// fact is "word: value", "" without a value.
func fact(name, value string) string {
	if value == "" {
		return ""
	}
	return name + ": " + code(value)
}

// keyCard describes a key.
func keyCard(k schema.Key) string {
	where := "key of " + strings.TrimPrefix(k.Where, gatePrefix)
	switch k.Where {
	case "file":
		where = "key at the top of a pipeline file"
	case "phase", "entry":
		if k.Kind == "code" {
			where += ", with run, command or builtin"
		} else if k.Kind != "" && k.Kind != k.Name {
			where += ", with " + k.Kind
		}
	}
	takes := shapeWords(k)
	if takes != "" {
		takes = "Takes: " + takes
	}
	need := ""
	switch {
	case k.Required && k.Unless != "":
		need = "Required, unless there is " + code(k.Unless)
	case k.Required:
		need = "Required"
	case k.Default != "":
		need = "Default: " + code(k.Default)
	}
	return card("**"+k.Name+"** ("+where+")", k.Doc, takes, need)
}

// nameCard describes a definition.
func (v *view) nameCard(kind graph.NameKind, name string) string {
	title := fmt.Sprintf("**%s** (%s%s)", name, kind, v.standing(kind, name))
	switch kind {
	case graph.AgentName:
		return v.agentCard(title, name)
	case graph.PipelineName:
		return v.pipelineCard(title, name)
	case graph.CommandName:
		if d, ok := v.names.find(kind, name); ok && d.value != nil {
			run := d.value
			if in := run.get(v.text, "run"); in != nil {
				run = in
			}
			return card(title, fenced("sh", v.scriptAt(run)))
		}
		for _, n := range v.cat.Names() {
			if n.Kind == kind && n.Name == name {
				return card(title, fenced("sh", n.Description))
			}
		}
	case graph.EnvelopeName:
		return card(title, v.fieldList(name))
	case graph.GateName:
		if d, ok := v.names.find(kind, name); ok {
			return card(title, fenced("yaml", strings.TrimSpace(v.source(d.value))))
		}
		return v.gateCard(name)
	}
	return title
}

// standing says where a definition comes from, for its title.
func (v *view) standing(kind graph.NameKind, name string) string {
	if _, own := v.names.find(kind, name); own {
		return ""
	}
	for _, n := range v.cat.Names() {
		switch {
		case n.Kind != kind || n.Name != name:
		case n.Builtin:
			return ", ships with Foundry"
		case !n.Place.IsZero() && n.Place.Source.Name != v.file:
			return ", defined in " + n.Place.Source.Name
		}
	}
	if strings.HasPrefix(name, "builtin/") {
		return ", ships with Foundry"
	}
	return ""
}

func (v *view) agentCard(title, name string) string {
	a, ok := v.cat.Agent(name)
	if !ok {
		return title
	}
	writes := ""
	switch {
	case a.Writes.Set && len(a.Writes.Items) == 0:
		writes = "writes nothing"
	case a.Writes.Set:
		writes = "writes: " + codeList(a.Writes.Values())
	}
	kind := a.Envelope.Value
	if kind == "" {
		kind = "generic"
	}
	return card(title, a.Description.Value, fact("extends", a.Extends.Value), fact("harness", a.Harness.Value), fact("model", a.Model.Value),
		fact("envelope", kind), writes)
}

func (v *view) pipelineCard(title, name string) string {
	p, ok := v.cat.Pipeline(name)
	if !ok {
		return title
	}
	var ids []string
	for _, ph := range v.phases(strings.TrimPrefix(name, "builtin/")) {
		ids = append(ids, ph.name)
	}
	if len(ids) > 20 {
		ids = append(ids[:20], fmt.Sprintf("… %d in all", len(ids)))
	}
	phases := ""
	if len(ids) > 0 {
		phases = "phases: " + strings.Join(ids, ", ")
	}
	return card(title, p.Description.Value, fact("extends", p.Extends.Value), phases, fact("accept", p.Accept.Value))
}

func (v *view) phaseCard(pipeline string, ph phaseName) string {
	does, description := ph.does, ""
	if ph.at != nil {
		does, description = v.workAt(ph.at), valueOf(v.text, ph.at.get(v.text, "description"))
	}
	what := "phase"
	if ph.detour {
		what = "detour"
	}
	if pipeline != "" {
		what += " of " + pipeline
	}
	return card("**"+ph.name+"** ("+what+")", description, does)
}

// gateCard describes a kind of gate.
func (v *view) gateCard(name string) string {
	for _, g := range v.words.Gates {
		if g.Name != name {
			continue
		}
		var args []string
		for _, a := range g.Args {
			args = append(args, "- "+code(a.Name)+": "+shapeWords(a))
		}
		return card("**"+name+"** (gate, part of Foundry)", g.Doc, strings.Join(args, "\n"))
	}
	return "**" + name + "** (gate)"
}

// fieldList is the fields of a kind of envelope.
func (v *view) fieldList(kind string) string {
	fields, ok := v.cat.Fields(kind)
	if !ok {
		return ""
	}
	var out []string
	for _, f := range fields {
		what := f.Type.String()
		if len(f.Enum) > 0 {
			what += ", one of " + codeList(f.Enum)
		}
		if f.Required {
			what += ", required"
		}
		out = append(out, "- "+code(f.Name)+": "+what)
	}
	return strings.Join(out, "\n")
}

func fenced(language, text string) string {
	if text == "" {
		return ""
	}
	return "```" + language + "\n" + text + "\n```"
}

// source is what a node says, as written.
func (v *view) source(n *node) string {
	if n == nil {
		return ""
	}
	return v.text[n.start:n.end]
}
