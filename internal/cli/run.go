package cli

import (
	"bytes"
	"context"
	"encoding/json"
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

	"foundry/diag"
	"foundry/graph"
	"foundry/internal/drive"
	"foundry/internal/journal"
	"foundry/internal/process"
	"foundry/internal/report"
	"foundry/internal/workspace"
	"foundry/runner"
)

// This file is what the verbs that touch runs share: the repository and its records, a run's own pipeline,
// and how driving one is shown and ends.

// place is a repository with its records.
type place struct {
	repo  *workspace.Repo
	store journal.Store
}

// openPlace opens the repository that the user stands in.
func (s *session) openPlace() (*place, error) {
	repo, err := workspace.Open(s.ctx, s.dir)
	if err != nil {
		return nil, notReady(err)
	}
	return &place{repo: repo, store: journal.At(repo.Root())}, nil
}

// notReady is the refusal of a repository in which no run can work.
func notReady(err error) error {
	p := &problem{exit: Usage, err: err}
	switch {
	case errors.Is(err, workspace.ErrNotRepository):
		return p.hintf("`git init`, then a first commit; a run works on a branch of its own")
	case errors.Is(err, workspace.ErrNoCommits):
		return p.hintf("`git add -A && git commit -m \"first commit\"`")
	case errors.Is(err, workspace.ErrNoSuchRef), errors.Is(err, workspace.ErrBare), errors.Is(err, workspace.ErrGitTooOld),
		errors.Is(err, workspace.ErrGitMissing), errors.Is(err, workspace.ErrUnsafeOwner):
		return p.hintf("`foundry doctor` looks at everything that a run needs")
	}
	return failure(err)
}

// outsideRuns refuses a control verb that is called from inside a run: an agent does not steer itself.
func (s *session) outsideRuns(verb string) error {
	if id := insideRun(s.getenv, s.dir); id != "" {
		p := &problem{exit: Usage, err: fmt.Errorf("%s is refused: it was called from inside run %s", verb, id)}
		return p.hintf("a run is steered by people, from a shell of their own")
	}
	return nil
}

// insideRun says which run the process belongs to, by its environment, by that of the processes above it, or
// by standing in a run's worktree; "" when none.
func insideRun(getenv func(string) string, dir string) string {
	if id := getenv("FOUNDRY_RUN_ID"); id != "" {
		return id
	}
	if id := process.RunAbove(); id != "" {
		return id
	}
	parts := strings.Split(filepath.ToSlash(dir), "/")
	for i, part := range parts[:max(len(parts)-1, 0)] {
		if part == ".foundry-worktrees" {
			return parts[i+1]
		}
	}
	return ""
}

// findRun resolves RUN: an id, a unique prefix, or "last".
func (pl *place) findRun(arg string) (string, error) {
	if arg == "" {
		arg = "last"
	}
	id, err := pl.store.Find(arg)
	if err != nil {
		return "", (&problem{exit: Usage, err: err}).hintf("`foundry runs` lists them")
	}
	return id, nil
}

// readRun reads a run's log without taking its lock.
func (pl *place) readRun(arg string) (string, []runner.Event, error) {
	id, err := pl.findRun(arg)
	if err != nil {
		return "", nil, err
	}
	events, err := pl.store.Read(id)
	if err != nil {
		return id, nil, failure(err)
	}
	return id, events, nil
}

// openRun takes a run's lock to write on.
func (pl *place) openRun(arg string) (*journal.Record, error) {
	id, err := pl.findRun(arg)
	if err != nil {
		return nil, err
	}
	rec, err := pl.store.Open(id)
	switch {
	case errors.Is(err, journal.ErrLive):
		return nil, (&problem{exit: Usage, err: fmt.Errorf("%s is live: another process carries it out", id)}).
			hintf("`foundry logs -f %s` follows it, `foundry kill %s` ends it", id, id)
	case err != nil:
		return nil, failure(err)
	}
	return rec, nil
}

// started is what a run began with.
func started(events []runner.Event) *runner.RunInfo {
	for _, e := range events {
		if e.Kind == runner.RunStarted && e.Run != nil {
			return e.Run
		}
	}
	return nil
}

// sources are the texts that a run's pipeline was compiled from. They are kept in its record, so that a
// resume goes on with the pipeline that the run began with, whatever has become of the file.
type sources struct {
	File  string              `json:"file"` // the pipeline file, as it was named
	Text  string              `json:"text"`
	Has   bool                `json:"has"` // false: a builtin pipeline without a file
	Files map[string]string   `json:"files,omitempty"`
	Lists map[string][]string `json:"lists,omitempty"` // the files that the patterns of include matched
}

const sourcesName = "sources.json"

// keepSources writes a project's texts into a record.
func keepSources(rec *journal.Record, p *project) error {
	src := sources{File: p.relative(), Has: p.source != nil, Files: p.used, Lists: p.listed}
	if p.source != nil {
		src.Text = p.source.Text
	}
	data, err := json.MarshalIndent(src, "", " ")
	if err != nil {
		return err
	}
	_, err = rec.WriteFile(sourcesName, data)
	return err
}

// kept compiles a run's pipeline from what its record holds.
func (s *session) kept(pl *place, id string, info *runner.RunInfo) (*graph.Graph, *sources, error) {
	data, err := os.ReadFile(pl.store.File(id, sourcesName))
	if err != nil {
		return nil, nil, failure(fmt.Errorf("the record of %s has lost its pipeline: %w", id, err))
	}
	var src sources
	if err := json.Unmarshal(data, &src); err != nil {
		return nil, nil, failure(fmt.Errorf("the pipeline in the record of %s is damaged: %w", id, err))
	}
	p := frozenProject(pl.repo.Root(), src)
	if p.findings.HasErrors() {
		return nil, nil, s.refuse(p.findings, src.File)
	}
	g, found := p.names.Compile(info.Pipeline)
	if g == nil || found.HasErrors() {
		return nil, nil, s.refuse(found, src.File)
	}
	g = overridden(g, info)
	return g, &src, nil
}

// frozenProject is the project of a record's texts.
func frozenProject(root string, src sources) *project {
	var source *diag.Source
	if src.Has {
		source = diag.NewSource(src.File, src.Text)
	}
	return newProjectFrom(root, filepath.Join(root, src.File), src.File, source, graph.Files{
		Read: func(name string) (string, error) {
			text, ok := src.Files[name]
			if !ok {
				return "", fmt.Errorf("the record does not hold %s", name)
			}
			return text, nil
		},
		List: func(pattern string) ([]string, error) { return src.Lists[pattern], nil },
	})
}

// overridden is the graph with what the command line said about isolation and merging.
func overridden(g *graph.Graph, info *runner.RunInfo) *graph.Graph {
	out := *g
	switch info.Isolation {
	case "checkout":
		out.Isolation = graph.Checkout
	case "detached":
		out.Isolation = graph.Detached
	case "worktree":
		out.Isolation = graph.Worktree
	}
	switch info.Merge {
	case "auto":
		out.Merge = graph.MergeAuto
	case "ask":
		out.Merge = graph.MergeAsk
	case "never":
		out.Merge = graph.MergeNever
	}
	return &out
}

// show is how a run is shown while it goes on.
type show struct {
	s      *session
	format string // plain or json
	plain  *report.Plain
	mu     sync.Mutex
}

func (s *session) newShow(format string, g *graph.Graph) *show {
	return &show{s: s, format: format, plain: report.NewPlain(s.style(), g)}
}

// style is how reports are drawn on standard output.
func (s *session) style() report.Style {
	return report.Style{Color: s.colored(s.out), Width: terminalWidth(s.out)}
}

// event shows one event. A reader that has gone away does not stop a run.
func (v *show) event(e runner.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.format == "json" {
		line, err := report.JSON(e)
		if err == nil {
			v.s.out.Write(append(bytes.TrimRight(line, "\n"), '\n'))
		}
		return
	}
	text := v.plain.Event(e)
	if !v.s.quiet && text != "" {
		fmt.Fprint(v.s.out, text)
	}
}

// driving is one run about to be driven by this process.
type driving struct {
	pl      *place
	rec     *journal.Record
	graph   *graph.Graph
	info    *runner.RunInfo
	state   runner.State
	missing []runner.Event
	first   []runner.Event // the first starts or resumes it
	make    bool           // the workspace is still to be made
	format  string         // plain or json
	input   bool           // a person is at the terminal
}

// drive drives a run to its rest, settles it, and says how it ended.
func (s *session) drive(d driving) error {
	view := s.newShow(d.format, d.graph)
	for _, e := range d.rec.Events() {
		view.plain.Trace().Add(&e)
	}
	environ := process.Environ(os.Environ())
	guard := &process.Guard{Token: d.rec.ID()}
	self, err := selfPath()
	if err == nil {
		err = guard.Start(self)
	}
	if err != nil {
		return failure(fmt.Errorf("start the guard that ends a run's processes should foundry be killed: %w", err))
	}
	defer guard.Close()
	if stop, err := process.AdoptOrphans(); err == nil { // where it cannot be had, the guard and the tokens remain
		defer stop()
	}
	force := make(chan struct{})
	defer s.secondSignal(force)()
	c := drive.Config{Graph: d.graph, Record: d.rec, Repo: d.pl.repo, Guard: guard, Environ: environ, Now: time.Now, Watch: view.event, Force: force,
		Make: drive.Workspace(d.graph, d.pl.repo, d.rec, *d.info, environ, guard)}
	if d.input {
		c.Ask = s.askPerson
	}
	if !d.make {
		if c.Tree, err = drive.Reopen(s.ctx, d.graph, d.pl.repo, *d.info); err != nil {
			return failure(err)
		}
	}
	ending, err := drive.Run(s.ctx, c, d.state, d.missing, d.first...)
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
		if d.input && settled.Kept && ending.View.Status == runner.RunAccepted && d.graph.Merge == graph.MergeAsk && d.graph.Isolation == graph.Worktree {
			if err := s.conclude(d, view); err != nil {
				return err
			}
			return s.offerMerge(ctx, sc, d.info)
		}
	}
	return s.conclude(d, view)
}

// secondSignal closes force when a further signal comes after the first one has cancelled the context.
func (s *session) secondSignal(force chan struct{}) (stop func()) {
	done := make(chan struct{})
	signals := make(chan os.Signal, 1)
	go func() {
		select {
		case <-s.ctx.Done():
		case <-done:
			return
		}
		s.note("foundry: stopping; once more to kill what runs")
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		select {
		case <-signals:
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
	p := failure(fmt.Errorf("the run could not be carried on: %w", err))
	if errors.Is(err, journal.ErrForeign) {
		return p.hintf("something else wrote into the record of %s; look at %s", d.rec.ID(), d.rec.Dir())
	}
	return p.hintf("what was done is kept; `foundry resume %s` goes on", d.rec.ID())
}

// conclude prints the final block and turns the run's end into an exit.
func (s *session) conclude(d driving, view *show) error {
	trace := report.TraceOf(d.rec.ID(), d.rec.Events())
	facts := report.Facts{Graph: d.graph, Records: s.display(d.rec.Dir()), Now: time.Now(), Verbose: s.verbose, Changed: s.diffStat(d.pl, d.rec.Events())}
	if d.format != "json" {
		if err := s.print("\n" + trace.Final(s.style(), facts)); err != nil {
			return err
		}
	}
	outline := runner.OutlineOf(d.rec.ID(), d.rec.Events())
	exit := exitOf(outline)
	if exit != Done {
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
	text, err := pl.repo.NumStat(context.WithoutCancel(s.ctx), from, to)
	if err != nil {
		return nil
	}
	var out report.DiffStat
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		cells := strings.SplitN(line, "\t", 3)
		if len(cells) < 3 {
			continue
		}
		out.Files++
		added, _ := strconv.Atoi(cells[0])
		removed, _ := strconv.Atoi(cells[1])
		out.Added, out.Removed = out.Added+added, out.Removed+removed
	}
	return &out
}

// runTrees are the branch point of a run and its newest snapshot.
func runTrees(events []runner.Event) (from, to string) {
	if info := started(events); info != nil {
		from = info.BranchPoint
	}
	for _, e := range events {
		if e.Tree != "" && e.Tree != runner.UnknownTree && (e.Kind == runner.SnapshotTaken || e.Kind == runner.BoundaryChecked || e.Kind == runner.UndoDone) {
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
	return strconv.Itoa(os.Getuid())
}
