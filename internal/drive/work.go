package drive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"foundry/glob"
	"foundry/graph"
	"foundry/internal/harness"
	"foundry/internal/process"
	"foundry/internal/workspace"
	"foundry/runner"
)

// This file carries commands out. Each function runs in a worker's goroutine, reads the state as it was when
// the command was given, and answers with facts.

// maxReply is how much of a reply is read, in bytes; what is cut off stands before it.
const maxReply = 4 << 20

func (d *driver) carryOut(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	switch c.ID.Kind {
	case runner.MakeWorkspace:
		d.makeWorkspace(ctx, c, send)
	case runner.TakeSnapshot:
		d.snapshot(ctx, s, c, send)
	case runner.SendTurn:
		d.turn(ctx, s, c, send)
	case runner.CheckBoundary:
		d.boundary(ctx, c, send)
	case runner.JudgeGates:
		d.gates(ctx, s, c, send)
	case runner.StartCommand:
		d.command(ctx, s, c, send)
	case runner.PutAsk:
		d.ask(ctx, s, c, send)
	case runner.UndoPhase:
		d.undo(ctx, c, send)
	case runner.CheckCriterion:
		d.criterion(ctx, s, c, send)
	default:
		panic(fmt.Sprintf("BUG: nobody carries out %s", c.ID))
	}
}

// makeWorkspace makes the worktree and runs its setup. Nothing else runs meanwhile, so that the loop reads the
// tree only after the fact has told it.
func (d *driver) makeWorkspace(ctx context.Context, c runner.Command, send func(...runner.Event)) {
	tree, err := d.Make(ctx, func(e runner.Event) { send(e) })
	if err != nil {
		if ctx.Err() == nil {
			e := failed(c, "", err)
			e.Reason = runner.ReasonSetup
			send(e)
		}
		return
	}
	d.Tree = tree
	send(d.named(c, runner.WorkspaceReady))
}

// world looks at what texts may say of the world.
func (d *driver) world(ctx context.Context, s runner.State) runner.World {
	w := runner.World{HandoffDir: d.handoff()}
	filepath.WalkDir(w.HandoffDir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && len(w.HandoffFiles) < 1000 {
			if rel, err := filepath.Rel(w.HandoffDir, path); err == nil {
				w.HandoffFiles = append(w.HandoffFiles, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	if readsContext(d.Graph) {
		w.Context = d.card(ctx, s.View().Info)
	}
	return w
}

func (d *driver) handoff() string { return filepath.Join(d.Tree.Dir(), ".foundry-handoff") }

// snapshot keeps the workspace as it is. The start of a phase is remembered for its boundary.
func (d *driver) snapshot(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	snap, err := d.look(ctx, c, send)
	e := d.named(c, runner.SnapshotTaken)
	if err != nil {
		send(failed(c, e.Phase, fmt.Errorf("taking a snapshot of the workspace: %w", err)))
		return
	}
	e.Purpose, e.Tree, e.Ref = c.Purpose.String(), snap.Tree, snap.Ref
	if c.Purpose == runner.ForAsk {
		e.Text = d.world(ctx, s).Context // the question may show it
	}
	if c.Purpose == runner.ForStart {
		d.remember(c, snap)
	}
	send(e)
}

// look takes a snapshot and, with it, catches up on commands that ran since the last one without a boundary of
// their own: what they changed is said, and what nobody may write is put back.
func (d *driver) look(ctx context.Context, c runner.Command, send func(...runner.Event)) (workspace.Snapshot, error) {
	d.snapMu.Lock()
	last, since := d.last, d.since
	d.snapMu.Unlock()
	if last == nil || len(since) == 0 {
		snap, err := d.Tree.Snapshot(ctx)
		if err == nil {
			d.seen(snap)
		}
		return snap, err
	}
	var bounds glob.Boundary
	for _, p := range since {
		bounds.Protect = append(bounds.Protect, d.Graph.Phases[p].Boundary.Protect...)
	}
	got, err := d.Tree.Enforce(ctx, *last, bounds, true)
	if err != nil {
		return got.End, err
	}
	d.seen(got.End)
	name := d.Graph.Phases[since[len(since)-1]].Name
	for _, v := range got.Violations {
		send(runner.Event{Kind: runner.Warned, Phase: name, Text: fmt.Sprintf("%q was %s: %s; undone: %t", v.Path, v.Change, v.Reason, v.Undone)})
	}
	var tracked []string
	for _, ch := range got.Changes {
		if ch.Kind != workspace.Created {
			tracked = append(tracked, ch.Path)
		}
	}
	if len(tracked) > 0 {
		send(runner.Event{Kind: runner.Warned, Phase: name, Changed: tracked, Text: fmt.Sprintf("undeclared-write: %s changed %s without declaring `writes`", name, strings.Join(tracked, ", "))})
	}
	return got.End, nil
}

// seen notes the newest snapshot: nothing has run since.
func (d *driver) seen(s workspace.Snapshot) {
	d.snapMu.Lock()
	defer d.snapMu.Unlock()
	d.last, d.since = &s, nil
}

func (d *driver) remember(c runner.Command, s workspace.Snapshot) {
	d.snapMu.Lock()
	defer d.snapMu.Unlock()
	d.snaps[visitKey{c.ID.Phase, c.ID.Visit}] = s
}

// startOf is the snapshot before a visit: remembered, or found in the log by its ref after a resume.
func (d *driver) startOf(ctx context.Context, c runner.Command) (workspace.Snapshot, error) {
	d.snapMu.Lock()
	s, ok := d.snaps[visitKey{c.ID.Phase, c.ID.Visit}]
	d.snapMu.Unlock()
	if ok {
		return s, nil
	}
	name := d.Graph.Phases[c.ID.Phase].Name
	ref := ""
	for _, e := range d.Record.Events() {
		if e.Kind == runner.SnapshotTaken && e.Phase == name && e.Visit == c.ID.Visit && e.Purpose == runner.ForStart.String() {
			ref = e.Ref
		}
	}
	if ref == "" {
		return s, fmt.Errorf("the record has no snapshot from before %s@%d", name, c.ID.Visit)
	}
	s, err := d.Tree.Reload(ctx, ref)
	if err == nil {
		d.remember(c, s)
	}
	return s, err
}

// turn sends one prompt to an agent's session.
func (d *driver) turn(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	g, ph, agent := d.Graph, &d.Graph.Phases[c.ID.Phase], &d.Graph.Agents[c.Agent]
	info, _ := harness.Find(agent.Harness)
	world := d.world(ctx, s)
	message, err := runner.Prompt(g, s, c, world, info.Remembers)
	if err != nil {
		send(failed(c, ph.Name, fmt.Errorf("rendering the prompt of %s: %w", ph.Name, err)))
		return
	}
	prompt := message.Text
	if message.System != "" {
		prompt = strings.TrimSpace(message.System) + "\n\n" + prompt
	}
	file := fileName(ph.Name, c.ID.Visit, fmt.Sprintf(".%d.md", c.ID.Turn))
	kept, err := d.Record.WriteFile("prompts/"+file, []byte(prompt))
	if err != nil {
		send(failed(c, ph.Name, fmt.Errorf("keeping the prompt: %w", err)))
		return
	}
	started := d.named(c, runner.TurnStarted)
	started.Turn, started.Purpose, started.Agent, started.Harness, started.File, started.Inputs = c.ID.Turn, c.Purpose.String(), agent.Name, agent.Harness, kept, message.Inputs
	send(started)
	reply, logFile := d.talk(ctx, s, c, world, prompt, send)
	ended := d.named(c, runner.TurnEnded)
	ended.Turn, ended.Agent, ended.Harness, ended.File = c.ID.Turn, agent.Name, agent.Harness, logFile
	ended.Reply = &reply
	if reply.Text != "" {
		if ended.File, err = d.Record.WriteFile("replies/"+file, []byte(reply.Text)); err != nil {
			send(failed(c, ph.Name, fmt.Errorf("keeping the reply: %w", err)))
			return
		}
	}
	send(ended)
}

// talk opens the agent's session if need be and has the turn.
func (d *driver) talk(ctx context.Context, s runner.State, c runner.Command, w runner.World, prompt string, send func(...runner.Event)) (runner.Reply, string) {
	g, ph, agent := d.Graph, &d.Graph.Phases[c.ID.Phase], &d.Graph.Agents[c.Agent]
	shared, own, err := runner.AgentEnvironment(g, s, c.ID.Phase, c.Agent, w)
	if err != nil {
		return runner.Reply{Stop: runner.StopError, Error: err.Error()}, ""
	}
	session, err := d.session(ctx, c.Agent)
	if err != nil {
		return runner.Reply{Stop: runner.StopError, Error: err.Error()}, ""
	}
	rel, full, err := d.Record.LogPath("logs/" + fileName(ph.Name, c.ID.Visit, fmt.Sprintf(".%d.log", c.ID.Turn)))
	if err != nil {
		return runner.Reply{Stop: runner.StopError, Error: err.Error()}, ""
	}
	model := agent.Model
	if ph.Model != "" {
		model = ph.Model
	}
	timeout := agent.TurnTimeout
	if ph.Timeout > 0 {
		timeout = ph.Timeout
	}
	r := session.Turn(ctx, harness.Turn{
		Prompt: prompt, Number: c.Session, Phase: ph.Name, Visit: c.ID.Visit, Attempt: c.ID.Attempt,
		ReadOnly: ph.Boundary.ReadOnly(), Model: model, Effort: agent.Effort, Timeout: timeout, Stall: agent.StallTimeout,
		Dir: filepath.Join(d.Tree.Dir(), filepath.FromSlash(ph.Dir)), HandoffDir: w.HandoffDir, SessionDir: filepath.Join(d.Record.Dir(), "sessions", agent.Name),
		LogPath: full, LogLimit: g.Project.Keep.LogBytes, Env: append(append([]string{}, d.Environ...), shared...), Own: own, Kill: d.Force, Guard: d.Guard,
	}, nil)
	for _, left := range r.Left {
		e := d.named(c, runner.ProcessLeft)
		e.Text = left
		send(e)
	}
	for _, text := range r.Notes {
		e := d.named(c, runner.Warned)
		e.Text = text
		send(e)
	}
	return replyOf(r), rel
}

func replyOf(r harness.Reply) runner.Reply {
	if !utf8.ValidString(r.Text) {
		// JSON would turn such bytes into others, and a path in them would be another path.
		r.Text = strings.ToValidUTF8(r.Text, "")
		return runner.Reply{Stop: runner.StopEnd, Text: "", Error: "the reply holds bytes that are not UTF-8", Tokens: r.Tokens, Cost: r.Cost, CostKnown: r.CostKnown}
	}
	out := runner.Reply{Text: r.Text, Error: r.Error, Tokens: r.Tokens, Cost: r.Cost, CostKnown: r.CostKnown, Calls: r.Calls, CallsKnown: r.CallsKnown, ResetAt: r.ResetAt}
	if len(out.Text) > maxReply {
		out.Text = strings.ToValidUTF8(out.Text[len(out.Text)-maxReply:], "")
	}
	switch r.Stop {
	case harness.End:
		out.Stop = runner.StopEnd
	case harness.Truncated:
		out.Stop = runner.StopTruncated
	case harness.Cancelled:
		out.Stop = runner.StopCancelled
	case harness.Limit:
		out.Stop = runner.StopLimit
	case harness.TimedOut:
		out.Stop = runner.StopTimeout
	default:
		out.Stop = runner.StopError
	}
	if out.Stop == runner.StopError && out.Error == "" {
		out.Error = "the agent failed without a word"
	}
	return out
}

// session is the agent's one session in this run; turns that an earlier process had are told to it.
func (d *driver) session(ctx context.Context, index int) (harness.Session, error) {
	d.sessionMu.Lock()
	defer d.sessionMu.Unlock()
	if s, ok := d.sessions[index]; ok {
		return s, nil
	}
	agent := &d.Graph.Agents[index]
	h, err := harness.Built(agent.Harness)
	if err != nil {
		return nil, err
	}
	served := 0
	for _, e := range d.Record.Events() {
		if e.Kind == runner.TurnEnded && e.Agent == agent.Name && e.Reply != nil && e.Reply.Stop != runner.StopLimit && e.Reply.Stop != runner.StopCancelled {
			served++
		}
	}
	s, err := h.Open(context.WithoutCancel(ctx), harness.Config{Agent: agent.Name, Argv: agent.Argv, Script: scriptOf(agent.Script), Model: agent.Model,
		RunID: d.Record.ID(), Turns: served, Dir: d.Tree.Dir()})
	if err == nil {
		d.sessions[index] = s
	}
	return s, err
}

func scriptOf(turns []graph.ScriptTurn) []harness.ScriptTurn {
	out := make([]harness.ScriptTurn, len(turns))
	for i, t := range turns {
		out[i] = harness.ScriptTurn{Run: t.Run, Reply: t.Reply}
		for _, f := range t.Files {
			out[i].Files = append(out[i].Files, harness.ScriptFile{Path: f.Path, Text: f.Text, Delete: f.Delete})
		}
	}
	return out
}

// boundary looks at what the visit changed and undoes what it may not have changed.
func (d *driver) boundary(ctx context.Context, c runner.Command, send func(...runner.Event)) {
	ph := &d.Graph.Phases[c.ID.Phase]
	start, err := d.startOf(ctx, c)
	if err != nil {
		send(failed(c, ph.Name, err))
		return
	}
	commits := ph.Commits || ph.Kind == graph.Commit
	got, err := d.Tree.Enforce(ctx, start, ph.Boundary, commits)
	if err != nil {
		send(failed(c, ph.Name, fmt.Errorf("checking what %s changed: %w", ph.Name, err)))
		return
	}
	e := d.named(c, runner.BoundaryChecked)
	e.Tree, e.Ref, e.Changed = got.End.Tree, got.End.Ref, changedPaths(got.Changes)
	d.seen(got.End)
	d.snapMu.Lock()
	d.ends[visitKey{c.ID.Phase, c.ID.Visit}] = got.End.Tree
	d.snapMu.Unlock()
	for _, note := range got.Notes {
		w := d.named(c, runner.Warned)
		w.Text = note
		send(w)
	}
	if len(got.Violations) > 0 {
		e.Kept = got.Before.Ref // what was undone is still in it
	}
	for _, v := range got.Violations {
		e.Outside = append(e.Outside, runner.Violation{Path: v.Path, Change: v.Change, Reason: v.Reason, Undone: v.Undone, Note: v.Note})
	}
	send(e)
}

// changedPaths lists both sides of a rename.
func changedPaths(changes []workspace.Change) []string {
	out := []string{}
	for _, ch := range changes {
		if ch.From != "" {
			out = append(out, ch.From)
		}
		out = append(out, ch.Path)
	}
	return out
}

// undo puts the workspace back to where the visit began.
func (d *driver) undo(ctx context.Context, c runner.Command, send func(...runner.Event)) {
	e := d.named(c, runner.UndoDone)
	start, err := d.startOf(ctx, c)
	if err == nil {
		err = d.Tree.Restore(ctx, start)
	}
	if err != nil {
		send(failed(c, e.Phase, fmt.Errorf("putting back what %s changed: %w", e.Phase, err)))
		return
	}
	d.seen(start)
	e.Tree = start.Tree
	send(e)
}

// ask puts a question to the person at the terminal.
func (d *driver) ask(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	e := d.named(c, runner.AskAnswered)
	text, err := runner.Question(d.Graph, s, c.ID.Phase)
	if err != nil {
		send(failed(c, e.Phase, err))
		return
	}
	answer, ok := d.Ask(ctx, Question{Run: d.Record.ID(), Phase: e.Phase, Text: text, Diff: "foundry diff " + d.Record.ID()})
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
	ph := &d.Graph.Phases[c.ID.Phase]
	start, err := runner.Resolve(d.Graph, s, c.ID.Phase, d.world(ctx, s))
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
		d.snapMu.Lock()
		d.since = append(d.since, c.ID.Phase)
		d.snapMu.Unlock()
		var logFile string
		e.Result, logFile, err = d.launch(ctx, start, ph.Script.Label, fileName(ph.Name, c.ID.Visit, ".log"), ph.Timeout)
		e.File = logFile
	}
	if err != nil {
		send(failed(c, ph.Name, err))
		return
	}
	e.Result.Outputs, e.Result.Missing = runner.ReadOutputs(ph.Outputs, e.Result.Output)
	send(e)
}

// launch runs one command of the pipeline in the workspace. An error means that it could not be started,
// which is nobody's work to repair.
func (d *driver) launch(ctx context.Context, st runner.Start, label, logName string, timeout time.Duration) (*runner.CommandResult, string, error) {
	log := d.Record.Log("logs/" + logName)
	r := process.Run(ctx, process.Spec{Argv: st.Argv, Shell: st.Shell, Dir: filepath.Join(d.Tree.Dir(), filepath.FromSlash(st.Dir)),
		Env: append(append([]string{}, d.Environ...), st.Env...), Log: log, LogLimit: d.Graph.Project.Keep.LogBytes,
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
	sha, nothing, err := d.Tree.Commit(ctx, message, d.Graph.Project.Hooks)
	out := &runner.CommandResult{Command: "git commit", Millis: d.Now().Sub(from).Milliseconds()}
	switch {
	case ctx.Err() != nil:
		out.Exit, out.Output = -1, "stopped"
	case err != nil:
		// A hook that says no, or an identity that is missing, is the phase's failure: a route may take it.
		out.Exit, out.Output = 1, err.Error()
	case nothing:
		out.Output = "nothing to commit"
	default:
		out.Output = sha + " " + message
	}
	return out, sha
}

// criterion checks one criterion in the workspace.
func (d *driver) criterion(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	cr := &d.Graph.Criteria[c.ID.N%len(d.Graph.Criteria)]
	e := d.named(c, runner.CriterionDone)
	e.Criterion, e.Outcome = cr.Name, "failed"
	when := "after"
	if c.Before {
		when = "before"
	}
	st, err := runner.ResolveCommand(d.Graph, s, -1, &cr.Command, d.world(ctx, s))
	if err == nil {
		e.Result, e.File, err = d.launch(ctx, st, cr.Command.Script.Label, "criteria."+cr.Name+"."+when+".log", cr.Command.Timeout)
	}
	switch {
	case err != nil:
		e.Outcome, e.Result = "unverified", &runner.CommandResult{Command: cr.Command.Script.Label, Exit: -1, Notes: []string{err.Error()}}
	case e.Result.Timeout:
	case passes(&cr.Command, e.Result):
		e.Outcome = "passed"
	}
	e.Result.Before = c.Before
	send(e)
}

func passes(c *graph.Command, r *runner.CommandResult) bool {
	if r.Timeout || r.Signal != "" || r.Exit < 0 {
		return false
	}
	if c.Nonzero {
		return r.Exit != 0
	}
	for _, code := range c.ExitCodes {
		if code == r.Exit {
			return true
		}
	}
	return len(c.ExitCodes) == 0 && r.Exit == 0
}
