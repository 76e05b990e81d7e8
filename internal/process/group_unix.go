//go:build unix

package process

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// On Unix a program is the leader of a session and of a process group of its own: it has no terminal to read
// from or to be stopped by, and one signal reaches all that stay in the group.

const shellPath = "/bin/sh"

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// group is a process group, named by its leader.
type group struct{ pgid int }

func newGroup(p *os.Process) group { return group{pgid: p.Pid} }

// terminate asks the group to end. A stopped process must go on to see it.
func (g group) terminate() {
	unix.Kill(-g.pgid, unix.SIGTERM)
	unix.Kill(-g.pgid, unix.SIGCONT)
}

func (g group) kill() { unix.Kill(-g.pgid, unix.SIGKILL) }

// empty reports whether nothing of the group is alive. Dead members that nobody has reaped do not count.
func (g group) empty() bool {
	err := unix.Kill(-g.pgid, 0)
	if errors.Is(err, unix.ESRCH) {
		return true
	}
	if errors.Is(err, unix.EPERM) && !canList {
		return true // Darwin says so of a group of zombies
	}
	return canList && len(g.members()) == 0
}

// has reports whether a process is in the group.
func (g group) has(pid int) bool {
	of, err := unix.Getpgid(pid)
	return err == nil && of == g.pgid
}

// members returns the living processes of the group.
func (g group) members() []int { return inGroup(g.pgid) }

// End sends the processes TERM, or KILL. Processes that are gone are no error.
func End(pids []int, kill bool) {
	for _, pid := range pids {
		if pid <= 1 || pid == os.Getpid() {
			continue
		}
		if kill {
			unix.Kill(pid, unix.SIGKILL)
			continue
		}
		unix.Kill(pid, unix.SIGTERM)
		unix.Kill(pid, unix.SIGCONT)
	}
}

// reaped reports whether there is no process of this number, not even a dead one.
func reaped(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

func signalName(st *os.ProcessState) string {
	ws, ok := st.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return ""
	}
	return ws.Signal().String()
}

func textBusy(err error) bool    { return errors.Is(err, syscall.ETXTBSY) }
func notAProgram(err error) bool { return errors.Is(err, syscall.ENOEXEC) }

func outOfResources(err error) bool {
	for _, no := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// find looks a program up as execvp would, in the PATH that the program itself will have.
func find(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil // relative to dir, as the system resolves it
	}
	list, ok := Lookup(env, "PATH")
	if !ok {
		list = "/usr/local/bin:/usr/bin:/bin"
	}
	denied := false
	for _, d := range filepath.SplitList(list) {
		p := filepath.Join(d, name)
		at := p
		if !filepath.IsAbs(p) {
			if d == "" {
				p = "./" + name
			}
			at = filepath.Join(dir, p)
		}
		st, err := os.Stat(at)
		if err != nil || st.IsDir() {
			continue
		}
		if unix.Access(at, unix.X_OK) != nil {
			denied = true
			continue
		}
		return p, nil
	}
	if denied {
		return "", &exec.Error{Name: name, Err: fs.ErrPermission}
	}
	return "", &exec.Error{Name: name, Err: fs.ErrNotExist}
}

// rootDir is a directory that can neither go away nor keep a file system busy.
func rootDir() string { return "/" }

// ignoreTerminal makes a process outlive the signals that end a foreground job.
func ignoreTerminal() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
}

func (g group) close() {}

// awaitClose waits until nobody has the other end of a pipe any more, at most for d.
func awaitClose(f *os.File, d time.Duration) {
	unix.Poll([]unix.PollFd{{Fd: int32(f.Fd())}}, int(d.Milliseconds())) // a signal only makes it shorter
}

// lockFile tries once to lock a file against other processes; false without an error means that one has it.
func lockFile(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
