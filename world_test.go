package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// world is a directory with a repository in which one play is given again and again.
type world struct {
	t       *testing.T
	dir     string
	env     []string
	as      *syscall.SysProcAttr // as whom commands run; nil for whoever runs the tests
	program string               // foundry, when it is not the one in the path
}

// newWorld makes a world whose repository holds files, scripts among them, in one commit.
func newWorld(t *testing.T, dir string, files map[string]string) *world {
	t.Helper()
	home := filepath.Join(dir, "home")
	write(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = Tester\n\temail = tester@example.com\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgSign = false\n")
	w := &world{t: t, dir: dir}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "FOUNDRY_") && name != "CI" {
			w.env = append(w.env, v)
		}
	}
	w.env = append(w.env, "HOME="+home, "XDG_CONFIG_HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "NO_COLOR=1", "COUNT="+w.count(), "USER=tester")
	for name, text := range files {
		path := filepath.Join(w.repo(), name)
		write(t, path, text)
		if strings.HasSuffix(name, ".sh") {
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, words := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "base"}} {
		w.git(words...)
	}
	w.copyTree("repo", "fresh")
	return w
}

func (w *world) repo() string  { return filepath.Join(w.dir, "repo") }
func (w *world) count() string { return filepath.Join(w.dir, "count") }

func (w *world) command(extra []string, words ...string) *exec.Cmd {
	if words[0] == "foundry" && w.program != "" {
		words[0] = w.program
	}
	c := exec.Command(words[0], words[1:]...)
	c.SysProcAttr = w.as
	c.Dir, c.Env = w.repo(), append(w.env[:len(w.env):len(w.env)], extra...)
	return c
}

func (w *world) git(words ...string) string {
	w.t.Helper()
	out, err := w.command(nil, append([]string{"git"}, words...)...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", words, err, out)
	}
	return string(out)
}

// foundry gives a command and returns its exit and all that it said.
func (w *world) foundry(extra []string, words ...string) (int, string) {
	w.t.Helper()
	c := w.command(extra, append([]string{"foundry"}, words...)...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	if c.ProcessState == nil {
		w.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String()
}

func (w *world) copyTree(from, to string) {
	w.t.Helper()
	to = filepath.Join(w.dir, to)
	if err := os.RemoveAll(to); err != nil {
		w.t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", filepath.Join(w.dir, from), to).CombinedOutput(); err != nil {
		w.t.Fatalf("cp: %v\n%s", err, out)
	}
}

// standing is where the newest run stands, as a person reads it.
type standing struct {
	ID        string
	Status    string
	Merged    *string
	Discarded bool
}

func (w *world) standing() standing {
	w.t.Helper()
	code, out := w.foundry(nil, "show", "last", "--json")
	if code != 0 {
		return standing{}
	}
	var s standing
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		w.t.Fatalf("show --json: %v\n%s", err, out)
	}
	return s
}

// processes are those that something in this world has started and that still run.
func (w *world) processes() []string {
	var found []string
	mark := []byte("COUNT=" + w.count() + "\x00")
	list, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range list {
		if env, err := os.ReadFile(path); err == nil && bytes.Contains(env, mark) {
			cmd, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, path+" "+strings.ReplaceAll(string(cmd), "\x00", " "))
		}
	}
	return found
}

// turns counts how often each turn of an agent, and each command, has begun.
func (w *world) turns() map[string]int {
	n := map[string]int{}
	b, _ := os.ReadFile(w.count())
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if line != "" {
			n[line]++
		}
	}
	return n
}
