package report

import (
	"strings"
	"testing"
	"time"

	"foundry/gates"
	"foundry/runner"
)

// TestReviews follows a phase that was judged twice: who is at work, what the newest verdict is, and that the turns of the
// reviewer are not taken for the agent's.
func TestReviews(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	tr := NewTrace("run_1")
	seq := 0
	add := func(e runner.Event) {
		seq++
		e.Seq, e.At, e.Phase, e.Visit = seq, at, "build", 1
		tr.Add(&e)
	}
	judged := func(attempt int, outcome, text string, cited ...gates.Check) {
		add(runner.Event{Kind: runner.TurnStarted, Agent: "judge", Purpose: "review"})
		if v := tr.Phase("build").Newest(); v.Reviewing != "judge" || v.Agent != "coder" {
			t.Errorf("%s reviews the work of %s", v.Reviewing, v.Agent)
		}
		add(runner.Event{Kind: runner.TurnEnded, Agent: "judge", Purpose: "review", Reply: &runner.Reply{Stop: runner.StopEnd, Tokens: 5, CostKnown: true}})
		add(runner.Event{Kind: runner.ReviewJudged, Agent: "judge", Attempt: attempt, Outcome: outcome, Text: text, Checks: cited, Tree: "t"})
	}
	add(runner.Event{Kind: runner.PhaseStarted})
	add(runner.Event{Kind: runner.TurnStarted, Agent: "coder", Purpose: "prompt"})
	add(runner.Event{Kind: runner.TurnEnded, Agent: "coder", Reply: &runner.Reply{Stop: runner.StopEnd, Tokens: 10, CostKnown: true}})
	judged(1, "fail", "no test")
	judged(2, "unverified", "no usable answer", gates.Check{Item: "b.go", Note: "no such path, and no such call"})
	add(runner.Event{Kind: runner.PhaseEnded, Status: "unverified", Reason: "review", Text: "no usable answer"})

	row := tr.Summary(nil).Phases[0]
	if len(row.Reviews) != 2 || row.Reviews[0].Verdict != "fail" || row.Reviews[1].Evidence[0].Item != "b.go" || row.Reviews[1].Tree != "t" || row.Status != "unverified" {
		t.Errorf("%+v", row)
	}
	if v := tr.Phase("build").Newest(); v.Reviewing != "" || v.Turns != 3 || v.Tokens != 20 || v.Said() != "no usable answer" {
		t.Errorf("%+v", v)
	}
	rows, _ := tr.checks()
	if len(rows) != 1 || rows[0].what != "review by judge" || rows[0].found != "unverified: no usable answer" {
		t.Errorf("the evidence is %+v", rows)
	}
	detail, err := tr.Detail("build", 0, Style{}, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"agent      coder", "review by judge  failed: no test", "review by judge  unverified: no usable answer", "fail  b.go  no such path"} {
		if !strings.Contains(detail, want) {
			t.Errorf("%q is not in\n%s", want, detail)
		}
	}
}
