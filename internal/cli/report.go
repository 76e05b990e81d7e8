package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"foundry/internal/atomicfile"
	"foundry/internal/report"
	"foundry/runner"
)

func reportVerb(s *session) verb {
	formats := []string{"markdown", "html"}
	return verb{
		Command: &cli.Command{
			Name:      "report",
			Usage:     "a run as a document: outcome, checks, phases, files, cost, decisions, problems",
			ArgsUsage: "[RUN]",
			Description: `Writes what someone who was not there has to know of a run: its outcome and why, what was checked (or that nothing was), the
visits and the routes taken, the files, tokens and cost, what people decided, problems and warnings, and evidence from earlier
runs. As Markdown, or as one HTML file that loads nothing. Without RUN it is the newest.`,
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "format", Value: "markdown", Usage: "markdown or html (`FORMAT`)"},
				&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write it to a `FILE`, which is replaced"},
			},
			Action: func(c *cli.Context) error { return s.report(c, formats) },
		},
		exits:    []Exit{Failed},
		values:   map[string][]string{"format": formats},
		operands: runCandidates,
		examples: []example{
			{"foundry report last | gh pr create -F - -t \"what the run did\"", "as the text of a pull request"},
			{"foundry report last --format html -o report.html", "with the waterfall, to look at in a browser"},
		},
	}
}

func (s *session) report(c *cli.Context, formats []string) error {
	if err := atMost(c, 1); err != nil {
		return err
	}
	if err := oneOf("--format", c.String("format"), formats); err != nil {
		return err
	}
	pl := s.recordsOnly()
	id, events, err := pl.readRun(c.Args().First())
	if err != nil {
		return err
	}
	trace := report.TraceOf(id, events)
	facts := report.ReportFacts{Facts: report.Facts{Graph: s.graphOf(pl, id, events), Live: pl.store.Live(id), Now: time.Now()}}
	if !facts.Live {
		trace.Abandon()
		facts.Now = trace.Last // what was cut off did not go on until now
	}
	facts.Files, facts.Counted = s.changedFiles(events)
	text := ""
	if c.String("format") == "html" {
		if text, err = trace.HTML(facts); err != nil {
			return failure(err)
		}
	} else {
		text = trace.Markdown(facts)
	}
	if c.String("output") == "" {
		return s.print(text)
	}
	return s.writeReport(s.path(c.String("output")), text)
}

// changedFiles is what the run changed since its branch point; false when that cannot be told, as where no git is.
func (s *session) changedFiles(events []runner.Event) ([]report.FileStat, bool) {
	from, to := runTrees(events)
	if to == "" {
		return nil, false
	}
	pl, err := s.openPlace()
	if err != nil {
		return nil, false
	}
	list, err := pl.repo.NumStat(s.ctx, from, to)
	if err != nil {
		return nil, false
	}
	var files []report.FileStat
	for _, c := range list {
		files = append(files, report.FileStat(c))
	}
	return files, true
}

// writeReport replaces a file with the report, whole or not at all.
func (s *session) writeReport(path, text string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return badUsage("-o %s is no regular file", s.display(path))
	}
	err := atomicfile.Write(path, []byte(text), 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		return badUsage("-o %s: there is no directory %s", s.display(path), s.display(filepath.Dir(path)))
	}
	if err != nil {
		return failure(fmt.Errorf("write the report to %s: %w", path, err))
	}
	s.note("written to %s", s.display(path))
	return nil
}
