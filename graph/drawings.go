package graph

import (
	"fmt"
	"strings"

	"foundry/dsl"
)

// This file draws a graph for programs that lay graphs out: Mermaid and Graphviz. A solid line is an order, a
// dashed one a jump, a thick one leads into a call.

// edge is a rule drawn as a line; rules between the same ends are one line.
type edge struct {
	from, to string
	labels   []string
	back     bool
}

// edges are the rules that lead somewhere, in order.
func (g *Graph) edges() []*edge {
	var out []*edge
	seen := map[[2]string]*edge{}
	for i := range g.Rules {
		r := &g.Rules[i]
		if r.Action == dsl.Next {
			continue
		}
		from, to := g.Phases[r.Phase].Name, r.Action.String()
		label := r.Trigger.String()
		if r.When != nil {
			label += " when " + clip(oneLine(r.When.Text()), 40)
		}
		switch owner := g.Phases[r.Phase].Owner; {
		case r.Action == dsl.Goto:
			to = g.Phases[r.Target].Name
		case owner >= 0: // it ends the call, not the run
			label += ": " + to
			to = g.Phases[owner].Name
		}
		if r.Retry > 0 {
			label += fmt.Sprintf(" (%d)", r.Retry)
		}
		key := [2]string{from, to}
		e, ok := seen[key]
		if !ok {
			e = &edge{from: from, to: to, back: r.Way == Back || r.Way == Self}
			seen[key] = e
			out = append(out, e)
		}
		e.labels = append(e.labels, label)
	}
	return out
}

// often is how many visits a phase has at most, and how many items each of them.
func (g *Graph) often(ph *Phase) string {
	out := visits(g.Bound.Visits[ph.ID])
	if ph.Each != nil {
		out += ", up to " + count(ph.Each.Limit, "item") + " each"
	}
	return out
}

// ends are the pseudo phases that rules lead to.
func ends(edges []*edge) []string {
	var out []string
	for _, word := range []string{"finish", "abort"} {
		for _, e := range edges {
			if e.to == word {
				out = append(out, word)
				break
			}
		}
	}
	return out
}

// Mermaid is the graph as a Mermaid flowchart.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i := range g.Phases {
		ph := &g.Phases[i]
		open, shut := `["`, `"]`
		switch {
		case ph.Detour:
			open, shut = `(["`, `"])`
		case ph.Kind == Ask:
			open, shut = `{{"`, `"}}`
		}
		fmt.Fprintf(&b, "  %s%s%s<br/>%s<br/>%s%s\n", mermaidID(ph.Name), open, ph.Name, mermaidText(clip(oneLine(g.What(ph.ID)), 40)), g.often(ph), shut)
	}
	edges := g.edges()
	for _, word := range ends(edges) {
		fmt.Fprintf(&b, "  %s((%s))\n", mermaidID(word), word)
	}
	for i := range g.Phases {
		for _, n := range g.Phases[i].Needs {
			fmt.Fprintf(&b, "  %s --> %s\n", mermaidID(g.Phases[n].Name), mermaidID(g.Phases[i].Name))
		}
		if g.enters(PhaseID(i)) {
			fmt.Fprintf(&b, "  %s ==> %s\n", mermaidID(g.Phases[g.Phases[i].Owner].Name), mermaidID(g.Phases[i].Name))
		}
	}
	for _, e := range edges {
		fmt.Fprintf(&b, "  %s -. \"%s\" .-> %s\n", mermaidID(e.from), mermaidText(strings.Join(e.labels, "; ")), mermaidID(e.to))
	}
	return b.String()
}

// mermaidID is a name as Mermaid takes it. A slash becomes a dot, which no name has.
func mermaidID(name string) string { return "p_" + strings.ReplaceAll(name, "/", ".") }

// enters says that a call begins with a phase: it belongs to one and waits for nothing in it.
func (g *Graph) enters(p PhaseID) bool {
	ph := &g.Phases[p]
	return ph.Owner >= 0 && !ph.Detour && len(ph.Needs) == 0
}

// mermaidText writes what Mermaid would read as markup as entities.
func mermaidText(s string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;", ";", "#59;").Replace(s)
}

// DOT is the graph in the language of Graphviz.
func (g *Graph) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  node [shape=box];\n", dotText(g.Pipeline))
	for i := range g.Phases {
		ph := &g.Phases[i]
		shape := ""
		switch {
		case ph.Detour:
			shape = ", style=rounded"
		case ph.Kind == Ask:
			shape = ", shape=hexagon"
		}
		label := ph.Name + "\n" + clip(oneLine(g.What(ph.ID)), 40) + "\n" + g.often(ph)
		fmt.Fprintf(&b, "  %s [label=%s%s];\n", dotText(ph.Name), dotText(label), shape)
	}
	edges := g.edges()
	for _, word := range ends(edges) {
		fmt.Fprintf(&b, "  %s [shape=circle];\n", dotText(word))
	}
	for i := range g.Phases {
		for _, n := range g.Phases[i].Needs {
			fmt.Fprintf(&b, "  %s -> %s;\n", dotText(g.Phases[n].Name), dotText(g.Phases[i].Name))
		}
		if g.enters(PhaseID(i)) {
			fmt.Fprintf(&b, "  %s -> %s [style=bold];\n", dotText(g.Phases[g.Phases[i].Owner].Name), dotText(g.Phases[i].Name))
		}
	}
	for _, e := range edges {
		hold := ""
		if e.back {
			hold = ", constraint=false"
		}
		fmt.Fprintf(&b, "  %s -> %s [style=dashed, label=%s%s];\n", dotText(e.from), dotText(e.to), dotText(strings.Join(e.labels, "\n")), hold)
	}
	b.WriteString("}\n")
	return b.String()
}

// dotText is a quoted string of DOT: a backslash stays one, a line break is \n.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", "").Replace(s) + `"`
}
