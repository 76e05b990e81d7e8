package graph

import (
	"slices"

	"foundry/diag"
	"foundry/schema"
)

// This file says which harness and which model an agent works with: what the file says, what is tried instead, and
// what `light` and `heavy` stand for.

// Try makes an agent run on another harness than the file says, without what it has for its own one: model, argv,
// script. An empty name means every agent that is not named itself. It must come before anything is compiled. It
// reports whether there is such an agent.
func (c *Catalogue) Try(agent, harness string) bool {
	if _, ok := c.agent(agent); agent != "" && !ok {
		return false
	}
	if c.other == nil {
		c.other = map[string]string{}
	}
	c.other[agent] = harness
	return true
}

// AgentNames are the names that Try knows: those of the file, then those that ship.
func (c *Catalogue) AgentNames() []string { return names(agentName, c.user.Agents, c.builtin.Agents) }

func (c *Catalogue) tried(agent string) (string, bool) {
	if h, ok := c.other[agent]; ok {
		return h, true
	}
	h, ok := c.other[""]
	return h, ok
}

// The words that mean one of an agent's models by the weight of the work.
const (
	light = "light"
	heavy = "heavy"
)

// phaseModel is the model that a phase names. A name is one for the harness that the file gives the phase's agent:
// on another it means nothing.
func (c *compiler) phaseModel(t schema.Text, def *agentDef) string {
	models := map[string]schema.Text{light: def.a.Models.Light, heavy: def.a.Models.Heavy}
	model, word := models[t.Value]
	switch {
	case word && !model.Set && !def.tried:
		c.list.Report(diag.MissingKey, t.Span(), "agent %q has no %s model", def.a.Name.Value, t.Value).
			Hintf("add models: {%s: NAME} to the agent, or to project", t.Value)
	case !word && def.tried:
		return ""
	}
	return t.Value
}

// Model is the model that an agent works with in a phase, "" for its own choice. The agent is the phase's, or one of its
// fallbacks: to one on another harness the name of a model means nothing, the words light and heavy do. A reviewer
// works with its own.
func (g *Graph) Model(phase PhaseID, agent int) string {
	ph, a := &g.Phases[phase], &g.Agents[agent]
	switch {
	case !slices.Contains(g.AndFallbacks(ph.Agent), agent):
		return a.Model
	case ph.Model == light && a.Light != "":
		return a.Light
	case ph.Model == heavy && a.Heavy != "":
		return a.Heavy
	case ph.Model != "" && ph.Model != light && ph.Model != heavy && a.Harness == g.Agents[ph.Agent].Harness:
		return ph.Model
	}
	return a.Model
}
