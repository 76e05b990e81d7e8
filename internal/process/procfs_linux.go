package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Linux tells about other processes in /proc: which are in a group, which are dead but not reaped, and which
// carry a variable in their environment, however far they moved from where they were started.

// canList says whether processes can be listed on this system.
const canList = true

// stat is what is read of /proc/PID/stat.
type stat struct {
	pid, ppid, pgid, sid int
	state                byte
	start                uint64 // clock ticks after boot
	name                 string
}

// slurp reads a file of /proc as far as that can be done. It makes the system calls itself: the os package first
// asks whether such a file can be waited for, which takes longer than to read it. buf is used when it is large
// enough.
func slurp(path string, buf []byte) []byte {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	b := buf[:0]
	for {
		b = slices.Grow(b, 512)
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil, n == 0:
			return b
		default:
			b = b[:len(b)+n]
		}
	}
}

// readStat reads the facts about a process; ok is false when there is none with this pid.
func readStat(pid int) (s stat, ok bool) {
	b := slurp("/proc/"+strconv.Itoa(pid)+"/stat", make([]byte, 0, 1024))
	// The name stands in parentheses and may itself hold spaces and parentheses.
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return s, false
	}
	f := strings.Fields(string(b[end+1:]))
	if len(f) < 20 {
		return s, false
	}
	s.pid, s.name, s.state = pid, string(b[open+1:end]), f[0][0]
	s.ppid, _ = strconv.Atoi(f[1])
	s.pgid, _ = strconv.Atoi(f[2])
	s.sid, _ = strconv.Atoi(f[3])
	start, err := strconv.ParseUint(f[19], 10, 64)
	s.start = start
	return s, err == nil
}

// newest is the pid that was given last on this system, to a process or a thread; 0 when that is not known.
func newest() int {
	f, err := loadavg()
	if err != nil {
		return 0
	}
	b := make([]byte, 512)
	n, err := unix.Pread(int(f.Fd()), b, 0)
	if err != nil {
		return 0
	}
	b = b[:n]
	pid, _ := strconv.Atoi(string(bytes.TrimSpace(b[bytes.LastIndexByte(b, ' ')+1:])))
	return pid
}

// loadavg is opened once: each reading of it is made anew.
var loadavg = sync.OnceValues(func() (*os.File, error) { return os.Open("/proc/loadavg") })

// pids returns all processes that can be seen.
func pids() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	out := make([]int, 0, len(names))
	for _, n := range names {
		if n[0] < '0' || n[0] > '9' {
			continue
		}
		if pid, err := strconv.Atoi(n); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// inGroup returns the living members of a group, and reaps dead ones that were given to this process.
func inGroup(pgid int) (members []int) {
	self := os.Getpid()
	for _, pid := range pids() {
		s, ok := readStat(pid)
		if !ok || s.pgid != pgid {
			continue
		}
		if s.state == 'Z' || s.state == 'X' {
			if s.ppid == self && pid != pgid {
				reap(pid)
			}
			continue
		}
		members = append(members, pid)
	}
	return members
}

// zombie reports whether a process has ended but was not reaped.
func zombie(pid int) bool {
	s, ok := readStat(pid)
	return ok && s.state == 'Z'
}

// withToken returns the living processes whose environment at their start had NAME=VALUE. Foundry itself is
// never among them.
func withToken(name, value string) []int { return carriers(pids(), name, value) }

// carriers returns those of the given processes that withToken would return.
func carriers(pids []int, name, value string) []int {
	return withEntry(pids, name+"=", func(pid int, v string) bool { return v == value && leads(pid) })
}

// leads reports whether a number is that of a process, and not that of another of its threads: those are not listed
// in /proc, but can be looked up there.
func leads(pid int) bool {
	b := slurp("/proc/"+strconv.Itoa(pid)+"/status", make([]byte, 0, 2048))
	_, rest, ok := bytes.Cut(b, []byte("\nTgid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return ok && string(bytes.TrimSpace(line)) == strconv.Itoa(pid)
}

// The kernel gives pids out in order, and begins again behind the last one. None gives out pidRate of them in a
// second, so that for some time after a process was started it is sure that all that were started since have the
// numbers that follow its own.
const pidRate = 1_000_000

// startedSince returns the numbers of all processes that were started since a process was, which was not before begin,
// without the leaders of programs. Some may be those of threads, or of processes that are gone. It returns every process
// when it cannot tell, or when asking what processes there are takes no longer than looking for so many.
func startedSince(pid int, begin time.Time) []int {
	last := newest()
	if last < pid || last-pid > mostLooked || time.Since(begin) > time.Duration(maxPid())*time.Second/pidRate {
		return pids()
	}
	out := make([]int, 0, last-pid)
	for p := pid + 1; p <= last; p++ {
		out = append(out, p)
	}
	return withoutLeaders(out, begin)
}

// maxPid is how many pids the kernel gives out before it begins again; 0 when that is not known.
var maxPid = sync.OnceValue(func() int {
	n, _ := strconv.Atoi(string(bytes.TrimSpace(slurp("/proc/sys/kernel/pid_max", nil))))
	return n
})

// abandoned returns the living processes in a directory, or below it, that carry the token of a Foundry process that
// has died. A pid says something only among processes that share their numbering.
func abandoned(dir string) []int {
	const space = "/proc/%d/ns/pid"
	ours, err := os.Readlink(fmt.Sprintf(space, os.Getpid()))
	if err != nil {
		return nil
	}
	return withEntry(pids(), ownToken+"=", func(pid int, token string) bool {
		var owner, start uint64
		if n, _ := fmt.Sscanf(token, "%d.%d.", &owner, &start); n != 2 || start == 0 {
			return false
		}
		if now, ok := readStat(int(owner)); ok && now.start == start && now.state != 'Z' && now.state != 'X' {
			return false
		}
		theirs, err := os.Readlink(fmt.Sprintf(space, pid))
		if err != nil || theirs != ours {
			return false
		}
		in, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		return err == nil && (in == dir || strings.HasPrefix(in, strings.TrimSuffix(dir, "/")+"/"))
	})
}

// withEntry returns those of the given processes that are alive and whose environment at their start had an entry that
// begins with the prefix and of whose rest want says yes. Foundry itself is never among them.
func withEntry(pids []int, prefix string, want func(pid int, rest string) bool) (found []int) {
	if len(pids) == 0 {
		return nil
	}
	self := os.Getpid()
	buf := make([]byte, 0, 16<<10)
	for _, pid := range pids {
		if pid == self || pid == 1 {
			continue
		}
		// One that belongs to another user, or is gone, has nil here.
		env := slurp("/proc/"+strconv.Itoa(pid)+"/environ", buf)
		for until := time.Now().Add(execTime); env != nil && len(env) == 0 && inExec(pid) && time.Now().Before(until); {
			time.Sleep(pollTime)
			env = slurp("/proc/"+strconv.Itoa(pid)+"/environ", buf)
		}
		if rest, ok := entryOf(env, prefix); ok && want(pid, rest) {
			found = append(found, pid)
		}
	}
	return found
}

// execTime is how long a process is waited for whose environment cannot be read since it is becoming another
// program. It takes that long only when it is not given the processor.
const execTime = time.Second

// inExec reports whether a process has thrown away the memory of one program and not set up that of the next: its
// environment then seems empty.
func inExec(pid int) bool {
	b := slurp("/proc/"+strconv.Itoa(pid)+"/stat", make([]byte, 0, 1024))
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 49 || f[0] == "Z" || f[0] == "X" {
		return false
	}
	const kernelThread = 0x200000 // PF_KTHREAD: it has no memory of its own at all
	flags, err := strconv.ParseUint(f[6], 10, 64)
	return err == nil && flags&kernelThread == 0 && f[47] == "0" // env_start
}

// entryOf finds the entry of an environment that begins with the prefix and returns what follows it.
func entryOf(environ []byte, prefix string) (rest string, ok bool) {
	for at := 0; ; {
		i := bytes.Index(environ[at:], []byte(prefix))
		if i < 0 {
			return "", false
		}
		if i += at; i == 0 || environ[i-1] == 0 {
			value, _, _ := bytes.Cut(environ[i+len(prefix):], []byte{0})
			return string(value), true
		}
		at = i + 1
	}
}

// describe names a process for a person.
func describe(pid int) string {
	if s, ok := readStat(pid); ok {
		return fmt.Sprintf("%s (pid %d)", s.name, pid)
	}
	return fmt.Sprintf("pid %d", pid)
}

// reap takes the status of a dead process that was given to this one. A process started by this package is
// never touched: its status belongs to whoever waits for it.
func reap(pid int) {
	owned.Lock()
	defer owned.Unlock()
	if owned.pids[pid] {
		return
	}
	unix.Wait4(pid, nil, unix.WNOHANG, nil)
}

// startTime is when a process was started, in clock ticks after boot: with the pid it names a process for good, as long as
// the machine runs. It is 0 when the process is gone.
func startTime(pid int) uint64 {
	s, _ := readStat(pid)
	return s.start
}

// now is the time as startTime counts it; 0 when it is not known.
func now() uint64 {
	const perSecond = 100 // clock ticks, as the kernel tells them to programs
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return uint64(t.Nano()) / (uint64(time.Second) / perSecond)
}
