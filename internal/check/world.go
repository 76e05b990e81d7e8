package check

import (
	"fmt"
	"maps"
	"slices"

	"foundry/diag"
	"foundry/graph"
	"foundry/runner"
)

// This file makes up the world: each command of the machine is answered from what is given, and nothing is
// answered that is not.

// Given is one made-up outcome: of an agent's turn, a command, a criterion or a question.
type Given struct {
	Reply     string // an agent's reply
	Stop      runner.Stop
	Exit      int
	Output    string
	HasOutput bool // Output was given, be it empty
	Timeout   bool
	Approve   bool
	Note      string // of a rejection
	Files     []File
	HasFiles  bool // Files were given, be they none
	Changed   []string
	Looked    bool              // Changed was given: an empty list is an unchanged tree
	Gates     map[string]string // pass, fail or empty, by gate
	Tokens    int
	Cost      float64
	NoCost    bool // the turn did not tell its cost
	Calls     int
	HasCalls  bool
	Outputs   map[string]string // of a command, instead of reading Output
	Review    *Review           // what the reviewer answers after the turn
	Conflict  []string          // the paths at which the work does not fit what came in before, when it is merged
	Repeat    bool              // serves all that follows
	At        diag.Span         // where it was given
}

// File is a file that a turn wrote, or deleted.
type File struct {
	Path   string
	Text   string
	Delete bool
}

// World answers a machine's commands from what is given.
type World struct {
	Phases   map[string][]Given // by phase
	Criteria map[string][]Given
	Park     bool            // a question without an answer parks the run; else it is an error
	Pick     func(n int) int // which of n outstanding commands is answered next; nil: the first

	serve  func(g *graph.Graph, c runner.Command) Given // instead of the lists; for exploration
	served map[used]int
	shared map[string]int // entries of a list that serves all items, by its name: how many the one took that took the most
	tree   tree
	trees  int             // made so far, so that each new one is like no other
	named  map[string]tree // those that the machine was told
	visits map[visitKey]*visit
}

// used tells the entries of phases and criteria apart.
type used struct {
	name      string
	criterion bool
}

// NotGivenError says which outcome a run needed and a test did not give.
type NotGivenError struct {
	Name      string // a phase or a criterion
	Criterion bool
	What      string // turn, run, answer, outcome
	Visit     int    // of the phase
	N         int    // of the turns, runs or answers of the phase in the whole run, from 1
	Given     int    // how many there are
	Gate      string // a gate that needs to know what changed; "" when the entry itself is missing
	At        diag.Span
}

func (e *NotGivenError) Error() string {
	where := e.Name
	if e.Criterion {
		where = "criterion " + e.Name
	} else {
		where += fmt.Sprintf(", visit %d", e.Visit)
	}
	if e.Gate != "" {
		return fmt.Sprintf("%s, %s %d: gate %s reads `changed`, which the entry does not give; add changed: [paths], or gates: {%s: pass}", where, e.What, e.N, e.Gate, e.Gate)
	}
	switch e.Given {
	case 0:
		return fmt.Sprintf("%s: no %s is given", where, e.What)
	case 1:
		return fmt.Sprintf("%s: %s %d is not given, there is one entry", where, e.What, e.N)
	}
	return fmt.Sprintf("%s: %s %d is not given, there are %d entries", where, e.What, e.N, e.Given)
}

func (w *World) reset() {
	w.served, w.shared, w.visits, w.tree, w.trees, w.named = map[used]int{}, map[string]int{}, map[visitKey]*visit{}, tree{}, 0, map[string]tree{}
}

// answer makes the facts that a command asks for.
func (w *World) answer(g *graph.Graph, s runner.State, c runner.Command) ([]runner.Event, error) {
	e := runner.Event{Visit: c.ID.Visit, Attempt: c.ID.Attempt, Turn: c.ID.Turn}
	if c.ID.Phase >= 0 {
		e.Phase = g.Phases[c.ID.Phase].Name
	}
	switch c.ID.Kind {
	case runner.MakeWorkspace:
		e.Kind = runner.WorkspaceReady
	case runner.TakeSnapshot:
		e.Kind, e.Tree, e.Purpose = runner.SnapshotTaken, w.name(w.tree), c.Purpose.String()
	case runner.SendTurn:
		if c.Purpose.Reviews() {
			return w.reviewTurn(c, e)
		}
		given, err := w.next(g, c, w.Phases, e.Phase, "turn")
		if err != nil {
			return nil, err
		}
		w.worked(&g.Phases[c.ID.Phase], c, given)
		e.Kind, e.Reply = runner.TurnEnded, replyOf(given)
	case runner.CheckBoundary:
		v := w.visit(c)
		e.Outside = w.keepLimits(g, s, c)
		e.Kind, e.Tree, e.Changed, e.Unknown = runner.BoundaryChecked, w.name(*w.place(v)), v.paths(), !v.newest.Looked
	case runner.CheckReview:
		return w.reviewed(s, c, e), nil
	case runner.JudgeGates:
		return w.gates(g, s, c, e)
	case runner.StartCommand:
		return w.command(g, c, e)
	case runner.PutAsk:
		given, err := w.next(g, c, w.Phases, e.Phase, "answer")
		if err != nil {
			return nil, err
		}
		e.Kind, e.Answer, e.Text = runner.AskAnswered, "reject", given.Note
		if given.Approve {
			e.Answer = "approve"
		}
	case runner.UndoPhase:
		if c.Purpose == runner.ForReview {
			e.Purpose = c.Purpose.String()
		}
		v := w.visit(c)
		*w.place(v) = v.start
		e.Kind, e.Tree = runner.UndoDone, w.name(v.start)
	case runner.MakeApart:
		e.Kind = runner.ApartMade
		e.Base, e.Tree = w.makeApart(g, s, c)
	case runner.MergeBack:
		e.Kind = runner.MergedBack
		e.Outside = w.mergeBack(g, s, c)
		e.Tree = w.name(w.tree)
	case runner.CheckCriterion:
		return w.criterion(g, c, e)
	case runner.StopWork:
		return nil, nil
	default:
		panic(fmt.Sprintf("BUG: command %s has no made-up answer", c.ID))
	}
	return []runner.Event{e}, nil
}

func replyOf(given Given) *runner.Reply {
	r := &runner.Reply{Stop: given.Stop, Text: given.Reply, Tokens: given.Tokens, Cost: given.Cost, CostKnown: !given.NoCost, Calls: given.Calls, CallsKnown: given.HasCalls}
	switch r.Stop {
	case "":
		r.Stop = runner.StopEnd
	case runner.StopEnd, runner.StopTruncated:
	default:
		r.Error = "given as " + string(r.Stop)
	}
	return r
}

func (w *World) command(g *graph.Graph, c runner.Command, e runner.Event) ([]runner.Event, error) {
	ph := &g.Phases[c.ID.Phase]
	e.Kind = runner.CommandEnded
	if ph.Kind != graph.Code && len(w.Phases[ph.Name]) == 0 && w.serve == nil {
		e.Result = &runner.CommandResult{Command: nameOf(ph)}
		return []runner.Event{e}, nil
	}
	given, err := w.next(g, c, w.Phases, ph.Name, "run")
	if err != nil {
		return nil, err
	}
	w.worked(ph, c, given)
	e.Result = &runner.CommandResult{Command: nameOf(ph), Exit: given.Exit, Output: given.Output, Timeout: given.Timeout}
	runner.Counted(ph, c, e.Result)
	if given.Timeout {
		e.Result.Exit = -1
	}
	if given.Outputs != nil {
		e.Result.Outputs = given.Outputs
		for _, o := range ph.Outputs {
			if _, ok := given.Outputs[o.Name]; o.Required && !ok {
				e.Result.Missing = append(e.Result.Missing, o.Name)
			}
		}
	} else {
		e.Result.Outputs, e.Result.Missing = runner.ReadOutputs(ph.Outputs, given.Output)
	}
	return []runner.Event{e}, nil
}

// nameOf is what a code phase's feedback calls its command.
func nameOf(ph *graph.Phase) string {
	if ph.Script.Label != "" {
		return ph.Script.Label
	}
	return ph.Name
}

func (w *World) criterion(g *graph.Graph, c runner.Command, e runner.Event) ([]runner.Event, error) {
	criterion, name := criterionOf(g, c)
	given, err := w.next(g, c, w.Criteria, name, "outcome")
	if err != nil {
		return nil, err
	}
	e.Kind, e.Criterion, e.Optional = runner.CriterionDone, criterion.Name, !criterion.Required
	e.Result = &runner.CommandResult{Command: criterion.Name, Exit: given.Exit, Output: given.Output, Timeout: given.Timeout, Before: c.Before}
	e.Outcome = runner.CriterionOutcome(&criterion.Command, e.Result)
	return []runner.Event{e}, nil
}

// criterionOf is the criterion that a command checks, and its name in tests: call/name for one of a called pipeline.
func criterionOf(g *graph.Graph, c runner.Command) (of *graph.Criterion, name string) {
	list := g.BodyOf(c.ID.Phase).Criteria
	of = &list[c.ID.N%len(list)]
	if c.ID.Phase < 0 {
		return of, of.Name
	}
	return of, g.Phases[c.ID.Phase].Name + "/" + of.Name
}

// next serves the next entry of a list.
func (w *World) next(g *graph.Graph, c runner.Command, lists map[string][]Given, name, what string) (Given, error) {
	if w.serve != nil {
		return w.serve(g, c), nil
	}
	key := used{name, c.ID.Kind == runner.CheckCriterion}
	from := name
	if !key.criterion && c.ID.Phase >= 0 {
		names := servedBy(g, c.ID.Phase)
		given := func(name string) bool { _, ok := lists[name]; return ok }
		from = names[max(slices.IndexFunc(names, given), 0)]
	}
	list, n := lists[from], w.served[key]
	if from != name {
		w.shared[from] = max(w.shared[from], min(n+1, len(list)))
	}
	if n > 0 && n <= len(list) && list[n-1].Repeat {
		return list[n-1], nil
	}
	if n < len(list) {
		w.served[key]++
		return list[n], nil
	}
	err := &NotGivenError{Name: name, Criterion: key.criterion, What: what, Visit: c.ID.Visit, N: n + 1, Given: len(list)}
	if len(list) > 0 {
		err.At = list[len(list)-1].At
	}
	return Given{}, err
}

// Leftover is an entry that no run asked for, the first of its list.
type Leftover struct {
	Name      string
	Criterion bool
	Used, Of  int
	At        diag.Span
}

func (l Leftover) String() string {
	what := l.Name
	if l.Criterion {
		what = "criterion " + l.Name
	}
	return fmt.Sprintf("%s: %d of %d entries were used", what, l.Used, l.Of)
}

// Left names what was given and never asked for, by name; a repeated entry is never left over.
func (w *World) Left() []Leftover {
	var out []Leftover
	for _, criterion := range []bool{false, true} {
		lists := w.Phases
		if criterion {
			lists = w.Criteria
		}
		for _, name := range slices.Sorted(maps.Keys(lists)) {
			list, n := lists[name], w.served[used{name, criterion}]
			if !criterion {
				n = max(n, w.shared[name])
			}
			if n < len(list) && !list[n].Repeat {
				out = append(out, Leftover{Name: name, Criterion: criterion, Used: n, Of: len(list), At: list[n].At})
			}
		}
	}
	return out
}
