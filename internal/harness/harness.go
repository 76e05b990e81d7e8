// Package harness owns the harness: the adapter that turns one kind of agent into sessions. The engine opens a
// session, sends it turns and closes it; what kind of agent answers is known in this package only.
package harness

import (
	"context"
	"fmt"
	"time"

	"foundry/internal/process"
	"foundry/secret"
)

// Harness drives one kind of agent. A Harness has no state and may be used by several goroutines.
type Harness interface {
	// Preflight says why a session with this configuration cannot work, as far as that can be known before the
	// run has started. It spends nothing and starts nothing.
	Preflight(Config) error
	// Open makes a session. It returns an error when no turn could ever be served.
	Open(context.Context, Config) (Session, error)
}

// Session is a conversation with an agent. Turns are sent one after another, by one goroutine at a time.
type Session interface {
	// Turn sends a prompt and waits for the end of the turn. activity, which may be nil, is called while the
	// agent works, never after Turn has returned, and by one goroutine at a time. Cancelling ctx ends the turn:
	// the agent is asked to stop, then made to.
	Turn(ctx context.Context, t Turn, activity func(Activity)) Reply
	// Close ends the agent. left names the processes that it had left behind, which were ended too.
	Close() (left []string, err error)
}

// Config is what a session is opened with.
type Config struct {
	Agent  string       // the agent's name
	Argv   []string     // of command
	Script []ScriptTurn // of script
	Model  string
	Env    []string // the agent's own variables, NAME=VALUE; they win over all others
	RunID  string
	Turns  int    // turns of this agent in this run that were served already, by earlier sessions or an earlier process
	Dir    string // the top of the workspace, where a program that serves a whole session runs; Preflight looks from it for a program with a relative path; "" is the working directory

	// Session is the id that the last Reply of an earlier session had: the conversation goes on where that one
	// ended, though another process had it. "" begins a new one.
	Session string
	// Asks says that permission requests are wanted: each turn then has a Permit. Without it a harness runs the
	// agent in a mode that asks nobody, or refuses what it asks for.
	Asks bool
	// Bye is how long a program that serves a session may take to end by itself once its input has ended, Interrupt how long
	// to give up a turn once it was asked to, before it is made to. 0 is two seconds, and five.
	Bye, Interrupt time.Duration
	// Allow and Deny are lists of the agent's own names of tools; only for a harness whose Info has KeepsTools.
	Allow, Deny []string
}

// ScriptTurn is one entry of a scripted agent: files are written, the command runs, then the reply is given.
type ScriptTurn struct {
	Files []ScriptFile
	Run   string // a shell command in the workspace; "" is none
	Reply string // sent as it stands
}

// ScriptFile is a file that a scripted turn writes, or deletes. Path is a slash path from the workspace's top.
type ScriptFile struct {
	Path   string
	Text   string
	Delete bool
}

// Turn is one prompt and all that belongs to it.
type Turn struct {
	Prompt   string
	Number   int // within the session, from 1
	Phase    string
	Visit    int
	Attempt  int
	Item     string
	ReadOnly bool // the agent is not to write; harnesses that can, tell it to the agent
	Model    string
	Effort   string

	Timeout time.Duration // of the turn; 0 is none
	Stall   time.Duration // without any activity; 0 is none

	Dir        string       // the workspace, absolute
	HandoffDir string       // absolute; made when absent
	SessionDir string       // absolute; made when absent; kept between the turns of the session
	LogPath    string       // where the raw output goes; "" is nowhere
	Env        []string     // the environment to start from, NAME=VALUE; nil is that of this process
	Own        []string     // the agent's own variables for this turn; they win over all others
	LogLimit   int64        // bytes of the log; 0 is no limit
	Mask       *secret.Mask // of what the agent prints; nil masks nothing

	// Permit answers a permission request of the agent. It may take as long as a person takes; the clocks of the
	// turn stand still meanwhile. nil refuses every request.
	Permit func(context.Context, Request) Decision

	Kill    <-chan struct{}  // when closed, a cancelled turn is ended at once; nil is never
	Confine *process.Confine // all that the agent may write, by the turn that starts its program; nil is everything
	Guard   *process.Guard   // ends the agent's processes should this one die; nil is none
}

// Reply is how a turn ended.
type Reply struct {
	Text    string // of End and Truncated; terminal codes and a byte order mark are removed
	Stop    Stop
	Error   string    // a sentence, of every other stop
	Usage   Usage     // of this turn alone, whatever way it ended
	Calls   *int      // of tools; nil when nobody could tell
	Session string    // what Config.Session takes to go on with this conversation; "" when that cannot be done
	ResetAt time.Time // of Limit, when it is known
	Left    []string  // processes that were still there when the turn ended, and were ended
	Notes   []string  // what a reader of the record may want to know
}

// Stop says how a turn ended.
type Stop uint8

// The stops; the zero value is invalid. Only End and Truncated carry a text.
const (
	End       Stop = iota + 1
	Truncated      // the agent says that its reply is cut off
	Cancelled      // the context was cancelled
	Limit          // a provider's usage limit
	TimedOut       // the turn's timeout or its stall timeout
	Failed         // everything else: the agent crashed, could not start, or broke its protocol
	Lost           // the conversation could not be taken up again, and nothing was sent: the next turn begins a new one
)

var stopNames = [...]string{End: "end", Truncated: "truncated", Cancelled: "cancelled", Limit: "limit", TimedOut: "timeout", Failed: "error", Lost: "lost"}

func (s Stop) String() string {
	if s == 0 || int(s) >= len(stopNames) {
		return "invalid"
	}
	return stopNames[s]
}

// Info describes a harness.
type Info struct {
	Name        string
	Harness     Harness
	Summary     string
	Remembers   bool     // a session keeps the conversation: a later turn need not repeat what an earlier one said
	Resumes     bool     // Config.Session is honoured: another process can go on with the conversation
	ReportsCost bool     // replies tell what they cost, so that a cost limit can be kept
	Permits     bool     // the agent asks for permission, and Turn.Permit answers
	KeepsTools  bool     // Config.Allow and Config.Deny are honoured
	Effort      bool     // Turn.Effort is honoured
	Silent      bool     // replies never tell what they used, so that a token limit cannot be kept
	Program     string   // the program that it starts unless argv says otherwise; "" when it has none of its own
	Install     string   // the command that installs Program
	Login       string   // what a person does to log in; "" when that is not Foundry's to know
	LoginSigns  []string // variables, and files as ~/…, that are there when somebody is logged in
	State       []Place  // where it keeps what outlives its process; nil when it keeps nothing, or nobody knows
	NoSandbox   string   // why it cannot run in a sandbox: a sentence without a full stop; "" when it can
	Lacks       []string // what else it cannot do, or does in its own way: sentences without a full stop
}

// LoginFix says how one logs in.
func (i Info) LoginFix() string {
	if i.Login != "" {
		return i.Login
	}
	return "log in with the agent's own program"
}

// Table is every harness that the language knows, in the order of the documentation.
func Table() []Info {
	return []Info{
		{Name: "script", Harness: script{}, Remembers: true, ReportsCost: true,
			Summary: "a list of replies with file writes, from the pipeline file"},
		{Name: "command", Harness: command{}, Silent: true,
			Summary: "any program: prompt on stdin, reply on stdout, one process a turn"},
		speaks("acp", anyACP()),
		{Name: "claude", Harness: claude{}, Remembers: true, Resumes: true, ReportsCost: true, Permits: true, KeepsTools: true, Effort: true, State: claudePlaces,
			Program: "claude", Install: "npm install -g @anthropic-ai/claude-code", Login: claudeACP().login, LoginSigns: claudeACP().signs,
			Summary: "Claude Code, one process for a session"},
		{Name: "codex", Harness: codex{}, Remembers: true, Resumes: true, Permits: true, Effort: true, State: codexPlaces, NoSandbox: codexACP().noSandbox,
			Program: "codex", Install: "npm install -g @openai/codex", Login: codexACP().login, LoginSigns: codexACP().signs,
			Summary: "Codex CLI, one process for a session"},
		speaks("claude-acp", claudeACP()),
		speaks("codex-acp", codexACP()),
		speaks("opencode", openCode()),
		speaks("gemini", geminiCLI()),
		speaks("qwen", qwenCode()),
		speaks("droid", factoryDroid()),
	}
}

// Find is the harness of a name.
func Find(name string) (Info, bool) {
	for _, info := range Table() {
		if info.Name == name {
			return info, true
		}
	}
	return Info{}, false
}

// Present names the harnesses whose own program is on PATH, in the order of the table.
func Present() []string {
	var out []string
	for _, info := range Table() {
		if info.Program != "" && lookFor(Config{Argv: []string{info.Program}}) == nil {
			out = append(out, info.Name)
		}
	}
	return out
}

// Named is the harness of a name, or an error that says that there is none.
func Named(name string) (Harness, error) {
	info, ok := Find(name)
	if !ok {
		return nil, fmt.Errorf("harness %q is not known", name)
	}
	return info.Harness, nil
}
