package report

import (
	"time"

	"foundry/runner"
)

// This file measures visits. A run may lie for days between two processes that carry it on; that time is no visit's.

// rested is told that a process goes on with the run: since the event before, nothing was at work. A person who was
// asked was.
func (t *Trace) rested(e *runner.Event) {
	t.left = t.Last
	for _, p := range t.Phases {
		if v := p.Newest(); v != nil && v.Ended.IsZero() && v.Question == "" {
			v.idle += max(e.At.Sub(t.Last), 0)
		}
	}
}

// cutOff is told that a phase begins anew: the visit that it was left in has ended when the run was left.
func (v *Visit) cutOff(left time.Time) {
	if v != nil && v.Ended.IsZero() {
		v.Status, v.idle = "interrupted", 0
		v.Ended = v.Started
		if left.After(v.Started) {
			v.Ended = left
		}
	}
}

// Took is how long a visit has been under way, up to now when it has not ended. The time in which no process carried
// the run on does not count.
func (v *Visit) Took(now time.Time) time.Duration {
	if !v.Ended.IsZero() {
		now = v.Ended
	}
	return max(now.Sub(v.Started)-v.idle, 0) // the clock may have been set back
}
