package schema

// The keys of phases. One key says what a phase does; the keys of other kinds of phases do not belong beside it.

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"foundry/diag"
)

func (l *language) phases() {
	l.phase = newSection("phase", "a phase",
		row("id", ShapeText, "its name, for routes, needs and expressions", readPhaseID).must(),
		text("description", "what it does, in one line", func(p *Phase) *Text { return &p.Description }),
		text("hint", "what to do when it fails, shown then", func(p *Phase) *Text { return &p.Hint }),
		texts("needs", "the phases it waits for; absent: the one before it, []: no phase", func(p *Phase) *Texts { return &p.Needs }),
		boolean("detour", "whether only a route enters it", func(p *Phase) *Bool { return &p.Detour }).def("false"),
		text("when", "the expression without which it is skipped", func(p *Phase) *Text { return &p.When }),
		boolean("optional", "whether a failure that no rule took becomes a skip", func(p *Phase) *Bool { return &p.Optional }).def("false"),
		row("route", ShapeRoute, "where the run goes after it: rules, one a line", func(d *decoder, _ *Key, v value, p *Phase) { p.Route = d.route(v) }),
		row("gates", ShapeGates, "the checks that what it did must pass", readGates),
		duration("timeout", "how long it may take", func(p *Phase) *Duration { return &p.Timeout }).def("15m for code"),
		pairs("env", "variables of its environment; values are templates", func(p *Phase) *Pairs { return &p.Env }),
		text("dir", "the directory it runs in, from the directory of this file", func(p *Phase) *Text { return &p.Dir }),
		texts("writes", "patterns of the paths it may write, beside what the agent may", func(p *Phase) *Texts { return &p.Writes }),
		texts("protect", "patterns of paths that it may not write", func(p *Phase) *Texts { return &p.Protect }),
		text("commits", "whether it may commit and move branches itself", func(p *Phase) *Text { return &p.Commits }).enum("deny", "allow").def("deny"),
		text("parallel", "how it shares the workspace with others: in turns, or from a worktree of its own that is merged back", func(p *Phase) *Text { return &p.Parallel }).enum("turns", "worktree").def("turns"),

		text("agent", "the agent that works", func(p *Phase) *Text { return &p.Agent }).only("agent"),
		prose("prompt", "the prompt, instead of the agent's own", func(p *Phase) *Prose { return &p.Prompt }).only("agent"),
		texts("inputs", "what it is handed: request, feedback, handoff_files, a phase, or a field of one", func(p *Phase) *Texts { return &p.Inputs }).only("agent"),
		text("envelope", "the kind of report, instead of the agent's own", func(p *Phase) *Text { return &p.Envelope }).only("agent"),
		text("model", "the model, instead of the agent's own; light and heavy are those of models", func(p *Phase) *Text { return &p.Model }).only("agent"),
		integer("retries", "further attempts in one visit", func(p *Phase) *Int { return &p.Retries }).def("0").to(1000).only("agent"),
		text("session", "whether a visit goes on in the session that its agent has in the run, or begins one of its own", func(p *Phase) *Text { return &p.Session }).enum("keep", "fresh").def("keep").only("agent"),
		text("review", "the agent that judges what was done, once boundary and gates have passed", func(p *Phase) *Text { return &p.Review }).only("agent"),
		integer("review_retries", "further attempts after reviews that failed, in one visit", func(p *Phase) *Int { return &p.ReviewRetries }).def("1").to(1000).only("agent"),
		boolean("revert_rejected", "whether work whose review failed for good is undone", func(p *Phase) *Bool { return &p.RevertRejected }).def("false").only("agent"),
		boolean("reuse", "whether the result of an earlier run is taken over when definition, prompt and files are the same", func(p *Phase) *Bool { return &p.Reuse }).def("false").only("agent"),

		script("run", "the command: a text for a shell, or a list as argv", func(p *Phase) *Script { return &p.Run }).only("code"),
		text("command", "the named command", func(p *Phase) *Text { return &p.Command }).only("code"),
		text("builtin", "a step that foundry has built in", func(p *Phase) *Text { return &p.Builtin }).only("code"),
		text("message", "the message of git_commit, a template", func(p *Phase) *Text { return &p.Message }).only("code"),
		exitCodes("exit_codes", "the exit codes that are a pass, or nonzero", func(p *Phase) *ExitCodes { return &p.ExitCodes }).only("code"),
		names("outputs", "output", "values read out of what it printed", func(d *decoder, v value, p *Phase) { p.Outputs = mapOf(d, v, shortName, d.output) }).only("code"),
		integer("repeat", "how many times in a row it must pass; the first failure ends it", func(p *Phase) *Int { return &p.Repeat }).def("1").from(1).to(1000).only("code"),
		texts("sources", "patterns of the files that decide whether it has to run: it passes unstarted while these are as when it last passed", func(p *Phase) *Texts { return &p.Sources }).only("code"),

		text("ask", "the question to a person, a template", func(p *Phase) *Text { return &p.Ask }).only("ask"),
		text("call", "the pipeline that runs as this phase", func(p *Phase) *Text { return &p.Call }).only("call"),
		pairs("set", "params of the called pipeline; values are templates", func(p *Phase) *Pairs { return &p.Set }).only("call"),
		nested("each", "each", "the list over which it is repeated, once for each entry: with agent, run, command or call", readEach).only("each"),
	)
	l.each = newSection("each", "an each",
		text("in", "the list, an expression: phases.plan.envelope.steps", func(e *Each) *Text { return &e.In }).must(),
		text("as", "what its texts call an entry", func(e *Each) *Text { return &e.As }).def("item"),
		row("limit", ShapeInt, "how many entries the list may have: with more of them the phase fails", readEachLimit).from(1).to(maxEach).must().lacking(diag.EachLimit),
		text("require", "whether all items have to pass, or any", func(e *Each) *Text { return &e.Require }).enum("all", "any").def("all"),
	)
	l.patch = newSection("patch", "a patch of a phase",
		text("after", "of a new phase: the one that it stands behind", func(p *Patch) *Text { return &p.After }),
	)
	for _, k := range l.phase.keys {
		if k.Name != "id" {
			l.patch.add(ofPatch(k))
		}
	}
	l.output = newSection("output", "an output",
		text("regex", "a regular expression; its first group, or the whole match, is the value", func(o *Output) *Text { return &o.Regex }),
		text("json", "a JSON pointer into what it printed", func(o *Output) *Text { return &o.JSON }),
		text("type", "what the value is", func(o *Output) *Text { return &o.Type }).enum("string", "int", "number", "bool").def("string"),
		boolean("required", "whether no match fails the phase", func(o *Output) *Bool { return &o.Required }).def("false"),
	)
}

// ofPatch is a key of a phase as a key of a patch.
func ofPatch(k *key[Phase]) *key[Patch] {
	out := &key[Patch]{Key: k.Key, absent: k.absent}
	out.Required = false
	if k.read != nil {
		out.read = func(d *decoder, row *Key, v value, p *Patch) { k.read(d, row, v, &p.Phase) }
	}
	return out
}

// kinds are the keys that say what a phase does, and the group of keys that each of them lets stand beside it.
var kinds = map[string]string{"agent": "agent", "run": "code", "command": "code", "builtin": "code", "ask": "ask", "call": "call"}

// Beside says whether a phase that has a key which says what it does, such as agent, may have this one as well.
func (k Key) Beside(does string) bool {
	if _, is := kinds[k.Name]; is {
		return k.Name == does
	}
	switch k.Kind {
	case "":
		return true
	case "each": // a builtin has nothing to do with an entry, and a person is not asked in bulk
		return does != "builtin" && does != "ask"
	}
	return k.Kind == kinds[does]
}

func (d *decoder) phases(v value) []Phase {
	if n := v.node; n.Kind == yaml.MappingNode && len(n.Content) > 0 && n.Content[0].Kind == yaml.ScalarNode {
		d.holes++
		d.report(v.via, diag.WrongType, d.opening(n), "%s takes a list, not a mapping", v.label()).
			Hintf("each phase begins with a dash and its id: - id: %s", clip(n.Content[0].Value))
		return nil
	}
	out := listOf(d, v, d.phase)
	if v.node.Kind == yaml.SequenceNode && len(v.node.Content) == 0 {
		d.report(v.via, diag.MissingKey, d.span(v), "a pipeline needs at least one phase")
	}
	unique(d, out, "phase", func(p *Phase) *Text { return &p.ID })
	return out
}

func (d *decoder) phase(v value, p *Phase) bool {
	got, ok := mapping(d, d.lang.phase, v, p)
	if !ok {
		return false
	}
	p.Span = d.spanOf(v.node)
	at := d.opening(v.node)
	if p.ID.Set {
		at = p.ID.Span()
	}
	d.exactlyOne(v, got, at, phaseNoun(p.ID.Value), "agent", "run", "command", "builtin", "ask", "call")
	d.misplaced(got, phaseNoun(p.ID.Value), p.ID.Value)
	return true
}

// noun is what messages call a mapping: a word and a name, or one of the two.
type noun struct{ word, name string }

func (n noun) String() string {
	if n.name == "" {
		return n.word
	}
	return n.word + ` "` + n.name + `"`
}

func phaseNoun(id string) noun {
	if id == "" {
		return noun{word: "this phase"}
	}
	return noun{"phase", id}
}

// patch reads the changes of a phase. Whether it is a new one, which must say what it does, is not known yet.
func (d *decoder) patch(name Text, v value) Patch {
	p := Patch{Name: name}
	got, ok := mapping(d, d.lang.patch, v, &p)
	if !ok {
		return p
	}
	p.Phase.ID, p.Phase.Span = name, d.spanOf(v.node)
	for _, e := range got.entries {
		p.Keys = append(p.Keys, d.keyText(e))
		if e.name == "after" && slices.Contains(reserved, name.Value) {
			d.report(v.via, diag.ReservedID, name.Span(), "%q is a word of the language and cannot be a phase's id", name.Value).Hintf("choose another id, such as %s_phase", name.Value)
		}
	}
	if slices.ContainsFunc(got.entries, func(e entry) bool { return kinds[e.name] != "" }) {
		d.exactlyOne(v, got, name.Span(), phaseNoun(name.Value), "agent", "run", "command", "builtin", "ask", "call")
	}
	d.misplaced(got, phaseNoun(name.Value), name.Value)
	return p
}

func readGates(d *decoder, _ *Key, v value, p *Phase) {
	p.Gates = listOf(d, v, func(v value, g *Gate) (ok bool) {
		*g, ok = d.gate(v)
		return ok
	})
}

// misplaced reports keys that belong to another kind of phase than this one.
func (d *decoder) misplaced(got seen, what noun, id string) {
	if id == "" {
		id = "PHASE"
	}
	have := make([]string, 0, 4)
	for _, e := range got.entries {
		if g := kinds[e.name]; g != "" {
			have = append(have, g)
		}
	}
	if len(have) == 0 {
		return
	}
	for _, e := range got.entries {
		k := d.lang.phase.find(e.name)
		if k == nil || e.mistyped() || k.Kind == "" || k.Kind == "each" || kinds[e.name] != "" || slices.Contains(have, k.Kind) {
			continue
		}
		found := d.report(e.via, diag.UnknownKey, d.spanOf(e.key), "%q is only for %s, and %s is not one", e.name, KindNoun(k.Kind), what)
		if e.name == "retries" && slices.Contains(have, "code") {
			found.Hintf("remove it; a command is tried again by a rule of its route: on fail -> %s retry %s", id, d.countOr(e.value, "2"))
		} else {
			found.Hintf("remove it, or put it on %s", KindNoun(k.Kind))
		}
	}
}

// countOr is a whole number as it is written, or another one.
func (d *decoder) countOr(v value, other string) string {
	if v.node.Kind == yaml.ScalarNode && plainDecimal(v.node.Value) && v.node.Value != "0" {
		return v.node.Value
	}
	return other
}

// KindNoun is how messages call the phases that have the keys of a kind, as Key.Kind has it.
func KindNoun(kind string) string {
	switch kind {
	case "agent":
		return "a phase with an agent"
	case "code":
		return "a phase with run, command or builtin"
	}
	return "a phase with " + kind
}

// maxEach is the largest limit of an each.
const maxEach = 200

func readEach(d *decoder, v value, p *Phase) {
	if _, ok := mapping(d, d.lang.each, v, &p.Each); !ok {
		return
	}
	p.Each.Span, p.Each.Set = d.spanOf(v.node), true
	if as := p.Each.As; as.Set {
		switch {
		case !d.checkName(v.via, as, false):
		case as.Value != "item" && (slices.Contains(reserved, as.Value) || slices.Contains(eachNames, as.Value)):
			d.report(v.via, diag.ReservedID, as.Span(), "%q has a meaning of its own in texts and cannot be what an entry is called", as.Value).Hintf("choose another name, such as %s_item", as.Value)
		}
	}
}

// eachNames are the names that texts have for something else.
var eachNames = []string{"params", "phases", "status", "reason", "exit", "output", "outputs", "envelope", "changed", "violations", "answer", "attempt", "visit",
	"run_id", "branch", "base", "worktree", "handoff_dir", "handoff_files", "context"}

func readEachLimit(d *decoder, k *Key, v value, e *Each) {
	n := v.node
	if n.Kind == yaml.ScalarNode && n.Style == 0 && plainDecimal(strings.TrimPrefix(n.Value, "-")) {
		if x, err := strconv.Atoi(n.Value); err != nil || x < k.Min || x > k.Max {
			d.report(v.via, diag.EachLimit, d.span(v), "the limit of an each is a number from %d to %d", k.Min, k.Max).Hintf("write limit: %d, or hand the phase a shorter list", k.Max)
			return
		}
	}
	if x, ok := d.number(v, k.Min, k.Max); ok {
		e.Limit = x
	}
}

func readPhaseID(d *decoder, _ *Key, v value, p *Phase) {
	t, ok := d.text(v)
	if !ok || !d.checkName(v.via, t, false) {
		return
	}
	if slices.Contains(reserved, t.Value) {
		d.report(v.via, diag.ReservedID, t.Span(), "%q is a word of the language and cannot be a phase's id", t.Value).Hintf("choose another id, such as %s_phase", t.Value)
	}
	p.ID = t
}

func (d *decoder) output(name Text, v value) Output {
	o := Output{Name: name, Span: name.Span()}
	got, ok := mapping(d, d.lang.output, v, &o)
	if ok {
		d.exactlyOne(v, got, name.Span(), noun{"output", name.Value}, "regex", "json")
	}
	return o
}
