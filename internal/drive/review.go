package drive

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"foundry/glob"
	"foundry/graph"
	"foundry/internal/workspace"
	"foundry/runner"
)

// This file has the side of a review that is about the world: what a reviewer is shown of a visit, what it left behind
// and cites, and the undoing of work that it does not let pass.

// mostDiff is how much of what a visit changed a reviewer is shown, in bytes; it can look at the rest itself.
const mostDiff = 64 << 10

// reviewBoundary is what a reviewer may write of a phase's workspace: nothing.
func reviewBoundary(ph *graph.Phase) glob.Boundary {
	return glob.Boundary{Protect: ph.Boundary.Protect, Writes: []glob.Layer{{Why: "review"}}}
}

// changedBy is what a visit changed, as a patch; with what came to it since when that is judged again.
func (d *driver) changedBy(ctx context.Context, c runner.Command) (string, error) {
	start, err := d.startOf(ctx, ofWork(c))
	if err != nil {
		return "", err
	}
	end, err := d.judgedIn(ctx, c)
	if err != nil {
		return "", err
	}
	diff, err := d.Repo.ShowDiff(ctx, start.Tree, end.Tree, false)
	if err != nil {
		return "", fmt.Errorf("comparing trees: %w", err)
	}
	text := strings.ToValidUTF8(string(diff), "\uFFFD")
	if len(text) <= mostDiff {
		return text, nil
	}
	stat, err := d.Repo.Stat(ctx, start.Tree, end.Tree)
	if err != nil {
		return "", fmt.Errorf("comparing trees: %w", err)
	}
	return stat + "\n" + cutText(text, mostDiff) + "\n[the rest is left out]", nil
}

// callsOf are the uses of tools that the agent of a visit was seen to make, in order: a name, and what it was used for.
func (d *driver) callsOf(c runner.Command) []string {
	name := d.g().Phases[c.ID.Phase].Name
	c = ofWork(c)
	reviews := map[int]bool{} // turns of the visit
	var out []string
	for _, e := range d.Record.Events() {
		if e.Phase != name || e.Visit != c.ID.Visit {
			continue
		}
		if e.Kind == runner.TurnStarted && e.OfReview() {
			reviews[e.Turn] = true
		}
		if e.Kind == runner.Activity && e.Tool != nil && e.Outcome == "" && !reviews[e.Turn] {
			what := e.Tool.Command
			if what == "" {
				what = strings.Join(e.Tool.Paths, ", ")
			}
			out = append(out, strings.TrimSpace(e.Tool.Name+" "+oneLine(what)))
		}
	}
	return out
}

// review undoes what a reviewer changed, and looks for what it cites.
func (d *driver) review(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	ph := &d.g().Phases[c.ID.Phase]
	end, err := d.judgedIn(ctx, c)
	if err != nil {
		send(failed(c, ph.Name, err))
		return
	}
	end.For = c.ID.String()
	got, err := d.treeOf(c).Enforce(ctx, end, reviewBoundary(ph), false)
	if err != nil {
		send(failed(c, ph.Name, fmt.Errorf("checking what the reviewer of %s changed: %w", ph.Name, err)))
		return
	}
	d.seen(d.treeOf(c), got.End)
	if !d.isolated() {
		d.sayReviewed(c, got.Violations, send)
		got.Violations = nil
	}
	for i := range got.Violations {
		if v := &got.Violations[i]; strings.HasPrefix(v.Reason, "read-only") {
			v.Reason = "a review changes nothing"
		}
	}
	changed, err := d.changedInVisit(ctx, ofWork(c), end.Tree)
	if err != nil {
		send(failed(c, ph.Name, err))
		return
	}
	e := d.named(c, runner.ReviewChecked)
	e.Turn, e.Tree, e.Ref, e.Outside = c.ID.Turn, got.End.Tree, got.End.Ref, violations(got.Violations)
	if len(got.Violations) > 0 {
		e.Kept = got.Before.Ref
	}
	e.Checks = runner.CheckCited(runner.Cited(s, c.ID.Phase), d.callsOf(c), func(p string) bool {
		p = path.Clean(p)
		if _, ok := (glob.Boundary{}).Check(p); !ok { // what is git's or Foundry's own shows nothing
			return false
		}
		return d.treeOf(c).Files([]string{p}, 0)[p].Exists || slices.Contains(changed, p)
	})
	send(e)
}

// sayReviewed says what changed in the checkout while a reviewer worked. It may have been a person.
func (d *driver) sayReviewed(c runner.Command, all []workspace.Violation, send func(...runner.Event)) {
	for i, v := range all {
		e := d.named(c, runner.OutsideChanged)
		if e.Text = v.Path + " was " + v.Change + " while a reviewer worked; it may have been somebody else"; i == mostOutside {
			e.Text = fmt.Sprintf("and %d more", len(all)-i)
		}
		send(e)
		if i == mostOutside {
			return
		}
	}
}

func (d *driver) changedInVisit(ctx context.Context, c runner.Command, end string) ([]string, error) {
	start, err := d.startOf(ctx, c)
	if err != nil {
		return nil, err
	}
	changes, err := d.treeOf(c).Changes(ctx, start.Tree, end)
	if err != nil {
		return nil, fmt.Errorf("comparing trees: %w", err)
	}
	return changedPaths(changes), nil
}

// revert undoes what a visit changed, path by path. What was changed since the visit is not the visit's alone any more:
// it stays, and is said. All of it is in the snapshot from the end of the visit.
func (d *driver) revert(ctx context.Context, c runner.Command, send func(...runner.Event)) {
	ph := &d.g().Phases[c.ID.Phase]
	e := d.named(c, runner.UndoDone)
	e.Purpose = runner.ForReview.String()
	stays, err := d.revertTo(ctx, ofWork(c), &e)
	if err != nil {
		send(failed(c, ph.Name, fmt.Errorf("undoing what %s changed: %w", ph.Name, err)))
		return
	}
	if e.Changed = stays; len(stays) > 0 && d.isolated() {
		e.Text = "its changes were undone and kept under " + e.Ref + "; what was changed since, or cannot be undone, stays: " + strings.Join(stays, ", ")
	}
	send(e)
}

// revertTo fills in what the undoing came to, and returns the paths that stay changed.
func (d *driver) revertTo(ctx context.Context, c runner.Command, e *runner.Event) ([]string, error) {
	start, err := d.startOf(ctx, c)
	if err != nil {
		return nil, err
	}
	end, err := d.endSnapshot(ctx, c)
	if err != nil {
		return nil, err
	}
	if !d.isolated() {
		e.Text, e.Tree = "isolation is off: what it changed stays", end.Tree
		return d.changedInVisit(ctx, c, end.Tree)
	}
	now, err := d.treeOf(c).Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	since, err := d.treeOf(c).Changes(ctx, end.Tree, now.Tree)
	if err != nil {
		return nil, err
	}
	may := glob.Layer{Why: "what was changed since"}
	for _, p := range changedPaths(since) {
		may.Globs = append(may.Globs, glob.Literal(p))
	}
	got, err := d.treeOf(c).Enforce(ctx, start, glob.Boundary{Writes: []glob.Layer{may}}, false)
	if err != nil {
		return nil, err
	}
	d.seen(d.treeOf(c), got.End)
	e.Tree, e.Ref = got.End.Tree, end.Ref
	of, err := d.changedInVisit(ctx, c, end.Tree)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(changedPaths(got.Changes), func(p string) bool { return !slices.Contains(of, p) }), nil
}
