package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// This file runs the program on a real terminal, which scripts cannot give its output: the live view takes the screen,
// keys reach it, and whatever becomes of the program, the terminal is given back.

const ttyPipeline = `version: 1
project: {merge: never}
pipelines:
  p:
    accept: passed("say")
    phases:
      - {id: say, run: "echo said something; test ! -e ../../nap || sleep 60"}
      - {id: ship, ask: "Ship it now?"}
`

const takesScreen, givesBack = "\x1b[?1049h", "\x1b[?1049l"

// onTerminal is the program on a pseudo-terminal.
type onTerminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	mu     sync.Mutex
	text   bytes.Buffer
	more   chan struct{}
	gone   chan struct{} // closed when nobody has the terminal any more, and all that was printed is in text
}

// pseudoTerminal opens a terminal of 80 columns and 24 lines.
func pseudoTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	if err != nil {
		t.Fatal(err)
	}
	if slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// upOnTerminal starts `foundry up` on ttyPipeline; nap makes its command last.
func upOnTerminal(t *testing.T, nap bool) *onTerminal {
	t.Helper()
	return upIn(t, map[string]string{"foundry.yaml": ttyPipeline}, nap)
}

// upIn starts `foundry up` in a repository of its own that has these files, all of them executable.
func upIn(t *testing.T, files map[string]string, nap bool) *onTerminal {
	t.Helper()
	return startIn(t, files, nap, "up")
}

// startIn is upIn for another verb.
func startIn(t *testing.T, files map[string]string, nap bool, verb string) *onTerminal {
	t.Helper()
	home := t.TempDir()
	repo := filepath.Join(home, "repo")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	foundry := filepath.Join(home, "foundry")
	if os.Link(self, foundry) != nil { // on another disk
		data, err := os.ReadFile(self)
		if err := errors.Join(err, os.WriteFile(foundry, data, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "NO_COLOR=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.com",
		"GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.com", "USER=tester"}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-qm", "base"}} {
		c := exec.Command("git", args...)
		c.Dir, c.Env = repo, environ
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if nap {
		if err := os.WriteFile(filepath.Join(repo, "nap"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	master, slave := pseudoTerminal(t)
	x := &onTerminal{t: t, master: master, more: make(chan struct{}, 1), gone: make(chan struct{}),
		cmd: &exec.Cmd{Path: foundry, Args: []string{foundry, verb}, Dir: repo, Env: environ, Stdin: slave, Stdout: slave, Stderr: slave,
			SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: true}}}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	t.Cleanup(func() {
		x.cmd.Process.Kill()
		x.cmd.Wait()
		master.Close()
	})
	go x.read()
	return x
}

func (x *onTerminal) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := x.master.Read(buffer)
		x.mu.Lock()
		x.text.Write(buffer[:n])
		x.mu.Unlock()
		select {
		case x.more <- struct{}{}:
		default:
		}
		if err != nil {
			close(x.gone)
			return
		}
	}
}

func (x *onTerminal) shown() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.text.String()
}

// wait waits until a text is on the terminal.
func (x *onTerminal) wait(text string) {
	x.t.Helper()
	x.waitFor(fmt.Sprintf("%q", text), func(shown string) bool { return strings.Contains(shown, text) })
}

func (x *onTerminal) waitFor(what string, came func(shown string) bool) {
	x.t.Helper()
	late := time.After(60 * time.Second)
	for !came(x.shown()) {
		select {
		case <-x.more:
		case <-late:
			x.t.Fatalf("%s never came:\n%q", what, x.shown())
		}
	}
}

func (x *onTerminal) keys(text string) { io.WriteString(x.master, text) }

// end waits for the program, whose exit is to be want, and returns what stood on the terminal after it was given back.
func (x *onTerminal) end(want int) string {
	x.t.Helper()
	x.cmd.Wait()
	if got := x.cmd.ProcessState.ExitCode(); got != want {
		x.t.Errorf("exit %d, want %d:\n%s", got, want, x.shown())
	}
	<-x.gone
	shown := x.shown()
	if !strings.Contains(shown, givesBack) {
		x.t.Fatalf("the terminal was not given back:\n%s", shown)
	}
	return shown[strings.LastIndex(shown, givesBack):]
}

func TestLiveViewAnswers(t *testing.T) {
	t.Parallel()
	x := upOnTerminal(t, false)
	x.wait(takesScreen)
	x.wait("Ship it now?")
	x.keys("a")
	x.wait("approve or reject")
	x.keys("approve fine\r")
	if after := x.end(0); !strings.Contains(after, "accepted") || !strings.Contains(after, "approved by tester: fine") {
		t.Errorf("the final block is not there: %q", after)
	}
}

func TestLiveViewIsInterrupted(t *testing.T) {
	t.Parallel()
	x := upOnTerminal(t, true)
	x.wait("said something")
	x.keys("\x03")
	if after := x.end(130); !strings.Contains(after, "interrupted") || !strings.Contains(after, "foundry resume") {
		t.Errorf("the final block is not there: %q", after)
	}
}

func TestLiveViewIsLeft(t *testing.T) {
	t.Parallel()
	x := upOnTerminal(t, false)
	x.wait("Ship it now?")
	x.keys("q")
	x.wait("approve or reject, with a note if you like: ")
	shown := x.shown()
	if after := shown[strings.LastIndex(shown, givesBack):]; !strings.Contains(after, "say       passed") || !strings.Contains(after, "ship      asks") {
		t.Errorf("the lines up to now are not there: %q", after)
	}
	x.keys("reject no\r")
	x.end(1)
}

// TestWatchOnATerminal: findings stand in the view, and whoever leaves it sees the lines of the watch.
func TestWatchOnATerminal(t *testing.T) {
	t.Parallel()
	const checks = "version: 1\npipelines: {checks: {phases: [{id: lint, run: cat a.txt}]}}\n"
	x := startIn(t, map[string]string{"foundry.yaml": checks, "a.txt": "first"}, false, "watch")
	save := func(name, text string) {
		t.Helper()
		whole := filepath.Join(t.TempDir(), name) // saved in one step: a file that is emptied first is saved twice
		if err := errors.Join(os.WriteFile(whole, []byte(text), 0o644), os.Rename(whole, filepath.Join(x.cmd.Dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	x.wait(takesScreen)
	x.wait("changes are noticed by events")
	save("foundry.yaml", strings.Replace(checks, "id: lint", "idd: lint", 1))
	x.wait("the last good pipeline stays in force")
	x.wait("unknown-key")
	save("foundry.yaml", strings.Replace(checks, "cat a.txt", "cat a.txt mended", 1))
	x.wait("a.txt mended")
	x.wait("failed")
	x.keys("q")
	x.wait(givesBack)
	save("a.txt", "second")
	x.waitFor("the end of the run with the second text", func(shown string) bool {
		_, after, read := strings.Cut(shown, "secondcat: mended")
		return read && strings.Contains(after, "\nlint failed")
	})
	x.keys("\x03")
	x.wait("watch: ended")
	x.end(0)
}

// TestLiveViewDiesWithItsProcess: the guard gives the terminal back.
func TestLiveViewDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	x := upOnTerminal(t, true)
	x.wait("said something")
	if strings.Contains(x.shown(), givesBack) {
		t.Fatal("the view is not on")
	}
	x.cmd.Process.Kill()
	x.end(-1)
}
