package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"foundry/graph"
)

// This file has the phases that work in a worktree of their own, and what is made of their work. They overlap with each
// other and with nothing else. Those that may be under way together are a group: each begins from the run's workspace
// as it was before the first of them, or as it was after the last of those that it depends on, whichever of the others
// have ended by then. What they come to takes effect in list order: work that passed is merged, and a conflict fails
// the later one. So neither the number of jobs nor who is done first decides what a phase sees or what becomes of it.

// group is what the phases of one group begin from. The zero value is a group that has not begun.
type group struct {
	begun  bool
	from   place
	merged []merged // in the order in which they came in
}

// merged is work that has come in.
type merged struct {
	phase graph.PhaseID
	place place // the run's workspace with it
	paths []string
}

// place is a state of the run's workspace.
type place struct{ tree, ref string }

// remains is what a visit that failed has left: the next one begins with as much of it as fits.
type remains struct{ base, tree string }

// Apart is what the driver has to know of a phase that works in a worktree of its own.
type Apart struct {
	Ref, Tree string // the run's workspace that the visit begins from
	Base      string // the same in the worktree, with what setting it up has changed; "" until there is one
	LeftBase  string // what an earlier visit began from whose work was not merged; "" when there is none
	LeftTree  string // and what it came to
	Run       string // the run's workspace as it is now
	End       string // what this visit has come to
}

// Apart is what a running phase with a worktree of its own begins from and has come to; ok is false for any other.
func (s State) Apart(g *graph.Graph, p graph.PhaseID) (a Apart, ok bool) {
	ph := s.phases[p]
	if !s.Graph(g).Phases[p].Apart || ph.status != Running || ph.work.base.tree == "" {
		return a, false
	}
	return Apart{Ref: ph.work.base.ref, Tree: ph.work.base.tree, Base: ph.work.mergeBase, LeftBase: ph.left.base, LeftTree: ph.left.tree, Run: s.tree, End: ph.work.tree}, true
}

// UnderWay says whether a visit has begun and is not over.
func (s State) UnderWay(p graph.PhaseID, visit int) bool {
	return int(p) < len(s.phases) && s.phases[p].status == Running && s.phases[p].visits == visit
}

func (m *machine) apart(p graph.PhaseID) bool { return m.g.Phases[p].Apart }

// beginApart begins a visit in a worktree of its own. The first one of a group finds out what the group begins from.
func (m *machine) beginApart(p graph.PhaseID) {
	if !m.s.group.begun {
		m.setStep(p, stepStart)
		return
	}
	w := m.setStep(p, stepApart)
	w.base = m.s.group.from
	for _, in := range m.s.group.merged {
		if m.sees(p, in.phase) {
			w.base = in.place
		}
	}
}

// sees says whether a phase begins with the work of another one: of all that it depends on. A detour depends on what led
// there, and on nothing that may still run beside it.
func (m *machine) sees(p, work graph.PhaseID) bool {
	if !m.g.Phases[p].Detour {
		return m.g.Phases[p].Before.Has(work)
	}
	return slices.ContainsFunc(m.s.phases[p].entries, func(r graph.PhaseID) bool { return r == work || m.g.Phases[r].Before.Has(work) })
}

// groupBegins takes the snapshot of the run's workspace from before a group, and starts all that waited for it.
func (m *machine) groupBegins(e Event) {
	m.s.group = group{begun: true, from: place{e.Tree, e.Ref}}
	for _, q := range m.s.plan.order {
		if !m.apart(q) || m.s.phases[q].status != Running || m.s.phases[q].work.step != stepStart {
			continue
		}
		if left := m.leftBehind(q, e); left != "" {
			m.leaveOut(q, left)
		} else if m.cutOff(q) {
			m.stop(q)
		} else {
			m.beginApart(q)
		}
	}
}

// groupStarter is the phase whose snapshot a group begins from: of those that wait for it the one that began first.
func (s State) groupStarter(g *graph.Graph) graph.PhaseID {
	first := graph.PhaseID(-1)
	for p := range s.running.All {
		if g.Phases[p].Apart && s.phases[p].work.step == stepStart && (first < 0 || s.phases[p].began < s.phases[first].began) {
			first = p
		}
	}
	return first
}

// groupEnds: what begins from here on sees the run's workspace as it is.
func (m *machine) groupEnds() { m.s.group = group{} }

// oldGroup says whether phases of a group that has ended are still under way; no other begins beside them.
func (m *machine) oldGroup() bool {
	return !m.s.group.begun && slices.ContainsFunc(m.s.plan.order, func(p graph.PhaseID) bool {
		ph := m.s.phases[p]
		return m.apart(p) && ph.status == Running && ph.work.step != stepStart
	})
}

// apartMade: the worktree of a visit is there.
func (m *machine) apartMade(p graph.PhaseID, e Event) {
	if m.cutOff(p) {
		m.stop(p)
		return
	}
	w := &m.edit(p).work
	w.mergeBase, w.startTree = e.Base, e.Tree
	m.work(p)
}

// holdBack keeps what a visit has come to until its turn; it is false for a phase that works where all others do.
func (m *machine) holdBack(p graph.PhaseID, r *result) bool {
	if !m.apart(p) || m.s.phases[p].status != Running || m.s.phases[p].work.due != nil {
		return false
	}
	m.setStep(p, stepDue).due = r
	return true
}

// waitsItsTurn says that a phase has done its work, which has not taken effect yet.
func (ph *phase) waitsItsTurn() bool { return ph.status == Running && ph.work.step == stepDue }

// takeTurns lets the next phase in whose turn it is, and says whether there was one. With idle nothing else in the
// pipeline of owner can move, and so the first in the list goes.
func (m *machine) takeTurns(owner graph.PhaseID, idle bool) bool {
	if m.s.due.Empty() {
		return false
	}
	var held, asked graph.Set
	for _, p := range m.s.plan.order {
		if !m.s.due.Has(p) || idle && m.owner(p) != owner || m.cutOff(p) {
			continue
		}
		if held == nil {
			held, asked = m.held(), m.behindAsk()
		}
		before := slices.IndexFunc(m.s.plan.peers[p], func(y graph.PhaseID) bool {
			other := m.s.phases[y]
			return m.s.plan.rank[y] < m.s.plan.rank[p] && (other.status == Running || other.status == Queued && m.mayStillRun(y, held, asked))
		})
		if idle || before < 0 {
			m.takeTurn(p)
			return true
		}
		m.sayDue(p, m.s.plan.peers[p][before])
	}
	return false
}

// sayDue tells once in a visit that it waits, and for whom.
func (m *machine) sayDue(p, before graph.PhaseID) {
	if w := &m.edit(p).work; !w.saidDue {
		w.saidDue = true
		e := m.at(p, PhaseDue)
		e.Text = "waits for its turn behind " + m.g.Phases[before].Name
		m.record(e)
	}
}

// takeTurn lets what a phase has come to take effect.
func (m *machine) takeTurn(p graph.PhaseID) {
	w := &m.edit(p).work
	if w.due.outcome == passed {
		m.setStep(p, stepMerge)
		return
	}
	m.leave(p)
	m.settle(p, w.due)
}

// leave remembers what a visit leaves behind whose work is not merged.
func (m *machine) leave(p graph.PhaseID) {
	ph := m.edit(p)
	ph.left = remains{}
	if ph.work.tree != "" {
		ph.left = remains{ph.work.mergeBase, ph.work.tree}
	}
}

// mergedBack: the work of a visit is in the run's workspace, or conflicts with what is there.
func (m *machine) mergedBack(p graph.PhaseID, e Event) {
	w := &m.edit(p).work
	r := *w.due
	w.due = &r
	if len(e.Outside) == 0 {
		m.edit(p).left = remains{}
		m.s.tree, r.tree = e.Tree, e.Tree
		if m.s.group.begun {
			m.s.group.merged = append(slices.Clip(m.s.group.merged), merged{p, place{e.Tree, e.Ref}, e.Changed})
		}
		m.settle(p, &r)
		return
	}
	m.leave(p)
	r.status, r.outcome, r.reason, r.text, r.violations = Fail, failed, ReasonConflict, m.conflictText(p, e), e.Outside
	m.settle(p, &r)
}

// conflictText says with whom a visit's work conflicts, and where.
func (m *machine) conflictText(p graph.PhaseID, e Event) string {
	var at []string
	for _, v := range e.Outside {
		at = append(at, quote(v.Path)+" ("+v.Reason+")")
	}
	text := fmt.Sprintf("its work conflicts with that of %s, which came in first: %s", cmp.Or(strings.Join(m.cameFirst(p, e.Outside), ", "), "others"), strings.Join(at, ", "))
	if e.Kept != "" {
		text += "; its own version is at " + e.Kept + " (git show " + e.Kept + ":PATH)"
	}
	return text
}

// cameFirst names the phases that have changed what a visit conflicts with since it began.
func (m *machine) cameFirst(p graph.PhaseID, conflicts []Violation) []string {
	since := m.s.group.merged
	if i := slices.IndexFunc(since, func(in merged) bool { return in.place == m.s.phases[p].work.base }); i >= 0 {
		since = since[i+1:]
	}
	var with, all []string
	for _, in := range since {
		all = append(all, m.g.Phases[in.phase].Name)
		if slices.ContainsFunc(conflicts, func(v Violation) bool {
			return slices.ContainsFunc(in.paths, func(q string) bool { return collide(q, v.Path) })
		}) {
			with = append(with, m.g.Phases[in.phase].Name)
		}
	}
	if len(with) == 0 {
		return all
	}
	return with
}

// collide says whether two paths are one, or one is in the other.
func collide(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}
