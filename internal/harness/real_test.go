package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"foundry/internal/fakemodel"
	"foundry/internal/process"
)

// Real agents against a fake model. They run when FOUNDRY_AGENTS names the directory that scripts/agents.sh filled,
// and only where nothing but the loopback can be reached, so that none of them ever talks to anybody.

// quirks are what of the suite does not hold for an agent.
type quirks struct {
	uncut   bool // it does not tell when a reply was cut off
	retries bool // it repeats a model request that failed for minutes, so that what happens then is not looked at
}

var realQuirks = map[string]quirks{
	"codex-acp": {retries: true},
	"gemini":    {retries: true, uncut: true},
	"opencode":  {retries: true, uncut: true},
	"qwen":      {retries: true, uncut: true},
}

// bench is where a real agent works.
type bench struct {
	t      *testing.T
	info   Info
	config Config
	turn   Turn
	model  *fakemodel.Server
	seen   []Activity
	asked  []Request
	slow   chan struct{} // gets one for each slow answer that has begun
}

func benchOf(t *testing.T, a fakemodel.Agent, script func(fakemodel.Request) fakemodel.Answer) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	info, _ := Find(a.Harness)
	b := &bench{t: t, info: info, slow: make(chan struct{}, 100)}
	b.turn.LogPath = filepath.Join(root, "log")
	t.Cleanup(func() {
		if t.Failed() {
			b.show()
		}
	})
	if script == nil {
		script = fakemodel.Markers
	}
	program, env, model := a.Drive(t, root, func(r fakemodel.Request) fakemodel.Answer {
		answer := script(r)
		if answer.Slow > 0 {
			b.slow <- struct{}{}
		}
		return answer
	})
	b.model = model
	work := filepath.Join(root, "work")
	if err := os.Mkdir(work, 0o777); err != nil {
		t.Fatal(err)
	}
	b.config = Config{Agent: "coder", RunID: filepath.Base(root) + t.Name(), Argv: []string{program}, Model: a.Model, Dir: work, Asks: true}
	b.turn = Turn{Number: 1, Phase: "build", Visit: 1, Attempt: 1, Dir: work, SessionDir: filepath.Join(root, "session"), Env: env,
		LogPath: b.turn.LogPath, Timeout: 2 * time.Minute, Permit: func(_ context.Context, r Request) Decision {
			b.asked = append(b.asked, r)
			for _, p := range r.Tool.Paths {
				if !strings.HasPrefix(p, work+"/") {
					return Decision{Reason: "it is outside the workspace"}
				}
			}
			return Decision{Allow: true}
		}}
	return b
}

// show prints the raw stream of a test that failed.
func (b *bench) show() {
	raw, err := os.ReadFile(b.turn.LogPath)
	if err != nil {
		b.t.Log(err)
		return
	}
	lines := slices.Collect(strings.Lines(string(raw)))
	for _, line := range lines[max(0, len(lines)-40):] {
		if len(line) > 400 {
			line = line[:400] + "…\n"
		}
		b.t.Log(strings.TrimSuffix(line, "\n"))
	}
}

func (b *bench) open(session string) Session {
	b.t.Helper()
	c := b.config
	c.Session = session
	if err := b.info.Harness.Preflight(c); err != nil {
		b.t.Fatal(err)
	}
	s, err := b.info.Harness.Open(b.t.Context(), c)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) close(s Session) {
	b.t.Helper()
	left, err := s.Close()
	if err != nil || len(left) > 0 {
		b.t.Errorf("closing: %v, left behind %q", err, left)
	}
}

// say has a turn; change, which may be nil, changes it before.
func (b *bench) say(s Session, prompt string, change func(*Turn)) Reply {
	b.t.Helper()
	t := b.turn
	t.Prompt = prompt
	b.turn.Number++
	if change != nil {
		change(&t)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	go func() {
		select {
		case <-b.slow:
			if t.Timeout > time.Minute { // or else it ends by its clock
				cancel()
			}
		case <-ctx.Done():
		}
	}()
	begin := time.Now()
	r := s.Turn(ctx, t, func(a Activity) {
		b.seen = append(b.seen, a)
	})
	b.t.Logf("%s in %s: %q %q, %d tokens", r.Stop, time.Since(begin).Round(time.Millisecond), r.Text, r.Error, tokens(r.Usage))
	return r
}

func tokens(u Usage) int {
	n, known := u.Tokens()
	if !known {
		return -1
	}
	return n
}

// spent compares what replies say was spent with what the model counted.
func (b *bench) spent(replies ...Reply) {
	b.t.Helper()
	var sum Usage
	for _, r := range replies {
		sum = sum.add(r.Usage)
	}
	c := b.model.Counted()
	if b.info.Silent {
		if _, known := sum.Tokens(); known {
			b.t.Errorf("it told %s, and the table says that it never does", describeUsage(sum))
		}
		return
	}
	if sum.Total != nil {
		if *sum.Total != c.Input+c.Output {
			b.t.Errorf("the agent tells of %d tokens, and the model counted %d", *sum.Total, c.Input+c.Output)
		}
		return
	}
	if sum.Input == nil || sum.Output == nil {
		b.t.Errorf("usage is not known: %+v", sum)
		return
	}
	if *sum.Input != c.Input || *sum.Output != c.Output {
		b.t.Errorf("the agent tells of %d tokens in and %d out, and the model counted %d and %d", *sum.Input, *sum.Output, c.Input, c.Output)
	}
	if sum.CacheRead != nil && *sum.CacheRead != c.CacheRead {
		b.t.Errorf("the agent tells of %d tokens from the cache, and the model counted %d", *sum.CacheRead, c.CacheRead)
	}
	if (sum.Cost != nil) != b.info.ReportsCost {
		b.t.Errorf("the cost is known: %v, and the table says %v", sum.Cost != nil, b.info.ReportsCost)
	}
}

func (b *bench) has(kind ActivityKind, what func(Activity) bool) {
	b.t.Helper()
	if !slices.ContainsFunc(b.seen, func(a Activity) bool { return a.Kind == kind && what(a) }) {
		b.t.Errorf("no such %s among %d signs of life: %+v", kind, len(b.seen), b.seen)
	}
}

func TestRealAgents(t *testing.T) {
	t.Parallel()
	for _, a := range fakemodel.Agents() {
		t.Run(a.Harness, func(t *testing.T) {
			but := realQuirks[a.Harness]
			for _, c := range realCases {
				t.Run(c.name, func(t *testing.T) {
					if but.retries && c.fails {
						t.Skip("it repeats a model request that failed for minutes")
					}
					if but.uncut && c.cuts {
						t.Skip("it does not tell when a reply was cut off")
					}
					c.run(benchOf(t, a, c.script))
				})
			}
		})
	}
}

var realCases = []struct {
	name   string
	script func(fakemodel.Request) fakemodel.Answer
	fails  bool // the model does
	cuts   bool // the reply is cut off
	run    func(*bench)
}{
	{name: "a session", run: func(b *bench) {
		s := b.open("")
		one := b.say(s, "[[write:"+b.config.Dir+"/a.txt|hello]]", nil)
		wantReply(b.t, one, 1)
		wantFile(b.t, b.config.Dir+"/a.txt", "hello")
		b.has(CalledTool, func(a Activity) bool {
			return slices.Contains(a.Tool.Paths, b.config.Dir+"/a.txt") || strings.Contains(a.Tool.Command, "a.txt")
		})
		b.has(GotResult, func(a Activity) bool { return !a.Failed })
		b.has(SaidText, func(a Activity) bool { return strings.Contains(a.Text, "All done.") })
		if !b.info.Silent {
			b.has(Metered, func(a Activity) bool { return tokens(a.Usage) > 0 })
		}
		if one.Calls == nil || *one.Calls != 1 {
			b.t.Errorf("calls: %v", one.Calls)
		}
		two := b.say(s, "[[bash:echo hi > b.txt]]", nil)
		wantReply(b.t, two, 2)
		wantFile(b.t, b.config.Dir+"/b.txt", "hi\n")
		b.spent(one, two)
		b.close(s)
		if !b.info.Resumes {
			return
		}
		if one.Session == "" || one.Session != two.Session {
			b.t.Errorf("sessions %q and %q", one.Session, two.Session)
		}
		s = b.open(two.Session) // as after a crash of Foundry
		three := b.say(s, "[[bash:cat a.txt]]", nil)
		wantReply(b.t, three, 3)
		b.spent(one, two, three)
		b.close(s)
	}},
	{name: "what is refused", run: func(b *bench) {
		s := b.open("")
		beyond, err := os.MkdirTemp("/var/tmp", "foundry-test-") // a sandbox may leave /tmp open
		if err != nil {
			b.t.Fatal(err)
		}
		b.t.Cleanup(func() { os.RemoveAll(beyond) })
		outside := filepath.Join(beyond, "outside.txt")
		r := b.say(s, "[[write:"+outside+"|no]]", nil)
		if _, err := os.Stat(outside); err == nil {
			b.t.Errorf("%s was written", outside)
		}
		if r.Stop != End && r.Stop != Cancelled && r.Stop != Failed {
			b.t.Errorf("stop %s", r.Stop)
		}
		b.say(s, "[[beyond:touch "+outside+"]]", func(t *Turn) {
			t.Permit = func(_ context.Context, r Request) Decision {
				b.asked = append(b.asked, r)
				return Decision{Reason: "no"}
			}
		})
		if len(b.asked) == 0 {
			b.t.Error("it never asked")
		}
		if _, err := os.Stat(outside); err == nil {
			b.t.Errorf("%s was touched", outside)
		}
		b.close(s)
	}},
	{name: "a turn given up", run: func(b *bench) {
		s := b.open("")
		wantReply(b.t, b.say(s, "[[bash:true]]", nil), 1)
		wantStop(b.t, b.say(s, "[[slow:3600]]", nil), Cancelled, "stopped")
		wantStop(b.t, b.say(s, "[[slow:3600]]", func(t *Turn) { t.Timeout = 4 * time.Second }), TimedOut, "turn_timeout")
		wantReply(b.t, b.say(s, "[[bash:true]]", nil), 2) // or more: what was given up may be forgotten
		b.close(s)
	}},
	{name: "limits and failures", fails: true, run: func(b *bench) {
		s := b.open("")
		wantReply(b.t, b.say(s, "[[bash:true]]", nil), 1)
		wantStop(b.t, b.say(s, "[[error:429]]", nil), Limit, "")
		wantStop(b.t, b.say(s, "[[error:529]]", nil), Limit, "")
		wantStop(b.t, b.say(s, "[[error:400]]", nil), Failed, "")
		wantStop(b.t, b.say(s, "[[hangup]]", nil), Failed, "")
		wantReply(b.t, b.say(s, "[[bash:true]]", nil), 2)
		b.close(s)
	}},
	{name: "cut off", cuts: true, script: func(fakemodel.Request) fakemodel.Answer {
		return fakemodel.Answer{Text: `{"status": "succ`, Truncate: true} // however often the agent lets it go on
	}, run: func(b *bench) {
		s := b.open("")
		if r := b.say(s, "go", nil); r.Stop != Truncated || !strings.Contains(r.Text, "succ") {
			b.t.Errorf("a reply that was cut off ended as %s", r.Stop)
		}
		b.close(s)
	}},
	{name: "nothing is left", run: func(b *bench) {
		s := b.open("")
		wantReply(b.t, b.say(s, "[[bash:sleep 300 >/dev/null 2>&1 &]]", nil), 1)
		if left, err := s.Close(); err != nil || len(left) > 1 { // a sandbox may have ended it
			b.t.Errorf("closing: %v, left behind %q", err, left)
		}
		if alive := process.Survivors(b.config.RunID); len(alive) > 0 {
			b.t.Errorf("alive after the session: %v", alive)
		}
	}},
	{name: "read only", run: func(b *bench) {
		s := b.open("")
		b.say(s, "[[write:"+b.config.Dir+"/a.txt|hello]]", func(t *Turn) {
			t.ReadOnly = true
			t.Permit = func(context.Context, Request) Decision { return Decision{Reason: "this phase may not write"} }
		})
		if _, err := os.Stat(b.config.Dir + "/a.txt"); err == nil {
			b.t.Error("a read-only turn wrote")
		}
		b.close(s)
	}},
}

// wantReply checks a turn that ended well, in a conversation of at least so many turns.
func wantReply(t *testing.T, r Reply, turns int) {
	t.Helper()
	_, after, _ := strings.Cut(r.Text, `"user_turns": `)
	knows := 0
	if _, err := fmt.Sscan(after, &knows); r.Stop != End || err != nil || knows < turns {
		t.Errorf("got %s %q %q, want a reply that knows of %d turns", r.Stop, r.Text, r.Error, turns)
	}
}

func wantFile(t *testing.T, name, want string) {
	t.Helper()
	if b, err := os.ReadFile(name); err != nil || strings.TrimSpace(string(b)) != strings.TrimSpace(want) {
		t.Errorf("%s holds %q, %v; want %q", name, b, err, want)
	}
}
