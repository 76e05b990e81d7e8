package check

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"foundry/graph"
	"foundry/runner"
)

const edited = "sources-2.json"

// editedPipeline writes what becomes of a pipeline while a run of it is at rest: the same, a change or two, or
// another one altogether, whose phases have the same names.
func editedPipeline(t *rapid.T, text string) string {
	switch rapid.IntRange(0, 5).Draw(t, "edit") {
	case 0:
		return text
	case 1:
		return randomPipelines(t)
	}
	lines := strings.SplitAfter(text, "\n")
	for range rapid.IntRange(1, 3).Draw(t, "edits") {
		i := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
		for j := range lines {
			k := (i + j) % len(lines)
			switch {
			case strings.Contains(lines[k], "run: make\n"):
				lines[k] = strings.Replace(lines[k], "run: make", rapid.SampledFrom([]string{"run: make all", "agent: coder"}).Draw(t, "to"), 1)
			case strings.Contains(lines[k], "retry 1"):
				lines[k] = strings.Replace(lines[k], "retry 1", "retry 2", 1)
			case strings.Contains(lines[k], "agent: coder"):
				lines[k] += "        prompt: another\n"
			default:
				continue
			}
			break
		}
	}
	return strings.Join(lines, "")
}

// goOn replays a log that was cut off, and goes on; with another pipeline from there on when now is given.
func goOn(t *rapid.T, was, now *graph.Graph, edits runner.Edits, f *fate, log []runner.Event) (runner.State, []runner.Event) {
	s, missing, err := runner.Replay(was, log, edits)
	if err != nil {
		t.Fatalf("replay: %v", err)
	}
	newest := was
	for i := range log {
		if g := edits[log[i].File]; g != nil && log[i].Kind == runner.RunResumed {
			newest = g
		}
	}
	p := &player{t: t, g: newest, f: f, pick: func(int) int { return 0 }, s: s, log: append(slices.Clone(log), missing...), at: newRounds()}
	if now == nil && s.View().Ended {
		return s, p.log
	}
	e := runner.Event{Kind: runner.RunResumed, Seq: len(p.log) + 1}
	var cmds []runner.Command
	if now != nil {
		e.File = edited
		p.s, cmds, err = runner.StepEdited(newest, now, s, e)
		p.g = now
	} else {
		p.s, cmds, err = runner.Step(newest, s, e)
	}
	if err != nil {
		t.Fatalf("resume: %v", err)
	}
	p.g = p.s.Graph(p.g)
	p.log = append(p.log, e)
	for _, c := range cmds {
		if c.ID.Kind == runner.Record {
			p.log = append(p.log, *c.Event)
		} else {
			p.open = append(p.open, c)
		}
	}
	for i := range p.log {
		if _, ok := p.g.Lookup(p.log[i].Phase); ok {
			p.at.add(p.g, &p.log[i])
		}
	}
	return p.toTheEnd()
}

// TestRunsGoOnWithAnEditedPipeline stops a run anywhere, edits its pipeline, goes on to the end, and does the same
// again from a log that was cut off behind the edit.
func TestRunsGoOnWithAnEditedPipeline(t *testing.T) {
	t.Parallel()
	tried, redone := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := randomPipelines(t)
		was, now := tryCompile(text), tryCompile(editedPipeline(t, text))
		if was == nil || now == nil {
			t.Skip("does not compile")
		}
		f := &fate{seed: rapid.SliceOfN(rapid.IntRange(0, 11), 40, 40).Draw(t, "fate")}
		whole, log := play(t, was, f, 1, func(int) int { return 0 })
		log = log[:rapid.IntRange(1, len(log)).Draw(t, "cut")]
		at, _, err := runner.Replay(was, log, nil)
		if err != nil {
			t.Fatal(err)
		}
		if at.View().Status == runner.RunAccepted {
			t.Skip("accepted")
		}
		tried++
		again := runner.Redone(was, now, at)
		redone += len(again)
		if was.Fingerprint == now.Fingerprint && len(again) > 0 {
			t.Fatalf("nothing was edited, and %d phases begin again\n%s", len(again), text)
		}
		edits := runner.Edits{edited: now}
		s, full := goOn(t, was, now, edits, f, log)
		back, missing, err := runner.Replay(was, full, edits)
		if err != nil || len(missing) > 0 {
			t.Fatalf("replay: %v, %d missing\n%s", err, len(missing), text)
		}
		if got, want := story(now, back, nil), story(now, s, nil); got != want {
			t.Fatalf("replay is in another state: %s, not %s", got, want)
		}
		kept(t, was, now, at, again, full[slices.IndexFunc(full, func(e runner.Event) bool { return e.File == edited }):])
		if was.Fingerprint == now.Fingerprint && !at.View().Ended {
			if got, want := visitEnds(full), visitEnds(log); !strings.HasPrefix(got, want) {
				t.Fatalf("what had ended ended otherwise\n%s\n%s", want, got)
			}
			if got, want := s.View(), whole.View(); got.Status != want.Status || got.Reason != want.Reason {
				t.Fatalf("nothing was edited, and the verdict is %s %s instead of %s %s\n%s", got.Status, got.Reason, want.Status, want.Reason, text)
			}
		}
		first := slices.IndexFunc(full, func(e runner.Event) bool { return e.File == edited })
		cut := rapid.IntRange(first+1, len(full)).Draw(t, "second cut")
		s2, full2 := goOn(t, was, nil, edits, f, full[:cut])
		if got, want := s2.View(), s.View(); got.Status != want.Status || got.Reason != want.Reason || got.Text != want.Text {
			t.Fatalf("killed behind the edit, the verdict is %s %s instead of %s %s\n%s", got.Status, got.Text, want.Status, want.Text, text)
		}
		if _, missing, err := runner.Replay(was, full2, edits); err != nil || len(missing) > 0 {
			t.Fatalf("replay: %v, %d missing", err, len(missing))
		}
	})
	if tried == 0 || redone == 0 && !testing.Short() { // few runs may hold no such phase
		t.Fatalf("%d runs went on, %d phases began again", tried, redone)
	}
	t.Logf("%d runs went on, in which %d finished phases began again", tried, redone)
}

// kept: a phase that had passed and says the same, and whose ancestors do, is not queued by the edit itself.
func kept(t *rapid.T, was, now *graph.Graph, at runner.State, again []string, after []runner.Event) {
	for i := range after {
		e := &after[i]
		if e.Kind == runner.RunResumed || e.Kind == runner.PhaseQueued || e.Kind == runner.PhaseInvalidated || e.Kind == runner.PhaseNotRun || e.Kind == runner.AskWithdrawn {
			_, ok := now.Lookup(e.Phase)
			old, had := was.Lookup(e.Phase)
			if e.Kind == runner.PhaseInvalidated && ok && had && at.Phase(old).Status == runner.Success && !slices.Contains(again, e.Phase) {
				t.Fatalf("%s is void, and was not named", e.Phase)
			}
			continue
		}
		return
	}
}

// visitEnds lists how visits ended, in order.
func visitEnds(log []runner.Event) string {
	var b strings.Builder
	for _, e := range log {
		if e.Kind == runner.PhaseEnded {
			b.WriteString(e.Phase + " " + e.Status + ", ")
		}
	}
	return b.String()
}
