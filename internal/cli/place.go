package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"foundry/internal/journal"
	"foundry/internal/process"
	"foundry/internal/workspace"
	"foundry/runner"
)

// This file finds the repository that the user stands in, and the records of its runs.

// place is a repository with its records.
type place struct {
	repo  *workspace.Repo
	store journal.Store
}

// openPlace opens the repository that the user stands in.
func (s *session) openPlace() (*place, error) { return s.openPlaceIn(s.ctx) }

func (s *session) openPlaceIn(ctx context.Context) (*place, error) {
	repo, err := workspace.Open(ctx, s.dir)
	if err != nil {
		return nil, notReady(err)
	}
	return &place{repo: repo, store: journal.At(repo.Home())}, nil
}

// openPlaceAhead begins to open the repository while the caller does something else: most of the time that takes is git's.
// opened waits for the place; closed ends the work on it when nobody wants it any more.
func (s *session) openPlaceAhead() (opened func() (*place, error), closed func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	var pl *place
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		pl, err = s.openPlaceIn(ctx)
	}()
	opened = func() (*place, error) {
		<-done
		return pl, err
	}
	return opened, func() {
		cancel()
		<-done
	}
}

// home is where the records of the repository's runs are; no git is asked.
func (s *session) home() string {
	top, _ := repositoryTop(s.dir)
	return workspace.Home(top)
}

// at is the place with the checkout that a run without isolation works in: the repository may have several.
func (pl *place) at(ctx context.Context, info *runner.RunInfo) (*place, error) {
	if info.Isolation != "checkout" || info.Worktree == "" || info.Worktree == pl.repo.Root() {
		return pl, nil
	}
	repo, err := workspace.Open(ctx, info.Worktree)
	if err != nil {
		return nil, notReady(fmt.Errorf("open the checkout that %s works in: %w", info.ID, err))
	}
	return &place{repo: repo, store: pl.store}, nil
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
	if id := s.insideRun(); id != "" {
		p := &problem{exit: Usage, err: fmt.Errorf("%s is refused: it was called from inside run %s", verb, id)}
		return p.hintf("a run is steered by people, from a shell of their own")
	}
	return nil
}

// insideRun says which run the process belongs to, by its environment, by that of the processes above it, or
// by standing in a run's worktree, itself or with -C; "" when none.
func (s *session) insideRun() string {
	if id := s.getenv(process.RunToken); id != "" {
		return id
	}
	if id := process.RunAbove(); id != "" {
		return id
	}
	here, _ := os.Getwd() // begin has asked for it
	for _, dir := range []string{s.dir, here} {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		parts := strings.Split(filepath.ToSlash(dir), "/")
		for i, part := range parts[:max(len(parts)-1, 0)] {
			// A phase's own worktree has a name behind the id of the run.
			if id, _, _ := strings.Cut(parts[i+1], "."); part == ".foundry-worktrees" && id != "" {
				return id
			}
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
	var several *journal.AmbiguousError
	if errors.Is(err, journal.ErrUnknown) || errors.As(err, &several) {
		return "", notARun(err, arg)
	}
	if err != nil {
		return "", failure(err)
	}
	return id, nil
}

// notARun is the refusal of a word that names no run. A phase alone is what someone means who forgot which run.
func notARun(err error, arg string) error {
	p := &problem{exit: Usage, err: err}
	if errors.Is(err, journal.ErrUnknown) && arg != "last" && !strings.HasPrefix(arg, "run_") {
		return p.hintNear(arg, []string{"last"}, "RUN comes first: an id, the beginning of one, or last")
	}
	return p
}

// readRun reads a run's log without taking its lock.
func (pl *place) readRun(arg string) (string, []runner.Event, error) {
	id, err := pl.findRun(arg)
	if err != nil {
		return "", nil, err
	}
	events, err := pl.store.Read(id)
	if err != nil {
		return id, nil, unreadable(id, err)
	}
	return id, events, nil
}

// unreadable is the refusal of a record that cannot be read, or has lost what nothing can be done without.
func unreadable(id string, err error) error {
	return failure(err).hintf("%s", moveAway(id))
}

// unopened is the failure to open a record to write on.
func unopened(id string, err error) error {
	var damage *journal.DamageError
	if errors.As(err, &damage) {
		return unreadable(id, err)
	}
	return failure(err)
}

// moveAway says what becomes of a record that nothing can go on from.
func moveAway(id string) string {
	return "move .foundry/runs/" + id + " away when nothing of it is needed; `foundry sweep --prune` then looks at what the run has left"
}

// noStart is the refusal of a record in whose log not even the start stands.
func noStart(id string) error {
	return failure(fmt.Errorf("the log of %s holds no start; nothing was done in it", id)).
		hintf("`foundry up` starts a run; `foundry sweep --prune` takes this record away")
}

// openRun takes a run's lock to write on.
func (pl *place) openRun(arg string) (*journal.Record, error) {
	id, err := pl.findRun(arg)
	if err != nil {
		return nil, err
	}
	rec, err := pl.take(id)
	switch {
	case errors.Is(err, journal.ErrLive):
		return nil, (&problem{exit: Usage, err: fmt.Errorf("%s is live: another process carries it out", id)}).
			hintf("`foundry logs -f %s` follows it, `foundry kill %s` ends it", id, id)
	case err != nil:
		return nil, unopened(id, err)
	}
	return rec, nil
}

// abandonedTime bounds how long a verb waits for what a Foundry that was killed has left running.
const abandonedTime = 5 * time.Second

// take opens a record to go on with its run. A process of Foundry that was killed may have left a git at work; that
// ends by itself, and is waited for, so that it does not write beside what comes now.
func (pl *place) take(id string) (*journal.Record, error) {
	rec, err := pl.store.Open(id)
	if err == nil {
		process.AwaitAbandoned(pl.repo.Home(), abandonedTime)
	}
	return rec, err
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
