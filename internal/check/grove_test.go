package check

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"foundry/graph"
	"foundry/runner"
)

// grove has all that lies beside phases with worktrees of their own: writers, readers, questions, what is optional, items, calls,
// detours, jumps back and forward, and reviews.
const grove = loops + `
  thinker: {extends: builtin/planner, script: [{reply: x}]}
  reader: {prompt: look, writes: [], script: [{reply: x}]}
  judge: {extends: critic}
pipelines:
  inner:
    accept: all_phases_pass
    phases:
      - {id: left, needs: [], agent: coder, parallel: worktree, route: ['on fail when reason == "conflict" -> left retry 1', on fail -> next]}
      - {id: right, needs: [], run: make right, writes: [out/**], parallel: worktree, route: [on fail -> right retry 1, on fail -> next]}
      - {id: both, needs: [left, right], run: make both, route: [on fail -> left retry 1]}
  p:
    accept: passed("end")
    limits: {turns: 10000}
    params: {list: {type: list, default: [x, y, z]}}
    phases:
      - {id: plan, agent: thinker, route: [on fail -> plan retry 2]}
      - {id: api, needs: [plan], agent: coder, parallel: worktree, review: judge, revert_rejected: true, route: ['on fail when reason == "conflict" -> api retry 2', on fail -> api retry 1, on fail -> next]}
      - {id: docs, needs: [plan], agent: coder, parallel: worktree, optional: true}
      - {id: gen, needs: [plan], run: make gen, writes: [out/**], parallel: worktree, route: ['on fail when reason == "conflict" -> gen retry 2', on fail -> mend, on any -> next]}
      - {id: late, needs: [api], agent: coder, parallel: worktree, retries: 1, gates: [files_non_empty], route: [on fail -> next]}
      - {id: writer, needs: [plan], run: make it, writes: [out/**], route: [on fail -> next]}
      - {id: own, needs: [plan], agent: coder, parallel: worktree, session: fresh, route: [on fail -> next]}
      - {id: look, needs: [plan], agent: reader, route: [on fail -> next]}
      - {id: sure, needs: [look], ask: "sure?", route: [on reject -> next]}
      - id: steps
        needs: [plan]
        agent: coder
        each: {in: phases.plan.envelope.steps, limit: 5, require: any}
        parallel: worktree
        review: judge
        route:
          - on fail when reason == "conflict" -> self retry 2
          - on fail -> self retry 1
          - on fail -> next
      - {id: twice, needs: [steps], call: inner, route: [on fail -> next]}
      - {id: lists, needs: [plan], run: make list, writes: [out/**], parallel: worktree, each: {in: params.list, limit: 3, require: any}, route: ['on fail when reason == "conflict" -> self retry 1', on fail -> next]}
      - {id: end, needs: [late, own, writer, sure, twice, lists, docs], run: make, route: [on fail -> steps retry 1, on fail -> next]}
      - {id: mend, detour: true, agent: coder, parallel: worktree, route: [on any -> gen retry 1]}
`

// detours has writers and detours of which some phases that lead there wait for a writer: the detour that another one leads to
// must not run beside it.
const detours = loops + `
pipelines:
  p:
    accept: passed("fix")
    limits: {turns: 10000}
    phases:
      - {id: first, run: make, route: [on fail -> fix, on pass when exit == 0 -> fix]}
      - {id: work, needs: [], agent: coder PARALLEL}
      - {id: more, needs: [], agent: coder PARALLEL, route: [on fail -> next]}
      - {id: second, needs: [first, work], run: make, route: [on fail -> fix]}
      - {id: fix, detour: true, agent: coder PARALLEL, route: [on any -> finish]}
      - {id: last, needs: [more], run: make, route: [on fail -> next]}
`

// callAgain enters a call that is optional a second time.
const callAgain = loops + `
pipelines:
  inner:
    phases: [{id: one, agent: coder, parallel: worktree, route: [on fail -> next]}]
  p:
    limits: {turns: 10000}
    phases:
      - {id: sub, call: inner, optional: true}
      - {id: beside, needs: [], agent: coder}
      - {id: test, needs: [sub], run: make, route: [on any -> sub retry 1, on any -> next]}
`

// orders is how many random orders each fixed graph is played in, in all of its fates together.
func orders(t *testing.T) int {
	t.Helper()
	s := os.Getenv("FOUNDRY_SCENARIOS")
	switch {
	case s == "" && testing.Short():
		return 100
	case s == "":
		return 500
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("FOUNDRY_SCENARIOS: %v", err)
	}
	return n
}

// TestForests plays fixed graphs with many fates, each in many orders of completion with one to eight jobs, killed at random
// events: what each visit sees, how it ends, which rules are taken, the verdict, and every file at the end are the same.
func TestForests(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		share      int // of the orders
	}{
		{"grove", grove, 1}, {"detours", strings.ReplaceAll(detours, " PARALLEL", ""), 4}, {"detours apart", strings.ReplaceAll(detours, " PARALLEL", ", parallel: worktree"), 4}, {"a call again", callAgain, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := compile(t, tt.text, "p")
			r := rand.New(rand.NewPCG(11, 12))
			const each = 3 // orders with one fate, each of them killed twice as well
			merged, conflicts, beside := 0, 0, 0
			for i := range max(orders(t)/(3*each)/tt.share, 1) {
				c := newComparison(t, g, tt.text, randomFate(r))
				merged, conflicts = merged+c.merged, conflicts+c.conflicts
				for j := range each {
					beside = max(beside, c.orders(1+(each*i+j)%8, r))
					c.ends(r)
				}
			}
			if strings.Contains(tt.text, "parallel") && merged == 0 || tt.name == "grove" && (conflicts == 0 || beside < 3) {
				t.Errorf("%d merges, %d conflicts, %d at a time", merged, conflicts, beside)
			}
		})
	}
}

func randomFate(r *rand.Rand) *fate {
	f := &fate{}
	for range 40 {
		f.seed = append(f.seed, r.IntN(12))
	}
	return f
}

// comparison holds runs of one graph with one fate to the first of them.
type comparison struct {
	t         tester
	g         *graph.Graph
	text      string
	f         *fate
	first     *forest
	want      string
	merged    int
	conflicts int
}

func newComparison(t tester, g *graph.Graph, text string, f *fate) *comparison {
	c := &comparison{t: t, g: g, text: text, f: f}
	c.first = growing{t: t, g: g, f: f, jobs: 1}.start(func(int) int { return 0 })
	c.want = c.first.account()
	for i := range c.first.p.log {
		if e := &c.first.p.log[i]; e.Kind == runner.MergedBack {
			if c.merged++; len(e.Outside) > 0 {
				c.conflicts++
			}
		}
	}
	return c
}

// orders plays another order, and then the same killed once and twice. It says how many visits were at work apart at a time.
func (c *comparison) orders(jobs int, r *rand.Rand) int {
	x := growing{t: c.t, g: c.g, f: c.f, jobs: jobs, full: jobs%2 == 0}
	w := x.start(r.IntN)
	c.same(w, fmt.Sprintf("%d at a time", jobs))
	cut := 1 + r.IntN(len(w.p.log)-1)
	how := fmt.Sprintf("%d at a time, killed after %d of %d", jobs, cut, len(w.p.log))
	again := x.goOn(w, cut, r, r.IntN)
	c.same(again, how)
	c.same(x.goOn(again, min(cut+r.IntN(20), len(again.p.log)), r, r.IntN), how+", twice")
	return w.most
}

// ends plays another order, in which something ends the run at a random step, or interrupts it: then it goes on as if
// nothing had been. Nothing of it runs in the end.
func (c *comparison) ends(r *rand.Rand) {
	e := []runner.Event{{Kind: runner.RunKilled}, {Kind: runner.BudgetReached, Limit: "time"}, {Kind: runner.WorldFailed, Text: "the disk is full"},
		{Kind: runner.RunInterrupted}}[r.IntN(4)]
	w := growing{t: c.t, g: c.g, f: c.f}.forest(r.IntN)
	w.p.feed(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: "run_1", Pipeline: "p", Jobs: 1 + r.IntN(8)}})
	for range r.IntN(len(c.first.p.log)) {
		w.p.once()
	}
	if w.p.s.View().Ended {
		return
	}
	w.p.feed(e)
	if e.Kind == runner.RunInterrupted {
		w.p.open = nil
		w.p.feed(runner.Event{Kind: runner.RunResumed})
	}
	s, _ := w.p.toTheEnd()
	w.rests()
	switch {
	case e.Kind == runner.RunInterrupted:
		c.same(w, "interrupted")
	case s.View().Status == runner.RunAccepted:
		c.t.Fatalf("%s, and the run is accepted", e.Kind)
	}
}

// same compares a run with the first one. What ends a pipeline at once leaves open what else of it ran by then.
func (c *comparison) same(w *forest, how string) {
	was, now := c.first.p.s.View(), w.p.s.View()
	atOnce := was.Reason == runner.ReasonAbort || was.Reason == runner.ReasonSpent
	switch got := w.account(); {
	case strings.Contains(c.text, "fail_fast"):
	case atOnce:
		if was.Status != now.Status {
			c.t.Fatalf("%s: %s instead of %s\n%s", how, now.Status, was.Status, c.text)
		}
	case got != c.want:
		c.t.Fatalf("%s: it goes another way\n%s\n--- want\n%s--- got\n%s", how, c.text, lacking(c.want, got), lacking(got, c.want))
	}
}

// lacking are the lines of an account that another one lacks.
func lacking(of, in string) string {
	have := strings.Split(in, "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(of, "\n"), func(line string) bool { return slices.Contains(have, line) }), "\n") + "\n"
}

// TestRandomForests does the same with random pipelines.
func TestRandomForests(t *testing.T) {
	t.Parallel()
	merged, conflicts, beside := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := randomPipelines(t)
		g := tryCompile(text)
		if g == nil || !slices.ContainsFunc(g.Phases, func(ph graph.Phase) bool { return ph.RunsApart() }) {
			t.Skip("does not compile, or has no such phase")
		}
		f := &fate{seed: rapid.SliceOfN(rapid.IntRange(0, 11), 40, 40).Draw(t, "fate")}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 1))
		c := newComparison(t, g, text, f)
		merged, conflicts = merged+c.merged, conflicts+c.conflicts
		for _, jobs := range []int{2, 3, 8} {
			beside = max(beside, c.orders(jobs, r))
			c.ends(r)
		}
	})
	if merged == 0 && !testing.Short() {
		t.Errorf("%d merges, %d conflicts, %d at a time", merged, conflicts, beside)
	}
}
