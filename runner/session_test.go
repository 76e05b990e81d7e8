package runner_test

import (
	"fmt"
	"strings"
	"testing"

	. "foundry/runner"
)

// told are the turns that are wanted, each with its number in its session.
func (sc *script) told() string {
	var out []string
	for _, c := range sc.wants {
		if c.ID.Kind == SendTurn {
			out = append(out, fmt.Sprintf("%s@%d %s %d", sc.g.Phases[c.ID.Phase].Name, c.ID.Visit, c.Purpose, c.Session))
		}
	}
	return strings.Join(out, ", ")
}

func (sc *script) turn(want string) {
	sc.t.Helper()
	if got := sc.told(); got != want {
		sc.t.Fatalf("wanted turn %q, got %q", want, got)
	}
}

func TestFreshSession(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: plan, agent: coder, prompt: x}
      - {id: build, agent: coder, session: fresh, prompt: x}
      - {id: test, run: make, route: on fail -> build retry 1}
      - {id: note, agent: coder, prompt: x}
`, RunInfo{Jobs: 1})
	sc.starts("plan")
	sc.turn("plan@1 prompt 1")
	sc.reply("plan", 1, success)
	sc.bounds("plan")
	sc.starts("build")
	sc.turn("build@1 prompt 1")
	sc.reply("build", 1, "nothing of use")
	sc.turn("build@1 envelope 2")
	sc.reply("build", 2, success)
	sc.bounds("build")
	sc.exit("test", 1)
	sc.feed(Event{Kind: SnapshotTaken, Tree: "jump"})
	sc.starts("build")
	sc.turn("build@2 prompt 1")
	sc.reply("build", 1, success)
	sc.bounds("build")
	sc.exit("test", 0)
	sc.starts("note")
	sc.turn("note@1 prompt 2")
}

// Phases of one agent that only read take turns for the session's sake, unless each has one of its own.
func TestFreshSessionsOverlap(t *testing.T) {
	t.Parallel()
	for key, together := range map[string]bool{"session: keep": false, "session: fresh": true} {
		sc := begin(t, fmt.Sprintf(`    phases:
      - {id: left, agent: critic, needs: [], prompt: x, %[1]s}
      - {id: right, agent: critic, needs: [], prompt: x, %[1]s}
`, key), RunInfo{Jobs: 2})
		if sc.status("left") != Running || (sc.status("right") == Running) != together {
			t.Errorf("%s: left is %s, right %s", key, sc.status("left"), sc.status("right"))
		}
	}
}
