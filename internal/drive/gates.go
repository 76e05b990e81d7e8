package drive

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"foundry/gates"
	"foundry/glob"
	"foundry/graph"
	"foundry/internal/workspace"
	"foundry/runner"
)

// This file looks at what gates want looked at.

// maxRead is how much of one file a gate reads, in bytes.
const maxRead = 8 << 20

// gates judges all gates of a phase, in order: all failures go back together.
func (d *driver) gates(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	ph := &d.g().Phases[c.ID.Phase]
	if p := d.carriedOver(c); p != nil {
		for _, g := range p.Gates {
			e := d.named(c, runner.GateChecked)
			e.Gate, e.Outcome, e.Checks, e.Reused = g.Gate, g.Outcome, g.Checks, p.reused()
			send(e)
		}
		return
	}
	look := &looker{d: d, ctx: ctx, phase: ph, command: c, state: s}
	for i, gate := range ph.Gates {
		if i < runner.Judged(s, c.ID.Phase) {
			continue // by a process that was cut off behind it
		}
		verdict, err := look.judge(i, gate)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			// A gate that cannot look has failed: it never shows a pass that it did not see.
			verdict = gates.Verdict{Outcome: gates.Failed, Checks: []gates.Check{{Item: gate.Spec.Name, Note: err.Error()}}}
		}
		touched, ok := look.tidy(gate, send)
		if !ok {
			return
		}
		if len(touched) > 0 { // what it says was said over files that nobody may write
			verdict.Outcome, verdict.Checks = gates.Failed, append(verdict.Checks, touched...)
		}
		e := d.named(c, runner.GateChecked)
		e.Gate, e.Outcome, e.Checks = gate.Spec.Name, verdict.Outcome.String(), verdict.Checks
		send(e)
	}
}

// looker looks at each thing once, however many gates want it.
type looker struct {
	d       *driver
	ctx     context.Context
	phase   *graph.Phase
	command runner.Command
	state   runner.State
	changes *[]gates.Change
	earlier *[]gates.Change
	ran     bool                // the gate at hand ran a command
	before  *workspace.Snapshot // the workspace as the gates found it
}

func (l *looker) judge(i int, gate graph.Gate) (gates.Verdict, error) {
	envelope := runner.Envelope(l.state, l.command.ID.Phase)
	ev := gates.Evidence{Envelope: envelope}
	for _, claim := range l.phase.Envelope.Paths(envelope) {
		ev.Claims = append(ev.Claims, gates.Claim{Field: claim.Field, Path: claim.Path, Planned: claim.Planned})
	}
	probe := gate.Spec.Probe(ev.Claims)
	var err error
	if len(probe.Paths) > 0 || len(probe.Read) > 0 {
		ev.Files = l.files(probe)
	}
	if probe.Changes || probe.Earlier || probe.Sizes {
		if ev.Changes, ev.Earlier, err = l.diffs(); err != nil {
			return gates.Verdict{}, err
		}
		if gate.Spec.Kind == gates.DiffMatchesClaims && !l.d.isolated() {
			ev.Changes = l.claimed(ev.Changes)
		}
	}
	if probe.Run && gate.Command != nil {
		if ev.Run, err = l.run(i, gate); err != nil {
			return gates.Verdict{}, err
		}
	}
	if c := runner.Ended(l.state, l.command.ID.Phase); probe.Run && gate.Command == nil && c != nil {
		ev.Run = &gates.Run{Exit: c.Exit, Passed: l.phase.Passes(c.Exit) && c.Signal == "" && !c.Timeout, Output: c.Output, Millis: c.Millis, TimedOut: c.Timeout}
	}
	return runner.JudgeGate(l.d.g(), l.state, l.command.ID.Phase, gate, ev), nil
}

func (l *looker) files(p gates.Probe) map[string]gates.File {
	out := map[string]gates.File{}
	for path, f := range l.d.treeOf(l.command).Files(append(append([]string{}, p.Paths...), p.Read...), maxRead) {
		out[path] = gates.File{Exists: f.Exists, Type: f.Type, Size: f.Size, Problem: f.Problem, Data: f.Data, Truncated: f.Truncated}
	}
	return out
}

// claimed are the changes that the report names. In the checkout the others may be a person's.
func (l *looker) claimed(all []gates.Change) []gates.Change {
	claims := l.phase.Envelope.Claims(runner.Envelope(l.state, l.command.ID.Phase))
	return slices.DeleteFunc(slices.Clone(all), func(c gates.Change) bool {
		return !slices.Contains(claims, c.Path) && !slices.Contains(claims, c.From)
	})
}

// diffs are what this visit changed, and what the run changed since the branch point.
func (l *looker) diffs() (now, earlier []gates.Change, err error) {
	if l.changes == nil {
		work := ofWork(l.command)
		start, err := l.d.startOf(l.ctx, work)
		if err != nil {
			return nil, nil, err
		}
		end, err := l.d.endOf(l.ctx, work)
		if err != nil {
			return nil, nil, err
		}
		changes, err := l.between(start.Tree, end)
		if err != nil {
			return nil, nil, err
		}
		base := l.state.View().Info.BranchPoint
		if base == "" {
			base = start.Tree
		}
		before, err := l.between(base, end)
		if err != nil {
			return nil, nil, err
		}
		l.changes, l.earlier = &changes, &before
	}
	return *l.changes, *l.earlier, nil
}

func (l *looker) between(from, to string) ([]gates.Change, error) {
	list, err := l.d.treeOf(l.command).Changes(l.ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("comparing trees: %w", err)
	}
	kinds := map[workspace.ChangeKind]gates.ChangeKind{workspace.Created: gates.Created, workspace.Modified: gates.Modified, workspace.Deleted: gates.Deleted,
		workspace.Renamed: gates.Renamed, workspace.TypeChanged: gates.TypeChanged, workspace.ModeChanged: gates.ModeChanged}
	out := []gates.Change{}
	for _, c := range list {
		out = append(out, gates.Change{Path: c.Path, From: c.From, Kind: kinds[c.Kind], EOLOnly: c.EOLOnly, Added: c.Added, Removed: c.Removed})
	}
	return out, nil
}

// run runs a gate's own command.
func (l *looker) run(i int, gate graph.Gate) (*gates.Run, error) {
	d := l.d
	st, err := runner.ResolveCommand(d.g(), l.state, l.command.ID.Phase, gate.Command, d.world(l.ctx, l.state, l.command))
	if err != nil {
		return nil, err
	}
	if l.before == nil {
		end, err := d.judgedIn(l.ctx, l.command)
		if err != nil {
			return nil, err
		}
		l.before = &end
	}
	l.ran = true
	id := l.command.ID
	log := fileName(l.phase.Name, id.Visit, fmt.Sprintf(".%d.gate%d.log", id.Attempt, i+1))
	r, _, err := d.launch(l.ctx, d.treeOf(l.command), st, gate.Command.Script.Label, log, gate.Command.Timeout)
	if err != nil {
		return &gates.Run{Exit: -1, Failed: err.Error()}, nil
	}
	return &gates.Run{Exit: r.Exit, Passed: passes(gate.Command, r), Output: r.Output, Millis: r.Millis, TimedOut: r.Timeout}, nil
}

// tidy puts back what the command of a gate changed: what is judged is what the phase left, and nothing that a gate
// did is held against the phase, or lands with its work. In the checkout nothing is ever put back. touched are the
// protected paths among it; ok says whether the run can go on.
func (l *looker) tidy(gate graph.Gate, send func(...runner.Event)) (touched []gates.Check, ok bool) {
	ran := l.ran
	l.ran = false
	tree := l.d.treeOf(l.command)
	if !ran || !tree.Isolated() {
		return nil, true
	}
	d := l.d
	protected := glob.Boundary{Protect: runner.Boundary(d.g(), l.state, l.command.ID.Phase).Protect}
	got, err := tree.Enforce(l.ctx, *l.before, glob.Boundary{Protect: protected.Protect, Writes: []glob.Layer{{}}}, false)
	if err != nil {
		if l.ctx.Err() == nil {
			send(failed(l.command, l.phase.Name, fmt.Errorf("putting back what the gates of %s changed: %w", l.phase.Name, err)))
		}
		return nil, false
	}
	if len(got.Violations) == 0 {
		return nil, true
	}
	d.seen(tree, got.End)
	e := d.named(l.command, runner.Warned)
	what := "was put back"
	for _, v := range got.Violations {
		e.Changed = append(e.Changed, v.Path)
		if !v.Undone {
			what = "could not be put back"
		}
		if why, free := protected.Check(v.Path); !free {
			touched = append(touched, gates.Check{Item: v.Path, Note: "changed by the command: " + why})
		}
	}
	e.Ref = got.Before.Ref
	e.Text = fmt.Sprintf("a gate's command (%s) changed %s, which %s", gate.Command.Script.Label, strings.Join(e.Changed, ", "), what)
	send(e)
	return touched, true
}

// ofWork is a command as one of the visit whose work it is about: an earlier one when that is judged again.
func ofWork(c runner.Command) runner.Command {
	if c.Of > 0 {
		c.ID.Visit, c.Of = c.Of, 0
	}
	return c
}

// judgedIn is the workspace in which a visit is judged: as its work left it or, when that is judged again, as it is now.
func (d *driver) judgedIn(ctx context.Context, c runner.Command) (workspace.Snapshot, error) {
	if c.Of > 0 {
		return d.startOf(ctx, c)
	}
	return d.endSnapshot(ctx, c)
}

// endOf is the tree after the visit's boundary was checked.
func (d *driver) endOf(ctx context.Context, c runner.Command) (string, error) {
	s, err := d.endSnapshot(ctx, c)
	return s.Tree, err
}

// endSnapshot is the snapshot after the visit's boundary was checked: remembered, or found in the log.
func (d *driver) endSnapshot(ctx context.Context, c runner.Command) (workspace.Snapshot, error) {
	d.snapMu.Lock()
	end, ok := d.ends[visitKey{c.ID.Phase, c.ID.Visit}]
	d.snapMu.Unlock()
	if ok {
		return end, nil
	}
	name, ref := d.g().Phases[c.ID.Phase].Name, ""
	for _, e := range d.Record.Events() {
		if e.Kind == runner.BoundaryChecked && e.Phase == name && e.Visit == c.ID.Visit {
			ref = e.Ref
		}
	}
	if ref == "" {
		return d.treeOf(c).Snapshot(ctx)
	}
	return d.treeOf(c).Reload(ctx, ref)
}
