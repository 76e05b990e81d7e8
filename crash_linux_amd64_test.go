package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The crash suite: a run with two loops, a boundary that is broken, a commit, a question and a merge is killed before
// each of its effects and in the middle of each of its writes, gone on with as a person would, and has to come to
// the same end as the run that nobody disturbed: files, commits, refs, verdict, and what agents were paid for. So is one
// whose phases have worktrees of their own, with a conflict between two of them.

var crashPoints = flag.String("crash", "", "kill a run at each of its effects (all), or at those whose name this pattern fits, not only at a few")

// play is a run as a person types it, one command after the other; kills fall into those from the given one on.
type play struct {
	name  string
	steps [][]string
	from  int
	like  string // the play in which the commands before that one are given
}

var plays = []play{
	{"auto", [][]string{{"up", "--no-input", "main", "do it"}, {"approve", "last", "--no-input"}}, 0, "auto"},
	{"aside", [][]string{{"up", "--no-input", "-j", "1", "aside", "do it"}}, 0, "aside"},
	{"merge", [][]string{{"up", "--no-input", "--merge", "ask", "main", "do it"}, {"approve", "last", "--no-input"}, {"merge", "last"}}, 2, "merge"},
	{"discard", [][]string{{"up", "--no-input", "--merge", "ask", "main", "do it"}, {"approve", "last", "--no-input"}, {"discard", "last"}}, 2, "merge"},
}

const crashPipeline = `version: 1
project:
  merge: auto
  worktree:
    copy: [.env]
    setup: ["cp .env src/env.txt"]
agents:
  coder: {extends: builtin/builder, harness: command, argv: [./agent.sh], writes: ["src/**"]}
  judge: {extends: builtin/reviewer, harness: command, argv: [./agent.sh]}
  critic: {extends: judge}
pipelines:
  main:
    accept: passed("test") && approved("review") && approved("ship")
    criteria:
      - {name: sane, run: ./step.sh, required: true}
    phases:
      - id: build
        agent: coder
        retries: 1
        gates: [diff_matches_claims, {command_passes: ./step.sh}]
        review: critic
      - id: commit
        builtin: git_commit
        message: "work of the run"
      - id: test
        run: ./step.sh
        writes: ["src/**"]
        route: |
          on fail -> build retry 2
      - id: review
        agent: judge
        route: |
          on reject -> build retry 1
      - id: ship
        ask: "ship it?"
  aside:
    accept: passed("left") && passed("right") && passed("test")
    phases:
      - id: left
        agent: coder
        needs: []
        parallel: worktree
      - id: right
        agent: coder
        needs: []
        parallel: worktree
        retries: 1
        gates: [diff_matches_claims]
        route: |
          on fail when reason == "conflict" -> right retry 1
      - id: test
        run: ./step.sh
        needs: [left, right]
        writes: ["src/**"]
`

// crashAgent does the same in the same turn, and counts its turns outside the repository. At one moment of one of
// them it can end foundry; what it has started goes on.
const crashAgent = `#!/bin/sh
cat >/dev/null
turn=$FOUNDRY_PHASE@$FOUNDRY_VISIT.$FOUNDRY_ATTEMPT
[ "$FOUNDRY_AGENT" != critic ] || turn="critic of $turn"
at() { [ "$KILL_AT" != "$turn $1" ] || kill -9 $PPID; }
echo "agent $turn" >>"$COUNT"
at first
case $turn in
build@1.1) echo one >src/a.txt; echo bad >README; at middle; mkdir -p docs; echo bad >docs/new; rm keep.txt; changed='"src/a.txt"' ;;
build@1.2) echo two >src/a.txt; at middle; echo b >src/b.txt; changed='"src/a.txt", "src/b.txt"' ;;
build@2.1) echo three >>src/a.txt; at middle; rm src/old.txt; changed='"src/a.txt", "src/old.txt"' ;;
left@1.1) echo left >src/old.txt; at middle; echo l >src/l.txt; changed='"src/old.txt", "src/l.txt"' ;;
right@1.1) echo right >src/old.txt; at middle; echo r >src/r.txt; echo bad >README; changed='"src/old.txt", "src/r.txt"' ;;
right@1.2) at middle; changed='"src/old.txt", "src/r.txt"' ;;
right@2.1) echo right >>src/old.txt; at middle; cat src/r.txt >src/r2.txt; changed='"src/old.txt", "src/r2.txt"' ;;
build@3.1) echo four >>src/a.txt; at middle; mkdir -p src/d; echo d >src/d/d.txt; changed='"src/a.txt", "src/d/d.txt"' ;;
review@1.1) verdict=false; blocking='"no d"' ;;
review@2.1) verdict=true ;;
"critic of build@1.2") [ "$FOUNDRY_TURN" != 1 ] || { echo bad >src/bad.txt; at middle; rm src/a.txt; } ;;
esac
if [ "$KILL_AT" = "$turn late" ]; then
  (while :; do echo late >>src/late.txt; sleep 0.01; done) >/dev/null 2>&1 &
  at late
fi
case $turn in
critic*) echo '{"verdict": "pass", "reason": "it is there", "evidence": ["src/a.txt"]}' ;;
review*) echo '{"status": "success", "approved": '$verdict', "findings": [{"requirement": "d", "met": '$verdict', "evidence": "src"}], "blocking": ['$blocking']}' ;;
*) echo '{"status": "success", "summary": "done", "changed_files": ['$changed']}' ;;
esac
at last
`

const crashStep = `#!/bin/sh
turn=$FOUNDRY_PHASE@$FOUNDRY_VISIT
at() { [ "$KILL_AT" != "$turn $1" ] || kill -9 $PPID; }
echo "step $turn" >>"$COUNT"
at first
[ "$FOUNDRY_PHASE" = test ] || exit 0
echo "tested $FOUNDRY_VISIT" >>src/tested.txt
at last
[ "$FOUNDRY_VISIT" != 1 ] || [ -e src/l.txt ] || { echo "FAIL: TestSub"; exit 1; }
`

// watched gives a command under observation.
func (w *world) watched(at *moment, all bool, words []string) (watched, string) {
	w.t.Helper()
	out, err := os.CreateTemp(w.dir, "out-*")
	if err != nil {
		w.t.Fatal(err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	c := w.command(nil, append([]string{"foundry"}, words...)...)
	c.Stdout, c.Stderr = out, out
	got, err := watch(c, w.repo(), at, all)
	if err != nil {
		w.t.Fatalf("watch %s: %v", words, err)
	}
	said, _ := os.ReadFile(out.Name())
	return got, string(said)
}

// keep and restore hold and bring back the repository and the count as they were before a command of a play.
func (w *world) keep(p play, stage int) {
	w.copyTree("repo", fmt.Sprintf("repo.%s.%d", p.name, stage))
	b, _ := os.ReadFile(w.count())
	write(w.t, fmt.Sprintf("%s.%s.%d", w.count(), p.name, stage), string(b))
}

func (w *world) restore(p play, stage int) {
	name := p.name
	if stage <= p.from {
		name = p.like
	}
	w.copyTree(fmt.Sprintf("repo.%s.%d", name, stage), "repo")
	b, err := os.ReadFile(fmt.Sprintf("%s.%s.%d", w.count(), name, stage))
	if err != nil {
		w.t.Fatal(err)
	}
	write(w.t, w.count(), string(b))
}

// recorded counts the turns and commands whose end is in the log of the newest run: they must not be paid for again.
func (w *world) recorded() map[string]int {
	done := map[string]int{}
	logs, _ := filepath.Glob(filepath.Join(w.repo(), ".foundry/runs/*/events.jsonl"))
	for _, path := range logs {
		b, _ := os.ReadFile(path)
		for _, line := range bytes.SplitAfter(b, []byte("\n")) {
			var e struct {
				Kind, Phase, Purpose string
				Visit, Attempt       int
			}
			if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &e) != nil {
				continue
			}
			switch e.Kind {
			case "turn.ended":
				key := fmt.Sprintf("%s@%d.%d", e.Phase, e.Visit, e.Attempt)
				if e.Purpose == "review" {
					key = "critic of " + key
				}
				done["agent "+key]++
			case "command.ended":
				done[fmt.Sprintf("step %s@%d", e.Phase, e.Visit)]++
			}
		}
	}
	return done
}

// allEnded waits until the guard has ended what a killed run left behind.
func (w *world) allEnded() {
	for range 400 {
		if len(w.processes()) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// goOn brings a play that was killed to its end, by the commands that a person would type. A second kill can fall
// into the first of them.
func (w *world) goOn(p play, second *moment, cut func()) (kills int, said []string, err error) {
	w.t.Helper()
	for try := range 8 {
		s := w.standing()
		var next []string
		switch {
		case s.Status == "":
			next = p.steps[0]
		case s.Status == "waiting":
			next = p.steps[1]
		case s.Status == "accepted" && len(p.steps) == 3:
			next = p.steps[2]
		default:
			next = []string{"resume", "last", "--no-input"}
		}
		var code int
		var out string
		if try == 0 && second != nil {
			var got watched
			got, out = w.watched(second, true, next)
			if code = got.exit; code < 0 {
				kills++
				cut()
				continue
			}
		} else {
			code, out = w.foundry(nil, next...)
		}
		said = append(said, fmt.Sprintf("$ foundry %s\n%s(exit %d)", strings.Join(next, " "), out, code))
		if strings.Contains(out, "nothing was done in it") {
			code, out = w.foundry(nil, p.steps[0]...) // the person begins anew
			said = append(said, fmt.Sprintf("$ foundry %s\n%s(exit %d)", strings.Join(p.steps[0], " "), out, code))
		}
		if locks := foreignLock.FindAllString(out, -1); locks != nil {
			// A git that was killed left locks where other programs work too: nobody but a person can know that they are
			// nobody's, and the message has to lead there. It has to name all of them.
			slices.Sort(locks)
			for _, lock := range slices.Compact(locks) {
				if err := os.Remove(lock); err != nil {
					return kills, said, err
				}
			}
		}
		if strings.Contains(out, "foundry merge run_") {
			code, out = w.foundry(nil, "merge", "last")
			said = append(said, "$ foundry merge last\n"+out)
		} else if foreignLock.MatchString(out) {
			continue
		}
		if now := w.standing(); code == 0 && (now.Merged != nil || now.Discarded) || code == 2 && (strings.Contains(out, "is merged") || strings.Contains(out, "was discarded")) {
			return kills, said, nil
		}
		if code != 4 && code != 0 {
			return kills, said, errors.New("it does not go on")
		}
	}
	return kills, said, errors.New("it does not come to an end")
}

var foreignLock = regexp.MustCompile(`/\S+\.lock\b`)

// point is one kill that is tried.
type point struct {
	play  int
	stage int
	moment
	all    bool
	inside string // the agent or step kills foundry itself: KILL_AT
	second bool
}

func (p point) String() string {
	name := p.moment.String()
	if p.inside != "" {
		name = "inside " + p.inside
	}
	if p.all {
		name += ", and git with it"
	}
	if p.second {
		name += ", and again"
	}
	return fmt.Sprintf("%s: foundry %s: %s", plays[p.play].name, plays[p.play].steps[p.stage][0], name)
}

// rehearse gives a play undisturbed, keeps the states between its commands, and returns what became of it, and the
// points at which it can be killed.
func (w *world) rehearse(index int) (fate, []point) {
	w.t.Helper()
	p := plays[index]
	var points []point
	w.copyTree("fresh", "repo")
	write(w.t, w.count(), "")
	for stage, words := range p.steps {
		if stage < p.from && p.like != p.name {
			continue
		}
		if p.like != p.name && stage == p.from {
			w.restore(p, stage)
		} else {
			w.keep(p, stage)
		}
		got, out := w.watched(nil, false, words)
		if got.exit != 0 && got.exit != 4 {
			w.t.Fatalf("foundry %s: exit %d\n%s", words, got.exit, out)
		}
		if stage < p.from {
			continue
		}
		for _, e := range got.effects {
			if e.void || e.nth > 1 && strings.Contains(e.what, ".git/objects/") {
				continue // what an object is called is what it holds: one that nothing names is as good as none
			}
			points = append(points, point{play: index, stage: stage, moment: e.moment, all: e.git()})
			if e.git() && !strings.Contains(e.what, ".git/objects/") {
				points = append(points, point{play: index, stage: stage, moment: e.moment})
			}
			if e.bytes > 1 {
				torn := e.moment
				torn.torn = true
				points = append(points, point{play: index, stage: stage, moment: torn, all: e.git()})
			}
		}
	}
	return w.fate(), points
}

// try kills a play at a point, goes on with it, and says what is not as it should be. There is no kill when the point
// does not come: how often git looks again at a file that was written in the same moment is a matter of time.
func (w *world) try(p point, want fate) (kills int, fault string) {
	w.t.Helper()
	pl := plays[p.play]
	w.restore(pl, p.stage)
	words := pl.steps[p.stage]
	var out string
	if p.inside != "" {
		var code int
		if code, out = w.foundry([]string{"KILL_AT=" + p.inside}, words...); code >= 0 {
			return 0, fmt.Sprintf("it was not killed: exit %d\n%s", code, out)
		}
	} else {
		var got watched
		if got, out = w.watched(&p.moment, p.all, words); got.exit == 0 || got.exit == 4 {
			return 0, ""
		} else if got.exit > 0 {
			return 0, fmt.Sprintf("it was not killed: exit %d\n%s", got.exit, out)
		}
	}
	unrecorded := map[string]int{}
	cut := func() {
		done := w.recorded()
		if p.inside == "" {
			w.allEnded() // one that was just starting may say that it began after the kill
		}
		for key, began := range w.turns() {
			unrecorded[key] = max(unrecorded[key], began-done[key])
		}
	}
	cut()
	var second *moment
	if p.second {
		random := rand.New(rand.NewPCG(uint64(len(p.what)), uint64(p.nth)))
		second = &moment{what: anything, nth: 1 + random.IntN(250)}
	}
	kills, said, err := w.goOn(pl, second, cut)
	if err != nil {
		return 1 + kills, err.Error() + "\n" + strings.Join(said, "\n")
	}
	w.allEnded()
	if fault = differs(want, w.fate(), unrecorded, 1+kills); fault != "" {
		fault += "\n" + strings.Join(said, "\n")
	}
	return 1 + kills, fault
}

func crashWorld(t *testing.T) *world {
	t.Helper()
	return newWorld(t, t.TempDir(), map[string]string{"foundry.yaml": crashPipeline, "agent.sh": crashAgent, "step.sh": crashStep, ".gitignore": ".env\n",
		".env": "SECRET=1\n", "README": "r\n", "keep.txt": "k\n", "src/old.txt": "old\n"})
}

func TestCrashes(t *testing.T) {
	t.Parallel()
	began := time.Now()
	worlds := make([]*world, 2)
	given := plays[:2]
	if *crashPoints != "" {
		worlds, given = make([]*world, 4), plays // most of the time is spent on waiting
	}
	wants := make([][]fate, len(worlds))
	var points []point
	var wg sync.WaitGroup
	for n := range worlds {
		worlds[n] = crashWorld(t)
		wg.Go(func() {
			for index := range given {
				f, found := worlds[n].rehearse(index)
				wants[n] = append(wants[n], f)
				if n == 0 {
					points = append(points, found...)
				}
			}
		})
	}
	wg.Wait()
	for i, f := range wants[0] {
		if len(f.Untidy) > 0 {
			t.Fatalf("undisturbed: %s", f.Untidy)
		}
		for _, other := range wants[1:] {
			if diff := cmp.Diff(f, other[i]); diff != "" {
				t.Fatalf("two undisturbed runs differ: %s", diff)
			}
		}
	}
	points = append(points, insides(0, "build@1.1", "build@1.2", "build@2.1", "build@3.1", "review@1.1", "review@2.1", "critic of build@1.2", "critic of build@2.1")...)
	points = append(points, insides(1, "left@1.1", "right@1.1", "right@1.2", "right@2.1")...)
	all := len(points)
	points = chosen(t, points)
	var next, tried, kills, missed atomic.Int64
	for _, w := range worlds {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(points)); i = next.Add(1) - 1 {
				p := points[i]
				k, fault := w.try(p, wants[0][p.play])
				kills.Add(int64(k))
				switch {
				case fault != "":
					t.Errorf("%s\n%s", p, fault)
				case k == 0:
					missed.Add(1)
					t.Logf("%s: it did not come", p)
				}
				if n := tried.Add(1); n%100 == 0 {
					t.Logf("%d of %d points after %v", n, len(points), time.Since(began).Round(time.Second))
				}
			}
		})
	}
	wg.Wait()
	t.Logf("tried %d of %d points with %d kills in %v; %d did not come", tried.Load(), all, kills.Load(), time.Since(began).Round(time.Second), missed.Load())
	if missed.Load()*50 > tried.Load() {
		t.Errorf("%d of %d points did not come: hardly anything was killed", missed.Load(), tried.Load())
	}
}

// TestSweepAfterACrash sweeps instead of going on: the run is closed, nothing of it still runs, and nothing is lost or
// touched.
func TestSweepAfterACrash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at   moment
		work string // in src/a.txt by then
	}{
		{moment{"foundry append phase.started", 1, false}, ""},
		{moment{"git commit rename to .git/refs/heads/foundry/RUN", 1, false}, "two"},
		{moment{"foundry write .foundry-worktrees/RUN/README", 1, false}, "one"},
		{moment{"foundry append turn.ended", 5, true}, "three"},
	} {
		t.Run(c.at.what, func(t *testing.T) {
			t.Parallel()
			w := crashWorld(t)
			if got, out := w.watched(&c.at, true, plays[0].steps[0]); got.exit >= 0 {
				t.Fatalf("it was not killed: exit %d\n%s", got.exit, out)
			}
			before := w.fate()
			code, out := w.foundry(nil, "sweep")
			if code != 0 || w.standing().Status != "failed" || !strings.Contains(out, w.standing().ID) {
				t.Errorf("sweep: exit %d, the run is %s\n%s", code, w.standing().Status, out)
			}
			after := w.fate()
			for _, f := range []fate{before, after} { // what was cut off may be put back in the run's own worktree
				maps.DeleteFunc(f.Files, func(path, _ string) bool { return strings.HasPrefix(path, ".foundry-worktrees/") })
			}
			if diff := cmp.Diff(before.Files, after.Files); diff != "" || !slices.Equal(before.Base, after.Base) || before.Branches != after.Branches {
				t.Errorf("the repository was changed: %s", diff)
			}
			for _, tree := range before.Kept {
				if !slices.Contains(after.Kept, tree) {
					t.Errorf("%s is not kept any more", tree)
				}
			}
			if c.work != "" {
				args := append([]string{"grep", "-q", c.work}, strings.Fields(w.git("for-each-ref", "--format=%(objectname)", "refs/foundry"))...)
				w.git(append(args, "--", "src/a.txt")...)
			}
			if left := w.processes(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if code, out := w.foundry(nil, "sweep", "--prune"); code != 0 || w.fate().Branches != after.Branches {
				t.Errorf("sweep --prune: exit %d\n%s", code, out)
			}
		})
	}
}

// insides are the points at which an agent or a command ends foundry itself.
func insides(play int, turns ...string) []point {
	var points []point
	for _, turn := range turns {
		for _, at := range []string{"first", "middle", "late", "last"} {
			if at != "middle" || !strings.HasPrefix(turn, "review") && turn != "critic of build@2.1" {
				points = append(points, point{play: play, inside: turn + " " + at})
			}
		}
	}
	for visit := range map[int]int{0: 3, 1: 1}[play] {
		turn := fmt.Sprintf("test@%d", visit+1)
		points = append(points, point{play: play, inside: turn + " first"}, point{play: play, inside: turn + " last"})
	}
	return points
}

// chosen are the points that are tried. Every seventh is killed a second time while it goes on.
func chosen(t *testing.T, points []point) []point {
	if *crashPoints == "" {
		return sample(t, points)
	}
	var out []point
	pattern := regexp.MustCompile(*crashPoints)
	for i, p := range points {
		p.second = i%7 == 3
		if *crashPoints == "all" || pattern.MatchString(p.String()) {
			out = append(out, p)
		}
	}
	return out
}

// telling are the points of the short form: one for each kind of thing that can be cut off.
var telling = []string{
	`up: before foundry append run.started`,
	`up: before git reset write \.foundry-worktrees/RUN/keep.txt`,
	`up: in the middle of foundry append turn.ended`,
	`up: before foundry append boundary.checked$`,
	`up: before foundry write \.foundry-worktrees/RUN/README`,
	`up: before git commit rename to \.git/refs/heads/foundry/RUN`,
	`up: in the middle of foundry append gate.checked \(4\)`,
	`up: before foundry append route.taken \(2\)`,
	`up: before foundry append ask.raised`,
	`approve: before foundry append ask.answered`,
	`approve: before foundry append run.ended`,
	`approve: before git read-tree write src/b.txt`,
	`approve: before foundry append run.merged`,
	`approve: before foundry remove \.git/worktrees/RUN/HEAD`,
	`inside build@2.1 late`,
	`inside critic of build@1.2 middle`,
	`up: before foundry append review.checked$`,
	`inside test@2 last`,
	`aside: .*in the middle of foundry append worktree.made`,
	`aside: .*before foundry append work.merged$`,
	`aside: .*before foundry write \.foundry-worktrees/RUN/src/old.txt`,
	`aside: .*before foundry append phase.ended \(3\)`,
	`aside: foundry up: inside right@1.1 late`,
}

// sample takes the telling ones. Git is asked to end there: what it leaves when it is killed too makes the next one
// wait for its locks.
func sample(t *testing.T, points []point) []point {
	var out []point
	for _, pattern := range telling {
		re := regexp.MustCompile(pattern)
		i := slices.IndexFunc(points, func(p point) bool { return re.MatchString(p.String()) })
		if i < 0 {
			t.Logf("no point is called %q", pattern)
			continue
		}
		p := points[i]
		p.all = false
		out = append(out, p)
	}
	if len(out) < len(telling)-2 { // two runs need not have quite the same points
		t.Error("the points have other names than those that are to be tried")
	}
	return out
}
