package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"foundry/graph"
	"foundry/internal/drive"
	"foundry/internal/journal"
	"foundry/runner"
)

func resumeVerb(s *session) verb {
	return verb{
		Command: &cli.Command{
			Name:      "resume",
			Usage:     "continue a run that was interrupted, crashed, parked, rejected or failed",
			ArgsUsage: "[RUN]",
			Description: `Goes on with a run where it stood. Finished phases are not run again; a phase that was cut off is put back to where its
last turn began and goes on from there, with what it had changed kept under a ref. A run that was rejected or failed
starts again at the phase that ended it, or at --from; one that a criterion rejected checks that again.

What you changed in the workspace meanwhile stays, and what had judged it before judges it again.

When the pipeline file was edited since, the difference is shown and the run goes on with what it says now: phases that
say the same keep their results, and one that had not ended is simply the new one. A phase that has ended and says
something else runs again, with all that depends on it, and only with --force, since it is paid for again.
--keep-pipeline goes on with the pipeline as the record has it.

What follows the end of a run (after) is started once. What was not begun when Foundry died is done now, before anything
else, and of a run that was rejected or failed nothing else is, unless a flag says how the pipeline is to go on; what had begun
is reported, and only --after starts it again.

Counters and budgets stay used: --retry and --limit grant more, for the record. So does -j, which holds from then on.`,
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "from", Usage: "start again at `PHASE`"},
				&cli.IntFlag{Name: "retry", Usage: "allow `N` more jumps of the rule that was spent"},
				&cli.StringSliceFlag{Name: "limit", Usage: "raise a budget, as `NAME=+N`: time=+30m, turns=+20, tokens=+100000, cost=+2.50, phases=+10"},
				&cli.IntFlag{Name: "jobs", Aliases: []string{"j"}, Usage: "run `N` phases at a time from here on; as many as before when absent"},
				&cli.BoolFlag{Name: "force", Usage: "run finished phases again that the edited pipeline defines otherwise"},
				&cli.BoolFlag{Name: "keep-pipeline", Usage: "go on with the recorded pipeline, whatever the file says now"},
				&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "a `NOTE` for the phases that are blocked"},
				&cli.StringFlag{Name: "after", Usage: "start the command `ID` of after, whatever became of it before, and nothing else"},
				&cli.StringFlag{Name: "output", Value: "auto", Usage: "auto, tty, plain or json (`FORM`); auto is tty on a terminal"},
				&cli.BoolFlag{Name: "no-input", Usage: "ask nothing; an ask phase parks the run"},
			},
			Action: s.resume,
		},
		exits:    []Exit{Refused, Failed, Parked, OverBudget, Interrupted},
		values:   map[string][]string{"output": runForms()},
		operands: runCandidates,
		phases:   runPhases,
		examples: []example{
			{"foundry resume last", "after a crash, a reboot, or ctrl-c"},
			{"foundry resume last --retry 2", "a loop was spent: allow two more rounds"},
			{"foundry resume run_261130_4f2a --limit turns=+20", "more turns"},
			{"foundry resume last -j 1", "one phase at a time from here on"},
			{"foundry resume last --force", "the pipeline was edited, finished phases among it"},
			{"foundry resume last --after push", "what followed the run failed, or was cut off"},
			{"foundry resume last -m \"the key is in .env now\"", "a phase was blocked"},
		},
	}
}

func (s *session) resume(c *cli.Context) error {
	form, err := s.runForm(c)
	if err := errors.Join(atMost(c, 1), err, checkJobs(c)); err != nil {
		return err
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
	if c.String("after") != "" && goesOn(c) != "" {
		return badUsage("--after and --%s exclude each other", goesOn(c)).hintf("--after starts that command, and nothing else")
	}
	if id := c.String("after"); id != "" || landedOrAccepted(rec) {
		if done, err := s.resumeAfter(pl, rec, id, form); done && goesOn(c) == "" || err != nil {
			return err
		}
	}
	over, err := s.unfinishedEnd(pl, rec, form)
	if over != nil && err == nil {
		err = s.finishEnd(*over, goesOn(c) != "")
	}
	if err != nil || over != nil && goesOn(c) == "" {
		return err
	}
	again, err := s.replay(pl, rec)
	if err != nil {
		return err
	}
	judged := slices.ContainsFunc(again.missing, func(e runner.Event) bool { return e.Kind == runner.RunEnded })
	if judged && again.state.View().Status != runner.RunFailed {
		// All was done but to write the verdict down. One that could not be carried out goes on.
		if err := drive.Note(again.graph, rec, again.state, again.missing, time.Now); err != nil {
			return s.broken(*again, err)
		}
		again.format = form
		if err := s.finishEnd(*again, goesOn(c) != ""); err != nil || goesOn(c) == "" {
			return err
		}
		if again, err = s.replay(pl, rec); err != nil {
			return err
		}
	}
	grants, err := s.grants(c, again)
	if err != nil {
		return err
	}
	resumed := runner.Event{Kind: runner.RunResumed, Who: who(), Text: c.String("message")}
	if c.IsSet("jobs") {
		resumed.Jobs, resumed.Agents = jobs(c.Int("jobs"))
	}
	if !c.Bool("keep-pipeline") {
		if err := s.edited(again, &resumed, c.Bool("force")); err != nil {
			return err
		}
	}
	if resumed.Phase, err = again.from(c.String("from")); err != nil {
		return err
	}
	if again.edited != nil {
		if found := s.writtenSecrets(again.project, again.edited); len(found) > 0 {
			return s.unfit(found)
		}
		rec.Hide(s.mask(again.graph, again.edited))
		if resumed.File, err = keepPipeline(rec, again.project, encodeJSON(again.edited)); err != nil {
			return failure(err)
		}
	}
	again.first = append(append(grants, resumed), overdue(again, time.Now())...)
	again.format, again.input = form, s.interactive(c)
	return s.drive(*again)
}

// goesOn is a flag that was given and says that the pipeline of the run is to go on; "" when there is none.
func goesOn(c *cli.Context) string {
	for _, name := range []string{"from", "retry", "limit", "jobs", "force", "keep-pipeline", "message"} {
		if c.IsSet(name) {
			return name
		}
	}
	return ""
}

// grown is the pipeline of the run with the items of the lists that it has read.
func (d *driving) grown() *graph.Graph { return d.state.Graph(d.graph) }

// from checks the phase at which a run is to go on.
func (d *driving) from(name string) (string, error) {
	g := d.graph
	if d.edited != nil {
		g = d.edited
	}
	now := d.grown()
	id, ok := now.Lookup(name)
	if d.edited != nil {
		now = graph.Regrow(now, d.edited)
		id, ok = now.Lookup(name)
	}
	switch {
	case name == "":
		return "", nil
	case !ok:
		return "", badUsage("--from %s: pipeline %s has no such phase", name, g.Pipeline).hintNear(name, []string{now.Near(name)}, "`foundry graph %s` lists them", g.Pipeline)
	}
	if owner := now.Phases[id].Owner; owner >= 0 {
		call, known := d.grown().Lookup(now.Phases[owner].Name)
		if !known || d.state.Phase(call).Visits == 0 {
			return "", badUsage("--from %s: %s has not begun", name, now.Phases[owner].Name).hintf("--from %s begins it", now.Phases[owner].Name)
		}
	}
	if now.Phases[id].Gone {
		return "", badUsage("--from %s: it is no longer in the list", name).hintf("`foundry show %s` shows what is", d.rec.ID())
	}
	return name, nil
}

// overdue are the questions whose time for an answer is over: it is judged by the next command.
func overdue(d *driving, now time.Time) []runner.Event {
	var out []runner.Event
	for _, p := range d.state.Open() {
		ph, visit := &d.grown().Phases[p], d.state.Phase(p).Visits
		for _, e := range d.rec.Events() {
			if e.Kind == runner.AskRaised && e.Tool == nil && e.Phase == ph.Name && e.Visit == visit && ph.Timeout > 0 && now.Sub(e.At) > ph.Timeout {
				out = append(out, runner.Event{Kind: runner.AskAnswered, Phase: ph.Name, Visit: visit})
			}
		}
	}
	return out
}

// reopen takes a run that is at rest back into this process: lock, log, pipeline, state.
func (s *session) reopen(arg string) (*driving, error) {
	pl, err := s.openPlace()
	if err != nil {
		return nil, err
	}
	rec, err := pl.openRun(arg)
	if err != nil {
		return nil, err
	}
	d, err := s.replay(pl, rec)
	if err != nil {
		rec.Close()
		return nil, err
	}
	return d, nil
}

// replay derives a run's state from its log.
func (s *session) replay(pl *place, rec *journal.Record) (*driving, error) {
	d, outline, err := s.derive(pl, rec)
	switch {
	case err != nil:
		return nil, err
	case outline.Status == "accepted" && !d.state.Partial(), outline.Status == "killed":
		return nil, badUsage("%s is %s; it cannot be continued", rec.ID(), outline.Status).hintf("%s", whatIsLeft(rec))
	}
	return d, nil
}

// whatIsLeft says what can still be done with a run that cannot be continued: its work may not have landed, for a reason
// that nobody has seen when the process was killed before it could say it.
func whatIsLeft(rec *journal.Record) string {
	events := rec.Events()
	for i := len(events) - 1; i >= 0; i-- {
		if e := &events[i]; e.Kind == runner.RunMerged || e.Kind == runner.RunDiscarded {
			break
		} else if e.Kind == runner.RunSettled && e.Hint != "" && e.Commit == "" {
			return e.Text + "; " + e.Hint
		}
	}
	return "`foundry show " + rec.ID() + "`"
}

// derive is replay for whatever status, as long as the run has not been landed or dropped.
func (s *session) derive(pl *place, rec *journal.Record) (*driving, runner.Outline, error) {
	var none runner.Outline
	events := rec.Events()
	info := started(events)
	if info == nil {
		return nil, none, noStart(rec.ID())
	}
	pl, err := pl.at(s.ctx, info)
	if err != nil {
		return nil, none, err
	}
	kept, err := s.kept(pl, rec.ID(), events)
	if err != nil {
		return nil, none, err
	}
	rec.Hide(s.mask(kept.newest))
	outline := runner.OutlineOf(rec.ID(), events)
	switch {
	case outline.Merged != nil:
		return nil, none, badUsage("%s is merged; there is nothing to go on with", rec.ID())
	case outline.Discarded:
		return nil, none, badUsage("%s was discarded; there is nothing to go on with", rec.ID())
	}
	state, missing, err := runner.Replay(kept.first, events, kept.edits)
	if err != nil {
		return nil, none, failure(fmt.Errorf("replay the log of %s: %w", rec.ID(), err))
	}
	ready := false
	for _, e := range events {
		ready = ready || e.Kind == runner.WorkspaceReady
	}
	out := &driving{pl: pl, rec: rec, graph: kept.newest, src: kept.src, info: info, state: state, missing: missing, make: !ready, format: "plain", kept: kept}
	return out, outline, nil
}

// grants are the events that allow more than the pipeline does.
func (s *session) grants(c *cli.Context, d *driving) ([]runner.Event, error) {
	var out []runner.Event
	if c.IsSet("retry") {
		n := c.Int("retry")
		label := spentRule(d.rec.Events())
		switch {
		case n < 1:
			return nil, badUsage("--retry %d: must be 1 or more", n)
		case label == "":
			return nil, badUsage("--retry: no rule of this run was spent").hintf("`foundry show %s` says why it ended", d.rec.ID())
		}
		out = append(out, runner.Event{Kind: runner.GrantGiven, Limit: "retry", Rule: label, Grant: float64(n), Who: who()})
	}
	for _, arg := range c.StringSlice("limit") {
		name, value, err := limitGrant(arg)
		if err != nil {
			return nil, err
		}
		out = append(out, runner.Event{Kind: runner.GrantGiven, Limit: name, Grant: value, Who: who()})
	}
	return out, nil
}

// spentRule is the label of the rule that the run last ran out of.
func spentRule(events []runner.Event) string {
	label := ""
	for _, e := range events {
		if e.Kind == runner.RouteSpent {
			label = e.Phase + " -> " + e.Target
		}
	}
	return label
}

// limitGrant reads NAME=+N; time in seconds.
func limitGrant(arg string) (string, float64, error) {
	name, text, ok := strings.Cut(arg, "=")
	amount, plus := strings.CutPrefix(text, "+")
	if !ok || !plus {
		return "", 0, badUsage("--limit %s: must be NAME=+N", arg).hintf("for instance turns=+20")
	}
	switch name {
	case "time":
		d, err := time.ParseDuration(amount)
		if err != nil || d <= 0 {
			return "", 0, badUsage("--limit %s: must be a duration with a unit, as time=+30m", arg)
		}
		return name, d.Seconds(), nil
	case "turns", "tokens", "phases", "cost":
		n, err := strconv.ParseFloat(amount, 64)
		if err != nil || n <= 0 || (name != "cost" && n != float64(int(n))) {
			return "", 0, badUsage("--limit %s: must be a number above 0", arg)
		}
		return name, n, nil
	}
	return "", 0, badUsage("--limit %s: %q is no budget", arg, name).hintf("time, turns, tokens, cost or phases")
}

func approveVerb(s *session) verb {
	return answerVerb(s, "approve", "say yes to a question that waits, and continue the run")
}
func rejectVerb(s *session) verb {
	return answerVerb(s, "reject", "say no to a question that waits, and continue the run")
}

func answerVerb(s *session, word, usage string) verb {
	return verb{
		Command: &cli.Command{
			Name:      word,
			Usage:     usage,
			ArgsUsage: "[RUN] [PHASE]",
			Description: `Answers an ask phase of a parked run, or an agent with permissions: ask that wants to do what its boundary does not
decide. The answer counts for this run, this visit and the tree that was shown, and that of an agent for this request: if
the workspace was edited since, what judged the old tree runs again and the question is put again. PHASE@VISIT makes
sure that it is that visit.`,
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "a `NOTE` that goes with the answer"},
				&cli.BoolFlag{Name: "no-continue", Usage: "record the answer and leave the run parked"},
				&cli.StringFlag{Name: "output", Value: "auto", Usage: "auto, tty, plain or json (`FORM`); auto is tty on a terminal"},
				&cli.BoolFlag{Name: "no-input", Usage: "ask nothing; a further ask phase parks the run"},
			},
			Action: func(c *cli.Context) error { return s.answer(c, word) },
		},
		exits:    []Exit{Refused, Failed, Parked, OverBudget, Interrupted},
		values:   map[string][]string{"output": runForms()},
		operands: runCandidates,
		phases:   runPhases,
		examples: []example{
			{"foundry " + word + " last", "the only open question of the newest run"},
			{"foundry " + word + " last ship -m \"after the demo\"", "one of several, with a note"},
		},
	}
}

func (s *session) answer(c *cli.Context, word string) error {
	form, err := s.runForm(c)
	if err := errors.Join(atMost(c, 2), err); err != nil {
		return err
	}
	d, err := s.reopen(c.Args().First())
	if err != nil {
		return err
	}
	defer d.rec.Close()
	s.noteEdited(d)
	p, err := openAsk(d, c.Args().Get(1))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(overdue(d, time.Now()), func(e runner.Event) bool { return e.Phase == d.grown().Phases[p].Name }) {
		return badUsage("the time for an answer to %s is over", d.grown().Phases[p].Name).hintf("`foundry resume %s` goes on as its routes say", d.rec.ID())
	}
	resumed := runner.Event{Kind: runner.RunResumed, Who: who()}
	answered := runner.Event{Kind: runner.AskAnswered, Phase: d.grown().Phases[p].Name, Visit: d.state.Phase(p).Visits, Answer: word, Text: c.String("message"), Who: who()}
	if asked, ok := d.state.Asked(p); ok {
		answered.Kind, answered.Turn, answered.Agent = runner.PermissionAnswered, asked.Turn, asked.Agent
	}
	d.first = []runner.Event{resumed, answered}
	d.format, d.input = form, s.interactive(c)
	if c.Bool("no-continue") {
		return s.recordAnswer(d)
	}
	return s.drive(*d)
}

// openAsk is the question that is answered: the one named, else the only one.
func openAsk(d *driving, name string) (graph.PhaseID, error) {
	open := d.state.Open()
	var names []string
	for _, p := range open {
		phase := d.grown().Phases[p].Name
		visit := fmt.Sprintf("%s@%d", phase, d.state.Phase(p).Visits)
		if name == phase || name == visit {
			return p, nil
		}
		names = append(names, visit)
	}
	switch {
	case len(open) == 0:
		return 0, badUsage("%s waits for no answer", d.rec.ID()).hintf("`foundry show %s` says where it stands", d.rec.ID())
	case name != "":
		return 0, badUsage("%s does not ask %q", d.rec.ID(), name).hintf("open: %s", strings.Join(names, ", "))
	case len(open) > 1:
		return 0, badUsage("%s asks %d questions", d.rec.ID(), len(open)).hintf("name one: %s", strings.Join(names, ", "))
	}
	return open[0], nil
}

// recordAnswer writes an answer down and leaves the run where it is.
func (s *session) recordAnswer(d *driving) error {
	if err := drive.Note(d.graph, d.rec, d.state, d.missing, time.Now, d.first[1:]...); err != nil {
		return s.broken(*d, err)
	}
	s.note("recorded; `foundry resume %s` goes on", d.rec.ID())
	return nil
}
