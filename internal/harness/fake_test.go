package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"foundry/internal/process"
)

// Fake agents. This test's own program is one when fakeVariable says which protocol it speaks and how it behaves, well
// or badly. They are written against the protocols, not against the code that is tested.

const fakeVariable = "FAKE_AGENT"

// fakes are the protocols that a fake agent can speak, by the name of the harness.
var fakes = map[string]func(*fakeAgent){"acp": fakeACP, "claude": fakeClaude, "codex": fakeCodex}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == process.ConfineVerb {
		fmt.Fprintln(os.Stderr, process.ConfineMain())
		os.Exit(1)
	}
	if protocol, how, ok := strings.Cut(os.Getenv(fakeVariable), ":"); ok {
		fakes[protocol](&fakeAgent{how: how, in: bufio.NewReaderSize(os.Stdin, 1<<20)})
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// fakeAgent is one process of an agent.
type fakeAgent struct {
	how  string
	in   *bufio.Reader
	mu   sync.Mutex
	glue bool // the next message goes on the line of this one
	// What the protocol has to say it with.
	say  func(text string)
	tool func(id, command string)             // a tool begins
	done func(id, result string)              // it ends
	ask  func(id, path string) (allowed bool) // may a file be written
	end  func(text string, e fakeEnd)         // the terminal message
}

// fakeEnd is how a turn of a fake agent ends.
type fakeEnd struct {
	failed, cut, limit bool
	untold             bool // it does not say what it used
}

// fakeResets is when the limit of a fake agent ends.
var fakeResets = time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)

func (f *fakeAgent) print(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	io.WriteString(os.Stdout, text)
}

// line prints a message, behind what the behaviour puts before or after each.
func (f *fakeAgent) line(m map[string]any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		panic(err)
	}
	text := b.String()
	switch f.how {
	case "garbage":
		text = "Welcome! {not json}\n\x1b]0;agent: ready\x07\x1b[32m" + strings.TrimSuffix(text, "\n") + "\x1b[0m\r\n{\"type\":\"news\",\"method\":\"news\"}\n"
	case "glued":
		if f.glue {
			text = strings.TrimSuffix(text, "\n")
		}
	case "drip":
		for _, r := range text {
			f.print(string(r))
			time.Sleep(100 * time.Microsecond)
		}
		return
	}
	f.print(text)
}

// read is the next message that was sent to the agent; false at the end.
func (f *fakeAgent) read(into any) bool {
	line, err := f.in.ReadBytes('\n')
	if err != nil {
		return false
	}
	if err := json.Unmarshal(line, into); err != nil {
		panic(err)
	}
	return true
}

// turn is what the agent does for a prompt. The signs of life are printed before anything else happens.
func (f *fakeAgent) turn(prompt string) {
	switch f.how {
	case "talk":
		f.end(f.remember(prompt), fakeEnd{})
	case "write":
		f.tool("t1", "write")
		err := os.MkdirAll("deep/er", 0o777)
		if err == nil {
			err = os.WriteFile("deep/er/new.txt", []byte("new\n"), 0o666)
		}
		if err == nil {
			err = os.Remove("old.txt")
		}
		if err != nil {
			panic(err)
		}
		f.done("t1", "ok")
		f.end("written", fakeEnd{})
	case "hang", "ignore":
		f.say("ready")
		select {}
	case "work":
		f.tool("t1", "make")
		f.done("t1", "made")
		f.end("done", fakeEnd{})
	case "circle":
		for i := range 100 {
			f.tool(fmt.Sprint("t", i), "make")
			f.done(fmt.Sprint("t", i), "nothing to be done")
		}
		f.say("ready")
		select {}
	case "crash":
		f.say(`{"status":"success"}`)
		fmt.Fprintln(os.Stderr, "fatal: the model hung up")
		os.Exit(3)
	case "quit": // as if all was well, but without the last message
		f.say(`{"status":"success"}`)
		os.Exit(0)
	case "killed":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "closed":
		f.say("ready")
		os.Stdout.Close()
		select {}
	case "garbage", "glued":
		f.glue = true
		f.say("thinking")
		f.glue = false
		f.end("migrating db... ok\n{\"a\": \"\x1b[31mred\x1b[0m\"}\r\n\r\nlast word", fakeEnd{})
	case "drip":
		f.say("slowly")
		f.end("done", fakeEnd{})
	case "long":
		f.end(strings.Repeat("x", 10<<20), fakeEnd{})
	case "leave":
		c := exec.Command("sleep", "60")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			panic(err)
		}
		f.end("done", fakeEnd{})
	case "env":
		f.end(fakeEnvironment(), fakeEnd{})
	case "lie":
		f.end("all went well", fakeEnd{failed: true})
	case "cut":
		f.end(`{"status": "succ`, fakeEnd{cut: true})
	case "limit":
		f.end("usage limit reached", fakeEnd{failed: true, limit: true})
	case "untold":
		f.end("done", fakeEnd{untold: true})
	case "ask":
		path := strings.TrimSpace(prompt)
		if f.ask("t1", path) {
			if err := os.WriteFile(path, []byte("asked\n"), 0o666); err != nil {
				panic(err)
			}
			f.end("it was allowed", fakeEnd{})
			return
		}
		f.end("it was refused", fakeEnd{})
	default:
		panic("no fake agent behaves like " + f.how)
	}
}

// remember keeps the prompts of a session beside it, as agents do.
func (f *fakeAgent) remember(prompt string) string {
	name := filepath.Join(os.Getenv("FOUNDRY_SESSION_DIR"), "heard")
	old, _ := os.ReadFile(name)
	heard := string(old) + prompt + " "
	if err := os.WriteFile(name, []byte(heard), 0o600); err != nil {
		panic(err)
	}
	return fmt.Sprintf("turn %d: %s", strings.Count(heard, " "), heard)
}

func fakeEnvironment() string {
	var out []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "FOUNDRY_RUN_ID", "FOUNDRY_PHASE", "FOUNDRY_AGENT", "FOUNDRY_VISIT", "FOUNDRY_ATTEMPT", "FOUNDRY_TURN", "FOUNDRY_MODEL", "FOUNDRY_ITEM",
			"FOUNDRY_HANDOFF_DIR", "GIT_DIR", "CLAUDECODE", "WHO", "FROM":
			out = append(out, kv+"\n")
		}
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

// fakeClaude speaks as Claude Code does with --input-format and --output-format stream-json.
func fakeClaude(f *fakeAgent) {
	session := "claude-session-1"
	if i := slices.Index(os.Args, "--resume"); i > 0 {
		if session != os.Args[i+1] {
			fmt.Fprintln(os.Stderr, "No conversation found with session ID: "+os.Args[i+1])
			os.Exit(1)
		}
	}
	used := 0.0 // dollars, since the start of the process
	answers := make(chan bool)
	f.say = func(text string) {
		f.line(map[string]any{"type": "assistant", "session_id": session, "message": map[string]any{"id": "m1", "content": []any{map[string]any{"type": "text", "text": text}}}})
	}
	f.tool = func(id, command string) {
		f.line(map[string]any{"type": "assistant", "session_id": session, "message": map[string]any{"id": "m1", "content": []any{map[string]any{"type": "tool_use", "id": id, "name": "Bash", "input": map[string]any{"command": command}}}}})
	}
	f.done = func(id, result string) {
		f.line(map[string]any{"type": "user", "session_id": session, "message": map[string]any{"content": []any{map[string]any{"type": "tool_result", "tool_use_id": id, "content": result}}}})
	}
	f.ask = func(id, path string) bool {
		f.line(map[string]any{"type": "control_request", "request_id": "q1", "request": map[string]any{"subtype": "can_use_tool", "tool_name": "Write", "tool_use_id": id,
			"input": map[string]any{"file_path": path, "content": "asked\n"}}})
		return <-answers
	}
	f.end = func(text string, e fakeEnd) {
		m := map[string]any{"type": "result", "subtype": "success", "is_error": e.failed, "result": text, "stop_reason": "end_turn", "session_id": session, "api_error_status": nil}
		if e.cut {
			m["stop_reason"] = "max_tokens"
		}
		if e.limit {
			f.line(map[string]any{"type": "rate_limit_event", "rate_limit_info": map[string]any{"status": "rejected", "resetsAt": fakeResets.Unix()}})
			m["api_error_status"] = 429
		}
		if !e.untold {
			used += 0.25
			m["usage"] = map[string]any{"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 3}
			m["total_cost_usd"] = used
		}
		f.line(m)
	}
	if f.how == "deaf" {
		f.end("heard nothing", fakeEnd{})
		select {}
	}
	for {
		var m struct {
			Type      string `json:"type"`
			RequestID string `json:"request_id"`
			Message   struct {
				Content string `json:"content"`
			} `json:"message"`
			Request struct {
				Subtype string `json:"subtype"`
			} `json:"request"`
			Response struct {
				Response struct {
					Behavior string `json:"behavior"`
				} `json:"response"`
			} `json:"response"`
		}
		if !f.read(&m) {
			return
		}
		switch {
		case m.Type == "user":
			go f.turn(m.Message.Content)
		case m.Type == "control_response":
			answers <- m.Response.Response.Behavior == "allow"
		case m.Request.Subtype == "interrupt":
			if f.how != "ignore" {
				f.line(map[string]any{"type": "result", "subtype": "error_during_execution", "is_error": true, "session_id": session})
			}
		default:
			f.line(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success", "request_id": m.RequestID}})
		}
	}
}

// fakeCodex speaks as `codex app-server` does.
func fakeCodex(f *fakeAgent) {
	const thread = "thread-1"
	used := 0 // turns that were paid, in the whole thread
	answers := make(chan bool)
	notify := func(method string, params map[string]any) {
		params["threadId"], params["turnId"] = thread, "turn-1"
		f.line(map[string]any{"method": method, "params": params})
	}
	item := func(method string, item map[string]any) { notify(method, map[string]any{"item": item}) }
	complete := func(turn map[string]any) {
		turn["id"] = "turn-1"
		notify("turn/completed", map[string]any{"turn": turn})
	}
	f.say = func(text string) {
		item("item/completed", map[string]any{"type": "agentMessage", "id": "m", "text": text})
	}
	f.tool = func(id, command string) {
		item("item/started", map[string]any{"type": "commandExecution", "id": id, "command": command, "status": "inProgress"})
	}
	f.done = func(id, result string) {
		item("item/completed", map[string]any{"type": "commandExecution", "id": id, "command": "", "aggregatedOutput": result, "status": "completed"})
	}
	f.ask = func(id, path string) bool {
		item("item/started", map[string]any{"type": "fileChange", "id": id, "changes": []any{map[string]any{"path": path}}})
		f.line(map[string]any{"id": 900, "method": "item/fileChange/requestApproval", "params": map[string]any{"threadId": thread, "itemId": id, "reason": "to write it"}})
		return <-answers
	}
	f.end = func(text string, e fakeEnd) {
		if !e.untold {
			used++
			notify("thread/tokenUsage/updated", map[string]any{"tokenUsage": map[string]any{
				"total": map[string]any{"inputTokens": 110 * used, "cachedInputTokens": 7 * used, "outputTokens": 20 * used},
				"last":  map[string]any{"inputTokens": 110, "cachedInputTokens": 7, "outputTokens": 20}}})
		}
		if e.limit {
			f.line(map[string]any{"method": "account/rateLimits/updated", "params": map[string]any{"rateLimits": map[string]any{
				"primary": map[string]any{"usedPercent": 100, "resetsAt": fakeResets.Unix()}, "secondary": map[string]any{"usedPercent": 3, "resetsAt": 1}}}})
			complete(map[string]any{"status": "failed", "error": map[string]any{"message": text, "codexErrorInfo": "usageLimitExceeded"}})
			return
		}
		f.say(text)
		switch {
		case e.cut:
			complete(map[string]any{"status": "failed", "error": map[string]any{"message": "Incomplete response returned, reason: max_output_tokens"}})
		case e.failed:
			complete(map[string]any{"status": "completed", "error": map[string]any{"message": text}})
		default:
			complete(map[string]any{"status": "completed"})
		}
	}
	if f.how == "deaf" {
		f.end("heard nothing", fakeEnd{})
		select {}
	}
	for {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ThreadID string `json:"threadId"`
				Input    []struct {
					Text string `json:"text"`
				} `json:"input"`
			} `json:"params"`
			Result struct {
				Decision string `json:"decision"`
			} `json:"result"`
		}
		if !f.read(&m) {
			return
		}
		answer := func(result map[string]any) { f.line(map[string]any{"id": m.ID, "result": result}) }
		switch m.Method {
		case "":
			answers <- m.Result.Decision == "accept"
		case "initialize":
			answer(map[string]any{"userAgent": "fake"})
		case "thread/start":
			answer(map[string]any{"thread": map[string]any{"id": thread}})
		case "thread/resume":
			if m.Params.ThreadID != thread {
				f.line(map[string]any{"id": m.ID, "error": map[string]any{"code": -32600, "message": "no rollout found for thread id " + m.Params.ThreadID}})
				continue
			}
			used = 1
			answer(map[string]any{"thread": map[string]any{"id": thread}})
		case "turn/start":
			answer(map[string]any{"turn": map[string]any{"id": "turn-1", "status": "inProgress"}})
			notify("turn/started", map[string]any{"turn": map[string]any{"id": "turn-1"}})
			go f.turn(m.Params.Input[0].Text)
		case "turn/interrupt":
			answer(map[string]any{})
			if f.how != "ignore" {
				complete(map[string]any{"status": "interrupted"})
			}
		}
	}
}
