package report

import (
	"fmt"
	"testing"

	"foundry/runner"
)

// TestItemsOfAVisit holds that the items of the newest visit are shown as they stand, and those of an earlier one as that
// left them.
func TestItemsOfAVisit(t *testing.T) {
	t.Parallel()
	each := runner.Event{Kind: runner.PhaseStarted, Each: "list"}
	grown := runner.Event{Kind: runner.GraphGrown, Items: []runner.GrownItem{{Name: "do[a]", ID: "a"}, {Name: "do[b]", ID: "b", Needs: []string{"a"}, Model: "heavy"}}}
	log := start("do").on("do", 1, each, grown).
		on("do[a]", 1, entered, ended("fail", "exit", "")).on("do[b]", 0, runner.Event{Kind: runner.PhaseNotRun, Reason: "do[a] ended fail"}).on("do", 1, ended("fail", "unmatched", "")).
		on("do", 2, each, grown).on("do[a]", 2, entered, ended("success", "", "")).on("do[b]", 1, entered, runner.Event{Kind: runner.TurnStarted, Model: "opus"})
	tr := TraceOf(id, log.events)
	for visit, want := range map[int]string{
		1: "[{a do[a]  [] fail exit 2  } {b do[b]  [a] not_run  1 heavy }]",
		2: "[{a do[a]  [] success  2  } {b do[b]  [a] running  1 heavy opus}]",
	} {
		row, err := tr.PhaseRow("do", visit, nil)
		if got := fmt.Sprint(row.Items); err != nil || got != want {
			t.Errorf("visit %d: %v\n got %s\nwant %s", visit, err, got, want)
		}
	}
	if _, err := tr.PhaseRow("do", 3, nil); err == nil {
		t.Error("there is no third visit")
	}
}
