package report

import (
	"encoding/json"
	"time"

	"foundry/gates"
	"foundry/runner"
)

// Trace is a run as its events tell it: the phases in the order of the pipeline, each with all its visits. It is
// folded from the events one by one.
type Trace struct {
	runner.Outline
	Info       runner.RunInfo // empty before run.started
	Phases     []*Phase
	Criteria   []Criterion
	Seen       []runner.Seen // the terms that decided the run
	Text       string        // what is said of the end of the run
	Hint       string
	Last       time.Time // when the newest event was
	left       time.Time // of the last event before the run was gone on with
	Asks       []Ask     // the questions that are open
	Warnings   []string
	Outside    []string  // what changed outside the worktree
	Left       []string  // processes that were left behind and ended
	Paused     time.Time // when the usage limit that paused the run ends; zero when it is not known
	Setup      []runner.CommandResult
	SetupLog   string // the log of the setup command that failed
	Dropped    bool   // the run was discarded
	DroppedRef string // where its commits are kept

	After []After // what followed the end of the run, in its order

	Settled, SettledHint string // what became of the work at the end, and what to do about it

	blame   string // the phase that the reason of the run's end speaks of
	byName  map[string]*Phase
	routes  map[string]*Route // the newest route into a phase that it has not been entered by yet
	pending map[string]*Route // by source: a jump that waits to be taken
}

// After is a command that followed the end of the run, as it was started last.
type After struct {
	ID      string                `json:"id"`
	On      string                `json:"on"`      // accepted, rejected, always
	Outcome string                `json:"outcome"` // passed, failed, skipped, unknown; running while it is
	Text    string                `json:"text,omitempty"`
	Result  *runner.CommandResult `json:"result"`
	Log     string                `json:"log,omitempty"`
}

// Phase is a phase of the trace.
type Phase struct {
	Name   string
	Status string // queued, running, waiting, success, fail, …
	Why    string // of skipped, not_run, stopped and blocked
	Visits []*Visit

	seq int // of the first event that speaks of it
}

// Visit is one entry into a phase.
type Visit struct {
	N           int
	seq         int // of the event that began it
	Started     time.Time
	Ended       time.Time     // zero while it goes on
	idle        time.Duration // in which no process carried the run on
	Status      string
	Reason      string
	Text        string
	Hint        string
	From        *Route // what led here, nil for the order of the pipeline
	Feedback    string
	Agent       string
	Harness     string
	Model       string // that the newest turn of its agent asked for; "" is the harness's own choice
	Attempts    int
	Turns       int
	Retold      int // replies that were not usable
	Tokens      int
	Cost        float64
	CostKnown   bool               // of every turn
	TokensKnown bool               // of every turn
	Gates       []Gate             // of the newest attempt
	Reviews     []Review           // of all attempts
	Reviewing   string             // the reviewer at work; "" when there is none
	Worktree    string             // the directory that it has to itself; it goes with its end
	Due         string             // whom it waits for now that it is done; "" when it does not
	Violations  []runner.Violation // of all attempts
	Changed     []string
	Result      *runner.CommandResult
	Envelope    json.RawMessage
	Files       []string // prompts, replies and logs in the record
	Log         string   // the newest log or reply, which is where to look first
	Route       *Route   // the rule that was taken at its end
	Spent       []Route
	Calls       string             // the pipeline that it ran as one phase
	Each        string             // the list over which the phase was repeated
	Items       []runner.GrownItem // what the list came to
	Seen        []runner.Seen      // the terms of that pipeline's acceptance
	Question    string             // of the phase, or the request of its agent that waits for a person
	Permits     []Permit           // what people answered to requests of the agent
	asked       string
	Answer      string
	Who         string
	Note        string
	Commit      string
	Reused      *runner.Reused // its command was not started: the evidence is from there
	Because     string         // why its command was started, where it need not have been
	JudgedAgain string         // why it judged what an earlier visit did; "" when it did not
	Invalid     bool           // its result is void
}

// Gate is what a gate found.
type Gate struct {
	Name    string        `json:"gate"`
	Outcome string        `json:"outcome"` // passed, failed, empty
	Checks  []gates.Check `json:"checks"`
}

// Route is a rule that was taken, or that was used up.
type Route struct {
	From, To string
	Rule     string
	Used, Of int
	Seen     []runner.Seen
	Feedback string
}

// Ask is a question that waits for a person.
type Ask struct {
	Phase    string
	Visit    int
	Question string
}

// Permit is what a person answered to an agent that wanted a permission. Answer is "" when nobody did in time.
type Permit struct{ Question, Answer, Who, Note string }

// NewTrace is the trace of a run whose log is still empty.
func NewTrace(id string) *Trace {
	return &Trace{Outline: runner.NewOutline(id), byName: map[string]*Phase{}, routes: map[string]*Route{},
		pending: map[string]*Route{}}
}

// TraceOf folds a whole log.
func TraceOf(id string, events []runner.Event) *Trace {
	t := NewTrace(id)
	for i := range events {
		t.Add(&events[i])
	}
	return t
}

// Phase is the phase of a name, nil when the log does not mention it.
func (t *Trace) Phase(name string) *Phase { return t.byName[name] }

// Holds says that the visit was one of other phases, which show what went on: of a pipeline, or of items.
func (v *Visit) Holds() bool { return v.Calls != "" || v.Each != "" }

// Newest is the newest visit, nil before the first.
func (p *Phase) Newest() *Visit {
	if len(p.Visits) == 0 {
		return nil
	}
	return p.Visits[len(p.Visits)-1]
}
