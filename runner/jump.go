package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"foundry/dsl"
	"foundry/graph"
	"foundry/internal/lazyregexp"
)

// This file takes jumps back. All that are pending when nothing runs and nothing else can start are one
// step, so that the path does not depend on which of two phases ended first.

// jump takes the pending jumps of a pipeline, or first asks for the snapshot that tells whether a loop makes
// progress. It says whether something may go on now.
func (m *machine) jump(owner graph.PhaseID, tree string) bool {
	var rules []graph.Rule
	for _, p := range m.s.plan.order {
		if r := m.s.phases[p].pending; r >= 0 && m.owner(p) == owner {
			rules = append(rules, m.g.Rules[r])
		}
	}
	if limit, text := m.cannotPay(rules); limit != "" {
		m.warn(rules[0].Phase, "%s", text)
		m.end(rules[0].Phase, RunRejected, ReasonBudget+":"+limit, text, nil)
		return true
	}
	if tree == "" && slices.ContainsFunc(rules, m.mustProgress) {
		if owner >= 0 {
			m.setStep(owner, stepJump)
			return true
		}
		m.s.jumpTree = true
		return false
	}
	m.editFrame(owner).jumps++
	for _, r := range rules {
		if m.mustProgress(r) && m.stuck(r, tree) {
			return true
		}
	}
	carried := make([]string, len(rules))
	for i, r := range rules {
		carried[i] = m.s.phases[r.Phase].carried
		m.charge(r)
	}
	m.reset(rules)
	m.requeue(rules)
	for i, r := range rules {
		m.deliver(r.Phase, r.Target, carried[i])
	}
	return true
}

func (m *machine) charge(r graph.Rule) {
	m.s.used[r.ID]++
	e := m.at(r.Phase, RouteTaken)
	e.Rule, e.Target, e.Used, e.Of = r.Text, m.g.Phases[r.Target].Name, m.s.used[r.ID], r.Retry+m.s.extra[r.ID]
	m.record(e)
}

// reset sets the counters to nothing that a jump to t makes a new entry of: the rules whose target lies
// strictly after t, and the self rules of t and of all after it. A self jump resets nothing.
func (m *machine) reset(taken []graph.Rule) {
	for _, jump := range taken {
		if jump.Way == graph.Self {
			continue
		}
		asked := m.g.Phases[jump.Phase].Kind == graph.Ask
		for _, r := range m.g.Rules {
			if r.Action != dsl.Goto {
				continue
			}
			after := m.g.Phases[jump.Target].After.Has(r.Target)
			if asked && (after || r.Target == jump.Target) {
				m.s.marks[r.ID] = mark{} // a person has said something new: what was seen before it is no standstill
			}
			if (r.Way == graph.Back && after) || (r.Way == graph.Self && (after || r.Target == jump.Target)) {
				m.s.used[r.ID] = 0
			}
		}
	}
}

// requeue queues the targets and all that depends on them again, the sources among them too.
func (m *machine) requeue(taken []graph.Rule) {
	again := graph.NewSet(len(m.g.Phases))
	for _, r := range taken {
		again.Add(r.Target)
		again.Union(m.g.Phases[r.Target].After)
	}
	m.queueAgain(again, nil)
	for _, r := range taken {
		m.edit(r.Target).forced = true
	}
}

// queueAgain starts a new entry of a set of phases. A detour among them is not entered any more, unless a
// phase that routed to it keeps its result. Calls among them begin afresh; those in goOn are entered where they were.
func (m *machine) queueAgain(again, goOn graph.Set) {
	m.groupEnds()
	var calls []graph.PhaseID
	for _, p := range m.s.plan.order {
		if !again.Has(p) || m.s.phases[p].beyond {
			continue
		}
		ph := m.edit(p)
		if ph.asks() {
			m.record(m.at(p, AskWithdrawn))
		}
		if ph.status != Queued {
			m.move(p, Queued)
		}
		ph = m.edit(p)
		ph.pending, ph.carried, ph.handled, ph.why, ph.forced, ph.omitted = -1, "", false, "", false, false
		ph.fresh = again
		if ph.goesOn = goOn.Has(p); m.g.Phases[p].Body() != nil && !ph.goesOn {
			calls = append(calls, p)
		}
		if m.g.Phases[p].Detour {
			ph.entries = slices.DeleteFunc(slices.Clone(ph.entries), again.Has)
			for _, e := range ph.entries {
				m.setRelease(e, releaseHeld, p)
			}
		}
		m.setRelease(p, releaseNone, -1)
		m.uncheck(m.owner(p))
		e := m.at(p, PhaseQueued)
		e.Visit++
		m.record(e)
	}
	for _, p := range calls {
		m.afresh(p)
	}
}

// makeWay stops what runs and would be queued again by a pending jump of a pipeline, for fail_fast, which does not
// wait. It says whether a call is to stop that was not before, and whether something still has to.
func (m *machine) makeWay(owner graph.PhaseID) (changed, waits bool) {
	again := graph.NewSet(len(m.g.Phases))
	for _, p := range m.g.BodyOf(owner).Own {
		if r := m.s.phases[p].pending; r >= 0 {
			t := m.g.Rules[r].Target
			again.Add(t)
			again.Union(m.g.Phases[t].After)
		}
	}
	for p := range again.All {
		if m.s.phases[p].status == Running {
			changed = changed || (m.atWork(p) || m.s.phases[p].idles()) && !m.s.phases[p].work.cut
			m.edit(p).work.cut = true
			waits = true
		}
	}
	return changed, waits
}

// mustProgress says whether a rule's loop has to change the tree: one that goes back to an agent that may
// write.
func (m *machine) mustProgress(r graph.Rule) bool {
	t := &m.g.Phases[r.Target]
	return r.Way == graph.Back && t.Kind == graph.AgentWork && t.Writer
}

// stuck says whether this jump finds the same tree and the same failure as the rule's last one, and ends the
// run if so. An unknown tree ("?") is like no other.
func (m *machine) stuck(r graph.Rule, tree string) bool {
	now := mark{set: true, tree: tree, signature: signature(m.s.phases[r.Phase].current())}
	last := m.s.marks[r.ID]
	m.s.marks[r.ID] = now
	if !last.set || tree == UnknownTree || last.tree != now.tree || last.signature != now.signature {
		return false
	}
	m.endBody(r.Phase, ReasonNoProgress, fmt.Sprintf("%s: the files are what they were at this rule's jump before, and %s ended the same way",
		m.g.Label(r.ID), m.g.Phases[r.Phase].Name), nil)
	return true
}

// UnknownTree stands for a tree that nobody looked at: it equals no tree, itself included.
const UnknownTree = "?"

var noise = lazyregexp.New(`0x[0-9a-fA-F]+|\b\d+(\.\d+)?(ns|µs|ms|s|m|h)\b|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|\d\d:\d\d:\d\d\S*|(/[^\s:/]+)+/`)

// signature is what makes two failures the same: the exit and the lines of the output, without times,
// addresses and the folders of absolute paths. Of a rejection only the tree counts.
func signature(r *result) string {
	if r == nil || r.command == nil {
		if r != nil && r.outcome == rejected {
			return "rejected"
		}
		if r != nil {
			return r.reason + "\n" + r.text
		}
		return ""
	}
	sum := sha256.Sum256([]byte(noise().ReplaceAllString(strings.TrimSpace(r.command.Output), "")))
	return fmt.Sprintf("exit %d %s", r.command.Exit, hex.EncodeToString(sum[:8]))
}
