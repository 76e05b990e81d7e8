package graph

import (
	"slices"
	"strings"

	"foundry/diag"
	"foundry/schema"
)

// This file lends the text forms of values to those who make up what a run is given.

// ReplyText is what an agent answers when a file gives data as its reply: a text as it is, anything else as JSON.
func ReplyText(d schema.Data) string { return reply(d) }

// ParamText is the text form of a param's value as a file gives it; false when it is of another type than the
// param.
func (p *Param) ParamText(d schema.Data) (string, bool) { return paramText(p.Type, d) }

// Scripted is the graph with the agents of its phases replaced by what a test gives for them, in the form that
// tests have: replies with the files that are written before them. What tests give beyond that (changes, gates,
// commands, answers) belongs to a made-up world and is left out: in a run those are real. A phase with an agent
// for which nothing is given is a finding, since it would reach a real agent.
func (g *Graph) Scripted(given []schema.Entries, at diag.Span) (*Graph, diag.List) {
	var found diag.List
	out := *g
	out.Phases, out.Agents = slices.Clone(g.Phases), slices.Clone(g.Agents)
	for i := range out.Phases {
		ph := &out.Phases[i]
		if ph.Work() != AgentWork {
			continue
		}
		list := givenFor(ph, given)
		if len(list) == 0 {
			found.Report(diag.MissingKey, at, "nothing is given for phase %q, which has an agent", ph.Name).
				Hintf("add %s: [{reply: …}] to given", ph.Name)
			continue
		}
		agent := out.Agents[ph.Agent]
		agent.Name += "." + ph.Name // one session a phase, as the entries are
		agent.Harness, agent.Argv, agent.Fallback, agent.Script = "script", nil, nil, nil
		for _, e := range list {
			if e.Stop.Set {
				found.Report(diag.NotBuilt, e.Stop.Span(), "a turn that ends with %q cannot be played in a run", e.Stop.Value).
					Hintf("give a reply; `foundry test` plays such turns")
				continue
			}
			turn := ScriptTurn{Item: e.item, Reply: ReplyText(e.Reply)}
			for _, f := range e.Files {
				turn.Files = append(turn.Files, ScriptFile{Path: f.Path.Value, Text: f.Text.Value, Delete: f.Delete})
			}
			agent.Script = append(agent.Script, turn)
			for e.Repeat.Value && len(agent.Script) < g.Bound.Turns {
				agent.Script = append(agent.Script, turn)
			}
		}
		ph.Agent = len(out.Agents)
		agent.Session = ph.Agent
		out.Agents = append(out.Agents, agent)
		if ph.Review != nil {
			out.scriptReviewer(ph, list, at, &found)
		}
	}
	return &out, found
}

// givenTurn is an entry of a test, with the key of the item that it is for.
type givenTurn struct {
	schema.Entry
	item string
}

// givenFor are the entries for a phase; of one that is repeated also those for its items.
func givenFor(ph *Phase, given []schema.Entries) []givenTurn {
	var out []givenTurn
	for _, of := range given {
		key, ok := "", of.Name.Value == ph.Name
		if rest, item := strings.CutPrefix(of.Name.Value, ph.Name+"["); item && ph.Each != nil {
			key, ok = strings.CutSuffix(rest, "]")
		}
		for _, e := range of.List {
			if ok {
				out = append(out, givenTurn{e, key})
			}
		}
	}
	return out
}

// scriptReviewer replaces the reviewer of a phase by what the entries of the phase give as its answers.
func (g *Graph) scriptReviewer(ph *Phase, list []givenTurn, at diag.Span, found *diag.List) {
	review := *ph.Review
	agent := g.Agents[review.Agent]
	agent.Name += "." + ph.Name + ".review"
	agent.Harness, agent.Argv, agent.Fallback, agent.Script = "script", nil, nil, nil
	for _, e := range list {
		if !e.Review.Set {
			continue
		}
		turn := ScriptTurn{Item: e.item, Reply: e.Review.Text()}
		agent.Script = append(agent.Script, turn)
		for e.Repeat.Value && len(agent.Script) < g.Bound.Turns {
			agent.Script = append(agent.Script, turn)
		}
		if e.Review.Verdict.Value == "unverified" { // it is asked once more
			agent.Script = append(agent.Script, turn)
		}
	}
	if len(agent.Script) == 0 {
		found.Report(diag.MissingKey, at, "nothing is given for the reviewer of phase %q", ph.Name).
			Hintf("add review: {verdict: pass, evidence: [PATH]} to its entries")
	}
	review.Agent = len(g.Agents)
	agent.Session = review.Agent
	g.Agents = append(g.Agents, agent)
	ph.Review = &review
}
