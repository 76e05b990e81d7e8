package lsp

// A view is a document as one request sees it: the outline of its text, the names in it, and the newest project
// that its text, or an earlier one that parsed, has made.

import (
	"strings"

	"foundry/graph"
	"foundry/schema"
)

type view struct {
	text  string
	root  *node
	names *names
	cat   *graph.Catalogue // never nil
	table *table
	words *Vocabulary
	top   string // the section of the whole file
	file  string // the name of the text's source
	stale bool   // the catalogue is that of an earlier text
}

// place is where an offset stands.
type place struct {
	want     want
	leaf     *node
	isKey    bool
	siblings *node // the mapping that the key is in
	inline   bool  // the value stands on the line of its key
	pipeline string
	phase    *node  // the mapping of the phase around it
	patched  string // the id of the phase, where it is patched
	test     *node  // of the test around it
}

// at finds the place of an offset, false when nothing is written there.
func (v *view) at(offset int) (place, bool) {
	way, leaf := find(v.root, offset)
	if leaf == nil {
		return place{}, false
	}
	p := place{want: want{section: v.top}, leaf: leaf}
	for _, s := range way {
		if s.in.shape == sequence {
			p.want = v.table.item(p.want)
			p.enter(s.in.items[s.index])
			continue
		}
		pair := s.in.pairs[s.index]
		if s.key {
			p.isKey, p.siblings = true, s.in
			break
		}
		name := valueOf(v.text, pair.key)
		p.want = v.table.entry(p.want, name)
		p.inline = pair.value != nil && !strings.Contains(v.text[pair.key.end:pair.value.start], "\n")
		if p.want.level == 1 {
			p.within(name, pair.value)
		}
	}
	if p.test != nil {
		p.pipeline = v.tested(p.test)
	}
	return p, true
}

// within notes the pipeline, or the patch of a phase, that an entry is.
func (p *place) within(name string, value *node) {
	switch p.want.section {
	case "pipeline":
		p.pipeline = name
	case "patch":
		p.patched, p.phase = name, value
	}
}

// enter notes the phase or test that an item is.
func (p *place) enter(item *node) {
	switch p.want.section {
	case "phase":
		p.phase = item
	case "test":
		p.test = item
	}
}

// tested is the pipeline that a test is about.
func (v *view) tested(test *node) string {
	if name := valueOf(v.text, test.get(v.text, "pipeline")); name != "" {
		return name
	}
	name, _ := v.cat.Default()
	return name
}

// phaseID is the id of the phase around a place, "" when it has none yet.
func (v *view) phaseID(p place) string {
	if p.patched != "" {
		return p.patched
	}
	return valueOf(v.text, p.phase.get(v.text, "id"))
}

// phaseName is a phase that may be named: a definition in the text, or one that only the catalogue knows.
type phaseName struct {
	name   string
	at     *node // nil when it is not in the text
	detour bool
	does   string // what it does, when it is not in the text
}

// phases are the phases of a pipeline in order, those of all pipelines when that is "".
func (v *view) phases(pipeline string) []phaseName {
	var out []phaseName
	if pipeline == "" {
		seen := map[string]bool{}
		for _, n := range v.cat.Names() {
			if n.Kind != graph.PipelineName || n.Name == "" {
				continue
			}
			for _, p := range v.phases(n.Name) {
				if !seen[p.name] {
					out = append(out, p)
				}
				seen[p.name] = true
			}
		}
		return out
	}
	for _, d := range v.names.phases[pipeline] {
		out = append(out, phaseName{name: d.name, at: d.value, detour: valueOf(v.text, d.value.get(v.text, "detour")) == "true"})
	}
	if len(out) > 0 {
		return out
	}
	known, _ := v.cat.Pipeline(pipeline)
	for i := range known.Phases {
		ph := &known.Phases[i]
		if ph.ID.Value == "" {
			continue
		}
		out = append(out, phaseName{name: ph.ID.Value, detour: ph.Detour.Value, does: phaseWork(ph)})
	}
	return out
}

// phaseWork says in a few words what a phase does.
func phaseWork(ph *schema.Phase) string {
	switch {
	case ph.Agent.Set:
		return "agent " + ph.Agent.Value
	case ph.Command.Set:
		return "command " + ph.Command.Value
	case ph.Run.Set():
		return "runs " + scriptText(ph.Run)
	case ph.Builtin.Set:
		return "builtin " + ph.Builtin.Value
	case ph.Ask.Set:
		return "asks a person"
	}
	return ""
}

func scriptText(s schema.Script) string {
	if s.Argv.Set {
		return strings.Join(s.Argv.Values(), " ")
	}
	return firstLine(s.Shell.Value)
}

// workAt is phaseWork of a phase in the text.
func (v *view) workAt(phase *node) string {
	for _, w := range []struct{ key, word string }{{"agent", "agent "}, {"command", "command "}, {"builtin", "builtin "}, {"call", "calls "}} {
		if name := valueOf(v.text, phase.get(v.text, w.key)); name != "" {
			return w.word + name
		}
	}
	if run := phase.get(v.text, "run"); run != nil {
		return "runs " + firstLine(strings.TrimSpace(v.scriptAt(run)))
	}
	if phase.get(v.text, "ask") != nil {
		return "asks a person"
	}
	return ""
}

// scriptAt is a script in the text: what is written, without quotes around it.
func (v *view) scriptAt(n *node) string {
	if n.shape == scalar {
		return valueOf(v.text, n)
	}
	var words []string
	for _, item := range n.items {
		words = append(words, valueOf(v.text, item))
	}
	return strings.Join(words, " ")
}

func firstLine(s string) string {
	line, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if more {
		line += " …"
	}
	return line
}
