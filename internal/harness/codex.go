package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// codex drives Codex CLI through its app server: one process for a session, JSON-RPC as lines both ways. Its commands
// run in its own sandbox, which lets them write the workspace, or nothing in a read-only turn; what they need beyond
// that it asks for. Another process can go on with its thread.
type codex struct{}

func (codex) Preflight(c Config) error { return lookForProgram(&c, "codex") }

func (h codex) Open(_ context.Context, c Config) (Session, error) {
	if err := lookForProgram(&c, "codex"); err != nil {
		return nil, err
	}
	return &codexSession{program: program{c: c}, id: c.Session}, nil
}

// The ids of our requests that an answer is read of. Others, such as interrupts, get higher ones.
const (
	codexInitialize = iota + 1
	codexThread
	codexTurnStart
	codexOther
)

type codexSession struct {
	program
	id       string // of the thread; "" before its first turn
	readOnly bool   // what the process was started for
	loaded   bool   // the process has the thread
	total    Usage  // of the thread, as last told to this process
	counted  bool   // total is known
}

func (s *codexSession) Turn(ctx context.Context, t Turn, activity func(Activity)) Reply {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newWatch(t, activity, cancel)
	defer w.stop()
	w.counting()
	if err := s.start(t); err != nil {
		return failed("%v", err)
	}
	if err := s.l.begin(w, t); err != nil {
		return failed("%v", err)
	}
	turn := &codexTurn{s: s, w: w, ctx: ctx, t: t, dir: workDir(s.c, t), items: map[string]Tool{}}
	if s.loaded {
		turn.begin()
	} else {
		turn.open()
	}
	r := s.l.converse(ctx, s.c, t, w, turn.take, turn.interrupt)
	w.account(&r)
	s.over(&r)
	r.Session = s.id
	return r
}

// start sees to it that a process runs that can serve the turn. The sandbox is chosen when a thread is loaded, so
// another one needs another process.
func (s *codexSession) start(t Turn) error {
	if s.runs() && s.readOnly == t.ReadOnly {
		return nil
	}
	if err := s.replace(t, append(slices.Clone(s.c.Argv), "app-server"), nil); err != nil {
		return err
	}
	s.readOnly, s.loaded, s.counted = t.ReadOnly, false, false
	s.request(codexInitialize, "initialize", map[string]any{"clientInfo": map[string]any{"name": "foundry", "title": "Foundry", "version": "1"}})
	s.l.send(map[string]any{"method": "initialized"})
	return nil
}

func (s *codexSession) request(id int, method string, params map[string]any) {
	s.l.send(map[string]any{"id": id, "method": method, "params": params})
}

// codexMessage is a line that Codex prints, as far as it is read: an answer, a notification, or a request.
type codexMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
	Result struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
		Turn codexState `json:"turn"`
	} `json:"result"`
	Params codexParams `json:"params"`
}

type codexParams struct {
	ThreadID string     `json:"threadId"`
	Turn     codexState `json:"turn"`
	Item     codexItem  `json:"item"`

	// thread/tokenUsage/updated
	TokenUsage struct {
		Total codexUsage `json:"total"`
		Last  codexUsage `json:"last"`
	} `json:"tokenUsage"`

	// account/rateLimits/updated
	RateLimits struct {
		Primary   *codexWindow `json:"primary"`
		Secondary *codexWindow `json:"secondary"`
	} `json:"rateLimits"`

	// requests of approval
	ItemID  string          `json:"itemId"`
	Reason  string          `json:"reason"`
	Command json.RawMessage `json:"command"`
}

// codexState is a turn as Codex tells of it.
type codexState struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Error  *struct {
		Message string          `json:"message"`
		Details string          `json:"additionalDetails"`
		Info    json.RawMessage `json:"codexErrorInfo"`
	} `json:"error"`
}

// codexItem is a message or the use of a tool.
type codexItem struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Command json.RawMessage `json:"command"`
	Output  string          `json:"aggregatedOutput"`
	Status  string          `json:"status"`
	Server  string          `json:"server"`
	Tool    string          `json:"tool"`
	Query   string          `json:"query"`
	Changes []struct {
		Path string `json:"path"`
	} `json:"changes"`
}

// codexUsage counts cached tokens as input, as Foundry does.
type codexUsage struct {
	Input      *int `json:"inputTokens"`
	CacheRead  *int `json:"cachedInputTokens"`
	CacheWrite *int `json:"cacheWriteInputTokens"`
	Output     *int `json:"outputTokens"`
}

func (u codexUsage) usage() Usage {
	return Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output}
}

// codexWindow is a span of time for which there is a limit.
type codexWindow struct {
	Used     float64 `json:"usedPercent"`
	ResetsAt int64   `json:"resetsAt"`
}

// codexTurn is one turn.
type codexTurn struct {
	s      *codexSession
	w      *watch
	ctx    context.Context
	t      Turn
	dir    string
	id     string          // of the turn, once Codex has named it
	items  map[string]Tool // the tools that were used
	text   string          // the newest words of the agent: the last ones are the reply
	resets time.Time       // of a limit, should there be one
	asked  int
}

// open begins a thread, or goes on with one.
func (t *codexTurn) open() {
	sandbox := "workspace-write"
	if t.t.ReadOnly {
		sandbox = "read-only"
	}
	params := map[string]any{"cwd": t.dir, "sandbox": sandbox, "approvalPolicy": "on-request"}
	if !t.s.c.Asks {
		params["approvalPolicy"] = "never"
	}
	if m := model(t.s.c, t.t); m != "" {
		params["model"] = m
	}
	method := "thread/start"
	if t.s.id != "" {
		method = "thread/resume"
		params["threadId"], params["excludeTurns"] = t.s.id, true
	}
	t.s.request(codexThread, method, params)
}

// begin sends the prompt.
func (t *codexTurn) begin() {
	params := map[string]any{"threadId": t.s.id, "cwd": t.dir, "input": []any{map[string]any{"type": "text", "text": t.t.Prompt}}}
	if m := model(t.s.c, t.t); m != "" {
		params["model"] = m
	}
	if t.t.Effort != "" {
		params["effort"] = t.t.Effort
	}
	t.s.request(codexTurnStart, "turn/start", params)
}

func (t *codexTurn) interrupt() {
	t.asked++
	t.s.request(codexOther+t.asked, "turn/interrupt", map[string]any{"threadId": t.s.id, "turnId": t.id})
}

// take takes a message; done says that it ended the turn.
func (t *codexTurn) take(raw json.RawMessage) (r Reply, done bool) {
	var m codexMessage
	if json.Unmarshal(raw, &m) != nil {
		return Reply{}, false // an unknown kind of message, which is in the log
	}
	switch {
	case m.Method == "":
		return t.answered(&m)
	case len(m.ID) > 0:
		t.request(&m)
		return Reply{}, false
	case m.Params.ThreadID != "" && t.s.loaded && m.Params.ThreadID != t.s.id:
		return Reply{}, false // of a helper that the agent started
	}
	switch m.Method {
	case "turn/started":
		t.id = m.Params.Turn.ID
	case "item/started":
		t.began(m.Params.Item)
	case "item/completed":
		t.ended(m.Params.Item)
	case "thread/tokenUsage/updated":
		t.meter(&m.Params)
	case "account/rateLimits/updated":
		for _, w := range []*codexWindow{m.Params.RateLimits.Primary, m.Params.RateLimits.Secondary} {
			if w != nil && w.Used >= 100 && w.ResetsAt > 0 {
				t.resets = time.Unix(w.ResetsAt, 0).UTC()
			}
		}
	case "turn/completed":
		return t.completed(m.Params.Turn), true
	}
	return Reply{}, false
}

// answered takes an answer to a request of ours.
func (t *codexTurn) answered(m *codexMessage) (Reply, bool) {
	var id int
	if json.Unmarshal(m.ID, &id) != nil || id >= codexOther {
		return Reply{}, false
	}
	if m.Error != nil && id == codexThread && t.s.id != "" {
		t.s.id = ""
		return Reply{Stop: Lost, Error: m.Error.Message}, true
	}
	if m.Error != nil {
		what := map[int]string{codexInitialize: "start", codexThread: "begin a thread", codexTurnStart: "begin the turn"}[id]
		return refused(fmt.Sprintf("Codex could not %s: %s", what, m.Error.Message), 0, t.resets, time.Now()), true
	}
	switch id {
	case codexThread:
		t.s.id, t.s.loaded = m.Result.Thread.ID, true
		t.w.conversation(t.s.id)
		t.begin()
	case codexTurnStart:
		t.id = m.Result.Turn.ID
	}
	return Reply{}, false
}

// tool describes an item that is the use of a tool; false for others.
func (t *codexTurn) tool(item codexItem) (Tool, bool) {
	tool := Tool{ID: item.ID, Name: item.Type, Kind: Other}
	switch item.Type {
	case "commandExecution":
		tool.Name, tool.Kind, tool.Command = "shell", Execute, codexCommand(item.Command)
	case "fileChange":
		tool.Name, tool.Kind = "apply_patch", Edit
		var paths []string
		for _, c := range item.Changes {
			paths = append(paths, c.Path)
		}
		tool.Paths = absolute(t.dir, paths)
	case "mcpToolCall", "dynamicToolCall", "collabAgentToolCall":
		tool.Name = strings.TrimPrefix(item.Server+"."+item.Tool, ".")
	case "webSearch":
		tool.Name, tool.Kind, tool.Command = "web_search", Fetch, item.Query
	default:
		return Tool{}, false
	}
	return tool, true
}

// codexCommand reads a command that is a text or a list of words.
func codexCommand(raw json.RawMessage) string {
	var text string
	var words []string
	if json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &words) == nil {
		text = strings.Join(words, " ")
	}
	return text
}

func (t *codexTurn) began(item codexItem) {
	if tool, ok := t.tool(item); ok {
		t.items[item.ID] = tool
		t.w.called(tool, tool.saying())
	}
}

func (t *codexTurn) ended(item codexItem) {
	if item.Type == "agentMessage" {
		t.text = item.Text
		t.w.said(item.Text)
		return
	}
	if tool, ok := t.tool(item); ok {
		if _, begun := t.items[item.ID]; !begun {
			t.w.called(tool, tool.saying())
		}
		t.w.result(item.ID, item.Output, item.Status == "failed" || item.Status == "declined")
	}
}

// meter takes the total of the thread. The first one that a process tells has in it what was spent before.
func (t *codexTurn) meter(p *codexParams) {
	total := p.TokenUsage.Total.usage()
	if !t.s.counted {
		t.s.counted, t.s.total = true, total.since(p.TokenUsage.Last.usage())
		if t.id == "" { // told of a thread that was loaded, before anything was spent
			t.s.total = total
			return
		}
	}
	spent := total.since(t.s.total)
	t.s.total = total
	t.w.spent(t.w.usage.add(spent))
}

// request answers what Codex asks. Whatever is not a question of permission is answered with an error, for it would
// wait for ever.
func (t *codexTurn) request(m *codexMessage) {
	tool, known := t.items[m.Params.ItemID]
	if !known {
		tool = Tool{ID: m.Params.ItemID, Name: m.Method, Kind: Other}
	}
	switch m.Method {
	case "item/commandExecution/requestApproval":
		tool.Name, tool.Kind = "shell", Execute
		if command := codexCommand(m.Params.Command); command != "" {
			tool.Command = command
		}
	case "item/fileChange/requestApproval":
		tool.Name, tool.Kind = "apply_patch", Edit
	default:
		t.s.l.send(map[string]any{"id": m.ID, "error": map[string]any{"code": -32601, "message": "not supported here: " + m.Method}})
		return
	}
	title := tool.saying()
	if m.Params.Reason != "" {
		title += " (" + shown(m.Params.Reason) + ")"
	}
	decision := "decline"
	switch allow := t.w.permit(t.ctx, Request{Tool: tool, Title: title}).Allow; {
	case t.ctx.Err() != nil:
		decision = "cancel"
	case allow:
		decision = "accept"
	}
	t.s.l.send(map[string]any{"id": m.ID, "result": map[string]any{"decision": decision}})
}

// completed is the reply of the turn.
func (t *codexTurn) completed(state codexState) Reply {
	if state.Error == nil && state.Status == "completed" {
		return Reply{Stop: End, Text: cleanText(t.text)}
	}
	text, status := "Codex ended the turn as "+state.Status, 0
	if e := state.Error; e != nil {
		text, status = e.Message, codexStatus(e.Info)
		if e.Details != "" {
			text += ": " + e.Details
		}
	}
	if strings.Contains(text, "max_output_tokens") {
		return Reply{Stop: Truncated, Text: cleanText(t.text)}
	}
	return refused(text, status, t.resets, time.Now())
}

// codexStatus is the HTTP status in what Codex tells of an error, or one that means the same; 0 for none.
func codexStatus(info json.RawMessage) int {
	var word string
	if json.Unmarshal(info, &word) == nil {
		switch word {
		case "usageLimitExceeded", "rateLimitExceeded":
			return 429
		case "serverOverloaded":
			return 529
		}
		return 0
	}
	var kinds map[string]struct {
		Status int `json:"httpStatusCode"`
	}
	if json.Unmarshal(info, &kinds) == nil {
		for _, kind := range kinds {
			return kind.Status
		}
	}
	return 0
}
