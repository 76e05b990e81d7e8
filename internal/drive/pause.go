package drive

import (
	"context"
	"time"

	"foundry/runner"
)

// This file waits for a provider's usage limit to end while somebody is at the terminal: the run then goes on by itself.
// Without a terminal, or when nobody knows the time, a paused run comes to rest.

// againAfter is how long is waited at least when a limit is met again at once: a provider may be wrong about the time.
const againAfter = time.Minute

// awaitLimit arranges for the run to go on when its limit ends, and says whether it will.
func (d *driver) awaitLimit(end time.Time) bool {
	if d.Ask == nil || d.Say == nil || end.IsZero() {
		return false
	}
	if earliest := d.Now().Add(againAfter); d.waited && end.Before(earliest) {
		end = earliest
	}
	d.goOnAt, d.waited = end, true
	d.Say("foundry: it waits for the usage limit to end at " + end.Local().Format("15:04 MST on 2 January") + ", and goes on then; ctrl-c leaves it paused")
	return true
}

// limitTimer fires when the limit that is waited for ends; nil when none is.
func (d *driver) limitTimer() <-chan time.Time {
	if d.goOnAt.IsZero() {
		return nil
	}
	return time.After(d.goOnAt.Sub(d.Now()))
}

// goOn takes a paused run up again, as a resume in another process would.
func (d *driver) goOn(work context.Context) {
	d.goOnAt = time.Time{}
	if d.err = d.close(nil); d.err != nil {
		return
	}
	clear(d.heard)
	d.still = true
	d.err = d.putBack(work)
	d.still = false
	d.take(work, runner.Event{Kind: runner.RunResumed})
}
