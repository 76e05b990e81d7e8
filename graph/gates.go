package graph

import (
	"fmt"
	"slices"
	"strings"

	"foundry/diag"
	"foundry/dsl"
	"foundry/gates"
	"foundry/schema"
)

// This file resolves gates: the name of a gate of the file or a kind in place, its arguments checked against
// the kind's table row.

// gateArgs are the arguments of a gate by name, with their places.
type gateArgs map[string]schema.Data

func builtinGates() []string {
	var out []string
	for _, row := range gates.Table() {
		out = append(out, row.Name)
	}
	return out
}

func (c *Catalogue) gateNames() []Name {
	var out []Name
	for i := range c.user.Gates {
		g := &c.user.Gates[i]
		_, shadows := gates.Find(g.Name.Value)
		out = append(out, Name{Kind: GateName, Name: g.Name.Value, Description: g.Kind.Value, Place: g.Name.Span(), Shadows: shadows})
	}
	for _, row := range gates.Table() {
		if find(c.user.Gates, row.Name, gateName) == nil {
			out = append(out, Name{Kind: GateName, Name: row.Name, Description: row.Summary, Builtin: true})
		}
	}
	return out
}

// gate resolves an entry of a phase. The entry may name a gate of the file, and then only says require and
// message anew; else it names a kind and carries its arguments.
func (c *Catalogue) gate(entry *schema.Gate, list *diag.List) (spec gates.Spec, info gates.Info, args gateArgs, ok bool) {
	named := find(c.user.Gates, entry.Kind.Value, gateName)
	if named == nil {
		return c.gateKind(entry, list)
	}
	spec, info, args, ok = c.gateKind(named, list)
	spec.Name = entry.Kind.Value
	if entry.Args.Set {
		for _, f := range argFields(entry.Args) {
			if name := f.Name.Value; name != "require" && name != "message" {
				list.Report(diag.GateConfig, f.Name.Span(), "gate %q has its arguments where it is defined", spec.Name).
					Hintf("change it under gates, or use %s in place", info.Name).Notef(named.Name.Span(), "defined here")
			}
		}
		if _, object := entry.Args.Value.([]schema.DataField); !object && entry.Args.Value != nil {
			list.Report(diag.GateConfig, entry.Args.Span, "gate %q has its arguments where it is defined", spec.Name).
				Hintf("change it under gates, or use %s in place", info.Name).Notef(named.Name.Span(), "defined here")
		}
	}
	if entry.Require.Set {
		spec.Require = entry.Require.Value
	}
	if entry.Message.Set {
		spec.Message = entry.Message.Value
	}
	return spec, info, args, common(&spec, argFields(entry.Args), list) && ok
}

// common reads what every gate takes from among its arguments.
func common(spec *gates.Spec, fields []schema.DataField, list *diag.List) bool {
	ok := true
	for _, f := range fields {
		switch f.Name.Value {
		case "require":
			v, is := f.Value.Value.(bool)
			if spec.Require = v; !is {
				list.Report(diag.GateConfig, f.Value.Span, "require is true or false").Hintf("write require: true")
				ok = false
			}
		case "message":
			v, is := f.Value.Value.(string)
			if spec.Message = v; !is {
				list.Report(diag.GateConfig, f.Value.Span, "message is a text").Hintf(`quote it: message: "…"`)
				ok = false
			}
		}
	}
	return ok
}

// gateKind reads an entry whose kind is one of the table.
func (c *Catalogue) gateKind(entry *schema.Gate, list *diag.List) (spec gates.Spec, info gates.Info, args gateArgs, ok bool) {
	kind := entry.Kind.Value
	info, ok = gates.Find(kind)
	if !ok && c.partial && !entry.Name.Set {
		return spec, info, nil, false
	}
	if !ok {
		known := append(names(gateName, c.user.Gates), builtinGates()...)
		if entry.Name.Set { // a gate of the file is made of a kind, not of another gate of the file
			known = builtinGates()
		}
		slices.Sort(known)
		d := list.Report(diag.UnknownGate, entry.Kind.Span(), "there is no gate %q", kind)
		didYouMean(d, kind, slices.Compact(known), "`foundry ls gates` lists what there is")
		return spec, info, nil, false
	}
	spec = gates.Spec{Name: kind, Kind: info.Kind, Require: entry.Require.Value, Message: entry.Message.Value,
		MaxFiles: -1, MaxLines: -1, MaxDeleted: -1}
	if entry.Name.Set {
		spec.Name = entry.Name.Value
	}
	args, ok = gateArguments(entry, info, list)
	if !common(&spec, argFields(entry.Args), list) {
		ok = false
	}
	for i := range info.Args {
		if d, has := args[info.Args[i].Name]; has && !setArgument(&spec, info, &info.Args[i], d, list) {
			ok = false
		}
	}
	if spec.Kind == gates.MaxDiff && ok && len(args) == 0 {
		list.Report(diag.GateConfig, entry.Kind.Span(), "max_diff has no number to keep to").
			Hintf("write max_diff: {files: 20}, with lines or deleted")
		ok = false
	}
	return spec, info, args, ok
}

func argFields(d schema.Data) []schema.DataField {
	fields, _ := d.Value.([]schema.DataField)
	return fields
}

// gateArguments sorts the arguments by name; a bare value stands for the kind's short argument. What is
// unknown, twice or missing is reported.
func gateArguments(entry *schema.Gate, info gates.Info, list *diag.List) (gateArgs, bool) {
	args, ok := gateArgs{}, true
	fields, object := entry.Args.Value.([]schema.DataField)
	// A command may be an object itself: {command_passes: {run: …, timeout: …}}.
	if object && info.Kind == gates.CommandPasses {
		args["command"] = entry.Args
		return args, true
	}
	for _, f := range fields {
		name := f.Name.Value
		if name == "require" || name == "message" {
			continue
		}
		i := slices.IndexFunc(info.Args, func(a gates.Arg) bool { return a.Name == name })
		if i < 0 {
			var known []string
			for _, a := range info.Args {
				known = append(known, a.Name)
			}
			known = append(known, "message", "require")
			slices.Sort(known)
			didYouMean(list.Report(diag.GateConfig, f.Name.Span(), "%s has no argument %q", info.Name, name), name, known, "")
			ok = false
			continue
		}
		args[name] = f.Value
	}
	if entry.Args.Set && !object && entry.Args.Value != nil {
		if info.Short == "" {
			list.Report(diag.GateConfig, entry.Args.Span, "%s does not take a bare value", info.Name).Hintf("write %s", usage(info))
			return args, false
		}
		args[info.Short] = entry.Args
	}
	for _, a := range info.Args {
		if _, has := args[a.Name]; a.Required && !has && ok {
			list.Report(diag.GateConfig, entry.Kind.Span(), "%s needs %s", info.Name, a.Name).Hintf("write %s", usage(info))
			ok = false
		}
	}
	return args, ok
}

// usage is an example of a gate with its arguments, as it may stand in a list.
func usage(info gates.Info) string {
	switch info.Kind {
	case gates.CommandPasses:
		return "{command_passes: go vet ./...}"
	case gates.TestsUntouched:
		return `{tests_untouched: ["**/*_test.go"]}`
	case gates.TestsRan:
		return "{tests_ran: {report: junit, file: report.xml}}"
	case gates.MaxDiff:
		return "{max_diff: {files: 20, lines: 400}}"
	case gates.Expression:
		return "{check: {expr: len(changed) <= 5}}"
	case gates.ArtifactsExist:
		return "{artifacts_exist: {may_exist: true}}"
	}
	return info.Name
}

// setArgument checks one argument and puts it into the spec. Commands and expressions are compiled where the
// gate is used.
func setArgument(spec *gates.Spec, info gates.Info, arg *gates.Arg, d schema.Data, list *diag.List) bool {
	if arg.Type == gates.Count {
		v, ok := d.Value.(int64)
		if !ok || v < 0 || v > 1<<31 {
			list.Report(diag.GateConfig, d.Span, "%s of %s is a whole number of at least 0", arg.Name, info.Name).
				Hintf("write %s: %d", arg.Name, map[string]int{"min": 1, "files": 20, "lines": 400, "deleted": 50}[arg.Name])
			return false
		}
		return setCount(spec, arg.Name, int(v))
	}
	wrong := func(format string, args ...any) bool {
		list.Report(diag.GateConfig, d.Span, format, args...).Hintf("write %s", usage(info))
		return false
	}
	switch arg.Type {
	case gates.Flag:
		v, ok := d.Value.(bool)
		if !ok {
			return wrong("%s of %s is true or false", arg.Name, info.Name)
		}
		spec.MayExist = v
	case gates.Patterns:
		texts, ok := dataTexts(d)
		if !ok || len(texts.Items) == 0 {
			return wrong("%s of %s is a list of globs", arg.Name, info.Name)
		}
		checkGlobs(list, texts, "leave it out: name the files themselves")
		spec.Globs = texts.Values()
	case gates.Word:
		v, ok := d.Value.(string)
		if !ok || !slices.Contains(arg.Words, v) {
			dg := list.Report(diag.GateConfig, d.Span, "%s of %s is one of %s", arg.Name, info.Name, listed(arg.Words))
			if near := diag.Suggest(v, arg.Words); near != "" {
				dg.Hintf("did you mean %q?", near)
			}
			return false
		}
		spec.Report = v
	case gates.PathArg:
		v, ok := d.Value.(string)
		if why := (&Param{Type: ParamPath}).CheckParam(v); !ok || why != "" {
			return wrong("%s of %s must be a path inside the repository", arg.Name, info.Name)
		}
		spec.File = v
	case gates.Expr:
		if v, ok := d.Value.(string); !ok || v == "" {
			return wrong("%s of %s is an expression", arg.Name, info.Name)
		}
	case gates.Command:
		return true
	}
	return true
}

func setCount(spec *gates.Spec, name string, n int) bool {
	switch name {
	case "min":
		spec.Min = n
	case "files":
		spec.MaxFiles = n
	case "lines":
		spec.MaxLines = n
	case "deleted":
		spec.MaxDeleted = n
	default:
		panic("BUG: no place for the argument " + name)
	}
	return true
}

// phaseGates compiles the gates of a phase.
func (c *compiler) phaseGates(ph *Phase, src *schema.Phase) {
	for i := range src.Gates {
		entry := &src.Gates[i]
		c.used.gates[entry.Kind.Value] = true
		spec, info, args, ok := c.cat.gate(entry, &c.list)
		if info.Name == "" {
			continue
		}
		if _, file := args["file"]; !ok && file {
			spec.File = "?" // one is meant, right or wrong
		}
		if !c.gateFits(ph, entry, spec, info) {
			continue
		}
		gate := Gate{Spec: spec}
		switch spec.Kind {
		case gates.CommandPasses:
			if !ok {
				continue
			}
			gate.Command = c.gateCommand(args["command"], entry)
			if gate.Command == nil {
				continue
			}
			gate.Spec.Label = gate.Command.Script.Label
			c.commandReads(ph.ID, gate.Command)
		case gates.Expression:
			t, has := dataText(args["expr"])
			if !has {
				continue
			}
			gate.Cond = c.cond(t.Frag, c.gateScope(ph), boolType)
			if gate.Cond == nil {
				continue
			}
			gate.Spec.Label = gate.Cond.Text()
			c.condReads(ph.ID, gate.Cond)
		}
		if ok { // else what else is wrong with it was told above
			ph.Gates = append(ph.Gates, gate)
		}
	}
}

// kindsWith says which envelope kinds have a field, for a phase whose own has not.
func (c *compiler) kindsWith(field string) string {
	var have []string
	for _, name := range slices.Sorted(slices.Values(append(names(kindName, c.cat.user.Envelopes), builtinKinds()...))) {
		if k, _, ok := c.cat.envelope(name); ok && !slices.Contains(have, name) {
			if _, has := k.Lookup(field); has {
				have = append(have, name)
			}
		}
	}
	declare := "{" + field + ": {type: " + fieldForms[field] + "}}"
	if len(have) == 0 {
		return "give the phase an envelope kind with fields: " + declare + ", or remove the gate"
	}
	return fmt.Sprintf("give the phase an envelope kind that has it (%s), add it under the fields of its own: %s, or remove the gate", strings.Join(have, ", "), declare)
}

// fieldForms are the types of the fields that gates read, as a field of a file declares them.
var fieldForms = map[string]string{"approved": "bool, required: true", "changed_files": "list, of: path", "artifacts": "list, of: path"}

// gateScope is what the checks of a phase's gates can name: what an item came to, of one that is repeated.
func (c *compiler) gateScope(ph *Phase) *dsl.Scope {
	if ph.Each != nil {
		return c.scopes.item
	}
	return c.endedScope(ph)
}

// gateFits says whether the phase has what the gate reads.
func (c *compiler) gateFits(ph *Phase, entry *schema.Gate, spec gates.Spec, info gates.Info) bool {
	at := entry.Kind.Span()
	switch {
	case ph.Kind == Ask:
		c.list.Report(diag.GateMismatch, at, "%q asks a person, and gates judge work", ph.Name).
			Hintf("move the gate to the phase whose work it judges")
		return false
	case info.Needs != "" && ph.Envelope == nil && c.vague(ph):
		return false
	case info.Needs != "" && ph.Envelope == nil:
		c.list.Report(diag.GateMismatch, at, "%s reads the field %q of an envelope, and %q has none", info.Name, info.Needs, ph.Name).
			Hintf("move the gate to an agent phase")
		return false
	case info.Needs != "":
		if _, has := ph.Envelope.Lookup(info.Needs); !has {
			c.list.Report(diag.GateMismatch, at, "%s reads the field %q, and envelopes of kind %q have none", info.Name, info.Needs, ph.Envelope.Name).
				Hintf("%s", c.kindsWith(info.Needs))
			return false
		}
	case spec.Kind == gates.TestsRan && spec.File == "" && ph.Work() != Code && !c.vague(ph):
		c.list.Report(diag.GateMismatch, at, "tests_ran reads the output of a command, and %q runs none", ph.Name).
			Hintf("say where the report is: {tests_ran: {file: report.xml}}")
		return false
	}
	return true
}
