package cli

import (
	"encoding/json"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"foundry/graph"
	"foundry/internal/journal"
	"foundry/internal/report"
	"foundry/runner"
)

func runsVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:  "runs",
			Usage: "past and live runs, the newest first",
			Flags: []cli.Flag{
				&cli.IntFlag{Name: "number", Aliases: []string{"n"}, Value: 20, Usage: "how many; 0 is all (`N`)"},
				jsonFlag(),
			},
			Action: s.runs,
		},
		exits:    []Exit{Failed},
		examples: []example{{"foundry runs", "the newest 20"}, {"foundry runs --json | jq '.[0].status'", "for a script"}},
	}
}

func (s *session) runs(c *cli.Context) error {
	if err := atMost(c, 0); err != nil {
		return err
	}
	store := journal.At(s.home())
	n := c.Int("number")
	if n <= 0 {
		n = -1
	}
	entries, err := store.Newest(n)
	if err != nil {
		return failure(err)
	}
	rows := []report.Row{}
	for _, e := range entries {
		rows = append(rows, report.Row{Outline: e.Outline, Live: store.Live(e.ID), Problem: e.Problem})
	}
	for i := range rows {
		if rows[i].Status == "running" && !rows[i].Live {
			rows[i].Status = "interrupted" // its process is gone: the lock is free
		}
	}
	if c.Bool("json") {
		return s.printJSON(rows)
	}
	return s.print(report.Rows(rows, s.style(), time.Now()))
}

func showVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:        "show",
			Usage:       "where a run stands: phases, evidence, envelopes, usage",
			ArgsUsage:   "[RUN] [PHASE]",
			Description: "Shows a run, or one phase of it; PHASE may name a visit, as build@2. Without RUN it is the newest.",
			Flags:       []cli.Flag{jsonFlag()},
			Action:      s.show,
		},
		exits:    []Exit{Failed},
		operands: runCandidates,
		phases:   runPhases,
		examples: []example{
			{"foundry show last", "the newest run"},
			{"foundry show last build@2", "the second visit of a phase: prompt, envelope, gates"},
			{"foundry show last --json | jq .status", "for a script"},
		},
	}
}

func (s *session) show(c *cli.Context) error {
	if err := atMost(c, 2); err != nil {
		return err
	}
	pl := s.recordsOnly()
	id, events, err := pl.readRun(c.Args().First())
	if err != nil {
		return err
	}
	g := s.graphOf(pl, id, events)
	live := pl.store.Live(id)
	if started(events) == nil && !live {
		return noStart(id)
	}
	trace := report.TraceOf(id, events)
	facts := report.Facts{Graph: g, Records: s.display(pl.store.Dir(id)), Now: time.Now(), Verbose: s.verbose, Live: live}
	if !live {
		trace.Abandon()
		facts.Now = trace.Last // what was cut off did not go on until now
	}
	if c.Bool("json") {
		return s.showJSON(trace, g, c.Args().Get(1))
	}
	if name := c.Args().Get(1); name != "" {
		phase, visit, err := report.PhaseArg(name)
		if err != nil {
			return (&problem{exit: Usage, err: err})
		}
		text, err := trace.Detail(phase, visit, s.style(), facts)
		if err != nil {
			return noSuchPhase(err, trace, phase)
		}
		return s.print(text)
	}
	return s.print(trace.Final(s.style(), facts))
}

func (s *session) showJSON(trace *report.Trace, g *graph.Graph, arg string) error {
	if arg == "" {
		return s.printJSON(trace.Summary(g))
	}
	name, visit, err := report.PhaseArg(arg)
	if err != nil {
		return &problem{exit: Usage, err: err}
	}
	row, err := trace.PhaseRow(name, visit, g)
	if err != nil {
		return noSuchPhase(err, trace, name)
	}
	return s.printJSON(row)
}

// noSuchPhase is the refusal of a phase, or of a visit, that a run does not have.
func noSuchPhase(err error, trace *report.Trace, phase string) error {
	var names []string
	for _, p := range trace.Phases {
		names = append(names, p.Name)
	}
	if slices.Contains(names, phase) {
		names = nil // it is the visit that is not there
	}
	return (&problem{exit: Usage, err: err}).hintNear(phase, names, "`foundry show %s` lists its phases", trace.ID)
}

// recordsOnly is the place of the records alone: verbs that only read need no git.
func (s *session) recordsOnly() *place {
	return &place{store: journal.At(s.home())}
}

// graphOf is the run's own pipeline, nil when its record does not give it: views do without.
func (s *session) graphOf(pl *place, id string, events []runner.Event) *graph.Graph {
	info := started(events)
	if info == nil {
		return nil
	}
	files := sourceFiles(events)
	data, err := os.ReadFile(pl.store.File(id, files[len(files)-1]))
	var src sources
	if err != nil || json.Unmarshal(data, &src) != nil {
		return nil
	}
	top, _ := repositoryTop(s.dir)
	g, found := frozenProject(top, src).names.Compile(info.Pipeline)
	if found.HasErrors() {
		return nil
	}
	return g
}

// runPhases completes a phase of a run.
func runPhases(s *session, run string) []candidate {
	_, events, err := s.recordsOnly().readRun(run)
	if err != nil {
		return nil
	}
	var out []candidate
	seen := map[string]bool{}
	for _, e := range events {
		if e.Kind == runner.PhaseQueued && !seen[e.Phase] {
			seen[e.Phase] = true
			out = append(out, candidate{word: e.Phase})
		}
	}
	return out
}

// runCandidates are the ids of the newest runs, for completion.
func runCandidates(s *session) []candidate {
	entries, err := journal.At(s.home()).Newest(20)
	if err != nil {
		return nil
	}
	out := []candidate{{word: "last", about: "the newest run"}}
	for _, e := range entries {
		out = append(out, candidate{word: e.ID, about: e.Pipeline + ", " + e.Status})
	}
	return out
}
