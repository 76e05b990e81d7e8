package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"foundry/internal/drive"
	"foundry/internal/journal"
	"foundry/internal/report"
	"foundry/runner"
)

func mergeVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:      "merge",
			Usage:     "land an accepted run's branch in its base",
			ArgsUsage: "[RUN]",
			Description: `Merges the tree that was judged into the branch that the run started from, proves it by content, and takes the worktree and
the branch away. It refuses, with what is in the way and before anything is touched, when the base has moved, when files
that would change are dirty or untracked, or when another git operation is going on.

When the base has moved, --rebase replays the run's commits on it, out of sight; conflicts are listed and nothing is
touched. The run's checks saw another tree than the one that comes out, so it lands only with --untested.`,
			Flags: []cli.Flag{
				&cli.BoolFlag{Name: "rebase", Usage: "when the base has moved, replay the run's commits on it"},
				&cli.BoolFlag{Name: "untested", Usage: "with --rebase: land what comes out although nothing has checked it"},
			},
			Action: s.merge,
		},
		exits:    []Exit{Refused, Failed},
		operands: runCandidates,
		examples: []example{{"foundry merge last", "the newest run"}, {"foundry merge --rebase --untested last", "its base has moved"}},
	}
}

func discardVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:        "discard",
			Usage:       "drop a run's worktree and branch",
			ArgsUsage:   "[RUN]",
			Description: "Takes a run's worktree and branch away. What was committed, and every snapshot, can still be found under refs/foundry.",
			Flags:       []cli.Flag{&cli.BoolFlag{Name: "force", Usage: "also lose ignored files that were made since setup"}},
			Action:      s.discard,
		},
		exits:    []Exit{Refused, Failed},
		operands: runCandidates,
		examples: []example{{"foundry discard last", "the newest run"}},
	}
}

// landing opens a run that is at rest for one of the two.
func (s *session) landing(c *cli.Context, pl *place, verb string) (drive.Scene, *runner.RunInfo, func(), error) {
	var none drive.Scene
	if err := atMost(c, 1); err != nil {
		return none, nil, nil, err
	}
	rec, err := pl.openRun(c.Args().First())
	if err != nil {
		return none, nil, nil, err
	}
	info := started(rec.Events())
	refuse := func(err error) (drive.Scene, *runner.RunInfo, func(), error) {
		rec.Close()
		return none, nil, nil, err
	}
	if info == nil {
		return refuse(noStart(rec.ID()))
	}
	outline := runner.OutlineOf(rec.ID(), rec.Events())
	switch {
	case outline.Merged != nil && !s.leftOver(pl, info):
		p := badUsage("%s is merged already, as %.10s", rec.ID(), *outline.Merged)
		if left := pl.repo.LeftLocks(s.ctx, info.Base); len(left) > 0 {
			p.hintf("%s", strings.Join(left, "; "))
		}
		return refuse(p)
	case discarded(rec.Events()):
		return refuse(badUsage("%s was discarded", rec.ID()))
	case info.Isolation == "checkout":
		return refuse(badUsage("%s worked in the checkout; there is nothing to %s", rec.ID(), verb))
	case verb == "merge" && outline.Status != "accepted":
		return refuse((&problem{exit: Refused, err: fmt.Errorf("%s is %s; only an accepted run is merged", rec.ID(), outline.Status)}).
			hintf("`foundry show %s` says why; `git merge %s` is yours to decide", rec.ID(), info.Branch))
	}
	kept, err := s.kept(pl, rec.ID(), rec.Events())
	if err != nil {
		return refuse(err)
	}
	rec.Hide(s.mask(kept.newest))
	sc := drive.Scene{Graph: kept.newest, Repo: pl.repo, Record: rec, Append: appendTo(rec)}
	return sc, info, func() { rec.Close() }, nil
}

func appendTo(rec *journal.Record) func(...runner.Event) error {
	return func(events ...runner.Event) error {
		for i := range events {
			events[i].At = time.Now().UTC()
		}
		return errors.Join(rec.Append(events...), rec.Sync())
	}
}

// leftOver says whether something of a landed run is still to be taken away.
func (s *session) leftOver(pl *place, info *runner.RunInfo) bool {
	aside, err := pl.repo.Aside(info.ID)
	if isDir(info.Worktree) || err == nil && len(aside) > 0 {
		return true
	}
	left, err := pl.repo.BranchLeft(s.ctx, info.Branch)
	return info.Branch != "" && err == nil && left
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

func discarded(events []runner.Event) bool {
	for _, e := range events {
		if e.Kind == runner.RunDiscarded {
			return true
		}
	}
	return false
}

func (s *session) merge(c *cli.Context) error {
	how := drive.Landing{Rebase: c.Bool("rebase"), Untested: c.Bool("untested")}
	if how.Untested && !how.Rebase {
		return badUsage("--untested goes with --rebase").hintf("without it what lands is what was judged")
	}
	pl, err := s.openPlace()
	if err != nil {
		return err
	}
	sc, info, done, err := s.landing(c, pl, "merge")
	if err != nil {
		return err
	}
	defer done()
	return s.land(context.WithoutCancel(s.ctx), pl, sc, info, how)
}

// land merges, says what came of it, and starts what follows.
func (s *session) land(ctx context.Context, pl *place, sc drive.Scene, info *runner.RunInfo, how drive.Landing) error {
	got, err := drive.Land(ctx, sc, info, how)
	if err != nil {
		return failure(err)
	}
	if got.Merged == "" {
		p := &problem{exit: Refused, err: errors.New(got.Why)}
		p.hint = got.Hint
		return p
	}
	var b strings.Builder
	fmt.Fprintf(&b, "merged %s into %s at %.10s\n", info.Branch, info.Base, got.Merged)
	for _, f := range got.Files {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	for _, n := range got.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if got.Hint != "" {
		fmt.Fprintf(&b, "hint: %s\n", got.Hint)
	}
	if err := s.print(b.String()); err != nil {
		return err
	}
	before := len(sc.Record.Events())
	if err := s.afterwards(pl, sc, info, "", nil); err != nil {
		return failure(err)
	}
	trace := report.TraceOf(info.ID, sc.Record.Events()[before:])
	s.sayAfter(trace)
	return s.print(trace.AfterLines(s.style()))
}

func (s *session) discard(c *cli.Context) error {
	pl, err := s.openPlace()
	if err != nil {
		return err
	}
	sc, info, done, err := s.landing(c, pl, "discard")
	if err != nil {
		return err
	}
	defer done()
	got, err := drive.Discard(context.WithoutCancel(s.ctx), sc, info, c.Bool("force"))
	if err != nil {
		return failure(err)
	}
	if got.Kept {
		p := &problem{exit: Refused, err: errors.New(got.Why)}
		p.hint = got.Hint
		return p
	}
	s.note("%s: %s", info.ID, got.Why)
	for _, n := range got.Notes {
		s.note("note: %s", n)
	}
	return nil
}

// offerMerge asks the person at the terminal what is to become of an accepted run. No answer keeps it.
func (s *session) offerMerge(ctx context.Context, pl *place, sc drive.Scene, info *runner.RunInfo) error {
	for {
		word, ok := s.askLine(s.ctx, fmt.Sprintf("\naccepted. merge into %s, discard, or keep? [merge/discard/keep] ", info.Base))
		switch {
		case !ok:
			fmt.Fprintln(s.err)
			return nil
		case word == "merge":
			err := s.land(ctx, pl, sc, info, drive.Landing{})
			if p := asProblem(err); err != nil && p.exit == Refused {
				s.explainProblem(p)
				return nil
			}
			return err
		case word == "discard":
			got, err := drive.Discard(ctx, sc, info, false)
			if err == nil {
				s.note("%s", strings.Join(append([]string{got.Why}, got.Notes...), "\n"))
			}
			return err
		case word == "keep":
			return nil
		}
		fmt.Fprint(s.err, "  write out merge, discard or keep\n")
	}
}
