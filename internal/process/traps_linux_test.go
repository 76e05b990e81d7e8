package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Traps of processes that only a system with /proc lets one set up: an end in the same moment as a limit, orphans
// that are adopted, and a table of open files that is full.

// plays are what the test binary can do in a process of its own.
func plays() map[string]func() {
	return map[string]func(){"loud": loud, "orphans": orphans, "starved": starved, "raw": raw}
}

// playing runs the test binary as a process of its own that does one thing, under another program if one is given, and
// returns what it said.
func playing(t *testing.T, what string, under ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := append(under, self)
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "PROCESS_TEST_CHILD="+what)
	said, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return string(said)
}

// TestWhoEndedIt has the program end by itself before anybody looks, and only then the limit or the cancelling. It
// passed, whatever came at the same moment.
func TestWhoEndedIt(t *testing.T) {
	t.Parallel()
	dead := func(pid int) {
		for !zombie(pid) { // nobody takes its status before Started has returned
			time.Sleep(time.Millisecond)
		}
	}
	for _, code := range []int{0, 3} {
		s := Spec{Shell: fmt.Sprintf("exit %d", code), Timeout: 100 * time.Millisecond}
		s.Started = func(pid int) { dead(pid); time.Sleep(s.Timeout) }
		if r := run(t, s); r.Reason != Exited || r.Exit != code {
			t.Errorf("just before its limit: %s, exit %d, want exit %d", r.Reason, r.Exit, code)
		}
		ctx, cancel := context.WithCancel(context.Background())
		s.Timeout, s.Started = 0, func(pid int) { dead(pid); cancel() }
		if r := Run(ctx, s); r.Reason != Exited || r.Exit != code {
			t.Errorf("just before it was cancelled: %s, exit %d, want exit %d", r.Reason, r.Exit, code)
		}
	}
	// Limit and cancelling together: one of the two, never a success.
	ctx, cancel := context.WithCancel(context.Background())
	r := Run(ctx, Spec{Shell: `trap "exit 0" TERM; while :; do sleep 0.01; done`, Timeout: time.Millisecond, Started: func(int) { cancel() }})
	if r.Reason != TimedOut && r.Reason != Cancelled {
		t.Errorf("limit and cancelling: %s, exit %d", r.Reason, r.Exit)
	}
}

// TestOrphansAreReaped is about a Foundry that is the parent of what its children leave behind, since it asked for
// that or since it is the first process of a container: no zombie stays, and no exit code is lost to the reaper.
func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, said string) {
		if said != "wrong 0, zombies 0\n" {
			t.Errorf("it said %q", said)
		}
	}
	t.Run("adopted", func(t *testing.T) {
		t.Parallel()
		check(t, playing(t, "orphans"))
	})
	t.Run("process 1", func(t *testing.T) {
		t.Parallel()
		space := []string{"unshare", "--pid", "--fork", "--mount-proc"}
		if out, err := exec.Command(space[0], append(space[1:], "true")...).CombinedOutput(); err != nil {
			t.Skipf("no process may be the first one here: %v %s", err, out)
		}
		check(t, playing(t, "orphans", space...))
	})
}

// orphans runs programs that leave children behind, and counts lost exit codes and zombies.
func orphans() {
	stop, err := AdoptOrphans()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	var mu sync.Mutex
	var all sync.WaitGroup
	wrong := 0
	for worker := range 4 {
		all.Go(func() {
			for n := range 5 {
				code := 10*worker + n
				r := Run(context.Background(), Spec{Shell: fmt.Sprintf(
					`for i in 1 2 3; do (setsid sh -c "sleep 0.0$i" >/dev/null 2>&1 &); (sh -c "sleep 0.0$i" >/dev/null 2>&1 &); done; exit %d`, code)})
				mu.Lock()
				if r.Reason != Exited || r.Exit != code {
					wrong++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	zombies := -1
	for end := time.Now().Add(10 * reapTime); zombies != 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		zombies = 0
		for _, pid := range pids() {
			if s, ok := readStat(pid); ok && s.ppid == os.Getpid() && s.state == 'Z' {
				zombies++
			}
		}
	}
	fmt.Printf("wrong %d, zombies %d\n", wrong, zombies)
}

// TestNoFileCanBeOpened is about a machine that has no room for another pipe: that is nobody's work to repair, it is
// said, and the next program starts once there is room.
func TestNoFileCanBeOpened(t *testing.T) {
	t.Parallel()
	if said := playing(t, "starved"); said != "not started: cannot start \"true\": pipe2: too many open files\nexited\n" {
		t.Errorf("it said %q", said)
	}
}

func starved() {
	run := func() Result { return Run(context.Background(), Spec{Argv: []string{"true"}}) }
	run() // opens what stays open
	held, err := os.Open("/dev/null")
	if err != nil {
		fmt.Println(err)
		return
	}
	full := unix.Rlimit{Cur: uint64(held.Fd()) + 1, Max: uint64(held.Fd()) + 64}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &full); err != nil {
		fmt.Println(err)
		return
	}
	r := run()
	var se *StartError
	if errors.As(r.Err, &se) && se.Failure == NoResources {
		fmt.Printf("%s: %s\n", r.Reason, strings.TrimSpace(se.Error()))
	} else {
		fmt.Printf("%s: %v\n", r.Reason, r.Err)
	}
	full.Cur = full.Max
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &full); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run().Reason)
}

// TestMemoryIsBounded has a process of its own run programs that print far more than it may ever hold.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the race detector, with which the short form runs, takes memory of its own")
	}
	said := playing(t, "loud")
	var peak int
	if _, err := fmt.Sscanf(said, "peak %d kB", &peak); err != nil {
		t.Fatalf("it said %q", said)
	}
	if peak > 60<<10 {
		t.Errorf("it held up to %d MB", peak>>10)
	}
}

// loud runs programs that print 64 MB each and says the most memory that this process ever had.
func loud() {
	const size = 64 << 20
	line := strings.Repeat("ok  \tfoundry/internal/process\t0.012s\n", 1<<13)
	for name, unit := range map[string]string{
		"lines":    line,
		"solid":    strings.Repeat("x", 1<<16),
		"frames":   strings.Repeat("\rfetch 200000/200000 [####]", 1<<12),
		"binary":   string(bytes.Repeat([]byte{0, 1, 0xff, 0xfe}, 1<<14)),
		"captured": line,
	} {
		f, err := os.Create(name)
		for n := 0; n < size && err == nil; n += len(unit) {
			_, err = f.WriteString(unit)
		}
		if err == nil {
			_, err = f.WriteString("\nthe end\n")
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			fmt.Println("error", err)
			return
		}
		s := Spec{Argv: []string{"cat", name}, LogPath: name + ".log", LogLimit: 1 << 20}
		if name == "captured" {
			s.Capture = 8 << 20
		}
		r := Run(context.Background(), s)
		if !r.OK() || r.Bytes < size || !strings.HasSuffix(r.Tail, "\nthe end\n") || name == "captured" && len(r.Stdout) != 8<<20 {
			fmt.Printf("%s: %s, %d bytes, the tail ends in %q\n", name, r.Reason, r.Bytes, r.Tail[max(0, len(r.Tail)-20):])
			return
		}
		os.Remove(name)
	}
	status := string(slurp("/proc/self/status", nil))
	_, peak, _ := strings.Cut(status, "VmHWM:")
	peak, _, _ = strings.Cut(strings.TrimSpace(peak), "\n")
	fmt.Println("peak", peak)
}

// TestTerminalStaysAsItIs gives a process a terminal and has it run a program that would make the terminal raw and is
// killed then. The program has none to change.
func TestTerminalStaysAsItIs(t *testing.T) {
	t.Parallel()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminal can be made: ", err)
	}
	defer outer.Close()
	fd := int(outer.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminal can be made: ", err)
	}
	defer inner.Close()
	before, err := unix.IoctlGetTermios(int(inner.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), "PROCESS_TEST_CHILD=raw")
	c.Stdin = inner
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	said, err := c.Output()
	if err != nil || string(said) != "a terminal of its own: true\ntimed out, it had one: false\n" {
		t.Errorf("it said %q, %v", said, err)
	}
	after, err := unix.IoctlGetTermios(int(inner.Fd()), unix.TCGETS)
	if err != nil || *after != *before {
		t.Errorf("the terminal was %+v and is %+v, %v", before, after, err)
	}
}

func raw() {
	f, err := os.Open("/dev/tty")
	fmt.Println("a terminal of its own:", err == nil)
	f.Close()
	const text = `stty raw -echo </dev/tty && echo yes; stty raw -echo; printf "\033[?1049h\033[?25l" >/dev/tty && echo yes; sleep 60; true`
	r := Run(context.Background(), Spec{Shell: text, Timeout: 300 * time.Millisecond, Grace: time.Millisecond})
	fmt.Printf("%s, it had one: %t\n", r.Reason, strings.Contains(r.Tail, "yes"))
}
