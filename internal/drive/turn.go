package drive

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"foundry/graph"
	"foundry/internal/harness"
	"foundry/runner"
)

// This file has turns with agents: prompt, session, reply.

// maxReply is how much of a reply is read, in bytes; what is cut off stands before it.
const maxReply = 4 << 20

// turn sends one prompt to an agent's session.
func (d *driver) turn(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	ph, agent := &d.g().Phases[c.ID.Phase], &d.g().Agents[c.Agent]
	d.isLooked(c, false)
	world := d.world(ctx, s, c)
	if c.Purpose.Reviews() {
		var err error
		if world.Diff, err = d.changedBy(ctx, c); err != nil {
			send(failed(c, ph.Name, err))
			return
		}
		world.Calls = d.callsOf(c)
	}
	of := d.conversation(c)
	remembers := d.remembers(of)
	prompt, inputs, err := d.prompt(s, c, world, remembers)
	if err != nil {
		send(failed(c, ph.Name, err))
		return
	}
	if e, ok, err := d.takeOver(ctx, ph, c, prompt); err != nil {
		send(failed(c, ph.Name, err))
		return
	} else if ok {
		send(e)
		return
	}
	file := fileName(ph.Name, c.ID.Visit, fmt.Sprintf(".%d.md", c.ID.Turn))
	kept, err := d.Record.WriteFile("prompts/"+file, []byte(prompt))
	if err != nil {
		send(failed(c, ph.Name, fmt.Errorf("keeping the prompt: %w", err)))
		return
	}
	anew := func(why string) (string, error) {
		e := d.named(c, runner.Warned)
		e.Text = fmt.Sprintf("the conversation with %s begins anew, with the whole prompt: %s", agent.Name, why)
		send(e)
		whole, _, err := d.prompt(s, c, world, false)
		if err == nil {
			_, err = d.Record.WriteFile("prompts/"+file, []byte(whole))
		}
		return whole, err
	}
	started := d.named(c, runner.TurnStarted)
	started.Turn, started.Purpose, started.Agent, started.Harness, started.File, started.Inputs = c.ID.Turn, c.Purpose.String(), agent.Name, agent.Harness, kept, inputs
	started.Model = d.g().Model(c.ID.Phase, c.Agent)
	send(started)
	if info, _ := harness.Find(agent.Harness); info.Permits && !remembers && c.Session > 1 {
		e := d.named(c, runner.Warned)
		e.Text = fmt.Sprintf("the conversation with %s cannot be gone on with; it begins anew, with the whole prompt", agent.Name)
		send(e)
	}
	ended := d.talk(ctx, s, c, world, prompt, anew, send)
	ended.Turn, ended.Agent, ended.Harness, ended.Model = c.ID.Turn, agent.Name, agent.Harness, started.Model
	if c.Purpose.Reviews() {
		ended.Purpose = started.Purpose
	}
	if text := ended.Reply.Text; text != "" {
		if ended.File, err = d.Record.WriteFile("replies/"+file, []byte(text)); err != nil {
			send(failed(c, ph.Name, fmt.Errorf("keeping the reply: %w", err)))
			return
		}
	}
	send(ended)
}

// prompt renders what a turn sends.
func (d *driver) prompt(s runner.State, c runner.Command, w runner.World, remembers bool) (text string, inputs []runner.InputDigest, err error) {
	m, err := runner.Prompt(d.g(), s, c, w, remembers)
	if err != nil {
		return "", nil, fmt.Errorf("rendering the prompt of %s: %w", d.g().Phases[c.ID.Phase].Name, err)
	}
	if text = m.Text; m.System != "" {
		text = strings.TrimSpace(m.System) + "\n\n" + text
	}
	return d.Record.Mask().Text(text), m.Inputs, nil // what is kept is what was sent
}

// talk opens the agent's session if need be and has the turn; anew gives the prompt for an agent that has lost its
// conversation. It returns how the turn ended, with the log and the id that another process goes on with.
func (d *driver) talk(ctx context.Context, s runner.State, c runner.Command, w runner.World, prompt string, anew func(why string) (string, error), send func(...runner.Event)) runner.Event {
	ended := d.named(c, runner.TurnEnded)
	fails := func(err error) runner.Event {
		ended.Reply = &runner.Reply{Stop: runner.StopError, Error: err.Error()}
		return ended
	}
	g, ph, agent := d.g(), &d.g().Phases[c.ID.Phase], &d.g().Agents[c.Agent]
	shared, own, err := runner.AgentEnvironment(g, s, c.ID.Phase, c.Agent, w)
	if err != nil {
		return fails(err)
	}
	of := d.conversation(c)
	mine := d.takeTurns(of)
	mine.Lock()
	defer mine.Unlock()
	session, err := d.session(ctx, of)
	if err != nil {
		return fails(err)
	}
	rel, full, err := d.Record.LogPath("logs/" + fileName(ph.Name, c.ID.Visit, fmt.Sprintf(".%d.log", c.ID.Turn)))
	if err != nil {
		return fails(err)
	}
	timeout, boundary := agent.TurnTimeout, runner.Boundary(d.g(), s, c.ID.Phase)
	switch {
	case c.Purpose.Reviews():
		boundary = reviewBoundary(ph)
	case ph.Timeout > 0:
		timeout = ph.Timeout
	}
	sessionDir := filepath.Join(d.Record.Dir(), "sessions", d.sessionName(of))
	environ := append(append([]string{}, d.Environ...), shared...)
	confine, forSandbox, err := d.confine(d.treeOf(c), c.Agent, sessionDir, append(append([]string{}, environ...), own...))
	if err != nil {
		return fails(err)
	}
	own = append(own, forSandbox...)
	whole := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	asks := &asker{d: d, state: s, c: c, agent: agent, send: send, stop: stop, may: permits{root: resolved(d.treeOf(c).Dir()), boundary: boundary, policy: agent.Permissions}}
	note := d.named(c, runner.Activity)
	note.Turn, note.Agent = c.ID.Turn, agent.Name
	tell := func(e runner.Event) {
		if e.Kind == runner.SessionKnown && c.Purpose.Reviews() {
			e.Purpose = c.Purpose.String()
		}
		send(e)
	}
	seen := newTeller(note, d.treeOf(c).Dir(), d.Record.Mask(), tell, func(u harness.Usage) { d.facts <- report{id: c.ID, spent: &u} })
	turn := harness.Turn{
		Prompt: prompt, Number: c.Session, Phase: ph.Name, Visit: c.ID.Visit, Attempt: c.ID.Attempt,
		ReadOnly: boundary.ReadOnly(), Model: g.Model(c.ID.Phase, c.Agent), Effort: agent.Effort, Timeout: timeout, Stall: agent.StallTimeout,
		Dir: filepath.Join(d.treeOf(c).Dir(), filepath.FromSlash(ph.Dir)), HandoffDir: w.HandoffDir, SessionDir: sessionDir,
		LogPath: full, LogLimit: g.Project.Keep.LogBytes, Mask: d.Record.Mask(), Env: environ, Own: own, Kill: d.Force, Guard: d.Guard, Confine: confine,
		Permit: asks.permit,
	}
	r := sendTo(ctx, session, turn, anew, seen.activity)
	seen.end()
	d.hears(of, r)
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
	reply := replyOf(r)
	if asked := asks.stopped(); asked != nil && whole.Err() == nil {
		reply.Stop, reply.Text, reply.Error = runner.StopPermission, "", ""
		ended.Tool, ended.Text = asked.Tool, asked.Text
	}
	ended.Reply, ended.File, ended.Session = &reply, rel, r.Session
	return ended
}

// sendTo has a turn, and has it anew when the agent turns out to have lost the conversation.
func sendTo(ctx context.Context, session harness.Session, t harness.Turn, anew func(why string) (string, error), activity func(harness.Activity)) harness.Reply {
	first := session.Turn(ctx, t, activity)
	if first.Stop != harness.Lost {
		return first
	}
	whole, err := anew(first.Error)
	if err != nil {
		first.Error = err.Error()
		return first
	}
	t.Prompt = whole
	r := session.Turn(ctx, t, activity)
	r.Left, r.Notes = append(first.Left, r.Left...), append(first.Notes, r.Notes...)
	return r
}

func replyOf(r harness.Reply) runner.Reply {
	if !utf8.ValidString(r.Text) {
		// JSON would turn such bytes into others, and a path in them would be another path.
		r.Text = strings.ToValidUTF8(r.Text, "")
		out := runner.Reply{Stop: runner.StopEnd, Text: "", Error: "the reply holds bytes that are not UTF-8"}
		meter(&out, r)
		return out
	}
	out := runner.Reply{Text: r.Text, Error: r.Error, ResetAt: r.ResetAt}
	meter(&out, r)
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

// meter copies what a turn spent.
func meter(out *runner.Reply, r harness.Reply) {
	known := false
	out.Tokens, known = r.Usage.Tokens()
	if r.Usage.Cost != nil {
		out.Cost, out.CostKnown, out.Untold = *r.Usage.Cost, true, !known
	}
	if r.Calls != nil {
		out.Calls, out.CallsKnown = *r.Calls, true
	}
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
