package journal

import (
	"testing"
	"time"

	"foundry/runner"
)

// A record whose process died before its first event does not hide the run that was the last.
func TestLastIsARunThatBegan(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	for i, id := range []string{"run_261130_000001", "run_261130_000002"} {
		rec, err := s.Create(id)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			e := runner.Event{Kind: runner.RunStarted, At: time.Now(), Run: &runner.RunInfo{ID: id, Pipeline: "p"}}
			if err := rec.Append(e); err != nil {
				t.Fatal(err)
			}
		} else if got, err := s.Find("last"); err != nil || got != id {
			t.Errorf("while it is live the last run is %q, %v", got, err)
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Find("last"); err != nil || got != "run_261130_000001" {
		t.Errorf("the last run is %q, %v", got, err)
	}
}
