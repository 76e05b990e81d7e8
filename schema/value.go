package schema

// A value on its way from the tree to the document: which key it stands under, and through which aliases it
// was reached. Here is also how a value of the wrong shape is described, with the ways in which YAML turns an
// innocent text into something else.

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"foundry/diag"
)

// via is an alias that led to a value, and the one that led to that.
type via struct {
	alias *yaml.Node
	up    *via
}

type value struct {
	node *yaml.Node // never an alias
	name string     // how messages call it: a key, or "an item of needs"
	at   diag.Span  // of its key; where to point when the value itself has no text
	via  *via
	code bool // a command, whatever its key is called
	item bool // an entry of the list that the key holds
}

// label is what a message calls the value.
func (v value) label() string {
	if v.item {
		return "an entry of " + strconv.Quote(v.name)
	}
	return strconv.Quote(v.name)
}

// value makes a value of a node, following its alias.
func (d *decoder) value(n *yaml.Node, name string, at diag.Span, through *via) value {
	for n.Kind == yaml.AliasNode {
		through = &via{n, through}
		n = n.Alias
	}
	return value{node: n, name: name, at: at, via: through}
}

// items are the entries of a sequence.
func (d *decoder) items(v value) []value {
	out := make([]value, len(v.node.Content))
	for i, n := range v.node.Content {
		out[i] = d.value(n, v.name, diag.Span{}, v.via)
		out[i].item = true
	}
	return out
}

// entry is one key of a mapping, merged ones included.
type entry struct {
	name string
	key  *yaml.Node
	value
}

// mistyped says that the name is what was meant by another word.
func (e *entry) mistyped() bool { return e.key.Value != e.name }

// entries are the keys of a mapping in file order; what a merge key (<<) brings in stands where the merge key
// does and loses against the mapping's own keys, a later merged mapping against an earlier one.
func (d *decoder) entries(v value) []entry {
	out := d.room(len(v.node.Content) / 2)
	merges := false
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		k := v.node.Content[i]
		if k.Kind == yaml.ScalarNode && k.Tag == "!!merge" {
			merges = true
			out = append(out, entry{key: k, value: d.value(v.node.Content[i+1], "<<", d.spanOf(k), v.via)})
			continue
		}
		if e, ok := d.entry(k, v.node.Content[i+1], v); ok {
			out = append(out, e)
		}
	}
	if !merges {
		return out
	}
	known := map[string]bool{}
	for _, e := range out {
		if e.key.Tag != "!!merge" {
			known[e.name] = true
		}
	}
	var all []entry
	for _, e := range out {
		if e.key.Tag != "!!merge" {
			all = append(all, e)
			continue
		}
		for _, m := range d.merged(e.value) {
			if !known[m.name] {
				known[m.name] = true
				all = append(all, m)
			}
		}
	}
	return all
}

// room is a slice for n entries. Those of a list's items share one array, item after item: listOf takes back what an
// item was given, and nobody keeps entries beyond it.
func (d *decoder) room(n int) []entry {
	at := len(d.spare)
	if cap(d.spare)-at < n {
		d.spare, at = make([]entry, 0, max(n, 128)), 0
	}
	d.spare = d.spare[:at+n]
	return d.spare[at : at : at+n]
}

// merged are the entries of what stands behind a merge key: a mapping or a list of mappings.
func (d *decoder) merged(v value) []entry {
	sources := []value{v}
	if v.node.Kind == yaml.SequenceNode {
		sources = d.items(v)
	}
	var out []entry
	for _, s := range sources {
		switch s.node.Kind {
		case yaml.MappingNode:
			out = append(out, d.entries(s)...)
		case gone:
		default:
			d.wrongType(s, "the alias of a mapping, or a list of them")
		}
	}
	return out
}

// entry checks a key, which must be a plain word or a quoted text.
func (d *decoder) entry(k, val *yaml.Node, v value) (entry, bool) {
	through := v.via
	for k.Kind == yaml.AliasNode {
		through = &via{k, through}
		k = k.Alias
	}
	switch {
	case k.Kind == gone:
		return entry{}, false
	case k.Kind != yaml.ScalarNode:
		if at := d.properties(k).start; strings.HasPrefix(d.src.Text[at:], "{{") {
			d.braces(value{node: k, name: v.name, at: v.at, via: through}, "a key")
		} else {
			d.report(through, diag.WrongType, d.opening(k), "a key is a word, not a %s", shape(k))
		}
		return entry{}, false
	case d.tagged(value{node: k, name: v.name, at: v.at, via: through}):
		return entry{}, false
	case isNull(k) && k.Value == "":
		d.report(through, diag.WrongType, d.keyPlace(k, val), "a key is missing before the colon")
		return entry{}, false
	}
	return entry{k.Value, k, d.value(val, k.Value, d.spanOf(k), v.via)}, true
}

func (d *decoder) keyPlace(k, val *yaml.Node) diag.Span {
	if val.Kind == yaml.ScalarNode && val.Value != "" {
		return d.spanOf(val)
	}
	return d.place(d.index.offset(k.Line, k.Column))
}

// span is where a finding about a value points: at its own text, or at its key when it has none.
func (d *decoder) span(v value) diag.Span {
	s := d.spanOf(v.node)
	if s.Start == s.End && !v.at.IsZero() {
		return v.at
	}
	return s
}

// opening is the smallest place that stands for a mapping: its first key, or its bracket.
func (d *decoder) opening(n *yaml.Node) diag.Span {
	if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0 && n.Content[0].Kind == yaml.ScalarNode {
		return d.spanOf(n.Content[0])
	}
	if n.Kind == yaml.ScalarNode {
		return d.spanOf(n)
	}
	return d.place(d.properties(n).start)
}

// coreTags are the tags that may be written out, since they say what is so anyway.
var coreTags = []string{"!!str", "!!map", "!!seq", "!!int", "!!bool", "!!float", "!!null", "!!merge"}

// tagged reports a value that carries a tag.
func (d *decoder) tagged(v value) bool {
	n := v.node
	if n.Style&yaml.TaggedStyle != 0 {
		if slices.Contains(coreTags[:3], n.Tag) {
			return false
		}
	} else if at := d.index.offset(n.Line, n.Column); at >= len(d.src.Text) || d.src.Text[at] != '!' {
		return false // a lone ! is not in the tree, only in the text
	}
	tag := d.properties(n).tag
	if tag.IsZero() {
		tag = d.place(d.index.offset(n.Line, n.Column))
	}
	rest := d.restOfLine(tag.Start, n)
	if before := strings.TrimRight(d.src.Text[:tag.Start], " \t\r\n"); v.item && strings.HasSuffix(before, "[") || v.item && strings.HasSuffix(before, ",") || strings.HasSuffix(tag.Text(), ",") {
		if text, _, comma := strings.Cut(tag.Text(), ","); comma { // YAML takes the comma, and what follows it, for a part of the tag
			tag.End, rest = tag.Start+len(text), text
		}
	}
	found := d.report(v.via, diag.YAMLTag, tag, "%s is a tag to YAML and not part of the text", tag.Text())
	switch {
	case n.Style&yaml.TaggedStyle != 0 && slices.Contains(coreTags, n.Tag):
		found.Hintf("write the value without the tag")
	case v.name == "writes":
		found.Hintf("remove it, and name %s under protect: patterns have no exceptions", strings.TrimPrefix(rest, "!"))
	case v.name == "protect":
		found.Hintf("remove it: what protect names has no exceptions")
	case v.name == "when" || v.name == "accept" || v.name == "expr":
		found.Hintf("write %s: %s, or quote it: %s", v.name, "not "+strings.TrimLeft(rest, "! "), quote(rest))
	default:
		found.Hintf("quote the text: %s", quote(rest))
	}
	return true
}

// behindTag is the text of a condition that begins with !, which was reported: it is known what it says, and what
// else is wrong with it can be told.
func (d *decoder) behindTag(v value) (Text, bool) {
	tag := d.properties(v.node).tag
	if tag.IsZero() || v.name != "when" && v.name != "accept" || slices.Contains(coreTags, v.node.Tag) {
		return Text{}, false
	}
	text := d.restOfLine(tag.Start, v.node)
	if strings.HasSuffix(tag.Text(), ",") {
		text = strings.TrimSuffix(tag.Text(), ",")
	}
	span := diag.Span{Source: d.src, Start: tag.Start, End: tag.Start + len(text)}
	return Text{Value: text, Frag: diag.NewVerbatim(text, span, tag.Start), Set: true}, true
}

// restOfLine is what a person most likely meant as the value: the line from an offset on, or up to the next
// comma or bracket inside a flow collection.
func (d *decoder) restOfLine(from int, n *yaml.Node) string {
	s := d.src.Text
	to := from
	for to < len(s) && breakLen(s, to) == 0 {
		to++
	}
	text := s[from:to]
	if end := d.properties(n).end; end > from && n.Value == "" && end <= to && strings.TrimSpace(s[end:to]) != "" && strings.ContainsRune(",]}", rune(strings.TrimSpace(s[end:to])[0])) {
		text = s[from:end]
	}
	if i := strings.Index(text, " #"); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSpace(text)
}

// quote writes a text so that YAML takes it as it is.
func quote(s string) string {
	switch {
	case !strings.Contains(s, "'"):
		return "'" + s + "'"
	case !strings.ContainsAny(s, `"\`):
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// wrongType reports a value of another shape than wanted, once, with the reason where YAML's own rules are it.
func (d *decoder) wrongType(v value, want string) {
	n := v.node
	switch {
	case n.Kind == gone:
	case d.tagged(v):
	case n.Kind == yaml.MappingNode:
		d.braces(v, want)
	case n.Kind == yaml.SequenceNode:
		found := d.report(v.via, diag.WrongType, d.span(v), "%s takes %s, not a list", v.label(), want)
		switch behind, _, _ := strings.Cut(d.src.Text[d.end(n):], "\n"); {
		case n.Style&yaml.FlowStyle != 0 && strings.Trim(behind, " \t\r") != "" && !strings.ContainsRune(",]}#", rune(strings.TrimLeft(behind, " \t")[0])):
			found.Hintf("a value that begins with [ is a list; quote the text: %s", quote(d.restOfLine(d.properties(n).start, n)))
		case strings.HasPrefix(want, "a mapping"):
			found.Hintf("write its keys and values on the lines below, or in { }")
		case len(n.Content) == 1 && n.Content[0].Kind == yaml.ScalarNode && !v.item:
			found.Hintf("write %s: %s", v.name, d.spanOf(n.Content[0]).Text())
		}
	case isNull(n):
		d.report(v.via, diag.WrongType, d.span(v), "%s has no value; it takes %s", v.label(), want).
			Hintf("write the value, or remove the line")
	default:
		found := d.report(v.via, diag.WrongType, d.span(v), "%s takes %s, not %q", v.label(), want, clip(n.Value))
		switch {
		case v.item:
		case strings.HasPrefix(want, "a list"):
			found.Hintf("write %s: [%s]", v.name, flowItem(n))
		case strings.HasPrefix(want, "a mapping"):
			found.Hintf("write its keys and values on the lines below, or in { }")
		}
	}
}

// braces reports a mapping where something else was wanted: template braces, a text with a colon in it, or
// just a mapping.
func (d *decoder) braces(v value, want string) {
	n := v.node
	at := d.properties(n).start
	if n.Style&yaml.FlowStyle != 0 && strings.HasPrefix(d.src.Text[at:], "{{") {
		rest := d.src.Text[at:d.end(n)]
		d.report(v.via, diag.YAMLBraces, diag.Span{Source: d.src, Start: at, End: at + 2}, "%s begins with {{, which is a mapping to YAML", v.label()).
			Hintf("quote the text: %s", quote(rest))
		return
	}
	if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) == 2 && n.Content[0].Kind == yaml.ScalarNode {
		key := d.spanOf(n.Content[0])
		line := d.restOfLine(key.Start, n)
		if strings.ContainsAny(n.Content[0].Value, " ()<>=") || strings.HasPrefix(n.Content[0].Value, "on ") {
			colon := diag.Span{Source: d.src, Start: key.End, End: min(key.End+1, len(d.src.Text))}
			d.report(v.via, diag.YAMLColon, colon, "the colon made a mapping of this text").
				Hintf("quote the text: %s", quote(line))
			return
		}
	}
	d.report(v.via, diag.WrongType, d.opening(n), "%s takes %s, not a %s", v.label(), want, shape(n))
}

func shape(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "list"
	}
	return "text"
}

func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}
