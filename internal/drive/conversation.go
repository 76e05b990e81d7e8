package drive

import (
	"context"
	"fmt"
	"sync"

	"foundry/graph"
	"foundry/internal/harness"
	"foundry/runner"
)

// This file has the conversations with agents: one for each agent in a run, which goes on from turn to turn, from
// phase to phase, and in another process where the agent can do that, and one for each item, and for each visit of a phase
// that wants it so. An agent whose conversation is gone is told everything anew.

// conversation names one.
type conversation struct {
	agent int           // whose session it is: an index into Graph.Agents
	phase graph.PhaseID // whose visit has it to itself, -1 when the run has it
	visit int
}

// conversation is the one that a turn belongs to.
func (d *driver) conversation(c runner.Command) conversation {
	of := conversation{agent: d.g().Agents[c.Agent].Session, phase: -1}
	if d.g().Phases[c.ID.Phase].OwnSession(c.Purpose.Reviews()) {
		of.phase, of.visit = c.ID.Phase, c.ID.Visit
	}
	return of
}

// agent is whom the conversation is with.
func (d *driver) agent(of conversation) *graph.Agent { return &d.g().Agents[of.agent] }

// has says whether an event of the log is about a conversation, or about an earlier visit's in its phase.
func (d *driver) has(of conversation, e *runner.Event) (yes bool) {
	if agent := d.agent(of); e.Agent != agent.Name || e.Item != agent.Lane {
		return false
	}
	phase := graph.PhaseID(-1)
	reviews := e.Purpose == runner.ForReview.String() || e.Purpose == runner.ForReviewAgain.String()
	if id, ok := d.g().Lookup(e.Phase); ok && d.g().Phases[id].OwnSession(reviews) {
		phase = id
	}
	return phase == of.phase
}

// takeTurns is held while a turn of a conversation goes on.
func (d *driver) takeTurns(of conversation) *sync.Mutex {
	d.sessionMu.Lock()
	defer d.sessionMu.Unlock()
	if d.talking[of] == nil {
		d.talking[of] = &sync.Mutex{}
	}
	return d.talking[of]
}

// session is where a conversation takes place; turns that an earlier process had are told to it, and those that
// earlier visits had of the same script.
func (d *driver) session(ctx context.Context, of conversation) (harness.Session, error) {
	d.sessionMu.Lock()
	defer d.sessionMu.Unlock()
	if s, ok := d.sessions[of]; ok {
		return s, nil
	}
	agent := d.agent(of)
	h, err := harness.Named(agent.Harness)
	if err != nil {
		return nil, err
	}
	served := 0
	for _, e := range d.Record.Events() {
		if e.Kind == runner.TurnEnded && d.has(of, &e) && e.Reply != nil && e.Reply.Stop != runner.StopLimit && e.Reply.Stop != runner.StopCancelled {
			served++
		}
	}
	s, err := h.Open(context.WithoutCancel(ctx), harness.Config{Agent: agent.Name, Argv: agent.Argv, Script: scriptOf(agent.Script), Model: agent.Model,
		RunID: d.Record.ID(), Turns: served, Dir: d.treeIn(of.phase, of.visit).Dir(),
		Session: d.lastSession(of), Asks: true, Allow: agent.Allow, Deny: agent.Deny})
	if err == nil {
		d.sessions[of] = s
	}
	return s, err
}

// lastSession is the id that a conversation has in the log; "" when none can be gone on with.
func (d *driver) lastSession(of conversation) string {
	id := ""
	for _, e := range d.Record.Events() {
		if (e.Kind == runner.TurnEnded || e.Kind == runner.SessionKnown) && e.Session != "" && d.has(of, &e) && (of.phase < 0 || e.Visit == of.visit) {
			id = e.Session
		}
	}
	return id
}

// remembers says whether an agent knows what was said to it before: in this process, or in one before it. An agent
// that has lost the conversation says so itself when its turn comes.
func (d *driver) remembers(of conversation) bool {
	info, _ := harness.Find(d.agent(of).Harness)
	d.sessionMu.Lock()
	here := d.heard[of]
	d.sessionMu.Unlock()
	return info.Remembers && (here || info.Resumes && d.lastSession(of) != "")
}

// hears notes whether a turn that has ended left a conversation behind that can be gone on with.
func (d *driver) hears(of conversation, r harness.Reply) {
	d.sessionMu.Lock()
	defer d.sessionMu.Unlock()
	if r.Stop == harness.End || r.Stop == harness.Truncated {
		d.heard[of] = true
	}
}

// sessionName is the directory of a conversation's own files.
func (d *driver) sessionName(of conversation) string {
	agent := d.agent(of)
	switch {
	case of.phase < 0 && agent.Lane != "":
		return agent.Name + "@" + runner.FileName(agent.Lane)
	case of.phase < 0:
		return agent.Name
	}
	return agent.Name + "." + fileName(d.g().Phases[of.phase].Name, of.visit, "")
}

// leave ends what visits had to themselves that are over: conversations, each of which may be a program at work, and
// worktrees. What programs leave behind is told when they are gone.
func (d *driver) leave() {
	over := func(of conversation) bool { return of.phase >= 0 && !d.state.UnderWay(of.phase, of.visit) }
	d.sessionMu.Lock()
	defer d.sessionMu.Unlock()
	closing := map[string][]func() []runner.Event{}
	for of, s := range d.sessions {
		if !over(of) {
			continue
		}
		delete(d.sessions, of)
		delete(d.talking, of)
		delete(d.heard, of)
		phase, agent := d.g().Phases[of.phase].Name, d.agent(of).Name
		visit := runner.Event{Phase: phase, Visit: of.visit}
		name := aside(phase, of.visit)
		closing[name] = append(closing[name], func() []runner.Event { return ends(s, visit, agent) })
	}
	for _, name := range d.asidesOver() {
		closing[name] = append(closing[name], func() []runner.Event {
			if err := d.takeDown(name); err != nil {
				return []runner.Event{{Kind: runner.Warned, Text: fmt.Sprintf("removing a worktree that is not needed any more: %v", err)}}
			}
			return nil
		})
	}
	for _, steps := range closing {
		d.workers.Go(func() {
			var notes []runner.Event
			for _, step := range steps {
				notes = append(notes, step()...)
			}
			if len(notes) > 0 {
				d.facts <- report{facts: notes}
			}
		})
	}
}

// ends closes a session, and says what it left behind.
func ends(s harness.Session, visit runner.Event, agent string) (notes []runner.Event) {
	left, err := s.Close()
	for _, text := range left {
		e := visit
		e.Kind, e.Text = runner.ProcessLeft, text
		notes = append(notes, e)
	}
	if err != nil {
		e := visit
		e.Kind, e.Text = runner.Warned, fmt.Sprintf("closing the session of agent %s: %v", agent, err)
		notes = append(notes, e)
	}
	return notes
}

// keepNotes logs what a worker that is waited for says of processes that it found; what else it has to say is about
// work that nobody asks for any more.
func (d *driver) keepNotes(r report) {
	for _, e := range r.facts {
		if e.Kind == runner.ProcessLeft && d.err == nil {
			d.err = d.append(e)
		}
	}
}
