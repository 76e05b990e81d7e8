package cli

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"foundry/diag"
	"foundry/glob"
	"foundry/graph"
	"foundry/internal/drive"
	"foundry/internal/journal"
	"foundry/internal/process"
	"foundry/internal/watch"
	"foundry/runner"
)

func watchVerb(s *session) verb {
	outputs, busy := runForms(), []string{"queue", "restart"}
	return verb{
		Command: &cli.Command{
			Name:      "watch",
			Usage:     "lint and re-run on change",
			ArgsUsage: "[PIPELINE] [REQUEST]",
			Description: `Runs the checks of a pipeline in the checkout whenever a file is saved: the code phases that need no agent, no
person and no report of one. Phases with sources run when one of these changed. Nothing is committed, merged or undone,
and no route is followed. Content decides: a save that changes nothing starts nothing, and neither does what git ignores
or what the run itself writes. A change of the pipeline file is linted at once; a broken one is shown, and the last good
one stays in force. On a terminal all of it is shown in one view; q leaves it for lines, ctrl-c ends the watch.

With --with-agents every change runs the whole pipeline, in a worktree made from the checkout as it is, and the result is
kept on the run's branch. That may cost money each time.`,
			Flags: append(watchFlags(),
				&cli.StringFlag{Name: "request", Aliases: []string{"r"}, Usage: "what is to be done (`TEXT`), for --with-agents"},
				&cli.StringSliceFlag{Name: "set", Usage: "give a parameter a value (`NAME=VALUE`); may be repeated"},
				&cli.BoolFlag{Name: "force", Usage: "start what was proven before, too"},
				&cli.BoolFlag{Name: "keep-going", Aliases: []string{"k"}, Usage: "run what depends on a failed phase anyway"},
				&cli.StringFlag{Name: "output", Value: "auto", Usage: "auto, tty, plain or json (`FORM`); auto is tty on a terminal, json is one stream of events with run ids"},
			),
			Action: s.watch,
		},
		exits:    []Exit{Failed, Interrupted},
		values:   map[string][]string{"output": outputs, "on-busy": busy, "mode": {"auto", "events", "poll"}},
		operands: pipelineCandidates,
		examples: []example{
			{"foundry watch", "the checks of the default pipeline, on every save"},
			{"foundry watch checks --on-busy restart", "a save stops what runs and begins anew"},
			{"foundry watch --with-agents -r \"keep the docs true\"", "agents too, each time in a worktree"},
			{"foundry watch --output json | jq .kind", "for a script"},
		},
	}
}

// watchFlags are those that `up --watch` takes, too.
func watchFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "with-agents", Usage: "run agents as well, isolated; that may cost money on every change"},
		&cli.StringFlag{Name: "on-busy", Value: "queue", Usage: "what a change does while something runs: queue or restart (`POLICY`)"},
		&cli.DurationFlag{Name: "quiet-period", Value: 100 * time.Millisecond, Usage: "how long nothing may change before a run begins (`TIME`)"},
		&cli.StringFlag{Name: "mode", Value: "auto", Usage: "how changes are noticed: auto, events or poll (`MODE`)"},
	}
}

var watchModes = map[string]watch.Mode{"auto": watch.Auto, "events": watch.Events, "poll": watch.Poll}

// watch is the verb; `up --watch` leads here as well.
func (s *session) watch(c *cli.Context) error {
	if err := s.outsideRuns("watch"); err != nil {
		return err
	}
	for flag, words := range map[string][]string{"--on-busy": {"queue", "restart"}, "--mode": {"auto", "events", "poll"}} {
		if err := oneOf(flag, c.String(strings.TrimPrefix(flag, "--")), words); err != nil {
			return err
		}
	}
	form, err := s.runForm(c)
	if err != nil {
		return err
	}
	if quiet := c.Duration("quiet-period"); quiet < time.Millisecond || quiet > time.Minute {
		return badUsage("--quiet-period %s: must lie between 1ms and 1m", quiet)
	}
	p, err := s.loadOrBuiltins()
	if err != nil {
		return err
	}
	x := &watching{s: s, c: c, p: p, form: form, json: form == "json", agents: c.Bool("with-agents"), restart: c.String("on-busy") == "restart"}
	if x.name, x.request, err = s.upArguments(c, p); err != nil {
		return err
	}
	if x.pl, err = s.openPlace(); err != nil {
		return err
	}
	if err := x.pl.repo.Exclude(s.ctx); err != nil {
		return failure(err)
	}
	if err := x.open(); err != nil {
		return err
	}
	defer x.close()
	return x.loop()
}

// watching is one session of watch. The pipeline in force is the last one that compiled.
type watching struct {
	s       *session
	c       *cli.Context
	pl      *place
	w       *watch.Watcher
	rules   closer
	json    bool
	agents  bool
	restart bool

	p       *project // as the file is now
	name    string
	request string
	g       *graph.Graph // in force; nil until one compiles
	head    string       // the commit that was checked out last
	own     ownFiles
	digests drive.Digests // of the sources, from run to run

	form   string     // tty, plain or json
	mu     sync.Mutex // over screen
	screen *screen    // nil while there is none
	left   sync.WaitGroup
	guard  *process.Guard // of the screen
}

type closer interface{ Close() }

// selected is what of the pipeline in force runs by itself, by name.
func (x *watching) selected() []string {
	run, _ := x.g.Watched()
	return x.names(run)
}

func (x *watching) names(ids []graph.PhaseID) []string {
	var out []string
	for _, id := range ids {
		out = append(out, x.g.Phases[id].Name)
	}
	return out
}

// compile brings the pipeline in force up to date with the file. It says which of its phases have another definition
// than before, in order; with findings the old one stays in force.
func (x *watching) compile() (changed []graph.PhaseID, ok bool, err error) {
	old, found := x.g, x.p.lint()
	if err := x.show(diag.Unsilenced(found.Sorted())); err != nil {
		return nil, false, err
	}
	var g *graph.Graph
	if !found.HasErrors() {
		if g, err = x.s.compile(x.p, x.name); err != nil && old == nil {
			return nil, false, err
		}
	}
	if g == nil {
		x.tell("watch.refused", map[string]any{"file": x.p.name, "in_force": old != nil}, "%s%s; %s", x.p.name, refusal(err),
			map[bool]string{true: "the last good pipeline stays in force", false: "waiting for a good one"}[old != nil])
		return nil, false, nil
	}
	if run, _ := g.Watched(); len(run) == 0 && !x.agents {
		return nil, false, x.nothing(g)
	}
	x.g = g
	for _, id := range g.Own {
		if old == nil {
			break
		}
		was, ok := old.Lookup(g.Phases[id].Name)
		if !ok || old.Phases[was].Fingerprint != g.Phases[id].Fingerprint {
			changed = append(changed, id)
		}
	}
	return changed, true, nil
}

func refusal(err error) string {
	if err == nil {
		return " does not compile"
	}
	return ": " + err.Error()
}

// show writes the findings of the pipeline file.
func (x *watching) show(list []diag.Diagnostic) error {
	if v := x.onScreen(); v != nil {
		return v.showFindings(x, list)
	}
	if len(list) == 0 {
		return nil
	}
	if !x.json {
		return diag.RenderText(x.s.err, list, x.s.colored(x.s.err))
	}
	var b bytes.Buffer
	if err := diag.RenderJSON(&b, list); err != nil {
		return failure(err)
	}
	x.tell("watch.findings", map[string]any{"file": x.p.name, "findings": json.RawMessage(b.Bytes())}, "")
	return nil
}

// nothing refuses a pipeline in which there is nothing to watch for.
func (x *watching) nothing(g *graph.Graph) error {
	_, left := g.Watched()
	var why []string
	for _, l := range left {
		why = append(why, g.Phases[l.Phase].Name+": "+l.Why)
	}
	return badUsage("pipeline %s has no phase that a watch could run: %s", g.Pipeline, strings.Join(why, "; ")).
		hintf("--with-agents runs all of it, in a worktree, on every change")
}

// affected are the phases that a change of files concerns: those without sources, those whose sources it matches, and
// what depends on them.
func (x *watching) affected(files []watch.File) []string {
	run, _ := x.g.Watched()
	hit := graph.NewSet(len(x.g.Phases))
	for _, id := range run {
		ph := &x.g.Phases[id]
		if len(ph.Sources) == 0 || slices.ContainsFunc(files, func(f watch.File) bool { return matchesAny(ph.Sources, f.Path) }) {
			hit.Add(id)
			hit.Union(ph.After)
		}
	}
	return x.names(slices.DeleteFunc(run, func(id graph.PhaseID) bool { return !hit.Has(id) }))
}

// from are the phases that run after a change of the pipeline: the first whose definition changed, and all behind it.
func (x *watching) from(changed []graph.PhaseID) []string {
	run, _ := x.g.Watched()
	if len(changed) == 0 {
		return nil
	}
	return x.names(slices.DeleteFunc(run, func(id graph.PhaseID) bool { return id < changed[0] }))
}

// pipelineFiles says whether a change touched the pipeline file or a text that it names.
func (x *watching) pipelineFiles(files []watch.File) bool {
	return slices.ContainsFunc(files, func(f watch.File) bool {
		if f.Path == x.p.relative() {
			return true
		}
		if _, ok := x.p.used[f.Path]; ok {
			return true
		}
		for pattern := range x.p.listed {
			if matchesAny([]string{pattern}, f.Path) {
				return true
			}
		}
		return false
	})
}

// info is what the next run starts with.
func (x *watching) info(only []string) (*runner.RunInfo, *graph.Graph, error) {
	g := x.g
	info := &runner.RunInfo{Pipeline: g.Pipeline, Request: x.request, KeepGoing: x.c.Bool("keep-going"), Force: x.c.Bool("force"), Only: only,
		Who: who(), File: x.p.name, Fingerprint: g.Fingerprint, Version: versionText(), Isolation: "checkout", Merge: "never"}
	info.Jobs, info.Agents = jobs(0)
	var err error
	if info.Params, err = parameters(g, x.c.StringSlice("set")); err != nil {
		return nil, nil, err
	}
	if info.BranchPoint, info.Base, err = x.pl.repo.Head(x.s.ctx); err != nil {
		return nil, nil, notReady(err)
	}
	if x.head != "" && x.head != info.BranchPoint {
		x.tell("watch.head", map[string]any{"commit": info.BranchPoint, "branch": info.Base}, "now at %.10s%s", info.BranchPoint, onBranch(info.Base))
	}
	x.head = info.BranchPoint
	info.FileCommit = info.BranchPoint
	if x.agents {
		// The agents see the checkout as it is, with what is not committed.
		info.ID = journal.NewID(time.Now(), rand.Reader)
		tree, err := x.pl.repo.Checkout(x.s.ctx, info.ID)
		if err != nil {
			return nil, nil, failure(err)
		}
		snap, err := tree.Snapshot(x.s.ctx)
		if err != nil {
			return nil, nil, failure(fmt.Errorf("take a snapshot of the checkout: %w", err))
		}
		info.Isolation, info.Base, info.BranchPoint = "worktree", "", snap.Commit
	}
	return info, overridden(g, info), nil
}

func onBranch(name string) string {
	if name == "" {
		return ""
	}
	return " on " + name
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return glob.Match(p, path) })
}

// changedText names what a run begins for.
func changedText(c watch.Change) string {
	const shown = 3
	var names []string
	for _, f := range c.Files {
		if len(names) == shown {
			break
		}
		names = append(names, f.Path+" "+f.Kind.String())
	}
	text := strings.Join(names, ", ")
	if more := len(c.Files) - shown; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	if c.Rescan {
		text += " (events were lost; everything was compared)"
	}
	return text
}
