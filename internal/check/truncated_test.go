package check

import (
	"testing"

	"foundry/runner"
)

// A turn that its length cut off is not read, not even where it holds a whole report: what it would have said next
// nobody knows. It is asked for a shorter one, once.
func TestACutOffTurnIsNotRead(t *testing.T) {
	t.Parallel()
	g := reviewedPipeline(t)
	whole := &runner.Reply{Stop: runner.StopTruncated, Text: `{"status": "success"}`}
	turns := 0
	_, log := playReview(t, g, func(c runner.Command) *runner.Reply {
		turns++
		return whole
	}, nil)
	var ended runner.Event
	for _, e := range log {
		if e.Kind == runner.EnvelopeAccepted {
			t.Errorf("the report of turn %d was used", e.Turn)
		}
		if e.Kind == runner.PhaseEnded && e.Phase == "build" {
			ended = e
		}
	}
	if turns != 2 || ended.Reason != runner.ReasonTruncated {
		t.Errorf("after %d turns it ended with %q", turns, ended.Reason)
	}

	// The same of a reviewer is no verdict.
	_, log = playReview(t, g, func(c runner.Command) *runner.Reply {
		if c.Purpose.Reviews() {
			return &runner.Reply{Stop: runner.StopTruncated, Text: `{"verdict": "pass", "reason": "", "evidence": ["a.go"]}`}
		}
		return &runner.Reply{Stop: runner.StopEnd, Text: `{"status": "success"}`}
	}, nil)
	if got := judged(Run{Events: log}); got != "judge unverified" {
		t.Errorf("judged %s", got)
	}
}
