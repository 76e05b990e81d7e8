package drive

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"foundry/graph"
	"foundry/internal/process"
	"foundry/runner"
)

// This file starts what follows the end of a run: the commands of `after`. They reach out of the repository, so each
// starts at most once for an end of the run. That it is about to start is on the disk before it does; one that was
// begun and has no end may have done all of its work, and is not started again unless a person asks for it.

// Aftermath is what these commands are started with.
type Aftermath struct {
	Scene
	State   runner.State
	Environ []string
	Guard   *process.Guard
	Force   <-chan struct{}
	Dir     string // where they run
	Again   string // one that is started whatever became of it before; "" is none
}

// ended is how a run ended last, and what followed so far.
type ended struct {
	status    string // "" while it goes on
	settled   bool
	commit    string // that it was merged as
	discarded bool
	after     map[string]string // outcomes by id; "" of one that began and has no end
}

func endOf(events []runner.Event) ended {
	var out ended
	for _, e := range events {
		switch e.Kind {
		case runner.RunEnded:
			if out = (ended{status: e.Status, after: map[string]string{}}); e.Reason == runner.ReasonOrphaned {
				out.status = "" // a sweep closed it: it has come to no end of its own
			}
		case runner.RunResumed, runner.RunRewound:
			out = ended{}
		case runner.RunSettled:
			out.settled = true
		case runner.RunMerged:
			out.commit = e.Commit
		case runner.RunDiscarded:
			out.discarded = true
		case runner.AfterStarted:
			out.after[e.After] = ""
		case runner.AfterEnded:
			out.after[e.After] = e.Outcome
		}
	}
	return out
}

// follows says whether a command follows this end. Where there is something to land, what follows an accepted run waits
// for that.
func (end ended) follows(g *graph.Graph, info *runner.RunInfo, a *graph.AfterRun) bool {
	if !end.settled || end.discarded {
		return false
	}
	switch a.On {
	case graph.Accepted:
		lands := g.Isolation == graph.Worktree && g.Merge != graph.MergeNever && info.Base != ""
		return end.status == runner.RunAccepted.String() && (end.commit != "" || !lands)
	case graph.Rejected:
		return end.status == runner.RunRejected.String()
	}
	return end.status != "" && end.status != runner.RunKill.String()
}

// Settled says whether what the pipeline says about an ended run was done.
func Settled(events []runner.Event) bool { return endOf(events).settled }

// AfterDue says whether commands follow the end of a run that have not begun, or of which nobody knows how they ended. Of a
// run that was not accepted they may be due before it is settled, which takes nothing that could be refused.
func AfterDue(g *graph.Graph, info *runner.RunInfo, events []runner.Event) bool {
	end := endOf(events)
	end.settled = end.settled || end.status != runner.RunAccepted.String()
	for i := range g.After {
		if outcome, begun := end.after[g.After[i].ID]; end.follows(g, info, &g.After[i]) && (!begun || outcome == "") {
			return true
		}
	}
	return false
}

// Follows says whether a command of `after` follows how a run has ended.
func Follows(g *graph.Graph, info *runner.RunInfo, events []runner.Event, a *graph.AfterRun) bool {
	return endOf(events).follows(g, info, a)
}

// After starts what follows the end of a run and has not been started. How a command ends changes nothing of the run: it
// is in the log. An error means that the log could not be written. When ctx ends, the one that runs is stopped and the
// others are left for later.
func After(ctx context.Context, a Aftermath, info *runner.RunInfo) error {
	end := endOf(a.Record.Events())
	for i := range a.Graph.After {
		cmd := &a.Graph.After[i]
		outcome, begun := end.after[cmd.ID]
		if !end.follows(a.Graph, info, cmd) {
			continue
		}
		var err error
		switch {
		case cmd.ID == a.Again, a.Again == "" && !begun:
			if ctx.Err() == nil {
				err = a.start(ctx, cmd, end)
			}
		case begun && outcome == "":
			e := ofAfter(cmd, runner.AfterEnded)
			e.Outcome, e.Text = "unknown", "foundry ended while it ran: not known whether it was done"
			err = a.Append(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func ofAfter(cmd *graph.AfterRun, k runner.Kind) runner.Event {
	return runner.Event{Kind: k, After: cmd.ID, Purpose: cmd.On.String()}
}

// start carries one command out.
func (a *Aftermath) start(ctx context.Context, cmd *graph.AfterRun, end ended) error {
	e := ofAfter(cmd, runner.AfterEnded)
	holds, seen, err := runner.AfterHolds(a.Graph, a.State, cmd)
	if err == nil && !holds {
		e.Outcome, e.Text, e.Seen = "skipped", "when is false", seen
		return a.Append(e)
	}
	var st runner.Start
	if err == nil {
		st, err = runner.ResolveAfter(a.Graph, a.State, cmd, end.status, end.commit)
	}
	if err != nil {
		e.Outcome, e.Text = "failed", err.Error()
		return a.Append(e)
	}
	n := 1
	for _, before := range a.Record.Events() {
		if before.Kind == runner.AfterStarted && before.After == cmd.ID {
			n++
		}
	}
	began := ofAfter(cmd, runner.AfterStarted)
	began.Result = &runner.CommandResult{Command: cmd.Command.Script.Label}
	if err := a.Append(began); err != nil {
		return err
	}
	log := a.Record.Log(fmt.Sprintf("logs/after.%s@%d.log", cmd.ID, n))
	r := process.Run(ctx, process.Spec{Argv: st.Argv, Shell: st.Shell, Dir: filepath.Join(a.Dir, filepath.FromSlash(st.Dir)),
		Env: append(append([]string{}, a.Environ...), st.Env...), Log: log, LogLimit: a.Graph.Project.Keep.LogBytes, Mask: a.Record.Mask(),
		Timeout: cmd.Command.Timeout, Kill: a.Force, Guard: a.Guard})
	rel, err := log.Close()
	e.File, e.Outcome = rel, "failed"
	e.Result = &runner.CommandResult{Command: cmd.Command.Script.Label, Exit: r.Exit, Signal: r.Signal, Timeout: r.Reason == process.TimedOut, Output: r.Tail,
		Notes: r.Notes, Millis: r.Elapsed.Milliseconds()}
	switch {
	case r.Reason == process.NotStarted:
		e.Text = fmt.Sprintf("it could not be started: %v", r.Err)
		e.Result.Exit = -1
	case r.Reason != process.Exited:
		e.Result.Exit = -1
		if r.Reason != process.TimedOut {
			e.Text = "stopped"
		}
	case passes(&cmd.Command, e.Result):
		e.Outcome = "passed"
	}
	if err := errors.Join(r.LogErr, err); err != nil {
		e.Result.Notes = append(e.Result.Notes, "its log could not be written: "+err.Error())
	}
	return a.Append(e)
}
