package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"foundry/runner"
)

func priced(at time.Time, agent, harness, model string, tokens int, cost float64) runner.Event {
	return runner.Event{At: at, Kind: runner.TurnEnded, Phase: "p", Visit: 1, Agent: agent, Harness: harness, Model: model,
		Reply: &runner.Reply{Stop: runner.StopEnd, Tokens: tokens, Cost: max(cost, 0), CostKnown: cost >= 0}}
}

// spent are runs whose turns are of two days, with one that did not tell what it cost and one that was taken over.
func spent() map[string][]runner.Event {
	begun := func(pipeline string) runner.Event {
		return runner.Event{At: noon, Kind: runner.RunStarted, Run: &runner.RunInfo{Pipeline: pipeline}}
	}
	reused := priced(noon, "builder", "claude", "", 0, 0)
	reused.Reused = &runner.Reused{Run: "run_1", Phase: "p", Visit: 1}
	rewound := runner.Event{At: noon, Kind: runner.RunRewound, To: 1}
	return map[string][]runner.Event{
		"run_1": {begun("full"), priced(noon, "builder", "claude", "opus", 1000, 0.125), rewound, priced(noon.Add(20*time.Hour), "builder", "claude", "opus", 500, 0.0625)},
		"run_2": {begun("quick"), priced(noon, "reviewer", "claude", "", 70, 0.002), reused, priced(noon, "tester", "command", "", 0, -1)},
		"run_3": {begun("quick"), {At: noon, Kind: runner.TurnEnded, Agent: "tester", Harness: "command"}},
	}
}

// own says that a model was the harness's own choice.
func own(*runner.Event) (string, bool) { return "", true }

func costsBy(by CostBy, since time.Time) *Costs {
	c := NewCosts(by, since, time.UTC)
	for _, id := range []string{"run_1", "run_2", "run_3"} {
		c.Add(id, spent()[id], own)
	}
	c.Sort()
	return c
}

func TestCosts(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for by := ByDay; by <= ByModel; by++ {
		text.WriteString(costsBy(by, time.Time{}).Text(Style{}) + "\n")
	}
	text.WriteString(costsBy(ByDay, noon.Add(time.Hour)).Text(Style{}) + "\n")
	none := costsBy(ByDay, noon.Add(1000*time.Hour))
	none.Unreadable = []string{"run_4"}
	golden(t, "costs", text.String()+none.Text(Style{}))
}

// TestCostsAreTheSumOfTheLedgers compares the sums of every grouping with what the outlines of the runs say.
func TestCostsAreTheSumOfTheLedgers(t *testing.T) {
	t.Parallel()
	for by := ByDay; by <= ByModel; by++ {
		turns, tokens, cost, told := 0, 0, 0.0, 0
		all := NewCosts(by, time.Time{}, time.UTC)
		for run, events := range map[string][]runner.Event{"a": repaired().events, "b": refused().events, "c": limited().events, "d": waiting().events,
			"run_1": spent()["run_1"], "run_2": spent()["run_2"], "run_3": spent()["run_3"]} {
			u := runner.OutlineOf(run, events).Usage
			one := NewCosts(by, time.Time{}, time.UTC)
			one.Add(run, events, own)
			all.Add(run, events, own)
			if (u.Cost != nil) != (one.Total.CostUnknown == 0) || (u.Tokens != nil) != (one.Total.TokensUnknown == 0) {
				t.Errorf("%s: the run's own usage %+v and the costs %+v differ in what is known", run, u, one.Total)
			}
			turns += u.Turns
			if u.Cost != nil && u.Tokens != nil {
				told++
				cost += *u.Cost
				tokens += *u.Tokens
				if math.Abs(or0(one.Total.Cost)-*u.Cost) > 1e-9 || or0(one.Total.Tokens) != *u.Tokens || one.Total.Turns != u.Turns {
					t.Errorf("%s: the run's own usage is %+v, its costs are %+v", run, u, one.Total)
				}
			}
		}
		all.Sort()
		sum := CostRow{}
		for _, r := range all.Rows {
			sum.Turns += r.Turns
			sum.CostUnknown += r.CostUnknown
			c, k := or0(sum.Cost)+or0(r.Cost), or0(sum.Tokens)+or0(r.Tokens)
			sum.Cost, sum.Tokens = &c, &k
		}
		if sum.Turns != turns || all.Total.Turns != turns || told < 3 || math.Abs(*sum.Cost-or0(all.Total.Cost)) > 1e-9 || *sum.Tokens != or0(all.Total.Tokens) {
			t.Errorf("by %s: rows %+v, total %+v, ledgers %d turns", all.By, sum, all.Total, turns)
		}
		if *sum.Cost < cost-1e-9 || *sum.Tokens < tokens {
			t.Errorf("by %s: less than the runs that told everything: %v of %v", all.By, *sum.Cost, cost)
		}
	}
}
