package drive

import (
	"context"
	"sync"

	"foundry/internal/harness"
	"foundry/runner"
)

// This file has the conversations with agents: one for each agent in a run, which goes on from turn to turn, from
// phase to phase, and in another process where the agent can do that. An agent whose conversation is gone is told
// everything anew.

// takeTurns is held while a turn of an agent's session goes on.
func (d *driver) takeTurns(index int) *sync.Mutex {
	d.sessionMu.Lock()
	defer d.sessionMu.Unlock()
	index = d.Graph.Agents[index].Session
	if d.talking[index] == nil {
		d.talking[index] = &sync.Mutex{}
	}
	return d.talking[index]
}

// session is the agent's one session in this run, in whichever pipelines it works; turns that an earlier process had
// are told to it.
func (d *driver) session(ctx context.Context, index int) (harness.Session, error) {
	d.sessionMu.Lock()
	defer d.sessionMu.Unlock()
	index = d.Graph.Agents[index].Session
	if s, ok := d.sessions[index]; ok {
		return s, nil
	}
	agent := &d.Graph.Agents[index]
	h, err := harness.Named(agent.Harness)
	if err != nil {
		return nil, err
	}
	served := 0
	for _, e := range d.Record.Events() {
		if e.Kind == runner.TurnEnded && e.Agent == agent.Name && e.Reply != nil && e.Reply.Stop != runner.StopLimit && e.Reply.Stop != runner.StopCancelled {
			served++
		}
	}
	s, err := h.Open(context.WithoutCancel(ctx), harness.Config{Agent: agent.Name, Argv: agent.Argv, Script: scriptOf(agent.Script), Model: agent.Model,
		RunID: d.Record.ID(), Turns: served, Dir: d.Tree.Dir(),
		Session: d.lastSession(agent.Name), Asks: true, Allow: agent.Allow, Deny: agent.Deny})
	if err == nil {
		d.sessions[index] = s
	}
	return s, err
}

// lastSession is the id that the agent's conversation has in the log; "" when none can be gone on with.
func (d *driver) lastSession(agent string) string {
	id := ""
	for _, e := range d.Record.Events() {
		if (e.Kind == runner.TurnEnded || e.Kind == runner.SessionKnown) && e.Agent == agent && e.Session != "" {
			id = e.Session
		}
	}
	return id
}

// remembers says whether an agent knows what was said to it before: in this process, or in one before it. An agent
// that has lost the conversation says so itself when its turn comes.
func (d *driver) remembers(index int) bool {
	index = d.Graph.Agents[index].Session
	agent := &d.Graph.Agents[index]
	info, _ := harness.Find(agent.Harness)
	d.sessionMu.Lock()
	here := d.heard[index]
	d.sessionMu.Unlock()
	return info.Remembers && (here || info.Resumes && d.lastSession(agent.Name) != "")
}

// hears notes whether a turn that has ended left a conversation behind that can be gone on with.
func (d *driver) hears(index int, r harness.Reply) {
	d.sessionMu.Lock()
	defer d.sessionMu.Unlock()
	if r.Stop == harness.End || r.Stop == harness.Truncated {
		d.heard[d.Graph.Agents[index].Session] = true
	}
}
