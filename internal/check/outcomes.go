package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"foundry/dsl"
	"foundry/envelope"
	"foundry/graph"
	"foundry/internal/lazyregexp"
	"foundry/runner"
)

// This file finds out which outcomes of a phase can make a difference: how it can end, and the values that some
// condition reads. An exploration tries each of them.

// option is one outcome of a visit, and how a person calls it.
type option struct {
	name  string
	given Given
}

// setting is one value of a param, or of the request.
type setting struct {
	param string // "" for the request
	text  string
}

// reading is a value that some condition reads, with the constants of that condition.
type reading struct {
	phase   graph.PhaseID // -1 for a name of the run
	field   string        // envelope, exit, output, outputs, changed, reason, params, request
	path    string        // below the field
	numbers []int
	texts   []string
	list    bool // a phase is repeated over it
}

// space is all that an exploration chooses from: the first option of each list is the usual one.
type space struct {
	options  [][]option // by phase
	settings [][]setting
	values   []valueItem
}

// valueItem is a value of an enum, or a yes or no, that some condition reads.
type valueItem struct {
	phase graph.PhaseID
	field string // of the envelope
	value string
}

func newSpace(g *graph.Graph) *space {
	reads := readings(g)
	s := &space{options: make([][]option, len(g.Phases))}
	for i := range g.Phases {
		s.options[i] = s.phaseOptions(g, &g.Phases[i], reads)
	}
	s.settings = settings(g, reads)
	return s
}

// of are the outcomes of a phase, which may be one that only a run has: an item ends as its phase says, what it calls
// as anything of its kind.
func (s *space) of(g *graph.Graph, p graph.PhaseID) []option {
	if int(p) < len(s.options) && g.Phases[p].Item == nil {
		return s.options[p]
	}
	if of := g.Phases[p].Owner; g.Phases[p].Item != nil && int(of) < len(s.options) {
		return s.options[of]
	}
	values := s.values
	defer func() { s.values = values }()
	return s.phaseOptions(g, &g.Phases[p], readings(g))
}

// readings are what the conditions of a pipeline read.
func readings(g *graph.Graph) []reading {
	var out []reading
	add := func(c *dsl.Cond, owner, own graph.PhaseID) {
		if c == nil {
			return
		}
		numbers, texts := constants(c.Text())
		for _, r := range c.Reads() {
			x := reading{phase: own, field: r.Field, numbers: numbers, texts: texts}
			switch {
			case r.Phase != "":
				x.phase, _ = g.LookupIn(owner, r.Phase)
			case r.Field == "params" && owner >= 0:
				continue // a call sets them
			case r.Field == "params" || r.Field == "request":
				x.phase = -1
			}
			x.path = strings.TrimPrefix(strings.TrimPrefix(r.Path, r.Field), ".")
			out = append(out, x)
		}
	}
	add(g.Accept, -1, -1)
	for i := range g.Phases {
		ph := &g.Phases[i]
		scope := g.Scope(ph.ID)
		add(ph.When, scope, ph.ID)
		for _, gate := range ph.Gates {
			add(gate.Cond, scope, ph.ID)
		}
		for _, rule := range g.RulesOf(ph.ID) {
			add(rule.When, scope, ph.ID)
		}
		if ph.Each != nil {
			from := len(out)
			add(ph.Each.In, scope, ph.ID)
			for j := range out[from:] {
				out[from+j].list = true
			}
			for j := range ph.Each.Rules {
				add(ph.Each.Rules[j].When, scope, ph.ID)
			}
		}
		if ph.Call != nil {
			add(ph.Call.Accept, ph.ID, -1)
		}
	}
	return out
}

var (
	quoted = lazyregexp.New("\"((?:[^\"\\\\]|\\\\.)*)\"|'((?:[^'\\\\]|\\\\.)*)'|`([^`]*)`")
	number = lazyregexp.New(`\b\d+\b`)
)

// constants are the whole numbers and the texts that an expression compares with.
func constants(text string) (numbers []int, texts []string) {
	for _, m := range quoted().FindAllStringSubmatch(text, -1) {
		texts = append(texts, m[1]+m[2]+m[3])
	}
	for _, m := range number().FindAllString(quoted().ReplaceAllString(text, ""), -1) {
		if n, err := strconv.Atoi(m); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers, texts
}

func (s *space) phaseOptions(g *graph.Graph, ph *graph.Phase, reads []reading) []option {
	reads = slices.DeleteFunc(slices.Clone(reads), func(r reading) bool { return r.phase != ph.ID })
	switch ph.Work() {
	case graph.AgentWork:
		timed := slices.ContainsFunc(g.RulesOf(ph.ID), func(r graph.Rule) bool { return r.Trigger == dsl.Timeout })
		return s.agentOptions(ph, reads, timed)
	case graph.Ask:
		return []option{{"approve", Given{Approve: true}}, {"reject", Given{Note: "no"}}}
	case graph.Noop, graph.Calls:
		return []option{{"pass", Given{}}}
	}
	return codeOptions(ph, reads)
}

// agentOptions are the outcomes of an agent's visit; timed says that a rule asks for timeouts.
func (s *space) agentOptions(ph *graph.Phase, reads []reading, timed bool) []option {
	gates := gatesOf(ph, "pass")
	usual := usualReport(ph.Envelope)
	for _, r := range reads {
		if r.list && r.field == "envelope" {
			put(usual, r.path, twoEntries(ph.Envelope, r.path))
		}
	}
	as := func(name string, change func(envelope.Object)) option {
		report := copied(usual)
		change(report)
		text, err := json.Marshal(report)
		if err != nil {
			panic("BUG: a made-up report is no JSON: " + err.Error())
		}
		given := Given{Reply: string(text), Gates: gates}
		if ph.Review != nil {
			given.Review = &Review{Verdict: verdicts[0]}
		}
		return option{name, given}
	}
	out := []option{as("success", func(envelope.Object) {})}
	out = append(out, reviewOptions(ph, out[0].given)...)
	if ph.Envelope.Approves() {
		out = append(out, as("approved: false", func(o envelope.Object) { o["approved"], o["blocking"] = false, []any{"something is wrong"} }))
	}
	out = append(out, as("status: fail", func(o envelope.Object) { o["status"] = "fail" }))
	if timed {
		out = append(out, option{"turn timeout", Given{Stop: runner.StopTimeout}})
	}
	out = append(out, conflictOptions(ph, out[0].given)...)
	tried := map[string]bool{}
	for _, r := range reads {
		switch r.field {
		case "reason":
			if !tried["reason"] {
				out = append(out, reasonOptions(ph, out[0].given)...)
			}
			tried["reason"] = true
		case "changed":
			for _, text := range append([]string{""}, r.texts...) {
				given := out[0].given
				if given.Looked = true; text != "" {
					given.Changed = []string{text}
				}
				out = append(out, option{"changed: [" + text + "]", given})
			}
		case "envelope":
			if r.list && !tried[r.path] {
				out = append(out, as(r.path+": []", func(o envelope.Object) { put(o, r.path, []any{}) }))
				tried[r.path] = true
				continue
			}
			for _, v := range s.fieldValues(ph, r, tried) {
				out = append(out, as(r.path+": "+dsl.Text(v), func(o envelope.Object) { put(o, r.path, v) }))
			}
		}
	}
	return capped(out)
}

// twoEntries is a list with two entries, of which the second needs the first.
func twoEntries(k *envelope.Kind, path string) []any {
	f, ok := fieldAt(k.Fields, path)
	if !ok || f.Of != envelope.Nested {
		return []any{"one", "two"}
	}
	one, two := required(f.Fields), required(f.Fields)
	one["id"], two["id"] = "one", "two"
	for _, field := range f.Fields {
		if field.Name == "needs" {
			two["needs"] = []any{"one"}
		}
	}
	return []any{one, two}
}

// gatesOf lets all gates of a phase end in one way.
func gatesOf(ph *graph.Phase, how string) map[string]string {
	out := map[string]string{}
	for _, g := range ph.Gates {
		out[g.Spec.Name] = how
	}
	return out
}

// reasonOptions are the ways to fail that only differ in their reason.
func reasonOptions(ph *graph.Phase, usual Given) []option {
	out := []option{{"no report", Given{Reply: "no report at all"}}, {"cut off", Given{Stop: runner.StopTruncated}},
		{"harness error", Given{Stop: runner.StopError}}, {"turn timeout", Given{Stop: runner.StopTimeout}}}
	if len(ph.Gates) > 0 {
		usual.Gates = gatesOf(ph, "fail")
		out = append(out, option{"gates fail", usual})
	}
	return out
}

// conflictOptions are the usual outcome of a phase with a worktree of its own, and that its work does not fit.
func conflictOptions(ph *graph.Phase, usual Given) []option {
	if !ph.RunsApart() {
		return nil
	}
	usual.Conflict = []string{"a file"}
	return []option{{"conflict", usual}}
}

// fieldValues are the values of a field of the envelope that can make a difference, each once.
func (s *space) fieldValues(ph *graph.Phase, r reading, tried map[string]bool) []any {
	f, ok := fieldAt(ph.Envelope.Fields, r.path)
	if !ok || r.path == "status" || r.path == "approved" {
		return nil
	}
	var out []any
	switch {
	case len(f.Enum) > 0:
		for _, v := range f.Enum {
			out = append(out, v)
		}
	case f.Type == envelope.Bool:
		out = []any{true, false}
	case f.Type == envelope.Int || f.Type == envelope.Number:
		for _, n := range append([]int{0}, r.numbers...) {
			out = append(out, n, n+1)
		}
	case f.Type == envelope.String || f.Type == envelope.Path:
		for _, text := range append([]string{"", "text"}, r.texts...) {
			out = append(out, text)
		}
	case f.Type == envelope.List && (f.Of == envelope.String || f.Of == envelope.Path):
		out = []any{[]any{}}
		for _, text := range append([]string{"text"}, r.texts...) {
			out = append(out, []any{text})
		}
	}
	return slices.DeleteFunc(out, func(v any) bool {
		key := r.path + "=" + dsl.Text(v)
		if tried[key] {
			return true
		}
		tried[key] = true
		if len(f.Enum) > 0 || f.Type == envelope.Bool {
			s.values = append(s.values, valueItem{ph.ID, r.path, dsl.Text(v)})
		}
		return false
	})
}

func fieldAt(fields []envelope.Field, path string) (envelope.Field, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	for _, f := range fields {
		if f.Name != name {
			continue
		}
		if deeper && f.Type == envelope.Nested {
			return fieldAt(f.Fields, rest)
		}
		return f, !deeper
	}
	return envelope.Field{}, false
}

// put sets a field of a report, objects around it included.
func put(o envelope.Object, path string, v any) {
	name, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		o[name] = v
		return
	}
	inner, _ := o[name].(envelope.Object)
	inner = copied(inner)
	put(inner, rest, v)
	o[name] = inner
}

func copied(o envelope.Object) envelope.Object {
	out := envelope.Object{}
	for k, v := range o {
		out[k] = v
	}
	return out
}

// usualReport is a report of success with all that the kind requires.
func usualReport(k *envelope.Kind) envelope.Object {
	out := required(k.Fields)
	out["status"] = "success"
	return out
}

func required(fields []envelope.Field) envelope.Object {
	out := envelope.Object{}
	for _, f := range fields {
		if f.Required {
			out[f.Name] = usualValue(f, f.Type)
		}
	}
	return out
}

func usualValue(f envelope.Field, t envelope.Type) any {
	switch {
	case t == envelope.List:
		return []any{}
	case len(f.Enum) > 0:
		return f.Enum[0]
	case t == envelope.Int || t == envelope.Number:
		return 1
	case t == envelope.Bool:
		return true
	case t == envelope.Nested:
		return required(f.Fields)
	}
	return "text"
}

func codeOptions(ph *graph.Phase, reads []reading) []option {
	exits, gates := usualExits(ph.ExitCodes, ph.Nonzero), gatesOf(ph, "pass")
	texts, outputs := []string{""}, []map[string]string{usualOutputs(ph)}
	for _, r := range reads {
		switch r.field {
		case "exit":
			for _, n := range r.numbers {
				exits = append(exits, n, n+1)
			}
		case "output":
			if r.list {
				texts = append([]string{"one\ntwo"}, texts...)
			}
			texts = append(texts, r.texts...)
		case "outputs":
			outputs = append(outputs, outputValues(ph, r)...)
		}
	}
	var out []option
	add := func(exit int, text string, values map[string]string) {
		name := fmt.Sprintf("exit: %d", exit)
		if text != "" {
			name += fmt.Sprintf(", output: %q", text)
		}
		if !maps.Equal(values, outputs[0]) {
			raw, _ := json.Marshal(values)
			name += ", outputs: " + string(raw)
		}
		o := option{name, Given{Exit: exit, Output: text, Outputs: values, Gates: gates}}
		if exit <= 255 && !slices.ContainsFunc(out, func(have option) bool { return have.name == name }) {
			out = append(out, o)
		}
	}
	for _, exit := range exits {
		for _, text := range texts {
			add(exit, text, outputs[0])
		}
	}
	for _, values := range outputs[1:] {
		add(exits[0], "", values)
	}
	if ph.Kind == graph.Code {
		out = append(out, option{"timeout", Given{Timeout: true, Gates: gates}})
	}
	if len(ph.Gates) > 0 {
		out = append(out, option{"gates fail", Given{Exit: exits[0], Outputs: outputs[0], Gates: gatesOf(ph, "fail")}})
	}
	return capped(append(out, conflictOptions(ph, out[0].given)...))
}

// usualExits are an exit code that passes and one that does not.
func usualExits(codes []int, nonzero bool) []int {
	switch {
	case nonzero:
		return []int{1, 0}
	case len(codes) == 0:
		return []int{0, 1}
	}
	fail := 1
	for slices.Contains(codes, fail) {
		fail++
	}
	return append([]int{codes[0], fail}, codes[1:]...)
}

func usualOutputs(ph *graph.Phase) map[string]string {
	if len(ph.Outputs) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, o := range ph.Outputs {
		switch o.Type {
		case graph.ParamInt, graph.ParamNumber:
			out[o.Name] = "1"
		case graph.ParamBool:
			out[o.Name] = "true"
		default:
			out[o.Name] = "text"
		}
	}
	return out
}

func outputValues(ph *graph.Phase, r reading) []map[string]string {
	i := slices.IndexFunc(ph.Outputs, func(o graph.Output) bool { return o.Name == r.path })
	if i < 0 {
		return nil
	}
	var texts []string
	switch ph.Outputs[i].Type {
	case graph.ParamInt, graph.ParamNumber:
		for _, n := range append([]int{0}, r.numbers...) {
			texts = append(texts, strconv.Itoa(n), strconv.Itoa(n+1))
		}
	case graph.ParamBool:
		texts = []string{"true", "false"}
	default:
		texts = append([]string{""}, r.texts...)
	}
	var out []map[string]string
	for _, text := range texts {
		values := usualOutputs(ph)
		values[r.path] = text
		out = append(out, values)
	}
	return out
}

// maxOptions bounds the outcomes of one phase, so that a pipeline with many constants can be explored at all.
const maxOptions = 24

func capped(list []option) []option { return list[:min(len(list), maxOptions)] }

// settings are the values of what conditions read of the run itself.
func settings(g *graph.Graph, reads []reading) [][]setting {
	var out [][]setting
	request := []setting{{"", "do something"}}
	for _, r := range reads {
		if r.field == "request" {
			for _, text := range r.texts {
				request = append(request, setting{"", text})
			}
		}
	}
	if !g.NoRequest {
		out = append(out, request)
	}
	for i := range g.Params {
		out = append(out, paramSettings(&g.Params[i], reads))
	}
	return slices.DeleteFunc(out, func(list []setting) bool { return len(list) == 0 })
}

func paramSettings(p *graph.Param, reads []reading) []setting {
	var values []string
	if p.Has {
		values = append(values, p.Default)
	}
	switch p.Type {
	case graph.ParamBool:
		values = append(values, "true", "false")
	case graph.ParamChoice:
		values = append(values, p.Choices...)
	case graph.ParamInt:
		values = append(values, "1")
	case graph.ParamList:
		values = append(values, `["text"]`)
	default:
		values = append(values, "text")
	}
	read := false
	for _, r := range reads {
		if r.field != "params" || r.path != p.Name && r.path != "" {
			continue
		}
		read = true
		switch p.Type {
		case graph.ParamInt:
			for _, n := range r.numbers {
				values = append(values, strconv.Itoa(n), strconv.Itoa(n+1))
			}
		case graph.ParamString, graph.ParamText:
			values = append(values, r.texts...)
		}
	}
	if !read {
		values = values[:1]
	}
	var out []setting
	for _, v := range values {
		if s := (setting{p.Name, v}); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
