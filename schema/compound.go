package schema

// Values that are more than a leaf and less than a section: lists and mappings of texts, scripts, exit codes,
// routes, and data of no fixed shape.

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"foundry/diag"
	"foundry/internal/lazyregexp"
)

// texts reads a list of texts.
func (d *decoder) texts(v value) Texts {
	if v.node.Kind != yaml.SequenceNode {
		if v.node.Kind == yaml.ScalarNode && !isNull(v.node) && v.node.Style&yaml.TaggedStyle == 0 {
			d.report(v.via, diag.WrongType, d.span(v), "%s takes a list of texts, not a text", v.label()).
				Hintf("write %s: [%s]", v.name, flowItem(v.node))
			t, ok := d.text(v)
			return Texts{Items: []Text{t}, Span: t.Span(), Set: ok, Unread: true} // as it was meant
		}
		d.wrongType(v, "a list of texts")
		return Texts{Unread: true}
	}
	out := Texts{Items: make([]Text, 0, len(v.node.Content)), Span: d.spanOf(v.node), Set: true}
	for _, item := range d.items(v) {
		t, ok := d.text(item)
		if !ok {
			out.Unread = true
			continue
		}
		out.Items = append(out.Items, t)
	}
	return out
}

// flowItem is a scalar as it can stand inside [ ].
func flowItem(n *yaml.Node) string {
	if n.Style == 0 && strings.Trim(n.Value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == "" {
		return n.Value
	}
	return quote(clip(n.Value))
}

// argv reads a list of words that are given to a program as they are.
func (d *decoder) argv(v value) Texts {
	if n := v.node; n.Kind == yaml.ScalarNode && n.Style == 0 && !isNull(n) && !strings.ContainsAny(n.Value, "\"'\\$`|&;<>*") {
		// The whole line as one word would be the name of a program.
		argv := strings.Fields(n.Value)
		for i := range argv {
			argv[i] = flowItem(&yaml.Node{Kind: yaml.ScalarNode, Value: argv[i]})
		}
		d.report(v.via, diag.WrongType, d.span(v), "%s takes a list of texts, not a text", v.label()).
			Hintf("write %s: [%s]", v.name, strings.Join(argv, ", "))
		return Texts{}
	}
	out := d.texts(v)
	if !out.Set || v.node.Kind != yaml.SequenceNode {
		return out
	}
	if len(v.node.Content) == 0 {
		d.report(v.via, diag.WrongType, d.span(v), "%s names no program", v.label()).Hintf(`write ["program", "argument"]`)
		return Texts{}
	}
	for _, item := range d.items(v) {
		n := item.node
		if n.Kind != yaml.ScalarNode {
			continue
		}
		if n.Style == 0 && (n.Value == "true" || n.Value == "false") {
			d.report(item.via, diag.WrongType, d.spanOf(n), "%s is a switch to YAML and not a text", n.Value).Hintf(`quote it: "%s"`, n.Value)
		}
		d.controls(item)
	}
	return out
}

// controls warns of an escape in double quotes that puts a control character into a command: the path "C:\table"
// holds a tab.
func (d *decoder) controls(v value) {
	n := v.node
	if n.Kind != yaml.ScalarNode || n.Style&yaml.DoubleQuotedStyle == 0 {
		return
	}
	f, _ := d.scalar(n)
	for i, c := range n.Value {
		if c >= 0x20 && c != 0x7f || c == '\n' {
			continue
		}
		at := f.Span(i, i+1)
		if written := at.Text(); strings.HasPrefix(written, `\`) {
			d.report(v.via, diag.ShellSyntax, at, "the escape %s puts a control character into the command", written).
				Hintf("use single quotes, in which a backslash is a backslash")
			return
		}
	}
}

// pairs reads a mapping of texts, such as env.
func (d *decoder) pairs(v value) Pairs {
	if v.node.Kind != yaml.MappingNode {
		if hint := assignments(v.node); hint != "" {
			d.report(v.via, diag.WrongType, d.span(v), "%s takes a mapping of texts, not a list", v.label()).Hintf("write %s: {%s}", v.name, hint)
			return Pairs{}
		}
		d.wrongType(v, "a mapping of texts")
		return Pairs{}
	}
	out := Pairs{Items: make([]Pair, 0, len(v.node.Content)/2), Span: d.spanOf(v.node), Set: true}
	for _, e := range d.entries(v) {
		if e.name == "" || strings.ContainsAny(e.name, "=\x00") {
			d.report(e.via, diag.BadID, d.spanOf(e.key), "%q is no name for a variable of the environment", e.name)
			continue
		}
		if isNull(e.node) {
			d.report(e.via, diag.WrongType, d.span(e.value), "%q has no value; %q takes texts", e.name, v.name).Hintf(`write %s: "" for an empty text`, e.name)
			continue
		}
		if t, ok := d.text(e.value); ok {
			out.Items = append(out.Items, Pair{d.keyText(e), t})
		}
	}
	return out
}

// assignments are the entries of a list of NAME=VALUE, which other tools have for an environment, as those of a mapping;
// "" for any other node.
func assignments(n *yaml.Node) string {
	var out []string
	for _, item := range n.Content {
		name, text, ok := strings.Cut(item.Value, "=")
		if n.Kind != yaml.SequenceNode || !ok || name == "" {
			return ""
		}
		out = append(out, name+": "+strconv.Quote(text))
	}
	return strings.Join(out, ", ")
}

// prose reads a text or {file: path}.
func (d *decoder) prose(v value) Prose {
	if v.node.Kind == yaml.MappingNode && !strings.HasPrefix(d.src.Text[d.properties(v.node).start:], "{{") {
		var p Prose
		decodeSection(d, d.lang.prose, v, &p)
		return p
	}
	t, ok := d.text(v)
	if !ok {
		return Prose{}
	}
	return Prose{Text: t}
}

// script reads what is started: a text for a shell, or a list as argv.
func (d *decoder) script(v value) Script {
	if v.node.Kind == yaml.SequenceNode {
		if v.node.Style&yaml.FlowStyle != 0 {
			if at := d.properties(v.node).start; strings.HasPrefix(d.src.Text[at:], "[ -") || strings.HasPrefix(d.src.Text[at:], "[[") {
				d.report(v.via, diag.YAMLFlow, d.place(at), "%s begins with [, which is a list to YAML", v.label()).Hintf("quote the command: %s", quote(d.restOfLine(at, v.node)))
				return Script{}
			}
		}
		return Script{Argv: d.argv(v)}
	}
	if v.node.Kind != yaml.ScalarNode || isNull(v.node) {
		d.wrongType(v, "a command: a text for a shell, or a list of words")
		return Script{}
	}
	t, ok := d.text(v)
	if !ok {
		return Script{}
	}
	if strings.TrimSpace(t.Value) == "" {
		d.report(v.via, diag.WrongType, d.span(v), "%s is empty; it takes a command", v.label())
		return Script{}
	}
	d.controls(v)
	if v.node.Style&yaml.FoldedStyle != 0 && d.folds(t) {
		d.report(v.via, diag.FoldedScript, d.place(d.properties(v.node).start), "> joins the lines of this script to one").Hintf("write | to keep the lines")
	}
	return Script{Shell: t}
}

// folds says whether a folded block joined two lines.
func (d *decoder) folds(t Text) bool {
	lines := 0
	for i, line := range strings.Split(t.Span().Text(), "\n") {
		if i > 0 && strings.TrimSpace(line) != "" {
			lines++
		}
	}
	return lines > len(strings.Split(strings.TrimSpace(t.Value), "\n"))
}

// exitCodes reads a list of codes or the word nonzero.
func (d *decoder) exitCodes(v value) ExitCodes {
	n := v.node
	if n.Kind == yaml.ScalarNode && n.Value == "nonzero" && n.Style&yaml.TaggedStyle == 0 {
		return ExitCodes{Nonzero: true, Span: d.span(v), Set: true}
	}
	if n.Kind == yaml.ScalarNode && plainDecimal(n.Value) && n.Style == 0 {
		d.report(v.via, diag.WrongType, d.span(v), "%s takes a list of whole numbers, or nonzero", v.label()).Hintf("write %s: [%s]", v.name, n.Value)
		return ExitCodes{}
	}
	if n.Kind != yaml.SequenceNode {
		const want = "a list of whole numbers, or nonzero"
		if n.Kind == yaml.ScalarNode && n.Style&yaml.TaggedStyle == 0 && diag.Suggest(n.Value, []string{"nonzero"}) != "" {
			d.report(v.via, diag.WrongType, d.span(v), "%s takes %s, not %q", v.label(), want, clip(n.Value)).Hintf("did you mean %q?", "nonzero")
		} else {
			d.wrongType(v, want)
		}
		return ExitCodes{}
	}
	out := ExitCodes{Span: d.spanOf(n), Set: true}
	for _, item := range d.items(v) {
		if i, ok := d.number(item, 0, 255); ok {
			out.Codes = append(out.Codes, i)
		}
	}
	if len(n.Content) == 0 {
		d.report(v.via, diag.WrongType, d.span(v), "%s is empty: no exit code would be a pass", v.label()).Hintf("write [0]")
		return ExitCodes{}
	}
	return out
}

// route reads the rules of a phase, each as a fragment of its own.
func (d *decoder) route(v value) Route {
	n := v.node
	switch {
	case n.Kind == yaml.SequenceNode:
		out := Route{Span: d.spanOf(n), Set: true}
		for _, item := range d.items(v) {
			if item.node.Kind != yaml.ScalarNode || isNull(item.node) {
				d.wrongType(item, "rules, each a text")
			} else if t, ok := d.text(item); ok {
				out.Rules = append(out.Rules, trimmed(t.Frag, 0, len(t.Value)))
			}
		}
		return out
	case n.Kind != yaml.ScalarNode || isNull(n):
		d.wrongType(v, "rules: a block text (|) with one rule a line, or a list")
		return Route{}
	}
	t, ok := d.text(v)
	if !ok {
		return Route{}
	}
	out := Route{Span: t.Span(), Set: true}
	if n.Style&yaml.FoldedStyle != 0 && d.folds(t) {
		d.report(v.via, diag.FoldedScript, d.place(d.properties(n).start), "> joins the rules to one line").Hintf("write | so that each line is a rule").As(diag.Error)
		return out
	}
	for from := 0; from < len(t.Value); {
		end := from + strings.IndexByte(t.Value[from:], '\n')
		if end < from {
			end = len(t.Value)
		}
		if f := trimmed(t.Frag, from, end); f.Text != "" && !strings.HasPrefix(f.Text, "//") {
			out.Rules = append(out.Rules, f)
		}
		from = end + 1
	}
	return out
}

func trimmed(f diag.Fragment, from, end int) diag.Fragment {
	for from < end && strings.IndexByte(" \t\n\r", f.Text[from]) >= 0 {
		from++
	}
	for from < end && strings.IndexByte(" \t\n\r", f.Text[end-1]) >= 0 {
		end--
	}
	return f.Slice(from, end)
}

// jsonNumber is the grammar of numbers that are numbers in data; all else that YAML 1.1 or 1.2 might take for
// one stays a text.
var jsonNumber = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// data reads a value of no fixed shape.
func (d *decoder) data(v value) Data {
	n := v.node
	switch n.Kind {
	case yaml.SequenceNode:
		list := make([]Data, 0, len(n.Content))
		for _, item := range d.items(v) {
			list = append(list, d.data(item))
		}
		return Data{Value: list, Span: d.spanOf(n), Set: true}
	case yaml.MappingNode:
		if strings.HasPrefix(d.src.Text[d.properties(n).start:], "{{") {
			d.braces(v, "a value")
			return Data{}
		}
		fields := make([]DataField, 0, len(n.Content)/2)
		for _, e := range d.entries(v) {
			fields = append(fields, DataField{d.keyText(e), d.data(e.value)})
		}
		return Data{Value: fields, Span: d.spanOf(n), Set: true}
	case gone:
		return Data{}
	}
	if d.tagged(v) {
		return Data{}
	}
	f, w := d.scalar(n)
	out := Data{Value: n.Value, Frag: f, Span: f.Whole(), Set: true}
	if out.Span.Start == out.Span.End && !v.at.IsZero() {
		out.Span = v.at
	}
	if n.Style != 0 {
		return out
	}
	d.cut(v, f, w)
	switch {
	case isNull(n):
		out.Value = nil
	case n.Value == "true" || n.Value == "false":
		out.Value = n.Value == "true"
	case plainDecimal(strings.TrimPrefix(n.Value, "-")):
		i, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil {
			d.report(v.via, diag.BadNumber, out.Span, "%s does not fit a whole number of 64 bits", clip(n.Value)).Hintf("quote it if it is a text")
			return Data{}
		}
		out.Value = i
	case jsonNumber().MatchString(n.Value):
		if x, err := strconv.ParseFloat(n.Value, 64); err == nil {
			out.Value = x
		}
	}
	return out
}
