// Package drive owns the loop: it carries out what the machine wants done and tells it what came of it. One
// goroutine owns the run's state; workers send facts over one channel. Every fact is in the log before its
// effects are used.
package drive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-multierror"

	"foundry/graph"
	"foundry/internal/harness"
	"foundry/internal/journal"
	"foundry/internal/process"
	"foundry/internal/workspace"
	"foundry/runner"
)

// Config is what a run is driven with. Record, Graph and Tree are the caller's; nothing of it is closed here
// but the sessions that the run opened.
type Config struct {
	Graph  *graph.Graph
	Edited *graph.Graph // what the run goes on with from the run.resumed that names its texts; nil when that is Graph
	Record *journal.Record
	Repo   *workspace.Repo
	Tree   *workspace.Tree                                                             // nil for a run whose workspace is still to be made
	Make   func(ctx context.Context, note func(runner.Event)) (*workspace.Tree, error) // makes it
	Guard  *process.Guard                                                              // may be nil: children then outlive a Foundry that is killed

	Environ []string           // what programs inherit, NAME=value; cleaned by the caller
	Now     func() time.Time   // stamps events and measures the time budget
	Watch   func(runner.Event) // sees every event of this process in order, after it is in the log; may be nil
	Ask     Asker              // puts a question to a person; nil: an ask parks the run
	Say     func(string)       // tells something to a person who is there; may be nil
	Proofs  string             // the directory of what phases with sources have proven; "" keeps nothing
	Digests *Digests           // of the files that these name, for runs that follow each other; nil: of this run alone
	Force   <-chan struct{}    // closed when running work is to be killed without a grace
}

// Asker puts a question to a person and waits. ok is false when there was no answer: the run then parks.
type Asker func(ctx context.Context, q Question) (answer Answer, ok bool)

// Question is a question as it is put: that of an ask phase, or of an agent that wants to use a tool.
type Question struct {
	Run, Phase, Text string
	Diff             string // the command that shows what is asked about
}

// Answer is a person's word.
type Answer struct {
	Approve bool
	Note    string
	Who     string
}

// Ending says how driving a run came to rest.
type Ending struct {
	View        runner.View
	Interrupted bool // by a signal; the run can be resumed
	Parked      bool // waits for a person, or for a usage limit to end
}

// driver is one run being driven. All fields but facts belong to the goroutine in loop.
type driver struct {
	Config
	state     runner.State
	grown     atomic.Pointer[graph.Graph] // what the run goes by: Graph with the items of the lists that were read; workers read it
	facts     chan report
	working   map[runner.ID]context.CancelFunc
	workers   sync.WaitGroup
	sessions  map[conversation]harness.Session
	sessionMu sync.Mutex
	talking   map[conversation]*sync.Mutex // turns of one take turns, also where an agent is another's fallback
	heard     map[conversation]bool        // sessions that hold a conversation which this process knows of
	snaps     map[visitKey]workspace.Snapshot
	ends      map[visitKey]workspace.Snapshot // after a visit's boundary was checked
	last      *workspace.Snapshot             // the newest; what ran since without a snapshot of its own is in since
	since     []unbounded
	edit      *edited            // what a person made of the workspace since it, as the log has it; nil: nothing
	asides    map[string]ownTree // worktrees that visits have to themselves, by their names
	outside   map[visitKey]workspace.Outside
	snapMu    sync.Mutex
	lookMu    sync.Mutex        // held while what a visit changed in the run's workspace is looked at, until that is told
	looked    map[visitKey]bool // visits that have done nothing since they were looked at
	firstMu   sync.Mutex        // held while the first snapshot is taken for a program
	busy      time.Duration     // time with something running, before busyFrom
	busyFrom  time.Time
	granted   time.Duration // on top of the time budget
	timeUp    bool
	inTurn    map[runner.ID]harness.Usage // what the turns under way have spent so far
	asking    map[runner.ID]bool          // turns that wait for a person
	usedUp    bool                        // by them: said once
	readers   graph.Set                   // phases whose texts read the context card
	reading   bool                        // a criterion does
	again     bool                        // what was proven before does not count
	proofMu   sync.Mutex
	proving   map[visitKey]*proof // of commands that were started
	proven    map[visitKey]*proof // of those that need not be
	reusing   map[visitKey]string // the keys of agent phases whose result may be taken over by a later run
	watching  bool                // the run is a watch's: a person works in the checkout, nothing is compared with what was there
	parked    bool
	goOnAt    time.Time // when the limit ends that the run waits for; zero: it waits for none
	waited    bool      // for one, and no turn has ended otherwise since
	ended     bool
	still     bool // nothing is started for what take decides: before a resume, which asks for all that is outstanding
	err       error
}

type visitKey struct {
	phase graph.PhaseID
	visit int
}

// report is what a worker has to say about a command: facts, in order. done ends the command.
type report struct {
	id    runner.ID
	facts []runner.Event
	spent *harness.Usage // by the turn so far
	done  bool
}

// Run drives a run until it ends, parks or is interrupted. The first event is run.started for a new run; for
// one whose log was replayed into s there may be grants, then run.resumed, then a person's answer. missing is
// what Replay said is missing in the log. An error means that the log could not be written: what
// was running has been stopped, and nothing was concluded from it.
func Run(ctx context.Context, c Config, s runner.State, missing []runner.Event, first ...runner.Event) (end Ending, err error) {
	d := newDriver(c, s, first...)
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		stop()
		d.drain()
		err = d.close(err)
	}()
	if err := d.append(missing...); err != nil {
		return Ending{}, err
	}
	if err := errors.Join(d.recall(work), d.reopenApart(work)); err != nil {
		return Ending{}, err
	}
	for _, e := range first {
		if e.Kind == runner.RunResumed {
			d.still = true
			if err := d.putBack(work); err != nil {
				return Ending{}, err
			}
			d.still = false
		}
		d.take(work, e)
	}
	d.loop(ctx, work)
	if d.err != nil {
		return Ending{View: d.state.View()}, d.err
	}
	if ctx.Err() != nil && !d.ended && !(d.parked && len(d.working) == 0) {
		stop()
		d.drain()
		d.take(work, runner.Event{Kind: runner.RunInterrupted, Text: stoppedBy(context.Cause(ctx))})
		return Ending{View: d.state.View(), Interrupted: true}, errors.Join(d.err, d.close(nil), d.endLeft(), d.Record.Sync())
	}
	// A run does not rest while one of its processes lives.
	stop()
	d.drain()
	if err := errors.Join(d.close(nil), d.endLeft()); err != nil {
		return Ending{View: d.state.View()}, err
	}
	return Ending{View: d.state.View(), Parked: d.parked}, d.Record.Sync()
}

// newDriver is the driver of a run as its record has it, with the events that it starts with.
func newDriver(c Config, s runner.State, first ...runner.Event) *driver {
	d := &driver{Config: c, state: s, facts: make(chan report), working: map[runner.ID]context.CancelFunc{},
		sessions: map[conversation]harness.Session{}, talking: map[conversation]*sync.Mutex{}, heard: map[conversation]bool{}, snaps: map[visitKey]workspace.Snapshot{}, ends: map[visitKey]workspace.Snapshot{}, outside: map[visitKey]workspace.Outside{}, asides: map[string]ownTree{}, looked: map[visitKey]bool{},
		proving: map[visitKey]*proof{}, proven: map[visitKey]*proof{}, reusing: map[visitKey]string{}, inTurn: map[runner.ID]harness.Usage{}, asking: map[runner.ID]bool{}}
	if d.Digests == nil {
		d.Digests = &Digests{}
	}
	d.busy, d.granted = spent(c.Record.Events())
	d.grown.Store(s.Graph(c.Graph))
	d.readers, d.reading = cardReaders(c.Graph)
	for _, e := range append(c.Record.Events(), first...) {
		if e.Run != nil {
			d.watching, d.again = len(e.Run.Only) > 0, e.Run.Force
		}
	}
	return d
}

// g is the graph that the run goes by now.
func (d *driver) g() *graph.Graph { return d.grown.Load() }

// stoppedBy says what took a run's context away: os/signal calls it "interrupt signal received".
func stoppedBy(cause error) string {
	if name, ok := strings.CutSuffix(cause.Error(), " signal received"); ok {
		return "stopped by a signal: " + name
	}
	return cause.Error()
}

// endLeft ends every process that still carries the run's token, and says so.
func (d *driver) endLeft() error {
	grace := process.DefaultGrace
	select {
	case <-d.Force:
		grace = 0
	default:
	}
	for _, left := range process.EndSurvivors(d.Record.ID(), grace) {
		if err := d.append(runner.Event{Kind: runner.ProcessLeft, Text: left}); err != nil {
			return err
		}
	}
	return nil
}

// loop waits for facts until the run rests.
func (d *driver) loop(ctx, work context.Context) {
	control := time.NewTicker(controlEvery)
	defer control.Stop()
	for d.err == nil && !d.ended && !(d.parked && len(d.working) == 0) {
		timer := d.budgetTimer()
		select {
		case r := <-d.facts:
			d.report(work, r)
		case <-timer:
			d.timeUp = true // said once; what runs is being stopped
			d.take(work, runner.Event{Kind: runner.BudgetReached, Limit: "time"})
		case <-d.limitTimer():
			d.goOn(work)
		case <-control.C:
			if kill, ok := d.killAsked(); ok {
				d.take(work, kill)
			}
		case <-ctx.Done():
			d.parked = !d.goOnAt.IsZero() // it stays paused
			return
		}
	}
}

// report takes a worker's facts in, and starts what follows from them.
func (d *driver) report(work context.Context, r report) {
	for _, f := range r.facts {
		if f.Kind == runner.TurnEnded {
			delete(d.inTurn, r.id) // the fact has it
			d.waited = d.waited && f.Reply.Stop == runner.StopLimit
		}
		d.take(work, f)
		if asked := f.Kind == runner.PermissionAsked; asked || f.Kind == runner.PermissionAnswered {
			d.asking[r.id] = asked
			d.clock()
		}
	}
	if r.spent != nil {
		d.spending(work, r.id, *r.spent)
	}
	if r.done {
		if cancel, ok := d.working[r.id]; ok {
			cancel()
			delete(d.working, r.id)
			delete(d.asking, r.id)
			d.clock()
		}
	}
}

// spending notes what a turn has spent so far, and ends the run when that uses a budget up.
func (d *driver) spending(work context.Context, id runner.ID, u harness.Usage) {
	if _, ok := d.working[id]; !ok || d.usedUp {
		return
	}
	d.inTurn[id] = u
	tokens, cost := 0, 0.0
	for _, u := range d.inTurn {
		n, _ := u.Tokens()
		tokens += n
		if u.Cost != nil {
			cost += *u.Cost
		}
	}
	limit, text := d.state.Exhausted(d.g(), tokens, cost)
	if limit == "" {
		return
	}
	d.usedUp = true
	d.take(work, runner.Event{Kind: runner.BudgetReached, Limit: limit, Text: text + ", in the middle of a turn"})
}

// take logs a fact, steps the machine, logs its decisions and starts its commands.
func (d *driver) take(work context.Context, e runner.Event) {
	if d.err != nil {
		return
	}
	one := []runner.Event{e}
	foreign := d.append(one...)
	e = one[0] // as it is in the log: what a replay will see
	if errors.Is(foreign, journal.ErrForeign) {
		// Somebody else wrote into the log. What they wrote is set aside, and the run ends: an agent that can
		// write its own evidence proves nothing.
		var where string
		if where, d.err = d.Record.SetAside(); d.err == nil {
			d.err = d.append(one...)
			e = one[0]
		}
		defer d.take(work, runner.Event{Kind: runner.WorldFailed, Reason: runner.ReasonJournal,
			Text: "something else wrote into the log of the run; what it wrote is in " + where})
	} else {
		d.err = foreign
	}
	if d.err != nil {
		return
	}
	if e.Kind == runner.TurnEnded || e.Kind == runner.AskAnswered || e.Kind == runner.PermissionAnswered || e.Kind == runner.RunKilled {
		if d.err = d.Record.Sync(); d.err != nil {
			return
		}
	}
	if e.Kind == runner.GrantGiven && e.Limit == "time" {
		d.granted += time.Duration(e.Grant * float64(time.Second))
	}
	next, commands, err := d.step(e)
	if err != nil {
		d.err = err
		return
	}
	d.state = next
	d.grown.Store(next.Graph(d.Graph))
	i := slices.IndexFunc(commands, func(c runner.Command) bool { return c.ID.Kind != runner.Record })
	if i < 0 {
		i = len(commands)
	}
	decisions := make([]runner.Event, i)
	for j := range decisions {
		decisions[j] = *commands[j].Event
	}
	if d.err = d.append(decisions...); d.err != nil {
		return
	}
	for _, e := range decisions {
		if e.Kind == runner.PhaseEnded {
			d.prove(e)
			d.keepWork(e)
		}
	}
	if len(decisions) > 0 { // no visit is over without one
		d.leave()
	}
	if d.still {
		return
	}
	for _, c := range commands[i:] {
		d.start(work, c)
	}
	d.withdraw()
}

// step steps the machine. A resume may bring an edited pipeline, which holds from then on.
func (d *driver) step(e runner.Event) (runner.State, []runner.Command, error) {
	if e.Kind != runner.RunResumed || e.File == "" {
		return runner.Step(d.Graph, d.state, e)
	}
	was := d.Graph
	d.Graph, d.Edited = d.Edited, nil
	d.readers, d.reading = cardReaders(d.Graph)
	return runner.StepEdited(was, d.Graph, d.state, e)
}

// append stamps and logs events and shows them to whoever watches.
func (d *driver) append(events ...runner.Event) error {
	if len(events) == 0 {
		return nil
	}
	now := d.Now().UTC()
	busy := d.atWork().Milliseconds()
	for i := range events {
		events[i].Busy = busy
		if events[i].At.IsZero() {
			events[i].At = now
		}
	}
	if err := d.Record.Append(events...); err != nil {
		return err
	}
	if d.Watch != nil {
		for _, e := range events {
			d.Watch(e)
		}
	}
	return nil
}

// start carries a command out in a goroutine of its own; stops, parks and ends are the loop's.
func (d *driver) start(work context.Context, c runner.Command) {
	switch c.ID.Kind {
	case runner.End:
		d.ended = true
		return
	case runner.Park:
		d.parked = !d.awaitLimit(c.ResetAt)
		return
	case runner.StopWork:
		for id, cancel := range d.working {
			if id.Phase == c.ID.Phase && id.Visit == c.ID.Visit {
				cancel()
			}
		}
		return
	case runner.PutAsk:
		if d.Ask == nil {
			d.parked = true
			return
		}
	}
	d.parked = false
	if _, busy := d.working[c.ID]; busy {
		return // a resume asks for all that is outstanding, also for what an edit of the workspace has just begun
	}
	ctx, cancel := context.WithCancel(work)
	d.working[c.ID] = cancel
	d.clock()
	state := d.state
	d.workers.Add(1)
	go func() {
		defer d.workers.Done()
		send := func(facts ...runner.Event) {
			d.facts <- report{id: c.ID, facts: facts}
		}
		d.carryOut(ctx, state, c, send)
		d.facts <- report{id: c.ID, done: true}
	}()
}

// withdraw cancels workers whose command the machine has taken back, such as a question that a jump queues
// again.
func (d *driver) withdraw() {
	for id, cancel := range d.working {
		if id.Kind != runner.PutAsk {
			continue
		}
		wanted := runner.Outstanding(d.g(), d.state)
		if !slices.ContainsFunc(wanted, func(c runner.Command) bool { return c.ID == id }) {
			cancel()
		}
	}
}

// drain waits for the workers and throws their facts away: the state no longer asks for them.
func (d *driver) drain() {
	for _, cancel := range d.working {
		cancel()
	}
	done := make(chan struct{})
	go func() {
		d.workers.Wait()
		close(done)
	}()
	for {
		select {
		case r := <-d.facts:
			d.keepNotes(r)
		case <-done:
			clear(d.working)
			d.clock()
			return
		}
	}
}

// close ends the agents' sessions; each can fail by itself.
func (d *driver) close(err error) error {
	all := multierror.Append(nil, err)
	if err == nil {
		all = nil
	}
	for of, s := range d.sessions {
		left, err := s.Close()
		for _, text := range left {
			if err := d.append(runner.Event{Kind: runner.ProcessLeft, Text: text}); err != nil {
				all = multierror.Append(all, err)
			}
		}
		if err != nil {
			all = multierror.Append(all, fmt.Errorf("closing the session of agent %s: %w", d.g().Agents[of.agent].Name, err))
		}
	}
	clear(d.sessions)
	if all == nil {
		return nil
	}
	all.ErrorFormat = func(errs []error) string {
		lines := make([]string, len(errs))
		for i, e := range errs {
			lines[i] = e.Error()
		}
		return strings.Join(lines, "; ")
	}
	return all.ErrorOrNil()
}

// clock counts the time in which something of the run is running; a question that waits for a person is not.
func (d *driver) clock() {
	running := false
	for id := range d.working {
		running = running || id.Kind != runner.PutAsk && !d.asking[id]
	}
	switch now := d.Now(); {
	case running && d.busyFrom.IsZero():
		d.busyFrom = now
	case !running && !d.busyFrom.IsZero():
		d.busy += now.Sub(d.busyFrom)
		d.busyFrom = time.Time{}
	}
}

// atWork is how long something of the run has been running, in all.
func (d *driver) atWork() time.Duration {
	if d.busyFrom.IsZero() {
		return d.busy
	}
	return d.busy + max(d.Now().Sub(d.busyFrom), 0)
}

// budgetTimer fires when the time budget is used up; nil when there is none, or nothing runs.
func (d *driver) budgetTimer() <-chan time.Time {
	if d.g().Limits.Time == 0 || d.busyFrom.IsZero() || d.timeUp {
		return nil
	}
	return time.After(d.g().Limits.Time + d.granted - d.atWork())
}

// spent is how long a run was at work in earlier processes, as its log has it, and how much time was granted on top
// of the budget.
func spent(events []runner.Event) (busy, granted time.Duration) {
	for _, e := range events {
		busy = max(busy, time.Duration(e.Busy)*time.Millisecond)
		if e.Kind == runner.GrantGiven && e.Limit == "time" {
			granted += time.Duration(e.Grant * float64(time.Second))
		}
	}
	return busy, granted
}

// failed is the fact that the world did not let something be done.
func failed(c runner.Command, phase string, err error) runner.Event {
	return runner.Event{Kind: runner.WorldFailed, Phase: phase, Visit: c.ID.Visit, Attempt: c.ID.Attempt, Reason: runner.ReasonInfrastructure, Text: err.Error()}
}

// named starts a fact that answers a command.
func (d *driver) named(c runner.Command, k runner.Kind) runner.Event {
	e := runner.Event{Kind: k, Visit: c.ID.Visit, Attempt: c.ID.Attempt}
	if c.ID.Phase >= 0 {
		e.Phase, e.Item = d.g().Phases[c.ID.Phase].Name, d.g().Lane(c.ID.Phase)
	}
	return e
}

// fileName names a file about a visit.
func fileName(phase string, visit int, more string) string {
	return fmt.Sprintf("%s@%d%s", runner.FileName(phase), visit, more)
}
