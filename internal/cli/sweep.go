package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"foundry/graph"
	"foundry/internal/journal"
	"foundry/internal/workspace"
	"foundry/runner"
	"foundry/schema"
)

func sweepVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:  "sweep",
			Usage: "close dead runs, list and clean what runs have left",
			Description: `Closes runs whose process is gone in the middle as failed, with what they left running, and lists the worktrees, branches,
refs and records that no live run has. Without --prune nothing is deleted.

With --prune it takes away what is proven to lose nothing: a worktree whose commits are in another branch and in which
nothing is uncommitted or ignored outside worktree.scratch; branches likewise; the refs of discarded runs and of runs
without a record; records that project.keep does not keep. What it cannot prove it leaves, and says why. It never
touches a run that is live, waits, or can go on.`,
			Flags: []cli.Flag{
				&cli.BoolFlag{Name: "dry-run", Usage: "only say what would be done"},
				&cli.BoolFlag{Name: "prune", Usage: "delete what loses nothing"},
				jsonFlag(),
			},
			Action: s.sweep,
		},
		exits:    []Exit{Failed},
		examples: []example{{"foundry sweep", "close dead runs; what could be deleted"}, {"foundry sweep --prune --dry-run", "what --prune would do"}, {"foundry sweep --prune", "delete it"}},
	}
}

// swept is one thing that a sweep found, as sweep --json has it.
type swept struct {
	Action string `json:"action"` // closed, removed, kept; with --dry-run, and for what needs --prune: close, remove
	Kind   string `json:"kind"`   // run, worktree, refs, record
	Run    string `json:"run"`
	What   string `json:"what"` // a directory, or how many refs
	Why    string `json:"why"`
	Hint   string `json:"hint"`
}

// sweeping is one sweep.
type sweeping struct {
	s          *session
	pl         *place
	dry, prune bool
	found      []swept
}

func (s *session) sweep(c *cli.Context) error {
	if err := atMost(c, 0); err != nil {
		return err
	}
	pl, err := s.openPlace()
	if err != nil {
		return err
	}
	w := &sweeping{s: s, pl: pl, dry: c.Bool("dry-run"), prune: c.Bool("prune"), found: []swept{}}
	if err := w.all(); err != nil {
		return failure(err)
	}
	if c.Bool("json") {
		return s.printJSON(w.found)
	}
	return s.print(w.text())
}

func (w *sweeping) all() error {
	if err := w.closeDead(); err != nil {
		return err
	}
	// What is left is listed before the records: a run that begins meanwhile has its record first.
	remains, err := w.pl.repo.Remains(w.s.ctx)
	if err != nil {
		return err
	}
	entries, err := w.pl.store.List()
	if err != nil {
		return err
	}
	runs := map[string]*journal.Entry{}
	for i := range entries {
		runs[entries[i].ID] = &entries[i]
	}
	for _, m := range remains {
		if err := w.remains(m, runs[m.Run]); err != nil {
			return err
		}
	}
	return w.records()
}

// say notes what was found. done is the word for what was done, to what is to be.
func (w *sweeping) say(done, to string, did bool, f swept) {
	f.Action = to
	if did {
		f.Action = done
	}
	w.found = append(w.found, f)
}

// closeDead closes the runs that were cut off and whose process is gone.
func (w *sweeping) closeDead() error {
	entries, err := w.pl.store.List()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Live || e.Problem != "" || e.Started == nil {
			continue
		}
		events, err := w.pl.store.Read(e.ID)
		if err != nil {
			return err
		}
		if o := runner.OutlineOf(e.ID, events); o.Status != "running" || o.Discarded {
			continue
		}
		f := swept{Kind: "run", Run: e.ID, Why: "its process is gone", Hint: "foundry resume " + e.ID}
		if w.dry {
			w.say("", "close", false, f)
			continue
		}
		left, err := w.close(e.ID)
		switch {
		case errors.Is(err, journal.ErrLive):
			continue
		case err != nil:
			f.Why, f.Hint = "it could not be closed: "+err.Error(), asProblem(err).hint
			w.say("kept", "", true, f)
			continue
		}
		if len(left) > 0 {
			f.Why += "; ended " + strings.Join(left, ", ")
		}
		w.say("closed", "", true, f)
	}
	return nil
}

// close ends a dead run as failed, and returns the processes that it had left.
func (w *sweeping) close(id string) (left []string, err error) {
	rec, err := w.pl.take(id)
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	d, err := w.s.replay(w.pl, rec)
	if err != nil {
		return nil, err
	}
	events, err := w.s.closeRun(d, runner.Event{Kind: runner.WorldFailed, Reason: runner.ReasonOrphaned, Text: "closed by foundry sweep"})
	for _, e := range events {
		if e.Kind == runner.ProcessLeft {
			left = append(left, e.Text)
		}
	}
	return left, err
}

// remains looks at what is left of one run, e being its record, if it has one.
func (w *sweeping) remains(m workspace.Remains, e *journal.Entry) error {
	if e != nil && !e.Live && (e.Problem != "" || e.Started == nil) {
		why := "its record holds no start"
		if e.Problem != "" {
			why = "its record cannot be read: " + e.Problem
		}
		w.keep(w.places(m), why, moveAway(m.Run))
		return nil
	}
	if e != nil && (e.Live || !e.Over()) {
		if m.Worktree() && !e.Live {
			w.keep(w.places(m), "the run is "+e.Status+" and can go on", "foundry resume "+m.Run+", or foundry kill "+m.Run)
		}
		return nil
	}
	if m.Worktree() || m.Branch != "" {
		clean, err := w.clean(m, e)
		if err != nil || !clean {
			return err
		}
	}
	if m.Refs == 0 || e != nil && !e.Discarded {
		return nil
	}
	why := "the run was discarded"
	if e == nil {
		why = "the run has no record"
	}
	if w.prune && !w.dry {
		if err := w.pl.repo.Prune(w.s.ctx, m.Run); err != nil {
			return err
		}
	}
	w.say("removed", "remove", w.prune && !w.dry, swept{Kind: "refs", Run: m.Run, What: fmt.Sprintf("%d under refs/foundry/%s", m.Refs, m.Run), Why: why})
	return nil
}

// places are the worktrees of a run, its own or else its branch, and those that phases of it had to themselves.
func (w *sweeping) places(m workspace.Remains) []swept {
	var list []swept
	switch {
	case m.Dir != "" || m.Entry != "":
		list = append(list, swept{Kind: "worktree", Run: m.Run, What: w.s.display(w.pl.repo.WorktreeDir(m.Run))})
	case m.Branch != "":
		list = append(list, swept{Kind: "branch", Run: m.Run, What: "foundry/" + m.Run})
	}
	for _, a := range m.Aside {
		list = append(list, swept{Kind: "worktree", Run: m.Run, What: w.s.display(w.pl.repo.AsideDir(m.Run, a))})
	}
	return list
}

// keep says that places stay.
func (w *sweeping) keep(list []swept, why, hint string) {
	for _, f := range list {
		f.Why, f.Hint = why, hint
		w.say("kept", "", true, f)
	}
}

// clean takes worktrees and a branch away when nothing is lost with them. It says whether they are gone, or would be.
func (w *sweeping) clean(m workspace.Remains, e *journal.Entry) (bool, error) {
	list := w.places(m)
	var rec *journal.Record
	if e != nil && !w.dry && w.prune {
		var err error
		if rec, err = w.pl.take(m.Run); errors.Is(err, journal.ErrLive) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		defer rec.Close()
	}
	err := w.pl.repo.LosesNothing(w.s.ctx, m, nil)
	if err == nil && w.prune && !w.dry {
		err = w.pl.repo.Clean(w.s.ctx, m, nil)
	}
	var blocked *workspace.BlockedError
	switch {
	case errors.As(err, &blocked):
		hint := blocked.Hint
		for i := range list {
			if e == nil { // discard knows no run without a record
				hint = "copy out what you need, then: git worktree remove --force " + list[i].What
			}
			w.keep(list[i:i+1], blocked.Error(), hint)
		}
		return false, nil
	case err != nil:
		w.keep(list, "it could not be looked at: "+err.Error(), "")
		return false, nil
	}
	if rec != nil && e.Merged == nil && !e.Discarded {
		if err := appendTo(rec)(runner.Event{Kind: runner.RunDiscarded, Text: "swept: nothing was lost with its worktree"}); err != nil {
			return false, err
		}
	}
	for _, f := range list {
		f.Why = "all of it is in another branch"
		w.say("removed", "remove", w.prune && !w.dry, f)
	}
	return true, nil
}

// records removes the records that the repository does not keep, and those of runs that never began.
func (w *sweeping) records() error {
	entries, err := w.pl.store.List()
	if err != nil {
		return err
	}
	remains, err := w.pl.repo.Remains(w.s.ctx)
	if err != nil {
		return err
	}
	keep := w.s.keep()
	why := map[string]string{}
	var ids []string
	for _, id := range expired(entries, remains, keep, time.Now()) {
		ids, why[id] = append(ids, id), fmt.Sprintf("project.keep has %d runs, %d days", keep.Runs, keep.Days)
	}
	for _, e := range entries {
		// A record that is being made has no event yet either.
		if st, err := os.Stat(w.pl.store.Dir(e.ID)); e.Started == nil && !e.Live && e.Problem == "" && err == nil && time.Since(st.ModTime()) > time.Minute {
			ids, why[e.ID] = append(ids, e.ID), "nothing was done in it"
		}
	}
	for _, id := range ids {
		if w.prune && !w.dry {
			if err := w.pl.store.Remove(id); errors.Is(err, journal.ErrLive) {
				continue
			} else if err != nil {
				return err
			}
		}
		w.say("removed", "remove", w.prune && !w.dry, swept{Kind: "record", Run: id, What: w.s.display(w.pl.store.Dir(id)), Why: why[id]})
	}
	return nil
}

// keep is what the pipeline file says is kept, or what is kept without one.
func (s *session) keep() graph.Keep {
	p, err := s.loadOrBuiltins()
	if err != nil || p.doc == nil {
		return graph.KeepOf(&schema.Keep{})
	}
	return graph.KeepOf(&p.doc.Project.Keep)
}

func (w *sweeping) text() string {
	if len(w.found) == 0 {
		return "nothing to sweep\n"
	}
	var b strings.Builder
	more := 0
	for _, f := range w.found {
		fmt.Fprintf(&b, "%-8s %-8s %s", f.Action, f.Kind, f.Run)
		if f.What != "" {
			fmt.Fprintf(&b, "  %s", f.What)
		}
		fmt.Fprintf(&b, "\n  %s\n", f.Why)
		if f.Hint != "" && f.Action != "closed" {
			fmt.Fprintf(&b, "  hint: %s\n", f.Hint)
		}
		if f.Action == "remove" {
			more++
		}
	}
	if more > 0 && !w.prune {
		fmt.Fprintf(&b, "\n`foundry sweep --prune` removes %d of these\n", more)
	}
	return b.String()
}
