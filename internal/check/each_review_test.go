package check

import (
	"testing"

	"foundry/runner"
)

// Items are reviewed as other phases are: one that fails for good fails alone, and a phase of which an item is
// unverified has not been verified either.
func TestItemsAreReviewed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, require string
		b             *Review
		status        string // of the phase
		run           string
	}{
		{"all pass", "all", judging("pass", ""), "success", "accepted"},
		{"one is unverified", "all", judging("unverified", ""), "unverified", "rejected"},
		{"one is unverified, any will do", "any", judging("unverified", ""), "success", "accepted"},
		{"one fails", "all", judging("fail", "no test"), "fail", "rejected"},
		{"one fails, any will do", "any", judging("fail", "no test"), "success", "accepted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := compile(t, loops+`  judge: {extends: critic}
pipelines:
  p:
    params: {steps: {type: list, default: [a, b]}}
    phases:
      - {id: work, each: {in: params.steps, limit: 3, require: `+tt.require+`}, agent: coder, review: judge, review_retries: 0}
`, "p")
			a, b := attempt(judging("pass", "")), attempt(tt.b)
			r := run(t, g, &World{Phases: map[string][]Given{"work[a]": {a}, "work[b]": {b}}})
			wantEnd(t, r, tt.run, "")
			ended := ""
			for _, e := range r.Events {
				if e.Kind == runner.PhaseEnded && e.Phase == "work" {
					ended = e.Status
				}
			}
			if ended != tt.status {
				t.Errorf("work ended %s, want %s", ended, tt.status)
			}
		})
	}
}
