package runner

import (
	"time"

	"foundry/graph"
)

// View is a run as it stands, for those who show or drive it.
type View struct {
	Info    *RunInfo
	Status  RunStatus
	Reason  string // a word, such as spent or budget:turns
	Text    string // the detail
	Turns   int
	Tokens  int
	Cost    float64
	Unknown bool // a turn did not tell its cost
	Tree    string
	ResetAt time.Time
	Ended   bool
}

// View says where the run stands.
func (s State) View() View {
	return View{Info: s.info, Status: s.status, Reason: s.reason, Text: s.text, Turns: s.turns, Tokens: s.tokens, Cost: s.cost,
		Unknown: s.unknown, Tree: s.tree, ResetAt: s.resetAt, Ended: s.stage == stageEnded}
}

// PhaseView is a phase as it stands.
type PhaseView struct {
	Status  Status
	Visits  int
	Attempt int
	Reason  string
	Text    string
	Given   string // the feedback of the current visit
	Tree    string // before the current visit
	Agent   int    // the agent at work, a fallback perhaps
}

// Phase says where a phase stands.
func (s State) Phase(p graph.PhaseID) PhaseView {
	ph := s.phases[p]
	v := PhaseView{Status: ph.status, Visits: ph.visits, Attempt: ph.work.attempt, Given: ph.work.given, Tree: ph.work.startTree, Agent: ph.work.worker()}
	if ph.result != nil {
		v.Reason, v.Text = ph.result.reason, ph.result.text
	}
	return v
}

// Open are the phases about which a person is asked, in list order: ask phases, and agents that want a permission.
func (s State) Open() []graph.PhaseID {
	var out []graph.PhaseID
	for i, ph := range s.phases {
		if ph.asks() {
			out = append(out, graph.PhaseID(i))
		}
	}
	return out
}
