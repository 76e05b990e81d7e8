// Package runner owns the machine: what a run does next. Step is a pure function of a graph, a state and an
// event; it touches no clock, disk, process or network. A driver carries the commands out and answers with
// facts, so that resume is a replay of the log, a test is a list of events, and a simulation is random ones.
package runner

import (
	"slices"
	"time"

	"foundry/dsl"
	"foundry/envelope"
	"foundry/gates"
	"foundry/graph"
)

// State is a run at one instant. It is a value: Step returns a new one and leaves the old as it was. Only
// events make one.
type State struct {
	info   *RunInfo
	plan   *plan
	grown  *graph.Graph   // the pipeline with the items of its lists; nil as long as there are none
	past   map[string]int // visits of items, and turns of their sessions, that a rewind took out of the graph; never written through
	phases []*phase       // replaced, never written through, once a Step has returned
	used   []int          // jumps by rule in this entry of its loop
	marks  []mark         // by rule: what the last jump saw
	extra  []int          // by rule: jumps granted on top of its bound
	grants graph.Limits

	status RunStatus
	reason string
	text   string
	stage  stage
	ready  bool // the workspace was made
	frame       // of the run's own pipeline

	group    group // of phases that work in worktrees of their own
	jumpTree bool  // a snapshot for the next jump step is wanted
	tree     string
	judged   bool // the snapshot for the verdict has been taken
	touched  bool // a person changed the workspace since the run ended
	resumes  int

	turns    int
	tokens   int
	cost     float64
	unknown  bool // a turn did not tell its cost
	visits   int
	busy     time.Duration // how long something of the run was at work, as the driver told it last
	sessions []int         // turns by agent
	resetAt  time.Time

	active  graph.Set // queued, running, waiting, or held by a pending jump or a detour
	closed  graph.Set // what depends on these does not run
	blocked graph.Set
	notRun  graph.Set
	told    graph.Set       // all that have feedback in their inbox are in it
	running graph.Set       // something of them is being carried out; not of a call while only its phases are at work
	due     graph.Set       // they are done and wait for their turn
	forward []graph.PhaseID // phases that jumped forward, in the order of the graph
}

// frame is what the machine knows of a pipeline under way: the run's own, or one that a call runs.
type frame struct {
	finishing bool          // a finish was taken: acceptance comes before pending jumps
	ending    *ending       // it stops before its phases have ended by themselves, or how it has ended
	ender     graph.PhaseID // the phase that ended it, -1
	jumps     int           // jump steps taken, which tells their snapshots apart
	criterion int           // index of the one that is checked, before the work and before acceptance
	criteria  []criterion
	params    map[string]string // of a call, as text; those of the run are in its info
}

type stage uint8

const (
	stageSetup  stage = iota + 1 // the workspace is made
	stageBefore                  // criteria before the work
	stageWork
	stageAfter // criteria before acceptance
	stageEnded
)

// ending is a verdict that waits for running work to stop.
type ending struct {
	status RunStatus
	reason string
	text   string
	seen   []Seen
}

type mark struct {
	set       bool
	tree      string
	signature string
}

// criterion is what a criterion came to before the work and before acceptance.
type criterion struct{ before, after criterionOutcome }

type criterionOutcome uint8

const (
	criterionPassed criterionOutcome = iota + 1
	criterionFailed
	criterionUnverified // it could not be run
)

// phase is what the machine knows of one phase. A shared one is never written: machine.edit copies.
type phase struct {
	status  Status
	visits  int
	work    work
	result  *result // of the newest ended visit
	release release
	toward  graph.PhaseID   // of releaseForward and releaseDetour
	pending graph.RuleID    // a jump that waits until nothing else can start; -1
	carried string          // its feedback
	handled bool            // a rule took the way this entry ended
	why     string          // of not_run, skipped and blocked
	entries []graph.PhaseID // of a detour: the phases that routed to it
	omitted bool            // --from left it out, which nobody holds against what follows
	beyond  bool            // --until left it out: no jump brings it in, only a person's resume
	forced  bool            // a jump's target: only what was queued with it is waited for
	fresh   graph.Set       // what was queued together with it last; nil: everything
	inbox   []note
	began   int           // how many visits of the run had begun with its newest
	beganAt time.Duration // how long the run had been at work then
	spent   spending      // by its newest visit
	base    int           // visits before its pipeline was called this time
	stale   bool          // its result is of an earlier call of its pipeline
	call    *frame        // of a call or an each: nil before it first began
	goesOn  bool          // of a call or an each: it is entered again where it was; of any other: what it did stands, and is judged again
	left    remains       // of a phase with a worktree of its own: work that was not merged
}

// current is the result of the newest ended visit since its pipeline began, nil when there is none.
func (ph *phase) current() *result {
	if ph.stale {
		return nil
	}
	return ph.result
}

// round counts the visits since its pipeline began.
func (ph *phase) round() int { return ph.visits - ph.base }

// release says what an ended phase means for what depends on it.
type release uint8

const (
	releaseNone    release = iota
	releaseOpen            // they may start
	releaseHeld            // a jump is pending, or a detour is under way
	releaseForward         // they may start from `toward` on
	releaseClosed          // they do not run
)

// note is feedback from one source.
type note struct {
	source graph.PhaseID
	visit  int // of the source
	text   string
	given  bool
}

// step is what is being carried out for a running phase.
type step uint8

const (
	stepStart    step = iota + 1 // the snapshot before it
	stepTurn                     // an agent works
	stepCommand                  // a command runs
	stepBoundary                 // what changed is being looked at
	stepGates
	stepReview     // a reviewer works
	stepVerdict    // what it changed and what it cites is being looked at
	stepEnd        // the snapshot after it
	stepAsk        // the snapshot that a person is shown, then the person
	stepUndo       // its changes are being put back
	stepPermission // a person is asked what the agent at work may do
	stepApart      // a worktree of its own is being made
	stepDue        // it is done, and what it came to waits for its turn
	stepMerge      // its work is being merged into the run's workspace

	stepBefore // of a call: a criterion is checked before the work
	stepInner  // of a call: its phases are at work
	stepJump   // of a call: the snapshot before a jump in it
	stepAfter  // of a call: a criterion is checked before acceptance
)

// work is the progress of a visit.
type work struct {
	step       step
	attempt    int
	turn       int // turns of this visit
	own        int // those of its own session with the agent, if it has one
	of         int // the visit whose work is judged again; 0: this one works itself
	purpose    Purpose
	agent      int
	fallbacks  int
	retold     int // envelope corrections in this attempt
	truncated  int // truncated replies in a row
	problems   []string
	context    string // the card that a question may show, as it was when it was put
	envelope   envelope.Object
	given      string // feedback, as text
	startTree  string
	mergeBase  string  // the tree that the changes of such a visit are told from
	base       place   // the run's workspace that a visit with a worktree of its own begins from
	due        *result // what such a visit has come to, from when it is done
	saidDue    bool
	fail       string // the reason it will fail with once its changes are looked at
	failText   string
	verdicts   []gateVerdict
	violations []Violation
	found      []Violation // while others were looked at; held against this one too when it is
	changed    []string
	changedSet bool
	tree       string
	reply      *Reply
	command    *CommandResult
	rounds     int // runs of a phase with repeat that have passed, in a row
	commit     string
	after      afterUndo
	cut        bool          // a jump with fail_fast takes its place
	sent       bool          // the turn has begun
	resent     bool          // it was cut off with its process, and is sent again
	limited    bool          // it met a usage limit, and is sent again when the run is resumed
	asked      *Permission   // what the last turn was stopped for; nil: for nothing
	permits    []permit      // what a person answered, the newest last
	replanned  bool          // its plan was sent back once
	digests    []InputDigest // of the inputs as this phase last sent them in its session
	review     reviewing
}

type afterUndo uint8

const (
	undoneSkip   afterUndo = iota + 1 // an optional failure becomes a skip
	undoneStop                        // stopped work is put back
	undoneReview                      // work whose review failed is put back
)

type gateVerdict struct {
	gate    string
	outcome string
	event   Event
}

func (v gateVerdict) failed() bool { return v.outcome == gates.Failed.String() }

// result is how a visit ended; expressions read it.
type result struct {
	visit      int
	attempt    int
	status     Status
	outcome    outcome
	reason     string
	text       string
	exit       int
	command    *CommandResult
	envelope   envelope.Object
	changed    []string
	changedSet bool
	violations []Violation
	gates      []gateVerdict
	answer     string
	tree       string
	seen       []Seen // of a call: the terms of its acceptance
	items      []any  // of an each: what expressions read of its items
}

// outcome is what a route's trigger looks at.
type outcome uint8

const (
	passed outcome = iota + 1
	rejected
	failed
	timedOut
	skipped
	blockedOut
)

// plan is what follows from the graph alone; it is shared by all states of a run.
type plan struct {
	order  []graph.PhaseID   // list order, a detour behind the last phase that routes to it; without what is gone
	rank   []int             // by phase: its index in order
	uses   []use             // by phase
	rivals [][]graph.PhaseID // by phase: those that nothing orders against it and that may not overlap with it
	peers  [][]graph.PhaseID // by phase with a worktree of its own: the others that nothing orders against it
	calls  []graph.PhaseID   // those that call a pipeline or are repeated, innermost first
	inner  [][]graph.PhaseID // by phase: all that belongs to what it runs, in list order
	looked graph.Set         // whose `changed` or `violations` some text reads
	asks   []graph.PhaseID   // the questions to a person, by id
	whens  []graph.PhaseID   // those with a condition, in list order

	limiting []graph.PhaseID // those whose report can forbid changes to what lies behind them, in list order
}

func newPlan(g *graph.Graph) *plan {
	n := len(g.Phases)
	p := &plan{rank: make([]int, n), uses: make([]use, n), rivals: make([][]graph.PhaseID, n), peers: make([][]graph.PhaseID, n), inner: make([][]graph.PhaseID, n), looked: looked(g)}
	listed := g.Order()
	place := make([]int, n)
	for i, id := range listed {
		place[id] = i
		for owner := g.Phases[id].Owner; owner >= 0 && !g.Phases[id].Gone; owner = g.Phases[owner].Owner {
			p.inner[owner] = append(p.inner[owner], id)
		}
	}
	key := func(id graph.PhaseID) (int, int) {
		ph := &g.Phases[id]
		if !ph.Detour {
			return place[id], -1
		}
		last := -1
		for _, r := range ph.Routers {
			if in := p.inner[r]; len(in) > 0 {
				r = in[len(in)-1]
			}
			last = max(last, place[r])
		}
		return last, place[id]
	}
	for _, id := range listed {
		if !g.Phases[id].Gone {
			p.order = append(p.order, id)
		}
	}
	slices.SortStableFunc(p.order, func(a, b graph.PhaseID) int {
		a1, a2 := key(a)
		b1, b2 := key(b)
		if a1 != b1 {
			return a1 - b1
		}
		return a2 - b2
	})
	for i, id := range p.order {
		p.rank[id] = i
	}
	for i := range g.Phases {
		if g.Phases[i].Kind == graph.Ask {
			p.asks = append(p.asks, graph.PhaseID(i))
		}
	}
	for _, id := range p.order {
		ph := &g.Phases[id]
		if ph.When != nil {
			p.whens = append(p.whens, id)
		}
		if ph.Kind == graph.AgentWork && ph.Envelope != nil && ph.Envelope.LimitsChanges() {
			p.limiting = append(p.limiting, id)
		}
	}
	p.findRivals(g)
	for _, id := range slices.Backward(listed) {
		if g.Phases[id].Body() != nil && !g.Phases[id].Gone {
			p.calls = append(p.calls, id)
		}
	}
	return p
}

// looked finds the phases whose changes some text of the pipeline reads: only those, and the ones with a
// boundary of their own, are compared with what was there before.
func looked(g *graph.Graph) graph.Set {
	out := graph.NewSet(len(g.Phases))
	// at is the phase whose text it is, -1 for acceptance; the names in it are those of the pipeline that owner calls.
	note := func(owner, at graph.PhaseID, reads []dsl.Read) {
		for _, r := range reads {
			if r.Field != "changed" && r.Field != "violations" {
				continue
			}
			if id, ok := g.LookupIn(owner, r.Phase); ok {
				out.Add(id)
			} else if r.Phase == "" && at >= 0 {
				out.Add(at)
			}
		}
	}
	cond := func(owner, at graph.PhaseID, c *dsl.Cond) {
		if c != nil {
			note(owner, at, c.Reads())
		}
	}
	text := func(owner graph.PhaseID, list ...*dsl.Template) {
		for _, t := range list {
			if t != nil {
				note(owner, -1, t.Reads())
			}
		}
	}
	cond(-1, -1, g.Accept)
	for i := range g.Rules {
		p := g.Rules[i].Phase
		cond(g.Scope(p), p, g.Rules[i].When)
		cond(g.Scope(p), p, g.Rules[i].With)
	}
	for i := range g.Phases {
		ph := &g.Phases[i]
		scope := g.Scope(ph.ID)
		cond(scope, -1, ph.When)
		text(scope, ph.Prompt, ph.Message, ph.Question)
		text(scope, ph.Script.Argv...)
		for _, v := range ph.Env {
			text(scope, v.Value)
		}
		for _, gate := range ph.Gates {
			cond(scope, ph.ID, gate.Cond)
		}
		if ph.Call != nil {
			cond(ph.ID, -1, ph.Call.Accept)
			for _, s := range ph.Call.Set {
				text(scope, s.Value)
			}
		}
		if e := ph.Each; e != nil {
			cond(scope, -1, e.In)
			for j := range e.Rules {
				cond(scope, ph.ID, e.Rules[j].When)
				cond(scope, ph.ID, e.Rules[j].With)
			}
			for _, w := range e.Writes {
				cond(scope, -1, w.Value)
			}
			if e.Call != nil {
				for _, s := range e.Call.Set {
					text(scope, s.Value)
				}
			}
		}
	}
	return out
}
