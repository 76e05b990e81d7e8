package lsp

// The names that a text defines, read from its outline, so that they are found in a text that does not parse, at
// the place where they stand now.

import (
	"slices"

	"foundry/graph"
)

// definition is a name with what it stands for, as nodes of the outline.
type definition struct {
	name  string
	key   *node // of a phase: the value of its id
	value *node
}

// names are the definitions of a text.
type names struct {
	text   string
	byKind map[graph.NameKind][]definition
	phases map[string][]definition // by pipeline, in order
}

// sections are the keys at the top of a file that hold definitions.
var sections = []struct {
	key  string
	kind graph.NameKind
}{
	{"pipelines", graph.PipelineName}, {"agents", graph.AgentName}, {"gates", graph.GateName},
	{"commands", graph.CommandName}, {"envelopes", graph.EnvelopeName},
}

func namesOf(text string, root *node) *names {
	n := &names{text: text, byKind: map[graph.NameKind][]definition{}, phases: map[string][]definition{}}
	for _, s := range sections {
		section := root.get(text, s.key)
		if section == nil || section.shape != mapping {
			continue
		}
		for _, p := range section.pairs {
			if name := valueOf(text, p.key); p.colon && name != "" {
				n.byKind[s.kind] = append(n.byKind[s.kind], definition{name, p.key, p.value})
			}
		}
	}
	for _, p := range n.byKind[graph.PipelineName] {
		list := p.value.get(text, "phases")
		if list == nil {
			continue
		}
		for _, item := range list.items {
			id := item.get(text, "id")
			if name := valueOf(text, id); name != "" {
				n.phases[p.name] = append(n.phases[p.name], definition{name, id, item})
			}
		}
	}
	return n
}

// find is the definition of a name, false when the text has none.
func (n *names) find(kind graph.NameKind, name string) (definition, bool) {
	return named(n.byKind[kind], name)
}

// phase is a phase of a pipeline, or of any pipeline when that is "". A pipeline that has no phases of its own has
// those of the pipeline that it extends.
func (n *names) phase(pipeline, id string) []definition {
	if pipeline == "" {
		var out []definition
		for _, p := range n.byKind[graph.PipelineName] {
			if d, ok := named(n.phases[p.name], id); ok {
				out = append(out, d)
			}
		}
		return out
	}
	for range len(n.byKind[graph.PipelineName]) { // a circle ends, too
		if d, ok := named(n.phases[pipeline], id); ok {
			return []definition{d}
		}
		p, ok := n.find(graph.PipelineName, pipeline)
		if !ok {
			return nil
		}
		pipeline = valueOf(n.text, p.value.get(n.text, "extends"))
	}
	return nil
}

func named(list []definition, name string) (definition, bool) {
	i := slices.IndexFunc(list, func(d definition) bool { return d.name == name })
	if i < 0 {
		return definition{}, false
	}
	return list[i], true
}
