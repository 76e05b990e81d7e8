package report

import (
	"encoding/json"
	"time"

	"foundry/gates"
	"foundry/runner"
)

// tape makes a log: each call of at sets the clock, each add an event.
type tape struct {
	now    time.Time
	events []runner.Event
}

func (l *tape) at(seconds float64) *tape {
	l.now = noon.Add(time.Duration(seconds * float64(time.Second)))
	return l
}

func (l *tape) add(events ...runner.Event) *tape {
	for _, e := range events {
		e.At, e.Seq = l.now, len(l.events)+1
		l.events = append(l.events, e)
	}
	return l
}

func (l *tape) on(phase string, visit int, events ...runner.Event) *tape {
	for _, e := range events {
		e.Phase, e.Visit = phase, visit
		l.add(e)
	}
	return l
}

func start(phases ...string) *tape {
	l := (&tape{}).at(0).add(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{
		ID: id, Pipeline: "plan-build-test", Request: "add subtraction to the calculator\nand test it", Isolation: "worktree", Merge: "ask",
		Base: "main", Branch: "foundry/" + id, BranchPoint: "3f2a1b9c0d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a", Worktree: ".foundry-worktrees/" + id}})
	for _, p := range phases {
		l.on(p, 0, runner.Event{Kind: runner.PhaseQueued})
	}
	return l
}

func turn(tokens int, cost float64) runner.Event {
	return runner.Event{Kind: runner.TurnEnded, Attempt: 1, File: "replies/x.md", Reply: &runner.Reply{Stop: runner.StopEnd, Tokens: tokens, Cost: cost, CostKnown: cost >= 0}}
}

func sent(agent string) runner.Event {
	return runner.Event{Kind: runner.TurnStarted, Agent: agent, Harness: "command", File: "prompts/x.md"}
}

func reply(text string) runner.Event {
	return runner.Event{Kind: runner.EnvelopeAccepted, Envelope: json.RawMessage(text)}
}

func gate(name, outcome string, checks ...gates.Check) runner.Event {
	return runner.Event{Kind: runner.GateChecked, Gate: name, Outcome: outcome, Checks: checks}
}

func ended(status, reason, text string) runner.Event {
	return runner.Event{Kind: runner.PhaseEnded, Status: status, Reason: reason, Text: text}
}

func command(line string, exit int, output string) runner.Event {
	return runner.Event{Kind: runner.CommandEnded, File: "logs/test.log", Result: &runner.CommandResult{Command: line, Exit: exit, Output: output, Millis: 1240}}
}

var ok, entered, attempt = gates.Check{Item: "calc.go", OK: true}, runner.Event{Kind: runner.PhaseStarted}, runner.Event{Kind: runner.AttemptStarted, Attempt: 1}

// repaired is a run that fails once, is repaired, and is accepted.
func repaired() *tape {
	l := start("plan", "build", "test", "review", "commit", "note")
	l.at(0.2).on("plan", 1, entered, attempt, sent("planner")).
		at(8).on("plan", 1, turn(4100, 0.02), reply(`{"status":"success","summary":"one step: write Sub"}`),
		runner.Event{Kind: runner.BoundaryChecked, Changed: []string{"specs/p.md"}},
		gate("artifacts_exist", "passed", gates.Check{Item: "specs/p.md", OK: true, Note: "new, 812 bytes"}), gate("json_parses", "empty"),
		ended("success", "", ""))
	l.on("build", 1, entered, attempt, sent("builder")).
		at(14).on("build", 1, turn(2200, 0.01), runner.Event{Kind: runner.EnvelopeRejected, Problems: []string{"approved: must be true or false, got a string", "status: is missing"}}, sent("builder")).
		at(19.5).on("build", 1, turn(2100, 0.01), reply(`{"status":"success","summary":"first try"}`),
		runner.Event{Kind: runner.BoundaryChecked, Changed: []string{"calc.go"}, Outside: []runner.Violation{
			{Path: "go.sum", Change: "changed", Reason: "protected (go.sum in project.protect)", Undone: true},
			{Path: ".github/workflows/ci.yml", Change: "created", Reason: `not in writes ["src/**"]`, Note: "it is a directory now"}}},
		gate("diff_matches_claims", "failed", gates.Check{Item: "calc.go", Note: "changed, but not claimed"}, ok, gates.Check{Item: "x.go", Note: "claimed, but not changed"}),
		runner.Event{Kind: runner.AttemptStarted, Attempt: 2}, sent("builder")).
		at(27).on("build", 1, turn(1900, 0.01), reply(`{"status":"success","summary":"first try, claimed"}`),
		runner.Event{Kind: runner.BoundaryChecked, Changed: []string{"calc.go"}}, gate("diff_matches_claims", "passed", ok), ended("success", "", ""))
	l.on("test", 1, entered).at(28.3).on("test", 1, command("go test ./...", 1, "=== RUN TestSub\n--- FAIL: TestSub (0.00s)\n    calc_test.go:7: got -1, want 1\nFAIL\nexit status 1\nFAIL\tcalc\t0.003s\n"),
		ended("fail", "exit", "exit 1"), runner.Event{Kind: runner.RoutePending, Rule: `on fail when exit == 1 -> build retry 2`, Target: "build", Used: 1, Of: 2,
			Seen: []runner.Seen{{Term: "exit == 1", Value: "true"}}, Feedback: "FAIL: TestSub"},
		runner.Event{Kind: runner.RouteTaken, Rule: `on fail when exit == 1 -> build retry 2`, Target: "build", Used: 1, Of: 2})
	for _, p := range []string{"build", "test", "review", "commit"} {
		l.on(p, 2, runner.Event{Kind: runner.PhaseQueued})
	}
	l.on("build", 2, runner.Event{Kind: runner.PhaseStarted, Feedback: "test failed:\n--- FAIL: TestSub"}, attempt, sent("builder")).
		at(39).on("build", 2, turn(1800, 0.01), reply(`{"status":"success","summary":"operands fixed"}`), runner.Event{Kind: runner.BoundaryChecked, Changed: []string{"calc.go"}},
		gate("diff_matches_claims", "passed", ok), ended("success", "", ""))
	l.on("test", 2, entered).at(40.1).on("test", 2, command("go test ./...", 0, "ok\n"), ended("success", "", ""))
	l.on("review", 1, entered, attempt, sent("reviewer")).at(71).on("review", 1, turn(3000, 0.03),
		reply(`{"status":"success","approved":true,"summary":"does what was asked"}`), gate("verdict_consistent", "passed", gates.Check{Item: "approved", OK: true, Note: "nothing blocking"}), ended("success", "", ""))
	l.on("commit", 1, entered).at(71.4).on("commit", 1, runner.Event{Kind: runner.CommandEnded, Commit: "9a8b7c6d5e4f3a2b1c0d", Result: &runner.CommandResult{Command: "git commit", Millis: 80}}, ended("success", "", ""))
	l.on("note", 0, runner.Event{Kind: runner.PhaseNotRun, Reason: "no route led to it"})
	l.add(runner.Event{Kind: runner.CriterionDone, Criterion: "builds", Outcome: "passed", Result: &runner.CommandResult{Command: "go build ./...", Exit: 0}},
		runner.Event{Kind: runner.CriterionDone, Criterion: "benchmarked", Outcome: "unverified", Optional: true, Result: &runner.CommandResult{Command: "./bench.sh", Exit: -1}})
	return l.add(runner.Event{Kind: runner.RunEnded, Status: "accepted", Seen: []runner.Seen{{Term: `passed("test")`, Value: "true"}, {Term: `approved("review")`, Value: "true"}}})
}

func merged() *tape {
	return repaired().add(runner.Event{Kind: runner.RunMerged, Commit: "0123456789abcdef", Target: "main", Changed: []string{"calc.go"}},
		runner.Event{Kind: runner.RunSettled, Text: "merged into main", Commit: "0123456789abcdef"})
}

// kept is one that could not be merged.
func kept() *tape {
	return repaired().add(runner.Event{Kind: runner.RunSettled, Text: "not merged: main has moved on since the branch point", Hint: "foundry merge --rebase " + id})
}

// refused is a run whose review rejects twice.
func refused() *tape {
	l := start("build", "review")
	for visit := 1; visit <= 2; visit++ {
		from := float64(visit-1) * 20
		l.at(from).on("build", visit, entered, attempt, sent("builder")).at(from+9).on("build", visit, turn(0, -1), reply(`{"status":"success"}`), ended("success", "", ""))
		l.on("review", visit, entered, attempt, sent("reviewer")).at(from+14).on("review", visit, turn(0, -1),
			reply(`{"status":"success","approved":false,"blocking":["Sub is not tested","too clever"]}`), ended("rejected", "rejected", ""))
		if visit == 1 {
			l.on("review", 1, runner.Event{Kind: runner.RoutePending, Rule: "on reject -> build retry 1", Target: "build", Used: 1, Of: 1, Feedback: "Sub is not tested"},
				runner.Event{Kind: runner.RouteTaken, Rule: "on reject -> build retry 1", Target: "build", Used: 1, Of: 1})
		}
	}
	return l.on("review", 2, runner.Event{Kind: runner.RouteSpent, Rule: "on reject -> build retry 1", Target: "build", Used: 1, Of: 1}).
		add(runner.Event{Kind: runner.RunEnded, Status: "rejected", Reason: "spent", Text: "review -> build used 1 of 1", Culprit: "review"})
}

func waiting() *tape {
	return start("build", "ship").at(1).on("build", 1, entered, attempt, sent("builder")).at(4).on("build", 1, turn(10, 0.01), reply(`{"summary":"done"}`), ended("success", "", "")).
		on("ship", 1, entered, runner.Event{Kind: runner.AskRaised, Text: "Ship it?\nIt is Friday."})
}

func failedSetup() *tape {
	return start("build").at(3).add(runner.Event{Kind: runner.SetupRan, File: "logs/setup.log", Result: &runner.CommandResult{Command: "npm ci", Exit: 1, Output: "npm ERR! code ENOTFOUND\n", Millis: 2900}},
		runner.Event{Kind: runner.WorldFailed, Reason: "setup", Text: `setup command "npm ci" ended with exit code 1`, Hint: "run npm ci in the worktree to see it again"},
		runner.Event{Kind: runner.RunEnded, Status: "failed", Reason: "setup", Text: `setup command "npm ci" ended with exit code 1`})
}

func blocked() *tape {
	return start("build").at(1).on("build", 1, entered, attempt, sent("builder")).at(4).on("build", 1, turn(10, 0.01),
		reply(`{"status":"blocked","summary":"","blocked":{"reason":"no key for the API","needs":"API_KEY in .env"}}`), ended("blocked", "", ""),
		runner.Event{Kind: runner.PhaseBlocked, Reason: "itself"})
}

func limited() *tape {
	return start("build").at(1).on("build", 1, entered, attempt, sent("builder")).at(4).on("build", 1, runner.Event{Kind: runner.TurnEnded,
		Reply: &runner.Reply{Stop: runner.StopLimit, Error: "5-hour limit reached", ResetAt: noon.Add(2 * time.Hour)}})
}
