package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"foundry/internal/drive"
	"foundry/internal/journal"
	"foundry/internal/process"
	"foundry/runner"
)

// killPatience is how long kill waits for the process that carries the run out: a stop has its grace, and
// what it broke off is put back.
const killPatience = 60 * time.Second

func killVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:      "kill",
			Usage:     "end a run for good",
			ArgsUsage: "[RUN]",
			Description: `Ends a run: what runs is stopped, what was broken off is put back and kept under a ref, worktree and branch stay. A
killed run is never accepted and cannot be resumed.`,
			Action: s.kill,
		},
		exits:    []Exit{Failed},
		operands: runCandidates,
		examples: []example{{"foundry kill last", "the newest run"}},
	}
}

func (s *session) kill(c *cli.Context) error {
	if err := atMost(c, 1); err != nil {
		return err
	}
	pl, err := s.openPlace()
	if err != nil {
		return err
	}
	id, err := pl.findRun(c.Args().First())
	if err != nil {
		return err
	}
	return s.killResting(pl, id)
}

// killResting ends a run that no process carries out; one that is live is asked to end.
func (s *session) killResting(pl *place, id string) error {
	rec, err := pl.take(id)
	if errors.Is(err, journal.ErrLive) {
		return s.killLive(pl, id)
	}
	if err != nil {
		return unopened(id, err)
	}
	defer rec.Close()
	d, err := s.replay(pl, rec)
	if err != nil {
		return err
	}
	if _, err := s.closeRun(d, runner.Event{Kind: runner.RunKilled, Who: who()}); err != nil {
		return err
	}
	return s.killed(id)
}

// closeRun ends a run that no process carries out: what was cut off is put back, and processes that it left are ended.
// It returns the events that were written.
func (s *session) closeRun(d *driving, fact runner.Event) ([]runner.Event, error) {
	c := drive.Config{Graph: d.graph, Record: d.rec, Repo: d.pl.repo, Environ: process.Environ(os.Environ()), Now: time.Now}
	if _, err := os.Lstat(d.info.Worktree); err == nil && !d.make {
		if c.Tree, err = drive.Reopen(s.ctx, d.graph, d.pl.repo, *d.info); err != nil {
			s.note("foundry: %s: its worktree is left as it is: %v", d.rec.ID(), err)
		}
	}
	before := len(d.rec.Events())
	err := drive.Close(s.ctx, c, d.state, d.missing, fact)
	if err != nil {
		return nil, s.broken(*d, err)
	}
	return d.rec.Events()[before:], nil
}

func (s *session) killed(id string) error {
	s.note("%s is killed; its worktree and branch are kept (`foundry discard %s`)", id, id)
	return nil
}

// killLive asks the process that carries the run out, and waits until it has let go of the record.
func (s *session) killLive(pl *place, id string) error {
	if err := drive.RequestKill(pl.store.Dir(id), who()); err != nil {
		return failure(fmt.Errorf("ask for the end of %s: %w", id, err))
	}
	wait := time.NewTicker(50 * time.Millisecond)
	defer wait.Stop()
	deadline := time.After(killPatience)
	for pl.store.Live(id) {
		select {
		case <-wait.C:
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-deadline:
			return failure(fmt.Errorf("%s was asked to end and is still live after %s", id, killPatience))
		}
	}
	drive.WithdrawKill(pl.store.Dir(id))
	events, err := pl.store.Read(id)
	if err != nil {
		return failure(err)
	}
	if runner.OutlineOf(id, events).Status == "killed" {
		return s.killed(id)
	}
	return s.killResting(pl, id) // it came to rest by itself in that moment
}
