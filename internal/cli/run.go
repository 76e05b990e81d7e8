package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"foundry/graph"
	"foundry/internal/drive"
	"foundry/internal/journal"
	"foundry/internal/live"
	"foundry/internal/process"
	"foundry/internal/report"
	"foundry/internal/workspace"
	"foundry/runner"
)

// This file drives a run for the verbs that start or continue one: how it is shown, settled, and ends.

// show is how a run is shown while it goes on.
type show struct {
	s      *session
	format string // tty, plain or json
	plain  *report.Plain
	watch  *watching // whose stream it is in; may be nil
	id     string    // of the run
	mu     sync.Mutex

	screen *screen         // nil while there is none
	left   sync.WaitGroup  // of the goroutine that waits for its end
	held   strings.Builder // the lines up to now, for when it is left
	over   bool            // it is closed, not left
}

func (s *session) newShow(format string, g *graph.Graph) *show {
	plain := report.NewPlain(s.style(), g)
	plain.Acts = s.verbose
	if format == "plain" {
		plain.Worst = s.worst(g)
	}
	return &show{s: s, format: format, plain: plain}
}

// style is how reports are drawn on standard output.
func (s *session) style() report.Style {
	return report.Style{Color: s.colored(s.out), Width: terminalWidth(s.out)}
}

// recall takes up what the log of a run holds already, without showing it anew.
func (v *show) recall(events []runner.Event) {
	for _, e := range events {
		v.plain.Trace().Add(&e)
		if v.screen != nil {
			v.screen.view.Tell(live.Event{Event: e})
		}
	}
}

// event shows one event. A reader that has gone away does not stop a run.
func (v *show) event(e runner.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.format == "json" && v.watch != nil {
		v.watch.event(v.id, e)
		return
	}
	if v.format == "json" {
		line, err := report.JSON(e)
		if err == nil {
			v.s.out.Write(append(bytes.TrimRight(line, "\n"), '\n'))
		}
		return
	}
	text := v.plain.Event(e)
	if v.watch != nil && v.watch.onScreen() == nil {
		v.screen = nil // somebody has left it
	}
	switch {
	case v.s.quiet:
	case v.watch != nil && (e.Kind == runner.RunStarted || e.Kind == runner.PhaseNotRun): // each run of a watch would say the same
	case v.screen != nil && v.watch != nil:
	case v.screen != nil:
		v.held.WriteString(text)
	default:
		fmt.Fprint(v.s.out, text)
	}
	if v.screen != nil {
		v.screen.view.Tell(live.Event{Event: e})
	}
}

// driving is one run about to be driven by this process.
type driving struct {
	pl      *place
	rec     *journal.Record
	graph   *graph.Graph
	edited  *graph.Graph // what it goes on with; nil when that is graph
	project *project     // the texts of edited
	src     *sources     // the texts of graph
	kept    *pipelines   // all that it has gone by
	info    *runner.RunInfo
	state   runner.State
	missing []runner.Event
	first   []runner.Event // the first starts or resumes it
	make    bool           // the workspace is still to be made
	format  string         // tty, plain or json
	input   bool           // a person is at the terminal
	ctx     context.Context
	watch   *watching // which the run belongs to; may be nil
}

// drive drives a run to its rest, settles it, and says how it ended.
func (s *session) drive(d driving) error {
	was, edited := d.graph, d.edited
	if edited != nil {
		d.graph = edited
	}
	if d.ctx == nil {
		d.ctx = s.ctx
	}
	view := s.newShow(d.format, d.graph)
	view.watch, view.id = d.watch, d.rec.ID()
	environ := process.Environ(os.Environ())
	if stop, err := process.AdoptOrphans(); err == nil { // where it cannot be had, the guard and the tokens remain
		defer stop()
	}
	guard := &process.Guard{Token: d.rec.ID()}
	if d.format == "tty" {
		guard.Terminal, _ = s.out.(*os.File)
	}
	self, err := selfPath()
	if err == nil {
		err = guard.Start(self)
	}
	if err != nil {
		return failure(fmt.Errorf("start the guard that ends a run's processes should foundry be killed: %w", err))
	}
	defer guard.Close()
	force := make(chan struct{})
	if err := view.toScreen(d.rec.ID(), d.rec.Dir(), d.graph, guard); err != nil {
		return failure(err)
	}
	defer view.fromScreen()
	view.recall(d.rec.Events())
	unheard := sync.OnceFunc(s.secondSignal(force, view.say))
	defer unheard()
	c := drive.Config{Graph: was, Edited: edited, Record: d.rec, Repo: d.pl.repo, Guard: guard, Environ: environ, Now: time.Now, Watch: view.event, Proofs: filepath.Join(d.pl.repo.Home(), ".foundry", "proven"), Force: force,
		Make: drive.Workspace(d.graph, d.pl.repo, d.rec, *d.info, environ, guard, force)}
	if d.input {
		c.Ask, c.Say = view.ask, view.say
	}
	if d.watch != nil {
		c.Digests = &d.watch.digests
	}
	if !d.make {
		if c.Tree, err = drive.Reopen(d.ctx, d.graph, d.pl.repo, *d.info); err != nil {
			return failure(err)
		}
	}
	ending, err := drive.Run(d.ctx, c, d.state, d.missing, d.first...)
	if err != nil {
		return s.broken(d, err)
	}
	append := func(events ...runner.Event) error {
		for i := range events {
			events[i].At = time.Now().UTC()
		}
		if err := d.rec.Append(events...); err != nil {
			return err
		}
		for _, e := range events {
			view.event(e)
		}
		return d.rec.Sync()
	}
	if ending.View.Ended {
		// The verdict is in; a signal that comes now does not stop its consequences half-way.
		ctx := context.WithoutCancel(s.ctx)
		sc := drive.Scene{Graph: d.graph, Repo: d.pl.repo, Record: d.rec, Append: append}
		settled, err := drive.Settle(ctx, sc, ending.View)
		if err != nil {
			return s.broken(d, err)
		}
		s.retire(d.pl, d.graph.Project.Keep)
		if d.watch == nil {
			if err := s.afterwards(d.pl, sc, d.info, "", force); err != nil {
				return s.broken(d, err)
			}
		}
		if d.input && settled.Kept && ending.View.Status == runner.RunAccepted && d.graph.Merge == graph.MergeAsk && d.graph.Isolation == graph.Worktree {
			if err := s.conclude(d, view); err != nil {
				return err
			}
			unheard() // from here a signal only takes the question away
			return s.offerMerge(ctx, d.pl, sc, d.info)
		}
	}
	return s.conclude(d, view)
}

// secondSignal closes force when a further signal comes after the first one has cancelled the context.
func (s *session) secondSignal(force chan struct{}, say func(string)) (stop func()) {
	done := make(chan struct{})
	signals := make(chan os.Signal, 1)
	go func() {
		select {
		case <-s.ctx.Done():
		case <-done:
			return
		}
		if s.prompt.Load() {
			fmt.Fprintln(s.err) // the line of a question has no end yet
		}
		say("foundry: stopping; once more to kill what runs")
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		select {
		case <-signals:
			signal.Stop(signals) // a third one ends this process, and the guard what it started
			close(force)
		case <-done:
		}
	}()
	return func() {
		close(done)
		signal.Stop(signals)
	}
}

// broken ends a run whose log could not be written: nothing may be concluded from it.
func (s *session) broken(d driving, err error) error {
	p := failure(errors.New(d.rec.Mask().Text("the run could not be carried on: " + err.Error())))
	if errors.Is(err, journal.ErrForeign) {
		return p.hintf("something else wrote into the record of %s; look at %s", d.rec.ID(), d.rec.Dir())
	}
	if errors.Is(err, workspace.ErrBrokenLink) {
		return p.hintf("bring the worktree back, or drop the run: `foundry discard %s`; the states of its files are under refs/foundry/%[1]s", d.rec.ID())
	}
	return p.hintf("what was done is kept; `foundry resume %s` goes on", d.rec.ID())
}

// conclude prints the final block and turns the run's end into an exit.
func (s *session) conclude(d driving, view *show) error {
	view.fromScreen()
	trace := report.TraceOf(d.rec.ID(), d.rec.Events())
	facts := report.Facts{Graph: d.graph, Records: s.display(d.rec.Dir()), Now: time.Now(), Verbose: s.verbose, Changed: s.diffStat(d.pl, d.rec.Events())}
	switch {
	case d.format == "json":
	case d.watch != nil && d.watch.onScreen() != nil:
	case d.watch != nil:
		if err := s.print(trace.Brief(s.style()) + "\n"); err != nil {
			return err
		}
	default:
		if err := s.print("\n" + trace.Final(s.style(), facts)); err != nil {
			return err
		}
	}
	outline := runner.OutlineOf(d.rec.ID(), d.rec.Events())
	exit := exitOf(outline)
	s.sayAfter(trace)
	if exit != Done && d.watch == nil {
		fmt.Fprintln(s.err, "foundry: "+trace.LastLine(facts))
	}
	return reported(exit)
}

// exitOf is the exit of a run that has come to rest.
func exitOf(o runner.Outline) Exit {
	switch o.Status {
	case "accepted":
		return Done
	case "rejected":
		if strings.HasPrefix(o.Word, runner.ReasonBudget+":") {
			return OverBudget
		}
		return Refused
	case "waiting", "paused":
		return Parked
	case "killed", "interrupted":
		return Interrupted
	}
	return Failed
}

// diffStat counts what a run changed since its branch point; nil when that cannot be told.
func (s *session) diffStat(pl *place, events []runner.Event) *report.DiffStat {
	from, to := runTrees(events)
	if from == "" || to == "" {
		return nil
	}
	list, err := pl.repo.NumStat(context.WithoutCancel(s.ctx), from, to)
	if err != nil {
		return nil
	}
	var out report.DiffStat
	for _, c := range list {
		out.Files++
		out.Added, out.Removed = out.Added+c.Added, out.Removed+c.Removed
	}
	return &out
}

// runTrees are the branch point of a run and its newest snapshot.
func runTrees(events []runner.Event) (from, to string) {
	if info := started(events); info != nil {
		from = info.BranchPoint
	}
	for _, e := range events {
		if e.Tree != "" && e.Tree != runner.UnknownTree && (e.Kind == runner.SnapshotTaken || e.Kind == runner.RunRewound || e.Kind == runner.BoundaryChecked || e.Kind == runner.ReviewChecked || e.Kind == runner.UndoDone || e.Kind == runner.MergedBack) && !e.OfOwnTree() {
			to = e.Tree
		}
	}
	return from, to
}

// who names the person at work, for the record. It is the environment that says so: asking the system for the
// account would load a C library at every start of the program.
func who() string {
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	return "uid " + strconv.Itoa(os.Getuid())
}
