package harness

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"

	"foundry/secret"
)

// gatherTime is how long words are gathered before they are passed on, unless a line ends.
const gatherTime = 500 * time.Millisecond

// acpTurn gathers what an agent tells while one turn runs.
type acpTurn struct {
	ctx      context.Context
	watch    *watch
	readOnly bool
	session  *acpSession

	mu      sync.Mutex
	box     toolbox
	text    strings.Builder // the last message
	earlier string          // the message before it
	masked  *secret.Stream  // what is said goes through it: agents cut their words anywhere
	saying  strings.Builder // the part of it that nobody was told yet
	later   *time.Timer     // tells it; nil when nothing is to be told
	message string          // the id of the message that the last words belong to
	worked  bool            // a tool was used since the last words
	refused bool            // a permission request was refused
	used    int             // tokens of the model requests so far
	spent   Usage
}

// update takes a session/update.
func (t *acpTurn) update(u acpUpdate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch u.Kind {
	case "agent_message_chunk":
		t.said(u)
	case "tool_call", "tool_call_update":
		t.tool(u)
	case "usage_update":
		t.usage(u)
	}
}

// said adds words to the reply. It is the last message that counts: words of another one, or after a tool, begin it anew,
// so that a report which an agent only talks of on its way is not taken for its own.
func (t *acpTurn) said(u acpUpdate) {
	words := blockText(u.Content)
	if words == "" {
		return
	}
	if t.worked || u.MessageID != t.message {
		t.tellAll()
		t.earlier = t.text.String()
		t.text.Reset()
	}
	if t.later == nil {
		t.later = time.AfterFunc(gatherTime, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.tell()
		})
	}
	t.worked, t.message = false, u.MessageID
	t.text.WriteString(words)
	t.saying.Write(t.masked.Write([]byte(words)))
	if strings.Contains(words, "\n") {
		t.tell()
	}
}

// tellAll passes on what was said: it is a whole message.
func (t *acpTurn) tellAll() {
	t.saying.Write(t.masked.Flush())
	t.tell()
}

// tell passes the words on that were gathered: agents send a few at a time. What may be the beginning of a secret waits.
func (t *acpTurn) tell() {
	if t.later != nil {
		t.later.Stop()
		t.later = nil
	}
	if t.saying.Len() == 0 {
		return
	}
	t.watch.said(strings.TrimSpace(cleanText(t.saying.String())))
	t.saying.Reset()
}

func (t *acpTurn) tool(u acpUpdate) {
	use := t.box.learn(u.acpTool, u.Content)
	t.worked = true
	over := u.Status == "completed" || u.Status == "failed"
	// A tool is first told of before it is known what it is to do; that comes in the next message.
	if over || !use.vague() || u.Kind == "tool_call_update" {
		t.begun(use)
	}
	if over && !use.over {
		use.over = true
		t.watch.result(use.ID, resultText(u.acpTool, u.Content), u.Status == "failed")
	}
}

func (t *acpTurn) begun(use *toolUse) {
	t.tellAll()
	if !use.told {
		use.told = true
		t.watch.called(use.Tool, use.title)
	}
}

// usage takes what was spent so far: the cost of the whole session, and from some agents the tokens of each model
// request.
func (t *acpTurn) usage(u acpUpdate) {
	t.spent.Cost = t.session.paid(u)
	if t.session.preset.usedPerCall && u.Used > 0 && u.Used != t.session.lastUsed {
		t.session.lastUsed = u.Used
		t.used += u.Used
		used := t.used
		t.spent.Total = &used
	}
	if t.spent != (Usage{}) {
		t.watch.spent(t.spent)
	}
}

// ended takes what the answer says of the usage.
func (t *acpTurn) ended(r acpReply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tellAll()
	cost := t.spent.Cost
	switch {
	case r.Usage != nil && !t.session.preset.lastStepOnly:
		t.spent = r.Usage.usage()
	case r.Meta.Quota.Tokens != nil:
		t.spent = Usage{Input: r.Meta.Quota.Tokens.Input, Output: r.Meta.Quota.Tokens.Output}
	}
	t.spent.Cost = cost
	if t.spent != (Usage{}) {
		t.watch.spent(t.spent)
	}
}

// cutOff makes the message that was cut off the last one again, after the agent has said the error as a message of its own.
func (t *acpTurn) cutOff(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if strings.Contains(said(err), strings.TrimSpace(t.text.String())) {
		t.text.Reset()
		t.text.WriteString(t.earlier)
	}
}

// permission answers a request. In a turn that is not to write the agent may not leave its read-only mode.
func (t *acpTurn) permission(ctx context.Context, q acpPermission) acp.RequestPermissionResponse {
	t.mu.Lock()
	use := t.box.learn(q.ToolCall.acpTool, q.ToolCall.Content)
	tool, title := use.Tool, use.title
	t.worked = true
	t.tellAll()
	t.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	allow := false
	if !t.readOnly || q.ToolCall.Kind != "switch_mode" {
		allow = t.watch.permit(ctx, Request{Tool: tool, Title: title}).Allow
	}
	if t.ctx.Err() != nil { // the protocol wants this answer from one who has cancelled the turn
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if allow {
		t.begun(use)
	} else {
		t.refused = true
	}
	return answer(q, allow)
}

// reply makes the reply of a turn that the agent says has ended.
func (t *acpTurn) reply(stop string) Reply {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := cleanText(t.text.String())
	switch acp.StopReason(stop) {
	case acp.StopReasonEndTurn:
		return Reply{Stop: End, Text: text}
	case acp.StopReasonMaxTokens:
		return Reply{Stop: Truncated, Text: text}
	case acp.StopReasonMaxTurnRequests:
		return failed("it stopped at its own limit of model requests in one turn (max_turn_requests)")
	case acp.StopReasonRefusal:
		return failed("the model refused to go on (refusal)")
	case acp.StopReasonCancelled:
		if t.refused { // some agents end their turn when they are refused a tool
			return Reply{Stop: End, Text: text, Notes: []string{"the agent ended its turn when it was refused a permission"}}
		}
		return failed("it says that the turn was cancelled, and nobody has cancelled it")
	}
	return failed("it ended the turn for the reason %q, which is none of the protocol's", stop)
}
