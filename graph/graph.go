// Package graph owns the graph: a pipeline with every name resolved to a dense id, every text compiled, and
// every loop bounded. Compile makes one from a document or says why it cannot; a Graph is immutable and no
// name lookup on it can fail.
package graph

import (
	"slices"
	"time"

	"foundry/diag"
	"foundry/dsl"
	"foundry/envelope"
	"foundry/gates"
	"foundry/glob"
)

// PhaseID is a phase's index in Graph.Phases, which is the order of the file, detours included.
type PhaseID int

// RuleID is a rule's index in Graph.Rules: phases in order, rules in order.
type RuleID int

// Isolation says where a run works.
type Isolation uint8

// The isolations; the zero value is invalid.
const (
	Worktree Isolation = iota + 1 // a worktree on a branch of its own
	Detached                      // a worktree without a branch, gone at the end
	Checkout                      // the user's checkout; nothing is ever undone there
)

// Policy says what happens to an accepted run's branch.
type Policy uint8

// The merge policies; the zero value is invalid.
const (
	MergeAsk Policy = iota + 1
	MergeAuto
	MergeNever
)

// Graph is a compiled pipeline, those that it calls included: the phases of a called one stand behind the phase that
// calls it, under names of the form call/phase.
type Graph struct {
	Body
	Description string
	Builtin     bool   // the pipeline ships with Foundry
	File        string // the pipeline file, relative to the repository root; "" for a builtin without a file
	Span        diag.Span

	NeedRequest bool // a run without a request is refused
	NoRequest   bool // a run with a request is refused

	Isolation Isolation
	Merge     Policy
	Project   Project
	Limits    Limits

	Phases []Phase
	Rules  []Rule
	Agents []Agent
	After  []AfterRun // what follows the end of a run, in the order in which it starts

	Bound       Bound
	Fingerprint string // changes when anything that a run depends on changes
}

// Body is what a pipeline says of its phases as a whole, be it the pipeline of a run or one that a phase calls.
type Body struct {
	Pipeline   string
	Params     []Param
	FailFast   bool
	KeepGoing  bool
	Criteria   []Criterion
	Accept     *dsl.Cond // never nil: the default is compiled too
	AcceptText string
	AcceptsAll bool        // it says all_phases_pass, and so rests on every phase
	Protect    []glob.Rule // what no phase may write, whatever it says itself
	Own        []PhaseID   // its phases in order, without those of the pipelines that it calls
}

// BodyOf is the body of the pipeline that a call runs; of the graph's own pipeline for -1.
func (g *Graph) BodyOf(call PhaseID) *Body {
	if call < 0 {
		return &g.Body
	}
	return g.Phases[call].Body()
}

// Inside says whether a phase belongs to what a call or an each runs, directly or not.
func (g *Graph) Inside(call, p PhaseID) bool {
	for owner := p; owner >= 0; {
		if owner = g.Phases[owner].Owner; owner == call {
			return true
		}
	}
	return call < 0
}

// Near is the name of the phase that a mistyped one most likely meant, "" when none is near.
func (g *Graph) Near(name string) string {
	names := make([]string, len(g.Phases))
	for i := range g.Phases {
		names[i] = g.Phases[i].Name
	}
	slices.Sort(names)
	return diag.Suggest(name, names)
}

// LookupIn finds a phase of the pipeline that a call runs, or of the graph's own for -1, by the name that it has
// there.
func (g *Graph) LookupIn(call PhaseID, local string) (PhaseID, bool) {
	for _, id := range g.BodyOf(call).Own {
		if g.Phases[id].Local == local {
			return id, true
		}
	}
	return -1, false
}

// Project is what the file says of the repository as a whole.
type Project struct {
	Name    string
	Base    string // "" is the branch that is checked out
	Env     []EnvVar
	Secrets []string // names of variables
	Hooks   bool
	Copy    []string
	Link    []string
	Setup   []Script
	Scratch []string
	Keep    Keep
}

// Keep says what is kept of past runs. A record goes when it is not among the newest Runs, or is older than Days, and
// nothing of the run is left that could still land. LogBytes caps the log of one phase.
type Keep struct {
	Runs, Days int
	LogBytes   int64
}

// Limits are a run's budgets; zero is no limit.
type Limits struct {
	Time   time.Duration
	Turns  int
	Tokens int
	Cost   float64
	Phases int
}

// Param is a parameter of the pipeline. Default is in its text form.
type Param struct {
	Name     string
	Type     ParamType
	Default  string
	Has      bool // a default was written
	Required bool
	Choices  []string
	Span     diag.Span

	ChoicesAt diag.Span // where the file lists the choices
}

// ParamType is the type of a parameter.
type ParamType uint8

// The parameter types; the zero value is invalid.
const (
	ParamString ParamType = iota + 1
	ParamText
	ParamInt
	ParamBool
	ParamChoice
	ParamList
	ParamPath
	ParamNumber // of outputs only
)

// EnvVar is one variable of an environment.
type EnvVar struct {
	Name  string
	Value *dsl.Template
}

// Script is a command to start: Shell in /bin/sh, or Argv directly. Exactly one is set.
type Script struct {
	Shell string
	Argv  []*dsl.Template
	Label string // how it is shown: the shell text, or the argv joined
}

// PhaseKind says what a phase does.
type PhaseKind uint8

// The kinds of phases; the zero value is invalid.
const (
	AgentWork PhaseKind = iota + 1 // a model's work
	Code                           // a command
	Commit                         // builtin: git_commit
	Status                         // builtin: git_status
	Noop                           // builtin: noop
	Ask                            // a person
	Calls                          // another pipeline
	FansOut                        // one of the above for each entry of a list
)

// Phase is one phase of the graph.
type Phase struct {
	ID          PhaseID
	Name        string  // unique in the graph: call/phase for a phase of a called pipeline
	Local       string  // as its own pipeline calls it
	Owner       PhaseID // the call whose pipeline it belongs to, or the phase whose item it is; -1 for the graph's own
	Fingerprint string  // changes when anything that its result depends on changes, its routes excepted
	Description string
	Hint        string
	Kind        PhaseKind
	Span        diag.Span

	Detour   bool
	Optional bool
	Needs    []PhaseID // direct; empty for a detour
	Before   Set       // all it depends on, directly or not; for a detour, all that route to it and what they depend on
	After    Set       // all that depends on it, directly or not, detours included
	Routers  []PhaseID // of a detour: the phases that route to it
	First    RuleID    // its rules are Rules[First:First+Count]
	Count    int
	When     *dsl.Cond // nil: always

	Boundary  glob.Boundary
	Declared  bool // `writes` stands on the phase or its agent
	Writer    bool // may change the workspace: an agent that may write, git_commit, a code phase with writes
	Commits   bool // the agent may commit and switch branches
	Apart     bool // each visit works in a worktree of its own, from which its work is merged into the run's
	NeedsTree bool // its end is a snapshot: acceptance names it, or something reads its tree
	Named     bool // acceptance names it

	Timeout time.Duration // of a code phase (never zero) or an ask (zero: none)
	Env     []EnvVar      // project, command and phase merged, in that order
	Dir     string        // relative to the workspace

	// agent
	Agent    int // index into Graph.Agents
	Envelope *envelope.Kind
	Prompt   *dsl.Template // the user text, the phase's own or the agent's
	Inputs   []Input
	Model    string
	Retries  int
	Reuse    bool // an equal result of an earlier run is taken over
	Fresh    bool // each visit has a session of its own with the agent
	Review   *Review
	Gates    []Gate

	// code
	Script    Script
	Command   string // the name of the command it runs, "" when in place
	ExitCodes []int  // codes that pass
	Nonzero   bool   // any code but 0 passes
	Outputs   []Output
	Repeat    int           // how many times in a row it must pass; 1 for most
	Sources   []string      // globs of what decides whether it has to run; empty: always
	Message   *dsl.Template // git_commit

	// ask
	Question *dsl.Template

	Call *Call // of a call, nil for every other kind
	Each *Each // of one that is repeated, nil for every other kind
	Item *Item // of an item of one that is repeated
	Gone bool  // an item that is not in the list any more, or something that it ran
}

// OwnSession says whether a visit has a session to itself with its agent, or with its reviewer. A session that other
// visits go on with cannot move into a worktree.
func (p *Phase) OwnSession(reviewer bool) bool { return p.Apart || p.Fresh && !reviewer }

// Review is what happens to the work of an agent phase once its boundary and gates have passed: another agent judges it.
type Review struct {
	Agent   int  // index into Graph.Agents
	Retries int  // further attempts of the visit after reviews that failed
	Revert  bool // work whose review failed for good is undone
}

// Call is a pipeline that runs as one phase.
type Call struct {
	Body
	Set         []Setting
	Fingerprint string  // of the pipeline that it runs, all that a run as a whole may say excepted
	Last        PhaseID // all phases behind the call up to this one are the called pipeline's, those that it calls included
}

// Setting is a param of a called pipeline and the text that it is given.
type Setting struct {
	Name  string
	Value *dsl.Template
}

// Input is something that is handed over even if the prompt does not mention it.
type Input struct {
	Kind  InputKind
	Phase PhaseID // of InputPhase and InputField
	Field string  // of InputField
	Name  string  // as written: request, plan, plan.summary
}

// InputKind says what an input is.
type InputKind uint8

// The kinds of inputs; the zero value is invalid.
const (
	InputRequest InputKind = iota + 1
	InputFeedback
	InputHandoff
	InputPhase
	InputField
)

// Output is a value read out of a code phase's output.
type Output struct {
	Name     string
	Regex    string // one capture group, or the whole match
	JSON     string // a JSON pointer
	Type     ParamType
	Required bool
}

// Gate is a gate of a phase.
type Gate struct {
	Spec    gates.Spec
	Command *Command  // of command_passes
	Cond    *dsl.Cond // of check
}

// Command is a command outside the phases: a gate's, or a criterion's.
type Command struct {
	Script    Script
	Env       []EnvVar
	Dir       string
	Timeout   time.Duration
	ExitCodes []int
	Nonzero   bool
}

// AfterRun is a command that follows the end of a run: it starts once, when what follows from the verdict is done.
type AfterRun struct {
	ID      string
	On      On
	When    *dsl.Cond // nil: always
	Command Command
	Span    diag.Span
}

// On says which runs something follows. The zero value is invalid.
type On uint8

// The runs.
const (
	Accepted On = iota + 1
	Rejected
	Always // every run that was not killed
)

var onWords = [...]string{Accepted: "accepted", Rejected: "rejected", Always: "always"}

// String names the list as the file does.
func (o On) String() string { return onWords[o] }

// Criterion is a check that runs before acceptance, and once before the work.
type Criterion struct {
	Name     string
	Command  Command
	Required bool
}

// Agent is an agent with all that it extends merged in.
type Agent struct {
	Name            string
	Description     string
	Harness         string // "" only when neither the agent nor the project says one
	Argv            []string
	Script          []ScriptTurn
	Model           string
	Light, Heavy    string
	Effort          string
	Allow, Deny     []string
	System          *dsl.Template
	EnvelopeRetries int
	ReadOnly        bool
	Permissions     string
	Sandbox         *Sandbox // nil: the kernel does not keep it from writing
	Env             []EnvVar
	TurnTimeout     time.Duration
	StallTimeout    time.Duration
	Fallback        []int  // indexes into Graph.Agents
	Session         int    // the index of the agent whose session it shares: itself, or the same agent in another pipeline
	Lane            string // the item that has its session to itself, "" for the one session of the run
	Span            diag.Span
}

// Sandbox says what an agent in a sandbox may write beside what it has to.
type Sandbox struct {
	Write []string // paths: absolute, from "~/", or from the top of the workspace
}

// ScriptTurn is one entry of a scripted agent.
type ScriptTurn struct {
	Item  string // the key of the item that it is kept for
	Files []ScriptFile
	Run   string
	Reply string // JSON for an object, else verbatim
}

// ScriptFile is a file that a scripted turn writes, or deletes.
type ScriptFile struct {
	Path   string
	Text   string
	Delete bool
}

// Rule is one rule of a phase's route.
type Rule struct {
	ID      RuleID
	Phase   PhaseID
	Trigger dsl.Trigger
	When    *dsl.Cond // nil: always
	Action  dsl.Action
	Target  PhaseID   // of Goto
	Way     Way       // of Goto
	Retry   int       // of a back or self jump
	With    *dsl.Cond // nil: the default feedback
	Message string    // of Abort
	Text    string    // as written, for the record
	Span    diag.Span
}

// Way says where a goto leads, seen from its phase.
type Way uint8

// The ways; the zero value is for rules that are no goto.
const (
	Back Way = iota + 1
	Self
	Forward
	IntoDetour
)

// Passes says whether an exit code counts as a pass of the phase's command.
func (p *Phase) Passes(exit int) bool { return passes(p.ExitCodes, p.Nonzero, exit) }

// Passes says whether an exit code counts as a pass of the command.
func (c *Command) Passes(exit int) bool { return passes(c.ExitCodes, c.Nonzero, exit) }

// passes is the one place that compares an exit code with what was declared; -1, no exit code, never passes.
func passes(codes []int, nonzero bool, exit int) bool {
	switch {
	case exit < 0:
		return false
	case nonzero:
		return exit != 0
	case len(codes) == 0:
		return exit == 0
	}
	return slices.Contains(codes, exit)
}

// Label is how a rule is named in reasons and events: "test -> build".
func (g *Graph) Label(r RuleID) string {
	rule := g.Rules[r]
	from := g.Phases[rule.Phase].Name
	switch rule.Action {
	case dsl.Goto:
		return from + " -> " + g.Phases[rule.Target].Name
	case dsl.Next:
		return from + " -> next"
	case dsl.Finish:
		return from + " -> finish"
	}
	return from + " -> abort"
}

// AndFallbacks are an agent and those that take its place when its harness fails, in order.
func (g *Graph) AndFallbacks(agent int) []int {
	return append([]int{agent}, g.Agents[agent].Fallback...)
}

// WorkersOf are the agents that may come to work in a phase, its reviewers among them.
func (g *Graph) WorkersOf(p PhaseID) []int {
	ph := &g.Phases[p]
	if ph.Work() != AgentWork {
		return nil
	}
	out := g.AndFallbacks(ph.Agent)
	if ph.Review != nil {
		out = append(out, g.AndFallbacks(ph.Review.Agent)...)
	}
	return out
}

// RulesOf are the rules of a phase in order.
func (g *Graph) RulesOf(p PhaseID) []Rule {
	ph := &g.Phases[p]
	return g.Rules[ph.First : int(ph.First)+ph.Count]
}

// Lookup finds a phase by its name.
func (g *Graph) Lookup(name string) (PhaseID, bool) {
	for i := range g.Phases {
		if g.Phases[i].Name == name {
			return PhaseID(i), true
		}
	}
	return -1, false
}

// Bound is the proven worst case of a run without its limits.
type Bound struct {
	Visits []int         // by phase
	Turns  int           // of all agents
	Phases int           // visits in all
	Time   time.Duration // when every turn and command takes as long as it may
	First  string        // the limit that bites first, as "turns 40"; "" when the bound fits all limits
}
