package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// claude drives Claude Code: one process for a session, messages as JSON lines both ways. It asks for permission over
// the same lines, gives a turn up when it is told to, and another process can go on with its session.
type claude struct{}

// claudeEnv keeps Claude Code to the work: no updates, no telemetry, and no retries of its own, which would last for
// minutes in which nobody could tell a limit from a stall.
var claudeEnv = []string{"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_MAX_RETRIES=0"}

// claudeNever are tools that make no sense here: nobody sits at the terminal, and the engine says where work happens
// and when.
var claudeNever = []string{"AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "EnterWorktree", "ExitWorktree", "CronCreate", "ScheduleWakeup"}

// claudeWriting are the tools that a read-only turn does without.
var claudeWriting = []string{"Edit", "Write", "MultiEdit", "NotebookEdit"}

func (claude) Preflight(c Config) error { return lookForProgram(&c, "claude") }

func (h claude) Open(_ context.Context, c Config) (Session, error) {
	if err := lookForProgram(&c, "claude"); err != nil {
		return nil, err
	}
	return &claudeSession{program: program{c: c}, id: c.Session}, nil
}

type claudeSession struct {
	program
	id    string   // of the conversation; "" before its first turn
	args  []string // of the process
	total Usage    // of the process so far, which is what it reports
	asked int      // control requests that were sent
}

func (s *claudeSession) Turn(ctx context.Context, t Turn, activity func(Activity)) Reply {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newWatch(t, activity, cancel)
	defer w.stop()
	w.counting()
	r := s.serve(ctx, t, w)
	if r.Stop == Failed && s.id != "" && strings.Contains(r.Error, "No conversation found") {
		r.Stop, r.Error = Lost, "Claude Code does not know session "+s.id
		s.id = ""
	}
	w.account(&r)
	s.over(&r)
	r.Session = s.id
	return r
}

// serve has the turn with a process that is there or is started for it.
func (s *claudeSession) serve(ctx context.Context, t Turn, w *watch) Reply {
	if err := s.start(t); err != nil {
		return failed("%v", err)
	}
	if err := s.l.begin(w, t); err != nil {
		return failed("%v", err)
	}
	turn := &claudeTurn{s: s, w: w, ctx: ctx, dir: workDir(s.c, t)}
	s.l.send(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": t.Prompt}})
	return s.l.converse(ctx, s.c, t, w, turn.take, func() { s.control(map[string]any{"subtype": "interrupt"}) })
}

// start sees to it that a process runs that can serve the turn. What Claude Code is only told when it starts, and is
// different now, makes another process go on with the session.
func (s *claudeSession) start(t Turn) error {
	args := s.arguments(t)
	if s.runs() && slices.Equal(args, s.args) {
		return nil
	}
	argv := append(slices.Clone(s.c.Argv), args...)
	if s.id != "" {
		argv = append(argv, "--resume", s.id)
	}
	if err := s.replace(t, argv, claudeEnv); err != nil {
		return err
	}
	s.args, s.total = args, Usage{}
	s.control(map[string]any{"subtype": "initialize"})
	return nil
}

func (s *claudeSession) arguments(t Turn) []string {
	args := []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
		"--permission-prompt-tool", "stdio", "--permission-mode", "default"}
	if m := model(s.c, t); m != "" {
		args = append(args, "--model", m)
	}
	if t.Effort != "" {
		args = append(args, "--effort", t.Effort)
	}
	if len(s.c.Allow) > 0 {
		args = append(args, "--tools", strings.Join(s.c.Allow, ","))
	}
	never := slices.Concat(claudeNever, s.c.Deny)
	if t.ReadOnly {
		never = append(never, claudeWriting...)
	}
	return append(args, "--disallowedTools", strings.Join(never, ","))
}

func (s *claudeSession) control(request map[string]any) {
	s.asked++
	s.l.send(map[string]any{"type": "control_request", "request_id": fmt.Sprintf("foundry-%d", s.asked), "request": request})
}

// claudeMessage is a line that Claude Code prints, as far as it is read.
type claudeMessage struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`

	// assistant and user
	Message struct {
		ID      string          `json:"id"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`

	// stream_event
	Event struct {
		Type    string `json:"type"`
		Message struct {
			Usage claudeUsage `json:"usage"`
		} `json:"message"`
		Usage claudeUsage `json:"usage"`
	} `json:"event"`

	// control_request
	RequestID string `json:"request_id"`
	Request   struct {
		Subtype     string          `json:"subtype"`
		ToolName    string          `json:"tool_name"`
		Input       json.RawMessage `json:"input"`
		ToolUseID   string          `json:"tool_use_id"`
		BlockedPath string          `json:"blocked_path"`
		Description string          `json:"description"`
	} `json:"request"`

	// rate_limit_event
	RateLimit struct {
		ResetsAt int64 `json:"resetsAt"`
	} `json:"rate_limit_info"`

	// result
	IsError    bool        `json:"is_error"`
	Result     string      `json:"result"`
	Errors     []string    `json:"errors"`
	Status     int         `json:"api_error_status"`
	StopReason string      `json:"stop_reason"`
	Usage      claudeUsage `json:"usage"`
	Cost       *float64    `json:"total_cost_usd"`
	Models     map[string]struct {
		Input      int `json:"inputTokens"`
		Output     int `json:"outputTokens"`
		CacheRead  int `json:"cacheReadInputTokens"`
		CacheWrite int `json:"cacheCreationInputTokens"`
	} `json:"modelUsage"`
}

type claudeUsage struct {
	Input      *int `json:"input_tokens"`
	Output     *int `json:"output_tokens"`
	CacheRead  *int `json:"cache_read_input_tokens"`
	CacheWrite *int `json:"cache_creation_input_tokens"`
}

// usage counts what is read from and put into the cache as input, which Anthropic does not.
func (u claudeUsage) usage() Usage {
	return Usage{Input: sum(u.Input, sum(u.CacheRead, u.CacheWrite)), CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output}
}

// claudeTurn is one turn.
type claudeTurn struct {
	s      *claudeSession
	w      *watch
	ctx    context.Context
	dir    string
	spent  Usage // by the model's messages that have ended
	now    claudeUsage
	text   string    // the newest words of the model
	cut    string    // those before them: an error of the API comes as words of the model, too
	resets time.Time // of a limit, should there be one
}

// take takes a message; done says that it ended the turn.
func (t *claudeTurn) take(raw json.RawMessage) (r Reply, done bool) {
	var m claudeMessage
	if json.Unmarshal(raw, &m) != nil {
		return Reply{}, false // an unknown kind of message, which is in the log
	}
	if m.SessionID != "" && m.Type != "control_request" && m.SessionID != t.s.id {
		t.s.id = m.SessionID
		t.w.conversation(t.s.id)
	}
	switch m.Type {
	case "stream_event":
		t.meter(&m)
	case "assistant", "user":
		t.content(m.Message.Content)
	case "control_request":
		t.request(&m)
	case "rate_limit_event":
		if m.RateLimit.ResetsAt > 0 {
			t.resets = time.Unix(m.RateLimit.ResetsAt, 0).UTC()
		}
	case "result":
		return t.result(&m), true
	}
	return Reply{}, false
}

// meter adds up what the messages of the model cost while they come.
func (t *claudeTurn) meter(m *claudeMessage) {
	switch m.Event.Type {
	case "message_start":
		t.now = m.Event.Message.Usage
	case "message_delta":
		if m.Event.Usage.Output != nil {
			t.now.Output = m.Event.Usage.Output
		}
	case "message_stop":
		t.spent, t.now = t.spent.add(t.now.usage()), claudeUsage{}
	default:
		return
	}
	t.w.spent(t.spent.add(t.now.usage()))
}

// content passes on what a message says, and the tools that it calls or answers.
func (t *claudeTurn) content(raw json.RawMessage) {
	var blocks []struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
		ToolUseID string          `json:"tool_use_id"`
		Content   json.RawMessage `json:"content"`
		IsError   bool            `json:"is_error"`
	}
	if json.Unmarshal(raw, &blocks) != nil {
		return // a text, which is the prompt again
	}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			t.cut, t.text = t.text, b.Text
			t.w.said(b.Text)
		case "tool_use":
			tool := toolNamed(b.ID, b.Name, b.Input, t.dir)
			t.w.called(tool, tool.saying())
		case "tool_result":
			var text string
			if json.Unmarshal(b.Content, &text) != nil {
				text = string(b.Content)
			}
			t.w.result(b.ToolUseID, text, b.IsError)
		}
	}
}

// request answers what Claude Code asks. Whatever is not a question of permission is answered with an error, for it
// would wait for ever.
func (t *claudeTurn) request(m *claudeMessage) {
	answer := map[string]any{"subtype": "error", "request_id": m.RequestID, "error": "not supported here: " + m.Request.Subtype}
	if m.Request.Subtype == "can_use_tool" {
		tool := toolNamed(m.Request.ToolUseID, m.Request.ToolName, m.Request.Input, t.dir)
		if m.Request.BlockedPath != "" {
			tool.Paths = absolute(t.dir, append(tool.Paths, m.Request.BlockedPath))
		}
		title := tool.saying()
		if m.Request.Description != "" {
			title += " (" + shown(m.Request.Description) + ")"
		}
		d := t.w.permit(t.ctx, Request{Tool: tool, Title: title})
		verdict := map[string]any{"behavior": "deny", "message": d.Reason, "interrupt": t.ctx.Err() != nil}
		if d.Allow {
			verdict = map[string]any{"behavior": "allow", "updatedInput": m.Request.Input}
		}
		answer = map[string]any{"subtype": "success", "request_id": m.RequestID, "response": verdict}
	}
	t.s.l.send(map[string]any{"type": "control_response", "response": answer})
}

// result is the reply of the turn. Its word "success" counts for nothing beside its error flag.
func (t *claudeTurn) result(m *claudeMessage) Reply {
	t.settle(m)
	text := m.Result
	if m.IsError || m.Subtype != "success" {
		if text == "" {
			text = strings.Join(m.Errors, "; ")
		}
		if text == "" {
			text = "Claude Code ended the turn with " + m.Subtype
		}
		if strings.Contains(text, "output token maximum") && m.Status == 0 { // which it tells as an error of the API
			return Reply{Stop: Truncated, Text: cleanText(t.cut)}
		}
		return refused(text, m.Status, t.resets, time.Now())
	}
	if m.StopReason == "max_tokens" {
		return Reply{Stop: Truncated, Text: cleanText(text)}
	}
	return Reply{Stop: End, Text: cleanText(text)}
}

// settle takes the final figures of the turn. The totals of all models are the better ones: they have what was spent
// besides the conversation itself. They count from the start of the process.
func (t *claudeTurn) settle(m *claudeMessage) {
	total := Usage{Cost: m.Cost}
	for _, u := range m.Models {
		total = total.add(claudeUsage{&u.Input, &u.Output, &u.CacheRead, &u.CacheWrite}.usage())
	}
	u := total.since(t.s.total)
	t.s.total = total
	if len(m.Models) == 0 {
		own := m.Usage.usage()
		own.Cost = u.Cost
		u = own
	}
	if seen, known := t.w.usage.Tokens(); known {
		if n, _ := u.Tokens(); n < seen { // what an interrupted turn had used is in no total
			cost := u.Cost
			u = t.w.usage
			u.Cost = cost
		}
	}
	t.w.spent(u)
}
