package drive

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"foundry/graph"
	"foundry/internal/process"
	"foundry/internal/workspace"
	"foundry/runner"
)

// This file runs commands, the builtin ones among them, and puts questions to a person.

// ask puts a question to the person at the terminal.
func (d *driver) ask(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	e := d.named(c, runner.AskAnswered)
	about := "foundry diff " + d.Record.ID()
	text, err := runner.Question(d.g(), s, c.ID.Phase)
	if asked, ok := s.Asked(c.ID.Phase); ok {
		e.Kind, e.Turn, e.Agent = runner.PermissionAnswered, asked.Turn, asked.Agent
		about, text = "foundry logs "+d.Record.ID()+" "+runner.Typed(e.Phase), asked.Text
	}
	if err != nil {
		send(failed(c, e.Phase, err))
		return
	}
	answer, ok := d.Ask(ctx, Question{Run: d.Record.ID(), Phase: e.Phase, Text: text, Diff: about})
	if !ok || ctx.Err() != nil {
		return
	}
	e.Answer, e.Text, e.Who = "reject", answer.Note, answer.Who
	if answer.Approve {
		e.Answer = "approve"
	}
	send(e)
}

// command runs a code phase.
func (d *driver) command(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	ph := &d.g().Phases[c.ID.Phase]
	d.isLooked(c, false)
	start, err := runner.Resolve(d.g(), s, c.ID.Phase, d.world(ctx, s, c))
	if err != nil {
		send(failed(c, ph.Name, fmt.Errorf("rendering the command of %s: %w", ph.Name, err)))
		return
	}
	e := d.named(c, runner.CommandEnded)
	switch ph.Kind {
	case graph.Noop:
		e.Result = &runner.CommandResult{Command: "noop"}
	case graph.Status:
		e.Result, err = d.gitStatus(ctx)
	case graph.Commit:
		e.Result, e.Commit = d.gitCommit(ctx, start.Message)
	default:
		if c.ID.N == 0 { // of a phase with repeat the first run decides for all
			var proven bool
			if proven, err = d.upToDate(ph, c, start, &e); err != nil || proven {
				break
			}
		}
		var ends func()
		if ends, err = d.begins(ctx, c, ph.Name, runner.Boundary(d.g(), s, c.ID.Phase).Protect); err != nil {
			break
		}
		var logFile string
		name := fileName(ph.Name, c.ID.Visit, ".log")
		if ph.Repeat > 1 {
			name = fileName(ph.Name, c.ID.Visit, fmt.Sprintf(".%d.log", c.ID.N+1))
		}
		e.Result, logFile, err = d.launch(ctx, d.treeOf(c), start, ph.Script.Label, name, ph.Timeout)
		e.File = logFile
		ends()
	}
	if err != nil {
		send(failed(c, ph.Name, err))
		return
	}
	if e.Reused == nil {
		runner.Counted(ph, c, e.Result)
		d.ran(ph, c, start, e.Result)
	}
	e.Result.Outputs, e.Result.Missing = runner.ReadOutputs(ph.Outputs, e.Result.Output)
	send(e)
}

// launch runs one command of the pipeline in a workspace. An error means that it could not be started,
// which is nobody's work to repair.
func (d *driver) launch(ctx context.Context, tree *workspace.Tree, st runner.Start, label, logName string, timeout time.Duration) (*runner.CommandResult, string, error) {
	log := d.Record.Log("logs/" + logName)
	r := process.Run(ctx, process.Spec{Argv: st.Argv, Shell: st.Shell, Dir: filepath.Join(tree.Dir(), filepath.FromSlash(st.Dir)),
		Env: append(append([]string{}, d.Environ...), st.Env...), Log: log, LogLimit: d.g().Project.Keep.LogBytes, Mask: d.Record.Mask(),
		Timeout: timeout, Kill: d.Force, Guard: d.Guard})
	rel, err := log.Close()
	if r.Reason == process.NotStarted {
		return nil, rel, fmt.Errorf("starting %s: %w", label, r.Err)
	}
	if err = errors.Join(r.LogErr, err); err != nil {
		return nil, rel, fmt.Errorf("writing the log of %s: %w", label, err)
	}
	out := &runner.CommandResult{Command: label, Exit: r.Exit, Signal: r.Signal, Timeout: r.Reason == process.TimedOut, Output: r.Tail,
		Notes: r.Notes, Millis: r.Elapsed.Milliseconds()}
	if r.Reason != process.Exited {
		out.Exit = -1
	}
	return out, rel, nil
}

// gitStatus lists what the workspace has uncommitted.
func (d *driver) gitStatus(ctx context.Context) (*runner.CommandResult, error) {
	now, err := d.Tree.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("git status: %w", err)
	}
	changes, err := d.Tree.Changes(ctx, now.Head, now.Tree)
	if err != nil {
		return nil, fmt.Errorf("git status: %w", err)
	}
	var lines []string
	for _, c := range changes {
		lines = append(lines, c.Kind.String()+" "+c.Path)
	}
	return &runner.CommandResult{Command: "git status", Output: strings.Join(lines, "\n")}, nil
}

// gitCommit commits what the run has made; nothing to commit is a success.
func (d *driver) gitCommit(ctx context.Context, message string) (*runner.CommandResult, string) {
	from := d.Now()
	done, err := d.Tree.Commit(ctx, message, d.g().Project.Hooks)
	out := &runner.CommandResult{Command: "git commit", Notes: done.Notes, Millis: d.Now().Sub(from).Milliseconds()}
	switch {
	case ctx.Err() != nil:
		out.Exit, out.Output = -1, "stopped"
	case err != nil:
		// A hook that says no, or an identity that is missing, is the phase's failure: a route may take it.
		out.Exit, out.Output = 1, err.Error()
	case done.Nothing:
		out.Output = "nothing to commit"
	default:
		out.Output = done.Commit + " " + message
	}
	return out, done.Commit
}

// criterion checks one criterion in the workspace, of the run or of a call.
func (d *driver) criterion(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	list := d.g().BodyOf(c.ID.Phase).Criteria
	cr := &list[c.ID.N%len(list)]
	e := d.named(c, runner.CriterionDone)
	e.Criterion, e.Optional = cr.Name, !cr.Required
	when := "after"
	if c.Before {
		when = "before"
	}
	log := "criteria." + cr.Name + "." + when + ".log"
	if c.ID.Phase >= 0 {
		log = fileName(e.Phase, c.ID.Visit, "."+log)
	}
	st, err := runner.ResolveCriterion(d.g(), s, c.ID.Phase, &cr.Command, d.world(ctx, s, c))
	ends := func() {}
	if err == nil {
		ends, err = d.begins(ctx, c, "criterion "+cr.Name, append(slices.Clip(d.g().BodyOf(c.ID.Phase).Protect), runner.Protected(runner.LimitsOf(d.g(), s, c.ID.Phase))...))
	}
	if err == nil {
		defer ends()
		e.Result, e.File, err = d.launch(ctx, d.treeOf(c), st, cr.Command.Script.Label, log, cr.Command.Timeout)
	}
	if err != nil {
		e.Outcome, e.Result = "unverified", &runner.CommandResult{Command: cr.Command.Script.Label, Exit: -1, Notes: []string{err.Error()}}
	} else {
		e.Outcome = runner.CriterionOutcome(&cr.Command, e.Result)
	}
	e.Result.Before = c.Before
	send(e)
}

// passes says whether a command outside the phases ended as it should.
func passes(c *graph.Command, r *runner.CommandResult) bool {
	return !r.Timeout && r.Signal == "" && c.Passes(r.Exit)
}
