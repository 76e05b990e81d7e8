package harness

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"foundry/internal/lazyregexp"
)

// This file notices an agent that goes round in a circle: it makes the same call again and again, gets the same answer,
// and does nothing in between that could change it. That is a stall although the agent is never quiet. A call is the
// same when tool and arguments are; one whose arguments nobody tells is never taken for the same.

// How often a call may be made in a circle. At warnRepeats the engine is told, at mostRepeats the turn is ended. A call that
// takes as long as slowCall waits for something: meanwhile the world may have changed.
const (
	warnRepeats = 5
	mostRepeats = 15
	slowCall    = 10 * time.Second
)

var errRepeats = errors.New("the same call again and again")

// repeats are the calls of a turn. The zero value is ready.
type repeats struct {
	calls map[string]*repeated
}

// repeated is a call that was made.
type repeated struct {
	times  int // with this answer, and without a change in between
	answer [sha256.Size]byte
}

// made counts a call with its answer, and says how often it was made now without a change in between. Something that was
// not done before, and that is not only looking or thinking, may have changed the world: all is counted anew.
func (r *repeats) made(t Tool, answer string, took time.Duration) int {
	key, ok := t.call()
	known := r.calls[key]
	if (!ok || known == nil) && t.Kind != Read && t.Kind != Think || took >= slowCall {
		for _, other := range r.calls {
			other.times = 0
		}
	}
	if !ok {
		return 0
	}
	if known == nil {
		known = &repeated{}
		if r.calls == nil {
			r.calls = map[string]*repeated{}
		}
		r.calls[key] = known
	}
	sum := sha256.Sum256(passingTime().ReplaceAll([]byte(answer), nil))
	if known.answer != sum {
		known.answer, known.times = sum, 0
	}
	known.times++
	return known.times
}

// call is what makes two uses of a tool the same; false when it is not known.
func (t Tool) call() (string, bool) {
	args := t.Args
	if args == "" && (t.Kind == Execute || t.Kind == Fetch) {
		args = t.Command
	}
	return t.Name + "\x00" + args, args != ""
}

// passingTime matches what differs between two answers that say the same: how long something took, and when it was.
var passingTime = lazyregexp.New(`\b\d+(\.\d+)?\s?(ns|µs|us|ms|s|m|h|seconds?|minutes?)\b|\d{4}-\d\d-\d\d|\d\d?:\d\d:\d\d(\.\d+)?`)

// goesRound is for a holder of mu: it counts a call that has ended.
func (w *watch) goesRound(t Tool, answer string, took time.Duration) {
	switch n := w.repeats.made(t, answer, took); {
	case n == warnRepeats:
		w.send(Activity{Kind: GoesRound, Tool: t, Text: fmt.Sprintf("the agent made the same call %d times with the same answer and without a change in between (%s); at %d times the turn is stopped",
			n, t.saying(), mostRepeats)})
	case n == mostRepeats && !w.over:
		w.circle = t.saying()
		go w.end(errRepeats)
	}
}
