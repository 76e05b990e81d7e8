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
	"unsafe"

	"golang.org/x/sys/windows"
)

// On Windows a program and all it starts are in a job object. The job ends with its last handle, which is
// Foundry's, so nothing outlives Foundry there and the guard has nothing to do.

// shellPath is found in the PATH: Windows has no sh of its own, the one that comes with git serves.
const shellPath = "sh"

func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}

// group is a job object with one program and its descendants.
type group struct {
	pgid int
	job  windows.Handle
}

// newGroup puts a process that has just started into a job. Without a job the process alone is ended.
func newGroup(p *os.Process) group {
	g := group{pgid: p.Pid}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return g
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err == nil {
		var h windows.Handle
		if h, err = windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.Pid)); err == nil {
			err = windows.AssignProcessToJobObject(job, h)
			windows.CloseHandle(h)
		}
	}
	if err != nil {
		windows.CloseHandle(job)
		return g
	}
	g.job = job
	return g
}

// has reports whether a process is in the group. Nothing asks on a system where processes cannot be listed.
func (g group) has(pid int) bool { return pid == g.pgid }

// terminate asks the group to end, as ctrl-break does.
func (g group) terminate() {
	windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.pgid))
}

func (g group) kill() {
	if g.job != 0 {
		windows.TerminateJobObject(g.job, 1)
		return
	}
	if p, err := os.FindProcess(g.pgid); err == nil {
		p.Kill()
	}
}

// empty reports whether nothing of the job is alive.
func (g group) empty() bool {
	if g.job == 0 {
		return true
	}
	var info struct {
		user, kernel, periodUser, periodKernel int64
		faults, total, active, terminated      uint32
	}
	const basicAccounting = 1
	err := windows.QueryInformationJobObject(g.job, basicAccounting, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err != nil || info.active == 0
}

func (g group) members() []int { return nil }

// close gives the job up.
func (g group) close() {
	if g.job != 0 {
		windows.CloseHandle(g.job)
	}
}

// End ends the processes. There is no way to ask a single process, so both forms are final.
func End(pids []int, _ bool) {
	for _, pid := range pids {
		if p, err := os.FindProcess(pid); err == nil {
			p.Kill()
		}
	}
}

func signalName(*os.ProcessState) string { return "" }

func textBusy(err error) bool    { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }
func notAProgram(err error) bool { return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) }

func outOfResources(err error) bool {
	return errors.Is(err, windows.ERROR_TOO_MANY_OPEN_FILES) || errors.Is(err, windows.ERROR_NOT_ENOUGH_MEMORY)
}

// find looks a program up with the extensions that Windows tries.
func find(name, dir string, _ []string) (string, error) {
	if strings.ContainsAny(name, `/\`) && !filepath.IsAbs(name) && dir != "" {
		name = filepath.Join(dir, name)
	}
	p, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) {
		return "", &exec.Error{Name: name, Err: fs.ErrNotExist}
	}
	return p, err
}

func rootDir() string { return os.TempDir() }

func ignoreTerminal() { signal.Ignore(os.Interrupt) }

// lockFile tries once to lock a file against other processes; false without an error means that one has it.
func lockFile(f *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// awaitClose does not wait: the end of a pipe cannot be waited for without reading it.
func awaitClose(*os.File, time.Duration) {}

// reaped reports nothing: a number is free only when the last handle is closed.
func reaped(int) bool { return false }
