package graph

import (
	"strings"
	"time"

	"foundry/diag"
	"foundry/schema"
)

// This file reads the command of a gate, which is free-form data in the document.

// gateCommand compiles the command of command_passes: a command of the file by its name, a shell string, an
// argv, or an object with the keys of a command.
func (c *compiler) gateCommand(d schema.Data, entry *schema.Gate) *Command {
	if t, ok := dataText(d); ok {
		if cmd, named := c.cat.command(t.Value); named {
			return c.namedCommand(cmd)
		}
		if c.mistypedCommand(t) {
			return nil
		}
		return c.inPlace(schema.Command{Run: schema.Script{Shell: t}})
	}
	if argv, ok := dataTexts(d); ok {
		return c.inPlace(schema.Command{Run: schema.Script{Argv: argv}})
	}
	fields, ok := d.Value.([]schema.DataField)
	if !ok {
		c.list.Report(diag.GateConfig, entry.Kind.Span(), "command_passes needs a command").
			Hintf("write {command_passes: go vet ./...}")
		return nil
	}
	return c.commandObject(fields, entry)
}

// mistypedCommand reports a word that is no command of the file but nearly one. Anything else that is not the
// name of a command is for the shell.
func (c *compiler) mistypedCommand(t schema.Text) bool {
	if strings.ContainsAny(t.Value, " \t\n/") || diag.Suggest(t.Value, names(commandName, c.cat.user.Commands)) == "" {
		return false
	}
	c.unknownCommand(t)
	return true
}

// commandObject reads {run|command, dir, env, timeout, exit_codes} out of the arguments of a gate.
func (c *compiler) commandObject(fields []schema.DataField, entry *schema.Gate) *Command {
	r := commandReader{c: c, ok: true}
	for _, f := range fields {
		r.field(f)
	}
	cmd, named := r.cmd, r.named
	switch {
	case !r.ok:
		return nil
	case named != nil && cmd.Run.Set():
		c.list.Report(diag.GateConfig, entry.Kind.Span(), "command_passes has both run and command").Hintf("keep one of them")
		return nil
	case named == nil && !cmd.Run.Set():
		c.list.Report(diag.GateConfig, entry.Kind.Span(), "command_passes needs a command").
			Hintf("write {command_passes: go vet ./...}")
		return nil
	case named == nil:
		return c.inPlace(cmd)
	}
	return c.changedCommand(named, cmd)
}

// commandReader reads the keys of a command one by one.
type commandReader struct {
	c     *compiler
	cmd   schema.Command
	named *schema.Command
	ok    bool
}

func (r *commandReader) wrong(f schema.DataField, want string) {
	r.c.list.Report(diag.GateConfig, f.Value.Span, "%s of command_passes is %s", f.Name.Value, want).
		Hintf(`write {command_passes: {run: go vet ./..., dir: web, timeout: 2m}}`)
	r.ok = false
}

func (r *commandReader) field(f schema.DataField) {
	t, isText := dataText(f.Value)
	right, want := true, ""
	switch f.Name.Value {
	case "require", "message":
	case "command":
		if cmd, found := r.c.cat.command(t.Value); found && isText {
			r.named = cmd
			return
		}
		if isText && r.c.mistypedCommand(t) {
			r.ok = false
			return
		}
		right, want = r.script(f.Value), "the name of a command, a shell string or an argv"
	case "run":
		right, want = r.script(f.Value), "a shell string or an argv"
	case "dir":
		r.cmd.Dir, right, want = t, isText, "a directory"
	case "timeout":
		d, err := time.ParseDuration(t.Value)
		r.cmd.Timeout = schema.Duration{Value: d, Span: f.Value.Span, Set: true}
		right, want = err == nil && d > 0, "a duration such as 2m"
	case "exit_codes":
		r.cmd.ExitCodes, right = dataExitCodes(f.Value)
		want = "a list of exit codes, or nonzero"
	case "env":
		r.cmd.Env, right = dataPairs(f.Value)
		want = "a mapping of strings"
	default:
		d := r.c.list.Report(diag.GateConfig, f.Name.Span(), "command_passes has no argument %q", f.Name.Value)
		didYouMean(d, f.Name.Value, []string{"command", "dir", "env", "exit_codes", "message", "require", "run", "timeout"}, "")
		r.ok = false
	}
	if !right {
		r.wrong(f, want)
	}
}

func (r *commandReader) script(d schema.Data) bool {
	if t, ok := dataText(d); ok {
		r.cmd.Run.Shell = t
		return true
	}
	argv, ok := dataTexts(d)
	r.cmd.Run.Argv = argv
	return ok
}

func dataExitCodes(d schema.Data) (schema.ExitCodes, bool) {
	if t, ok := dataText(d); ok {
		return schema.ExitCodes{Nonzero: true}, t.Value == "nonzero"
	}
	items, ok := d.Value.([]schema.Data)
	var out schema.ExitCodes
	for _, item := range items {
		n, whole := item.Value.(int64)
		if !whole || n < 0 || n > 255 {
			return out, false
		}
		out.Codes = append(out.Codes, schema.Int{Value: int(n), Span: item.Span, Set: true})
	}
	return out, ok && len(items) > 0
}

func dataPairs(d schema.Data) (schema.Pairs, bool) {
	fields, ok := d.Value.([]schema.DataField)
	out := schema.Pairs{Span: d.Span, Set: true}
	for _, f := range fields {
		t, isText := dataText(f.Value)
		if !isText {
			return out, false
		}
		out.Items = append(out.Items, schema.Pair{Name: f.Name, Value: t})
	}
	return out, ok
}

// dataText is the string that a value is.
func dataText(d schema.Data) (schema.Text, bool) {
	v, ok := d.Value.(string)
	return schema.Text{Value: v, Frag: d.Frag, Set: ok}, ok
}

// dataTexts is the list of strings that a value is; one string is a list of one.
func dataTexts(d schema.Data) (schema.Texts, bool) {
	if t, ok := dataText(d); ok {
		return schema.Texts{Items: []schema.Text{t}, Span: d.Span, Set: true}, true
	}
	items, ok := d.Value.([]schema.Data)
	if !ok {
		return schema.Texts{}, false
	}
	out := schema.Texts{Span: d.Span, Set: true}
	for _, item := range items {
		t, ok := dataText(item)
		if !ok {
			return out, false
		}
		out.Items = append(out.Items, t)
	}
	return out, true
}
