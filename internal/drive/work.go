package drive

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"foundry/glob"
	"foundry/runner"
)

// This file carries commands out. Each function runs in a worker's goroutine, reads the state as it was when
// the command was given, and answers with facts.

func (d *driver) carryOut(ctx context.Context, s runner.State, c runner.Command, send func(...runner.Event)) {
	switch c.ID.Kind {
	case runner.MakeWorkspace:
		d.makeWorkspace(ctx, c, send)
	case runner.TakeSnapshot:
		d.snapshot(ctx, s, c, send)
	case runner.SendTurn:
		d.turn(ctx, s, c, send)
	case runner.CheckBoundary:
		d.boundary(ctx, s, c, send)
	case runner.CheckReview:
		d.review(ctx, s, c, send)
	case runner.JudgeGates:
		d.gates(ctx, s, c, send)
	case runner.StartCommand:
		d.command(ctx, s, c, send)
	case runner.PutAsk:
		d.ask(ctx, s, c, send)
	case runner.MakeApart:
		d.makeApart(ctx, s, c, send)
	case runner.MergeBack:
		d.mergeBack(ctx, s, c, send)
	case runner.UndoPhase:
		if c.Purpose == runner.ForReview {
			d.revert(ctx, c, send)
		} else {
			d.undo(ctx, c, send)
		}
	case runner.CheckCriterion:
		d.criterion(ctx, s, c, send)
	default:
		panic(fmt.Sprintf("BUG: nobody carries out %s", c.ID))
	}
}

// makeWorkspace makes the worktree and runs its setup. Nothing else runs meanwhile, so that the loop reads the
// tree only after the fact has told it.
func (d *driver) makeWorkspace(ctx context.Context, c runner.Command, send func(...runner.Event)) {
	tree, err := d.Make(ctx, func(e runner.Event) { send(e) })
	if err != nil {
		if ctx.Err() == nil {
			e := failed(c, "", err)
			e.Reason = runner.ReasonSetup
			send(e)
		}
		return
	}
	d.Tree = tree
	send(d.named(c, runner.WorkspaceReady))
}

// world looks at what texts that belong to a command may say of the world.
func (d *driver) world(ctx context.Context, s runner.State, c runner.Command) runner.World {
	tree, p := d.treeOf(c), c.ID.Phase
	w := runner.World{HandoffDir: filepath.Join(tree.Dir(), glob.Handoff)}
	filepath.WalkDir(w.HandoffDir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && len(w.HandoffFiles) < 1000 {
			if rel, err := filepath.Rel(w.HandoffDir, path); err == nil {
				w.HandoffFiles = append(w.HandoffFiles, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	if d.readsCard(p) || (p < 0 && d.reading) {
		w.Context = d.card(ctx, tree, s.View().Info)
	}
	return w
}
