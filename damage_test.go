//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// What can happen to a run and its record besides a kill: a disk that is full, a record that cannot be written, lines
// that are torn, fused or foreign, several people who resume it, a clock that is set back, and a pipeline
// file that was edited.

const shortPipeline = `version: 1
project: {merge: auto}
agents:
  coder: {extends: builtin/builder, harness: command, argv: [./agent.sh], writes: ["src/**"]}
pipelines:
  main:
    accept: passed("test")
    phases:
      - {id: one, agent: coder}
      - {id: trouble, run: ./trouble.sh}
      - {id: two, agent: coder}
      - {id: test, run: cat src/one src/two}
`

const shortAgent = `#!/bin/sh
cat >/dev/null
echo "agent $FOUNDRY_PHASE" >>"$COUNT"
mkdir -p src
echo half >src/$FOUNDRY_PHASE
[ "$KILL_AT" != "$FOUNDRY_PHASE" ] || kill -9 $PPID
echo whole >src/$FOUNDRY_PHASE
echo '{"status": "success", "summary": "done", "changed_files": ["src/'$FOUNDRY_PHASE'"]}'
`

// shortWorld is a world with a short run. trouble is what its command does.
func shortWorld(t *testing.T, dir, trouble string) *world {
	t.Helper()
	return newWorld(t, dir, map[string]string{"foundry.yaml": shortPipeline, "agent.sh": shortAgent, "trouble.sh": "#!/bin/sh\n" + trouble + "\n"})
}

// killed is a short world whose run was killed in the second turn.
func killed(t *testing.T) *world {
	t.Helper()
	w := shortWorld(t, t.TempDir(), "true")
	if code, out := w.foundry([]string{"KILL_AT=two"}, "up", "--no-input"); code >= 0 {
		t.Fatalf("it was not killed: exit %d\n%s", code, out)
	}
	return w
}

// log is the log of the only run.
func (w *world) log() string {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.repo(), ".foundry/runs/*/events.jsonl"))
	if err != nil || len(found) != 1 {
		w.t.Fatalf("%v, %v", found, err)
	}
	return found[0]
}

// change rewrites the log.
func (w *world) change(with func([]byte) []byte) {
	w.t.Helper()
	b, err := os.ReadFile(w.log())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.log(), with(b), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// finishes goes on with the run and wants it to end as it would have undisturbed: accepted and merged, with no more than the
// given turns of agents.
func (w *world) finishes(one, two int, words ...string) {
	w.t.Helper()
	if code, out := w.foundry(nil, append([]string{"resume", "last", "--no-input"}, words...)...); code != 0 {
		w.t.Fatalf("resume: exit %d\n%s", code, out)
	}
	w.finished(one, two)
}

func (w *world) finished(one, two int) {
	w.t.Helper()
	s := w.standing()
	if s.Status != "accepted" || s.Merged == nil {
		w.t.Errorf("it is %s, merged as %v", s.Status, s.Merged)
	}
	for _, name := range []string{"one", "two"} {
		if b, err := os.ReadFile(filepath.Join(w.repo(), "src", name)); string(b) != "whole\n" {
			w.t.Errorf("src/%s holds %q, %v", name, b, err)
		}
	}
	if n := w.turns(); n["agent one"] != one || n["agent two"] != two {
		w.t.Errorf("turns: %v", n)
	}
	for deadline := time.Now().Add(10 * time.Second); len(w.processes()) > 0; { // the guard gives what it ends a grace
		if time.Now().After(deadline) {
			w.t.Fatalf("left: %v", w.processes())
		}
	}
}

func TestTornRecord(t *testing.T) {
	t.Parallel()
	for name, tear := range map[string]func([]byte) []byte{
		"half a line":            func(b []byte) []byte { return append(b, `{"seq":99,"at":"2026-11-30T12:00:00Z","ki`...) },
		"zeroes of a power cut":  func(b []byte) []byte { return append(b, make([]byte, 4096)...) },
		"half a line and zeroes": func(b []byte) []byte { return append(append(b, `{"seq":99,`...), make([]byte, 100)...) },
		"no last line break":     func(b []byte) []byte { return bytes.TrimSuffix(b, []byte("\n")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := killed(t)
			w.change(tear)
			w.finishes(1, 2)
		})
	}
}

func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func([]byte) []byte
		says   string
	}{
		"fused": {func(b []byte) []byte {
			lines := bytes.SplitAfter(b, []byte("\n"))
			lines[4] = lines[4][:len(lines[4])/2]
			return bytes.Join(lines, nil)
		}, "events.jsonl:5: the log is damaged"},
		"joined": {func(b []byte) []byte {
			lines := bytes.SplitAfter(b, []byte("\n"))
			lines[4] = bytes.TrimSuffix(lines[4], []byte("\n"))
			return bytes.Join(lines, nil)
		}, "events.jsonl:5: the log is damaged"},
		"foreign": {func(b []byte) []byte { return append(b, "hello\n"...) }, "the log is damaged: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := killed(t)
			before, _ := os.ReadFile(w.log())
			w.change(c.damage)
			after, _ := os.ReadFile(w.log())
			code, out := w.foundry(nil, "resume", "last", "--no-input")
			if code != 3 || !strings.Contains(out, c.says) {
				t.Errorf("resume: exit %d\n%s", code, out)
			}
			if code, out = w.foundry(nil, "runs"); code != 0 || !strings.Contains(out, "failed") {
				t.Errorf("runs: exit %d\n%s", code, out)
			}
			if now, _ := os.ReadFile(w.log()); !bytes.Equal(now, after) {
				t.Error("the damaged log was changed")
			}
			if err := os.WriteFile(w.log(), before, 0o600); err != nil {
				t.Fatal(err)
			}
			w.finishes(1, 2)
		})
	}
}

// TestForeignBytes has a phase write into the log of its own run, which is how an agent would forge evidence.
func TestForeignBytes(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]string{
		"appended":  `echo '{"seq": 99, "kind": "run.ended", "status": "accepted"}' >>$log`,
		"in place":  `printf X | dd of=$log bs=1 seek=40 conv=notrunc 2>/dev/null`,
		"cut":       `: >$log`,
		"exchanged": `cp $log $log.2 && mv $log.2 $log`,
		"removed":   `rm $log`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shortWorld(t, t.TempDir(), `log=../../.foundry/runs/$FOUNDRY_RUN_ID/events.jsonl; `+forge)
			code, out := w.foundry(nil, "up", "--no-input")
			if code != 3 || !strings.Contains(out, "something else wrote into the log") {
				t.Errorf("exit %d\n%s", code, out)
			}
			if s := w.standing(); s.Status != "failed" || s.Merged != nil {
				t.Errorf("it is %s", s.Status)
			}
			if n := w.turns(); n["agent two"] != 0 {
				t.Error("it went on all the same")
			}
		})
	}
}

func TestResumedByMany(t *testing.T) {
	t.Parallel()
	w := killed(t)
	var mu sync.Mutex
	exits := map[int]int{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			code, out := w.foundry(nil, "resume", "last", "--no-input")
			mu.Lock()
			defer mu.Unlock()
			exits[code]++
			if code != 0 && !strings.Contains(out, "another process carries it out") && !strings.Contains(out, "is merged") {
				t.Errorf("exit %d\n%s", code, out)
			}
		})
	}
	wg.Wait()
	if exits[0] != 1 || exits[2] != 3 {
		t.Errorf("exits and how often: %v", exits)
	}
	w.finished(1, 2)
}

// TestClockSetBack resumes a run whose events lie two hours ahead.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	w := killed(t)
	at := regexp.MustCompile(`"at":"([^"]+)"`)
	w.change(func(b []byte) []byte {
		return at.ReplaceAllFunc(b, func(m []byte) []byte {
			when, err := time.Parse(time.RFC3339Nano, string(at.FindSubmatch(m)[1]))
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Appendf(nil, `"at":%q`, when.Add(2*time.Hour).Format(time.RFC3339Nano))
		})
	})
	w.finishes(1, 2)
	negative := regexp.MustCompile(`[^\w-]-\d`)
	for _, words := range [][]string{{"show", "last"}, {"runs"}, {"show", "last", "two"}, {"logs", "last"}} {
		if code, out := w.foundry(nil, words...); code != 0 || negative.MatchString(out) {
			t.Errorf("%s: exit %d\n%s", words, code, out)
		}
	}
	b, err := os.ReadFile(w.log())
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		var e struct{ Seq int }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != i+1 {
			t.Fatalf("line %d: seq %d, %v", i+1, e.Seq, err)
		}
	}
}

// TestPipelineEditedBetween resumes after the file was changed, broken or removed: a run can go on with what is in
// its record.
func TestPipelineEditedBetween(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit  func(path string) error
		words []string
	}{
		"a comment": {func(p string) error { return os.WriteFile(p, []byte(shortPipeline+"# more\n"), 0o644) }, nil},
		"broken":    {func(p string) error { return os.WriteFile(p, []byte("version: [\n"), 0o644) }, []string{"--keep-pipeline"}},
		"removed":   {os.Remove, []string{"--keep-pipeline"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := killed(t)
			if err := c.edit(filepath.Join(w.repo(), "foundry.yaml")); err != nil {
				t.Fatal(err)
			}
			if c.words != nil {
				before, _ := os.ReadFile(w.log())
				code, out := w.foundry(nil, "resume", "last", "--no-input")
				if after, _ := os.ReadFile(w.log()); code != 2 || !strings.Contains(out, "--keep-pipeline") || !bytes.Equal(before, after) {
					t.Errorf("resume: exit %d\n%s", code, out)
				}
			}
			w.finishes(1, 2, c.words...)
		})
	}
}

// TestReadOnlyRecord runs as somebody who may not write. Root may write everywhere, so root becomes somebody else.
func TestReadOnlyRecord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		what string // below .foundry/runs/RUN
		mode os.FileMode
		says string
	}{
		"the log":     {"events.jsonl", 0o400, "permission denied"},
		"its prompts": {"prompts", 0o500, "permission denied"},
		"the lock":    {"lock", 0, "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := killed(t)
			path := filepath.Join(filepath.Dir(w.log()), c.what)
			was, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			w.toNobody()
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(path, 0o700) }) // it is removed afterwards
			code, out := w.foundry(nil, "resume", "last", "--no-input")
			if code != 3 || !strings.Contains(out, c.says) || strings.Contains(out, "BUG") {
				t.Errorf("resume: exit %d\n%s", code, out)
			}
			if code, out := w.foundry(nil, "show", "last"); code != 0 {
				t.Errorf("show: exit %d\n%s", code, out)
			}
			if err := os.Chmod(path, was.Mode()); err != nil {
				t.Fatal(err)
			}
			w.finishes(1, 2)
		})
	}
	t.Run("no record can be made", func(t *testing.T) {
		t.Parallel()
		w := shortWorld(t, t.TempDir(), "true")
		if err := os.MkdirAll(filepath.Join(w.repo(), ".foundry/runs"), 0o700); err != nil {
			t.Fatal(err)
		}
		w.toNobody()
		runs := filepath.Join(w.repo(), ".foundry/runs")
		if err := os.Chmod(runs, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(runs, 0o700) })
		code, out := w.foundry(nil, "up", "--no-input")
		if code != 3 || !strings.Contains(out, "create the record") || !strings.Contains(out, "permission denied") {
			t.Errorf("up: exit %d\n%s", code, out)
		}
		if n := w.turns(); len(n) > 0 {
			t.Errorf("something ran: %v", n)
		}
	})
}

// toNobody gives the world to a user without rights when the tests run as root.
func (w *world) toNobody() {
	w.t.Helper()
	if os.Getuid() != 0 {
		return
	}
	const nobody = 65534
	if out, err := exec.Command("chown", "-R", strconv.Itoa(nobody)+":"+strconv.Itoa(nobody), w.dir).CombinedOutput(); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	for dir := filepath.Dir(w.dir); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if st, err := os.Stat(dir); err == nil && st.Mode().Perm()&0o001 == 0 {
			if err := os.Chmod(dir, st.Mode().Perm()|0o011); err != nil { // a temporary directory of the tests
				w.t.Fatal(err)
			}
		}
	}
	exe, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	w.program = filepath.Join(w.dir, "bin", "foundry") // where the tests have theirs nobody may look
	if err := os.MkdirAll(filepath.Dir(w.program), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if out, err := exec.Command("cp", exe, w.program).CombinedOutput(); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	w.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

// TestFullDisk fills the disk in the middle of a run, and makes room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=24m", "foundry-test", dir).CombinedOutput(); err != nil {
		t.Skipf("a small disk cannot be mounted: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	w := shortWorld(t, dir, `[ ! -e ../../../filled ] || exit 0
: >../../../filled
dd if=/dev/zero of=../../../filler bs=4k 2>/dev/null
exit 0`)
	code, out := w.foundry(nil, "up", "--no-input")
	if code != 3 || !strings.Contains(out, "no space left on device") {
		t.Errorf("up: exit %d\n%s", code, out)
	}
	if n := w.turns(); n["agent one"] != 1 || n["agent two"] > 0 {
		t.Errorf("turns: %v", n)
	}
	if b, err := os.ReadFile(w.log()); err != nil || !bytes.HasSuffix(b, []byte("}\n")) {
		t.Errorf("the log ends in %q, %v", b[max(0, len(b)-40):], err)
	}
	if s := w.standing(); s.Status != "interrupted" && s.Status != "failed" {
		t.Errorf("it is %q", s.Status)
	}
	if code, out := w.foundry(nil, "resume", "last", "--no-input"); code != 3 || !strings.Contains(out, "no space left on device") {
		t.Errorf("resume on the full disk: exit %d\n%s", code, out)
	}
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	w.finishes(1, 1)
}
