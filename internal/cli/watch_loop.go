package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"foundry/diag"
	"foundry/graph"
	"foundry/internal/live"
	"foundry/internal/watch"
	"foundry/runner"
)

// This file is the loop of a watch: wait for a change, lint, run what it concerns, and tell what the run itself wrote
// from what a person did.

// mostInARow is how often a run may follow on one in which the same files changed before it is taken to have changed
// them itself.
const mostInARow = 3

// pause is how long nothing may change before a run that such files get after all.
const pause = 3 * time.Second

// open begins to watch.
func (x *watching) open() error {
	ignores, err := x.pl.repo.Ignores(x.s.ctx)
	if err != nil {
		return failure(err)
	}
	x.rules = ignores
	root := x.pl.repo.Root()
	probe := filepath.Join(root, ".foundry", "watch")
	if err := os.MkdirAll(probe, 0o700); err != nil {
		return failure(fmt.Errorf("make a directory for watching: %w", err))
	}
	x.own.file = filepath.Join(probe, "own-files")
	x.own.load()
	begin := time.Now()
	x.w, err = watch.Start(x.s.ctx, watch.Options{Root: root, Rules: ignores, Mode: watchModes[x.c.String("mode")], Quiet: x.c.Duration("quiet-period"),
		Busy: x.pl.repo.Busy, Probe: probe, Note: func(text string) { x.tell("watch.note", map[string]any{"text": text}, "%s", text) }})
	if err != nil {
		ignores.Close()
		return failure(err)
	}
	if x.s.verbose {
		x.s.note("watch: ready after %s", time.Since(begin).Round(time.Millisecond))
	}
	return nil
}

func (x *watching) close() {
	x.w.Close()
	x.rules.Close()
}

// tell says something that is no event of a run: an object for a program, a line for a person.
func (x *watching) tell(kind string, fields map[string]any, format string, args ...any) {
	if v := x.onScreen(); v != nil {
		text := fmt.Sprintf(format, args...)
		switch kind {
		case "watch.changed":
			v.view.Tell(live.Cause{Text: text})
		case "watch.refused", "watch.pipeline": // the findings say it
			if kind == "watch.pipeline" {
				v.view.Tell(live.InForce{Graph: x.g})
			}
		default:
			v.view.Tell(live.Notice{Text: text})
		}
		return
	}
	if !x.json {
		x.s.note("watch: "+format, args...)
		return
	}
	out := map[string]any{"at": time.Now().UTC(), "kind": kind}
	maps.Copy(out, fields)
	line, err := json.Marshal(out)
	if err == nil {
		x.s.print(string(line) + "\n")
	}
}

// loop goes on until it is stopped. It begins with a run of everything.
func (x *watching) loop() error {
	_, ok, err := x.compile()
	if err != nil {
		return err
	}
	x.introduce()
	if err := x.toScreen(x.form); err != nil {
		return err
	}
	defer x.fromScreen()
	if v := x.onScreen(); v != nil {
		v.view.Tell(live.Cause{Text: "changes are noticed by " + x.noticed()})
	}
	if v := x.onScreen(); v != nil && !ok {
		found := x.p.lint()
		if err := v.showFindings(x, diag.Unsilenced(found.Sorted())); err != nil {
			return err
		}
	}
	var next []string
	if ok {
		next = x.selected()
	}
	for {
		if next != nil || ok && x.agents {
			if err := x.cycle(next); err != nil {
				return err
			}
		}
		c, err := x.next()
		if x.s.ctx.Err() != nil {
			x.tell("watch.ended", nil, "ended")
			return nil
		}
		if err != nil {
			return failure(err)
		}
		if next, ok, err = x.changed(c); err != nil {
			return err
		}
	}
}

// next waits for a change, or for the pause after which files get their run although runs keep changing them.
func (x *watching) next() (watch.Change, error) {
	if len(x.own.doubted) == 0 {
		return x.w.Next(x.s.ctx)
	}
	ctx, stop := context.WithTimeout(x.s.ctx, pause)
	defer stop()
	c, err := x.w.Next(ctx)
	if ctx.Err() != nil && x.s.ctx.Err() == nil && err != nil {
		c, err = watch.Change{}, nil
	}
	c.Files = append(c.Files, x.own.doubted...)
	x.own.outside.Files = append(x.own.outside.Files, x.own.doubted...)
	return c, err
}

// introduce says what is watched and what will run.
func (x *watching) introduce() {
	if x.g == nil {
		return
	}
	run, left := x.g.Watched()
	if x.agents {
		left = nil
	}
	names, out := x.names(run), []string{}
	for _, l := range left {
		out = append(out, x.g.Phases[l.Phase].Name+" ("+l.Why+")")
	}
	text := "runs " + strings.Join(names, ", ")
	if x.agents {
		text = "runs all of it with agents, in a worktree each time"
	}
	if len(out) > 0 {
		text += "; leaves out " + strings.Join(out, ", ")
	}
	x.tell("watch.started", map[string]any{"pipeline": x.g.Pipeline, "mode": x.w.Mode().String(), "phases": names, "left_out": out, "with_agents": x.agents},
		"%s, by %s; %s", x.g.Pipeline, x.noticed(), text)
}

// noticed says how changes are noticed.
func (x *watching) noticed() string {
	if x.w.Mode() == watch.Poll {
		return "polling"
	}
	return "events"
}

// changed says which phases a change concerns. ok says whether anything is to run.
func (x *watching) changed(c watch.Change) (next []string, ok bool, err error) {
	files, run := c.Files, []string(nil)
	if x.pipelineFiles(files) {
		p, err := x.s.loadOrBuiltins()
		if err != nil {
			x.tell("watch.refused", map[string]any{"error": err.Error(), "in_force": x.g != nil}, "%s; the last good pipeline stays in force", err)
			return nil, false, nil
		}
		x.p = p
		first := x.g == nil
		changed, good, err := x.compile()
		switch {
		case err != nil:
			return nil, false, err
		case good && first:
			x.introduce()
			run = x.selected()
		case good:
			run = x.from(changed)
			x.saidAgents(changed)
			x.tell("watch.pipeline", map[string]any{"changed": x.names(changed)}, "the pipeline is good%s", prefixedList("; changed: ", x.names(changed)))
		}
		files = slices.DeleteFunc(slices.Clone(files), func(f watch.File) bool { return x.pipelineFiles([]watch.File{f}) })
		ok = good && x.agents
	}
	if x.g == nil {
		return nil, false, nil
	}
	if len(files) > 0 {
		for _, f := range files {
			x.own.person(f.Path)
		}
		run = merged(x.g, run, x.affected(files))
		ok = ok || x.agents
	}
	if len(run) == 0 && !ok {
		return nil, false, nil
	}
	list := []map[string]string{}
	for _, f := range c.Files {
		list = append(list, map[string]string{"path": f.Path, "change": f.Kind.String()})
	}
	x.tell("watch.changed", map[string]any{"files": list, "rescan": c.Rescan, "phases": run}, "%s", changedText(c))
	return run, ok || len(run) > 0, nil
}

// merged are the phases of both lists in the order of the pipeline.
func merged(g *graph.Graph, a, b []string) []string {
	var out []string
	for _, id := range g.Own {
		if name := g.Phases[id].Name; slices.Contains(a, name) || slices.Contains(b, name) {
			out = append(out, name)
		}
	}
	return out
}

func prefixedList(prefix string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return prefix + strings.Join(names, ", ")
}

// saidAgents says which phases would have been entered again if agents ran in a watch.
func (x *watching) saidAgents(changed []graph.PhaseID) {
	if x.agents {
		return
	}
	var out []string
	for _, id := range changed {
		if x.g.Phases[id].Kind == graph.AgentWork {
			out = append(out, x.g.Phases[id].Name)
		}
	}
	if len(out) > 0 {
		x.tell("watch.agents", map[string]any{"phases": out}, "not entered again without --with-agents: %s", strings.Join(out, ", "))
	}
}

// cycle is one run, and what comes of the changes during it.
func (x *watching) cycle(only []string) error {
	if x.agents {
		only = nil
	}
	info, g, err := x.info(only)
	if err != nil {
		return err
	}
	found := preflight(x.pl, g, info)
	if len(found) > 0 {
		return x.s.unfit(found)
	}
	ctx, stop := context.WithCancel(x.s.ctx)
	defer stop()
	watched := make(chan struct{})
	if x.restart {
		go func() {
			defer close(watched)
			x.stopOnChange(ctx, stop)
		}()
	} else {
		close(watched)
	}
	err = x.s.launch(x.pl, x.p, g, info, launching{id: info.ID, ctx: ctx, form: x.form, watch: x})
	stop()
	<-watched
	var p *problem
	if err != nil && !(errors.As(err, &p) && p.err == nil) {
		return err // not how the run ended, but that it could not be carried out
	}
	if x.s.ctx.Err() != nil && p != nil && p.exit == Interrupted {
		return err
	}
	if x.s.ctx.Err() != nil || x.agents {
		return nil
	}
	during, err := x.w.Take(x.s.ctx)
	if err != nil {
		return failure(err)
	}
	if held := x.own.after(during, func(f watch.File) bool { return x.isSource(f.Path) }); len(held) > 0 {
		x.tell("watch.held", map[string]any{"files": held},
			"stopped running for %s, which changed in every one of the last %d runs: the run itself changes it. If the pipeline makes it, let git ignore it, or name what its phase reads under sources; a change while nothing runs counts again",
			strings.Join(held, ", "), mostInARow+1)
	}
	if len(x.own.outside.Files) > 0 {
		x.w.Return(x.own.outside)
	}
	return nil
}

// stopOnChange stops a run as soon as somebody changed something.
func (x *watching) stopOnChange(ctx context.Context, stop func()) {
	for ctx.Err() == nil {
		c, err := x.w.Next(ctx)
		if err != nil {
			return
		}
		x.w.Return(c)
		if slices.ContainsFunc(c.Files, func(f watch.File) bool { return !x.own.is(f, x.isSource(f.Path)) }) {
			stop()
			return
		}
		select { // all of it is the run's own so far
		case <-time.After(x.c.Duration("quiet-period")):
		case <-ctx.Done():
		}
	}
}

// isSource says whether a watched phase names a path among its sources.
func (x *watching) isSource(path string) bool {
	return slices.ContainsFunc(x.g.Phases, func(ph graph.Phase) bool { return matchesAny(ph.Sources, path) })
}

// event shows one event of a run in the one stream of the watch.
func (x *watching) event(run string, e runner.Event) {
	text, err := json.Marshal(struct {
		Run string `json:"run_id"`
		runner.Event
	}{run, e})
	if err == nil {
		x.s.print(string(text) + "\n")
	}
}
