package live

import (
	"testing"

	"foundry/graph"
	"foundry/runner"
)

// checks is a pipeline of which a watch runs two phases.
func checks() *graph.Graph {
	g := &graph.Graph{Agents: []graph.Agent{{Name: "coder"}}}
	g.Pipeline = "checks"
	for i, ph := range []graph.Phase{
		{Name: "build", Kind: graph.AgentWork},
		{Name: "lint", Kind: graph.Code, Script: graph.Script{Label: "golangci-lint run"}},
		{Name: "test", Kind: graph.Code, Script: graph.Script{Label: "go test ./..."}, Needs: []graph.PhaseID{1}},
		{Name: "docs", Kind: graph.Code, Script: graph.Script{Label: "markdownlint docs"}},
	} {
		ph.ID, ph.Local, ph.Owner = graph.PhaseID(i), ph.Name, -1
		g.Phases = append(g.Phases, ph)
		g.Own = append(g.Own, ph.ID)
	}
	return g
}

// watchStart is a watch in its first moment.
func watchStart(o Options) *tape {
	o.Graph, o.Watch = checks(), true
	l := &tape{New(o), noon}
	l.Update(Cause{"changes are noticed by events"})
	return l.at(0.1)
}

// begin begins a run of the phases of a watch that are not left out.
func (l *tape) begin(run string, left ...string) *tape {
	l.Update(Next{Graph: checks(), Run: run, Records: ".foundry/runs/" + run})
	l.add(runner.Event{Kind: runner.RunStarted, Run: &runner.RunInfo{ID: run, Pipeline: "checks", Isolation: "checkout", Only: []string{"lint"}}})
	for _, name := range []string{"build", "lint", "test", "docs"} {
		l.on(name, 0, runner.Event{Kind: runner.PhaseQueued})
	}
	for _, name := range left {
		l.on(name, 0, runner.Event{Kind: runner.PhaseNotRun, Reason: runner.NotWatched})
	}
	return l.add(runner.Event{Kind: runner.WorkspaceReady})
}

func (l *tape) end(status string) *tape {
	return l.add(runner.Event{Kind: runner.RunEnded, Status: status})
}

// watchFailed is a watch whose second run failed: what depends on the failure did not run.
func watchFailed(o Options) *tape {
	l := watchStart(o).begin("run_261130_000001", "build")
	for _, name := range []string{"lint", "test", "docs"} {
		l.on(name, 1, entered).at(l.now.Sub(noon).Seconds()+1.5).on(name, 1, command(0, "ok\n"), ended("success", "", ""))
	}
	l.end("accepted").at(60)
	l.Update(Cause{"calc.go modified"})
	l.begin("run_261130_000002", "build", "docs").on("lint", 1, entered).at(61.2).on("lint", 1, command(1, "calc.go:3: ineffectual assignment\n"), ended("fail", "exit", "exit 1"))
	return l.on("test", 0, runner.Event{Kind: runner.PhaseNotRun, Reason: "lint ended fail"}).end("rejected").at(65)
}

// watchNext is the run after that.
func watchNext(o Options) *tape {
	l := watchFailed(o)
	l.Update(Cause{"calc.go modified, docs/new.md created"})
	l.begin("run_261130_000003", "build").on("lint", 1, entered).at(71).on("lint", 1, command(0, ""), ended("success", "", "")).on("test", 1, entered).at(72.5)
	l.Update(Output{"test", 1, []string{"=== RUN   TestAdd", "--- PASS: TestAdd (0.00s)", "=== RUN   TestSub"}})
	return l
}

// watchFindings is a pipeline file that is broken meanwhile.
func watchFindings(o Options) *tape {
	l := watchFailed(o)
	l.Update(Findings{"foundry.yaml does not compile; the last good pipeline stays in force", []string{
		"foundry.yaml:12:10: error: a phase has no key \"idd\" [unknown-key]", "   12 |       - {idd: docs}", "      |          ^^^", "   hint: did you mean \"id\"?"}})
	return l
}

// watchMended is the same one mended, with a phase more.
func watchMended(o Options) *tape {
	l := watchFindings(o)
	g := checks()
	g.Phases = append(g.Phases, graph.Phase{ID: 4, Name: "spell", Local: "spell", Owner: -1, Kind: graph.Code, Script: graph.Script{Label: "codespell"}})
	g.Own = append(g.Own, 4)
	l.Update(Findings{})
	l.Update(InForce{g})
	l.Update(Cause{"foundry.yaml modified"})
	return l
}

func TestWatchKillsOnlyWhatRuns(t *testing.T) {
	t.Parallel()
	if e := watchFailed(Options{}).keys("K", "y"); e.Kind != 0 {
		t.Errorf("a run that had ended was killed: %v", e)
	}
	if e := watchNext(Options{}).keys("K", "y"); e.Kind != Kill {
		t.Errorf("%v", e)
	}
}
