package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"foundry/graph"
	"foundry/runner"
)

// This file holds the machine to what is promised of phases with worktrees of their own, with trees that are real: what a
// visit writes depends on all that it sees, so that whatever it sees otherwise in another order shows in the end.

// files is a tree. It is never changed.
type files map[string]string

func (f files) with(path, text string) files {
	out := maps.Clone(f)
	if out == nil {
		out = files{}
	}
	out[path] = text
	return out
}

func (f files) without(path string) files {
	out := maps.Clone(f)
	delete(out, path)
	return out
}

func (f files) name() string {
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(h, "%d %s %d %s\n", len(path), path, len(f[path]), f[path])
	}
	return "t" + hex.EncodeToString(h.Sum(nil)[:6])
}

// combined is what two trees make of the one that both began from: path by path, and where they do not fit as in ours.
func combined(base, ours, theirs files) (out files, conflicts []string) {
	out = ours
	paths := maps.Clone(base)
	if paths == nil {
		paths = files{}
	}
	maps.Copy(paths, theirs)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		was, had := base[path]
		mine, have := ours[path]
		new, has := theirs[path]
		switch {
		case has == had && new == was, has == have && new == mine: // they left it, or both came to the same
		case have != had || mine != was:
			conflicts = append(conflicts, path)
		case has:
			out = out.with(path, new)
		default:
			out = out.without(path)
		}
	}
	return out, conflicts
}

// forest is the world of a run: its workspace, and the worktrees of visits.
type forest struct {
	p     *player
	f     *fate
	run   files
	own   map[string]files  // by visit
	trees map[string]files  // by name; all that were ever told
	saw   map[string]string // what each turn and command saw
	torn  bool              // the process died in the middle of a merge
	full  map[string]bool   // turns for which there was a usage limit; nil: there is none
	past  []moment
	most  int // visits that were at work at a time
}

// moment is what the world was from when the log had a number of events.
type moment struct {
	events int
	run    files
	own    map[string]files
	saw    map[string]string
	torn   bool
}

func (w *forest) visit(c runner.Command) string {
	return fmt.Sprintf("%s@%d", w.p.g.Phases[c.ID.Phase].Name, c.ID.Visit)
}

func (w *forest) apart(c runner.Command) bool {
	return c.ID.Phase >= 0 && w.p.g.Phases[c.ID.Phase].Apart
}

// at is where a command works.
func (w *forest) at(c runner.Command) files {
	if !w.apart(c) {
		return w.run
	}
	tree, ok := w.own[w.visit(c)]
	if !ok {
		w.p.t.Fatalf("%s works in a worktree that is not there", c.ID)
	}
	return tree
}

func (w *forest) put(c runner.Command, tree files) {
	if w.apart(c) {
		w.own = maps.Clone(w.own)
		w.own[w.visit(c)] = tree
	} else {
		w.run = tree
	}
}

func (w *forest) name(tree files) string {
	w.trees[tree.name()] = tree
	return tree.name()
}

// start is what the visit of a command began from.
func (w *forest) start(c runner.Command) files {
	for i := range w.p.log {
		e := &w.p.log[i]
		if e.Phase == w.p.g.Phases[c.ID.Phase].Name && e.Visit == c.ID.Visit && (e.Kind == runner.SnapshotTaken && !w.apart(c) || e.Kind == runner.ApartMade) {
			return w.trees[e.Tree]
		}
	}
	w.p.t.Fatalf("%s, and nobody knows from where", c.ID)
	return nil
}

// answer carries a command out, and tells of it in its event.
func (w *forest) answer(c runner.Command, e *runner.Event) {
	switch c.ID.Kind {
	case runner.TakeSnapshot:
		e.Tree, e.Ref = w.name(w.run), fmt.Sprintf("ref %d", len(w.p.log))
	case runner.MakeApart:
		a := w.asked(c)
		start, _ := combined(w.trees[a.LeftBase], w.trees[a.Tree], w.trees[a.LeftTree])
		w.put(c, start)
		e.Base, e.Tree = a.Tree, w.name(start)
	case runner.MergeBack:
		a := w.asked(c)
		if w.run.name() != a.Run && !w.torn {
			w.p.t.Fatalf("%s is merged into another tree than the machine knows of", w.visit(c))
		}
		if w.at(c).name() != a.End {
			w.p.t.Fatalf("the machine does not know what %s has come to", w.visit(c))
		}
		both, conflicts := combined(w.trees[a.Base], w.trees[a.Run], w.trees[a.End])
		e.Outside, e.Tree, w.torn = nil, "", false
		for _, path := range conflicts {
			e.Outside = append(e.Outside, runner.Violation{Path: path, Change: "conflict", Reason: "both changed it"})
		}
		if w.run = w.trees[a.Run]; len(conflicts) == 0 {
			w.run = both
			e.Tree, e.Ref = w.name(both), fmt.Sprintf("ref %d", len(w.p.log))
		}
	case runner.SendTurn:
		if key := w.key(c); w.full != nil && !w.full[key] && w.f.roll("limit "+key, 0) < 3 {
			w.full[key] = true
			e.Reply = &runner.Reply{Stop: runner.StopLimit, Error: "the limit is reached"}
			break
		}
		if visit := w.p.at.name(w.p.g, e.Phase, c.ID.Visit); !c.Purpose.Reviews() && strings.HasSuffix(visit, "@1/") && w.f.roll(visit, 0) == 11 {
			e.Reply.Text = `{"status": "blocked", "approved": true, "blocked": {"reason": "no key", "needs": "a key"}}`
		}
		w.works(c)
	case runner.StartCommand:
		w.works(c)
	case runner.CheckBoundary:
		e.Tree, e.Changed = w.name(w.at(c)), changedBetween(w.start(c), w.at(c))
	case runner.CheckReview:
		e.Tree = w.name(w.at(c))
	case runner.UndoPhase:
		w.put(c, w.start(c))
		e.Tree = w.name(w.at(c))
	}
	w.past = append(w.past, moment{len(w.p.log) + 1, w.run, w.own, w.saw, w.torn})
}

func (w *forest) asked(c runner.Command) runner.Apart {
	a, ok := w.p.s.Apart(w.p.g, c.ID.Phase)
	if !ok {
		w.p.t.Fatalf("%s, and the machine does not know of what", c.ID)
	}
	return a
}

func changedBetween(a, b files) []string {
	out := []string{}
	all := maps.Clone(b)
	if all == nil {
		all = files{}
	}
	maps.Copy(all, a)
	for path := range all {
		was, had := a[path]
		now, has := b[path]
		if was != now || had != has {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// key names a turn or a command.
func (w *forest) key(c runner.Command) string {
	return fmt.Sprintf("%s %d.%d.%d", w.p.at.name(w.p.g, w.p.g.Phases[c.ID.Phase].Name, c.ID.Visit), c.ID.Attempt, c.ID.Turn, c.ID.N)
}

// works is a turn or a command: it takes down what it sees, and what may write does, in a file of its own and often in one
// that others write as well.
func (w *forest) works(c runner.Command) {
	ph := &w.p.g.Phases[c.ID.Phase]
	tree := w.at(c)
	visit, key := w.p.at.name(w.p.g, ph.Name, c.ID.Visit), w.key(c)
	w.saw = maps.Clone(w.saw)
	w.saw[key] = tree.name()
	if !ph.Writer || c.Purpose.Reviews() {
		return
	}
	tree = tree.with("own/"+ph.Name, visit+" saw "+tree.name())
	roll := w.f.roll("writes "+visit, c.ID.Turn)
	shared := fmt.Sprintf("shared/%d", roll%2)
	switch roll {
	case 0, 1, 2, 3:
		tree = tree.with(shared, visit)
	case 4:
		tree = tree.with(shared, "the same")
	case 5:
		tree = tree.without(shared)
	}
	w.put(c, tree)
}

// holds is checked before each step.
func (w *forest) holds() {
	open := runner.Outstanding(w.p.g, w.p.s)
	merges, apart, writers, others := 0, 0, 0, 0 // others are those that read
	for _, c := range open {
		if c.ID.Phase < 0 {
			continue
		}
		ph := &w.p.g.Phases[c.ID.Phase]
		switch c.ID.Kind {
		case runner.MergeBack:
			merges++
		case runner.PutAsk, runner.StopWork:
		case runner.SendTurn, runner.StartCommand, runner.CheckBoundary, runner.CheckReview, runner.UndoPhase, runner.MakeApart:
			switch {
			case ph.Apart:
				apart++
			case ph.Writer:
				writers++
			case ph.Kind != graph.Noop:
				others++
			}
		case runner.TakeSnapshot:
			if !ph.Apart {
				others++
			}
		}
	}
	if merges > 1 || merges+writers > 1 || others > 0 && apart+merges+writers > 0 || apart > 0 && writers > 0 {
		w.p.t.Fatalf("%d merges, %d at work apart, %d writers and %d others at a time: %v\n%s", merges, apart, writers, others, open, w.p.g.Text())
	}
	w.most = max(w.most, apart)
}

// account is all that must not depend on the order in which things end.
func (w *forest) account() string {
	p := w.p
	var b strings.Builder
	b.WriteString(story(p.g, p.s, p.log))
	if slices.ContainsFunc(p.log, func(e runner.Event) bool { return e.Kind == runner.PhaseEnded && e.Reason == runner.ReasonSpent }) {
		return b.String() // what else of a call ran by then is the order's
	}
	routes := map[string][]string{}
	at := newRounds()
	for i := range p.log {
		e := &p.log[i]
		at.add(p.g, e)
		if e.Kind == runner.RouteTaken || e.Kind == runner.PhaseEnded {
			routes[e.Phase] = append(routes[e.Phase], fmt.Sprintf("%s %s %s %s", at.name(p.g, e.Phase, e.Visit), e.Reason, e.Rule, e.Text))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		fmt.Fprintf(&b, "%s: %q\n", name, routes[name])
	}
	for _, key := range slices.Sorted(maps.Keys(w.saw)) {
		fmt.Fprintf(&b, "%s saw %s\n", key, w.saw[key])
	}
	for _, path := range slices.Sorted(maps.Keys(w.run)) {
		fmt.Fprintf(&b, "%s: %s\n", path, w.run[path])
	}
	return b.String()
}

// growing plays a graph in a forest.
type growing struct {
	t    tester
	g    *graph.Graph
	f    *fate
	jobs int
	full bool // usage limits are reached now and then
}

func (x growing) forest(pick func(int) int) *forest {
	w := &forest{f: x.f, own: map[string]files{}, trees: map[string]files{}, saw: map[string]string{}}
	if x.full {
		w.full = map[string]bool{}
	}
	w.p = &player{t: x.t, g: x.g, f: x.f, s: runner.New(x.g), at: newRounds(), instead: w.answer, lift: "go on"}
	w.p.pick = func(n int) int {
		w.holds()
		return pick(n)
	}
	return w
}

// start plays it from the start to the end.
func (x growing) start(pick func(int) int) *forest {
	w := x.forest(pick)
	w.p.feed(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: "run_1", Pipeline: "p", Jobs: x.jobs}})
	w.p.toTheEnd()
	w.rests()
	return w
}

// goOn is what becomes of a run whose process died when its log had a number of events: its world is as the last fact has
// left it, what turns and commands had begun is undone, and worktrees and merges are half done.
func (x growing) goOn(was *forest, cut int, r *rand.Rand, pick func(int) int) *forest {
	s, missing, err := runner.Replay(x.g, was.p.log[:cut], nil)
	if err != nil {
		x.t.Fatalf("replay: %v", err)
	}
	w := x.forest(pick)
	p := w.p
	p.s, p.g, p.log = s, s.Graph(x.g), append(slices.Clone(was.p.log[:cut]), missing...)
	for i := range p.log {
		p.at.add(p.g, &p.log[i])
	}
	w.trees = maps.Clone(was.trees)
	for _, m := range was.past {
		if m.events <= cut {
			w.run, w.own, w.saw, w.torn = m.run, m.own, m.saw, m.torn
		}
	}
	w.past = []moment{{cut, w.run, w.own, w.saw, w.torn}}
	if s.View().Ended {
		return w
	}
	for _, c := range runner.Outstanding(p.g, s) {
		switch {
		case r.IntN(2) == 0:
		case c.ID.Kind == runner.MergeBack:
			w.run, w.torn = w.run.with("torn", "by "+w.visit(c)), true
		case c.ID.Kind == runner.MakeApart:
			w.put(c, files{"torn": ""})
		}
	}
	p.feed(runner.Event{Kind: runner.RunResumed})
	p.toTheEnd()
	w.rests()
	return w
}

// rests is checked of a run that has ended.
func (w *forest) rests() {
	for i := range w.p.g.Phases {
		if st := w.p.s.Phase(graph.PhaseID(i)).Status; st == runner.Running || st == runner.Waiting {
			w.p.t.Fatalf("the run has ended, and %s is %s\n%s", w.p.g.Phases[i].Name, st, w.p.g.Text())
		}
	}
	if open := runner.Outstanding(w.p.g, w.p.s); len(open) != 1 || open[0].ID.Kind != runner.End {
		w.p.t.Fatalf("the run has ended, and %v is under way", open)
	}
	if v := w.p.s.View(); v.Tree != "" && v.Tree != w.run.name() {
		w.p.t.Fatalf("the machine takes the workspace for %s, and it is %s", v.Tree, w.run.name())
	}
}
