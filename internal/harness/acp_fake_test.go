package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// fakeACP is a fake agent that speaks the Agent Client Protocol. Besides what every fake agent can be told to do it has
// ways to behave that only this protocol knows.
type acpFake struct {
	*fakeAgent
	session     string
	prompt      json.RawMessage // the id of the prompt that is being answered
	mode, model string
	mu          sync.Mutex
	calls       map[string]chan json.RawMessage // its own requests that are not answered yet
}

type acpFakeMessage struct {
	ID     json.RawMessage
	Method string
	Params struct {
		SessionID, ModeID, ModelID string
		ClientCapabilities         struct {
			Fs       struct{ ReadTextFile, WriteTextFile bool }
			Terminal bool
		}
		Prompt []struct{ Text string }
	}
	Result, Error json.RawMessage
}

func fakeACP(a *fakeAgent) {
	f := &acpFake{fakeAgent: a, session: "s1", calls: map[string]chan json.RawMessage{}}
	f.say = func(text string) { f.chunk("m1", text) }
	f.tool = func(id, command string) {
		f.update(map[string]any{"sessionUpdate": "tool_call", "toolCallId": id, "title": "run", "kind": "execute", "status": "pending", "rawInput": map[string]any{}})
		f.update(map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": id, "title": command, "rawInput": map[string]any{"command": command}})
	}
	f.done = func(id, result string) {
		f.update(map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed", "rawOutput": result})
	}
	f.ask = func(id, path string) bool { return f.permission(id, path) == "selected yes" }
	f.end = f.ended
	for {
		var m acpFakeMessage
		if !f.read(&m) {
			break
		}
		switch {
		case m.Method == "" && m.ID != nil:
			f.mu.Lock()
			answer := f.calls[string(m.ID)]
			f.mu.Unlock()
			if m.Error != nil {
				m.Result = m.Error
			}
			answer <- m.Result
		case m.Method == "session/cancel":
			if f.how != "ignore" {
				f.answer(f.prompt, map[string]any{"stopReason": "cancelled"})
			}
		case m.Method == "session/prompt":
			f.prompt = m.ID
			text := ""
			for _, block := range m.Params.Prompt {
				text += block.Text
			}
			go f.prompted(text)
		default:
			f.handle(m)
		}
	}
	if f.how == "stays" {
		time.Sleep(time.Minute)
	}
}

func (f *acpFake) message(m map[string]any) {
	m["jsonrpc"] = "2.0"
	f.line(m)
}

func (f *acpFake) answer(id json.RawMessage, result map[string]any) {
	f.message(map[string]any{"id": id, "result": result})
}

func (f *acpFake) fail(id json.RawMessage, code int, text string, data any) {
	f.message(map[string]any{"id": id, "error": map[string]any{"code": code, "message": text, "data": data}})
}

func (f *acpFake) update(u map[string]any) {
	f.message(map[string]any{"method": "session/update", "params": map[string]any{"sessionId": f.session, "update": u}})
}

func (f *acpFake) chunk(message, text string) {
	f.update(map[string]any{"sessionUpdate": "agent_message_chunk", "messageId": message, "content": map[string]any{"type": "text", "text": text}})
}

// request asks the client something and waits for its answer.
func (f *acpFake) request(method string, params map[string]any) json.RawMessage {
	f.mu.Lock()
	id := fmt.Sprintf(`"q%d"`, len(f.calls))
	answer := make(chan json.RawMessage, 1)
	f.calls[id] = answer
	f.mu.Unlock()
	params["sessionId"] = f.session
	f.message(map[string]any{"id": json.RawMessage(id), "method": method, "params": params})
	return <-answer
}

// permission asks whether a file may be edited, and is the outcome.
func (f *acpFake) permission(id, path string) string {
	answer := f.request("session/request_permission", map[string]any{
		"toolCall": map[string]any{"toolCallId": id, "title": "Edit " + path, "kind": "edit", "status": "pending", "locations": []any{map[string]any{"path": path}}},
		"options": []any{map[string]any{"optionId": "always", "kind": "allow_always", "name": "Always"}, map[string]any{"optionId": "yes", "kind": "allow_once", "name": "Yes"},
			map[string]any{"optionId": "no", "kind": "reject_once", "name": "No"}}})
	var a struct {
		Outcome struct{ Outcome, OptionID string }
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		panic(err)
	}
	return a.Outcome.Outcome + " " + a.Outcome.OptionID
}

// ended answers the prompt.
func (f *acpFake) ended(text string, e fakeEnd) {
	switch {
	case e.limit:
		f.fail(f.prompt, -32603, "Internal error", map[string]any{"details": text + ", it resets at " + fakeResets.Format(time.RFC3339), "errorKind": "rate_limit"})
		return
	case e.failed:
		f.say(`{"status":"success"}`)
		f.fail(f.prompt, -32603, "Internal error", map[string]any{"details": text})
		return
	}
	if text != "" {
		f.chunk("m2", text)
	}
	result := map[string]any{"stopReason": "end_turn"}
	if e.cut {
		result["stopReason"] = "max_tokens"
	}
	if !e.untold {
		result["usage"] = map[string]any{"inputTokens": 100, "outputTokens": 20, "cachedReadTokens": 7, "cachedWriteTokens": 3, "totalTokens": 130}
	}
	f.answer(f.prompt, result)
}

// handle answers what is no prompt.
func (f *acpFake) handle(m acpFakeMessage) {
	state := map[string]any{}
	if f.how == "choices" || f.how == "env" {
		state = map[string]any{"modes": map[string]any{"currentModeId": "default", "availableModes": []any{
			map[string]any{"id": "default", "name": "Default"}, map[string]any{"id": "acceptEdits", "name": "Accept"}, map[string]any{"id": "plan", "name": "Plan"}}},
			"models": map[string]any{"currentModelId": "m-small", "availableModels": []any{
				map[string]any{"modelId": "m-small", "name": "Small"}, map[string]any{"modelId": "m-large", "name": "Large"}, map[string]any{"modelId": "m-opus", "name": "Opus"}}}}
	}
	switch m.Method {
	case "initialize":
		f.hello(m)
	case "session/new":
		if f.how == "login" {
			f.fail(m.ID, -32000, "Authentication required", nil)
			return
		}
		state["sessionId"] = f.session
		f.answer(m.ID, state)
		if f.how == "deaf" {
			f.in.Peek(1) // of the prompt, the rest of which stays where it is
			f.prompt = json.RawMessage("3")
			f.ended("heard nothing", fakeEnd{})
			select {}
		}
	case "session/load":
		if m.Params.SessionID != f.session {
			f.fail(m.ID, -32002, "Resource not found", nil)
			return
		}
		f.say("history, which is no reply")
		f.answer(m.ID, state)
	case "session/set_mode":
		f.mode = m.Params.ModeID
		f.answer(m.ID, map[string]any{})
	case "session/set_model":
		if !strings.HasPrefix(m.Params.ModelID, "m-") {
			f.fail(m.ID, -32602, "Invalid params", map[string]any{"details": "no model " + m.Params.ModelID})
			return
		}
		f.model = m.Params.ModelID
		f.answer(m.ID, map[string]any{})
	default:
		f.fail(m.ID, -32601, "Method not found", nil)
	}
}

func (f *acpFake) hello(m acpFakeMessage) {
	version := 1
	switch f.how {
	case "silent":
		return
	case "future":
		version = 2
	case "help":
		fmt.Println("usage: agent [--acp]")
		os.Exit(2)
	}
	if c := m.Params.ClientCapabilities; c.Terminal || c.Fs.ReadTextFile || c.Fs.WriteTextFile {
		f.fail(m.ID, -32602, "the client offers files or terminals", nil)
		return
	}
	f.answer(m.ID, map[string]any{"protocolVersion": version, "agentCapabilities": map[string]any{"loadSession": f.how != "forgets"},
		"authMethods": []any{map[string]any{"id": "key", "name": "An API key", "description": "set AGENT_KEY"}}})
}

// prompted does what a prompt makes it do.
func (f *acpFake) prompted(prompt string) {
	switch f.how {
	case "unknown":
		f.update(map[string]any{"sessionUpdate": "dance", "content": 7})
		f.message(map[string]any{"method": "_vendor/news", "params": map[string]any{"x": 1}})
		f.message(map[string]any{"method": "session/update", "params": []int{1, 2}})
		f.print("[1,2]\n{\"log\":\"plain JSON\"}\nnull\n")
		answer := f.request("fs/read_text_file", map[string]any{"path": "/etc/passwd"})
		f.end("refused: "+fmt.Sprint(strings.Contains(string(answer), "-32601")), fakeEnd{})
	case "longanswer":
		f.answer(f.prompt, map[string]any{"stopReason": "end_turn", "_meta": map[string]any{"pad": strings.Repeat("x", 11<<20)}})
	case "flood":
		for range 3000 {
			f.say("x")
		}
		f.end("", fakeEnd{})
	case "edit":
		f.update(map[string]any{"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "write_file", "kind": "edit", "status": "pending", "rawInput": map[string]any{}})
		f.update(map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": "t1", "title": "Write new.txt", "rawInput": map[string]any{"file_path": "new.txt"}})
		f.done("t1", "written")
		f.end("done", fakeEnd{})
	case "options":
		f.end(f.permission("t1", filepath.Join(prompt, "x")), fakeEnd{})
	case "asks and ends":
		f.permission("t1", prompt)
		f.answer(f.prompt, map[string]any{"stopReason": "cancelled"})
	case "choices":
		f.end("mode "+f.mode+", model "+f.model, fakeEnd{})
	case "cut as an error":
		f.say(`{"status": "succ`)
		f.chunk("m2", "reason: max_output_tokens")
		f.fail(f.prompt, -32603, "Internal error", map[string]any{"message": "Incomplete response returned, reason: max_output_tokens"})
	case "max_turn_requests", "refusal", "cancelled", "siesta":
		f.say(`{"status":"success"}`)
		f.answer(f.prompt, map[string]any{"stopReason": f.how})
	case "cost":
		f.update(map[string]any{"sessionUpdate": "usage_update", "used": 1100, "size": 200000, "cost": map[string]any{"amount": 0.25 * float64(len(prompt)), "currency": "USD"}})
		f.end("done", fakeEnd{})
	case "forgets", "stays":
		f.end(f.remember(prompt), fakeEnd{})
	default:
		f.turn(prompt)
	}
}
