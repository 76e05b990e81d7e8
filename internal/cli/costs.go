package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"foundry/graph"
	"foundry/internal/report"
	"foundry/runner"
)

func costsVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:  "costs",
			Usage: "what agents used over all runs",
			Description: `Adds up the turns, tokens and cost of all recorded runs, by the day on which a turn ended, by pipeline, by agent or by model. A
turn that did not tell what it cost is counted and said, never taken as free. What was taken over from an earlier run
cost nothing again and is not counted. Records that were swept away are in no sum.`,
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "by", Value: "day", Usage: "day, pipeline, agent or model (`WHAT`)"},
				&cli.StringFlag{Name: "since", Usage: "only turns that ended since: 2026-11-30, or 7d, 12h ago (`WHEN`)"},
				jsonFlag(),
			},
			Action: s.costs,
		},
		exits:  []Exit{Failed},
		values: map[string][]string{"by": report.CostWords()},
		examples: []example{
			{"foundry costs", "a line a day"},
			{"foundry costs --by model --since 7d", "the last seven days, by model"},
			{"foundry costs --json | jq .total.cost", "for a script"},
		},
	}
}

func (s *session) costs(c *cli.Context) error {
	if err := atMost(c, 0); err != nil {
		return err
	}
	if err := oneOf("--by", c.String("by"), report.CostWords()); err != nil {
		return err
	}
	since, err := sinceWhen(c.String("since"), time.Now())
	if err != nil {
		return err
	}
	pl := s.recordsOnly()
	entries, err := pl.store.List()
	if err != nil {
		return failure(err)
	}
	sums := report.NewCosts(report.CostByWord(c.String("by")), since, time.Local)
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		if e.Problem == "" && e.Usage.Turns == 0 {
			continue
		}
		events, err := pl.store.Read(e.ID)
		if err != nil {
			sums.Unreadable = append(sums.Unreadable, e.ID)
			continue
		}
		sums.Add(e.ID, events, s.modelOf(pl, e.ID, events))
	}
	sums.Sort()
	if c.Bool("json") {
		return s.printJSON(sums)
	}
	return s.print(sums.Text(s.style()))
}

// modelOf tells the model of turns whose events do not name one, from the pipeline that the record has.
func (s *session) modelOf(pl *place, id string, events []runner.Event) func(*runner.Event) (string, bool) {
	var g *graph.Graph
	asked := false
	return func(e *runner.Event) (string, bool) {
		if !asked {
			g, asked = s.graphOf(pl, id, events), true
		}
		if g == nil {
			return "", false
		}
		phase, ok := g.Lookup(e.Phase)
		for i := range g.Agents {
			if ok && g.Agents[i].Name == e.Agent {
				return g.Model(phase, i), true
			}
		}
		return "", false
	}
}

// sinceWhen is the time that --since names: a day, a day with a time, or how long ago.
func sinceWhen(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.DateOnly, "2006-01-02 15:04", "2006-01-02T15:04", time.RFC3339} {
		if at, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return at, nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n <= 36500 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, badUsage("--since %q: not a time", text).hintf("a day as 2026-11-30, or how long ago as 7d, 12h, 30m")
}
