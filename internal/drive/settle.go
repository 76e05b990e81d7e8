package drive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"foundry/gates"
	"foundry/graph"
	"foundry/internal/journal"
	"foundry/internal/workspace"
	"foundry/runner"
)

// Settlement says what became of an ended run's work.
type Settlement struct {
	Merged   string   // the commit that base is at now; "" when nothing was merged
	Files    []string // that the merge changed
	Checkout string   // the directory that was updated with it
	Kept     bool     // worktree and branch are still there
	Why      string   // why they were kept, or what was done
	Hint     string   // what to do about it
	Notes    []string
}

// Scene is what landing a run needs of it.
type Scene struct {
	Graph  *graph.Graph // nil when the verb does not compile the pipeline
	Repo   *workspace.Repo
	Record *journal.Record
	Append func(...runner.Event) error
}

// Settle does what the pipeline says about an ended run: merge it, keep it, or take its worktree away. It is
// called once, when the verdict is in the log.
func Settle(ctx context.Context, sc Scene, v runner.View) (Settlement, error) {
	out := Settlement{Kept: true}
	g, accepted := sc.Graph, v.Status == runner.RunAccepted
	if out.Merged = mergedAs(sc.Record.Events()); out.Merged != "" {
		// It was cut off behind the merge.
		if err := out.finish(ctx, sc, v.Info); err != nil {
			return out, err
		}
		return out, sc.Append(runner.Event{Kind: runner.RunSettled, Text: out.Why, Hint: out.Hint, Commit: out.Merged})
	}
	switch {
	case g.Isolation == graph.Checkout:
		out.Kept, out.Why = false, "the run worked in the checkout; its changes are there"
	case g.Isolation == graph.Detached && accepted:
		if err := sc.Repo.RemoveWorktree(ctx, v.Info.ID, g.Project.Scratch); err != nil {
			out.Why, out.Hint = "the worktree was kept: "+err.Error(), hintOf(err)
			break
		}
		out.Kept, out.Why = false, "the worktree was taken away; the pipeline has no branch"
	case g.Isolation == graph.Detached:
		out.Why, out.Hint = "the worktree is kept", "foundry discard "+v.Info.ID
	case !accepted:
		out.Why = "worktree and branch are kept"
	case g.Merge == graph.MergeNever:
		out.Why = "kept: the policy is merge: never"
	case g.Merge == graph.MergeAsk:
		out.Why, out.Hint = "kept: the policy is merge: ask", "foundry merge "+v.Info.ID
		if sha, _, err := sc.Repo.Resolve(ctx, v.Info.Base); v.Info.Base != "" && err == nil && sha != v.Info.BranchPoint {
			out.Why, out.Hint = "kept: "+v.Info.Base+" has moved since the run began", "foundry merge --rebase "+v.Info.ID
		}
	case v.Info.Base == "":
		out.Why, out.Hint = "kept: the run did not start from a branch, so there is nothing to merge into", "git merge "+v.Info.Branch
	case len(leftOut(sc.Record.Events())) > 0:
		out.Why = "kept: only part of the pipeline ran, without " + strings.Join(leftOut(sc.Record.Events()), ", ") + ", so merge: auto became ask"
		out.Hint = "foundry resume " + v.Info.ID + " goes on with the rest; foundry merge " + v.Info.ID
	default:
		if later := changedAfterVerdict(g, sc.Record.Events()); len(later) > 0 {
			out.Why = "kept: " + strings.Join(later, ", ") + " changed after the last verdict, so merge: auto became ask"
			out.Hint = "foundry diff " + v.Info.ID + ", then foundry merge " + v.Info.ID
			break
		}
		landed, err := Land(ctx, sc, v.Info, Landing{})
		if err != nil {
			return out, err
		}
		out = landed
	}
	return out, sc.Append(runner.Event{Kind: runner.RunSettled, Text: out.Why, Hint: out.Hint, Commit: out.Merged})
}

// Landing says how a run may land when its base has moved.
type Landing struct {
	Rebase   bool // replay its commits on the base
	Untested bool // although nothing has judged what comes out
}

// Land merges an accepted run into its base, proves it by content, and only then takes worktree and branch
// away. It is the one place that records a landing. A refusal touches nothing and is no error: the
// settlement says why. Of a run that was landed before, it takes away what is left.
func Land(ctx context.Context, sc Scene, info *runner.RunInfo, how Landing) (Settlement, error) {
	out := Settlement{Kept: true}
	if out.Merged = mergedAs(sc.Record.Events()); out.Merged != "" {
		return out, out.finish(ctx, sc, info)
	}
	tree := judged(sc.Record.Events())
	if tree == "" {
		out.Why = "the run was not accepted"
		return out, nil
	}
	if err := sc.Record.Sync(); err != nil {
		return out, err
	}
	res, err := sc.Repo.Merge(ctx, workspace.MergeSpec{Run: info.ID, Branch: info.Branch, Base: info.Base, BranchPoint: info.BranchPoint, Tree: tree, Message: landMessage(info),
		Rebase: how.Rebase, Untested: how.Untested})
	var blocked *workspace.BlockedError
	var lock *workspace.LockError
	switch {
	case errors.As(err, &blocked):
		out.Why, out.Hint = "not merged: "+blocked.Error(), blocked.Hint
		return out, nil
	case errors.As(err, &lock):
		out.Why, out.Hint = "not merged: "+lock.What(), lock.Remedy()+", then: foundry merge "+info.ID
		return out, nil
	case err != nil:
		return out, fmt.Errorf("merging %s into %s: %w", info.Branch, info.Base, err)
	}
	out.Merged, out.Files, out.Checkout = res.Commit, res.Files, res.Checkout
	if res.Was != "" {
		out.Notes = append(out.Notes, fmt.Sprintf("its commits were replayed on %s; what was judged is %.10s, kept at refs/foundry/%s/kept", info.Base, res.Was, info.ID))
	}
	if err := out.warn(sc, res.Notes); err != nil {
		return out, err
	}
	if err := sc.Append(runner.Event{Kind: runner.RunMerged, Commit: res.Commit, Target: info.Base, Changed: res.Files}); err != nil {
		return out, err
	}
	if err := sc.Record.Sync(); err != nil {
		return out, err
	}
	out.cleared(ctx, sc, info)
	return out, nil
}

// finish takes away what a landing that was cut off has left.
func (out *Settlement) finish(ctx context.Context, sc Scene, info *runner.RunInfo) error {
	out.cleared(ctx, sc, info)
	return out.warn(sc, sc.Repo.LeftLocks(ctx, info.Base))
}

// warn puts notes into the log.
func (out *Settlement) warn(sc Scene, notes []string) error {
	for _, note := range notes {
		out.Notes = append(out.Notes, note)
		if err := sc.Append(runner.Event{Kind: runner.Warned, Text: note}); err != nil {
			return err
		}
	}
	return nil
}

// cleared takes away what a landed run no longer needs, and says what had to stay.
func (out *Settlement) cleared(ctx context.Context, sc Scene, info *runner.RunInfo) {
	out.Why = fmt.Sprintf("merged into %s", info.Base)
	what, err := "worktree", sc.Repo.RemoveWorktree(ctx, info.ID, scratchOf(sc.Graph))
	if err == nil {
		what, err = "branch", deleteBranch(ctx, sc, info, out.Merged)
	}
	if err == nil {
		out.Kept = false
		return
	}
	out.Why += ", but the " + what + " was kept: " + err.Error()
	out.Notes, out.Hint = append(out.Notes, out.Why), hintOf(err)
	var lock *workspace.LockError
	switch {
	case errors.As(err, &lock):
		out.Hint = "then `foundry merge " + info.ID + "` takes it away"
	case out.Hint != "":
		out.Hint += "; then `foundry discard --force " + info.ID + "` takes it away"
	}
}

// mergedAs is the commit that a run was merged as, "" when it was not.
func mergedAs(events []runner.Event) string {
	sha := ""
	for _, e := range events {
		if e.Kind == runner.RunMerged {
			sha = e.Commit
		}
	}
	return sha
}

// Unsettled says that a run was accepted and its process ended before it had done what follows from that.
func Unsettled(events []runner.Event) bool {
	accepted := false
	for _, e := range events {
		switch e.Kind {
		case runner.RunEnded:
			accepted = e.Status == runner.RunAccepted.String()
		case runner.RunSettled, runner.RunDiscarded, runner.RunResumed, runner.RunRewound:
			accepted = false
		}
	}
	return accepted
}

// deleteBranch takes a landed run's branch away.
func deleteBranch(ctx context.Context, sc Scene, info *runner.RunInfo, landed string) error {
	kept, err := sc.Repo.Kept(ctx, info.ID) // when the commits were replayed, the branch still has the old ones
	if err != nil {
		return err
	}
	if kept != "" {
		landed = kept
	}
	return sc.Repo.DeleteBranch(ctx, info.Branch, landed)
}

func scratchOf(g *graph.Graph) []string {
	if g == nil {
		return nil
	}
	return g.Project.Scratch
}

// judged is the tree that acceptance was given for, "" when the newest verdict is none.
func judged(events []runner.Event) string {
	tree := ""
	for _, e := range events {
		if e.Kind == runner.RunEnded {
			tree = ""
			if e.Status == runner.RunAccepted.String() {
				tree = e.Tree
			}
		}
	}
	return tree
}

func landMessage(info *runner.RunInfo) string {
	first, _, _ := strings.Cut(strings.TrimSpace(info.Request), "\n")
	if first == "" {
		first = "foundry: " + info.Pipeline
	}
	return first + "\n\nFoundry-Run: " + info.ID
}

func hintOf(err error) string {
	var blocked *workspace.BlockedError
	if errors.As(err, &blocked) {
		return blocked.Hint
	}
	return ""
}

// changedAfterVerdict names the phases without declared `writes` that changed something after the newest verdict, and
// those whose work was merged with that of others after it: a
// review, an answer, a gate that looked at files, or a command that acceptance rests on. What agents hand to each
// other is no part of the work.
func changedAfterVerdict(g *graph.Graph, events []runner.Event) []string {
	var later []string
	for _, e := range events {
		ph, ok := g.Expect(e.Phase)
		if !ok {
			continue
		}
		wrote := !ph.Declared && (ph.Kind == graph.AgentWork || ph.Kind == graph.Code)
		switch {
		case e.Kind == runner.PhaseEnded && judges(g, ph), e.Kind == runner.ReviewJudged && e.Outcome != runner.Unverified.String(), e.Kind == runner.GateChecked && judgesTree(ph, e):
			later = nil
		case e.Kind == runner.BoundaryChecked && wrote && slices.ContainsFunc(e.Changed, isWork),
			e.Kind == runner.MergedBack && e.Combined,
			e.Kind == runner.Warned && e.Reason == undeclaredWrite && !judges(g, ph):
			later = append(later, ph.Name)
		}
	}
	slices.Sort(later)
	return slices.Compact(later)
}

// leftOut names the phases that --from and --until have left out for good.
func leftOut(events []runner.Event) []string {
	out := map[string]bool{}
	for _, e := range events {
		switch e.Kind {
		case runner.PhaseNotRun:
			out[e.Phase] = runner.LeftOut(e.Reason)
		case runner.PhaseQueued:
			out[e.Phase] = false
		}
	}
	maps.DeleteFunc(out, func(_ string, left bool) bool { return !left })
	return slices.Sorted(maps.Keys(out))
}

// judges says whether the end of a phase is a verdict on the tree.
func judges(g *graph.Graph, ph *graph.Phase) bool {
	switch ph.Kind {
	case graph.Ask:
		return true
	case graph.AgentWork:
		return ph.Envelope.Approves()
	case graph.Code:
		return ph.Named || g.BodyOf(ph.Owner).AcceptsAll
	}
	return false
}

// judgesTree says whether the outcome of a gate is a verdict on the tree: it had something to look at, and that was
// not the report alone.
func judgesTree(ph *graph.Phase, e runner.Event) bool {
	return e.Outcome != gates.Empty.String() && slices.ContainsFunc(ph.Gates, func(gate graph.Gate) bool {
		return gate.Spec.Name == e.Gate && gate.Spec.Kind != gates.VerdictConsistent
	})
}

func isWork(path string) bool { return !strings.HasPrefix(path, ".foundry-handoff/") }

// Discard drops a run's worktree and branch. What was committed, and every snapshot, stays reachable under
// refs/foundry until it is pruned. Ignored files that were made since setup keep it, unless force is given.
func Discard(ctx context.Context, sc Scene, info *runner.RunInfo, force bool) (Settlement, error) {
	out := Settlement{}
	if err := sc.Record.Sync(); err != nil {
		return out, err
	}
	ref, notes, err := sc.Repo.Discard(ctx, workspace.DiscardSpec{Run: info.ID, Branch: info.Branch, Base: info.Base, Scratch: scratchOf(sc.Graph), Force: force})
	var blocked *workspace.BlockedError
	switch {
	case errors.As(err, &blocked):
		out.Kept, out.Why, out.Hint = true, blocked.Error(), blocked.Hint
		return out, nil
	case err != nil:
		return out, fmt.Errorf("discarding %s: %w", info.ID, err)
	}
	out.Why, out.Notes = "discarded", notes
	if ref != "" {
		out.Why += "; its commits can still be found at " + ref
	}
	return out, sc.Append(runner.Event{Kind: runner.RunDiscarded, Ref: ref})
}
