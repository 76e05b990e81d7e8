package harness

// This file has the harness of the Agent Client Protocol and its turns. How a session comes to be, and is made to fit
// a turn, is in acp_open.go; the connection in acp_program.go; what is gathered of a turn in acp_turn.go.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"
)

// acpAgents drives every agent that speaks the Agent Client Protocol: one process a session, which is started with
// the first turn. Should it end, the next turn starts another, and goes on with the conversation if the agent can.
type acpAgents struct{ preset preset }

// Preflight implements Harness.
func (h acpAgents) Preflight(c Config) error {
	if err := h.complete(&c); err != nil {
		return err
	}
	if h.preset.bwrap && runtime.GOOS == "linux" {
		if _, err := exec.LookPath("bwrap"); err != nil {
			return fmt.Errorf("%s runs its commands in a sandbox that needs the program bwrap, which was not found in PATH; install bubblewrap", h.preset.title)
		}
	}
	return nil
}

// Open implements Harness.
func (h acpAgents) Open(_ context.Context, c Config) (Session, error) {
	if err := h.complete(&c); err != nil {
		return nil, err
	}
	return &acpSession{c: c, preset: h.preset, id: c.Session, known: c.Session, talked: c.Session != ""}, nil
}

// complete fills in how the agent is started, and looks for its program.
func (h acpAgents) complete(c *Config) error {
	if h.preset.program == "" && (len(c.Argv) == 0 || c.Argv[0] == "") {
		return errors.New("it has no argv; harness acp needs one that starts an agent which speaks the protocol, as argv: [my-agent, --acp]")
	}
	if err := lookForProgram(c, h.preset.program); err != nil {
		return err
	}
	c.Argv = slices.Concat(c.Argv, h.preset.args)
	return nil
}

// acpSession is a conversation with one agent.
type acpSession struct {
	c       Config
	preset  preset
	program *acpProgram // nil: none runs

	id       string // of the session; "" before the first
	talked   bool   // it holds a conversation
	known    string // the id that the engine knows
	mode     choice
	model    choice
	effort   choice
	first    string // the model that the session began with
	dir      string // of the session
	noted    []string
	money    sync.Mutex
	total    *float64 // what the session has cost so far, as the agent counts
	before   *float64 // total at the beginning of the turn
	lastUsed int
}

// Turn implements Session.
func (s *acpSession) Turn(ctx context.Context, t Turn, activity func(Activity)) Reply {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newWatch(t, activity, cancel)
	defer w.stop()
	s.noted = nil
	r := s.turn(ctx, t, w)
	w.account(&r)
	r.Notes = append(s.noted, r.Notes...)
	if s.program != nil {
		s.program.finish()
		r.Notes = append(r.Notes, s.program.live.finish()...)
	}
	if s.id != "" && !s.preset.forgets {
		r.Session = s.id
	}
	return r
}

// turn has the turn with a program that is there, or is started.
func (s *acpSession) turn(ctx context.Context, t Turn, w *watch) Reply {
	err := s.ready(ctx, t, w)
	if lost := (lostSession{}); errors.As(err, &lost) {
		return Reply{Stop: Lost, Error: lost.why}
	}
	if err != nil {
		return s.failure(ctx, w, err)
	}
	s.talked = true
	if !s.preset.forgets && s.id != s.known {
		s.known = s.id
		w.conversation(s.id)
	}
	p := s.program
	turn := &acpTurn{ctx: ctx, watch: w, readOnly: t.ReadOnly, session: s, masked: t.Mask.Stream(), box: toolbox{dir: s.dir, tools: map[string]*toolUse{}}}
	s.money.Lock()
	s.before = s.total
	s.money.Unlock()
	p.begin(turn)
	type answer struct {
		reply acpReply
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		r, err := ask[acpReply](context.Background(), p, acp.AgentMethodSessionPrompt,
			acp.PromptRequest{SessionId: acp.SessionId(s.id), Prompt: []acp.ContentBlock{acp.TextBlock(t.Prompt)}})
		done <- answer{r, err}
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		p.conn.SendNotification(context.Background(), acp.AgentMethodSessionCancel, acp.CancelNotification{SessionId: acp.SessionId(s.id)})
		patience := time.NewTimer(s.c.interrupt())
		defer patience.Stop()
		select {
		case a = <-done:
			turn.ended(a.reply)
			if a.err != nil && p.broken() != nil {
				s.end(false)
			}
			return w.stopped(context.Cause(ctx))
		case <-patience.C:
			s.noted = append(s.noted, fmt.Sprintf("it did not give up the turn within %s, and was ended", s.c.interrupt()))
		case <-t.Kill:
		}
		r := w.stopped(context.Cause(ctx))
		r.Left = s.end(false)
		return r
	}
	if a.err != nil && cutOff(a.err) {
		turn.cutOff(a.err)
		a = answer{reply: acpReply{StopReason: string(acp.StopReasonMaxTokens)}}
	}
	if a.err != nil {
		return s.failure(ctx, w, a.err)
	}
	turn.ended(a.reply)
	r := turn.reply(a.reply.StopReason)
	if r.Stop == Failed {
		r.Error = fmt.Sprintf("agent %q (%s) failed: %s", s.c.Agent, s.c.Argv[0], r.Error)
	}
	return r
}

// failure is the reply of a turn that could not be had, or broke off.
func (s *acpSession) failure(ctx context.Context, w *watch, err error) Reply {
	if p := s.program; p != nil && p.broken() != nil {
		r := p.live.died(s.c, p.broken())
		s.noted = append(s.noted, p.live.finish()...)
		s.program = nil
		return r
	}
	if ctx.Err() != nil {
		r := w.stopped(context.Cause(ctx))
		r.Left = s.end(false)
		return r
	}
	text, status := errorText(err)
	if s.id == "" && s.program != nil && !hasCode(err, codeNoLogin) { // it would not even begin: what it wrote says more
		res := s.program.live.end(false)
		s.noted = append(s.noted, s.program.live.finish()...)
		s.program = nil
		text = evidence(text, res.Stderr)
	}
	if hasCode(err, codeNoLogin) {
		return failed("agent %q (%s) is not logged in (%s): %s", s.c.Agent, s.c.Argv[0], text, s.login())
	}
	return refused(fmt.Sprintf("agent %q (%s) failed: %s", s.c.Agent, s.c.Argv[0], text), status, time.Time{}, time.Now())
}

// login is what a person does to log in.
func (s *acpSession) login() string {
	if s.preset.login != "" {
		return s.preset.login
	}
	var ways []string
	for _, m := range s.program.start.AuthMethods {
		way := m.Name
		if m.Description != "" {
			way += " (" + m.Description + ")"
		}
		ways = append(ways, way)
	}
	if len(ways) == 0 {
		return "log in with the agent's own program"
	}
	return "log in with the agent's own program; it offers " + strings.Join(ways, ", ")
}

// Close implements Session. An agent that can is told first that the session is over, so that it ends its own children.
func (s *acpSession) Close() ([]string, error) {
	if p := s.program; p != nil && p.broken() == nil && p.start.Capabilities.Session.Close != nil && s.id != "" {
		ctx, cancel := context.WithTimeout(context.Background(), s.c.bye())
		defer cancel()
		ask[json.RawMessage](ctx, p, acp.AgentMethodSessionClose, acp.CloseSessionRequest{SessionId: acp.SessionId(s.id)}) // it ends in any case
	}
	return s.end(true), nil
}

// end ends the program if one runs, and returns what it had left behind.
func (s *acpSession) end(softly bool) []string {
	if s.program == nil {
		return nil
	}
	res := s.program.live.end(softly)
	s.noted = append(s.noted, s.program.live.finish()...)
	s.program = nil
	return res.Left
}

// paid is what this turn has cost so far. Agents tell the cost of the whole session.
func (s *acpSession) paid(u acpUpdate) *float64 {
	s.money.Lock()
	defer s.money.Unlock()
	if u.Cost != nil && u.Cost.Currency == "USD" {
		s.total = &u.Cost.Amount
	}
	if s.total == nil {
		return nil
	}
	return Usage{Cost: s.total}.since(Usage{Cost: s.before}).Cost
}
