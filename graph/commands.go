package graph

import (
	"strings"
	"time"

	"foundry/diag"
	"foundry/dsl"
	"foundry/schema"
)

// This file compiles commands: scripts, environments, exit codes, and the commands that have names.

// How long a command, and git_commit with its hooks, may run that do not say so themselves.
const (
	commandTimeout = 15 * time.Minute
	commitTimeout  = 5 * time.Minute
)

// label is how a script is shown: the shell text, or the argv joined.
func label(s schema.Script) string {
	if s.Shell.Set {
		return strings.TrimSpace(s.Shell.Value)
	}
	return strings.Join(s.Argv.Values(), " ")
}

// script compiles a script whose argv may hold templates.
func (c *compiler) script(s schema.Script) Script {
	out := Script{Label: label(s)}
	if s.Shell.Set {
		c.shell(s.Shell)
		out.Shell = s.Shell.Value
		return out
	}
	for i := range s.Argv.Items {
		if t := c.strict(s.Argv.Items[i].Frag); t != nil {
			out.Argv = append(out.Argv, t)
		}
	}
	return out
}

// shell checks a text that runs in a shell. Each is checked once, however many phases run it.
func (c *compiler) shell(t schema.Text) {
	if !c.shells.add(t.Span()) {
		return
	}
	c.list.Merge(dsl.FindInShell(t.Frag, c.scopes.strict))
	checkShell(&c.list, t)
}

// env compiles an environment.
func (c *compiler) env(p schema.Pairs) []EnvVar {
	var out []EnvVar
	for i := range p.Items {
		if t := c.strict(p.Items[i].Value.Frag); t != nil {
			out = append(out, EnvVar{Name: p.Items[i].Name.Value, Value: t})
		}
	}
	return out
}

// mergeEnv lays the later environments over the earlier ones.
func mergeEnv(envs ...[]EnvVar) []EnvVar {
	var out []EnvVar
	for _, env := range envs {
		if len(out) == 0 {
			out = append(out, env...)
			continue
		}
	next:
		for _, v := range env {
			for i := range out {
				if out[i].Name == v.Name {
					out[i] = v
					continue next
				}
			}
			out = append(out, v)
		}
	}
	return out
}

func exitCodes(e schema.ExitCodes) (codes []int, nonzero bool) {
	for _, n := range e.Codes {
		codes = append(codes, n.Value)
	}
	if len(codes) == 0 && !e.Nonzero {
		codes = []int{0}
	}
	return codes, e.Nonzero
}

func hasExitCodes(e schema.ExitCodes) bool { return len(e.Codes) > 0 || e.Nonzero }

// unknownCommand reports a name that is no command and returns the command that was likely meant.
func (c *compiler) unknownCommand(t schema.Text) (*schema.Command, bool) {
	if c.cat.partial {
		return nil, false
	}
	known := names(commandName, c.cat.user.Commands)
	d := c.list.Report(diag.UnknownCommand, t.Span(), "command %q is not defined", t.Value)
	if near := diag.Suggest(t.Value, known); near != "" {
		d.Hintf("did you mean %q?", near)
		return c.cat.command(near)
	}
	if strings.ContainsAny(t.Value, " \t/") {
		d.Hintf("a command line is not a name: write run: %s", t.Value)
	} else {
		d.Hintf("define it under commands, as %s: the command line", t.Value)
	}
	return nil, false
}

// namedCommand compiles a command of the file once for the pipeline.
func (c *compiler) namedCommand(cmd *schema.Command) *Command {
	c.used.commands[cmd.Name.Value] = true
	out, ok := c.commands[cmd]
	if !ok {
		out = c.inPlace(*cmd)
		c.commands[cmd] = out
	}
	return out
}

// inPlace compiles a command.
func (c *compiler) inPlace(cmd schema.Command) *Command {
	out := &Command{Script: c.script(cmd.Run), Env: c.env(cmd.Env), Timeout: cmd.Timeout.Or(commandTimeout)}
	out.ExitCodes, out.Nonzero = exitCodes(cmd.ExitCodes)
	out.Dir = c.dir(cmd.Dir)
	return out
}

// changedCommand compiles a command of the file with what is said in place counting more.
func (c *compiler) changedCommand(cmd *schema.Command, place schema.Command) *Command {
	out := *c.namedCommand(cmd)
	if place.Dir.Set {
		out.Dir = c.dir(place.Dir)
	}
	out.Timeout = place.Timeout.Or(out.Timeout)
	if hasExitCodes(place.ExitCodes) {
		out.ExitCodes, out.Nonzero = exitCodes(place.ExitCodes)
	}
	out.Env = mergeEnv(out.Env, c.env(place.Env))
	return &out
}

// ownCommand compiles the command of something that is no phase: one in place, or the one that is named, as it is changed
// in place. It is false when there is none, which was reported.
func (c *compiler) ownCommand(name schema.Text, place schema.Command) (Command, bool) {
	if place.Run.Set() {
		return *c.inPlace(place), true
	}
	if !name.Set { // reported when the file was read
		return Command{}, false
	}
	cmd, ok := c.cat.command(name.Value)
	if !ok {
		if cmd, ok = c.unknownCommand(name); !ok {
			return Command{}, false
		}
	}
	return *c.changedCommand(cmd, place), true
}

// commandReads checks what the texts of a gate's command read.
func (c *compiler) commandReads(reader PhaseID, cmd *Command) {
	for _, t := range cmd.Script.Argv {
		c.templateReads(reader, t, false)
	}
	for _, v := range cmd.Env {
		c.templateReads(reader, v.Value, false)
	}
}

// dir is a directory from the repository root.
func (c *compiler) dir(t schema.Text) string {
	if !t.Set || t.Value == "" {
		return ""
	}
	p, ok := c.cat.beside(t)
	if !ok {
		c.list.Report(diag.MissingFile, t.Span(), "%q is outside the repository", t.Value).
			Hintf("name a directory inside the repository, relative to the file that names it")
		return ""
	}
	if p == "." {
		return ""
	}
	return p
}
