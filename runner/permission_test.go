package runner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "foundry/runner"
)

var touch = Tool{Name: "Bash", Kind: "execute", Command: "touch x"}

// stops plays a turn that was stopped because its agent asked for a permission, and the look at what it changed.
func (sc *script) stops(name string, turn int, tool Tool, violations ...Violation) {
	sc.t.Helper()
	e := sc.about(name, TurnEnded)
	e.Turn, e.Agent, e.Tool, e.Text, e.Reply = turn, "coder", &tool, "may it?", &Reply{Stop: StopPermission, Tokens: 5}
	sc.feed(e)
	sc.want("boundary " + name)
	b := sc.about(name, BoundaryChecked)
	b.Tree, b.Changed, b.Outside = "half", []string{"a"}, violations
	sc.feed(b)
}

func (sc *script) starts(name string) {
	sc.t.Helper()
	e := sc.about(name, SnapshotTaken)
	e.Tree = "tree"
	sc.feed(e)
}

func (sc *script) answers(name string, turn int, answer string) {
	e := sc.about(name, PermissionAnswered)
	e.Turn, e.Answer, e.Text = turn, answer, "note"
	sc.feed(e)
}

// replays checks that each beginning of the log leads to where the machine was then.
func (sc *script) replays() {
	sc.t.Helper()
	for n := range len(sc.log) + 1 {
		s, missing, err := Replay(sc.g, sc.log[:n], nil)
		if err != nil {
			sc.t.Fatalf("after %d of %d events: %v", n, len(sc.log), err)
		}
		again, more, err := Replay(sc.g, append(slices.Clone(sc.log[:n]), missing...), nil)
		if err != nil || len(more) > 0 || fmt.Sprint(Outstanding(sc.g, again)) != fmt.Sprint(Outstanding(sc.g, s)) {
			sc.t.Fatalf("after %d events: %v, still missing %v", n, err, more)
		}
	}
}

func TestPermissionParksAndGoesOn(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"approve", "reject"} {
		sc := begin(t, "    phases: [{id: build, agent: coder}]\n", RunInfo{})
		sc.starts("build")
		sc.stops("build", 1, touch)
		sc.want("ask build", "park")
		sc.end(RunWaiting, "")
		if p, ok := sc.s.Asked(0); !ok || p.Turn != 1 || p.Tool.Command != "touch x" || p.Text != "may it?" {
			t.Errorf("asked for %+v, %v", p, ok)
		}
		if open := sc.s.Open(); len(open) != 1 {
			t.Errorf("open: %v", open)
		}
		sc.feed(Event{Kind: RunResumed})
		sc.want("ask build", "park")
		sc.answers("build", 2, answer) // to another request
		sc.want()
		sc.end(RunWaiting, "")
		sc.answers("build", 1, answer)
		sc.want("turn build")
		prompt, err := Prompt(sc.g, sc.s, sc.wants[0], World{}, true)
		if err != nil || !strings.Contains(prompt.Text, "Bash touch x") || !strings.Contains(prompt.Text, "note") || strings.Contains(prompt.Text, "cut off") {
			t.Errorf("%v: %s", err, prompt.Text)
		}
		if allow, note, known := sc.s.Permitted(0, "coder", touch); !known || note != "note" || allow != (answer == "approve") {
			t.Errorf("%s: allowed %v, %q, %v", answer, allow, note, known)
		}
		for _, other := range []Tool{{Name: "Bash", Kind: "execute", Command: "touch y"}, {Name: "Bash", Kind: "edit", Command: "touch x"}, {Name: "Bash", Kind: "execute", Command: "touch x", Whole: "more"}} {
			if _, _, known := sc.s.Permitted(0, "coder", other); known {
				t.Errorf("%+v was not asked", other)
			}
		}
		sc.answers("build", 1, "approve") // late
		sc.want()
		sc.reply("build", 2, `{"status": "success", "changed_files": ["a"]}`)
		sc.bounds("build")
		sc.verdict()
		sc.end(RunAccepted, "")
		if v := sc.s.View(); v.Turns != 2 || v.Tokens != 5 {
			t.Errorf("%d turns, %d tokens", v.Turns, v.Tokens)
		}
		sc.replays()
	}
}

// What a turn may not have changed is said to the agent before anybody is asked.
func TestPermissionWaitsForTheBoundary(t *testing.T) {
	t.Parallel()
	sc := begin(t, "    phases: [{id: build, agent: coder, retries: 1}]\n", RunInfo{})
	sc.starts("build")
	sc.stops("build", 1, touch, Violation{Path: ".git/x", Change: "created", Reason: "protected", Undone: true})
	sc.want("turn build")
	if sc.wants[0].Purpose != ForCheck || sc.wants[0].ID.Attempt != 2 {
		t.Errorf("got %+v", sc.wants[0])
	}
	sc.replays()
}

// A phase that waits holds the workspace, but no place among the jobs; the run waits when all others are done.
func TestPermissionBesideOtherWork(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: one, agent: critic, needs: []}
      - {id: two, agent: spare, writes: [], needs: []}
      - {id: write, run: "true", writes: [x], needs: []}
`, RunInfo{Jobs: 1})
	sc.starts("one")
	sc.stops("one", 1, touch)
	sc.want("ask one", "snapshot two")
	sc.end(RunRunning, "")
	sc.starts("two")
	sc.reply("two", 1, success)
	sc.bounds("two")
	sc.want("park") // write has to wait for one
	sc.end(RunWaiting, "")
	sc.answers("one", 1, "reject")
	sc.want("turn one")
	sc.end(RunRunning, "")
	sc.replays()
}

func TestPermissionIsTakenAway(t *testing.T) {
	t.Parallel()
	for name, fact := range map[string]Event{
		"kill":   {Kind: RunKilled},
		"budget": {Kind: BudgetReached, Limit: "time"},
	} {
		sc := begin(t, "    phases: [{id: build, agent: coder}]\n", RunInfo{})
		sc.starts("build")
		sc.stops("build", 1, touch)
		sc.feed(fact)
		sc.want("undo build")
		if len(sc.s.Open()) > 0 {
			t.Errorf("%s: it is still asked", name)
		}
		u := sc.about("build", UndoDone)
		u.Tree = "tree"
		sc.feed(u)
		if sc.status("build") != Stopped || !sc.s.View().Status.Terminal() {
			t.Errorf("%s: build is %s, the run %s", name, sc.status("build"), sc.s.View().Status)
		}
		sc.replays()
	}
	sc := begin(t, "    phases: [{id: build, agent: coder}]\n", RunInfo{})
	sc.starts("build")
	sc.stops("build", 1, touch)
	sc.feed(Event{Kind: RunResumed})
	sc.feed(Event{Kind: WorkspaceEdited, Tree: "edited"})
	sc.want("snapshot build")
	sc.answers("build", 1, "approve")
	sc.want()
	sc.replays()
}

// A reviewer that asks is answered as one of its own: what the other agent was allowed counts for that one alone.
func TestPermissionOfAReviewer(t *testing.T) {
	t.Parallel()
	sc := begin(t, "    phases: [{id: build, agent: coder, review: critic}]\n", RunInfo{})
	sc.starts("build")
	sc.reply("build", 1, success)
	sc.bounds("build")
	sc.want("turn build")
	e := sc.about("build", TurnEnded)
	e.Turn, e.Agent, e.Tool, e.Text, e.Reply = 2, "critic", &touch, "may it?", &Reply{Stop: StopPermission}
	sc.feed(e)
	c := sc.about("build", ReviewChecked)
	c.Tree = "tree"
	sc.feed(c)
	sc.want("ask build", "park")
	sc.answers("build", 2, "reject")
	sc.want("turn build")
	if w := sc.wants[0]; w.Purpose != ForReviewPermission || sc.g.Agents[w.Agent].Name != "critic" {
		t.Errorf("got %+v", w)
	}
	prompt, err := Prompt(sc.g, sc.s, sc.wants[0], World{}, true)
	if err != nil || !strings.Contains(prompt.Text, "A person has refused it: note") || !strings.Contains(prompt.Text, "verdict") {
		t.Errorf("%v: %s", err, prompt.Text)
	}
	if _, _, known := sc.s.Permitted(0, "coder", touch); known {
		t.Error("it counts for the other agent")
	}
	sc.replays()
}
