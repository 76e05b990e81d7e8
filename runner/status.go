package runner

// Status is where a phase stands.
type Status uint8

// The statuses of a phase; the zero value is invalid.
const (
	Queued     Status = iota + 1 // not started in this entry
	Running                      // something of it is being carried out
	Waiting                      // a person is asked
	Success                      // ended well
	Fail                         // ended badly
	Rejected                     // a valid review that does not approve, or a person's no
	Skipped                      // `when` was false, or an optional failure
	NotRun                       // a jump, finish, abort or failed need left it out
	Stopped                      // kill, abort or fail_fast ended it
	Unverified                   // ended well, but nobody could judge it
	Blocked                      // needs something that only a person can give
)

var statusNames = [...]string{Queued: "queued", Running: "running", Waiting: "waiting", Success: "success", Fail: "fail",
	Rejected: "rejected", Skipped: "skipped", NotRun: "not_run", Stopped: "stopped", Unverified: "unverified", Blocked: "blocked"}

func (s Status) String() string {
	if int(s) < len(statusNames) && statusNames[s] != "" {
		return statusNames[s]
	}
	return "invalid"
}

// Ended says that the phase has come to rest in this entry.
func (s Status) Ended() bool { return s >= Success }

// moves is the table of legal changes of a phase's status; set in machine.move is the only place that
// changes one.
var moves = [...][]Status{
	Queued:     {Running, Skipped, NotRun, Blocked, Fail},
	Running:    {Waiting, Success, Fail, Rejected, Blocked, Stopped, Unverified, Skipped, Queued, NotRun},
	Waiting:    {Success, Rejected, Fail, Stopped, Queued, NotRun},
	Success:    {Queued, Fail},
	Fail:       {Queued, Skipped, Running},
	Rejected:   {Queued, Fail},
	Skipped:    {Queued, Fail},
	NotRun:     {Queued},
	Stopped:    {Queued},
	Unverified: {Queued, Fail},
	Blocked:    {Queued, NotRun},
}

// RunStatus is where a run stands.
type RunStatus uint8

// The statuses of a run; the zero value is invalid.
const (
	RunQueued RunStatus = iota + 1
	RunRunning
	RunWaiting   // for a person
	RunPaused    // for a provider's usage limit to end
	RunInterrupt // ended by a signal, resumable
	RunAccepted
	RunRejected
	RunFailed
	RunKill
)

var runNames = [...]string{RunQueued: "queued", RunRunning: "running", RunWaiting: "waiting", RunPaused: "paused", RunInterrupt: "interrupted",
	RunAccepted: "accepted", RunRejected: "rejected", RunFailed: "failed", RunKill: "killed"}

func (s RunStatus) String() string {
	if int(s) < len(runNames) && runNames[s] != "" {
		return runNames[s]
	}
	return "invalid"
}

// Terminal says that the run has a verdict.
func (s RunStatus) Terminal() bool { return s >= RunAccepted }

// The reasons of a phase.
const (
	ReasonExit       = "exit"
	ReasonTimeout    = "timeout"
	ReasonEnvelope   = "envelope"
	ReasonTruncated  = "truncated"
	ReasonBoundary   = "boundary"
	ReasonGate       = "gate"
	ReasonReported   = "reported"
	ReasonHarness    = "harness"
	ReasonRejected   = "rejected"
	ReasonReview     = "review"
	ReasonExpression = "expression"
	ReasonConflict   = "conflict" // its work does not fit what others have merged meanwhile
)

// The reasons of a run.
const (
	ReasonAcceptance     = "acceptance"
	ReasonAbort          = "abort"
	ReasonSpent          = "spent"
	ReasonNoProgress     = "no_progress"
	ReasonUnmatched      = "unmatched"
	ReasonCriterion      = "criterion"
	ReasonBudget         = "budget"
	ReasonInfrastructure = "infrastructure"
	ReasonJournal        = "journal"
	ReasonOrphaned       = "orphaned"
	ReasonSetup          = "setup"
)
