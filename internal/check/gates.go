package check

import (
	"path"
	"slices"
	"strings"

	"foundry/gates"
	"foundry/graph"
	"foundry/runner"
)

// This file judges gates. A gate that an entry names ends as the entry says. Any other one looks for itself
// where there is something to look at: an expression at the run, a review's consistency at its report, gates of
// files at the files given, gates of changes at the changes given, a test report at the output given. What is
// left, a command above all, passes.

func (w *World) gates(g *graph.Graph, s runner.State, c runner.Command, e runner.Event) ([]runner.Event, error) {
	v := w.visit(c)
	var out []runner.Event
	for _, gate := range g.Phases[c.ID.Phase].Gates {
		verdict := gates.Verdict{Outcome: gates.Passed}
		switch said := v.newest.Gates[gate.Spec.Name]; {
		case said == "fail":
			verdict.Outcome = gates.Failed
		case said == "empty":
			verdict.Outcome = gates.Empty
		case said == "pass":
		case w.visible(v, gate):
			verdict = runner.JudgeGate(g, s, c.ID.Phase, gate, w.evidence(g, s, c, gate))
			if verdict.Outcome == gates.Failed && !v.newest.Looked && readsChanged(gate) {
				return nil, &NotGivenError{Name: e.Phase, What: "attempt", Visit: c.ID.Visit, N: c.ID.Attempt, Gate: gate.Spec.Name, At: v.newest.At}
			}
		}
		e.Kind, e.Gate, e.Outcome, e.Checks = runner.GateChecked, gate.Spec.Name, verdict.Outcome.String(), verdict.Checks
		out = append(out, e)
	}
	return out, nil
}

// visible says whether the gate has something to look at.
func (w *World) visible(v *visit, gate graph.Gate) bool {
	switch gate.Spec.Kind {
	case gates.Expression, gates.VerdictConsistent:
		return true
	case gates.ArtifactsExist, gates.FilesNonEmpty, gates.JSONParses:
		return v.files
	case gates.DiffMatchesClaims, gates.TestsUntouched, gates.MaxDiff:
		return v.files || v.newest.Looked
	case gates.TestsRan:
		return gate.Spec.File == "" && v.newest.HasOutput || gate.Spec.File != "" && v.files
	}
	return false
}

func readsChanged(gate graph.Gate) bool {
	if gate.Cond == nil {
		return false
	}
	for _, r := range gate.Cond.Reads() {
		if r.Phase == "" && r.Field == "changed" {
			return true
		}
	}
	return false
}

// evidence is what the gate sees of the made-up workspace.
func (w *World) evidence(g *graph.Graph, s runner.State, c runner.Command, gate graph.Gate) gates.Evidence {
	v, ph := w.visit(c), &g.Phases[c.ID.Phase]
	ev := gates.Evidence{Envelope: runner.Envelope(s, c.ID.Phase), Files: map[string]gates.File{}}
	for _, claim := range ph.Envelope.Paths(ev.Envelope) {
		ev.Claims = append(ev.Claims, gates.Claim{Field: claim.Field, Path: claim.Path, Planned: claim.Planned})
	}
	probe := gate.Spec.Probe(ev.Claims)
	for _, p := range slices.Concat(probe.Paths, probe.Read) {
		ev.Files[p] = w.place(v).look(p)
	}
	for _, p := range v.paths() {
		ev.Changes = append(ev.Changes, w.change(v, p))
	}
	for p := range w.place(v).changed {
		ev.Earlier = append(ev.Earlier, gates.Change{Path: p, Kind: gates.Modified})
	}
	if ended := runner.Ended(s, c.ID.Phase); ended != nil {
		ev.Run = &gates.Run{Exit: ended.Exit, Passed: ended.Exit == 0, Output: ended.Output, TimedOut: ended.Timeout}
	}
	return ev
}

// look is what lies at a path, as far as it was given.
func (t tree) look(p string) gates.File {
	clean := path.Clean(p)
	switch {
	case strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~"):
		return gates.File{Problem: "absolute path"}
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return gates.File{Problem: "leaves the workspace"}
	}
	if text := t.files[clean]; text != nil {
		return gates.File{Exists: true, Type: "file", Size: int64(len(*text)), Data: []byte(*text)}
	}
	for name, text := range t.files {
		if text != nil && strings.HasPrefix(name, clean+"/") {
			return gates.File{Exists: true, Type: "dir"}
		}
	}
	return gates.File{}
}

// change says how a path differs from the start of the visit. Lines are counted where the text was given.
func (w *World) change(v *visit, p string) gates.Change {
	c := gates.Change{Path: p, Kind: gates.Modified}
	before, known := v.start.files[p]
	after := w.place(v).files[p]
	switch {
	case !v.wrote[p]:
		return c
	case after == nil:
		c.Kind = gates.Deleted
	case before == nil && (known || !v.start.changed[p]):
		c.Kind = gates.Created
	}
	var old, now string
	if before != nil {
		old = *before
	}
	if after != nil {
		now = *after
	}
	c.Added, c.Removed = differ(lines(old), lines(now))
	return c
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// differ counts the lines that are new and those that are gone, between what both texts begin and end with.
func differ(old, now []string) (added, removed int) {
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	return len(now), len(old)
}
