package graph

import (
	"regexp"
	"slices"
	"strings"

	"foundry/diag"
	"foundry/envelope"
	"foundry/schema"
)

// This file is the pass that finds out what each phase does, and with what.

var kindWords = [...]string{AgentWork: "agent", Code: "command", Commit: "git_commit", Status: "git_status", Noop: "noop", Ask: "ask", Calls: "call", FansOut: "each"}

// String names the kind as views do.
func (k PhaseKind) String() string {
	if k == 0 || int(k) >= len(kindWords) {
		return "invalid"
	}
	return kindWords[k]
}

var phaseBuiltins = map[string]PhaseKind{"git_commit": Commit, "git_status": Status, "noop": Noop}

// work is the pass. A phase whose kind cannot be told is treated as a noop from here on.
func (c *compiler) work() {
	for i := range c.g.Phases {
		ph, src := &c.g.Phases[i], c.src[i]
		ph.Kind = c.kindOf(ph, src)
		if src.Each.Set {
			c.repeated(ph, src)
		}
		c.foreignKeys(ph, src)
		switch ph.Work() {
		case AgentWork:
			c.agentPhase(ph, src)
		case Code:
			ph.Repeat = max(1, src.Repeat.Value)
			for j := range src.Outputs {
				c.output(ph, &src.Outputs[j])
			}
		case Ask:
			ph.Timeout = src.Timeout.Value
			if ph.Optional {
				c.list.Report(diag.OptionalAsk, src.Optional.Span, "%q asks a person and cannot be optional", ph.Name).
					Hintf("remove optional, or route a rejection: on reject -> next")
			}
		case Calls:
			c.callPhase(ph, src)
		}
		ph.Commits = src.Commits.Value == "allow"
	}
}

// kindOf reads the key that says what is done. That there is exactly one was checked when the file was read.
func (c *compiler) kindOf(ph *Phase, src *schema.Phase) PhaseKind {
	switch {
	case src.Agent.Set:
		return AgentWork
	case src.Run.Set(), src.Command.Set:
		return Code
	case src.Ask.Set:
		return Ask
	case src.Call.Set:
		return Calls
	case !src.Builtin.Set:
		return Noop
	}
	kind, ok := phaseBuiltins[src.Builtin.Value]
	if !ok {
		d := c.list.Report(diag.UnknownBuiltin, src.Builtin.Span(), "there is no builtin %q", src.Builtin.Value)
		if kind, ok = phaseBuiltins[didYouMean(d, src.Builtin.Value, []string{"git_commit", "git_status", "noop"}, "")]; !ok {
			return Noop
		}
	}
	return kind
}

// foreignKeys reports keys that would do nothing in a phase of its kind.
func (c *compiler) foreignKeys(ph *Phase, src *schema.Phase) {
	foreign := func(key string, at diag.Span, of string) {
		c.list.Report(diag.PhaseKind, at, "%s belongs to %s, and %q is none", key, of, ph.Name).Hintf("remove %s", key)
	}
	if src.Message.Set && ph.Kind != Commit && !c.vague(ph) {
		foreign("message", src.Message.Span(), "builtin: git_commit")
	}
	if src.Sources.Set && src.Writes.Set && len(src.Writes.Items) > 0 {
		c.list.Report(diag.PhaseKind, src.Sources.Span, "%q may write files, which would be missing when it passes unstarted", ph.Name).
			Hintf("remove sources, or writes: what has sources is a check")
	}
	if !src.Builtin.Set {
		return
	}
	if src.Sources.Set {
		foreign("sources", src.Sources.Span, "a phase with run or command")
	}
	if src.Repeat.Set {
		foreign("repeat", src.Repeat.Span, "a phase with run or command")
	}
	if src.ExitCodes.Set {
		foreign("exit_codes", src.ExitCodes.Span, "a phase with run or command")
	}
	if len(src.Outputs) > 0 {
		foreign("outputs", src.Outputs[0].Name.Span(), "a phase with run or command")
	}
}

func (c *compiler) kindNamed(name string) *envelope.Kind {
	k, ok := c.kinds[name]
	if !ok {
		if k, _, ok = c.cat.envelope(name); !ok {
			return nil
		}
		c.mergeKind(name, map[string]bool{})
		c.kinds[name] = k
	}
	c.used.envelope(c.cat, name)
	return k
}

// mergeKind adds the findings of a kind of the file and of all that it extends.
func (c *compiler) mergeKind(name string, seen map[string]bool) {
	if e := find(c.cat.user.Envelopes, name, kindName); e != nil && !seen[name] {
		seen[name] = true
		c.list.Merge(c.cat.resolveKind(e).list)
		c.mergeKind(e.Extends.Value, seen)
	}
}

func (c *compiler) agentPhase(ph *Phase, src *schema.Phase) {
	ph.Retries = src.Retries.Value
	ph.Reuse = src.Reuse.Value
	ph.Fresh = src.Session.Value == "fresh"
	ph.Timeout = src.Timeout.Value
	c.inputs(ph, src)
	c.review(ph, src)
	kind := src.Envelope
	a, ok := c.cat.agent(src.Agent.Value)
	if !ok {
		a, ok = c.cat.unknownAgent(&c.list, src.Agent.Span(), src.Agent.Value)
	}
	if ok {
		c.used.agent(c.cat, a)
		ph.Agent = c.agentIndex(a)
		ph.Model = c.phaseModel(src.Model, c.agentDefs[ph.Agent])
		if !kind.Set {
			kind = c.agentDefs[ph.Agent].a.Envelope
		}
		if !kind.Set && !c.agentDefs[ph.Agent].unread {
			kind = schema.Text{Value: "generic", Set: true}
		}
	}
	if !kind.Set { // of an agent that nobody knows, or that could not be read
		return
	}
	if ph.Envelope = c.kindNamed(kind.Value); ph.Envelope == nil && src.Envelope.Set { // an agent's own is reported with the agent
		ph.Envelope = c.kindNamed(c.cat.unknownEnvelope(&c.list, kind.Span(), kind.Value))
	}
}

// review reads who judges what an agent did.
func (c *compiler) review(ph *Phase, src *schema.Phase) {
	if !src.Review.Set {
		missing := func(key string, at diag.Span) {
			c.list.Report(diag.MissingKey, at, "%s says what follows from a review, and %q has none", key, ph.Name).
				Hintf("add review: AGENT, or remove %s", key)
		}
		if src.ReviewRetries.Set {
			missing("review_retries", src.ReviewRetries.Span)
		}
		if src.RevertRejected.Set {
			missing("revert_rejected", src.RevertRejected.Span)
		}
		return
	}
	a, ok := c.cat.agent(src.Review.Value)
	if !ok {
		if a, ok = c.cat.unknownAgent(&c.list, src.Review.Span(), src.Review.Value); !ok {
			return
		}
	}
	c.used.agent(c.cat, a)
	if worker, ok := c.cat.agent(src.Agent.Value); ok && worker == a {
		c.list.Report(diag.SelfReview, src.Review.Span(), "agent %q would judge its own work, in the session that did it", src.Review.Value).
			Hintf("name another agent; one that extends it has a session of its own")
	}
	ph.Review = &Review{Agent: c.agentIndex(a), Retries: 1, Revert: src.RevertRejected.Value}
	if src.ReviewRetries.Set {
		ph.Review.Retries = src.ReviewRetries.Value
	}
}

// inputs reads what is handed over. Order is checked when it is known.
func (c *compiler) inputs(ph *Phase, src *schema.Phase) {
	for i := range src.Inputs.Items {
		t := src.Inputs.Items[i]
		in := Input{Name: t.Value, Phase: -1}
		switch t.Value {
		case "request":
			in.Kind = InputRequest
		case "feedback":
			in.Kind = InputFeedback
		case "handoff_files":
			in.Kind = InputHandoff
		default:
			name, field, dotted := strings.Cut(t.Value, ".")
			in.Kind = InputPhase
			if dotted {
				in.Kind, in.Field = InputField, field
			}
			id, ok := c.byName[name]
			if !ok {
				if id, ok = c.byName[c.unknownInput(t, name)]; !ok {
					continue
				}
			}
			in.Phase = id
		}
		if slices.Contains(ph.Inputs, in) {
			c.list.Report(diag.DuplicateID, t.Span(), "input %q is there twice", t.Value).Hintf("remove one of them")
			continue
		}
		ph.Inputs = append(ph.Inputs, in)
	}
}

// unknownInput reports an input that is nothing and returns what was likely meant.
func (c *compiler) unknownInput(t schema.Text, name string) string {
	at := t.Frag.Span(0, len(name))
	known := append([]string{"feedback", "handoff_files", "request"}, c.names...)
	slices.Sort(known)
	d := c.list.Report(diag.UnknownPhase, at, "input %q is no phase, and none of request, feedback and handoff_files", name)
	near := diag.Suggest(name, known)
	if near != "" {
		d.Hintf("did you mean %q?", near)
	} else {
		d.Hintf("name a phase of this pipeline")
	}
	return near
}

var outputTypes = map[string]ParamType{"": ParamString, "string": ParamString, "int": ParamInt, "number": ParamNumber, "bool": ParamBool}

// output compiles a value that is read out of a command's output.
func (c *compiler) output(ph *Phase, src *schema.Output) {
	switch {
	case src.Regex.Set:
		re, err := regexp.Compile(src.Regex.Value)
		if err != nil {
			c.list.Report(diag.ExprSyntax, src.Regex.Span(), "%q is no regular expression: %s", src.Regex.Value, strings.TrimPrefix(err.Error(), "error parsing regexp: ")).
				Hintf(`write one with a group, such as 'rows=(\d+)'`)
		} else if re.NumSubexp() > 1 {
			c.list.Report(diag.ExprSyntax, src.Regex.Span(), "%q has %d groups, and one of them is the value", src.Regex.Value, re.NumSubexp()).
				Hintf("make the others (?:…)")
		}
	case src.JSON.Value != "" && !strings.HasPrefix(src.JSON.Value, "/"):
		c.list.Report(diag.ExprSyntax, src.JSON.Span(), "%q is no JSON pointer", src.JSON.Value).Hintf("begin it with /, as in /summary/total")
	}
	ph.Outputs = append(ph.Outputs, Output{Name: src.Name.Value, Regex: src.Regex.Value, JSON: src.JSON.Value,
		Type: outputTypes[src.Type.Value], Required: src.Required.Value})
}
