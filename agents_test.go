package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"foundry/internal/fakemodel"
	"foundry/internal/harness"
)

// This file has whole runs with real agents against the fake model: what internal/harness shows of sessions and turns
// holds for what a person types. They run where the real agents of internal/harness do.

// site is a world in which one real agent works for everybody.
type site struct {
	*world
	agent fakemodel.Agent
	model *fakemodel.Server
}

// siteFor makes a site, with pipeline beside the project in its file. answer is the model's part; dir is the site's.
func siteFor(t *testing.T, a fakemodel.Agent, pipeline string, answer func(dir string, r fakemodel.Request) fakemodel.Answer) *site {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program, env, model := a.Drive(t, dir, func(r fakemodel.Request) fakemodel.Answer {
		if len(r.Tools) == 0 { // a title, or whatever else an agent wants to know by the way
			return fakemodel.Answer{Text: "a title"}
		}
		return answer(dir, r)
	})
	file := fmt.Sprintf("version: 1\nproject:\n  harness: %s\n  argv: [%s]\n  model: %s\n  merge: never\n%s", a.Harness, program, a.Model, pipeline)
	s := &site{world: newWorld(t, dir, map[string]string{"foundry.yaml": file}), agent: a, model: model}
	s.env = append(env, "GIT_CONFIG_NOSYSTEM=1", "NO_COLOR=1", "USER=tester", "COUNT="+s.count())
	t.Cleanup(s.deserted)
	return s
}

// deserted waits until nothing runs any more that was started here, for two minutes at most.
func (s *site) deserted() {
	begin := time.Now()
	for left := s.processes(); len(left) > 0; left = s.processes() {
		if time.Since(begin) > 2*time.Minute {
			s.t.Fatalf("still there: %q", left)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// quick are the agents of the default set.
func quick() []fakemodel.Agent {
	var out []fakemodel.Agent
	for _, a := range fakemodel.Agents() {
		if !a.Long {
			out = append(out, a)
		}
	}
	return out
}

// used compares what Foundry shows of the newest run's usage, and of all runs', with what the model counted. before is
// what it had counted when the run began. An agent that does not tell everything must not be shown as if it did.
func (s *site) used(before fakemodel.Counts, told bool) {
	s.t.Helper()
	all := s.model.Counted()
	total := all.Input + all.Output
	run := total - before.Input - before.Output
	var shown struct{ Usage struct{ Tokens *int } }
	var costs struct {
		Total struct {
			Tokens  *int
			Unknown int `json:"turns_without_tokens"`
		}
	}
	for _, of := range []struct {
		words []string
		to    any
	}{{[]string{"show", "last", "--json"}, &shown}, {[]string{"costs", "--json"}, &costs}} {
		code, out := s.foundry(nil, of.words...)
		if err := json.Unmarshal([]byte(out), of.to); code != 0 || err != nil {
			s.t.Fatalf("%s: exit %d, %v\n%s", of.words, code, err, out)
		}
	}
	tokens := func(n *int) string {
		if n == nil {
			return "unknown"
		}
		return fmt.Sprint(*n)
	}
	got := fmt.Sprintf("show %s, costs %s and %d turns unknown", tokens(shown.Usage.Tokens), tokens(costs.Total.Tokens), costs.Total.Unknown)
	if want := fmt.Sprintf("show %d, costs %d and 0 turns unknown", run, total); told && got != want {
		s.t.Errorf("got %s; want %s", got, want)
	}
	if !told && (shown.Usage.Tokens != nil || costs.Total.Unknown == 0) {
		s.t.Errorf("got %s, and the agent did not tell all", got)
	}
}

var planPath = regexp.MustCompile(`specs/run_\w+-plan\.md`)

// report is how an agent ends its turn.
func report(v map[string]any) fakemodel.Answer {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return fakemodel.Answer{Text: "Done.\n\n" + string(text)}
}

// worktree is where the only run of a site works.
func worktree(dir string) string {
	all, err := filepath.Glob(filepath.Join(dir, "repo", ".foundry-worktrees", "run_*"))
	if err != nil || len(all) != 1 {
		panic(fmt.Sprintf("the worktrees are %q, %v", all, err))
	}
	return all[0]
}

// engineer plays planner and builder of plan-build-test: its first work is wrong, and what the test says of it is put
// right.
func engineer() func(dir string, r fakemodel.Request) fakemodel.Answer {
	var mu sync.Mutex
	work, plan := "", ""
	return func(dir string, r fakemodel.Request) fakemodel.Answer {
		mu.Lock()
		defer mu.Unlock()
		prompt := r.Prompt()
		done := len(r.Results()) > 0
		switch {
		case strings.Contains(prompt, "Write an implementation plan"):
			work, plan = worktree(dir), planPath.FindString(prompt)
			if !done {
				return fakemodel.Answer{Text: "I write the plan.", Call: fakemodel.Call{Write: filepath.Join(work, plan), Content: "# Plan\n\nWrite 42.\n"}}
			}
			return report(map[string]any{"status": "success", "summary": "planned", "artifacts": []string{plan}, "steps": []any{}, "commit_message": "plan the answer"})
		case strings.Contains(prompt, "## feedback"): // what the test found
			if !done {
				return fakemodel.Answer{Text: "I put it right.", Call: fakemodel.Call{Write: filepath.Join(work, "answer.txt"), Content: "42\n"}}
			}
		case !done:
			return fakemodel.Answer{Text: "I write the answer.", Call: fakemodel.Call{Write: filepath.Join(work, "answer.txt"), Content: "41\n"}}
		}
		return report(map[string]any{"status": "success", "summary": "answered", "changed_files": []string{"answer.txt"}, "commit_message": "answer"})
	}
}

// The pipeline that ships, with a real agent in each of its parts: one repair, then it is accepted.
func TestRealAgentsPlanBuildTest(t *testing.T) {
	t.Parallel()
	for _, a := range fakemodel.Agents() {
		t.Run(a.Harness, func(t *testing.T) {
			t.Parallel()
			s := siteFor(t, a, "commands:\n  test: {run: grep -x 42 answer.txt}\n", engineer())
			code, out := s.foundry(nil, "up", "--no-input", "plan-build-test", "write the answer")
			if code != 0 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			code, out = s.foundry(nil, "show", "last", "--json")
			var run struct {
				Status, Branch string
				Phases         []struct {
					ID, Status string
					Visits     int
				}
			}
			if err := json.Unmarshal([]byte(out), &run); code != 0 || err != nil {
				t.Fatalf("exit %d, %v\n%s", code, err, out)
			}
			got := run.Status
			for _, p := range run.Phases {
				got += fmt.Sprintf(" %s:%s:%d", p.ID, p.Status, p.Visits)
			}
			if want := "accepted plan:success:1 build:success:2 test:success:2 commit:success:1"; got != want {
				t.Errorf("got  %s\nwant %s\n%s", got, want, out)
			}
			if text := s.git("show", run.Branch+":answer.txt"); text != "42\n" {
				t.Errorf("the branch holds %q", text)
			}
			info, _ := harness.Find(a.Harness)
			s.used(fakemodel.Counts{}, !info.Silent)
		})
	}
}

const talkPipeline = `agents:
  coder: {envelope: build}
pipelines:
  p:
    phases:
      - {id: listen, agent: coder, prompt: "The word is mellow."}
      - {id: write, agent: coder, prompt: "Write the word into word.txt."}
`

func asked(r fakemodel.Request, words string) bool {
	return slices.ContainsFunc(r.Messages, func(m fakemodel.Message) bool { return m.Role == "user" && strings.Contains(m.Text, words) })
}

// kill -9 in the middle of a turn: whatever the agent is, it goes, and another process goes on with its conversation.
func TestRealAgentsAfterKill(t *testing.T) {
	t.Parallel()
	for _, a := range quick() {
		t.Run(a.Harness, func(t *testing.T) {
			t.Parallel()
			inTurn, again := make(chan struct{}, 10), make(chan bool, 10)
			s := siteFor(t, a, talkPipeline, func(dir string, r fakemodel.Request) fakemodel.Answer {
				file := func(name string) string { return filepath.Join(worktree(dir), name) }
				prompt, done := r.Prompt(), len(r.Results()) > 0
				switch {
				case strings.Contains(prompt, "The word is mellow"):
					return report(map[string]any{"status": "success", "summary": "heard", "changed_files": []string{}})
				case strings.Contains(prompt, "was cut off") && !done:
					again <- asked(r, "The word is mellow")
					return fakemodel.Answer{Text: "Again.", Call: fakemodel.Call{Write: file("word.txt"), Content: "mellow\n"}}
				case strings.Contains(prompt, "was cut off"):
					return report(map[string]any{"status": "success", "summary": "written", "changed_files": []string{"word.txt"}})
				case !done:
					return fakemodel.Answer{Text: "I write.", Call: fakemodel.Call{Write: file("half.txt"), Content: "mel\n"}}
				}
				inTurn <- struct{}{}
				return fakemodel.Answer{Text: "never", Slow: time.Hour}
			})
			up := s.command(nil, "foundry", "up", "--no-input", "p")
			if err := up.Start(); err != nil {
				t.Fatal(err)
			}
			<-inTurn
			if err := up.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed := time.Now()
			up.Wait()
			s.deserted()
			t.Logf("all processes were gone after %s", time.Since(killed).Round(time.Millisecond))
			if code, out := s.foundry(nil, "resume", "last", "--no-input"); code != 0 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			if !<-again {
				t.Error("the conversation that goes on does not have what was said before")
			}
			left, err := filepath.Glob(filepath.Join(worktree(s.dir), "*.txt"))
			if err != nil || len(left) != 1 || filepath.Base(left[0]) != "word.txt" {
				t.Errorf("the worktree has %q, %v", left, err)
			}
		})
	}
}

const askPipelines = `agents:
  coder: {envelope: build}
  asker: {extends: coder, permissions: ask}
pipelines:
  outside:
    phases:
      - {id: write, agent: coder, prompt: "Write outside."}
  asks:
    accept: passed("check")
    phases:
      - {id: write, agent: asker, prompt: "Touch the file."}
      - {id: check, run: test -e touched.txt}
`

// What is outside is refused without a person; what a person has to decide parks the run, and goes on with the answer.
func TestRealAgentsPermissions(t *testing.T) {
	t.Parallel()
	for _, a := range quick() {
		t.Run(a.Harness, func(t *testing.T) {
			t.Parallel()
			beyond, err := os.MkdirTemp("/var/tmp", "foundry-test-") // a sandbox may leave /tmp open
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(beyond) })
			outside := filepath.Join(beyond, "outside.txt")
			again := make(chan bool, 10)
			s := siteFor(t, a, askPipelines, func(dir string, r fakemodel.Request) fakemodel.Answer {
				prompt, done := r.Prompt(), len(r.Results())
				touch := fakemodel.Answer{Text: "I touch it.", Call: fakemodel.Call{Shell: "touch touched.txt", Beyond: true}}
				switch {
				case strings.Contains(prompt, "Write outside") && done == 0:
					return fakemodel.Answer{Text: "I write.", Call: fakemodel.Call{Write: outside, Content: "no"}}
				case strings.Contains(prompt, "Write outside") && done == 1:
					return fakemodel.Answer{Text: "I run.", Call: fakemodel.Call{Shell: "touch " + outside, Beyond: true}}
				case strings.Contains(prompt, "Touch the file") && done == 0:
					return touch
				case strings.Contains(prompt, "A person has permitted it: this once") && done == 0:
					again <- asked(r, "Touch the file")
					return touch
				case strings.Contains(prompt, "A person has permitted it"):
					return report(map[string]any{"status": "success", "summary": "touched", "changed_files": []string{"touched.txt"}})
				}
				return report(map[string]any{"status": "success", "summary": "nothing", "changed_files": []string{}})
			})
			code, out := s.foundry(nil, "up", "--no-input", "outside")
			if _, err := os.Stat(outside); code != 0 || err == nil {
				t.Errorf("exit %d, what is outside: %v\n%s", code, err, out)
			}
			if _, out = s.foundry(nil, "logs", "last", "write"); !strings.Contains(out, "refused: ") {
				t.Errorf("nothing was refused:\n%s", out)
			}
			s.used(fakemodel.Counts{}, true)
			before := s.model.Counted()
			code, out = s.foundry(nil, "up", "--no-input", "asks")
			id := s.standing().ID
			if code != 4 || s.standing().Status != "waiting" || !strings.Contains(out, "foundry approve "+id+" write") {
				t.Fatalf("exit %d\n%s", code, out)
			}
			if code, out = s.foundry(nil, "show", "last"); code != 0 || !strings.Contains(out, "touch touched.txt") {
				t.Errorf("exit %d\n%s", code, out)
			}
			if code, out = s.foundry(nil, "approve", "last", "write", "--no-input", "-m", "this once"); code != 0 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			if !<-again {
				t.Error("the conversation that goes on does not have what was said before")
			}
			if a.Harness == "claude-acp" { // it tells nothing of a turn that was stopped, and the others what they know by then
				s.used(before, false)
			}
		})
	}
}

const asidePipeline = `agents:
  coder: {envelope: build}
pipelines:
  p:
    accept: passed("both")
    phases:
      - {id: one, agent: coder, prompt: "Write one.", needs: [], parallel: worktree, retries: 1, gates: [{command_passes: grep -x right one.txt}]}
      - {id: two, agent: coder, prompt: "Write two.", needs: [], parallel: worktree, retries: 1, gates: [{command_passes: grep -x right two.txt}]}
      - {id: both, run: grep -x right one.txt && grep -x right two.txt, needs: [one, two]}
`

// One agent in two phases at the same time, each in a worktree and in a conversation of its own.
func TestRealAgentsSideBySide(t *testing.T) {
	t.Parallel()
	for _, a := range quick() {
		t.Run(a.Harness, func(t *testing.T) {
			t.Parallel()
			begun := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
			var once [2]sync.Once
			s := siteFor(t, a, asidePipeline, func(dir string, r fakemodel.Request) fakemodel.Answer {
				name, other, n := "one", "two", 0
				if asked(r, "Write two.") {
					name, other, n = "two", "one", 1
				}
				if asked(r, "Write "+other+".") {
					t.Errorf("the conversation of %s has what was said in %s", name, other)
				}
				work, err := filepath.Glob(filepath.Join(dir, "repo", ".foundry-worktrees", "run_*."+name+".1"))
				if err != nil || len(work) != 1 {
					t.Errorf("the worktrees of %s are %q, %v", name, work, err)
					return report(map[string]any{"status": "fail", "summary": "no worktree"})
				}
				write := func(text string) fakemodel.Answer {
					return fakemodel.Answer{Text: "I write.", Call: fakemodel.Call{Write: filepath.Join(work[0], name+".txt"), Content: text + "\n"}}
				}
				again := strings.Contains(r.Prompt(), "command_passes")
				switch done := len(r.Results()); {
				case again && done == 0:
					return write("right")
				case !again && done == 0:
					once[n].Do(func() { close(begun[n]) })
					select { // neither goes on before both are at work
					case <-begun[1-n]:
					case <-time.After(2 * time.Minute):
						t.Errorf("%s is at work, and %s does not begin", name, other)
					}
					return write("wrong")
				}
				return report(map[string]any{"status": "success", "summary": "written", "changed_files": []string{name + ".txt"}})
			})
			code, out := s.foundry(nil, "up", "--no-input", "-j", "2", "p")
			if code != 0 || strings.Count(out, "attempt 2") != 2 {
				t.Errorf("exit %d\n%s", code, out)
			}
			info, _ := harness.Find(a.Harness)
			s.used(fakemodel.Counts{}, !info.Silent)
		})
	}
}
