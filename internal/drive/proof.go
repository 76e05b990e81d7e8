package drive

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"foundry/graph"
	"foundry/internal/atomicfile"
	"foundry/runner"
)

// This file decides whether a code phase with `sources` has to run. What it did when it last passed is kept beside
// the records: if its definition, what its command was started with and the bytes of its sources are as they were,
// it passes again without being started, with the evidence of then, marked as such. A phase whose sources match no
// file is always started: nothing was looked at.

// proof is what a phase passed with.
type proof struct {
	Run        string                `json:"run"`
	Phase      string                `json:"phase"`
	Visit      int                   `json:"visit"`
	At         time.Time             `json:"at"`
	Definition string                `json:"definition"`
	Start      string                `json:"start"`   // digest of the command as it was started, its environment included
	Sources    map[string]string     `json:"sources"` // digests of the files
	Result     *runner.CommandResult `json:"result"`
	Gates      []runner.Event        `json:"gates,omitempty"` // what they said
}

// reused names where the evidence comes from.
func (p *proof) reused() *runner.Reused {
	return &runner.Reused{Run: p.Run, Phase: p.Phase, Visit: p.Visit, At: p.At}
}

// proofFile is where the proof of a phase is kept; "" when none is.
func (d *driver) proofFile(ph *graph.Phase) string {
	if d.Proofs == "" || len(ph.Sources) == 0 {
		return ""
	}
	return filepath.Join(d.Proofs, d.g().Pipeline, runner.FileName(ph.Name)+".json")
}

// proofOf reads what a phase last passed with. A file that cannot be read proves nothing.
func (d *driver) proofOf(ph *graph.Phase) *proof {
	text, err := os.ReadFile(d.proofFile(ph))
	var p proof
	if err != nil || json.Unmarshal(text, &p) != nil || p.Result == nil {
		return nil
	}
	return &p
}

// candidate is what a phase would prove if it passed now.
func (d *driver) candidate(ph *graph.Phase, visit int, st runner.Start) (*proof, error) {
	sources, err := d.Digests.of(d.Tree.Dir(), ph.Sources, d.Now)
	if err != nil {
		return nil, fmt.Errorf("reading the sources of %s: %w", ph.Name, err)
	}
	return &proof{Run: d.Record.ID(), Phase: ph.Name, Visit: visit, Definition: ph.Fingerprint, Start: d.startDigest(st), Sources: sources}, nil
}

// startDigest is of what a command is started with, wherever and in whichever run.
func (d *driver) startDigest(st runner.Start) string {
	h := sha256.New()
	put := func(s string) {
		s = strings.NewReplacer(d.Tree.Dir(), "WORKSPACE", d.Record.ID(), "RUN").Replace(s)
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	put(st.Shell)
	put(st.Dir)
	for _, a := range st.Argv {
		put(a)
	}
	for _, kv := range st.Env {
		if !strings.HasPrefix(kv, "FOUNDRY_") {
			put(kv)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// because says why a phase has to run although it passed before; "" when it need not.
func because(before, now *proof) string {
	switch {
	case before == nil:
		return "it has not passed before"
	case len(now.Sources) == 0:
		return "no file matches its sources"
	case before.Definition != now.Definition:
		return "its definition changed"
	case before.Start != now.Start:
		return "what it is started with changed"
	}
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(now.Sources)) {
		if was, ok := before.Sources[name]; !ok {
			changed = append(changed, name+" is new")
		} else if was != now.Sources[name] {
			changed = append(changed, name+" changed")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.Sources)) {
		if _, ok := now.Sources[name]; !ok {
			changed = append(changed, name+" is gone")
		}
	}
	const shown = 3
	if more := len(changed) - shown; more > 0 {
		changed = append(changed[:shown], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(changed, ", ")
}

// upToDate says whether a phase with sources passed with just this before. Otherwise the fact says why it runs, and
// what it does is proven once the phase has ended well.
func (d *driver) upToDate(ph *graph.Phase, c runner.Command, st runner.Start, e *runner.Event) (bool, error) {
	if d.proofFile(ph) == "" {
		return false, nil
	}
	now, err := d.candidate(ph, c.ID.Visit, st)
	if err != nil {
		return false, err
	}
	before := d.proofOf(ph)
	key := visitKey{c.ID.Phase, c.ID.Visit}
	e.Because = because(before, now)
	if e.Because == "" && d.again {
		e.Because = "--force"
	}
	d.proofMu.Lock()
	defer d.proofMu.Unlock()
	if e.Because != "" {
		d.proving[key] = now
		return false, nil
	}
	d.proven[key] = before
	result := *before.Result
	e.Result, e.Reused = &result, before.reused()
	return true, nil
}

// ran notes how the command of a phase with sources ended. Sources that changed meanwhile prove nothing: nobody knows
// which of them it read.
func (d *driver) ran(ph *graph.Phase, c runner.Command, st runner.Start, result *runner.CommandResult) {
	d.proofMu.Lock()
	now := d.proving[visitKey{c.ID.Phase, c.ID.Visit}]
	d.proofMu.Unlock()
	if now == nil {
		return
	}
	after, err := d.candidate(ph, c.ID.Visit, st)
	d.proofMu.Lock()
	defer d.proofMu.Unlock()
	if err != nil || because(now, after) != "" {
		delete(d.proving, visitKey{c.ID.Phase, c.ID.Visit})
		return
	}
	now.Result = result
}

// carriedOver are the verdicts of the gates of a visit whose command was not started, from when it was; nil when it
// was started. A resume that finds the proof gone judges again.
func (d *driver) carriedOver(c runner.Command) *proof {
	d.proofMu.Lock()
	defer d.proofMu.Unlock()
	return d.proven[visitKey{c.ID.Phase, c.ID.Visit}]
}

// prove keeps the proof of a phase that has ended well. One that cannot be kept costs a run later, nothing else.
func (d *driver) prove(e runner.Event) {
	id, ok := d.g().Lookup(e.Phase)
	if !ok {
		return
	}
	key := visitKey{id, e.Visit}
	d.proofMu.Lock()
	p := d.proving[key]
	delete(d.proving, key)
	delete(d.proven, key)
	d.proofMu.Unlock()
	if p == nil || p.Result == nil || e.Status != runner.Success.String() {
		return
	}
	p.At = e.At
	for _, g := range d.Record.Events() {
		if g.Kind == runner.GateChecked && g.Phase == e.Phase && g.Visit == e.Visit {
			p.Gates = append(p.Gates, g)
		}
	}
	file := d.proofFile(&d.g().Phases[id])
	text, err := json.Marshal(p)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(file, text, 0o600)
	}
	if err != nil {
		d.append(runner.Event{Kind: runner.Warned, Phase: e.Phase, Visit: e.Visit, Text: "what it proved could not be kept, so it will run again: " + err.Error()})
	}
}
