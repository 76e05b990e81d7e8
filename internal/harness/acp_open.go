package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coder/acp-go-sdk"
)

// This file starts an agent, takes up its session or begins one, and makes it fit a turn: its model, its mode, how long
// it thinks.

// helloTime is how long an agent may take until it answers the protocol's first message.
const helloTime = 2 * time.Minute

// ready makes sure that a program runs, that it has the session, and that the session is as the turn wants it.
func (s *acpSession) ready(ctx context.Context, t Turn, w *watch) error {
	want := model(s.c, t)
	if s.program != nil && s.program.broken() != nil {
		s.end(false)
	}
	if s.program == nil {
		if err := s.open(ctx, t, w, want); err != nil {
			return err
		}
	} else if err := s.program.live.begin(w, t); err != nil {
		return err
	}
	if err := s.chooseModel(ctx, t, w, want); err != nil {
		return err
	}
	if id, ok := s.effort.has(t.Effort); ok && t.Effort != "" {
		if err := s.choose(ctx, &s.effort, id, "", nil); err != nil {
			return err
		}
	}
	return s.chooseMode(ctx, t.ReadOnly)
}

// open starts the program, and takes the session up again or begins one.
func (s *acpSession) open(ctx context.Context, t Turn, w *watch, want string) error {
	argv, env, given := s.c.Argv, s.preset.env, ""
	switch {
	case want == "":
	case s.preset.modelFlag != "":
		argv, given = append(argv[:len(argv):len(argv)], s.preset.modelFlag, want), want
	case s.preset.modelEnv != "":
		env, given = append(env[:len(env):len(env)], s.preset.modelEnv+"="+want), want
	}
	l, err := startLive(s.c, t, argv, env)
	if err != nil {
		return err
	}
	if s.dir = s.c.Dir; s.dir == "" {
		s.dir = t.Dir
	}
	s.program = newACPProgram(l, given, func(u acpUpdate) { s.paid(u) })
	if err := l.begin(w, t); err != nil {
		return err
	}
	hctx, cancel := context.WithTimeoutCause(ctx, helloTime, fmt.Errorf("it did not answer the protocol's first message within %s; is it an agent that speaks the Agent Client Protocol?", helloTime))
	defer cancel()
	if err := s.program.hello(hctx); err != nil {
		if ctx.Err() == nil && hctx.Err() != nil {
			err = context.Cause(hctx)
			s.end(false)
		}
		return err
	}
	return s.begin(ctx)
}

// lostSession says that a session could not be taken up again. A new one is there instead, which knows nothing.
type lostSession struct{ why string }

func (l lostSession) Error() string { return l.why }

// begin takes the session up again, or begins a new one.
func (s *acpSession) begin(ctx context.Context) error {
	state, gone := s.again(ctx)
	if s.id == "" || gone != nil {
		var err error
		state, err = ask[acpState](ctx, s.program, acp.AgentMethodSessionNew, acp.NewSessionRequest{Cwd: s.dir, McpServers: []acp.McpServer{}})
		if err != nil {
			return err
		}
		if state.SessionID == "" {
			return errors.New("its answer to session/new names no session")
		}
		s.id = state.SessionID
	}
	s.mode, s.model, s.effort = state.mode(), state.model(), state.option("thought_level")
	s.first = s.model.current
	if gone != nil && s.talked {
		s.talked = false
		return lostSession{said(gone)}
	}
	return nil
}

// again goes on with the session of an earlier process. Without one it does nothing.
func (s *acpSession) again(ctx context.Context) (acpState, error) {
	p := s.program
	switch {
	case s.id == "":
		return acpState{}, nil
	case s.preset.forgets || !p.resumes():
		return acpState{}, errors.New("the agent cannot do that")
	}
	err := error(&acp.RequestError{Code: codeNoMethod})
	var state acpState
	if p.start.Capabilities.Session.Resume != nil {
		state, err = ask[acpState](ctx, p, acp.AgentMethodSessionResume, acp.ResumeSessionRequest{SessionId: acp.SessionId(s.id), Cwd: s.dir, McpServers: []acp.McpServer{}})
	}
	if hasCode(err, codeNoMethod) && p.start.Capabilities.LoadSession {
		state, err = ask[acpState](ctx, p, acp.AgentMethodSessionLoad, acp.LoadSessionRequest{SessionId: acp.SessionId(s.id), Cwd: s.dir, McpServers: []acp.McpServer{}})
	}
	return state, err
}

// choose sets what can be chosen in a session: by the option that the agent offers, or else by a method of its own.
func (s *acpSession) choose(ctx context.Context, c *choice, value, method string, params any) error {
	if value == c.current {
		return nil
	}
	var err error
	if c.option != "" {
		_, err = ask[json.RawMessage](ctx, s.program, acp.AgentMethodSessionSetConfigOption, acp.SetSessionConfigOptionRequest{
			ValueId: &acp.SetSessionConfigOptionValueId{SessionId: acp.SessionId(s.id), ConfigId: acp.SessionConfigId(c.option), Value: acp.SessionConfigValueId(value)}})
	} else {
		_, err = ask[json.RawMessage](ctx, s.program, method, params)
	}
	if err == nil {
		c.current = value
	}
	return err
}

// chooseMode puts the session into the mode for the turn, as far as the agent has one. The boundary is checked
// whatever the mode, so a mode that cannot be had is noted and no more.
func (s *acpSession) chooseMode(ctx context.Context, readOnly bool) error {
	wanted := s.preset.writing
	switch {
	case readOnly:
		wanted = s.preset.reading
	case s.c.Asks:
		wanted = s.preset.asking
	}
	for _, name := range wanted {
		id, ok := s.mode.has(name)
		if !ok {
			continue
		}
		err := s.choose(ctx, &s.mode, id, acp.AgentMethodSessionSetMode, acp.SetSessionModeRequest{SessionId: acp.SessionId(s.id), ModeId: acp.SessionModeId(id)})
		if err != nil && (s.program.broken() != nil || ctx.Err() != nil) {
			return err
		}
		if err != nil {
			s.noted = append(s.noted, fmt.Sprintf("it would not go into its mode %q: %s", id, said(err)))
		}
		return nil
	}
	return nil
}

// chooseModel makes the session use a model. One that the agent does not offer by name can still be one that it
// takes, in a session or when it starts.
func (s *acpSession) chooseModel(ctx context.Context, t Turn, w *watch, want string) error {
	if want == "" {
		want = s.first
	}
	id, offered := s.model.has(want)
	if !offered {
		id = want
	}
	if want == "" || id == s.model.current || !offered && want == s.program.model {
		return nil
	}
	if !s.model.known && (s.preset.modelFlag == "" && s.preset.modelEnv == "") {
		return fmt.Errorf("it offers no choice of a model, and %q is wanted; take `model` out", want)
	}
	err := error(nil)
	if s.model.known {
		err = s.choose(ctx, &s.model, id, acp.AgentMethodSessionSetModel, acp.UnstableSetSessionModelRequest{SessionId: acp.SessionId(s.id), ModelId: acp.UnstableModelId(id)})
		if err == nil || s.program.broken() != nil || ctx.Err() != nil {
			return err
		}
	}
	if s.preset.modelFlag != "" || s.preset.modelEnv != "" {
		s.end(true)
		return s.open(ctx, t, w, want)
	}
	var names []string
	for _, v := range s.model.offered {
		names = append(names, v.Value)
	}
	return fmt.Errorf("it does not take the model %q (%s); it offers %s", want, said(err), strings.Join(names, ", "))
}
