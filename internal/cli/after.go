package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"foundry/graph"
	"foundry/internal/drive"
	"foundry/internal/journal"
	"foundry/internal/process"
	"foundry/internal/report"
	"foundry/runner"
)

// This file starts what follows the end of a run, for the verbs that end or land one.

// afterwards starts what follows and has not been started; again is the id of one that is started whatever became of it.
// force is closed when running work is to be killed without a grace; nil: never.
func (s *session) afterwards(pl *place, sc drive.Scene, info *runner.RunInfo, again string, force <-chan struct{}) error {
	events := sc.Record.Events()
	if again == "" && !drive.AfterDue(sc.Graph, info, events) {
		return nil
	}
	kept, err := s.kept(pl, sc.Record.ID(), events)
	if err != nil {
		return err
	}
	state, _, err := runner.Replay(kept.first, events, kept.edits)
	if err != nil {
		return fmt.Errorf("replay the log of %s: %w", sc.Record.ID(), err)
	}
	guard := &process.Guard{Token: sc.Record.ID()}
	self, err := selfPath()
	if err == nil {
		err = guard.Start(self)
	}
	if err != nil {
		return fmt.Errorf("start the guard that ends a run's processes should foundry be killed: %w", err)
	}
	defer guard.Close()
	sc.Graph = kept.newest
	a := drive.Aftermath{Scene: sc, State: state, Environ: process.Environ(os.Environ()), Guard: guard, Force: force, Again: again, Dir: pl.repo.Root()}
	if runner.OutlineOf(info.ID, events).Merged == nil && isDir(info.Worktree) {
		a.Dir = info.Worktree
	}
	return drive.After(s.ctx, a, info)
}

// sayAfter says what of that failed, or may not have been done. The verdict of the run stays as it is.
func (s *session) sayAfter(t *report.Trace) {
	for _, a := range t.AfterTrouble() {
		s.note("foundry: after %s: %s; `foundry resume %s --after %s` starts it again", a.ID, a.Said(), t.ID, a.ID)
	}
}

// unfinishedEnd is a run that has ended, and not all of what follows its end is done since its process died; nil when nothing
// of that is left.
func (s *session) unfinishedEnd(pl *place, rec *journal.Record, form string) (*driving, error) {
	info, o := started(rec.Events()), runner.OutlineOf(rec.ID(), rec.Events())
	ended := o.Status == "accepted" || o.Status == "rejected" || o.Status == "failed"
	if info == nil || !ended || o.Discarded {
		return nil, nil
	}
	pl, err := pl.at(s.ctx, info)
	if err != nil {
		return nil, err
	}
	kept, err := s.kept(pl, rec.ID(), rec.Events())
	if err != nil {
		return nil, err
	}
	left := drive.Unsettled(rec.Events())
	if o.Status != "accepted" {
		left = drive.AfterDue(kept.newest, info, rec.Events())
	}
	if !left {
		return nil, nil
	}
	return &driving{pl: pl, rec: rec, graph: kept.newest, info: info, format: form}, nil
}

// finishEnd does what follows from the end of a run. goesOn says that more will be done with it.
func (s *session) finishEnd(d driving, goesOn bool) error {
	if d.format == "tty" {
		d.format = "plain"
	}
	rec := d.rec
	rec.Hide(s.mask(d.graph))
	view := s.newShow(d.format, d.graph)
	view.recall(rec.Events())
	sc := shownScene(d.pl, rec, d.graph, view)
	if !drive.Settled(rec.Events()) {
		statuses := map[string]runner.RunStatus{"accepted": runner.RunAccepted, "rejected": runner.RunRejected, "failed": runner.RunFailed}
		status := statuses[runner.OutlineOf(rec.ID(), rec.Events()).Status]
		if _, err := drive.Settle(context.WithoutCancel(s.ctx), sc, runner.View{Status: status, Info: d.info}); err != nil {
			return s.broken(d, err)
		}
	}
	if err := s.afterwards(d.pl, sc, d.info, "", nil); err != nil {
		return s.broken(d, err)
	}
	if goesOn {
		return nil
	}
	if o := runner.OutlineOf(rec.ID(), rec.Events()); o.Status != "accepted" && len(d.graph.After) > 0 {
		s.note("foundry: the run had ended, and what follows that is done now; to go on with its pipeline: `foundry resume %s` once more", rec.ID())
	}
	return s.conclude(d, view)
}

// shownScene is a run that has ended, whose events are shown as they are written.
func shownScene(pl *place, rec *journal.Record, g *graph.Graph, view *show) drive.Scene {
	record := appendTo(rec)
	return drive.Scene{Graph: g, Repo: pl.repo, Record: rec, Append: func(events ...runner.Event) error {
		if err := record(events...); err != nil {
			return err
		}
		for _, e := range events {
			view.event(e)
		}
		return nil
	}}
}

// landedOrAccepted says whether a run has come to an end that leaves nothing to resume but what follows it.
func landedOrAccepted(rec *journal.Record) bool {
	o := runner.OutlineOf(rec.ID(), rec.Events())
	return o.Status == "accepted" && !o.Discarded && !drive.Unsettled(rec.Events())
}

// resumeAfter starts what follows a run that has ended. done is false when nothing of that is left, and id names nothing.
func (s *session) resumeAfter(pl *place, rec *journal.Record, id, form string) (done bool, err error) {
	info := started(rec.Events())
	if info == nil {
		return false, nil
	}
	if pl, err = pl.at(s.ctx, info); err != nil {
		return false, err
	}
	kept, err := s.kept(pl, rec.ID(), rec.Events())
	if err != nil {
		return false, err
	}
	g := kept.newest
	if id == "" && !drive.AfterDue(g, info, rec.Events()) {
		return false, nil
	}
	if id != "" {
		if err := mayFollow(g, info, rec, id); err != nil {
			return false, err
		}
	}
	rec.Hide(s.mask(g))
	if form == "tty" {
		form = "plain"
	}
	view := s.newShow(form, g)
	view.recall(rec.Events())
	sc := shownScene(pl, rec, g, view)
	if err := s.afterwards(pl, sc, info, id, nil); err != nil {
		return true, failure(err)
	}
	trace := report.TraceOf(info.ID, rec.Events())
	s.sayAfter(trace)
	if slices.ContainsFunc(trace.AfterTrouble(), func(a report.After) bool { return id == "" || a.ID == id }) {
		return true, reported(Refused)
	}
	return true, nil
}

// mayFollow refuses a command that does not follow how the run ended.
func mayFollow(g *graph.Graph, info *runner.RunInfo, rec *journal.Record, id string) error {
	var ids []string
	for i := range g.After {
		a := &g.After[i]
		if a.ID != id {
			ids = append(ids, a.ID)
			continue
		}
		if drive.Follows(g, info, rec.Events(), a) {
			return nil
		}
		o := runner.OutlineOf(rec.ID(), rec.Events())
		if a.On == graph.Accepted && o.Status == "accepted" && !o.Discarded {
			return badUsage("--after %s: it follows the merge of %s", id, rec.ID()).hintf("foundry merge %s", rec.ID())
		}
		what := map[graph.On]string{graph.Accepted: "a run that was accepted", graph.Rejected: "a run that was rejected", graph.Always: "the end of a run"}[a.On]
		if o.Discarded {
			return badUsage("--after %s: %s was discarded", id, rec.ID())
		}
		return badUsage("--after %s: it follows %s, and %s is %s", id, what, rec.ID(), o.Status)
	}
	p := badUsage("--after %s: pipeline %s has no such command in after", id, g.Pipeline)
	if slices.Sort(ids); len(ids) > 0 {
		p.hintf("it has %s", strings.Join(ids, ", "))
	}
	return p
}
