package drive

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"foundry/graph"
	"foundry/internal/journal"
	"foundry/internal/process"
	"foundry/internal/workspace"
	"foundry/runner"
)

// setupTimeout bounds one setup command.
const setupTimeout = 15 * time.Minute

// Workspace makes the workspace that a run's graph asks for: the checkout itself, or a fresh worktree from
// the branch point, with what has to be copied and linked, and its setup done. note takes what is for the
// record. When it fails half-way, what it made is left for `discard`, with the reason.
func Workspace(g *graph.Graph, repo *workspace.Repo, rec *journal.Record, info runner.RunInfo, environ []string, guard *process.Guard, force <-chan struct{}) func(context.Context, func(runner.Event)) (*workspace.Tree, error) {
	return func(ctx context.Context, note func(runner.Event)) (*workspace.Tree, error) {
		if g.Isolation == graph.Checkout {
			tree, err := repo.Checkout(ctx, info.ID)
			if err == nil {
				err = watch(tree, g)
			}
			if err == nil && len(info.Only) == 0 { // a watch commits nothing
				err = tree.Baseline(ctx)
			}
			return tree, err
		}
		tree, err := addWorktree(ctx, g, repo, rec, info)
		if err != nil {
			return nil, fmt.Errorf("making the worktree: %w", err)
		}
		if err := watch(tree, g); err != nil {
			return nil, err
		}
		if err := tree.Prepare(ctx, g.Project.Copy, g.Project.Link); err != nil {
			return nil, fmt.Errorf("copying into the worktree: %w", err)
		}
		up := settingUp{g: g, record: rec, tree: tree, info: info, environ: environ, guard: guard, force: force}
		if err := up.commands(ctx, note); err != nil {
			return nil, err
		}
		for _, n := range tree.Notes() {
			note(runner.Event{Kind: runner.Warned, Text: n})
		}
		return tree, nil
	}
}

// addWorktree makes a run's worktree. One whose setup had begun was whole: it is taken as it is, with what a person may
// have mended there since the setup failed. Anything less is made anew.
func addWorktree(ctx context.Context, g *graph.Graph, repo *workspace.Repo, rec *journal.Record, info runner.RunInfo) (*workspace.Tree, error) {
	want := spec(g, info)
	whole := false
	for _, e := range rec.Events() {
		want.Again = want.Again || e.Kind == runner.RunResumed
		whole = whole || e.Kind == runner.SetupRan && e.Phase == ""
	}
	if whole && want.Again {
		tree, err := repo.OpenWorktree(ctx, want)
		if err == nil {
			err = tree.Verify(ctx)
		}
		if err == nil {
			return tree, nil
		}
	}
	return repo.AddWorktree(ctx, want)
}

// Reopen opens the workspace that a run already has.
func Reopen(ctx context.Context, g *graph.Graph, repo *workspace.Repo, info runner.RunInfo) (*workspace.Tree, error) {
	if g.Isolation == graph.Checkout {
		tree, err := repo.Checkout(ctx, info.ID)
		if err == nil {
			err = watch(tree, g)
		}
		return tree, err
	}
	tree, err := repo.OpenWorktree(ctx, spec(g, info))
	if err != nil {
		return nil, fmt.Errorf("opening the run's worktree: %w", err)
	}
	return tree, watch(tree, g)
}

// watch has snapshots hold what was copied into the worktree and what is protected, ignored or not.
func watch(tree *workspace.Tree, g *graph.Graph) error {
	if err := tree.Watch(append(slices.Clone(g.Project.Copy), protectedGlobs(g)...)); err != nil {
		return fmt.Errorf("watching the protected files: %w", err)
	}
	return nil
}

func spec(g *graph.Graph, info runner.RunInfo) workspace.WorktreeSpec {
	return workspace.WorktreeSpec{Run: info.ID, Commit: info.BranchPoint, Branch: info.Branch, Detached: g.Isolation == graph.Detached, Scratch: g.Project.Scratch}
}

// protectedGlobs are the globs whose ignored files are compared by content too.
func protectedGlobs(g *graph.Graph) []string {
	var out []string
	g = g.Sampled()
	for i := range g.Phases {
		for _, r := range g.Phases[i].Boundary.Protect {
			if !slices.Contains(out, r.Glob) {
				out = append(out, r.Glob)
			}
		}
	}
	return out
}

// settingUp runs the commands that prepare a fresh worktree: the run's, or that of a visit.
type settingUp struct {
	g       *graph.Graph
	record  *journal.Record
	tree    *workspace.Tree
	info    runner.RunInfo
	environ []string
	guard   *process.Guard
	force   <-chan struct{}
	phase   string // of the visit; "" for the run's worktree
	visit   int
}

// commands runs them all, and notes which ignored files there are when they are done: others are work.
func (u settingUp) commands(ctx context.Context, note func(runner.Event)) error {
	for i, script := range u.g.Project.Setup {
		if err := u.command(ctx, i, script, note); err != nil {
			return err
		}
	}
	if err := u.tree.Baseline(ctx); err != nil {
		return fmt.Errorf("looking over the fresh worktree: %w", err)
	}
	return nil
}

// command runs one. Its failure is the run's, with the log kept.
func (u settingUp) command(ctx context.Context, i int, script graph.Script, note func(runner.Event)) error {
	name := fmt.Sprintf("setup.%d.log", i+1)
	if u.phase != "" {
		name = fileName(u.phase, u.visit, "."+name)
	}
	rel, full, err := u.record.LogPath("logs/" + name)
	if err != nil {
		return fmt.Errorf("opening the log of the setup: %w", err)
	}
	start, err := runner.ResolveSetup(u.g, u.info, script)
	if err != nil {
		return fmt.Errorf("rendering setup command %q: %w", script.Label, err)
	}
	r := process.Run(ctx, process.Spec{Argv: start.Argv, Shell: start.Shell, Dir: u.tree.Dir(), Env: append(append([]string{}, u.environ...), start.Env...), LogPath: full, LogLimit: u.g.Project.Keep.LogBytes, Mask: u.record.Mask(), Timeout: setupTimeout, Guard: u.guard, Kill: u.force})
	e := runner.Event{Kind: runner.SetupRan, Phase: u.phase, Visit: u.visit, File: rel, Result: &runner.CommandResult{Command: script.Label, Exit: r.Exit, Signal: r.Signal,
		Timeout: r.Reason == process.TimedOut, Output: r.Tail, Notes: r.Notes, Millis: r.Elapsed.Milliseconds()}}
	note(e)
	switch {
	case r.Err != nil:
		return fmt.Errorf("setup command %q could not be started: %w", script.Label, r.Err)
	case r.Reason == process.TimedOut:
		return fmt.Errorf("setup command %q ran into its limit of %s; its log is %s", script.Label, setupTimeout, filepath.Join(u.record.Dir(), rel))
	case r.LogErr != nil:
		return fmt.Errorf("writing the log of setup command %q: %w", script.Label, r.LogErr)
	case !r.OK():
		return fmt.Errorf("setup command %q ended with exit %d; its log is %s", script.Label, r.Exit, filepath.Join(u.record.Dir(), rel))
	}
	return nil
}

// Problem is something that keeps a run from starting, with its fix.
type Problem struct {
	Text string
	Fix  string
}

// Problems is what preflight found.
type Problems []Problem
