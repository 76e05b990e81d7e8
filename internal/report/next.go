package report

import (
	"fmt"
	"path"
	"strings"

	"foundry/runner"
)

// This file says what a person can do next with a run, and sums up one that was not accepted.

// next writes what to type next.
func (t *Trace) next(b *block, f Facts) {
	steps := t.Next(f)
	longest := 0
	for _, s := range steps {
		longest = max(longest, width(s.Command))
	}
	for i, s := range steps {
		name := ""
		if i == 0 {
			name = "next"
		}
		b.line("  " + b.style.Paint(Dim, pad(name, keyColumns)) + b.style.Paint(Cyan, pad(flat(s.Command), longest)) + "   " + b.style.Paint(Dim, cut(s.What, b.room(2+keyColumns+longest+3))))
	}
}

// LastLine sums up a run that is not accepted, for the last line of what a person sees: class, phase, the file
// with the evidence, the next command. It is "" for a run that is accepted or still runs.
func (t *Trace) LastLine(f Facts) string {
	switch t.Status {
	case "rejected", "failed", "killed", "interrupted", "waiting", "paused":
	default:
		return ""
	}
	line := t.Status
	if t.Status == "paused" && !t.Paused.IsZero() {
		line += " until " + t.Paused.Format(limitTime)
	}
	if t.Reason != "" {
		line += " (" + t.Reason + ")"
	}
	name := t.Culprit()
	if t.Status == "waiting" && len(t.Asks) > 0 {
		name = t.Asks[0].Phase
	}
	if p := t.Phase(name); p != nil {
		line += ": phase " + name
		if n := len(p.Visits); n > 1 {
			line += fmt.Sprintf("@%d", n)
		}
		if v := p.Newest(); v != nil && v.Log != "" && t.Status != "waiting" {
			line += "; evidence " + path.Join(f.Records, v.Log)
		}
	} else if t.SetupLog != "" {
		line += "; evidence " + path.Join(f.Records, t.SetupLog)
	}
	if steps := t.Next(f); len(steps) > 0 {
		line += "; next: " + steps[0].Command
	}
	return flat(line)
}

// Step is a command that a person may want to type next.
type Step struct{ Command, What string }

// Next are the commands that lead on from where the run stands, the likeliest first.
func (t *Trace) Next(f Facts) []Step {
	var steps []Step
	if t.Outline.Final() {
		for _, a := range t.AfterTrouble() {
			steps = append(steps, Step{"foundry resume " + t.ID + " --after " + a.ID, "start " + a.ID + " again"})
		}
	}
	return append(steps, t.goOn(f)...)
}

func (t *Trace) goOn(f Facts) []Step {
	id := t.ID
	switch t.Status {
	case "running", "queued":
		if !f.Live {
			return []Step{{"foundry resume " + id, "go on where it was cut off"}}
		}
		return []Step{{"foundry logs -f " + id, "follow it"}, {"foundry kill " + id, "stop it for good"}}
	case "waiting":
		if len(t.Asks) == 0 {
			return []Step{{"foundry resume " + id + ` -m "…"`, "answer what blocks it"}}
		}
		a := runner.Typed(t.Asks[0].Phase)
		return []Step{{"foundry approve " + id + " " + a, "yes, and go on"}, {"foundry reject " + id + " " + a + ` -m "…"`, "no, and why"}}
	case "paused", "interrupted":
		return []Step{{"foundry resume " + id, "go on where it stopped"}}
	case "accepted":
		return t.afterAccepted()
	case "killed":
		return append([]Step{{"foundry show " + id, "what it did"}}, t.discard()...)
	}
	return t.afterRefused()
}

func (t *Trace) afterAccepted() []Step {
	id := t.ID
	if t.Merged != nil || t.Branch == "" || t.Info.Isolation == "checkout" {
		return append([]Step{{"foundry diff " + id, "what it changed"}}, t.discard()...)
	}
	if t.Dropped {
		return []Step{{"foundry diff " + id, "what it changed"}}
	}
	return []Step{{"foundry diff " + id, "what it changed"}, {"foundry merge " + id, "land it on " + first(t.Base, "its base")},
		{"foundry discard " + id, "drop it"}}
}

func (t *Trace) discard() []Step {
	if !t.hasWorktree() {
		return nil
	}
	return []Step{{"foundry discard " + t.ID, "drop it"}}
}

func (t *Trace) afterRefused() []Step {
	id := t.ID
	var steps []Step
	spent, unverified := t.Word == "spent", false
	if p := t.Phase(t.Culprit()); p != nil {
		verb := "show"
		unverified = p.Status == "unverified"
		if v := p.Newest(); v != nil {
			if v.Result != nil {
				verb = "logs"
			}
			spent = spent || len(v.Spent) > 0 // in a call, which failed for it
		}
		steps = append(steps, Step{fmt.Sprintf("foundry %s %s %s", verb, id, runner.Typed(p.Name)), "what went wrong"})
	}
	limit, budget := strings.CutPrefix(t.Word, "budget:")
	switch {
	case budget:
		grant := map[string]string{"time": "+30m", "turns": "+20", "tokens": "+500000", "cost": "+2.00", "phases": "+20"}[limit]
		steps = append([]Step{{"foundry resume " + id + " --limit " + limit + "=" + grant, "give it more and go on"}}, steps...)
	case spent:
		steps = append(steps, Step{"foundry resume " + id + " --retry 1", "one more round"})
	case t.Word == "criterion":
		steps = append(steps, Step{"foundry resume " + id, "check that again"})
	case t.Word == "orphaned", unverified, t.Status == "failed", t.Word == "unmatched":
		steps = append(steps, Step{"foundry resume " + id, "try again from there"})
	}
	if len(steps) == 0 {
		steps = append(steps, Step{"foundry show " + id, "what it did"})
	}
	return append(steps, t.discard()...)
}
