package runner

import (
	"encoding/json"
	"path"
	"strings"
	"time"

	"foundry/gates"
)

// Kind names an event. Facts are told to the machine; decisions are what the machine made of them. Both are
// in the log, so that a reader needs no machine; a replay feeds the facts and compares the decisions.
type Kind string

// Facts.
const (
	RunStarted         Kind = "run.started"
	RunResumed         Kind = "run.resumed"
	WorkspaceReady     Kind = "workspace.ready"
	RunInterrupted     Kind = "run.interrupted"
	RunKilled          Kind = "run.killed"
	GrantGiven         Kind = "grant.given"
	SnapshotTaken      Kind = "snapshot.taken"
	TurnStarted        Kind = "turn.started"
	TurnEnded          Kind = "turn.ended"
	BoundaryChecked    Kind = "boundary.checked"
	GateChecked        Kind = "gate.checked"
	ReviewChecked      Kind = "review.checked" // what a reviewer changed was undone, and what it cites was looked for
	CommandStarted     Kind = "command.started"
	CommandEnded       Kind = "command.ended"
	CriterionDone      Kind = "criterion.checked"
	AskAnswered        Kind = "ask.answered"
	PermissionAnswered Kind = "permission.answered" // by a person; without an answer there was none in time. To an agent in the middle of a turn, the machine does nothing about it
	ApartMade          Kind = "worktree.made"       // that a visit has to itself, as far as its first snapshot
	MergedBack         Kind = "work.merged"         // of such a visit, into the run's workspace; with violations: it conflicts there, and nothing was merged
	UndoDone           Kind = "undo.done"
	BudgetReached      Kind = "budget.reached" // of time, or of tokens or cost in the middle of a turn; the machine decides the others itself
	WorldFailed        Kind = "world.failed"   // disk, git, a program that cannot start: ends the run as failed
	WorkspaceEdited    Kind = "workspace.edited"
	RunRewound         Kind = "run.rewound" // the state goes back to the beginning of a visit
)

// Decisions.
const (
	PhaseQueued      Kind = "phase.queued"
	PhaseStarted     Kind = "phase.started"
	PhaseEnded       Kind = "phase.ended"
	PhaseSkipped     Kind = "phase.skipped"
	PhaseNotRun      Kind = "phase.not_run"
	PhaseStopped     Kind = "phase.stopped"
	PhaseBlocked     Kind = "phase.blocked"
	PhaseInvalidated Kind = "phase.invalidated"
	PhaseDue         Kind = "phase.due"   // its work is done, and takes effect when that of those before it in the list has
	GraphGrown       Kind = "graph.grown" // the list of a phase has become items
	AttemptStarted   Kind = "attempt.started"
	EnvelopeAccepted Kind = "envelope.accepted"
	EnvelopeRejected Kind = "envelope.rejected"
	ReviewJudged     Kind = "review.judged"
	RouteTaken       Kind = "route.taken"
	RoutePending     Kind = "route.pending"
	RouteSpent       Kind = "route.spent"
	AskRaised        Kind = "ask.raised"
	AskWithdrawn     Kind = "ask.withdrawn"
	RunEnded         Kind = "run.ended"
)

// Notes: written for readers by the driver, ignored by the machine.
const (
	RunSettled      Kind = "run.settled"
	Restored        Kind = "workspace.restored" // the workspace is as run.rewound wants it
	RunMerged       Kind = "run.merged"
	RunDiscarded    Kind = "run.discarded"
	OutsideChanged  Kind = "outside.changed"
	ProcessLeft     Kind = "process.left"
	Usage           Kind = "usage"
	Activity        Kind = "activity"
	SessionKnown    Kind = "session.known" // by which id another process can go on with the agent's conversation, in the middle of a turn
	Warned          Kind = "warning"
	PermissionAsked Kind = "permission.asked" // of a person, for an agent in the middle of a turn
	SetupRan        Kind = "setup.ran"
	AfterStarted    Kind = "after.started" // a command of `after` is about to be started; one that has this and no end may have done all of it
	AfterEnded      Kind = "after.ended"
)

// Event is one line of a run's log. Seq counts from 1 without gaps; At is stamped by whoever appends it, in
// UTC, and no decision depends on it. The rest is set where it applies to the kind.
type Event struct {
	Seq     int       `json:"seq"`
	At      time.Time `json:"at"`
	Kind    Kind      `json:"kind"`
	Phase   string    `json:"phase,omitempty"`
	Visit   int       `json:"visit,omitempty"`
	Attempt int       `json:"attempt,omitempty"`
	Turn    int       `json:"turn,omitempty"`  // of the run's agent phase visit, from 1
	Item    string    `json:"item,omitempty"`  // turn.*: the item that has the session to itself
	Calls   string    `json:"calls,omitempty"` // phase.started: the pipeline that the phase runs
	Busy    int64     `json:"busy,omitempty"`  // how long something of the run has been at work by then, in milliseconds; waiting for a person is not
	Each    string    `json:"each,omitempty"`  // phase.started: the list over which the phase is repeated

	Run       *RunInfo        `json:"run,omitempty"`      // run.started
	Status    string          `json:"status,omitempty"`   // phase.ended, run.ended, run.settled
	Reason    string          `json:"reason,omitempty"`   // phase.ended, run.ended, phase.not_run, …
	Text      string          `json:"text,omitempty"`     // a sentence for people: a warning, an error, a note, the question
	Hint      string          `json:"hint,omitempty"`     // what to do about it
	Rule      string          `json:"rule,omitempty"`     // route.*: the rule as written
	Target    string          `json:"target,omitempty"`   // route.*: a phase, next, finish or abort
	Used      int             `json:"used,omitempty"`     // route.*: jumps of this rule in this entry of its loop, this one counted
	Of        int             `json:"of,omitempty"`       // route.*: its bound
	Seen      []Seen          `json:"seen,omitempty"`     // route.*, run.ended: the terms of the condition with their values
	Feedback  string          `json:"feedback,omitempty"` // route.*: what is handed on; phase.started: what this visit was given
	Tree      string          `json:"tree,omitempty"`     // a git tree
	Base      string          `json:"base,omitempty"`     // worktree.made: the tree from which the changes of the visit are told when they are merged
	Ref       string          `json:"ref,omitempty"`
	Kept      string          `json:"kept,omitempty"`    // boundary.checked, review.checked: the ref that still holds what was undone; work.merged: the ref with the work as it was done
	Purpose   string          `json:"purpose,omitempty"` // snapshot.taken: start, end, jump, ask; turn.started: prompt, envelope, check, permission, review; turn.ended, envelope.rejected: review, of a reviewer's turn; undo.done: review, of rejected work; after.*: accepted, rejected, always
	Agent     string          `json:"agent,omitempty"`
	Harness   string          `json:"harness,omitempty"`
	Model     string          `json:"model,omitempty"` // turn.started, turn.ended: the one asked for; "" is the harness's own choice
	Session   string          `json:"session,omitempty"`
	File      string          `json:"file,omitempty"`       // beside the log: a prompt, a reply, a log
	Inputs    []InputDigest   `json:"inputs,omitempty"`     // turn.started
	Reply     *Reply          `json:"reply,omitempty"`      // turn.ended
	Result    *CommandResult  `json:"result,omitempty"`     // command.ended, criterion.checked
	Envelope  json.RawMessage `json:"envelope,omitempty"`   // envelope.accepted, with defaults filled in
	Problems  []string        `json:"problems,omitempty"`   // envelope.rejected
	Changed   []string        `json:"changed,omitempty"`    // boundary.checked: every path that the visit changed and that stays, sorted; undo.done: what stays, since it was changed later
	Combined  bool            `json:"combined,omitempty"`   // work.merged: others had changed the workspace since the visit began, so that nothing has judged what came of it
	Worktree  string          `json:"worktree,omitempty"`   // worktree.made: its directory
	Unknown   bool            `json:"unknown,omitempty"`    // boundary.checked: nobody could tell what changed
	Outside   []Violation     `json:"violations,omitempty"` // boundary.checked, review.checked, snapshot.taken, work.merged
	Edited    []string        `json:"edited,omitempty"`     // run.resumed: how the pipeline of File, which holds from here on, differs from the one before
	Jobs      int             `json:"jobs,omitempty"`       // run.resumed: phases at a time from here on; 0 is as before
	Agents    int             `json:"agents,omitempty"`     // run.resumed: agent phases among them, when Jobs is given
	To        int             `json:"to,omitempty"`         // run.rewound: the number of the fact after which the visit began
	Suspects  []string        `json:"suspects,omitempty"`   // snapshot.taken: what ran while the violations came about; a criterion as "criterion NAME"
	Culprit   string          `json:"culprit,omitempty"`    // run.ended: the phase that the reason speaks of, within calls and lists the innermost
	Criterion string          `json:"criterion,omitempty"`  // criterion.checked
	Optional  bool            `json:"optional,omitempty"`   // criterion.checked: it is reported, and decides nothing
	After     string          `json:"after,omitempty"`      // after.*: its id; the list that it stands in is the purpose
	Gate      string          `json:"gate,omitempty"`       // gate.checked
	Outcome   string          `json:"outcome,omitempty"`    // gate.checked: passed, failed, empty; review.judged: pass, fail, unreachable, unverified; criterion.checked: passed, failed, unverified; activity: failed, allowed, refused; after.ended: passed, failed, skipped, unknown
	Checks    []gates.Check   `json:"checks,omitempty"`     // gate.checked; review.checked, review.judged: what the reviewer cites
	Answer    string          `json:"answer,omitempty"`     // ask.answered, permission.answered: approve, reject
	Who       string          `json:"who,omitempty"`
	Limit     string          `json:"limit,omitempty"`   // budget.reached, grant.given: time, turns, tokens, cost, phases
	Grant     float64         `json:"grant,omitempty"`   // grant.given: how much more
	Commit    string          `json:"commit,omitempty"`  // run.merged, command.ended of git_commit
	Because   string          `json:"because,omitempty"` // command.ended: why a phase with sources was started; phase.started: why one is entered whose work stands
	Tool      *Tool           `json:"tool,omitempty"`    // activity, permission.asked, turn.ended, ask.raised: what the agent used, or wants to
	Items     []GrownItem     `json:"items,omitempty"`   // graph.grown: in the order in which they take turns
	Reused    *Reused         `json:"reused,omitempty"`  // command.ended, gate.checked, turn.ended: it is that of an earlier visit, nothing was started or sent
}

// OfReview says that the event is about a turn of a reviewer, and not of the phase's own agent.
func (e *Event) OfReview() bool { return e.Purpose == ForReview.String() }

// OfOwnTree says that the tree of an event is that of the worktree which its visit has to itself. Its snapshots are at
// refs/foundry/RUN.VISIT/N, those of the run's workspace at refs/foundry/RUN/N.
func (e *Event) OfOwnTree() bool {
	return strings.Contains(path.Base(path.Dir(e.Ref)), ".") && path.Dir(e.Ref) != "."
}

func (e *Event) atWork() time.Duration { return time.Duration(e.Busy) * time.Millisecond }

// GrownItem is an item of a phase that is repeated over a list.
type GrownItem struct {
	Name  string   `json:"name"` // of its phase: migrate[log]
	ID    string   `json:"id"`
	Title string   `json:"title,omitempty"`
	Needs []string `json:"needs,omitempty"` // ids
	Model string   `json:"model,omitempty"` // light or heavy, when its complexity asks for it
}

// Tool is one use of a tool by an agent.
type Tool struct {
	Name    string   `json:"name"`              // as the agent calls it
	Kind    string   `json:"kind"`              // read, edit, execute, fetch, think, other
	Paths   []string `json:"paths,omitempty"`   // from the top of the workspace when they are in it, else absolute
	Command string   `json:"command,omitempty"` // of execute
	Whole   string   `json:"whole,omitempty"`   // a digest of a command that is too long to stand here whole
}

// Reused names the visit that evidence was taken over from.
type Reused struct {
	Run   string    `json:"run"`
	Phase string    `json:"phase"`
	Visit int       `json:"visit"`
	At    time.Time `json:"at"` // when it ended
}

// RunInfo is what a run starts with. Of it a resume changes Jobs and Agents alone.
type RunInfo struct {
	ID          string            `json:"id"`
	Pipeline    string            `json:"pipeline"`
	Request     string            `json:"request,omitempty"`
	Params      map[string]string `json:"params,omitempty"`
	KeepGoing   bool              `json:"keep_going,omitempty"`
	Jobs        int               `json:"jobs,omitempty"`   // phases at a time; 0 is 1
	Agents      int               `json:"agents,omitempty"` // agent phases among them; 0 is as many as Jobs
	From        string            `json:"from,omitempty"`   // phases before it are taken as not run
	Until       string            `json:"until,omitempty"`  // phases after it are not run
	Only        []string          `json:"only,omitempty"`   // of a watch: no other phase runs, no rule of these leads anywhere, and the run is accepted when they pass
	Force       bool              `json:"force,omitempty"`  // what was proven before does not count
	Who         string            `json:"who,omitempty"`
	File        string            `json:"file,omitempty"` // the pipeline file
	FileCommit  string            `json:"file_commit,omitempty"`
	Isolation   string            `json:"isolation,omitempty"` // worktree, detached, checkout
	Merge       string            `json:"merge,omitempty"`     // auto, ask, never
	Base        string            `json:"base,omitempty"`      // a branch, or "" when base was a bare commit
	Branch      string            `json:"branch,omitempty"`
	BranchPoint string            `json:"branch_point,omitempty"`
	Worktree    string            `json:"worktree,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	Version     string            `json:"version,omitempty"`
}

// Seen is a term of a condition with the value it had.
type Seen struct {
	Term  string `json:"term"`
	Value string `json:"value"`
}

// InputDigest says which text of an input was sent, so that a later turn can leave out what did not change.
type InputDigest struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// Violation is a change that a phase was not allowed to make.
type Violation struct {
	Path   string `json:"path"`
	Change string `json:"change"` // created, changed, deleted, mode, type, head, index
	Reason string `json:"reason"` // why it was not allowed
	Undone bool   `json:"undone"`
	Note   string `json:"note,omitempty"` // why it was not undone

	By []string `json:"by,omitempty"` // the phases that it is held against, when others were at work beside the one that was looked at
}

// Stop says how a turn ended.
type Stop string

// The stops. Only StopEnd and StopTruncated carry a reply; StopPermission has the request in the event's tool and text.
const (
	StopEnd        Stop = "end"
	StopTruncated  Stop = "truncated"
	StopCancelled  Stop = "cancelled"
	StopLimit      Stop = "limit"   // a provider's usage limit
	StopTimeout    Stop = "timeout" // turn_timeout or stall_timeout
	StopError      Stop = "error"
	StopPermission Stop = "permission" // the agent asked for one, and nobody was there to be asked
)

// Reply is the outcome of a turn. Error says why there is no text, or why it cannot be read. The text of the reply is read by the machine; it is in the log because a
// replay must see what the machine saw.
type Reply struct {
	Stop       Stop      `json:"stop"`
	Text       string    `json:"text,omitempty"`
	Error      string    `json:"error,omitempty"`
	Tokens     int       `json:"tokens,omitempty"`
	Untold     bool      `json:"tokens_unknown,omitempty"` // it told what it cost, and not how many tokens that were
	Cost       float64   `json:"cost,omitempty"`
	CostKnown  bool      `json:"cost_known,omitempty"`
	Calls      int       `json:"calls,omitempty"`
	CallsKnown bool      `json:"calls_known,omitempty"`
	ResetAt    time.Time `json:"reset_at,omitzero"`
}

// TokensKnown says whether the turn told how many tokens it took. None without a cost means that nobody told.
func (r *Reply) TokensKnown() bool { return r.Tokens > 0 || r.CostKnown && !r.Untold }

// CommandResult is how a command ended. Exit is -1 when there was no exit code.
type CommandResult struct {
	Command string            `json:"command"`
	Exit    int               `json:"exit"`
	Signal  string            `json:"signal,omitempty"`
	Timeout bool              `json:"timeout,omitempty"`
	Output  string            `json:"output,omitempty"`  // the last 64 KiB, terminal codes removed, valid UTF-8
	Outputs map[string]string `json:"outputs,omitempty"` // values as text; the graph knows their types
	Missing []string          `json:"missing,omitempty"` // required outputs that did not match
	Notes   []string          `json:"notes,omitempty"`
	Millis  int64             `json:"millis,omitempty"`
	Before  bool              `json:"before,omitempty"` // of a criterion: before the work
	Round   int               `json:"round,omitempty"`  // of a phase with repeat: which of its runs this was, from 1
	Of      int               `json:"of,omitempty"`     // and how many have to pass
}
