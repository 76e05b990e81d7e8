package runner

import "foundry/graph"

// This file decides what may start. Nothing in it depends on which of two phases ended first: a phase is
// left out because of how its ancestors ended, and started when all of them are at rest. Called pipelines take
// their larger steps before what is around them; what a person is asked waits for all of it.

// readiness is what keeps a queued phase.
type readiness uint8

const (
	mustWait readiness = iota
	mayStart
	leftOut
	isBlocked
)

// advance starts, leaves out and ends until nothing moves any more.
func (m *machine) advance() {
	for !m.done() {
		if m.endIdle() || m.halt() {
			continue
		}
		if m.s.ending != nil {
			if m.s.running.Empty() {
				m.conclude()
			}
			return
		}
		if m.s.stage != stageWork || m.s.jumpTree {
			return
		}
		if m.s.status == RunPaused || m.s.status == RunInterrupt {
			return
		}
		if !m.jumpFast() && !m.takeTurns(-1, false) && !m.settleQueued() && !m.quiet() {
			m.waits()
			return
		}
	}
}

// jumpFast takes pending jumps in pipelines with fail_fast without waiting for what else goes on in them. It says
// whether anything changed.
func (m *machine) jumpFast() bool {
	for _, owner := range m.underWay() {
		if m.g.BodyOf(owner).FailFast && m.anyPending(owner) {
			if changed, waits := m.makeWay(owner); changed || !waits {
				return changed || m.jump(owner, "")
			}
		}
	}
	return false
}

// underWay are the pipelines at work, the innermost first, the run's own last.
func (m *machine) underWay() []graph.PhaseID {
	var out []graph.PhaseID
	for _, p := range m.s.plan.calls {
		if m.atWork(p) {
			out = append(out, p)
		}
	}
	return append(out, -1)
}

func (m *machine) done() bool { return m.s.stage == stageEnded }

// settleQueued goes over the queued phases once, in list order, and says whether anything changed.
func (m *machine) settleQueued() bool {
	// As long as nothing left out or blocked others, a phase whose need is not over has to wait, and so has one that
	// lacks nothing but room. That is so for most of a long pipeline each time, and cheaper to see than by readiness.
	calm := len(m.s.forward) == 0 && m.s.closed.Empty() && m.s.blocked.Empty()
	full := m.full()
	open := map[graph.PhaseID]bool{}
	for _, owner := range m.underWay() {
		open[owner] = m.open(owner)
	}
	order := m.s.plan.order
	if calm && full && m.s.notRun.Empty() {
		order = m.s.plan.whens // of all others needsRoom would say so
	}
	for _, p := range order {
		if !m.s.active.Has(p) || m.s.phases[p].status != Queued || calm && (m.needsMore(p) || full && m.needsRoom(p)) || !open[m.owner(p)] {
			continue
		}
		switch r, why := m.readiness(p); r {
		case leftOut:
			m.leaveOut(p, why)
			return true
		case isBlocked:
			m.move(p, Blocked).why = why
			e := m.at(p, PhaseBlocked)
			e.Reason = why
			m.record(e)
			m.leaveInner(p, m.g.Phases[p].Name+" is blocked")
			return true
		case mayStart:
			if m.skips(p) {
				return true
			}
			if m.g.Phases[p].Kind != graph.Ask && m.hasRoom(p) {
				m.begin(p)
				return true
			}
		}
	}
	return false
}

// needsMore says that a phase that p needs is not over. It is never said of a detour, which is entered otherwise.
func (m *machine) needsMore(p graph.PhaseID) bool {
	ph := m.s.phases[p]
	for _, need := range m.g.Phases[p].Needs {
		if m.s.active.Has(need) && (!ph.forced || ph.fresh.Has(need)) {
			return !m.g.Phases[p].Detour
		}
	}
	return false
}

// needsRoom says that while there is no room for p nothing else can become of it.
func (m *machine) needsRoom(p graph.PhaseID) bool {
	ph := &m.g.Phases[p]
	for _, need := range ph.Needs {
		if m.s.phases[need].status == NotRun {
			return false
		}
	}
	return ph.When == nil
}

// readiness says whether a queued phase may start, and why it does not run if it does not.
func (m *machine) readiness(p graph.PhaseID) (readiness, string) {
	if m.g.Phases[p].Detour {
		return m.detourReadiness(p), ""
	}
	ph, before := m.s.phases[p], m.g.Phases[p].Before
	counts := func(a graph.PhaseID) bool { return !ph.forced || ph.fresh.Has(a) }
	if a, ok := before.FirstCommon(m.s.closed, counts); ok {
		return leftOut, m.whyClosed(a)
	}
	if from, ok := m.passedOver(p); ok {
		return leftOut, m.g.Phases[from].Name + " went on to " + m.g.Phases[m.s.phases[from].toward].Name
	}
	if a, ok := before.FirstCommon(m.s.blocked, counts); ok {
		return isBlocked, m.g.Phases[a].Name + " is blocked"
	}
	if _, ok := before.FirstCommon(m.s.active, counts); ok {
		return mustWait, ""
	}
	for _, need := range m.g.Phases[p].Needs {
		if m.s.phases[need].status == NotRun && counts(need) && !m.countsAsEnded(need, p) {
			return leftOut, m.g.Phases[need].Name + " did not run"
		}
	}
	return mayStart, ""
}

func (m *machine) whyClosed(a graph.PhaseID) string {
	switch ph := m.s.phases[a]; {
	case ph.handled && ph.status != Fail && ph.status != Rejected:
		return m.g.Phases[a].Name + " went to finish"
	case ph.handled:
		return m.g.Phases[a].Name + " ended " + ph.status.String() + " and went elsewhere"
	default:
		return m.g.Phases[a].Name + " ended " + ph.status.String()
	}
}

// passedOver says whether a forward jump leaves x out: what lies between its ends, and what needs one of
// these and is neither its target nor behind it. A jump taken before x was queued again does not count.
func (m *machine) passedOver(x graph.PhaseID) (graph.PhaseID, bool) {
	before, fresh := m.g.Phases[x].Before, m.s.phases[x].fresh
	for _, p := range m.s.forward {
		q := m.s.phases[p].toward
		if !before.Has(p) || (fresh != nil && !fresh.Has(p)) || x == q || before.Has(q) {
			continue
		}
		if m.g.Phases[q].Before.Has(x) || before.Intersects(m.g.Phases[p].After, m.g.Phases[q].Before) {
			return p, true
		}
	}
	return 0, false
}

// countsAsEnded says whether a phase that did not run stands in x's way: not when a jump over it led to x,
// or to something before x.
func (m *machine) countsAsEnded(need, x graph.PhaseID) bool {
	for _, p := range m.s.forward {
		q := m.s.phases[p].toward
		if m.g.Phases[need].Before.Has(p) && (x == q || m.g.Phases[x].Before.Has(q)) {
			return true
		}
	}
	return m.s.phases[need].omitted
}

// detourReadiness: an entered detour starts when every phase that routes to it has ended, or cannot run
// before it since it waits for a pending jump or for a detour.
func (m *machine) detourReadiness(d graph.PhaseID) readiness {
	if len(m.s.phases[d].entries) == 0 {
		return mustWait
	}
	held := m.held()
	for _, r := range m.g.Phases[d].Routers {
		if !m.s.phases[r].status.Ended() && !held.Has(r) {
			return mustWait
		}
	}
	return mayStart
}

// held is what waits for a pending jump or a detour that is under way; none of it runs before those are over.
func (m *machine) held() graph.Set {
	out := graph.NewSet(len(m.s.phases))
	for i, ph := range m.s.phases {
		if ph.release == releaseHeld {
			out.Union(m.g.Phases[i].After)
		}
	}
	return out
}

// behindAsk is what waits for a person's answer.
func (m *machine) behindAsk() graph.Set {
	out := graph.NewSet(len(m.s.phases))
	for i, ph := range m.s.phases {
		if m.g.Phases[i].Kind == graph.Ask && !ph.status.Ended() {
			out.Union(m.g.Phases[i].After)
			out.Add(graph.PhaseID(i))
		}
	}
	return out
}

// hasRoom says whether one more phase fits beside what runs: within the number of jobs, one writer or many
// readers, and list order between phases that nothing orders and that may not overlap.
func (m *machine) hasRoom(p graph.PhaseID) bool {
	if m.full() || m.givesWay(p) {
		return false
	}
	if m.g.Phases[p].Kind != graph.AgentWork || m.s.info.Agents == 0 {
		return true
	}
	agents := 0
	for q := range m.s.running.All {
		if m.g.Phases[q].Kind == graph.AgentWork && !m.s.phases[q].wantsPermission() {
			agents++
		}
	}
	return agents < m.s.info.Agents
}

// full says whether as many phases run as there are jobs. One that waits for a person has no job.
func (m *machine) full() bool {
	jobs := 0
	for q := range m.s.running.All {
		if !m.s.phases[q].wantsPermission() {
			jobs++
		}
	}
	return jobs >= max(m.s.info.Jobs, 1)
}

// givesWay says whether a phase that may start has to let others go first, with which it may not overlap.
func (m *machine) givesWay(p graph.PhaseID) bool {
	rivals := m.s.plan.rivals[p]
	if m.apart(p) && m.oldGroup() {
		return true
	}
	if len(rivals) == 0 {
		return false
	}
	held, asked := m.held(), m.behindAsk()
	for _, y := range rivals {
		other := m.s.phases[y]
		if other.status == Running {
			return true
		}
		if m.s.plan.rank[y] < m.s.plan.rank[p] && other.status == Queued && m.mayStillRun(y, held, asked) {
			return true
		}
	}
	return false
}

// mayStillRun says whether a queued phase can start in this entry, without what a pending jump or a detour holds and without an
// answer of a person. A detour that was entered can if all that route to it have ended, or can end or are held; one that was not
// can only if one of them can still end.
func (m *machine) mayStillRun(y graph.PhaseID, held, asked graph.Set) bool {
	if !m.g.Phases[y].Detour {
		return !held.Has(y) && !asked.Has(y)
	}
	entered := len(m.s.phases[y].entries) > 0
	for _, r := range m.g.Phases[y].Routers {
		switch {
		case m.s.phases[r].status.Ended() || held.Has(r):
		case entered && asked.Has(r):
			return false
		case !entered && !asked.Has(r):
			return true
		}
	}
	return entered
}

// quiet takes the next larger step of a pipeline of which nothing runs and nothing can start, and says whether that
// may let something start.
func (m *machine) quiet() bool {
	for _, owner := range m.underWay() {
		if m.busy(owner) {
			continue
		}
		switch {
		case m.takeTurns(owner, true):
			return true
		case !m.open(owner): // a snapshot is awaited, or something is to stop first
		case m.frame(owner).finishing:
			return m.beginVerdict(owner)
		case m.anyPending(owner):
			return m.jump(owner, "")
		case owner >= 0 && !m.restsIn(owner):
			return m.beginVerdict(owner)
		case owner < 0:
			return m.atRest()
		}
	}
	return false
}

// busy says whether something of a pipeline runs, or can start once there is room for it.
func (m *machine) busy(owner graph.PhaseID) bool {
	if m.runsIn(owner) {
		return true
	}
	if m.s.running.Empty() { // there is room
		return false
	}
	for _, p := range m.s.plan.order {
		if m.s.phases[p].status != Queued || m.g.Phases[p].Kind == graph.Ask || !m.g.Inside(owner, p) || !m.open(m.owner(p)) {
			continue
		}
		if r, _ := m.readiness(p); r == mayStart && !m.givesWay(p) {
			return true
		}
	}
	return false
}

// atRest: nothing of the run can go on by itself. Asks are put, or the run waits for what only a person can give,
// or it comes to its verdict.
func (m *machine) atRest() bool {
	if m.putAsks() {
		return m.s.ending != nil // the budget for phases may not have allowed them
	}
	for i, ph := range m.s.phases {
		if (ph.status == Waiting || ph.status == Blocked) && m.open(m.owner(graph.PhaseID(i))) {
			m.s.status = RunWaiting
			return false
		}
	}
	return m.beginVerdict(-1)
}

// putAsks starts every ask that only waited for the rest to come to a stop.
func (m *machine) putAsks() bool {
	put := false
	for _, p := range m.s.plan.order {
		if m.g.Phases[p].Kind == graph.Ask && m.s.phases[p].status == Queued && m.open(m.owner(p)) {
			if r, _ := m.readiness(p); r == mayStart {
				m.begin(p)
				put = true
			}
		}
	}
	return put
}

// anyPending says whether a jump of a phase of a pipeline waits.
func (m *machine) anyPending(owner graph.PhaseID) bool {
	for _, p := range m.g.BodyOf(owner).Own {
		if m.s.phases[p].pending >= 0 {
			return true
		}
	}
	return false
}
