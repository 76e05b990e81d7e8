package harness

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"foundry/secret"
)

// acpCase is a conversation with the fake agent that behaves as how says.
type acpCase struct {
	how     string
	config  func(*Config)
	turns   []func(*Turn)
	cancel  bool // each turn, once the agent was heard
	replies func(t *testing.T, w *workshop, r []Reply)
}

var acpCases = []acpCase{
	{how: "future", replies: func(t *testing.T, _ *workshop, r []Reply) {
		wantStop(t, r[0], Failed, "it speaks version 2 of the Agent Client Protocol, and Foundry speaks version 1")
	}},
	{how: "login", replies: func(t *testing.T, _ *workshop, r []Reply) {
		wantStop(t, r[0], Failed, "is not logged in (Authentication required): log in with the agent's own program; it offers An API key (set AGENT_KEY)")
	}},
	{how: "help", replies: func(t *testing.T, _ *workshop, r []Reply) { wantStop(t, r[0], Failed, "it ended with exit code 2") }},
	{how: "silent", turns: []func(*Turn){func(t *Turn) { t.Stall = 300 * time.Millisecond }}, replies: func(t *testing.T, _ *workshop, r []Reply) {
		wantStop(t, r[0], TimedOut, "stall_timeout")
	}},
	{how: "unknown", replies: func(t *testing.T, w *workshop, r []Reply) {
		wantText(t, r[0], "refused: true")
		log, err := os.ReadFile(w.log)
		if err != nil || !strings.Contains(string(log), `"sessionUpdate":"dance"`) || !strings.Contains(string(log), "_vendor/news") {
			t.Errorf("the log holds %q, %v", log, err)
		}
	}},
	{how: "cost", turns: []func(*Turn){prompt("x"), prompt("xxx")}, replies: func(t *testing.T, w *workshop, r []Reply) {
		for i, cost := range []float64{0.25, 0.5} { // the agent tells the sum of the session
			if u := r[i].Usage; u.Cost == nil || *u.Cost != cost || u.Input == nil || *u.Input != 110 {
				t.Errorf("turn %d: %s", i+1, describeUsage(u))
			}
		}
		if !slices.ContainsFunc(w.seen, func(a Activity) bool { return a.Kind == Metered && a.Usage.Cost != nil && a.Usage.Input == nil }) {
			t.Error("nothing was metered in the turn")
		}
	}},
	{how: "edit", replies: func(t *testing.T, w *workshop, r []Reply) {
		if r[0].Calls == nil || *r[0].Calls != 1 {
			t.Errorf("calls: %v", r[0].Calls)
		}
		var called []Tool
		for _, a := range w.seen {
			if a.Kind == CalledTool {
				called = append(called, a.Tool)
			}
		}
		path := filepath.Join(w.dir, "new.txt")
		if len(called) != 1 || called[0].Kind != Edit || called[0].Name != "write_file" || !slices.Equal(called[0].Paths, []string{path}) {
			t.Errorf("got %+v", called)
		}
	}},
	{how: "options", turns: []func(*Turn){allowed("inside"), allowed("/outside")}, replies: func(t *testing.T, _ *workshop, r []Reply) {
		wantText(t, r[0], "selected yes") // once, though always was offered before it
		wantText(t, r[1], "selected no")
	}},
	{how: "hang", cancel: true, turns: []func(*Turn){prompt("one"), prompt("two")}, replies: func(t *testing.T, _ *workshop, r []Reply) {
		wantStop(t, r[1], Cancelled, "stopped") // in the same process, which had given up the first
	}},
	{how: "flood", replies: func(t *testing.T, _ *workshop, r []Reply) { wantText(t, r[0], strings.Repeat("x", 3000)) }},
	{how: "longanswer", replies: func(t *testing.T, _ *workshop, r []Reply) {
		wantStop(t, r[0], Failed, "it sent a message of 11 MiB, and the limit is 9")
	}},
	{how: "cut as an error", replies: func(t *testing.T, _ *workshop, r []Reply) {
		if r[0].Stop != Truncated || r[0].Text != `{"status": "succ` {
			t.Errorf("got %s %q", r[0].Stop, r[0].Text)
		}
	}},
	{how: "max_turn_requests", replies: func(t *testing.T, _ *workshop, r []Reply) { wantStop(t, r[0], Failed, "max_turn_requests") }},
	{how: "refusal", replies: func(t *testing.T, _ *workshop, r []Reply) { wantStop(t, r[0], Failed, "refused to go on") }},
	{how: "cancelled", replies: func(t *testing.T, _ *workshop, r []Reply) { wantStop(t, r[0], Failed, "nobody has cancelled it") }},
	{how: "siesta", replies: func(t *testing.T, _ *workshop, r []Reply) { wantStop(t, r[0], Failed, `"siesta"`) }},
	{how: "asks and ends", turns: []func(*Turn){prompt("x")}, replies: func(t *testing.T, _ *workshop, r []Reply) {
		wantStop(t, r[0], End, "")
		if len(r[0].Notes) != 1 || !strings.Contains(r[0].Notes[0], "refused a permission") {
			t.Errorf("notes: %q", r[0].Notes)
		}
	}},
	{how: "choices", config: func(c *Config) { c.Model = "Large" }, turns: []func(*Turn){
		func(t *Turn) { t.ReadOnly = true }, func(*Turn) {}, func(t *Turn) { t.Model = "m-opus" }},
		replies: func(t *testing.T, _ *workshop, r []Reply) {
			wantText(t, r[0], "mode plan, model m-large")
			wantText(t, r[1], "mode acceptEdits, model m-large")
			wantText(t, r[2], "mode acceptEdits, model m-opus")
		}},
	{how: "choices", config: func(c *Config) { c.Asks = true }, replies: func(t *testing.T, _ *workshop, r []Reply) {
		wantText(t, r[0], "mode , model")
	}},
	{how: "choices", config: func(c *Config) { c.Model = "gpt" }, replies: func(t *testing.T, _ *workshop, r []Reply) {
		wantStop(t, r[0], Failed, `it does not take the model "gpt" (Invalid params: no model gpt); it offers m-small, m-large, m-opus`)
	}},
	{how: "talk", config: func(c *Config) { c.Model = "gpt" }, replies: func(t *testing.T, _ *workshop, r []Reply) {
		wantStop(t, r[0], Failed, "it offers no choice of a model")
	}},
	{how: "forgets", config: func(c *Config) { c.Session = "s1" }, turns: []func(*Turn){prompt("one"), prompt("one")}, replies: func(t *testing.T, _ *workshop, r []Reply) {
		wantStop(t, r[0], Lost, "the agent cannot do that")
		wantStop(t, r[1], End, "")
	}},
	{how: "talk", config: func(c *Config) { c.Session = "gone" }, turns: []func(*Turn){prompt("one"), prompt("one")}, replies: func(t *testing.T, _ *workshop, r []Reply) {
		wantStop(t, r[0], Lost, "Resource not found")
		wantText(t, r[1], "turn 1: one")
	}},
	{how: "stays", config: hasty, turns: []func(*Turn){prompt("one"), prompt("two")}, replies: func(t *testing.T, _ *workshop, r []Reply) {
		wantText(t, r[1], "turn 2: one two")
	}},
}

// allowed asks for a path, and has an engine that allows what is inside the workspace.
func allowed(path string) func(*Turn) {
	return func(t *Turn) {
		t.Prompt = path
		t.Permit = func(_ context.Context, r Request) Decision {
			inside := len(r.Tool.Paths) == 1 && strings.HasPrefix(r.Tool.Paths[0], t.Dir+string(filepath.Separator))
			return Decision{Allow: inside && r.Tool.Kind == Edit, Reason: "outside"}
		}
	}
}

func TestACP(t *testing.T) {
	t.Parallel()
	for _, c := range acpCases {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

func (c *acpCase) run(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &workshop{dir: filepath.Join(root, "work"), session: filepath.Join(root, "sessions"), log: filepath.Join(root, "log")}
	if err := os.MkdirAll(w.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	config := Config{Agent: "coder", RunID: "run_1", Argv: []string{self(t)}, Env: []string{fakeVariable + "=acp:" + c.how}}
	if c.config != nil {
		c.config(&config)
	}
	s, err := acpAgents{anyACP()}.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	turns := c.turns
	if turns == nil {
		turns = []func(*Turn){prompt("go")}
	}
	var replies []Reply
	for i, set := range turns {
		turn := Turn{Number: i + 1, Phase: "build", Visit: 1, Attempt: 1, Dir: w.dir, SessionDir: w.session, LogPath: w.log, Timeout: 30 * time.Second}
		set(&turn)
		ctx, cancel := context.WithCancel(t.Context())
		replies = append(replies, s.Turn(ctx, turn, func(a Activity) {
			w.seen = append(w.seen, a)
			if c.cancel && strings.Contains(a.Text, "ready") {
				cancel()
			}
		}))
		cancel()
	}
	c.replies(t, w, replies)
	if _, err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestACPUsage(t *testing.T) {
	t.Parallel()
	n := func(n int) *int { return &n }
	for name, c := range map[string]struct {
		in            acpUsage
		input, output int
	}{
		"claude: the cache is beside the input":      {acpUsage{Input: 2060, Output: 84, CacheRead: n(14), CacheWrite: n(10), Total: 2168}, 2084, 84},
		"opencode: so are the thoughts":              {acpUsage{Input: 1033, Output: 39, Thought: n(3), CacheRead: n(7), Total: 1082}, 1040, 42},
		"the cache is in the input":                  {acpUsage{Input: 1000, Output: 40, CacheRead: n(500), Total: 1040}, 1000, 40},
		"the cache is in the input, thoughts beside": {acpUsage{Input: 1000, Output: 40, CacheRead: n(500), Thought: n(2), Total: 1042}, 1000, 42},
		"no total": {acpUsage{Input: 10, Output: 4, CacheRead: n(5)}, 15, 4},
	} {
		if u := c.in.usage(); *u.Input != c.input || *u.Output != c.output {
			t.Errorf("%s: %d in, %d out", name, *u.Input, *u.Output)
		}
	}
}

// Agents cut their words anywhere, and say them over any time: a secret in them is masked nevertheless.
func TestACPWordsAreMaskedAcrossPieces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var said []string
		mask := secret.New([]secret.Value{{Name: "TOKEN", Text: "s3cr3t-t0ken"}})
		w := newWatch(Turn{}, func(a Activity) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, a.Text)
		}, func(error) {})
		turn := &acpTurn{ctx: t.Context(), watch: w, session: &acpSession{}, masked: mask.Stream(), box: toolbox{tools: map[string]*toolUse{}}}
		for _, words := range []string{"it is s3c", "r3t-t", "0ken, he said", "; and s3c"} {
			content, err := json.Marshal(map[string]string{"type": "text", "text": words})
			if err != nil {
				t.Fatal(err)
			}
			turn.update(acpUpdate{Kind: "agent_message_chunk", Content: content})
			time.Sleep(2 * gatherTime) // of the test's own clock
		}
		turn.ended(acpReply{})
		w.stop()
		all := strings.Join(said, "|")
		if strings.Contains(all, "r3t") || strings.Contains(all, "0ken") || !strings.Contains(all, "he said") || !strings.HasSuffix(all, "s3c") {
			t.Errorf("said %q", all)
		}
	})
}
