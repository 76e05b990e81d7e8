package drive

import (
	"time"

	"foundry/graph"
	"foundry/internal/journal"
	"foundry/runner"
)

// Note takes facts into a run that is at rest, with what the machine decides about them, and carries nothing
// out: an answer that somebody will resume on, a kill.
func Note(g *graph.Graph, rec *journal.Record, s runner.State, missing []runner.Event, now func() time.Time, facts ...runner.Event) error {
	stamp := func(events []runner.Event) []runner.Event {
		for i := range events {
			events[i].At = now().UTC()
		}
		return events
	}
	if err := rec.Append(stamp(missing)...); err != nil {
		return err
	}
	for _, f := range facts {
		log := []runner.Event{f}
		next, commands, err := runner.Step(g, s, f)
		if err != nil {
			return err
		}
		s = next
		for _, c := range commands {
			if c.ID.Kind == runner.Record {
				log = append(log, *c.Event)
			}
		}
		if err := rec.Append(stamp(log)...); err != nil {
			return err
		}
	}
	return rec.Sync()
}
