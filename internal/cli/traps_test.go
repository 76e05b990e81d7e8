//go:build unix

package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"foundry/internal/journal"
	"foundry/internal/process"
	"foundry/runner"
)

// readLines are what is typed of each command that executes nothing of the repository. A command that is not in the
// list fails the test.
var readLines = map[string][]string{
	"lint":       {"lint", "lint --strict --format json", "-f fifo.yaml lint", "-f zero.yaml lint", "-f out.yaml lint"},
	"fmt":        {"fmt --check"},
	"test":       {"test", "test --json"},
	"graph":      {"graph", "graph p --format dot", "graph p --json"},
	"ls":         {"ls", "ls agents", "ls --json"},
	"explain":    {"explain p", "explain unused", "explain worker", "explain last build"},
	"eject":      {"eject plan"},
	"init":       {"-C empty init"},
	"runs":       {"runs", "runs --json"},
	"show":       {"show last", "show last build", "show last --json"},
	"logs":       {"logs last", "logs last build"},
	"diff":       {"diff last", "diff last build"},
	"report":     {"report last", "report last --format html"},
	"costs":      {"costs", "costs --by model --since 7d --json"},
	"doctor":     {"doctor", "doctor --json"},
	"schema":     {"schema"},
	"lsp":        {"lsp"},
	"completion": {"completion bash"},
	"version":    {"version", "version --json"},
	completeName: {completeName + " graph ", completeName + " show last "},
}

// readsToo are lines of other commands that execute nothing either.
var readsToo = []string{"up p --dry-run", "up p --dry-run --json", "--help", "up --help"}

// TestWhatOnlyReadsRunsNothing reads a repository in which everything that git, an editor, a pager or a pipeline may
// start is a trap: a program that leaves a mark.
func TestWhatOnlyReadsRunsNothing(t *testing.T) {
	dir, mark := trapped(t)
	lines := slices.Clone(readsToo)
	for _, m := range verbMakers() {
		switch m.reach {
		case reads, writesFiles:
			if len(readLines[m.name]) == 0 {
				t.Errorf("%s: no line shows that it executes nothing of the repository", m.name)
			}
			lines = append(lines, readLines[m.name]...)
		case steers, runsItsOwn:
		default:
			t.Errorf("%s: what it may do is not said", m.name)
		}
	}
	for _, line := range lines {
		args := []string{"foundry", "-C", dir}
		if rest, ok := strings.CutPrefix(line, "-C empty "); ok {
			args, line = []string{"foundry", "-C", filepath.Join(dir, "empty")}, rest
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		var out, errs bytes.Buffer
		from := time.Now()
		done := make(chan int, 1)
		go func() {
			done <- Main(ctx, append(args, strings.Fields(line)...), Stdio{strings.NewReader(""), &out, &errs})
		}()
		select {
		case status := <-done:
			if status == Failed.Code() && !strings.HasPrefix(line, "diff") && line != "lsp" {
				t.Errorf("%s: exit %d\n%s%s", line, status, out.String(), errs.String())
			}
			if strings.Contains(errs.String(), "unknown ") && !strings.Contains(line, "yaml") {
				t.Errorf("%s is no such line: %s", line, errs.String())
			}
		case <-ctx.Done():
			t.Fatalf("%s: still at work after %s", line, time.Since(from))
		}
		cancel()
		if sprung, err := os.ReadFile(mark); err == nil {
			t.Errorf("%s started %s", line, strings.TrimSpace(string(sprung)))
			os.Remove(mark)
		}
	}
	// The traps are good ones: git itself falls into them, one after the other.
	for trap, args := range map[string][]string{
		"fsmonitor": {"status"}, "clean": {"-c", "core.fsmonitor=", "diff-files", "-p", "a.txt"}, "process": {"-c", "core.fsmonitor=", "add", "-n", "b.long"},
		"below": {"-c", "core.fsmonitor=", "status", "sub"}, "command": {"diff", "a.txt"},
	} {
		os.Remove(mark)
		said, _ := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		if sprung, _ := os.ReadFile(mark); !strings.Contains(string(sprung), " "+trap) {
			t.Errorf("git %s did not spring the trap %q, so the test shows nothing of it: %s%s", strings.Join(args, " "), trap, sprung, said)
		}
	}
}

// trapped makes the repository, and returns it with the file in which a trap that was sprung leaves its mark.
func trapped(t *testing.T) (dir, mark string) {
	top := t.TempDir()
	dir, mark = filepath.Join(top, "repo"), filepath.Join(top, "sprung")
	for name, value := range map[string]string{"HOME": top, "XDG_CONFIG_HOME": top, "GIT_CONFIG_GLOBAL": filepath.Join(top, "config"), "GIT_CONFIG_NOSYSTEM": "1",
		"FOUNDRY_RUN_ID": "", "TERM": "dumb", "GIT_EDITOR": "", "GIT_PAGER": "", "PAGER": ""} {
		t.Setenv(name, value)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		must(os.MkdirAll(filepath.Dir(path), 0o755))
		must(os.WriteFile(path, []byte(text), mode))
	}
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	must(os.MkdirAll(filepath.Join(dir, "empty"), 0o755))
	must(os.WriteFile(filepath.Join(top, "config"), []byte("[user]\n\tname = A\n\temail = a@example.com\n"), 0o644))
	write("trap.sh", "#!/bin/sh\necho \"$0 $*\" >>"+mark+"\ncat >/dev/null 2>&1 </dev/null\nexit 0\n", 0o755)
	trap := filepath.Join(dir, "trap.sh")
	write("bin/claude", "#!/bin/sh\nexec "+trap+" agent\n", 0o755)
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	write("foundry.yaml", strings.ReplaceAll(trapPipeline, "TRAP", trap), 0o644)
	write("a.txt", "a\n", 0o644)
	write("b.long", "a\n", 0o644)
	git("init", "-q", "-b", "main")
	git("init", "-q", "sub")
	write("sub/a.txt", "a\n", 0o644)
	git("-C", "sub", "add", "-A")
	git("-C", "sub", "commit", "-q", "-m", "sub")
	for _, name := range []string{"fifo", "zero", "out"} {
		write(name+".yaml", strings.ReplaceAll(strings.ReplaceAll(trapPipeline, "TRAP", trap), "prompt: work", "prompt: {file: "+name+"}"), 0o644)
	}
	git("add", "-A")
	git("commit", "-q", "-m", "one")
	from := git("rev-parse", "HEAD")
	write("a.txt", "b\n", 0o644)
	git("commit", "-q", "-a", "-m", "two")
	record(t, dir, from, git("rev-parse", "HEAD^{tree}"))

	must(syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	must(os.Symlink("/dev/zero", filepath.Join(dir, "zero")))
	must(os.Symlink("/etc/passwd", filepath.Join(dir, "out")))
	write(".gitattributes", "* filter=trap diff=trap merge=trap\n*.long filter=long\n", 0o644)
	write("a.txt", "c\n", 0o644)
	write("b.long", "c\n", 0o644)
	// The submodule is checked out, and git looks into it with what is configured there.
	write("sub/.gitattributes", "* filter=trap\n", 0o644)
	write("sub/a.txt", "c\n", 0o644)
	for key, value := range map[string]string{"core.fsmonitor": trap + " below", "filter.trap.clean": trap + " below", "filter.trap.process": trap + " below"} {
		git("-C", "sub", "config", key, value)
	}
	write(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ext::"+trap+"\n", 0o644)
	write(".git/more", "[core]\n\tpager = "+trap+" pager\n[alias]\n\tstatus = !"+trap+" alias\n\tdiff = !"+trap+" alias\n", 0o644)
	for _, hook := range []string{"pre-commit", "post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc", "post-merge", "pre-push"} {
		write(".git/hooks/"+hook, "#!/bin/sh\nexec "+trap+" hook "+hook+"\n", 0o755)
	}
	for key, value := range map[string]string{"core.fsmonitor": trap + " fsmonitor", "core.editor": trap + " editor", "core.sshCommand": trap + " ssh", "core.askPass": trap,
		"gpg.program": trap, "commit.gpgSign": "true", "diff.external": trap + " external", "diff.trap.textconv": trap + " textconv", "diff.trap.command": trap + " command",
		"filter.trap.clean": trap + " clean", "filter.trap.smudge": trap + " smudge", "filter.trap.required": "true",
		"filter.long.process": trap + " process",
		"merge.trap.driver":   trap + " merge", "credential.helper": "!" + trap, "include.path": "more", "sequence.editor": trap, "diff.tool": "trap",
		"submodule.sub.update": "!" + trap, "submodule.recurse": "true", "uploadpack.packObjectsHook": trap, "interactive.diffFilter": trap} {
		git("config", key, value)
	}
	os.Remove(mark)
	return dir, mark
}

// record makes the record of a run that has ended.
func record(t *testing.T, dir, from, tree string) {
	t.Helper()
	rec, err := journal.At(dir).Create("run_261130_00000a")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "foundry.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	src := fmt.Sprintf(`{"file":"foundry.yaml","has":true,"text":%q}`, text)
	if _, err := rec.WriteFile(sourcesName, []byte(src)); err != nil {
		t.Fatal(err)
	}
	at := time.Now().UTC()
	if err := rec.Append(
		runner.Event{At: at, Kind: runner.RunStarted, Run: &runner.RunInfo{ID: rec.ID(), Pipeline: "p", BranchPoint: from, Isolation: "worktree", Worktree: filepath.Join(dir, "gone")}},
		runner.Event{At: at, Kind: runner.PhaseStarted, Phase: "build", Visit: 1},
		runner.Event{At: at, Kind: runner.SnapshotTaken, Phase: "build", Visit: 1, Tree: from, Purpose: "start"},
		runner.Event{At: at, Kind: runner.BoundaryChecked, Phase: "build", Visit: 1, Tree: tree},
		runner.Event{At: at, Kind: runner.PhaseEnded, Phase: "build", Visit: 1, Status: "success", Tree: tree},
		runner.Event{At: at, Kind: runner.RunEnded, Status: "rejected", Reason: "acceptance"}); err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
}

const trapPipeline = `version: 1
default: p
project:
  harness: command
  argv: [TRAP, agent]
  worktree: {setup: [TRAP setup]}
commands: {check: TRAP command}
agents:
  worker: {extends: builtin/builder}
  shell: {extends: builtin/builder, harness: claude, argv: [sh, TRAP, agent]}
  absolute: {extends: builtin/builder, harness: claude, argv: [TRAP, agent]}
  speaks: {extends: builtin/builder, harness: acp, argv: [sh, TRAP, agent]}
  found: {extends: builtin/builder, harness: claude}
pipelines:
  p:
    criteria: [{name: c, run: TRAP criterion}]
    phases:
      - {id: build, agent: worker, prompt: work, gates: [{command_passes: TRAP gate}]}
      - {id: check, command: check}
      - {id: run, run: [TRAP, run]}
  agents:
    phases:
      - {id: shell, agent: shell, prompt: work}
      - {id: absolute, agent: absolute, prompt: work}
      - {id: speaks, agent: speaks, prompt: work}
      - {id: found, agent: found, prompt: work}
tests:
  - name: all
    pipeline: p
    given:
      build: [{reply: {status: success}, gates: {command_passes: pass}}]
      check: [{exit: 0}]
      run: [{exit: 0}]
    criteria: {c: [{exit: 1}, {exit: 0}]}
    expect: {status: accepted}
`

// TestControlIsRefusedInsideARun holds every command that starts, continues, ends or lands runs to the refusal, by each
// way in which it can be seen that it comes from inside a run.
func TestControlIsRefusedInsideARun(t *testing.T) {
	const run = "run_261130_00000b"
	dir := t.TempDir()
	worktree, link := filepath.Join(dir, ".foundry-worktrees", run, "below"), filepath.Join(dir, "link")
	for _, err := range []error{os.MkdirAll(worktree, 0o755), os.Symlink(worktree, link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var verbs []string
	for _, m := range verbMakers() {
		if m.reach == steers {
			verbs = append(verbs, m.name)
		}
	}
	if len(verbs) < 8 {
		t.Errorf("only %d commands are refused", len(verbs))
	}
	refused := func(t *testing.T, verb string, status int, said string) {
		t.Helper()
		if status != Usage.Code() || !strings.Contains(said, verb+" is refused: it was called from inside run "+run) {
			t.Errorf("%s: exit %d, %s", verb, status, said)
		}
	}
	in := func(t *testing.T, at string) {
		for _, verb := range verbs {
			var out, errs bytes.Buffer
			status := Main(t.Context(), []string{"foundry", "-C", at, verb}, Stdio{strings.NewReader(""), &out, &errs})
			refused(t, verb, status, errs.String())
		}
	}
	t.Run("environment", func(t *testing.T) {
		t.Setenv("FOUNDRY_RUN_ID", run)
		in(t, dir)
	})
	t.Run("process tree", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("the environment of other processes is not known here")
		}
		for _, verb := range verbs {
			// The shell was started with the variable, what it starts has no environment at all.
			c := exec.Command("sh", "-c", `env -i CLI_TEST_LINE="-C $1 $2" "$0" -test.run '^TestFoundryItself$'; echo "exit $?"`, os.Args[0], dir, verb)
			c.Env = append(os.Environ(), "FOUNDRY_RUN_ID="+run)
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatal(err)
			}
			status := Done.Code()
			if strings.Contains(string(out), fmt.Sprintf("exit %d\n", Usage.Code())) {
				status = Usage.Code()
			}
			refused(t, verb, status, string(out))
		}
	})
	t.Setenv("FOUNDRY_RUN_ID", "")
	if above := process.RunAbove(); above != "" {
		t.Skipf("this test is run inside %s", above)
	}
	t.Run("worktree", func(t *testing.T) { in(t, worktree) })
	t.Run("link to a worktree", func(t *testing.T) { in(t, link) })
	t.Run("elsewhere from a worktree", func(t *testing.T) {
		t.Chdir(worktree)
		in(t, dir)
	})
}

// TestFoundryItself is the program, for a test that needs a process of it.
func TestFoundryItself(t *testing.T) {
	line := os.Getenv("CLI_TEST_LINE")
	if line == "" {
		return // nobody asked for it
	}
	os.Exit(Main(t.Context(), append([]string{"foundry"}, strings.Fields(line)...), Stdio{strings.NewReader(""), os.Stdout, os.Stderr}))
}
