package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"foundry/graph"
)

// New is the state of a run before its first event.
func New(g *graph.Graph) State {
	n := len(g.Phases)
	s := State{
		plan: newPlan(g), phases: make([]*phase, n), used: make([]int, len(g.Rules)), marks: make([]mark, len(g.Rules)),
		extra: make([]int, len(g.Rules)), status: RunQueued, stage: stageSetup, frame: newFrame(&g.Body),
		sessions: make([]int, len(g.Agents)), active: graph.NewSet(n), closed: graph.NewSet(n), blocked: graph.NewSet(n), notRun: graph.NewSet(n), told: graph.NewSet(n),
		running: graph.NewSet(n), due: graph.NewSet(n),
	}
	for i := range s.phases {
		s.phases[i] = &phase{status: Queued, pending: -1, toward: -1}
		s.active.Add(graph.PhaseID(i))
	}
	return s
}

// Step takes one fact into a state. It returns the new state and what is to be done: first the decisions to
// record, then the commands that were not outstanding before. The old state is not changed. A fact that
// answers nothing outstanding changes nothing and is recorded as a warning. Decisions and notes found in a
// log are not facts: Step ignores them. An error means that the event does not fit the graph.
func Step(g *graph.Graph, s State, e Event) (State, []Command, error) {
	if !e.Kind.fact() {
		return s, nil, nil
	}
	if e.Kind == RunRewound {
		return s, nil, fmt.Errorf("event %d (%s) needs the state that it goes back to", e.Seq, e.Kind)
	}
	g = s.Graph(g)
	m := machine{g: g, s: s.clone(), owned: graph.NewSet(len(g.Phases))}
	p := graph.PhaseID(-1)
	if e.Phase != "" {
		id, ok := g.Lookup(e.Phase)
		if !ok {
			return s, nil, fmt.Errorf("event %d speaks of phase %q, which pipeline %q does not have", e.Seq, e.Phase, g.Pipeline)
		}
		p = id
	}
	if s.info == nil && e.Kind != RunStarted {
		return s, nil, fmt.Errorf("event %d (%s) comes before run.started", e.Seq, e.Kind)
	}
	m.s.busy = max(m.s.busy, e.atWork())
	m.take(p, e)
	var before []ID
	for _, c := range Outstanding(g, s) {
		before = append(before, c.ID)
	}
	out := m.records
	for _, c := range Outstanding(g, m.s) {
		if e.Kind == RunResumed || !slices.Contains(before, c.ID) {
			out = append(out, c)
		}
	}
	return m.s, out, nil
}

// fact says whether the machine reads events of this kind.
func (k Kind) fact() bool {
	switch k {
	case RunStarted, RunResumed, WorkspaceReady, RunInterrupted, RunKilled, GrantGiven, SnapshotTaken, TurnStarted, TurnEnded, BoundaryChecked,
		GateChecked, ReviewChecked, CommandEnded, CriterionDone, AskAnswered, PermissionAnswered, ApartMade, MergedBack, UndoDone, BudgetReached, WorldFailed, WorkspaceEdited, RunRewound:
		return true
	}
	return false
}

// Fact says whether the machine reads events of this kind; the others are its own decisions, and notes.
func (e Event) Fact() bool { return e.Kind.fact() }

// Decision says whether the machine itself made this event, so that a replay can compare it.
func (e Event) Decision() bool {
	switch e.Kind {
	case PhaseQueued, PhaseStarted, PhaseEnded, PhaseSkipped, PhaseNotRun, PhaseStopped, PhaseBlocked, PhaseInvalidated, PhaseDue, GraphGrown, AttemptStarted,
		EnvelopeAccepted, EnvelopeRejected, ReviewJudged, RouteTaken, RoutePending, RouteSpent, AskRaised, AskWithdrawn, RunEnded:
		return true
	}
	return false
}

// Replay derives the state from a log and returns what is outstanding. Missing holds the decisions that
// follow from the facts but are not in the log, since the writer died between the two: whoever goes on
// appends them first. A log in which the machine decided otherwise is an error. g is the pipeline that the run
// began with; edits are those that it went on with, nil when there is none.
func Replay(g *graph.Graph, events []Event, edits Edits) (s State, missing []Event, err error) {
	s = New(g)
	began := g
	var due []Event
	for i, e := range events {
		if e.Decision() {
			if len(due) == 0 || due[0].Kind != e.Kind || due[0].Phase != e.Phase || due[0].Visit != e.Visit {
				return s, nil, fmt.Errorf("event %d (%s %s) does not follow from what went before: the run was made by another version of this pipeline or of Foundry", e.Seq, e.Kind, e.Phase)
			}
			due = due[1:]
			continue
		}
		if !e.Fact() {
			continue
		}
		if len(due) > 0 {
			return s, nil, fmt.Errorf("event %d (%s) stands where %s %s was due", e.Seq, e.Kind, due[0].Kind, due[0].Phase)
		}
		var cmds []Command
		if e.Kind == RunRewound {
			var then State
			if e.To > i {
				return s, nil, fmt.Errorf("event %d goes back to what comes after it", e.Seq)
			}
			if then, _, err = Replay(began, events[:e.To], edits); err == nil {
				s, cmds, err = Rewound(g, then, s, e)
			}
		} else if e.Kind == RunResumed && e.File != "" {
			now := edits[e.File]
			if now == nil {
				return s, nil, fmt.Errorf("event %d goes on with the pipeline in %s, which is not there", e.Seq, e.File)
			}
			s, cmds, err = StepEdited(g, now, s, e)
			g = now
		} else {
			s, cmds, err = Step(g, s, e)
		}
		if err != nil {
			return s, nil, err
		}
		for _, c := range cmds {
			if c.ID.Kind == Record && c.Event.Decision() {
				due = append(due, *c.Event)
			}
		}
	}
	return s, due, nil
}

func (s State) clone() State {
	s.phases = slices.Clone(s.phases)
	s.used = slices.Clone(s.used)
	s.marks = slices.Clone(s.marks)
	s.extra = slices.Clone(s.extra)
	s.criteria = slices.Clone(s.criteria)
	s.sessions = slices.Clone(s.sessions)
	s.active = slices.Clone(s.active)
	s.closed = slices.Clone(s.closed)
	s.blocked = slices.Clone(s.blocked)
	s.notRun = slices.Clone(s.notRun)
	s.told = slices.Clone(s.told)
	s.running = slices.Clone(s.running)
	s.due = slices.Clone(s.due)
	s.forward = slices.Clone(s.forward)
	return s
}

// machine is one Step at work: a copy of the state that it may write.
type machine struct {
	g       *graph.Graph
	s       State
	owned   graph.Set
	records []Command
}

func (m *machine) record(e Event) {
	m.records = append(m.records, Command{ID: ID{Kind: Record, Phase: -1, N: len(m.records)}, Event: &e})
}

func (m *machine) warn(p graph.PhaseID, format string, args ...any) {
	e := Event{Kind: Warned, Text: fmt.Sprintf(format, args...)}
	if p >= 0 {
		e.Phase, e.Visit = m.g.Phases[p].Name, m.s.phases[p].visits
	}
	m.record(e)
}

// edit is the phase's own copy in this Step.
func (m *machine) edit(p graph.PhaseID) *phase {
	if !m.owned.Has(p) {
		c := *m.s.phases[p]
		m.s.phases[p] = &c
		m.owned.Add(p)
	}
	return m.s.phases[p]
}

// at starts an event about a phase's current visit.
func (m *machine) at(p graph.PhaseID, k Kind) Event {
	return Event{Kind: k, Phase: m.g.Phases[p].Name, Visit: m.s.phases[p].visits}
}

// move is the only place that changes a phase's status.
func (m *machine) move(p graph.PhaseID, to Status) *phase {
	ph := m.edit(p)
	if !slices.Contains(moves[ph.status], to) {
		panic(fmt.Sprintf("BUG: phase %s cannot go from %s to %s", m.g.Phases[p].Name, ph.status, to))
	}
	ph.status = to
	m.index(p)
	return ph
}

// setStep says what is being carried out for a running phase.
func (m *machine) setStep(p graph.PhaseID, to step) *work {
	w := &m.edit(p).work
	w.step = to
	m.index(p)
	return w
}

// index brings the sets that are derived from a phase up to date.
func (m *machine) index(p graph.PhaseID) {
	ph := m.s.phases[p]
	put(m.s.active, p, !ph.status.Ended() || ph.release == releaseHeld)
	put(m.s.closed, p, ph.release == releaseClosed)
	put(m.s.blocked, p, ph.status == Blocked)
	put(m.s.notRun, p, ph.status == NotRun)
	put(m.s.told, p, len(ph.inbox) > 0)
	put(m.s.due, p, ph.waitsItsTurn())
	put(m.s.running, p, ph.status == Running && ph.work.step != stepInner && !m.s.due.Has(p))
	if i := slices.Index(m.s.forward, p); (ph.release == releaseForward) != (i >= 0) {
		if i >= 0 {
			m.s.forward = slices.Delete(m.s.forward, i, i+1)
		} else {
			m.s.forward = append(m.s.forward, p)
			slices.Sort(m.s.forward)
		}
	}
}

func put(s graph.Set, p graph.PhaseID, in bool) {
	if in {
		s.Add(p)
	} else {
		s.Remove(p)
	}
}

// setRelease says what the phase's end means for what depends on it.
func (m *machine) setRelease(p graph.PhaseID, r release, toward graph.PhaseID) {
	ph := m.edit(p)
	ph.release, ph.toward = r, toward
	m.index(p)
}

// take is the flat switch over the facts.
func (m *machine) take(p graph.PhaseID, e Event) {
	switch e.Kind {
	case RunStarted:
		m.start(e)
	case RunResumed:
		m.resume(p, e)
	case WorkspaceReady:
		m.ready()
	case RunInterrupted:
		if !m.s.status.Terminal() {
			m.s.status = RunInterrupt
		}
		return
	case RunKilled:
		if m.s.status == RunInterrupt {
			m.s.status = RunRunning // what was cut off is stopped with the rest
		}
		m.end(-1, RunKill, "", e.Text, nil)
	case GrantGiven:
		m.grant(e)
		return
	case WorldFailed:
		reason := e.Reason
		if reason == "" {
			reason = ReasonInfrastructure
		}
		if m.s.status == RunInterrupt {
			m.s.status = RunRunning
		}
		m.end(p, RunFailed, reason, e.Text, nil)
		if p >= 0 && m.s.phases[p].status == Running {
			m.stop(p)
		}
	case BudgetReached:
		m.budget(e.Limit, e.Text)
	case WorkspaceEdited:
		m.edited(e)
	case CriterionDone:
		m.criterionDone(p, e)
	case SnapshotTaken:
		if p < 0 {
			m.runSnapshot(e)
		} else if m.expects(p, e, stepStart, stepEnd, stepAsk, stepJump) {
			m.snapshot(p, e)
		}
	case TurnStarted:
		if m.expects(p, e, stepTurn, stepReview) {
			w := &m.edit(p).work
			w.sent, w.digests = true, mergeDigests(w.digests, e.Inputs)
		}
		return
	case TurnEnded:
		if m.expects(p, e, stepTurn, stepReview) && m.s.phases[p].work.turn == e.Turn {
			m.turnEnded(p, e)
		}
	case BoundaryChecked:
		if m.expects(p, e, stepBoundary) {
			m.boundaryChecked(p, e)
		}
	case GateChecked:
		if m.expects(p, e, stepGates) {
			m.gateChecked(p, e)
		}
	case ReviewChecked:
		if m.expects(p, e, stepVerdict) {
			m.reviewChecked(p, e)
		}
	case CommandEnded:
		if m.expects(p, e, stepCommand) {
			m.commandEnded(p, e)
		}
	case ApartMade:
		if m.expects(p, e, stepApart) {
			m.apartMade(p, e)
		}
	case MergedBack:
		if m.expects(p, e, stepMerge) {
			m.mergedBack(p, e)
		}
	case UndoDone:
		if m.expects(p, e, stepUndo) {
			m.undone(p, e)
		}
	case AskAnswered:
		m.answered(p, e)
	case PermissionAnswered:
		m.permissionAnswered(p, e)
	}
	m.advance()
}

// expects says whether a fact answers what is outstanding for its phase. One that does not is stale: it is
// recorded and changes nothing.
func (m *machine) expects(p graph.PhaseID, e Event, steps ...step) bool {
	if p >= 0 {
		ph := m.s.phases[p]
		attempt := e.Attempt == 0 || e.Attempt == ph.work.attempt
		if ph.status == Running && e.Visit == ph.visits && attempt && slices.Contains(steps, ph.work.step) {
			return true
		}
	}
	m.warn(p, "a late %s was ignored", e.Kind)
	return false
}

func (m *machine) start(e Event) {
	if m.s.info != nil || e.Run == nil {
		m.warn(-1, "a second run.started was ignored")
		return
	}
	info := *e.Run
	info.Params = maps.Clone(info.Params)
	m.s.info = &info
	m.s.status = RunRunning
	for _, p := range m.s.plan.order {
		m.record(Event{Kind: PhaseQueued, Phase: m.g.Phases[p].Name})
	}
	m.narrow(info.From, info.Until)
	m.only(info.Only)
}

// ready: the workspace is there; criteria are checked before the work.
func (m *machine) ready() {
	if m.s.stage != stageSetup {
		m.warn(-1, "a second workspace.ready was ignored")
		return
	}
	m.s.stage, m.s.ready = stageBefore, true
	if len(m.g.Criteria) == 0 || m.watching(-1) {
		m.s.stage = stageWork
	}
}

// Why a phase did not run that whoever started the run left out; what stands behind it is the phase that they named.
const (
	beforeFrom = "before --from "
	afterUntil = "after --until "
)

// LeftOut says whether a reason of phase.not_run is that --from or --until left the phase out.
func LeftOut(reason string) bool {
	return strings.HasPrefix(reason, beforeFrom) || strings.HasPrefix(reason, afterUntil)
}

// narrow leaves out what lies before --from and after --until.
func (m *machine) narrow(from, until string) {
	if id, ok := m.g.Lookup(from); ok && from != "" {
		fresh := graph.NewSet(len(m.g.Phases))
		fresh.Union(m.g.Phases[id].After)
		fresh.Add(id)
		for _, p := range m.s.plan.order {
			if m.g.Phases[p].Owner >= 0 {
				continue
			}
			if fresh.Has(p) {
				ph := m.edit(p)
				ph.fresh, ph.forced = fresh, true
			} else if !m.g.Phases[p].Detour {
				m.leaveOut(p, beforeFrom+from)
				m.edit(p).omitted = true
			}
		}
	}
	if id, ok := m.g.Lookup(until); ok && until != "" {
		for _, p := range m.s.plan.order {
			if p != id && m.g.Phases[p].Owner < 0 && !m.g.Phases[id].Before.Has(p) && m.s.phases[p].status == Queued && !m.g.Phases[p].Detour {
				m.leaveOut(p, afterUntil+until)
				m.edit(p).beyond = true
			}
		}
	}
}

// NotWatched is the reason of phase.not_run for what a run of a watch leaves out.
const NotWatched = "not part of the watch"

// only leaves out what a watch does not run.
func (m *machine) only(names []string) {
	if len(names) == 0 {
		return
	}
	for _, p := range m.g.Own {
		if m.s.phases[p].status == Queued && !m.g.Phases[p].Detour && !slices.Contains(names, m.g.Phases[p].Name) {
			m.leaveOut(p, NotWatched)
			m.edit(p).omitted = true
		}
	}
}

// watching says that the phases of a pipeline run for a watch: just they, whatever the routes say.
func (m *machine) watching(owner graph.PhaseID) bool {
	return owner < 0 && m.s.info != nil && len(m.s.info.Only) > 0
}

// leaveOut: a phase does not run, and neither does what it calls.
func (m *machine) leaveOut(p graph.PhaseID, why string) {
	m.move(p, NotRun).why = why
	e := m.at(p, PhaseNotRun)
	e.Reason = why
	m.record(e)
	m.leaveInner(p, m.g.Phases[p].Name+" does not run")
}

// end latches the verdict of a run that stops before its graph has ended: the first one stays, a kill beats
// all. What runs is stopped first. p is the phase at which a resume goes on, -1 when there is none.
func (m *machine) end(p graph.PhaseID, status RunStatus, reason, text string, seen []Seen) {
	if m.s.stage == stageEnded || (m.s.ending != nil && (m.s.ending.status == RunKill || status != RunKill)) {
		return
	}
	m.s.ending = &ending{status: status, reason: reason, text: text, seen: seen}
	m.s.ender = p
}

func (m *machine) grant(e Event) {
	switch e.Limit {
	case "time":
		m.s.grants.Time += time.Duration(e.Grant * float64(time.Second))
	case "turns":
		m.s.grants.Turns += int(e.Grant)
	case "tokens":
		m.s.grants.Tokens += int(e.Grant)
	case "cost":
		m.s.grants.Cost += e.Grant
	case "phases":
		m.s.grants.Phases += int(e.Grant)
	case "retry":
		for i := range m.g.Rules {
			if m.g.Label(graph.RuleID(i)) == e.Rule {
				m.s.extra[i] += int(e.Grant)
			}
		}
	}
}
