package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"foundry/glob"
	"foundry/internal/journal"
)

// scratchAge is how long what agents leave in the handoff area of a checkout is kept.
const scratchAge = 7 * 24 * time.Hour

// sweepScratch takes old scratch out of the checkout when a run starts, unless a run that works there may still read it.
func (s *session) sweepScratch(pl *place) {
	if !isDir(filepath.Join(pl.repo.Root(), glob.Handoff)) {
		return
	}
	entries, err := pl.store.List()
	if err != nil {
		s.note("foundry: the handoff area is left as it is: %v", err)
		return
	}
	if slices.ContainsFunc(entries, func(e journal.Entry) bool { return e.Worktree == pl.repo.Root() && !e.Over() }) {
		return
	}
	gone, err := pl.repo.SweepHandoff(time.Now().Add(-scratchAge))
	if len(gone) > 0 {
		s.note("foundry: took out of %s what nothing had touched for seven days: %s", glob.Handoff, strings.Join(gone, ", "))
	}
	if err != nil {
		s.note("foundry: %v", err)
	}
}
