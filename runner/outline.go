package runner

import "time"

// Outline is what a log says of its run as a whole. It is folded from the events one by one, needs no graph
// and no machine, and marshals to the head of what `show --json` prints.
type Outline struct {
	ID          string     `json:"id"`
	Pipeline    string     `json:"pipeline"`
	Status      string     `json:"status"` // queued, running, waiting, paused, interrupted, accepted, rejected, failed, killed
	Reason      string     `json:"reason"` // the word and, behind a colon, the detail: "spent: test -> build used 2 of 2"
	Word        string     `json:"-"`      // the word alone
	Request     string     `json:"request"`
	Branch      string     `json:"branch"`
	Base        string     `json:"base"`
	BranchPoint string     `json:"branch_point"`
	Worktree    string     `json:"worktree"`
	Merged      *string    `json:"merged"` // the commit, nil when nothing was merged
	Discarded   bool       `json:"discarded"`
	Started     *time.Time `json:"started"` // nil when the log holds no run.started
	Ended       *time.Time `json:"ended"`   // nil unless the run came to rest for good
	Usage       UsageSum   `json:"usage"`

	open    map[string]openPhase // the phases that run or wait
	last    time.Time            // when the newest event was
	limited bool                 // a turn met a provider's usage limit and was not sent again yet
}

// openPhase says how a phase keeps a run from its end.
type openPhase uint8

const (
	phaseRuns    openPhase = iota + 1
	phaseAsks              // a person is asked
	phaseBlocked           // it needs something that only a person can give
)

// UsageSum is what the turns of a run used up to now.
type UsageSum struct {
	Turns  int      `json:"turns"`
	Tokens *int     `json:"tokens"` // nil when a turn did not tell how many
	Cost   *float64 `json:"cost"`   // in US dollars; nil when a turn did not tell what it cost

	Seconds float64 `json:"seconds"` // in which something of the run was at work; waiting for a person is not
}

// NewOutline is the outline of a run whose log is still empty.
func NewOutline(id string) Outline {
	tokens, cost := 0, 0.0
	return Outline{ID: id, Status: "queued", Usage: UsageSum{Tokens: &tokens, Cost: &cost}}
}

// OutlineOf folds a whole log.
func OutlineOf(id string, events []Event) Outline {
	o := NewOutline(id)
	for i := range events {
		o.Add(&events[i])
	}
	return o
}

// Add folds the next event of the log into the outline. A kill latches: what follows it changes no status.
func (o *Outline) Add(e *Event) {
	o.Usage.Seconds, o.last = max(o.Usage.Seconds, float64(e.Busy)/1000), e.At
	switch e.Kind {
	case RunStarted:
		o.start(e)
	case RunResumed:
		o.limited = false
		o.set("running", "", nil)
		o.rest()
	case RunRewound:
		o.open, o.limited = nil, false
		o.set("interrupted", "", nil)
	case RunInterrupted:
		o.set("interrupted", e.Reason, nil)
	case RunKilled:
		o.set("killed", e.Reason, &e.At)
	case RunEnded, RunSettled:
		if e.Status != "" {
			o.set(e.Status, e.Reason, &e.At)
			if e.Reason != "" && e.Text != "" {
				o.Reason += ": " + e.Text
			}
		}
	case RunDiscarded:
		o.Discarded = true
	case RunMerged:
		commit := e.Commit
		o.Merged = &commit
	case PhaseStarted:
		if e.Calls == "" && e.Each == "" { // of a call or an each its phases tell how it stands
			o.phase(e.Phase, phaseRuns)
		}
	case AskRaised:
		o.phase(e.Phase, phaseAsks)
	case PhaseBlocked:
		o.phase(e.Phase, phaseBlocked)
	case PhaseEnded:
		if e.Status == Blocked.String() {
			o.phase(e.Phase, phaseBlocked)
			return
		}
		o.phase(e.Phase, 0)
	case PhaseQueued, PhaseSkipped, PhaseNotRun, PhaseStopped, AskWithdrawn, AskAnswered:
		o.phase(e.Phase, 0)
	case PermissionAnswered:
		if o.open[e.Phase] == phaseAsks {
			o.phase(e.Phase, phaseRuns)
		}
	case TurnStarted:
		o.limited = false
		o.rest()
	case TurnEnded:
		if e.Reused == nil {
			o.Usage.add(e.Reply)
		}
		o.limited = e.Reply != nil && e.Reply.Stop == StopLimit
		o.rest()
	}
}

// phase notes how a phase stands; 0 is that it neither runs nor waits.
func (o *Outline) phase(name string, how openPhase) {
	if how == 0 {
		delete(o.open, name)
	} else {
		if o.open == nil {
			o.open = map[string]openPhase{}
		}
		o.open[name] = how
	}
	o.rest()
}

// rest tells a run that goes on from one that waits or is paused. Nothing in a log says that a run was parked: it
// is when nothing runs and a person has to speak.
func (o *Outline) rest() {
	if o.Status != "running" && o.Status != "waiting" && o.Status != "paused" {
		return
	}
	runs, waits := false, false
	for _, how := range o.open {
		if how == phaseRuns {
			runs = true
		} else {
			waits = true
		}
	}
	switch {
	case o.limited:
		o.Status = "paused"
	case waits && !runs:
		o.Status = "waiting"
	default:
		o.Status = "running"
	}
}

func (o *Outline) start(e *Event) {
	at := e.At
	o.Started = &at
	o.set("running", "", nil)
	if e.Run == nil {
		return
	}
	if e.Run.ID != "" {
		o.ID = e.Run.ID
	}
	o.Pipeline, o.Request = e.Run.Pipeline, e.Run.Request
	o.Branch, o.Base, o.BranchPoint, o.Worktree = e.Run.Branch, e.Run.Base, e.Run.BranchPoint, e.Run.Worktree
}

func (o *Outline) set(status, reason string, at *time.Time) {
	if o.Status == "killed" {
		return
	}
	o.Status, o.Reason, o.Word, o.Ended = status, reason, reason, nil
	if at != nil && o.Final() {
		ended := *at
		o.Ended = &ended
	}
}

// Worked is how long something of the run was at work up to now; false when its log does not say.
func (o *Outline) Worked(now time.Time) (time.Duration, bool) {
	d := time.Duration(o.Usage.Seconds * float64(time.Second))
	if o.Status == "running" && !o.last.IsZero() && now.After(o.last) {
		d += now.Sub(o.last)
	}
	return d, o.Usage.Seconds > 0
}

// Final says that the run came to rest for good: accepted, rejected, failed or killed.
func (o *Outline) Final() bool {
	switch o.Status {
	case "accepted", "rejected", "failed", "killed":
		return true
	}
	return false
}

// Over says that nothing of the run can go on: it came to rest for good, or was discarded.
func (o *Outline) Over() bool { return o.Final() || o.Discarded }

// Abandon is told that nobody holds the lock of the run's record. A run that its log leaves in the middle was
// cut off, and so is interrupted; a run at rest stays what it is.
func (o *Outline) Abandon() {
	if o.Status == "running" || o.Status == "queued" {
		o.set("interrupted", "", nil)
	}
}

// add counts a turn. The pointers are replaced, never written through: outlines are copied.
func (u *UsageSum) add(r *Reply) {
	u.Turns++
	if r == nil {
		r = &Reply{}
	}
	u.Tokens = sum(u.Tokens, r.Tokens, r.TokensKnown())
	u.Cost = sum(u.Cost, r.Cost, r.CostKnown)
}

// sum adds what a turn told; a sum of which one part is not known is not known.
func sum[N int | float64](total *N, more N, known bool) *N {
	if total == nil || !known {
		return nil
	}
	more += *total
	return &more
}
