package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"
)

// This file connects a running agent to the protocol's library. The library pairs requests with answers. What it
// would not survive is kept from it: lines that are no messages, several messages on one line, lines longer than its
// own limit, more updates at once than it holds. Updates are therefore read here, in the order in which they came, so
// that all of a turn are seen before the answer that ends it.

// acpLineLimit is the library's limit for a line, with room for its own counting. Only answers and requests go by it.
const acpLineLimit = 10<<20 - 1<<10

// acpProgram is a running agent that speaks the protocol.
type acpProgram struct {
	live  *live
	conn  *acp.Connection
	start acpStart
	model string // that it was started with

	mu   sync.Mutex
	turn *acpTurn // under way; nil: what comes belongs to no turn
	idle func(acpUpdate)
	why  error // why it cannot be talked with any more
}

// newACPProgram connects to a program. idle gets the updates that come between turns.
func newACPProgram(l *live, model string, idle func(acpUpdate)) *acpProgram {
	p := &acpProgram{live: l, model: model, idle: idle}
	in, out := io.Pipe()
	p.conn = acp.NewConnection(p.serve, l, in)
	p.conn.SetLogger(slog.New(slog.DiscardHandler))
	go p.pump(out)
	return p
}

// pump passes on what the program prints until nothing more comes.
func (p *acpProgram) pump(to *io.PipeWriter) {
	defer to.Close()
	for {
		line, err := p.live.next(context.Background())
		if err != nil {
			p.broke(err)
			return
		}
		for _, m := range messages(line) {
			if err := p.take(m, to); err != nil {
				p.broke(err)
				return
			}
		}
	}
}

func (p *acpProgram) broke(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == nil {
		p.why = why
	}
}

// broken is why the program cannot be talked with any more; nil while it can.
func (p *acpProgram) broken() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// take sorts one message. Notifications of unknown kinds stay in the log of the turn and mean nothing.
func (p *acpProgram) take(raw json.RawMessage, to io.Writer) error {
	var m acpMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	switch {
	case m.Method == acp.ClientMethodSessionUpdate:
		p.update(m.Params)
		return nil
	case m.Method != "" && m.ID == nil && m.Method != "$/cancel_request":
		return nil
	case m.Method == "" && m.ID == nil:
		return nil // JSON, but none of the protocol's
	case len(raw) > acpLineLimit:
		return fmt.Errorf("it sent a message of %d MiB, and the limit is %d", len(raw)>>20, acpLineLimit>>20)
	}
	_, err := to.Write(append(raw, '\n'))
	return err
}

func (p *acpProgram) update(params json.RawMessage) {
	var n struct {
		Update acpUpdate `json:"update"`
	}
	if json.Unmarshal(params, &n) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn != nil {
		p.turn.update(n.Update)
	} else {
		p.idle(n.Update)
	}
}

// begin and finish say which turn the updates belong to.
func (p *acpProgram) begin(t *acpTurn) { p.set(t) }
func (p *acpProgram) finish()          { p.set(nil) }

func (p *acpProgram) set(t *acpTurn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn = t
}

// serve answers the agent's requests. It may ask for permission and for nothing else: Foundry offers it neither files
// nor terminals, so that an agent works on the same files as the checks that follow, by its own tools.
func (p *acpProgram) serve(ctx context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	if method != acp.ClientMethodSessionRequestPermission {
		return nil, acp.NewMethodNotFound(method)
	}
	var q acpPermission
	if err := json.Unmarshal(params, &q); err != nil {
		return nil, acp.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	p.mu.Lock()
	t := p.turn
	p.mu.Unlock()
	if t == nil {
		return answer(q, false), nil
	}
	return t.permission(ctx, q), nil
}

// answer chooses an option: once, never for ever, since what the next request is about is not known.
func answer(q acpPermission, allow bool) acp.RequestPermissionResponse {
	id := q.option("reject_once", "reject_always")
	if allow {
		id = q.option("allow_once")
	}
	if id == "" {
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(id))}
}

// ask sends a request and waits for its answer.
func ask[T any](ctx context.Context, p *acpProgram, method string, params any) (T, error) {
	return acp.SendRequest[T](p.conn, ctx, method, params)
}

// hello begins the conversation. It offers the agent nothing.
func (p *acpProgram) hello(ctx context.Context) error {
	var err error
	p.start, err = ask[acpStart](ctx, p, acp.AgentMethodInitialize, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber, ClientInfo: &acp.Implementation{Name: "foundry", Version: "1"}})
	if err != nil {
		return err
	}
	if p.start.ProtocolVersion != acp.ProtocolVersionNumber {
		return fmt.Errorf("it speaks version %d of the Agent Client Protocol, and Foundry speaks version %d; install a version of it that does", p.start.ProtocolVersion, acp.ProtocolVersionNumber)
	}
	return nil
}

// resumes reports whether the agent says that it can go on with a session.
func (p *acpProgram) resumes() bool {
	return p.start.Capabilities.LoadSession || p.start.Capabilities.Session.Resume != nil
}

// The codes of the protocol's errors that mean something by themselves.
const (
	codeNoMethod = -32601
	codeNoLogin  = -32000
)

func hasCode(err error, code int) bool {
	var e *acp.RequestError
	return errors.As(err, &e) && e.Code == code
}

// errorText is what an error of the agent says, and the HTTP status that it goes back to, 0 when it names none. The
// message of many is only "Internal error"; what happened is in the data then, in a field that each agent names in its
// own way.
func errorText(err error) (text string, status int) {
	var e *acp.RequestError
	if !errors.As(err, &e) {
		return err.Error(), 0
	}
	if e.Code >= 400 && e.Code < 600 {
		status = e.Code
	}
	text = strings.TrimSpace(e.Message)
	more := ""
	switch data := e.Data.(type) {
	case string:
		more = data
	case map[string]any:
		for _, name := range []string{"message", "details", "error", "reason"} {
			if s, ok := data[name].(string); ok && more == "" {
				more = s
			}
		}
		if data["errorKind"] == "rate_limit" || data["errorKind"] == "overloaded" {
			status = 429 // too many requests
		}
	}
	if more = strings.TrimSpace(more); more != "" && !strings.Contains(text, more) {
		text += ": " + more
	}
	return text, status
}

// cutOff says that an error stands for a reply that reached the model's limit, which some agents tell so.
func cutOff(err error) bool {
	text := said(err)
	return strings.Contains(text, "max_output_tokens") || strings.Contains(text, "output token maximum")
}

func said(err error) string {
	text, _ := errorText(err)
	return text
}
