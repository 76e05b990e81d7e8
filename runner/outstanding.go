package runner

import (
	"slices"

	"foundry/graph"
)

// Outstanding is what is under way: the commands whose facts have not come yet. It depends on the state
// alone, so that a process that replayed a log knows what the one before it was doing.
func Outstanding(g *graph.Graph, s State) []Command {
	if s.info == nil {
		return nil
	}
	g = s.Graph(g)
	out := make([]Command, 0, s.running.Len()+2)
	add := func(k CommandKind, p graph.PhaseID, n int) *Command {
		c := Command{ID: ID{Kind: k, Phase: p, N: n}}
		if p >= 0 {
			c.ID.Visit, c.ID.Attempt, c.ID.Turn = s.phases[p].visits, s.phases[p].work.attempt, s.phases[p].work.turn
			c.Of = s.phases[p].work.of
		}
		out = append(out, c)
		return &out[len(out)-1]
	}
	if s.stage == stageEnded {
		add(End, -1, s.resumes)
		return out
	}
	if s.status == RunInterrupt {
		return nil
	}
	for p := range s.running.All {
		{
			wk := &s.phases[p].work
			if wk.limited {
				continue // a resume sends the turn
			}
			switch wk.step {
			case stepApart, stepTurn, stepReview, stepCommand, stepBefore, stepAfter:
				if s.cutOff(g, p) {
					add(StopWork, p, 0)
				}
			}
			switch wk.step {
			case stepStart:
				if !g.Phases[p].Apart || s.groupStarter(g) == p {
					add(TakeSnapshot, p, int(ForStart)).Purpose = ForStart
				}
			case stepApart:
				add(MakeApart, p, 0)
			case stepMerge:
				add(MergeBack, p, 0)
			case stepTurn, stepReview:
				c := add(SendTurn, p, 0)
				c.Purpose, c.Agent, c.Session = wk.purpose, wk.worker(), s.spoken(g, p)
			case stepCommand:
				add(StartCommand, p, wk.rounds)
			case stepBoundary:
				add(CheckBoundary, p, 0)
			case stepGates:
				add(JudgeGates, p, 0)
			case stepVerdict:
				add(CheckReview, p, 0)
			case stepEnd:
				add(TakeSnapshot, p, int(ForEnd)).Purpose = ForEnd
			case stepAsk:
				add(TakeSnapshot, p, int(ForAsk)).Purpose = ForAsk
			case stepUndo:
				if wk.after == undoneReview {
					add(UndoPhase, p, 1).Purpose = ForReview
				} else {
					add(UndoPhase, p, 0)
				}
			case stepBefore:
				add(CheckCriterion, p, s.phases[p].call.criterion).Before = true
			case stepAfter:
				add(CheckCriterion, p, len(g.Phases[p].Call.Criteria)+s.phases[p].call.criterion)
			case stepPermission:
				add(PutAsk, p, 0)
			case stepJump:
				add(TakeSnapshot, p, int(ForVerdict)+1+s.phases[p].call.jumps).Purpose = ForJump
			}
		}
	}
	busy := slices.ContainsFunc(out, func(c Command) bool { return c.ID.Kind != PutAsk })
	if s.ending != nil {
		return out
	}
	switch {
	case s.stage == stageSetup:
		add(MakeWorkspace, -1, s.resumes)
		return out
	case s.stage == stageBefore && s.criterion < len(g.Criteria):
		add(CheckCriterion, -1, s.criterion).Before = true
		return out
	case s.stage == stageAfter && s.criterion < len(g.Criteria):
		add(CheckCriterion, -1, len(g.Criteria)+s.criterion)
		return out
	case s.stage == stageAfter && !s.judged:
		add(TakeSnapshot, -1, -1).Purpose = ForVerdict
		return out
	case s.jumpTree:
		add(TakeSnapshot, -1, s.jumps).Purpose = ForJump
		return out
	}
	for _, p := range s.plan.asks {
		if s.phases[p].status == Waiting {
			add(PutAsk, p, 0)
		}
	}
	if !busy && (s.status == RunWaiting || s.status == RunPaused) {
		add(Park, -1, s.resumes).ResetAt = s.resetAt
	}
	return out
}

// spoken is how many turns the session has had, the one under way included, in which a phase's turn is sent.
func (s State) spoken(g *graph.Graph, p graph.PhaseID) int {
	wk := &s.phases[p].work
	if g.Phases[p].OwnSession(wk.purpose.Reviews()) {
		return *wk.ownTurns()
	}
	return s.sessions[g.Agents[wk.worker()].Session]
}
