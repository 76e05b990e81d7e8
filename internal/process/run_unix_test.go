//go:build unix

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"foundry/secret"
)

// child is what the test binary does when it plays Foundry in a process of its own.
func child(what string) {
	if play := plays()[what]; play != nil {
		play()
		return
	}
	if dir, ok := strings.CutPrefix(what, "abandons in "); ok {
		Run(context.Background(), Spec{Shell: "trap '' TERM; echo leader $$; sleep 300; sleep 300", Dir: dir, Env: Environ(os.Environ()), Trusted: true,
			Observe: func(_ Stream, piece []byte) { os.Stdout.Write(piece) }})
		return
	}
	if what == "counts" {
		asked := make(chan os.Signal, 10)
		signal.Notify(asked, syscall.SIGTERM)
		exec.Command("true").Run() // so that it is not the newest process
		fmt.Println("ready")
		<-asked
		n := 1
		for late := time.After(300 * time.Millisecond); ; {
			select {
			case <-asked:
				n++
			case <-late:
				fmt.Println("asked", n)
				return
			}
		}
	}
	self, _ := os.Executable()
	g := &Guard{Token: "run_test_guard"}
	if err := g.Start(self); err != nil {
		fmt.Println("error", err)
		return
	}
	env := Environ(os.Environ(), []string{RunToken + "=run_test_guard"})
	started := func(pid int) { fmt.Println("leader", pid) }
	switch what {
	case "guarded":
		// A leader, a stubborn child in its group, and one that left the group.
		Run(context.Background(), Spec{Shell: `trap "" TERM; (setsid sleep 300 &) ; sleep 300 & echo; wait; sleep 300`, Env: env, Guard: g, Started: started})
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "s.sh")
	if err := os.WriteFile(p, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func run(t *testing.T, s Spec) Result {
	t.Helper()
	r := Run(context.Background(), s)
	if r.Reason == 0 {
		t.Errorf("a result without a reason: %+v", r)
	}
	return r
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil && !zombie(pid) }

func mustDie(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(3 * time.Second); alive(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d is still there", pid)
		}
	}
}

func TestHowItEnded(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone")
	noInterpreter := filepath.Join(t.TempDir(), "x")
	notExecutable := filepath.Join(t.TempDir(), "y")
	for p, perm := range map[string]os.FileMode{noInterpreter: 0o755, notExecutable: 0o644} {
		if err := os.WriteFile(p, []byte("#!/no/such/interpreter -x\n"), perm); err != nil {
			t.Fatal(err)
		}
	}
	bare := filepath.Join(t.TempDir(), "bare")
	if err := os.WriteFile(bare, []byte("exit 4\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		spec    Spec
		reason  Reason
		exit    int
		signal  string
		failure StartFailure
	}{
		{"success", Spec{Argv: []string{"true"}}, Exited, 0, "", 0},
		{"exit code", Spec{Shell: "exit 3"}, Exited, 3, "", 0},
		{"137 is a code", Spec{Shell: "exit 137"}, Exited, 137, "", 0},
		{"killed by itself", Spec{Shell: "kill -KILL $$"}, Signalled, -1, "killed", 0},
		{"terminated by itself", Spec{Shell: "kill -TERM $$"}, Signalled, -1, "terminated", 0},
		{"segmentation fault", Spec{Shell: "kill -SEGV $$"}, Signalled, -1, "segmentation fault", 0},
		{"shell may not execute it", Spec{Shell: notExecutable + "; exit $?"}, Exited, 126, "", 0},
		{"shell does not find it", Spec{Shell: "no-such-program-xyz; exit $?"}, Exited, 127, "", 0},
		{"not found", Spec{Shell: "no-such-program-xyz"}, NotStarted, -1, "", CommandNotFound},
		{"not found argv", Spec{Argv: []string{"./no-such-program"}}, NotStarted, -1, "", CommandNotFound},
		{"directory gone", Spec{Argv: []string{"true"}, Dir: gone}, NotStarted, -1, "", DirectoryGone},
		{"interpreter missing", Spec{Argv: []string{noInterpreter}}, NotStarted, -1, "", InterpreterMissing},
		{"not executable", Spec{Argv: []string{notExecutable}}, NotStarted, -1, "", NoPermission},
		{"script without a first line", Spec{Shell: bare}, Exited, 4, "", 0},
		{"builtin that is no program here", Spec{Shell: "false", Env: []string{"PATH=/nowhere"}}, Exited, 1, "", 0},
		{"log cannot be written", Spec{Argv: []string{"true"}, LogPath: gone + "/log"}, NotStarted, -1, "", LogUnwritable},
		{"NUL in an argument", Spec{Argv: []string{"echo", "a\x00b"}}, NotStarted, -1, "", OtherStartFailure},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := run(t, tt.spec)
			if r.Reason != tt.reason || r.Exit != tt.exit || r.Signal != tt.signal {
				t.Errorf("got %s exit %d signal %q err %v, want %s exit %d signal %q", r.Reason, r.Exit, r.Signal, r.Err, tt.reason, tt.exit, tt.signal)
			}
			var se *StartError
			if errors.As(r.Err, &se) != (tt.failure != 0) || se != nil && se.Failure != tt.failure {
				t.Errorf("start failure: %v", r.Err)
			}
		})
	}
}

func TestTooManyFilesIsNotTheProgramsFault(t *testing.T) {
	t.Parallel()
	e := classify("x", "/bin/true", "", &os.PathError{Op: "fork/exec", Path: "/bin/true", Err: syscall.EMFILE})
	if e.Failure != NoResources || !strings.Contains(e.Error(), "too many open files") {
		t.Errorf("got %v: %s", e.Failure, e)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	t.Run("saves before it ends", func(t *testing.T) {
		t.Parallel()
		p := script(t, "trap 'echo saved; exit 0' TERM\necho ready\nwhile :; do sleep 0.02; done\n")
		r := run(t, Spec{Argv: []string{p}, Timeout: 300 * time.Millisecond})
		if r.Reason != TimedOut || !strings.Contains(r.Tail, "saved") || r.OK() {
			t.Errorf("got %s, exit %d, tail %q", r.Reason, r.Exit, r.Tail)
		}
	})
	t.Run("ignores TERM, child too", func(t *testing.T) {
		t.Parallel()
		p := script(t, "trap '' TERM INT HUP\nsh -c 'trap \"\" TERM; echo pid $$; sleep 60; echo' &\nwhile :; do sleep 1; done\n")
		r := run(t, Spec{Argv: []string{p}, Timeout: 300 * time.Millisecond, Grace: 200 * time.Millisecond})
		if r.Reason != TimedOut || r.Signal != "killed" || r.Elapsed > 3*time.Second {
			t.Errorf("got %s, signal %q after %s", r.Reason, r.Signal, r.Elapsed)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(r.Tail, "pid ")))
		if err != nil {
			t.Fatalf("tail %q", r.Tail)
		}
		mustDie(t, pid)
		mustDie(t, r.Pid)
	})
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		r := run(t, Spec{Argv: []string{script(t, "kill -STOP $$\n")}, Timeout: 200 * time.Millisecond, Grace: 5 * time.Second})
		if r.Reason != TimedOut || r.Signal != "terminated" || r.Elapsed > 3*time.Second {
			t.Errorf("got %s, signal %q after %s", r.Reason, r.Signal, r.Elapsed)
		}
	})
	t.Run("full output", func(t *testing.T) {
		t.Parallel()
		r := run(t, Spec{Shell: "while :; do echo xxxxxxxxxxxxxxxx; done", Timeout: 200 * time.Millisecond})
		if r.Reason != TimedOut || r.Elapsed > 3*time.Second || r.Bytes == 0 {
			t.Errorf("got %s after %s with %d bytes", r.Reason, r.Elapsed, r.Bytes)
		}
	})
	t.Run("before the start", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
		defer cancel()
		if r := Run(ctx, Spec{Shell: "exit 0"}); r.Reason != TimedOut || r.Pid != 0 {
			t.Errorf("got %s, pid %d", r.Reason, r.Pid)
		}
		if r := run(t, Spec{Shell: "exit 0", Timeout: 1}); r.Reason != TimedOut && !r.OK() {
			t.Errorf("got %s", r.Reason)
		}
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	r := Run(ctx, Spec{Shell: "sleep 60; true", Started: func(int) { cancel() }})
	if r.Reason != Cancelled || r.Elapsed > 3*time.Second {
		t.Errorf("got %s after %s", r.Reason, r.Elapsed)
	}
	kill := make(chan struct{})
	r = Run(context.Background(), Spec{Shell: `trap "" TERM; sleep 60; true`, Kill: kill, Started: func(int) { close(kill) }})
	if r.Reason != Cancelled || r.Elapsed > 3*time.Second {
		t.Errorf("kill at once: got %s after %s", r.Reason, r.Elapsed)
	}
	if r = Run(context.Background(), Spec{Shell: "exit 0", Kill: kill}); r.Reason != Cancelled || r.Pid != 0 {
		t.Errorf("killed before the start: got %s, pid %d", r.Reason, r.Pid)
	}
}

func TestGrandchildren(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		exit       int
		tail       string
		left       string
	}{
		{"holds the pipe, success", "sleep 30 &\necho done\nexit 0\n", 0, "done\n", "sleep"},
		{"holds the pipe, failure", "sleep 30 &\necho bad\nexit 3\n", 3, "bad\n", "sleep"},
		{"ends too late", "(sleep 20; echo late) &\necho early\n", 0, "early\n", "sleep"},
		{"ends by itself soon", "(sleep 0.1; echo late) &\necho early\n", 0, "early\nlate\n", ""},
		{"holds nothing", "sleep 30 >/dev/null 2>&1 &\nexit 0\n", 0, "", "sleep"},
		{"left the group", "setsid sleep 30 &\nsleep 0.1; echo done\n", 0, "done\n", "sleep"},
		{"left the group and the pipe", "setsid sleep 30 >/dev/null 2>&1 </dev/null &\nsleep 0.1; echo done\n", 0, "done\n", "sleep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(tt.name, "left") && !canList {
				t.Skip("only Linux can find them")
			}
			r := run(t, Spec{Argv: []string{script(t, tt.text)}, Grace: 2 * time.Second})
			if r.Reason != Exited || r.Exit != tt.exit || r.Tail != tt.tail || r.Elapsed > 4*time.Second {
				t.Errorf("got %s, exit %d, tail %q after %s", r.Reason, r.Exit, r.Tail, r.Elapsed)
			}
			if got := strings.Join(r.Left, " "); canList && (tt.left == "") != (got == "") || !strings.Contains(got, tt.left) {
				t.Errorf("left %q, notes %q", r.Left, r.Notes)
			}
			if said := strings.Join(r.Notes, " "); (len(r.Left) > 0) != strings.Contains(said, "left processes behind, which were ended: ") {
				t.Errorf("left %q, notes %q", r.Left, said)
			}
			for _, l := range r.Left {
				_, num, _ := strings.Cut(l, "(pid ")
				if pid, err := strconv.Atoi(strings.TrimSuffix(num, ")")); err == nil {
					mustDie(t, pid)
				}
			}
		})
	}
}

func TestStdin(t *testing.T) {
	t.Parallel()
	if r := run(t, Spec{Argv: []string{"cat"}}); !r.OK() || r.Bytes != 0 {
		t.Errorf("no stdin: %s, %d bytes", r.Reason, r.Bytes)
	}
	big := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16) // more than any pipe holds, both ways
	r := run(t, Spec{Argv: []string{"cat"}, Stdin: big, Capture: 1 << 30})
	if !r.OK() || !bytes.Equal(r.Stdout, big) || r.StdoutCut != 0 {
		t.Errorf("echo: %s, %d of %d bytes", r.Reason, len(r.Stdout), len(big))
	}
	if r = run(t, Spec{Argv: []string{"true"}, Stdin: big}); !r.OK() {
		t.Errorf("nobody reads: %s", r.Reason)
	}
	if r = run(t, Spec{Shell: "tty; ps -o tty= -p $$; exec 3</dev/tty"}); r.Exit == 0 {
		t.Errorf("the program has a terminal: %q", r.Tail)
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	r := run(t, Spec{Shell: "for i in 1 2 3; do echo out$i; echo err$i >&2; done", LogPath: log})
	want := "out1\nerr1\nout2\nerr2\nout3\nerr3\n"
	if got, _ := os.ReadFile(log); string(got) != want || r.Tail != want {
		t.Errorf("log %q, tail %q", got, r.Tail)
	}
	var pieces, ends int
	r = run(t, Spec{Shell: "echo out; echo err >&2", Capture: 100, Observe: func(s Stream, p []byte) {
		if s != Stdout && s != Stderr {
			t.Errorf("observed %d %q", s, p)
		}
		if len(p) == 0 {
			ends++
			return
		}
		pieces++
	}})
	if string(r.Stdout) != "out\n" || r.Stderr != "err\n" || pieces < 2 || ends != 2 {
		t.Errorf("stdout %q, stderr %q, %d pieces, %d ends", r.Stdout, r.Stderr, pieces, ends)
	}
	r = run(t, Spec{Shell: "echo 0123456789; echo abc", Capture: 4})
	if string(r.Stdout) != "abc\n" || r.StdoutCut != 11 {
		t.Errorf("capped: %q, cut %d", r.Stdout, r.StdoutCut)
	}
}

func TestFeed(t *testing.T) {
	t.Parallel()
	pr, pw := io.Pipe()
	go io.WriteString(pw, "one\n")
	r := run(t, Spec{Shell: "while read line; do echo \"got $line\"; done", Capture: 100, Feed: pr, Observe: func(s Stream, p []byte) {
		switch string(p) {
		case "got one\n": // only now is there a second line
			go func() {
				io.WriteString(pw, "two\n")
				pw.Close()
			}()
		}
	}})
	if string(r.Stdout) != "got one\ngot two\n" || !r.OK() {
		t.Errorf("%q, %v", r.Stdout, r.Reason)
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	var observed strings.Builder
	r := run(t, Spec{Shell: "printf 'a sec'; sleep 0.05; printf 'ret b s'; printf 'sec' >&2; sleep 0.05; printf 'ret' >&2; printf 'e'",
		LogPath: log, Capture: 100, Mask: secret.New([]secret.Value{{Name: "X", Text: "secret"}}), Observe: func(s Stream, p []byte) {
			if s == Stdout {
				observed.Write(p)
			}
		}})
	kept, _ := os.ReadFile(log)
	for where, got := range map[string]string{"stdout": string(r.Stdout), "observed": observed.String()} {
		if got != "a [secret X] b se" {
			t.Errorf("%s: %q", where, got)
		}
	}
	if r.Stderr != "[secret X]" || strings.Contains(string(kept)+r.Tail, "secret b") || !strings.Contains(string(kept), "a [secret X] b ") {
		t.Errorf("stderr %q, log %q, tail %q", r.Stderr, kept, r.Tail)
	}
}

func TestLogCap(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	r := run(t, Spec{Shell: "echo start; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo the end", LogPath: log, LogLimit: 1000})
	got, err := os.ReadFile(log)
	if err != nil || !r.OK() {
		t.Fatal(err, r.Reason)
	}
	text := string(got)
	if !strings.HasPrefix(text, "start\nxxx") || !strings.HasSuffix(text, "the end\n") || len(got) > 2200 {
		t.Errorf("%d bytes: %.40q … %.40q", len(got), text, text[max(0, len(text)-40):])
	}
	if want := fmt.Sprintf("[foundry: cut here: %d bytes dropped]", r.Bytes-2000); !strings.Contains(text, want) {
		t.Errorf("no %q in the log", want)
	}
	if note := strings.Join(r.Notes, " "); !strings.Contains(note, "dropped") || len(r.Tail) < TailSize/2 || !strings.HasSuffix(r.Tail, "the end\n") {
		t.Errorf("notes %q, a tail of %d bytes", note, len(r.Tail))
	}
}

// fullDisk fails as a full disk does.
type fullDisk struct{}

func (fullDisk) Write(p []byte) (int, error) { return 0, syscall.ENOSPC }

func TestLogFailureIsSaid(t *testing.T) {
	t.Parallel()
	r := run(t, Spec{Shell: "head -c 300000 /dev/zero; echo done >&2", Log: fullDisk{}})
	if !errors.Is(r.LogErr, syscall.ENOSPC) || r.Exit != 0 || r.Bytes < 300000 {
		t.Errorf("log error %v, exit %d, %d bytes", r.LogErr, r.Exit, r.Bytes)
	}
}

func TestEnvironmentOfTheProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin := filepath.Join(dir, "mine")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\necho \"$PWD|$GIT_DIR|$X\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := Environ([]string{"PATH=" + dir + ":/usr/bin:/bin", "GIT_DIR=/elsewhere/.git", "X=1", "PWD=/nowhere"}, []string{"X=2"})
	r := run(t, Spec{Shell: "mine", Dir: dir, Env: env})
	if want := dir + "||2\n"; r.Tail != want {
		t.Errorf("got %q, want %q", r.Tail, want)
	}
}

func TestNoFilesAreLeftOpen(t *testing.T) {
	if !canList {
		t.Skip("needs /proc")
	}
	count := func() int { e, _ := os.ReadDir("/proc/self/fd"); return len(e) }
	run(t, Spec{Argv: []string{"true"}})
	before := count()
	for range 200 {
		run(t, Spec{Argv: []string{"true"}, Stdin: []byte("x"), Capture: 10})
		run(t, Spec{Argv: []string{"no-such-program-xyz"}, Stdin: []byte("x")})
	}
	if after := count(); after > before+2 { // other tests may hold some
		t.Errorf("%d files open before, %d after", before, after)
	}
}

func TestBusyProgramFile(t *testing.T) {
	t.Parallel()
	p := filepath.Join(t.TempDir(), "prog")
	src, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Skip("no /bin/true to copy")
	}
	f, err := os.OpenFile(p, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	f.Write(src)
	time.AfterFunc(50*time.Millisecond, func() { f.Close() })
	if r := run(t, Spec{Argv: []string{p}}); !r.OK() {
		t.Errorf("got %s: %v", r.Reason, r.Err)
	}
}

func TestGuardEndsAllWhenFoundryIsKilled(t *testing.T) {
	t.Parallel()
	if !canList {
		t.Skip("needs /proc to see the end")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), "PROCESS_TEST_CHILD=guarded")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var leader int
	if _, err := fmt.Fscanf(out, "leader %d\n", &leader); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Second); len(Survivors("run_test_guard")) < 3; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("only %d processes started", len(Survivors("run_test_guard")))
		}
	}
	all := Survivors("run_test_guard")
	c.Process.Kill()
	io.Copy(io.Discard, out)
	c.Wait()
	for end := time.Now().Add(2*guardGrace + closeTime); len(Survivors("run_test_guard")) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still there: %v of %v", Survivors("run_test_guard"), all)
		}
	}
}

// TestAbandoned: what a Foundry that died has left running is known by where it works, and only then.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	if !canList {
		t.Skip("needs /proc")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "in", "here")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "PROCESS_TEST_CHILD=abandons in "+dir)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	var leader int
	if err == nil {
		_, err = fmt.Fscanf(out, "leader %d\n", &leader)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer group{pgid: leader}.kill()
	if got := abandoned(top); len(got) > 0 {
		t.Errorf("of a Foundry that lives: %v", got)
	}
	c.Process.Kill()
	io.Copy(io.Discard, out)
	c.Wait()
	if got := abandoned(filepath.Join(top, "in")); !slices.Contains(got, leader) {
		t.Errorf("abandoned are %v, not %d", got, leader)
	}
	if got := abandoned(filepath.Join(top, "i")); len(got) > 0 {
		t.Errorf("beside the directory: %v", got)
	}
	if AwaitAbandoned(top, pollTime) {
		t.Error("nothing was waited for")
	}
	group{pgid: leader}.kill()
	if !AwaitAbandoned(top, 10*time.Second) {
		t.Errorf("still there: %v", abandoned(top))
	}
}

// TestAskedOnce: a program is asked to end once, in its group or out of it; many take a second signal for impatience.
func TestAskedOnce(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{os.Args[0], "setsid " + os.Args[0] + " & wait"} {
		ctx, cancel := context.WithCancel(context.Background())
		said := ""
		r := Run(ctx, Spec{Shell: shell, Env: Environ(os.Environ(), []string{"PROCESS_TEST_CHILD=counts"}), Grace: time.Minute, Observe: func(_ Stream, piece []byte) {
			said += string(piece)
			cancel()
		}})
		cancel()
		if said != "ready\nasked 1\n" || r.Reason != Cancelled {
			t.Errorf("%s: %q; %+v", shell, said, r)
		}
	}
}

// TestGuardGivesTheTerminalBack: a view that had the terminal when Foundry died cannot do it itself.
func TestGuardGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	for taken, want := range map[bool]string{true: "given back", false: ""} {
		terminal, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
		if err != nil {
			t.Fatal(err)
		}
		g := &Guard{Terminal: terminal}
		if err := errors.Join(g.Start(os.Args[0]), g.Screen(true), g.Screen(taken), g.Close()); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(terminal.Name())
		if err != nil || string(got) != want {
			t.Errorf("taken %t: %q is written, want %q (%v)", taken, got, want, err)
		}
		terminal.Close()
	}
}

func TestGuardClose(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g := &Guard{}
	if err := g.Add(1234567); err == nil {
		t.Error("a guard that was not started took a group")
	}
	if err := g.Start(self); err != nil {
		t.Fatal(err)
	}
	pid := g.Pid()
	if r := run(t, Spec{Argv: []string{"true"}, Guard: g}); !r.OK() || len(r.Notes) > 0 {
		t.Errorf("%s, notes %q", r.Reason, r.Notes)
	}
	begin := time.Now()
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begin); d > guardGrace {
		t.Errorf("closing took %s although no group was left", d)
	}
	if alive(pid) {
		t.Error("the guard is still there")
	}
	if err := g.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	p := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, p); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	unlock, err = Lock(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func BenchmarkDirect(b *testing.B) { benchRun(b, Spec{Argv: []string{"true"}}) }
func BenchmarkTrusted(b *testing.B) {
	benchRun(b, Spec{Argv: []string{"true"}, Trusted: true})
}
func BenchmarkShell(b *testing.B) { benchRun(b, Spec{Shell: "true; true"}) }
func BenchmarkFloor(b *testing.B) {
	for range b.N {
		exec.Command("true").Run()
	}
}

func benchRun(b *testing.B, s Spec) {
	s.Env = Environ(os.Environ())
	for range b.N {
		if r := Run(context.Background(), s); !r.OK() {
			b.Fatal(r.Reason, r.Err)
		}
	}
}

func BenchmarkThroughput(b *testing.B) {
	const n = 200 << 20
	b.SetBytes(n)
	dir := b.TempDir()
	for i := range b.N {
		r := Run(context.Background(), Spec{Shell: "yes 'ok  foundry/internal/process 0.012s' | head -c " + strconv.Itoa(n), LogPath: filepath.Join(dir, strconv.Itoa(i))})
		if r.Bytes != n {
			b.Fatal(r.Bytes, r.Reason)
		}
	}
}
