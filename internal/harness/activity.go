package harness

// This file says what is seen of an agent while a turn runs. Every harness translates its agent's own messages
// into these few; the live view, the budgets, the stall clock and the record know no others.

// Activity is a sign of life of an agent in the middle of a turn.
type Activity struct {
	Kind   ActivityKind
	Text   string // for people: words of the agent, what a tool is to do, the first words of a result, a chunk of output. Of HasSession: its id
	Tool   Tool   // of CalledTool, GotResult and AskedPermission
	Failed bool   // of GotResult: the agent says that the tool failed. Of AskedPermission: it was refused
	Usage  Usage  // of Metered: what the turn has spent so far
}

// ActivityKind says what an agent was seen to do.
type ActivityKind uint8

// The kinds of activity; the zero value is invalid.
const (
	SaidText ActivityKind = iota + 1
	CalledTool
	GotResult
	PrintedOutput
	AskedPermission // it was answered; Failed says how
	Metered
	HasSession // what Config.Session takes should the turn not come to its end
	GoesRound  // it makes the same call again and again; Text says so
)

var activityNames = [...]string{SaidText: "text", CalledTool: "tool", GotResult: "result", PrintedOutput: "output", AskedPermission: "permission", Metered: "usage", HasSession: "session", GoesRound: "repeats"}

func (k ActivityKind) String() string {
	if k == 0 || int(k) >= len(activityNames) {
		return "invalid"
	}
	return activityNames[k]
}

// Tool is one use of a tool by an agent.
type Tool struct {
	ID      string // the agent's own id of this use; "" when it has none
	Name    string // as the agent calls it: "Bash", "write_file"
	Kind    ToolKind
	Paths   []string // the files that it is about, absolute, as far as the agent names them
	Command string   // of Execute
	Args    string   // all of its arguments as the agent gave them; "" when it does not tell them
}

// ToolKind says what a tool does to the world, so that one rule can be about the tools of all agents.
type ToolKind uint8

// The kinds of tools; the zero value is invalid.
const (
	Read    ToolKind = iota + 1 // looks at files
	Edit                        // writes, moves or deletes files
	Execute                     // runs a command
	Fetch                       // goes to the network
	Think                       // has no effect: a plan, a note to itself
	Other                       // anything else, and whatever is not known
)

var toolKindNames = [...]string{Read: "read", Edit: "edit", Execute: "execute", Fetch: "fetch", Think: "think", Other: "other"}

func (k ToolKind) String() string {
	if k == 0 || int(k) >= len(toolKindNames) {
		return "invalid"
	}
	return toolKindNames[k]
}

// Request is an agent's question whether it may use a tool.
type Request struct {
	Tool  Tool
	Title string // what the agent says that it wants, for a person
}

// Decision answers a Request. The zero value refuses.
type Decision struct {
	Allow  bool
	Reason string // of a refusal, a sentence that the agent is told
}

// Usage is what a turn has spent, as far as the agent tells: nil is not known, which is not 0.
type Usage struct {
	Input      *int     // tokens that were read, those from a cache and those put into one among them
	CacheRead  *int     // the part of Input that came from a cache
	CacheWrite *int     // the part of Input that was put into a cache
	Output     *int     // tokens that were written, hidden reasoning among them
	Total      *int     // Input and Output together, of an agent that does not tell them apart; else nil
	Cost       *float64 // in US dollars
}

// Tokens is Input and Output together; false when neither is known.
func (u Usage) Tokens() (int, bool) {
	if u.Total != nil {
		return *u.Total, true
	}
	if u.Input == nil && u.Output == nil {
		return 0, false
	}
	n := 0
	for _, part := range []*int{u.Input, u.Output} {
		if part != nil {
			n += *part
		}
	}
	return n, true
}

// add is the sum of two usages of one agent; what one of them does not know counts as nothing if the other does.
func (u Usage) add(v Usage) Usage {
	return Usage{sum(u.Input, v.Input), sum(u.CacheRead, v.CacheRead), sum(u.CacheWrite, v.CacheWrite), sum(u.Output, v.Output), sum(u.Total, v.Total), sum(u.Cost, v.Cost)}
}

// since is what was spent between an earlier total and this one, for agents that report totals of a session. A
// total that fell was begun anew, and counts by itself.
func (u Usage) since(earlier Usage) Usage {
	return Usage{rise(u.Input, earlier.Input), rise(u.CacheRead, earlier.CacheRead), rise(u.CacheWrite, earlier.CacheWrite),
		rise(u.Output, earlier.Output), rise(u.Total, earlier.Total), rise(u.Cost, earlier.Cost)}
}

func sum[N int | float64](a, b *N) *N {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	n := *a + *b
	return &n
}

func rise[N int | float64](now, before *N) *N {
	if now == nil || before == nil || *now < *before {
		return now
	}
	n := *now - *before
	return &n
}
