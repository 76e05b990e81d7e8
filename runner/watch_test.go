package runner_test

import (
	"testing"

	. "foundry/runner"
)

const watched = `    accept: passed("test") && approved("review")
    criteria: [{name: builds, run: make, required: true}]
    phases:
      - {id: plan, agent: coder}
      - {id: lint, run: make lint, route: ["on fail -> plan retry 1"]}
      - {id: test, run: make test, route: ["on fail -> fix"]}
      - {id: review, agent: critic}
      - {id: pack, run: make pack}
      - {id: fix, detour: true, run: make fix}
`

func TestAWatchRunsItsPhasesAndNothingElse(t *testing.T) {
	t.Parallel()
	sc := begin(t, watched, RunInfo{Only: []string{"lint", "test", "pack"}})
	sc.want("command lint")
	sc.exit("lint", 0)
	sc.want("command test")
	sc.exit("test", 0)
	sc.want("command pack")
	sc.exit("pack", 0)
	sc.want("snapshot")
	sc.verdict()
	sc.end(RunAccepted, "")
	if sc.status("plan") != NotRun || sc.status("review") != NotRun {
		t.Errorf("plan is %s, review %s", sc.status("plan"), sc.status("review"))
	}
}

func TestAFailureInAWatchLeadsNowhere(t *testing.T) {
	t.Parallel()
	sc := begin(t, watched, RunInfo{Only: []string{"lint", "test"}})
	sc.exit("lint", 1)
	sc.want("snapshot")
	sc.verdict()
	sc.end(RunRejected, ReasonUnmatched)
	if sc.status("test") != NotRun {
		t.Errorf("test is %s", sc.status("test"))
	}
}
