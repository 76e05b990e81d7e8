package check

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"foundry/graph"
	"foundry/runner"
)

// TestRunsGoBackAndOn takes a run back to where any of its visits began, goes on to the end, and compares with a
// replay. Where the fates of visits do not depend on their numbers it ends as it had.
func TestRunsGoBackAndOn(t *testing.T) {
	t.Parallel()
	tried, atOnce := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		g := tryCompile(randomPipelines(t))
		if g == nil {
			t.Skip("does not compile")
		}
		f := &fate{seed: rapid.SliceOfN(rapid.IntRange(0, 11), 40, 40).Draw(t, "fate")}
		_, log := play(t, g, f, 1, func(int) int { return 0 })
		for i := range log {
			log[i].Seq = i + 1
		}
		var visits []runner.Event
		for _, e := range log {
			id, ok := g.Lookup(e.Phase)
			if !ok || e.Kind != runner.PhaseStarted || g.Phases[id].Owner >= 0 {
				continue
			}
			visits = append(visits, e)
		}
		if len(visits) == 0 {
			t.Skip("nothing ran")
		}
		to := rapid.SampledFrom(visits).Draw(t, "visit")
		fact, _, _ := runner.Beginning(log, to.Phase, to.Visit)
		then, _, err := runner.Replay(g, log[:fact], nil)
		if err != nil {
			t.Fatal(err)
		}
		now, missing, err := runner.Replay(g, log, nil)
		if err != nil || len(missing) > 0 {
			t.Fatal(err)
		}
		e := runner.Event{Kind: runner.RunRewound, Phase: to.Phase, To: fact, Seq: len(log) + 1}
		s, cmds, err := runner.Rewound(g, then, now, e)
		if err != nil {
			t.Fatal(err)
		}
		log = append(slices.Clone(log), e)
		for _, c := range cmds {
			log = append(log, *c.Event)
		}
		id, _ := g.Lookup(to.Phase)
		want, again := now.Phase(id).Visits+1, graph.NewSet(len(g.Phases))
		if then.Phase(id).Status != runner.Running { // the visit ended as it began: it is still to come, and so is what depends on it
			want--
			again.Add(id)
			again.Union(g.Phases[id].After)
			atOnce++
		}
		if got := s.Phase(id).Visits; got != want {
			t.Fatalf("%s is in visit %d, not %d", to.Phase, got, want)
		}
		for i := range g.Phases {
			if p := graph.PhaseID(i); p != id && !inSet(g, again, p) && s.Phase(p).Status != then.Phase(p).Status {
				t.Fatalf("%s is %s, and was %s", g.Phases[i].Name, s.Phase(p).Status, then.Phase(p).Status)
			}
		}
		tried++
		end, full := playOn(t, g, f, log, func(int) int { return 0 })
		back, missing, err := runner.Replay(g, full, nil)
		if err != nil || len(missing) > 0 {
			t.Fatalf("replay: %v, %d missing", err, len(missing))
		}
		if got, want := story(g, back, nil), story(g, end, nil); got != want {
			t.Fatalf("replay is in another state: %s, not %s", got, want)
		}
	})
	if tried == 0 {
		t.Fatal("no run went back")
	}
	t.Logf("%d runs went back, %d of them to a visit that ended as it began", tried, atOnce)
}

// inSet says whether a phase, or a call around it, is in a set.
func inSet(g *graph.Graph, s graph.Set, p graph.PhaseID) bool {
	for ; p >= 0; p = g.Phases[p].Owner {
		if s.Has(p) {
			return true
		}
	}
	return false
}
