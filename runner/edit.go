package runner

import (
	"fmt"
	"slices"

	"foundry/graph"
)

// This file goes on with a run whose pipeline was edited while it was at rest. The state moves from the graph that it
// was made with to the new one, by the names of phases, rules, agents and criteria. A phase that says the same keeps
// all that is known of it; one that had begun and says something else begins again, and with it all that depends on
// it; one that had not begun is simply the new one. Which those are follows from the two graphs and the state alone,
// so that a replay, which is given both graphs, comes to the same.

// Edits are the pipelines that a log goes on with, by the File of the run.resumed from which each one holds.
type Edits map[string]*graph.Graph

// Redone are the phases of an edited pipeline, by their names, whose results would not count any more, though they had ended: they
// would be paid for again. What had not ended, and what ended the run, has to run again in any case.
func Redone(was, now *graph.Graph, s State) []string {
	mv := newMove(was, now, s)
	var out []string
	for p := range mv.redo.All {
		o := mv.back[p]
		if o < 0 || mv.now.Phases[p].Owner >= 0 && mv.redo.Has(mv.now.Phases[p].Owner) {
			continue
		}
		switch ph := s.phases[o]; ph.status {
		case Success, Unverified:
			out = append(out, mv.now.Phases[p].Name)
		case Skipped, Fail, Rejected:
			if ph.round() > 0 && (ph.handled || ph.status == Skipped) {
				out = append(out, mv.now.Phases[p].Name)
			}
		}
	}
	return out
}

// Restarts are the phases of the old pipeline, by their names, that are at work and are not gone on with: they begin
// again, or are not there any more.
func Restarts(was, now *graph.Graph, s State) []string {
	mv := newMove(was, now, s)
	var out []string
	for o, p := range mv.ids {
		if s.phases[o].status == Running && (p < 0 || mv.redo.Has(p)) {
			out = append(out, mv.was.Phases[o].Name)
		}
	}
	return out
}

// StepEdited is Step for a run.resumed from which on an edited pipeline holds.
func StepEdited(was, now *graph.Graph, s State, e Event) (State, []Command, error) {
	if s.info == nil || e.Kind != RunResumed {
		return s, nil, fmt.Errorf("event %d (%s) cannot bring an edited pipeline", e.Seq, e.Kind)
	}
	mv := newMove(was, now, s)
	now = mv.now
	p := graph.PhaseID(-1)
	if e.Phase != "" {
		id, ok := now.Lookup(e.Phase)
		if !ok {
			return s, nil, fmt.Errorf("event %d speaks of phase %q, which pipeline %q does not have", e.Seq, e.Phase, now.Pipeline)
		}
		p = id
	}
	m := machine{g: now, s: mv.state(), owned: graph.NewSet(len(now.Phases))}
	for i := range now.Phases {
		m.owned.Add(graph.PhaseID(i))
		m.index(graph.PhaseID(i))
	}
	m.s.busy = max(m.s.busy, e.atWork())
	mv.tell(&m)
	m.take(p, e)
	return m.s, append(m.records, Outstanding(now, m.s)...), nil
}

// move is the way of a state from one graph to another.
type move struct {
	was, now *graph.Graph // with the items of the lists that the run has read
	grown    bool         // the new one has any
	s        State
	ids      []graph.PhaseID // by phase of the old graph, that of the new one; -1
	back     []graph.PhaseID // by phase of the new graph, that of the old one; -1
	rules    []graph.RuleID  // by rule of the old graph, that of the new one; -1
	redo     graph.Set       // of the new graph: what begins again, or for the first time
	entered  graph.Set       // of the new graph: calls at work that go on although what they run was edited
}

func newMove(was, now *graph.Graph, s State) *move {
	was = s.Graph(was)
	bare := now
	now = graph.Regrow(was, now)
	n := len(now.Phases)
	mv := &move{was: was, now: now, grown: now != bare, s: s, ids: make([]graph.PhaseID, len(was.Phases)), back: make([]graph.PhaseID, n),
		rules: make([]graph.RuleID, len(was.Rules)), redo: graph.NewSet(n), entered: graph.NewSet(n)}
	for i := range mv.back {
		mv.back[i] = -1
	}
	for i := range was.Phases {
		id, ok := now.Lookup(was.Phases[i].Name)
		if mv.ids[i] = id; ok {
			mv.back[id] = graph.PhaseID(i)
		}
	}
	mv.matchRules()
	order := newPlan(now).order
	slices.SortStableFunc(order, func(a, b graph.PhaseID) int { return depth(now, a) - depth(now, b) }) // a call before what it runs
	for _, p := range order {
		if mv.begins(p) {
			mv.redo.Add(p)
		}
	}
	return mv
}

// depth counts the calls around a phase.
func depth(g *graph.Graph, p graph.PhaseID) int {
	n := 0
	for p = g.Phases[p].Owner; p >= 0; p = g.Phases[p].Owner {
		n++
	}
	return n
}

// matchRules finds the rules of the old graph in the new one, among those of the same phase: the same text, else, for
// one whose bound, condition or feedback was edited, the same trigger and target.
func (mv *move) matchRules() {
	taken := map[graph.RuleID]bool{}
	match := func(same func(a, b *graph.Rule) bool) {
		for i := range mv.was.Rules {
			r := &mv.was.Rules[i]
			p := mv.ids[r.Phase]
			if p < 0 || mv.rules[i] >= 0 {
				continue
			}
			for _, other := range mv.now.RulesOf(p) {
				if !taken[other.ID] && same(r, &other) {
					mv.rules[i], taken[other.ID] = other.ID, true
					break
				}
			}
		}
	}
	for i := range mv.rules {
		mv.rules[i] = -1
	}
	match(func(a, b *graph.Rule) bool { return a.Text == b.Text && a.Way == b.Way })
	match(func(a, b *graph.Rule) bool {
		return a.Trigger == b.Trigger && a.Action == b.Action && a.Way == b.Way && a.Way != 0 && mv.ids[a.Target] == b.Target
	})
}

// begins says whether a phase of the new graph is to begin again. What lies before it has been looked at.
func (mv *move) begins(p graph.PhaseID) bool {
	ph, o := &mv.now.Phases[p], mv.back[p]
	if ph.Owner >= 0 && mv.redo.Has(ph.Owner) {
		return true
	}
	if o < 0 {
		return !mv.outside(p)
	}
	old := mv.s.phases[o]
	if old.beyond || old.omitted {
		return false
	}
	if ph.Before.Intersects(mv.redo, mv.redo) {
		return true
	}
	if old.status == Queued || old.status == NotRun {
		return old.pending >= 0 && mv.rules[old.pending] < 0
	}
	if keys := mv.was.PhaseKeys(o, mv.now, p); len(keys) > 0 {
		if !mv.goesOn(o, p, keys) {
			return true
		}
		mv.entered.Add(p)
	}
	return mv.lost(old)
}

// outside says whether a new phase lies where --from or --until left everything out, and nobody has asked for more.
func (mv *move) outside(p graph.PhaseID) bool {
	if mv.now.Phases[p].Owner >= 0 || mv.now.Phases[p].Detour {
		return false
	}
	if from, ok := mv.now.Lookup(mv.s.info.From); ok && p != from && !mv.now.Phases[from].After.Has(p) {
		return true
	}
	until, ok := mv.now.Lookup(mv.s.info.Until)
	return ok && mv.s.Partial() && p != until && !mv.now.Phases[until].Before.Has(p)
}

// goesOn says whether a call is at work and only what it runs was edited: its phases are then looked at one by one.
func (mv *move) goesOn(o, p graph.PhaseID, keys []string) bool {
	a, b := mv.was.Phases[o].Call, mv.now.Phases[p].Call
	old := mv.s.phases[o]
	return a != nil && b != nil && a.Pipeline == b.Pipeline && slices.Equal(keys, []string{"call"}) && old.status == Running && old.call != nil &&
		(old.work.step == stepInner || old.work.step == stepBefore || old.work.step == stepAfter || old.work.step == stepJump)
}

// lost says whether the way that a phase went on is not there any more.
func (mv *move) lost(old *phase) bool {
	if old.pending >= 0 && mv.rules[old.pending] < 0 {
		return true
	}
	forward := old.release == releaseForward || old.release == releaseHeld && old.pending < 0
	return forward && (old.toward < 0 || mv.ids[old.toward] < 0)
}

// state is the old state in terms of the new graph, before anything begins again.
func (mv *move) state() State {
	s := New(mv.now)
	old := mv.s
	if s.past = old.past; mv.grown {
		s.grown = mv.now
	}
	s.info, s.grants, s.status, s.reason, s.text, s.stage, s.ready = old.info, old.grants, old.status, old.reason, old.text, old.stage, old.ready
	s.jumpTree, s.tree, s.judged, s.touched, s.resumes = old.jumpTree, old.tree, old.judged, old.touched, old.resumes
	s.turns, s.tokens, s.cost, s.unknown, s.visits, s.busy, s.resetAt = old.turns, old.tokens, old.cost, old.unknown, old.visits, old.busy, old.resetAt
	s.frame = mv.frame(&old.frame, &mv.was.Body, &mv.now.Body)
	for i := range mv.now.Agents {
		for j := range mv.was.Agents {
			if sessionName(&mv.now.Agents[i]) == sessionName(&mv.was.Agents[j]) && mv.now.Agents[i].Session == i && mv.was.Agents[j].Session == j {
				s.sessions[i] = old.sessions[j]
			}
		}
	}
	for r, to := range mv.rules {
		if to >= 0 {
			s.used[to], s.marks[to], s.extra[to] = old.used[r], old.marks[r], old.extra[r]
		}
	}
	for p, o := range mv.back {
		switch p := graph.PhaseID(p); {
		case o >= 0:
			s.phases[p] = mv.phase(p, o)
		case mv.outside(p):
			s.phases[p].status, s.phases[p].beyond, s.phases[p].omitted = NotRun, old.Partial(), !old.Partial()
		}
	}
	if mv.was.Fingerprint == mv.now.Fingerprint {
		return s
	}
	// What was being judged, or checked before that, is looked at anew.
	s.jumpTree = false
	if s.stage == stageBefore || s.stage == stageAfter {
		s.criterion = 0
		if s.stage == stageAfter || len(mv.now.Criteria) == 0 {
			s.stage = stageWork
		}
		s.judged = false
	}
	return s
}

// frame is a pipeline under way in terms of the new graph.
func (mv *move) frame(old *frame, was, now *graph.Body) frame {
	f := *old
	if f.ender >= 0 {
		f.ender = mv.ids[f.ender]
	}
	f.criteria = make([]criterion, len(now.Criteria))
	for i := range now.Criteria {
		for j := range was.Criteria {
			if now.Criteria[i].Name == was.Criteria[j].Name {
				f.criteria[i] = old.criteria[j]
			}
		}
		if mv.was.Fingerprint != mv.now.Fingerprint {
			f.criteria[i].after = 0 // what it held for may be judged otherwise now
		}
	}
	return f
}

// phase is what is known of a phase in terms of the new graph.
func (mv *move) phase(p, o graph.PhaseID) *phase {
	ph := *mv.s.phases[o]
	to := func(id graph.PhaseID) graph.PhaseID {
		if id < 0 {
			return -1
		}
		return mv.ids[id]
	}
	ph.toward = to(ph.toward)
	if ph.pending >= 0 {
		ph.pending = mv.rules[ph.pending]
	}
	ph.entries = nil
	for _, e := range mv.s.phases[o].entries {
		if id := to(e); id >= 0 {
			ph.entries = append(ph.entries, id)
		}
	}
	ph.inbox = nil
	for _, n := range mv.s.phases[o].inbox {
		if n.source = to(n.source); n.source >= 0 {
			ph.inbox = append(ph.inbox, n)
		}
	}
	if old := ph.fresh; old != nil {
		ph.fresh = graph.NewSet(len(mv.now.Phases))
		for id := range old.All {
			if id := to(id); id >= 0 {
				ph.fresh.Add(id)
			}
		}
	}
	if len(mv.was.PhaseKeys(o, mv.now, p)) > 0 {
		ph.work.digests = nil // it is told all of what it says now
		ph.goesOn = ph.goesOn && ph.call != nil
	}
	ph.work.agent = mv.agent(&ph, o, p)
	ph.work.review.agent = reviewerAfter(mv.now, p, ph.work.review.fallbacks)
	if mv.redo.Has(p) {
		ph.work.step = 0
	}
	switch body, old := mv.now.Phases[p].Body(), mv.was.Phases[o].Body(); {
	case body == nil || ph.call == nil || old == nil:
		ph.call = nil
	default:
		f := mv.frame(ph.call, old, body)
		if mv.entered.Has(p) {
			f.ending, f.finishing, f.criterion = nil, false, 0
			if ph.work.step != stepBefore || len(f.criteria) == 0 {
				ph.work.step = stepInner
			}
		}
		ph.call = &f
	}
	return &ph
}

// agent is the agent at work in a phase: a fallback of the one that the phase names, perhaps.
func (mv *move) agent(ph *phase, o, p graph.PhaseID) int {
	first := mv.now.Phases[p].Agent
	if first < 0 || mv.was.Phases[o].Agent < 0 || ph.work.fallbacks == 0 {
		return first
	}
	fallback := mv.now.Agents[first].Fallback
	return fallback[min(ph.work.fallbacks, len(fallback))-1]
}

// tell records what the edit does and begins again what is to begin again.
func (mv *move) tell(m *machine) {
	for i, id := range mv.ids {
		old := mv.s.phases[i]
		if id >= 0 || old.status == NotRun {
			continue
		}
		if old.asks() {
			m.record(Event{Kind: AskWithdrawn, Phase: mv.was.Phases[i].Name, Visit: old.visits})
		}
		m.record(Event{Kind: PhaseNotRun, Phase: mv.was.Phases[i].Name, Visit: old.visits, Reason: noLonger})
	}
	again := graph.NewSet(len(mv.now.Phases))
	for p := range mv.redo.All {
		if owner := m.owner(p); owner >= 0 && mv.redo.Has(owner) {
			continue // it begins afresh with the call around it
		}
		again.Add(p)
		if o := mv.back[p]; o >= 0 && mv.s.phases[o].wantsPermission() {
			m.record(m.at(p, AskWithdrawn))
		}
		if o := mv.back[p]; o >= 0 && m.s.phases[p].result != nil && m.s.phases[p].status.Ended() && m.s.phases[p].status != NotRun {
			e := m.at(p, PhaseInvalidated)
			e.Reason = "the pipeline was edited"
			m.record(e)
		}
	}
	if !again.Empty() {
		m.queueAgain(again, nil)
	}
}

// noLonger is why a phase does not run that an edit took out of the pipeline.
const noLonger = "no longer in the pipeline"
