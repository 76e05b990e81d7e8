package runner

import (
	"fmt"
	"slices"
	"strings"

	"foundry/graph"
)

// This file has what becomes of a turn that was stopped because an agent asked for a permission and nobody was there to
// be asked. What the agent did so far is looked at as after any turn; then the phase holds the workspace and waits. A
// person's word counts for this visit and this request, and the agent is told of it in a turn of its own.

// Permission is a request that waits for a person.
type Permission struct {
	Turn  int // of the visit, which was stopped for it
	Agent string
	Tool  Tool
	Text  string // the question

	review bool // the agent is the phase's reviewer
}

// permit is what a person said to a request in this visit.
type permit struct {
	agent string
	tool  Tool
	allow bool
	note  string
}

// Same says whether two uses of a tool are one request: the same kind of tool for the same command or files. Of tools that
// tell neither it is the name.
func (t Tool) Same(o Tool) bool {
	bare := t.Command == "" && len(t.Paths) == 0
	return t.Kind == o.Kind && t.Command == o.Command && t.Whole == o.Whole && slices.Equal(t.Paths, o.Paths) && (!bare || t.Name == o.Name)
}

// Permitted says what a person answered to a request of an agent earlier in the phase's visit; known is false when nobody
// did.
func (s State) Permitted(p graph.PhaseID, agent string, t Tool) (allow bool, note string, known bool) {
	for _, was := range s.phases[p].work.permits {
		if was.agent == agent && was.tool.Same(t) {
			allow, note, known = was.allow, was.note, true // the newest
		}
	}
	return allow, note, known
}

// Asked is the request of a phase that waits for a permission.
func (s State) Asked(p graph.PhaseID) (Permission, bool) {
	if ph := s.phases[p]; ph.wantsPermission() {
		return *ph.work.asked, true
	}
	return Permission{}, false
}

func (ph *phase) wantsPermission() bool {
	return ph.status == Running && ph.work.step == stepPermission
}

// asks says whether a person is asked about the phase: by it, or by its agent.
func (ph *phase) asks() bool { return ph.status == Waiting || ph.wantsPermission() }

// stoppedForPermission takes the end of a turn that was stopped for a request. First what it changed is looked at.
func (m *machine) stoppedForPermission(p graph.PhaseID, e Event) {
	w := &m.edit(p).work
	w.asked = &Permission{Turn: e.Turn, Agent: e.Agent, Text: e.Text, review: w.step == stepReview}
	if e.Tool != nil {
		w.asked.Tool = *e.Tool
	}
	if w.asked.review {
		w.review.answer, w.review.problems, w.review.lost, w.step = nil, nil, "", stepVerdict
		return
	}
	w.envelope, w.verdicts, w.step = nil, nil, stepBoundary
}

// askPermission puts the request to a person.
func (m *machine) askPermission(p graph.PhaseID) {
	w := &m.edit(p).work
	w.step = stepPermission
	e := m.at(p, AskRaised)
	e.Turn, e.Agent, e.Text, e.Tool, e.Tree = w.asked.Turn, w.asked.Agent, w.asked.Text, &w.asked.Tool, w.tree
	m.record(e)
}

// permissionAnswered takes a person's word on a request. One that was given while the turn went on has been passed on to
// the agent already.
func (m *machine) permissionAnswered(p graph.PhaseID, e Event) {
	if p >= 0 && m.s.phases[p].status == Running && m.s.phases[p].work.step == stepTurn && m.s.phases[p].visits == e.Visit {
		return
	}
	if p < 0 || !m.s.phases[p].wantsPermission() || m.s.phases[p].visits != e.Visit || m.s.phases[p].work.turn != e.Turn {
		m.warn(p, "an answer to a request that is not open was ignored")
		return
	}
	w := &m.edit(p).work
	w.permits = append(slices.Clone(w.permits), permit{w.asked.Agent, w.asked.Tool, e.Answer == "approve", e.Text})
	if m.s.status == RunWaiting {
		m.s.status = RunRunning
	}
	if w.asked.review {
		m.sendTurn(p, ForReviewPermission, nil)
		return
	}
	m.sendTurn(p, ForPermission, nil)
}

// idles says that a visit waits: for a permission, for a usage limit to end, or for its turn.
func (ph *phase) idles() bool {
	return ph.status == Running && (ph.work.step == stepPermission || ph.work.step == stepDue || ph.work.limited)
}

// endIdle stops a phase that waits, and whose run, call or place is taken away. It says whether there was one.
func (m *machine) endIdle() bool {
	for _, set := range []graph.Set{m.s.running, m.s.due} {
		for p := range set.All {
			if !m.s.phases[p].idles() || !m.cutOff(p) {
				continue
			}
			if m.s.phases[p].wantsPermission() {
				m.record(m.at(p, AskWithdrawn))
			}
			m.edit(p).work.limited = false
			m.finishWork(p)
			return true
		}
	}
	return false
}

// waits: when all that still runs waits for a permission, so does the run.
func (m *machine) waits() {
	if m.s.running.Empty() || m.s.status != RunRunning {
		return
	}
	for p := range m.s.running.All {
		if !m.s.phases[p].wantsPermission() {
			return
		}
	}
	m.s.status = RunWaiting
}

// permissionTexts tell an agent what a person said to its requests in this visit: to the last one, or to all when it
// does not remember.
func permissionTexts(wk *work, agent string, remembers bool) []string {
	list := slices.DeleteFunc(slices.Clone(wk.permits), func(a permit) bool { return a.agent != agent })
	if remembers && len(list) > 1 {
		list = list[len(list)-1:]
	}
	var parts []string
	for _, a := range list {
		word, then := "permitted", "Go on where you stopped, and use it; should you have to ask for it again, you have it."
		if !a.allow {
			word, then = "refused", "Go on without it."
		}
		text := fmt.Sprintf("Your turn was stopped when you asked for permission, since nobody was there to be asked: %s. What you had done by then is still there. A person has %s it", a.tool.what(), word)
		if a.note != "" {
			text += ": " + strings.TrimSpace(a.note) + "\n\n"
		} else {
			text += ". "
		}
		parts = append(parts, text+then)
	}
	return parts
}

// what is a use of a tool in a few words.
func (t Tool) what() string {
	switch {
	case t.Command != "":
		return t.Name + " " + t.Command
	case len(t.Paths) > 0:
		return t.Name + " " + strings.Join(t.Paths, ", ")
	}
	return t.Name
}
