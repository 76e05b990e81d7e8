package drive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"foundry/graph"
	"foundry/internal/atomicfile"
	"foundry/internal/workspace"
	"foundry/runner"
)

// This file takes over what an agent did in an earlier run. A phase with `reuse` whose definition, rendered prompt and
// files are those of an earlier visit that ended well gets that visit's report and its change of the files, and no turn
// is spent. Boundary and gates look at the result as at any other. What cannot be brought about exactly is not used.

// mostWork is how many results are kept for one phase.
const mostWork = 20

// workDone is what a visit of an agent came to.
type workDone struct {
	Run   string    `json:"run"`
	Phase string    `json:"phase"`
	Visit int       `json:"visit"`
	At    time.Time `json:"at"`
	Reply string    `json:"reply"`
	Ref   string    `json:"ref"` // holds the tree
	Tree  string    `json:"tree"`
}

// workDir is where the results of a phase are kept.
func (d *driver) workDir(phase string) string {
	return filepath.Join(d.Proofs, d.g().Pipeline, runner.FileName(phase)+".work")
}

// takeOver looks for an equal earlier result when the first turn of a visit is due, and brings it about.
func (d *driver) takeOver(ctx context.Context, ph *graph.Phase, c runner.Command, prompt string) (e runner.Event, ok bool, err error) {
	if !ph.Reuse || d.Proofs == "" || c.Purpose != runner.ForPrompt || c.ID.Attempt != 1 || !d.treeOf(c).Isolated() {
		return e, false, nil
	}
	start, err := d.startOf(ctx, c)
	if err != nil {
		return e, false, err
	}
	key := d.workKey(ph, d.treeOf(c).Dir(), prompt, start)
	d.proofMu.Lock()
	d.reusing[visitKey{c.ID.Phase, c.ID.Visit}] = key
	d.proofMu.Unlock()
	var done workDone
	text, err := os.ReadFile(filepath.Join(d.workDir(ph.Name), key+".json"))
	if d.again || err != nil || json.Unmarshal(text, &done) != nil || !d.Repo.Held(ctx, done.Ref, done.Tree) {
		return e, false, nil
	}
	if err := d.treeOf(c).Become(ctx, start, done.Tree); err != nil {
		if back := d.treeOf(c).Restore(ctx, start); back != nil {
			return e, false, errors.Join(err, back)
		}
		return e, false, nil
	}
	e = d.named(c, runner.TurnEnded)
	e.Turn, e.Agent, e.Harness = c.ID.Turn, d.g().Agents[c.Agent].Name, d.g().Agents[c.Agent].Harness
	e.Reply = &runner.Reply{Stop: runner.StopEnd, Text: done.Reply, CostKnown: true, CallsKnown: true}
	e.Reused = &runner.Reused{Run: done.Run, Phase: done.Phase, Visit: done.Visit, At: done.At}
	d.proofMu.Lock()
	delete(d.reusing, visitKey{c.ID.Phase, c.ID.Visit}) // it is kept already
	d.proofMu.Unlock()
	return e, true, nil
}

// workKey is equal when nothing that an agent goes by differs. Where a run works, and its id, do not count.
func (d *driver) workKey(ph *graph.Phase, dir, prompt string, start workspace.Snapshot) string {
	prompt = strings.NewReplacer(dir, "WORKSPACE", d.Record.ID(), "RUN").Replace(prompt)
	h := sha256.New()
	for _, s := range []string{ph.Fingerprint, start.Tree, prompt} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// keepWork keeps the result of an agent's visit that ended well. One that cannot be kept costs turns later, nothing else.
func (d *driver) keepWork(e runner.Event) {
	id, ok := d.g().Lookup(e.Phase)
	if !ok {
		return
	}
	d.proofMu.Lock()
	key := d.reusing[visitKey{id, e.Visit}]
	delete(d.reusing, visitKey{id, e.Visit})
	d.proofMu.Unlock()
	if key == "" || e.Status != runner.Success.String() {
		return
	}
	done := workDone{Run: d.Record.ID(), Phase: e.Phase, Visit: e.Visit, At: e.At}
	for _, x := range d.Record.Events() {
		switch {
		case x.Phase != e.Phase || x.Visit != e.Visit:
		case x.Kind == runner.TurnEnded && x.Reply != nil && !x.OfReview():
			done.Reply = x.Reply.Text
		case x.Kind == runner.BoundaryChecked:
			done.Ref, done.Tree = x.Ref, x.Tree
		}
	}
	if done.Ref == "" || done.Tree == "" || done.Tree == runner.UnknownTree {
		return
	}
	dir := d.workDir(e.Phase)
	text, err := json.Marshal(done)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = atomicfile.Write(filepath.Join(dir, key+".json"), text, 0o600)
	}
	if err == nil {
		err = dropOldest(dir, mostWork)
	}
	if err != nil {
		d.append(runner.Event{Kind: runner.Warned, Phase: e.Phase, Visit: e.Visit, Text: "its result could not be kept for later runs: " + err.Error()})
	}
}

// dropOldest leaves so many files in a directory.
func dropOldest(dir string, most int) error {
	entries, err := os.ReadDir(dir)
	for len(entries) > most && err == nil {
		oldest, at := -1, time.Time{}
		for i, e := range entries {
			if info, err := e.Info(); err == nil && (oldest < 0 || info.ModTime().Before(at)) {
				oldest, at = i, info.ModTime()
			}
		}
		if oldest < 0 {
			return nil
		}
		err = os.Remove(filepath.Join(dir, entries[oldest].Name()))
		entries = append(entries[:oldest], entries[oldest+1:]...)
	}
	return err
}
