package check

import (
	"strings"
	"testing"

	"foundry/graph"
	"foundry/runner"
)

const reviewed = loops + `  judge: {extends: critic, fallback: [second]}
  second: {extends: critic}
pipelines:
  p:
    phases:
      - {id: build, agent: coder, retries: 1, gates: [{check: "attempt > 0"}], review: judge, review_retries: 1, revert_rejected: true}
      - {id: test, run: make, keys}
`

func reviewedPipeline(t *testing.T, change ...string) *graph.Graph {
	t.Helper()
	return compile(t, strings.NewReplacer(append(change, ", keys", "")...).Replace(reviewed), "p")
}

func judging(verdict, reason string, evidence ...string) *Review {
	return &Review{Verdict: verdict, Reason: reason, Evidence: evidence, Cites: evidence != nil}
}

func attempt(r *Review, files ...string) Given {
	out := ok("")
	out.Review, out.HasFiles = r, true
	for _, f := range files {
		out.Files = append(out.Files, File{Path: f, Text: f})
	}
	return out
}

// judged are the reviews of a run: what each came to, and about what.
func judged(r Run) string {
	var out []string
	for _, e := range r.Events {
		if e.Kind == runner.ReviewJudged {
			out = append(out, e.Agent+" "+e.Outcome)
		}
	}
	return strings.Join(out, ", ")
}

func TestReview(t *testing.T) {
	t.Parallel()
	pass := judging("pass", "", "a.go")
	for _, tt := range []struct {
		name           string
		build          []Given
		change         []string
		path, judged   string
		status, reason string
		phase          string // how build ends
		turns          int
	}{
		{"a pass that cites a file", []Given{attempt(pass, "a.go")}, nil, "build test", "judge pass", "accepted", "", "success", 2},
		{"a pass that cites nothing", []Given{attempt(judging("pass", "", []string{}...), "a.go")}, nil, "build test", "judge pass", "accepted", "", "success", 2},
		{"a pass that cites what is not there", []Given{attempt(judging("pass", "", "b.go"), "a.go")}, nil, "build test", "judge unverified", "rejected", "acceptance", "unverified", 3},
		{"no verdict", []Given{attempt(judging("unverified", ""), "a.go")}, nil, "build test", "judge unverified", "rejected", "acceptance", "unverified", 3},
		{"a fail, then a pass", []Given{attempt(judging("fail", "no test")), attempt(pass, "a.go")}, nil, "build test", "judge fail, judge pass", "accepted", "", "success", 4},
		{"fails until the end", []Given{attempt(judging("fail", "no test")), attempt(judging("fail", "still none"))}, nil, "build", "judge fail, judge fail", "rejected", "unmatched", "fail", 4},
		{"unreachable is not tried again", []Given{attempt(judging("unreachable", "no network"))}, nil, "build", "judge unreachable", "rejected", "unmatched", "fail", 2},
		{"no further attempt", []Given{attempt(judging("fail", "no test"))}, []string{"review_retries: 1", "review_retries: 0"}, "build", "judge fail", "rejected", "unmatched", "fail", 2},
		{"a rule takes it", []Given{attempt(judging("fail", "no test")), attempt(judging("fail", "none")), attempt(pass, "a.go")},
			[]string{"revert_rejected: true", `route: ['on fail when reason == "review" -> build retry 1']`}, "build build test", "judge fail, judge fail, judge pass", "accepted", "", "success", 6},
		{"acceptance names it", []Given{attempt(judging("unverified", ""), "a.go")}, []string{"    phases:", "    accept: passed(\"test\")\n    phases:"}, "build test", "judge unverified", "accepted", "", "unverified", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := reviewedPipeline(t, tt.change...)
			if tt.name == "a pass that cites nothing" {
				tt.build[0].Review.Cites, tt.build[0].Review.Evidence = false, nil
			}
			r := run(t, g, &World{Phases: map[string][]Given{"build": tt.build, "test": {out(0, "")}}})
			wantPath(t, r, tt.path)
			wantEnd(t, r, tt.status, tt.reason)
			if got := judged(r); got != tt.judged {
				t.Errorf("judged %s, want %s", got, tt.judged)
			}
			if got := r.State.Phase(0).Status.String(); got != tt.phase {
				t.Errorf("build ended %s, want %s", got, tt.phase)
			}
			if got := r.State.View().Turns; got != tt.turns {
				t.Errorf("%d turns, want %d", got, tt.turns)
			}
			checkBound(t, g, r.State)
		})
	}
}

// What a failed gate and a failed review grant are counted apart.
func TestReviewRetriesAreNotThoseOfGates(t *testing.T) {
	t.Parallel()
	g := reviewedPipeline(t)
	bad := attempt(judging("pass", "", "a.go"))
	bad.Gates = map[string]string{"check": "fail"}
	good := attempt(judging("pass", "", "a.go"), "a.go")
	r := run(t, g, &World{Phases: map[string][]Given{"build": {attempt(judging("fail", "no test")), bad, good}, "test": {out(0, "")}}})
	wantEnd(t, r, "accepted", "")
	if got := r.State.Phase(0).Attempt; got != 3 {
		t.Errorf("%d attempts, want 3", got)
	}
	r = run(t, g, &World{Phases: map[string][]Given{"build": {attempt(judging("fail", "no test")), bad, bad}}})
	wantEnd(t, r, "rejected", "unmatched")
}

// A reviewer whose harness fails makes way for its fallback; with nobody left the work is unverified.
func TestReviewerFallsBack(t *testing.T) {
	t.Parallel()
	g := reviewedPipeline(t)
	for _, tt := range []struct {
		crashes int
		want    string
	}{{0, "judge pass"}, {1, "second pass"}, {2, "second unverified"}} {
		turns := 0
		s, log := playReview(t, g, func(c runner.Command) *runner.Reply {
			if !c.Purpose.Reviews() {
				return &runner.Reply{Stop: runner.StopEnd, Text: `{"status": "success"}`}
			}
			if turns++; turns <= tt.crashes {
				return &runner.Reply{Stop: runner.StopError, Error: "it crashed"}
			}
			return &runner.Reply{Stop: runner.StopEnd, Text: `{"verdict": "pass", "reason": "", "evidence": ["a.go"]}`}
		}, nil)
		if got := judged(Run{Events: log}); got != tt.want {
			t.Errorf("%d crashes: judged %s, want %s", tt.crashes, got, tt.want)
		}
		checkBound(t, g, s)
	}
}

// A verdict over a workspace that the reviewer itself changed is none.
func TestReviewerThatChangesSomethingIsNotBelieved(t *testing.T) {
	t.Parallel()
	g := reviewedPipeline(t)
	asked := ""
	_, log := playReview(t, g, func(c runner.Command) *runner.Reply {
		if c.Purpose == runner.ForReviewAgain {
			asked = "again"
		}
		if c.Purpose.Reviews() {
			return &runner.Reply{Stop: runner.StopEnd, Text: `{"verdict": "pass", "reason": "", "evidence": ["a.go"]}`}
		}
		return &runner.Reply{Stop: runner.StopEnd, Text: `{"status": "success"}`}
	}, []runner.Violation{{Path: "a.go", Change: "changed", Reason: "a review changes nothing", Undone: true}})
	if got := judged(Run{Events: log}); got != "judge unverified" || asked != "again" {
		t.Errorf("judged %s, asked %q", got, asked)
	}
}

// playReview runs the pipeline with replies of turns; left is what each reviewer left behind.
func playReview(t *testing.T, g *graph.Graph, reply func(runner.Command) *runner.Reply, left []runner.Violation) (runner.State, []runner.Event) {
	t.Helper()
	p := &player{t: t, g: g, f: &fate{seed: []int{0}}, pick: func(int) int { return 0 }, s: runner.New(g), at: newRounds()}
	p.instead = func(c runner.Command, e *runner.Event) {
		switch c.ID.Kind {
		case runner.SendTurn:
			e.Reply = reply(c)
		case runner.CheckReview:
			e.Outside = left
		case runner.JudgeGates:
			e.Kind, e.Gate, e.Outcome = runner.GateChecked, "check", "passed"
		}
	}
	p.feed(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: "run_1", Pipeline: "p", Jobs: 1}})
	return p.toTheEnd()
}

func TestCited(t *testing.T) {
	t.Parallel()
	calls := []string{"Bash go test ./...", "Read a.go"}
	for cited, want := range map[string]bool{"a.go": true, "a.go:12": true, "a.go:12:3": true, "a.go:3-9": true, "a.go#L3-L9": true, "`a.go`": true, "b.go": false, "b.go:12": false,
		"call 1": true, "call 2: it read a.go": true, "Call #2": true, "call 3": false, "call 0": false, "go test ./...": true, "Bash go test ./...": true, "go test": false, "": false, ".": false} {
		got := runner.CheckCited([]string{cited}, calls, func(path string) bool { return path == "a.go" })
		if len(got) != 1 || got[0].OK != want || got[0].Note == "" {
			t.Errorf("%q: %+v, want %v", cited, got, want)
		}
	}
}
