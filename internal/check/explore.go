package check

import (
	"fmt"
	"slices"
	"strings"

	"foundry/diag"
	"foundry/graph"
	"foundry/runner"
)

// This file explores a pipeline: it makes up outcomes, runs the pipeline with them, and says which phases, rules
// and values no test covers, and which it could not reach itself. The first run takes the usual outcome
// everywhere; each further one is an earlier one with one more outcome that is not the usual one. Runs that grow
// out of one that showed something new come first.

// DefaultRuns bounds the exploration of one pipeline.
const DefaultRuns = 2000

// Exploration is what an exploration of one pipeline found.
type Exploration struct {
	Graph *graph.Graph
	Runs  int
	Whole bool   // no way was left to try; else it ended at the bound, or when all was reached
	Items []Item // in the order of the file
}

// Item is one thing that a test can cover.
type Item struct {
	What    string // "phase build", "phase human skipped", `rule "on fail -> build retry 2" of test`, …
	At      diag.Span
	Covered bool     // by a test
	Reached bool     // by the exploration
	By      []string // the unusual outcomes that led there, in order, when it was reached
}

// script is the choices of a run: the first of the decisions that are not the usual ones.
type script []int

// decision is one choice of a run.
type decision struct {
	name    string // the phase, param or criterion
	options int
	chose   string
	usual   bool
}

// explorer is one exploration under way.
type explorer struct {
	g       *graph.Graph
	space   *space
	reached *coverage
	items   []Item
	hits    []func(*coverage) bool // by item
	seen    map[string]bool        // what some run showed
	fresh   []script               // children of runs that showed something new
	stale   []script
}

// Explore explores a pipeline in at most a number of runs; tests are the runs of its tests.
func Explore(g *graph.Graph, tests []Run, limit int) (*Exploration, error) {
	x := &explorer{g: g, space: newSpace(g), reached: newCoverage(g), seen: map[string]bool{}, fresh: []script{nil}}
	byTests := newCoverage(g)
	for _, t := range tests {
		byTests.add(g, t.Events, x.space.values)
	}
	x.ways()
	for i, hit := range x.hits {
		x.items[i].Covered = hit(byTests)
	}
	runs := 0
	for ; runs < limit && len(x.fresh)+len(x.stale) > 0 && !x.done(); runs++ {
		next := x.pop()
		if err := x.run(next); err != nil {
			return nil, fmt.Errorf("exploring %s: %w", g.Pipeline, err)
		}
	}
	return &Exploration{Graph: g, Runs: runs, Whole: len(x.fresh)+len(x.stale) == 0, Items: x.items}, nil
}

func (x *explorer) pop() script {
	queue := &x.fresh
	if len(x.fresh) == 0 {
		queue = &x.stale
	}
	next := (*queue)[0]
	*queue = (*queue)[1:]
	return next
}

func (x *explorer) done() bool {
	return !slices.ContainsFunc(x.items, func(i Item) bool { return !i.Reached })
}

// run plays a script and queues what grows out of it.
func (x *explorer) run(s script) error {
	info := runner.RunInfo{ID: "run_test", Pipeline: x.g.Pipeline, Params: map[string]string{}, Jobs: 1}
	var made []decision
	choose := func(name string, options int, called func(int) string) int {
		n := 0
		if len(made) < len(s) {
			n = min(s[len(made)], options-1)
		}
		made = append(made, decision{name, options, called(n), n == 0})
		return n
	}
	for _, list := range x.space.settings {
		what := "request"
		if list[0].param != "" {
			what = "params." + list[0].param
		}
		value := list[choose(what, len(list), func(i int) string { return list[i].text })]
		if value.param == "" {
			info.Request = value.text
		} else {
			info.Params[value.param] = value.text
		}
	}
	visits := map[visitKey]Given{}
	w := &World{serve: func(g *graph.Graph, c runner.Command) Given {
		if c.ID.Kind == runner.CheckCriterion {
			of, name := criterionOf(g, c)
			exits := usualExits(of.Command.ExitCodes, of.Command.Nonzero)
			return Given{Exit: exits[choose("criterion "+name, 2, func(n int) string { return fmt.Sprintf("exit: %d", exits[n]) })]}
		}
		key := visitKey{c.ID.Phase, c.ID.Visit}
		given, ok := visits[key]
		if !ok {
			list := x.space.of(g, c.ID.Phase)
			given = list[choose(g.Phases[c.ID.Phase].Name, len(list), func(n int) string { return list[n].name })].given
			visits[key] = given
		}
		return given
	}}
	run, err := Simulate(x.g, info, w)
	if err != nil {
		return err
	}
	x.learn(s, made, run)
	return nil
}

// learn takes down what a run reached and queues its children.
func (x *explorer) learn(s script, made []decision, run Run) {
	x.reached.add(x.g, run.Events, x.space.values)
	for i, hit := range x.hits {
		if !x.items[i].Reached && hit(x.reached) {
			x.items[i].Reached, x.items[i].By = true, unusual(made)
		}
	}
	isNew := x.showsNew(run)
	for k := len(s); k < len(made); k++ {
		for n := 1; n < made[k].options; n++ {
			child := make(script, k+1)
			copy(child, s)
			child[k] = n
			if isNew {
				x.fresh = append(x.fresh, child)
			} else if len(x.stale) < 100*DefaultRuns {
				x.stale = append(x.stale, child)
			}
		}
	}
}

// showsNew says whether the run came to something that none before it did: a phase visited once more, a rule
// used once more, another end.
func (x *explorer) showsNew(run Run) bool {
	found := false
	note := func(what string) {
		if !x.seen[what] {
			x.seen[what], found = true, true
		}
	}
	for i := range run.Events {
		switch e := &run.Events[i]; e.Kind {
		case runner.PhaseStarted:
			note(fmt.Sprintf("%s@%d", e.Phase, e.Visit))
		case runner.PhaseEnded, runner.PhaseSkipped, runner.PhaseNotRun:
			note(fmt.Sprintf("%s %s %s %s", e.Kind, e.Phase, e.Status, e.Reason))
		case runner.RouteTaken, runner.RouteSpent:
			note(fmt.Sprintf("%s %s %s %d", e.Kind, e.Phase, e.Rule, e.Used))
		case runner.RunEnded:
			note(fmt.Sprintf("end %s %s", e.Status, e.Reason))
		}
	}
	return found
}

func unusual(made []decision) []string {
	var out []string
	for _, d := range made {
		if !d.usual {
			out = append(out, d.name+" {"+d.chose+"}")
		}
	}
	return out
}

// ways lists the items in the order of the file; reached says of each whether some runs went that way. The ways of
// a called pipeline are its own: it is explored by itself.
func (x *explorer) ways() {
	add := func(at diag.Span, hit func(*coverage) bool, format string, args ...any) {
		x.items = append(x.items, Item{What: fmt.Sprintf(format, args...), At: at})
		x.hits = append(x.hits, hit)
	}
	for _, i := range x.g.Own {
		ph := &x.g.Phases[i]
		add(ph.Span, func(c *coverage) bool { return c.visited[i] }, "phase %s", ph.Name)
		if ph.When != nil {
			add(ph.When.Span(), func(c *coverage) bool { return c.skipped[i] }, "phase %s, skipped", ph.Name)
		}
		if ph.Each != nil {
			add(ph.Span, func(c *coverage) bool { return c.items[i] }, "an item of %s", ph.Name)
			for _, r := range ph.Each.Rules {
				add(r.Span, func(c *coverage) bool { return c.again[itemRule{i, r.Text}] }, "rule %q of an item of %s, taken", r.Text, ph.Name)
				add(r.Span, func(c *coverage) bool { return c.spent[itemRule{i, r.Text}] }, "rule %q of an item of %s, used up", r.Text, ph.Name)
			}
		}
		for _, r := range x.g.RulesOf(ph.ID) {
			passed := func(c *coverage) bool { return c.passed[r.ID] }
			add(r.Span, func(c *coverage) bool { return c.taken[r.ID] }, "rule %q of %s, taken", r.Text, ph.Name)
			switch {
			case r.When != nil:
				add(r.Span, passed, "rule %q of %s, passed over", r.Text, ph.Name)
			case r.Way == graph.Back || r.Way == graph.Self:
				add(r.Span, passed, "rule %q of %s, used up", r.Text, ph.Name)
			}
		}
		if ph.RunsApart() && ph.Work() != graph.Calls {
			add(ph.Span, func(c *coverage) bool { return c.conflict[i] }, "work of %s in conflict", ph.Name)
		}
		for _, verdict := range verdicts {
			if ph.Review != nil {
				add(ph.Span, func(c *coverage) bool { return c.verdicts[judgement{i, verdict}] }, "review of %s: %s", ph.Name, verdict)
			}
		}
		for _, v := range x.space.values {
			if v.phase == ph.ID {
				add(ph.Span, func(c *coverage) bool { return c.values[v] }, "%s of %s is %s", v.field, ph.Name, v.value)
			}
		}
	}
}

// Text shows what an exploration found.
func (x *Exploration) Text() string {
	var b strings.Builder
	covered := 0
	for _, i := range x.Items {
		if i.Covered {
			covered++
		}
	}
	fmt.Fprintf(&b, "%s: tests cover %d of %d ways; %s\n", x.Graph.Pipeline, covered, len(x.Items), x.effort())
	x.list(&b, "no test covers", func(i Item) bool { return !i.Covered && i.Reached })
	x.list(&b, "no test covers, and exploration did not reach", func(i Item) bool { return !i.Covered && !i.Reached })
	x.list(&b, "a test covers what exploration did not reach", func(i Item) bool { return i.Covered && !i.Reached })
	return b.String()
}

func (x *Exploration) effort() string {
	how := "it was stopped there"
	switch {
	case !slices.ContainsFunc(x.Items, func(i Item) bool { return !i.Reached }):
		how = "they reached all of them"
	case x.Whole:
		how = "there are no other outcomes to try"
	}
	runs := "1 run was explored"
	if x.Runs != 1 {
		runs = fmt.Sprintf("%d runs were explored", x.Runs)
	}
	return runs + ", " + how
}

func (x *Exploration) list(b *strings.Builder, title string, which func(Item) bool) {
	first := true
	for _, i := range x.Items {
		if !which(i) {
			continue
		}
		if first {
			fmt.Fprintf(b, "  %s:\n", title)
			first = false
		}
		lead := place(i.At)
		if lead != "" {
			lead += ": "
		}
		fmt.Fprintf(b, "    %s%s\n", lead, i.What)
		if i.Reached {
			by := "all goes as usual"
			if len(i.By) > 0 {
				by = strings.Join(i.By, ", ")
			}
			fmt.Fprintf(b, "      reached when %s\n", by)
		}
	}
}

// coverageJSON is an exploration as scripts read it.
type coverageJSON struct {
	Pipeline string     `json:"pipeline"`
	Runs     int        `json:"runs"`
	Whole    bool       `json:"whole"`
	Items    []itemJSON `json:"items"`
}

type itemJSON struct {
	What    string   `json:"what"`
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Covered bool     `json:"covered"`
	Reached bool     `json:"reached"`
	By      []string `json:"by"`
}

func (x *Exploration) json() coverageJSON {
	out := coverageJSON{Pipeline: x.Graph.Pipeline, Runs: x.Runs, Whole: x.Whole, Items: []itemJSON{}}
	for _, i := range x.Items {
		item := itemJSON{What: i.What, Line: i.At.Position().Line, Covered: i.Covered, Reached: i.Reached, By: append([]string{}, i.By...)}
		if !i.At.IsZero() {
			item.File = i.At.Source.Name
		}
		out.Items = append(out.Items, item)
	}
	return out
}
