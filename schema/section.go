package schema

// A mapping of the language is decoded key by key after its section of the table. Here is also everything that
// is said about a key that does not belong: a near miss, a word of another tool, a key that is legal elsewhere.

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"gopkg.in/yaml.v3"

	"foundry/diag"
)

// seen is what one mapping had.
type seen struct {
	entries []entry
	unknown bool // at least one key was not known
}

func (s seen) has(name string) bool {
	return slices.ContainsFunc(s.entries, func(e entry) bool { return e.name == name })
}

// decodeSection reads a mapping into t. Its node must be a mapping.
func decodeSection[T any](d *decoder, s *section[T], v value, t *T) seen {
	got := seen{entries: d.entries(v)}
	flow := v.node.Style&yaml.FlowStyle != 0
	for i, e := range got.entries {
		k := s.find(e.name)
		switch {
		case k != nil && k.read != nil:
			k.read(d, &k.Key, e.value, t)
		case k != nil:
		case s.name == "file" && strings.HasPrefix(e.name, "x-"):
		default:
			got.unknown = true
			m := d.unknownKey(s.noun, s.rows(), e, flow, got)
			if m == "" || got.has(m) {
				d.lost++
				break
			}
			got.entries[i].name, got.entries[i].value.name = m, m // found by what was meant
			readAs(d, s.find(m), got.entries[i], foreign[e.name] != m, t)
		}
	}
	for _, k := range s.keys {
		if k.Required && !got.has(k.Name) && (k.Unless == "" || !got.has(k.Unless)) {
			at := v.at
			if at.IsZero() || at.Start == at.End {
				at = d.opening(v.node)
			}
			d.report(v.via, k.absent, at, "%s needs the key %q", s.noun, k.Name).Hintf("%s: %s", k.Name, k.Doc)
		}
	}
	return got
}

// readAs reads the value of an unknown key as that of the key which was meant, so that nothing else seems to be missing
// because of it. Of a word of another tool it is not certain what it holds: there, what is wrong with it is not said
// either, and names and expressions are left out.
func readAs[T any](d *decoder, k *key[T], e entry, certain bool, t *T) {
	if k.read == nil {
		return
	}
	switch k.Shape {
	case ShapeSection, ShapeList, ShapeMap, ShapeEntries:
		if certain {
			k.read(d, &k.Key, e.value, t)
			return
		}
	case ShapeText, ShapeRoute, ShapeGates:
		if !certain && k.Name != "id" && k.Name != "extends" {
			d.lost++
			return
		}
	}
	list, count := d.list, maps.Clone(d.count)
	k.read(d, &k.Key, e.value, t)
	d.list, d.count = list, count
}

// mapping decodes a value that must be a mapping of a section.
func mapping[T any](d *decoder, s *section[T], v value, t *T) (seen, bool) {
	if v.node.Kind != yaml.MappingNode {
		d.holes++
		d.wrongType(v, "a mapping")
		return seen{}, false
	}
	return decodeSection(d, s, v, t), true
}

// listOf decodes a list of mappings, each in its place in the list, since a phase is too large to be handed around.
// Those that each refuses are left out.
func listOf[T any](d *decoder, v value, each func(value, *T) bool) []T {
	if v.node.Kind != yaml.SequenceNode {
		d.holes++
		d.wrongType(v, "a list")
		return nil
	}
	out := make([]T, 0, len(v.node.Content))
	for _, item := range d.items(v) {
		if item.node.Kind == gone {
			continue
		}
		n, spare := len(out), d.spare
		out = out[:n+1]
		if !each(item, &out[n]) {
			clear(out[n:])
			out = out[:n]
		}
		d.spare = spare
	}
	return out
}

// mapOf decodes a mapping from names to values; the names are checked with ok.
func mapOf[T any](d *decoder, v value, name func(*decoder, entry) (Text, bool), each func(Text, value) T) []T {
	if v.node.Kind != yaml.MappingNode {
		d.holes++
		d.wrongType(v, "a mapping from names")
		return nil
	}
	out := make([]T, 0, len(v.node.Content)/2)
	for _, e := range d.entries(v) {
		key, _ := name(d, e)
		if e.node.Kind != gone {
			out = append(out, each(key, e.value))
		}
	}
	return out
}

// keyText is a key as a text.
func (d *decoder) keyText(e entry) Text {
	f, _ := d.scalar(e.key)
	return Text{Value: e.name, Frag: f, Set: true}
}

// longName checks a name in which - is allowed: pipelines, agents, commands, gates, envelopes, criteria.
func longName(d *decoder, e entry) (Text, bool) {
	t := d.keyText(e)
	return t, d.checkName(e.via, t, true)
}

// shortName checks a name that expressions speak of: params, outputs, fields, phases.
func shortName(d *decoder, e entry) (Text, bool) {
	t := d.keyText(e)
	return t, d.checkName(e.via, t, false)
}

// reserved are the words of routes and expressions, which no phase may be called.
var reserved = strings.Fields("on when with retry next finish abort self item pass reject fail timeout skip any and not or in true false nil yes no off request feedback")

func (d *decoder) checkName(through *via, t Text, dashes bool) bool {
	if isName(t.Value, dashes) {
		return true
	}
	form := "small letters, digits and _, beginning with a letter"
	if dashes {
		form = "small letters, digits, _ and -, beginning with a letter"
	}
	found := d.report(through, diag.BadID, t.Span(), "%q is not a name: a name is %s", clip(t.Value), form)
	if s := toName(t.Value, dashes); s != "" {
		found.Hintf("write %s", s)
	}
	return false
}

func isName(s string, dashes bool) bool {
	for i, c := range s {
		switch {
		case c >= 'a' && c <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '_' || c == '-' && dashes):
		default:
			return false
		}
	}
	return s != ""
}

// toName turns a text into the nearest name, or "".
func toName(s string, dashes bool) string {
	var b strings.Builder
	for _, c := range strings.ToLower(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9' && b.Len() > 0:
			b.WriteRune(c)
		case b.Len() > 0 && dashes && c != '_':
			b.WriteByte('-')
		case b.Len() > 0:
			b.WriteByte('_')
		}
	}
	name := strings.TrimRight(b.String(), "-_")
	if !isName(name, dashes) || slices.Contains(reserved, name) {
		return ""
	}
	return name
}

// foreign are the words that other tools have for what Foundry calls otherwise: the key that is meant, or for
// several places a sentence.
var foreign = map[string]string{
	"if": "when", "condition": "when", "only": "when", "unless": "when", "skip": "when", "skip_if": "when",
	"depends_on": "needs", "depends-on": "needs", "dependsOn": "needs", "dependencies": "needs", "deps": "needs", "requires": "needs", "after": "needs", "needs_phases": "needs",
	"continue-on-error": "optional", "continue_on_error": "optional", "allow_failure": "optional", "ignore_error": "optional", "ignore_errors": "optional", "soft_fail": "optional",
	"steps": "phases", "stages": "phases", "tasks": "phases", "nodes": "phases",
	"jobs": "pipelines", "workflows": "pipelines", "flows": "pipelines",
	"uses": "agent", "agent_type": "agent", "subagent": "agent",
	"matrix": "each", "strategy": "each", "for": "each", "foreach": "each", "for_each": "each", "loop": "each", "with_items": "each",
	"script": "run", "cmd": "run", "cmds": "run", "shell": "run", "exec": "run", "sh": "run", "bash": "run", "commands": "run", "execute": "run",
	"on": "route", "goto": "route", "on_fail": "route", "on_failure": "route", "on_success": "route", "on_reject": "route", "transitions": "route", "routes": "route", "next": "route", "rules": "route",
	"retry": "retries", "max_retries": "retries", "max_attempts": "retries", "attempts": "retries",
	"timeout-minutes": "timeout", "timeout_minutes": "timeout", "timeout_seconds": "timeout", "time_limit": "timeout", "turn_limit": "turns",
	"working-directory": "dir", "working_directory": "dir", "workdir": "dir", "cwd": "dir", "working_dir": "dir",
	"environment": "env", "envs": "env", "variables": "env",
	"name": "id", "title": "description", "desc": "description", "label": "description",
	"vars": "params", "parameters": "params", "arguments": "params", "args": "params",
	"includes": "include", "import": "include", "imports": "include", "approval": "ask", "confirm": "ask", "manual": "ask", "human": "ask", "question": "ask",
	"checks": "gates", "validators": "gates", "guards": "gates", "verify": "gates", "evidence": "gates",
	"allowed_paths": "writes", "write": "writes", "files": "writes", "paths": "writes",
	"read_only": "writes", "readonly": "writes", "system_prompt": "system", "instructions": "prompt", "task": "prompt", "template": "prompt",
	"provider": "harness", "runner": "harness", "backend": "harness", "schema": "envelope", "output": "envelope", "output_schema": "envelope", "returns": "envelope",
	"success": "accept", "success_criteria": "accept", "acceptance": "accept", "done_when": "accept",
	"budget": "limits", "max_cost": "cost", "max_turns": "turns", "max_tokens": "tokens", "extend": "extends", "inherits": "extends", "base_agent": "extends", "from": "extends",
	"failfast": "fail_fast", "fail-fast": "fail_fast",
}

// unknownKey reports a key that its section does not have and returns the key that was most likely meant.
func (d *decoder) unknownKey(noun string, rows []Key, e entry, flow bool, got seen) string {
	if d.count[diag.UnknownKey] >= maxFindings {
		d.count[diag.UnknownKey]++
		return ""
	}
	at := d.spanOf(e.key)
	if flow && isNull(e.node) && e.node.Value == "" && !isName(strings.ToLower(e.name), true) {
		d.report(e.via, diag.YAMLFlow, at, "a comma inside { } begins a new key, which is %q here", clip(e.name)).
			Hintf("quote the whole text before it: a text with commas or brackets needs quotes inside { } and [ ]")
		return ""
	}
	own := make([]string, len(rows))
	for i, k := range rows {
		own[i] = k.Name
	}
	sort.Strings(own)
	found := d.report(e.via, diag.UnknownKey, at, "%s has no key %q", noun, clip(e.name))
	if s, ok := foreign[e.name]; ok && slices.Contains(own, s) {
		d.foreignHint(found, rows, e, s, got)
		return s
	}
	if noun == "a phase" && foreign[e.name] == "phases" {
		found.Hintf("a phase has no steps: make each one a phase")
		return ""
	}
	if s := diag.Suggest(e.name, own); s != "" {
		found.Hintf("did you mean %q?", s)
		return s
	}
	if where := d.lang.legal(e.name); len(where) > 0 {
		found.Hintf("%q belongs to %s", e.name, either(where))
		return ""
	}
	if s, ok := foreign[e.name]; ok {
		if where := d.lang.legal(s); len(where) > 0 {
			found.Hintf("foundry's word is %q, and it belongs to %s", s, either(where))
			return ""
		}
	}
	found.Hintf("the keys are %s", words(own))
	return ""
}

// foreignHint says what to write for a key that another tool has. s is the key that is meant.
func (d *decoder) foreignHint(found *diag.Diagnostic, rows []Key, e entry, s string, got seen) {
	trigger, isRule := strings.CutPrefix(strings.ReplaceAll(e.name, "-", "_"), "on_")
	trigger = map[string]string{"fail": "fail", "failure": "fail", "success": "pass", "reject": "reject"}[trigger]
	n := e.node
	plain := n.Kind == yaml.ScalarNode && n.Style&yaml.TaggedStyle == 0 && !isNull(n)
	switch i := slices.IndexFunc(rows, func(k Key) bool { return k.Name == s }); {
	case s == "route" && isRule && plain && isName(n.Value, false):
		rule := "on " + trigger + " -> " + n.Value
		if trigger != "pass" && !slices.Contains(reserved, n.Value) {
			rule += " retry 1"
		}
		if got.has("route") {
			found.Hintf("add the rule %s to route", rule)
		} else {
			found.Hintf("write route: [%s]", rule)
		}
	case rows[i].Shape == ShapeTexts && plain:
		found.Hintf("write %s: [%s]", s, flowItem(n))
	case rows[i].Shape == ShapeTexts && n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle != 0:
		found.Hintf("write %s: %s", s, diag.Span{Source: d.src, Start: d.properties(n).start, End: d.end(n)}.Text())
	default:
		found.Hintf("foundry's word is %q: %s", s, rows[i].Doc)
	}
}
