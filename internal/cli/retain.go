package cli

import (
	"time"

	"foundry/graph"
	"foundry/internal/journal"
	"foundry/internal/workspace"
)

// This file says which records of past runs have had their time. A record stays as long as something of its run could
// still land or go on, whatever its age.

// expired are the runs whose records may go: not among the newest keep.Runs, or older than keep.Days, at rest for good,
// and with no worktree or branch left.
func expired(entries []journal.Entry, remains []workspace.Remains, keep graph.Keep, now time.Time) []string {
	held := map[string]bool{}
	for _, m := range remains {
		held[m.Run] = m.Worktree() || m.Branch != ""
	}
	var out []string
	for i, e := range entries { // the newest first
		old := e.Started != nil && now.Sub(*e.Started) > time.Duration(keep.Days)*24*time.Hour
		if (i >= keep.Runs || old) && e.Over() && !e.Live && e.Problem == "" && e.Started != nil && !held[e.ID] {
			out = append(out, e.ID)
		}
	}
	return out
}

// retire removes the records that have had their time, at the end of a run. Refs stay until they are pruned.
func (s *session) retire(pl *place, keep graph.Keep) {
	entries, err := pl.store.List()
	if err != nil || len(entries) == 0 {
		return
	}
	oldest := entries[len(entries)-1]
	if len(entries) <= keep.Runs && (oldest.Started == nil || time.Since(*oldest.Started) <= time.Duration(keep.Days)*24*time.Hour) {
		return
	}
	remains, err := pl.repo.Remains(s.ctx)
	if err != nil {
		s.note("foundry: old records are kept: %v", err)
		return
	}
	n := 0
	for _, id := range expired(entries, remains, keep, time.Now()) {
		if err := pl.store.Remove(id); err != nil {
			s.note("foundry: %v", err)
			continue
		}
		n++
	}
	if n > 0 {
		s.note("foundry: removed %s, as project.keep says (%d runs, %d days)", count(n, "old record"), keep.Runs, keep.Days)
	}
}
