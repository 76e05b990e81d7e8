package cli

import (
	"context"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"foundry/internal/drive"
	"foundry/internal/process"
	"foundry/internal/report"
	"foundry/runner"
)

func rewindVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:      "rewind",
			Usage:     "take a run back to the state before a phase",
			ArgsUsage: "[RUN]",
			Description: `Takes a run and its workspace back to where a visit of a phase began; a phase alone is its newest visit. What is there now is
kept under a ref, which is named. Nothing is run: "foundry resume" goes on from there, and pays only for what comes then.
What was spent stays spent.

A live run, one that worked in the checkout, and one that was merged, discarded or killed is refused.`,
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "to", Usage: "the phase to go back to, as build or build@2 (`PHASE`)"},
				jsonFlag(),
			},
			Action: s.rewind,
		},
		exits:    []Exit{Refused, Failed},
		operands: runCandidates,
		phases:   runPhases,
		examples: []example{
			{"foundry rewind last --to build", "before the newest visit of build"},
			{"foundry rewind last --to build@1", "before the first one"},
		},
	}
}

// rewound is what --json prints.
type rewound struct {
	ID    string `json:"id"`
	Phase string `json:"phase"`
	Visit int    `json:"visit"` // the one that is taken back
	Ref   string `json:"ref"`   // the snapshot that the workspace is at
	Kept  string `json:"kept"`  // the ref that has what was there
}

func (s *session) rewind(c *cli.Context) error {
	if err := atMost(c, 1); err != nil {
		return err
	}
	phase, visit, err := report.PhaseArg(c.String("to"))
	if err != nil || phase == "" {
		return badUsage("rewind: to which phase?").hintf("--to PHASE, or --to PHASE@VISIT")
	}
	pl, err := s.openPlace()
	if err != nil {
		return err
	}
	rec, err := pl.openRun(c.Args().First())
	if err != nil {
		return err
	}
	defer rec.Close()
	d, outline, err := s.derive(pl, rec)
	if err != nil {
		return err
	}
	if outline.Status == "killed" || d.info.Isolation == "checkout" {
		return badUsage("%s %s; it cannot be taken back", rec.ID(), map[bool]string{true: "is killed", false: "works in the checkout, where nothing is ever put back"}[outline.Status == "killed"]).
			hintf("`foundry show %s`", rec.ID())
	}
	e, then, err := d.beginning(phase, visit)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(s.ctx)
	cfg := drive.Config{Graph: d.graph, Record: rec, Repo: d.pl.repo, Environ: process.Environ(os.Environ()), Now: time.Now}
	if cfg.Tree, err = drive.Reopen(ctx, d.graph, d.pl.repo, *d.info); err != nil {
		return failure(err)
	}
	undone := e.Visit
	e.Visit = 0
	if e, err = drive.Rewind(ctx, cfg, then, d.state, d.missing, e); err != nil {
		return s.broken(*d, err)
	}
	if c.Bool("json") {
		return s.printJSON(rewound{rec.ID(), phase, undone, e.Ref, e.Kept})
	}
	s.note("%s is back before %s@%d; what was there is kept at %s", rec.ID(), phase, undone, e.Kept)
	s.note("`foundry resume %s` goes on from there", rec.ID())
	return nil
}

// beginning finds the visit that a run is to go back to: the event for the log, its Visit that of the visit, and the
// state from there.
func (d *driving) beginning(phase string, visit int) (runner.Event, runner.State, error) {
	var none runner.State
	e := runner.Event{Kind: runner.RunRewound, Phase: phase, Who: who()}
	id, ok := d.grown().Lookup(phase)
	switch {
	case !ok:
		return e, none, badUsage("--to %s: pipeline %s has no such phase", phase, d.graph.Pipeline).hintNear(phase, []string{d.grown().Near(phase)}, "`foundry show %s` lists them", d.rec.ID())
	case d.grown().Phases[id].Owner >= 0:
		owner := &d.grown().Phases[d.grown().Phases[id].Owner]
		return e, none, badUsage("--to %s: it belongs to %s, which is taken back as a whole", phase, owner.Name).hintf("--to %s", owner.Name)
	}
	events := d.rec.Events()
	fact, start, ok := runner.Beginning(events, phase, visit)
	if !ok {
		return e, none, badUsage("--to %s: there was no such visit", phase).hintf("`foundry show %s` lists the phases with their visits", d.rec.ID())
	}
	for _, later := range events[fact:] {
		if later.Kind == runner.RunResumed && later.File != "" {
			return e, none, badUsage("--to %s: the pipeline was edited after that visit began", phase).hintf("`foundry resume %s --from %s` runs it again on what is there now", d.rec.ID(), phase)
		}
	}
	ref, between := drive.Before(d.graph, events, phase, start)
	if ref == "" || len(between) > 0 {
		return e, none, badUsage("--to %s: there is no snapshot from right before it: %s ran since the last one", phase, few(between)).hintf("--to %s", between[0])
	}
	then, _, err := runner.Replay(d.kept.first, events[:fact], d.kept.edits)
	if err != nil {
		return e, none, failure(err)
	}
	e.To, e.Ref, e.Visit = fact, ref, events[start-1].Visit
	return e, then, nil
}
