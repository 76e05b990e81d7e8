package harness

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The suite runs one table of cases on every harness that is built: what the engine relies on must not depend on
// the kind of agent.

// conformance is one case. command is a program in testdata, script what a scripted agent does for the same end;
// a case that one of the two cannot meet has nothing there. A fake agent that speaks a protocol behaves as the program's
// name says, or as fake does.
type conformance struct {
	name    string
	command string
	fake    string
	script  []ScriptTurn
	config  func(*Config)
	turns   []func(*Turn)
	cancel  bool // once the agent was heard
	reopen  bool // a new session for each turn, as after a crash of Foundry
	check   func(t *testing.T, w *workshop, replies []Reply)
}

// workshop is where a case takes place.
type workshop struct {
	dir     string // the workspace
	session string
	handoff string
	log     string
	harness string
	fake    bool // the agent speaks a protocol, and is this test's own program
	seen    []Activity
	left    func() []string // closes the session and says what the agent had left behind
}

func prompt(text string) func(*Turn) { return func(t *Turn) { t.Prompt = text } }

// hasty is for agents that never do what they are waited for.
func hasty(c *Config) { c.Bye, c.Interrupt = 50*time.Millisecond, 50*time.Millisecond }

var suite = []conformance{
	{
		name: "two turns in one session", command: "talk.sh",
		script: []ScriptTurn{{Reply: "turn 1: one "}, {Reply: "turn 2: one two "}},
		turns:  []func(*Turn){prompt("one"), prompt("two")},
		check: func(t *testing.T, _ *workshop, r []Reply) {
			wantText(t, r[0], "turn 1: one")
			wantText(t, r[1], "turn 2: one two")
		},
	},
	{
		name: "a session goes on in another process", command: "talk.sh", reopen: true,
		script: []ScriptTurn{{Reply: "turn 1: one "}, {Reply: "turn 2: one two "}},
		turns:  []func(*Turn){prompt("one"), prompt("two")},
		check: func(t *testing.T, _ *workshop, r []Reply) {
			wantText(t, r[1], "turn 2: one two")
		},
	},
	{
		name: "writes", command: "write.sh",
		script: []ScriptTurn{{Files: []ScriptFile{{Path: "deep/er/new.txt", Text: "new\n"}, {Path: "old.txt", Delete: true}}, Reply: "written"}},
		turns:  []func(*Turn){prompt("go")},
		check: func(t *testing.T, w *workshop, r []Reply) {
			wantText(t, r[0], "written")
			if b, err := os.ReadFile(filepath.Join(w.dir, "deep/er/new.txt")); err != nil || string(b) != "new\n" {
				t.Errorf("the new file holds %q, %v", b, err)
			}
			if _, err := os.Stat(filepath.Join(w.dir, "old.txt")); err == nil {
				t.Error("the old file is still there")
			}
		},
	},
	{
		name: "cancelled in the middle", command: "hang.sh", cancel: true,
		script: []ScriptTurn{{Run: "echo ready; sleep 60", Reply: "never"}},
		turns:  []func(*Turn){prompt("go")},
		check:  func(t *testing.T, _ *workshop, r []Reply) { wantStop(t, r[0], Cancelled, "stopped") },
	},
	{
		name: "turn timeout", command: "hang.sh",
		script: []ScriptTurn{{Run: "echo ready; sleep 60", Reply: "never"}},
		turns:  []func(*Turn){func(t *Turn) { t.Timeout = 200 * time.Millisecond }},
		check:  func(t *testing.T, _ *workshop, r []Reply) { wantStop(t, r[0], TimedOut, "turn_timeout") },
	},
	{
		name: "stall", command: "hang.sh",
		script: []ScriptTurn{{Run: "echo ready; sleep 60", Reply: "never"}},
		turns:  []func(*Turn){func(t *Turn) { t.Stall = 200 * time.Millisecond }},
		check:  func(t *testing.T, _ *workshop, r []Reply) { wantStop(t, r[0], TimedOut, "stall_timeout") },
	},
	{
		name: "a crash in the middle", command: "crash.sh",
		script: []ScriptTurn{{Run: "echo 'fatal: the model hung up' >&2; exit 3", Reply: `{"status":"success"}`}},
		turns:  []func(*Turn){prompt("go")},
		check: func(t *testing.T, _ *workshop, r []Reply) {
			wantStop(t, r[0], Failed, "exit code 3")
			wantStop(t, r[0], Failed, "fatal: the model hung up")
		},
	},
	{
		name: "killed by somebody", command: "killed.sh",
		script: []ScriptTurn{{Run: "kill -9 $$", Reply: "never"}},
		turns:  []func(*Turn){prompt("go")},
		check:  func(t *testing.T, _ *workshop, r []Reply) { wantStop(t, r[0], Failed, "signal") },
	},
	{
		name: "garbage around the reply", command: "garbage.sh",
		script: []ScriptTurn{{Reply: "migrating db... ok\n{\"a\": \"red\"}\r\n\r\nlast \xff word"}},
		turns:  []func(*Turn){prompt("go")},
		check: func(t *testing.T, w *workshop, r []Reply) {
			wantStop(t, r[0], End, "")
			want := "migrating db... ok\n{\"a\": \"red\"}\r\n\r\nlast \xff word"
			if w.fake { // what stands in JSON is UTF-8
				want = strings.Replace(want, "\xff ", "", 1)
			}
			if r[0].Text != want {
				t.Errorf("got %q, want %q", r[0].Text, want)
			}
		},
	},
	{
		name: "a line of 10 MB", command: "long.sh",
		script: []ScriptTurn{{Reply: strings.Repeat("x", 10<<20)}},
		turns:  []func(*Turn){prompt("go")},
		check: func(t *testing.T, _ *workshop, r []Reply) {
			wantStop(t, r[0], End, "")
			if len(r[0].Text) != 10<<20 || strings.Trim(r[0].Text, "x") != "" {
				t.Errorf("got %d bytes", len(r[0].Text))
			}
		},
	},
	{
		name: "a child is left behind", command: "leave.sh",
		script: []ScriptTurn{{Run: "sleep 60 & echo done", Reply: "done"}},
		turns:  []func(*Turn){prompt("go")},
		check: func(t *testing.T, w *workshop, r []Reply) {
			wantText(t, r[0], "done")
			if left := append(r[0].Left, w.left()...); len(left) == 0 || !strings.Contains(left[0], "sleep") {
				t.Errorf("left behind: %q", left)
			}
		},
	},
	{
		name: "environment", command: "env.sh",
		script: []ScriptTurn{{Run: "ENV_SH >shown; cat shown", Reply: "see shown"}},
		config: func(c *Config) { c.Env = []string{"WHO=agent", "FOUNDRY_ITEM=mine"} },
		turns: []func(*Turn){func(t *Turn) {
			t.Phase, t.Visit, t.Attempt, t.Model, t.Item = "build", 2, 3, "opus", "log"
			t.Env = append(os.Environ(), "GIT_DIR=/elsewhere", "CLAUDECODE=1", "WHO=user", "FROM=user", "FOUNDRY_PHASE=outer")
		}},
		check: func(t *testing.T, w *workshop, r []Reply) {
			wantStop(t, r[0], End, "")
			got := r[0].Text
			if w.harness == "script" {
				b, err := os.ReadFile(filepath.Join(w.dir, "shown"))
				if err != nil {
					t.Fatal(err)
				}
				got = string(b)
			}
			want := "FOUNDRY_AGENT=coder\nFOUNDRY_ATTEMPT=3\nFOUNDRY_HANDOFF_DIR=" + w.handoff + "\nFOUNDRY_ITEM=mine\nFOUNDRY_MODEL=opus\n" +
				"FOUNDRY_PHASE=build\nFOUNDRY_RUN_ID=run_1\nFOUNDRY_TURN=1\nFOUNDRY_VISIT=2\nFROM=user\nWHO=agent\n"
			if got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		},
	},
	{
		name: "a prompt of 4 MB that nobody reads", command: "deaf.sh", config: hasty,
		script: []ScriptTurn{{Reply: "heard nothing"}},
		turns:  []func(*Turn){prompt(strings.Repeat("p", 4<<20))},
		check:  func(t *testing.T, _ *workshop, r []Reply) { wantText(t, r[0], "heard nothing") },
	},
	{
		name: "two messages on one line", fake: "glued",
		turns: []func(*Turn){prompt("go")},
		check: func(t *testing.T, w *workshop, r []Reply) {
			wantText(t, r[0], "migrating db... ok\n{\"a\": \"red\"}\r\n\r\nlast word")
			w.wantSeen(t, SaidText, "thinking")
		},
	},
	{
		name: "a tool at work", fake: "work",
		turns: []func(*Turn){prompt("go")},
		check: func(t *testing.T, w *workshop, r []Reply) {
			wantText(t, r[0], "done")
			w.wantSeen(t, CalledTool, "make")
			w.wantSeen(t, GotResult, "made")
			if r[0].Calls == nil || *r[0].Calls != 1 {
				t.Errorf("calls: %v", r[0].Calls)
			}
		},
	},
	{
		name: "the same call again and again", fake: "circle",
		turns: []func(*Turn){prompt("go")},
		check: func(t *testing.T, w *workshop, r []Reply) {
			wantStop(t, r[0], TimedOut, "the same call was made 15 times with the same answer and without a change in between")
			wantStop(t, r[0], TimedOut, "make")
			w.wantSeen(t, GoesRound, "5 times")
		},
	},
	{
		name: "bit by bit", fake: "drip",
		turns: []func(*Turn){prompt("go")},
		check: func(t *testing.T, _ *workshop, r []Reply) { wantText(t, r[0], "done") },
	},
	{
		name: "it ignores that the turn is given up", fake: "ignore", cancel: true, config: hasty,
		turns: []func(*Turn){prompt("go")},
		check: func(t *testing.T, _ *workshop, r []Reply) { wantStop(t, r[0], Cancelled, "stopped") },
	},
	{
		name: "it closes its output", fake: "closed", config: hasty,
		turns: []func(*Turn){prompt("go")},
		check: func(t *testing.T, _ *workshop, r []Reply) { wantStop(t, r[0], Failed, "closed its output") },
	},
	{
		name: "it ends without a last message", fake: "quit",
		turns: []func(*Turn){prompt("go")},
		check: func(t *testing.T, _ *workshop, r []Reply) { wantStop(t, r[0], Failed, "exit code 0 in the middle") },
	},
	{
		name: "an error that says success", fake: "lie",
		turns: []func(*Turn){prompt("go")},
		check: func(t *testing.T, _ *workshop, r []Reply) { wantStop(t, r[0], Failed, "all went well") },
	},
	{
		name: "a reply that is cut off", fake: "cut",
		turns: []func(*Turn){prompt("go")},
		check: func(t *testing.T, _ *workshop, r []Reply) {
			if r[0].Stop != Truncated || !strings.HasPrefix(r[0].Text, `{"status"`) {
				t.Errorf("got %s %q", r[0].Stop, r[0].Text)
			}
		},
	},
	{
		name: "a usage limit", fake: "limit",
		turns: []func(*Turn){prompt("go")},
		check: func(t *testing.T, _ *workshop, r []Reply) {
			wantStop(t, r[0], Limit, "usage limit")
			if !r[0].ResetAt.Equal(fakeResets) {
				t.Errorf("it ends at %s", r[0].ResetAt)
			}
		},
	},
	{
		name: "a session that is not there", fake: "talk",
		config: func(c *Config) { c.Session = "nowhere" },
		turns:  []func(*Turn){prompt("one"), prompt("one")},
		check: func(t *testing.T, w *workshop, r []Reply) {
			wantStop(t, r[0], Lost, "")
			wantText(t, r[1], "turn 1: one")
			if r[1].Session == "nowhere" {
				t.Error("the session has the old name")
			}
			w.wantSeen(t, HasSession, r[1].Session)
		},
	},
	{
		name: "what is spent after a change of process", fake: "talk", reopen: true,
		turns: []func(*Turn){prompt("one"), prompt("two")},
		check: func(t *testing.T, _ *workshop, r []Reply) {
			if u := r[1].Usage; u.Input == nil || *u.Input != 110 || *u.Output != 20 {
				t.Errorf("the second turn spent %s", describeUsage(u))
			}
		},
	},
	{
		name: "what two turns spend", fake: "talk",
		turns: []func(*Turn){prompt("one"), prompt("two")},
		check: func(t *testing.T, _ *workshop, r []Reply) {
			for i := range r {
				u := r[i].Usage
				if u.Input == nil || u.Output == nil || *u.Input != 110 || *u.Output != 20 || u.CacheRead == nil || *u.CacheRead != 7 {
					t.Errorf("turn %d spent %s", i+1, describeUsage(u))
				}
				if u.Cost != nil && *u.Cost != 0.25 {
					t.Errorf("turn %d cost %v", i+1, *u.Cost)
				}
			}
		},
	},
	{
		name: "it does not say what it used", fake: "untold",
		turns: []func(*Turn){prompt("go")},
		check: func(t *testing.T, _ *workshop, r []Reply) {
			wantText(t, r[0], "done")
			if r[0].Usage != (Usage{}) {
				t.Errorf("spent %s", describeUsage(r[0].Usage))
			}
		},
	},
	{
		name: "it asks and may", fake: "ask",
		turns: []func(*Turn){func(t *Turn) {
			t.Prompt = filepath.Join(t.Dir, "new.txt")
			t.Permit = func(_ context.Context, r Request) Decision {
				return Decision{Allow: len(r.Tool.Paths) == 1 && r.Tool.Paths[0] == t.Prompt && r.Tool.Kind == Edit}
			}
		}},
		check: func(t *testing.T, w *workshop, r []Reply) {
			wantText(t, r[0], "it was allowed")
			w.wantSeen(t, AskedPermission, "new.txt")
		},
	},
	{
		name: "it asks and may not", fake: "ask",
		turns: []func(*Turn){func(t *Turn) {
			t.Prompt = filepath.Join(t.Dir, "new.txt")
			t.Permit = func(context.Context, Request) Decision { return Decision{Reason: "no"} }
		}},
		check: func(t *testing.T, w *workshop, r []Reply) {
			wantText(t, r[0], "it was refused")
			if _, err := os.Stat(filepath.Join(w.dir, "new.txt")); err == nil {
				t.Error("it wrote what it was refused")
			}
		},
	},
	{
		name: "it asks and nobody answers", fake: "ask",
		turns: []func(*Turn){func(t *Turn) { t.Prompt = filepath.Join(t.Dir, "new.txt") }},
		check: func(t *testing.T, _ *workshop, r []Reply) { wantText(t, r[0], "it was refused") },
	},
}

// wantSeen checks that there was a sign of life of a kind, with these words.
func (w *workshop) wantSeen(t *testing.T, kind ActivityKind, words string) {
	t.Helper()
	for _, a := range w.seen {
		if a.Kind == kind && strings.Contains(a.Text, words) {
			return
		}
	}
	t.Errorf("no %s with %q among %+v", kind, words, w.seen)
}

func describeUsage(u Usage) string {
	b, err := json.Marshal(u)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, info := range Table() {
		if agent, ok := info.Harness.(acpAgents); ok && agent.preset.program != "" {
			continue // acp with other data; real_test.go has the agents themselves
		}
		for _, c := range suite {
			if c.fake != "" && fakes[info.Name] == nil {
				continue // only agents with a protocol can do that
			}
			t.Run(info.Name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, info)
			})
		}
		t.Run(info.Name+"/two conversations at a time", func(t *testing.T) {
			t.Parallel()
			twoConversations(t, info)
		})
	}
}

// twoConversations has two sessions of one agent in one workspace, as phases with sessions of their own have: neither
// knows what is said in the other, and the end of one leaves the other alone.
func twoConversations(t *testing.T, info Info) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "work")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	open := func(first, second string) (say func(n int, text string) Reply, end func()) {
		c := conformance{command: "talk.sh", script: []ScriptTurn{{Reply: "turn 1: " + first}, {Reply: "turn 2: " + first + " " + second}}}
		session, err := info.Harness.Open(t.Context(), c.playedBy(t, info))
		if err != nil {
			t.Fatal(err)
		}
		return func(n int, text string) Reply {
				return session.Turn(t.Context(), Turn{Prompt: text, Number: n, Phase: first, Visit: 1, Attempt: 1, Dir: dir, SessionDir: filepath.Join(root, "sessions", first),
					HandoffDir: filepath.Join(dir, ".foundry-handoff")}, nil)
			}, func() {
				if left, err := session.Close(); err != nil || len(left) > 0 {
					t.Errorf("left %q, %v", left, err)
				}
			}
	}
	left, leftEnds := open("one", "three")
	right, rightEnds := open("two", "four")
	wantText(t, left(1, "one"), "turn 1: one")
	wantText(t, right(1, "two"), "turn 1: two")
	leftReply := make(chan Reply)
	go func() { leftReply <- left(2, "three") }()
	wantText(t, right(2, "four"), "turn 2: two four")
	rightEnds()
	wantText(t, <-leftReply, "turn 2: one three")
	leftEnds()
}

func (c *conformance) run(t *testing.T, info Info) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &workshop{dir: filepath.Join(root, "work"), session: filepath.Join(root, "sessions", "coder"),
		handoff: filepath.Join(root, "work", ".foundry-handoff"), log: filepath.Join(root, "log"), harness: info.Name}
	if err := os.MkdirAll(w.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "old.txt"), []byte("old\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	config := c.playedBy(t, info)
	w.fake = fakes[info.Name] != nil
	if err := info.Harness.Preflight(config); err != nil {
		t.Fatal(err)
	}
	session, err := info.Harness.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	var replies []Reply
	for i, set := range c.turns {
		if c.reopen && i > 0 {
			if _, err := session.Close(); err != nil {
				t.Fatal(err)
			}
			config.Turns, config.Session = i, replies[i-1].Session
			if session, err = info.Harness.Open(t.Context(), config); err != nil {
				t.Fatal(err)
			}
		}
		turn := Turn{Number: i + 1, Phase: "build", Visit: 1, Attempt: 1, Dir: w.dir, SessionDir: w.session, HandoffDir: w.handoff, LogPath: w.log}
		set(&turn)
		ctx, cancel := context.WithCancel(t.Context())
		replies = append(replies, session.Turn(ctx, turn, func(a Activity) {
			w.seen = append(w.seen, a)
			if c.cancel && strings.Contains(a.Text, "ready") {
				cancel()
			}
		}))
		cancel()
	}
	w.left = func() []string {
		left, err := session.Close()
		if err != nil {
			t.Error(err)
		}
		return left
	}
	c.check(t, w, replies)
	for _, r := range replies {
		if (r.Stop == End || r.Stop == Truncated) == (r.Error != "") {
			t.Errorf("stop %s with the error %q", r.Stop, r.Error)
		}
		if r.Stop != End && r.Stop != Truncated && r.Text != "" {
			t.Errorf("stop %s with a text", r.Stop)
		}
		if (r.Stop == End && c.fake != "untold") && (r.Usage.Cost != nil) != info.ReportsCost {
			t.Errorf("cost known is %v, and the table says %v", r.Usage.Cost != nil, info.ReportsCost)
		}
	}
	w.left()
}

// playedBy is what a session is opened with in which an agent of this kind does what the case is about.
func (c *conformance) playedBy(t *testing.T, info Info) Config {
	t.Helper()
	program, err := filepath.Abs(filepath.Join("testdata", c.command))
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Agent: "coder", RunID: "run_1"}
	fake := false
	switch info.Name {
	case "script":
		config.Script = append(config.Script, c.script...)
		for i := range config.Script {
			config.Script[i].Run = strings.ReplaceAll(config.Script[i].Run, "ENV_SH", program)
		}
	case "command":
		config.Argv = []string{program}
	default:
		if fakes[info.Name] == nil {
			t.Fatalf("the suite does not know how to play harness %s", info.Name)
		}
		fake = true
		config.Argv = []string{self(t)}
	}
	if c.config != nil {
		c.config(&config)
	}
	if fake {
		config.Env = append(config.Env, fakeVariable+"="+info.Name+":"+strings.TrimSuffix(c.command, ".sh")+c.fake)
	}
	return config
}

func wantStop(t *testing.T, r Reply, stop Stop, says string) {
	t.Helper()
	if r.Stop != stop || !strings.Contains(r.Error, says) {
		t.Errorf("got %s %q, want %s with %q", r.Stop, r.Error, stop, says)
	}
}

func wantText(t *testing.T, r Reply, text string) {
	t.Helper()
	if r.Stop != End || strings.TrimSpace(r.Text) != text {
		t.Errorf("got %s %q %q, want %q", r.Stop, r.Text, r.Error, text)
	}
}
