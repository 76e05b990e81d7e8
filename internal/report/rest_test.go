package report

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"foundry/runner"
)

// TestOrderOfItems holds that what belongs to an item stands behind it, at every depth, in whatever order it begins.
func TestOrderOfItems(t *testing.T) {
	t.Parallel()
	log := start("all", "z")
	for _, name := range []string{"all[a]", "all[a]/do", "all[b]", "all[b]/do", "all[b]/do[p]", "all[a]/do[p]", "all[b]/do[q]", "all[a]/do[q/r]"} {
		log = log.on(name, 1, entered)
	}
	var got []string
	for _, p := range TraceOf(id, log.events).Phases {
		got = append(got, p.Name)
	}
	if want := "all all[a] all[a]/do all[a]/do[p] all[a]/do[q/r] all[b] all[b]/do all[b]/do[p] all[b]/do[q] z"; strings.Join(got, " ") != want {
		t.Errorf("order\n got %s\nwant %s", strings.Join(got, " "), want)
	}
}

// TestRewindForgetsItems holds that the items of a list that was read behind the point of a rewind are gone with it.
func TestRewindForgetsItems(t *testing.T) {
	t.Parallel()
	log := start("plan", "do")
	back := len(log.events)
	log = log.on("do", 1, entered).on("do[a]", 1, entered).on("do[b]", 0, runner.Event{Kind: runner.PhaseQueued})
	log = log.add(runner.Event{Kind: runner.RunRewound, To: log.events[back-1].Seq}).on("do", 2, entered).on("do[a]", 2, entered)
	tr := TraceOf(id, log.events)
	var got []string
	for _, p := range tr.Phases {
		got = append(got, p.Name+" "+p.Status)
	}
	if want := "plan queued, do running, do[a] running"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}

// TestWaitingList holds that a phase does not run when an item of it is what a run at rest waits for.
func TestWaitingList(t *testing.T) {
	t.Parallel()
	tr := TraceOf(id, start("do").on("do", 1, runner.Event{Kind: runner.PhaseStarted, Each: "list"}).on("do[a]", 1, entered, runner.Event{Kind: runner.PhaseBlocked, Text: "no key"}).events)
	if text := tr.Final(Style{}, Facts{}); !strings.HasPrefix(text, "waiting") || strings.Contains(text, "running") {
		t.Error(text)
	}
}

// TestNobodyCarriedItOn holds that the hours between two processes of a run are nobody's time: not of the phase that was
// left and entered anew, and not of the one that goes on in its visit.
func TestNobodyCarriedItOn(t *testing.T) {
	t.Parallel()
	log := start("do").on("do", 1, entered).on("do[a]", 1, entered).at(3)
	log = log.on("do[a]", 1, runner.Event{Kind: runner.TurnStarted}).at(9000).add(runner.Event{Kind: runner.RunResumed})
	log = log.at(9002).on("do[a]", 2, entered, ended("success", "", "")).on("do", 1, ended("success", "", ""))
	log = log.add(runner.Event{Kind: runner.RunEnded, Status: "accepted"})
	tr := TraceOf(id, log.events)
	text := tr.Final(Style{}, Facts{Now: tr.Last.Add(time.Hour)})
	if !regexp.MustCompile(`(?m)^  do +passed +1 +\d\.`).MatchString(text) || !regexp.MustCompile(`(?m)^  do\[a\] +passed +2 +\d\.`).MatchString(text) {
		t.Error(text)
	}
	if v := tr.Phase("do[a]").visit(1); v.Status != "interrupted" || v.Ended.IsZero() {
		t.Errorf("the visit that was cut off is %s, ended %v", v.Status, v.Ended)
	}
}

// TestLandedAfterAll holds that a run that was merged in the end does not say why it was not at first.
func TestLandedAfterAll(t *testing.T) {
	t.Parallel()
	log := start("a").add(runner.Event{Kind: runner.RunEnded, Status: "accepted"}).add(runner.Event{Kind: runner.RunSettled, Text: "not merged: a.txt is in the way"})
	if text := TraceOf(id, log.events).Final(Style{}, Facts{}); !strings.Contains(text, "not merged a.txt is in the way") {
		t.Error(text)
	}
	log = log.add(runner.Event{Kind: runner.RunMerged, Commit: "0123456789abcdef"})
	if text := TraceOf(id, log.events).Final(Style{}, Facts{}); strings.Contains(text, "not merged") || !strings.Contains(text, "merged     0123456789") {
		t.Error(text)
	}
}
