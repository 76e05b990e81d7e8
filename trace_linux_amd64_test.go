package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file watches a program from outside, as a debugger does, and kills it at a chosen moment. Nothing in the program
// knows of it: the moments are its own system calls, and those of every git that it calls, that change something
// below one directory, and the starts of its other programs. So a kill can fall before each of them, whoever wrote
// the code that makes it, and in the middle of each write. A filter of the kernel picks these calls out, and all
// others cost nothing. What the program has started inherits the filter, so it stays watched to its end.

// moment is one effect: the what-th of its kind to be about to happen.
type moment struct {
	what string // who, the system call, and the path below the directory
	nth  int    // from 1
	torn bool   // half of the write has been done
}

// anything as what counts effects of all kinds.
const anything = "anything"

func (m moment) String() string {
	text := fmt.Sprintf("before %s", m.what)
	if m.torn {
		text = fmt.Sprintf("in the middle of %s", m.what)
	}
	if m.nth > 1 {
		text += fmt.Sprintf(" (%d)", m.nth)
	}
	return text
}

// git says whether it is git that is about to have the effect.
func (m moment) git() bool { return strings.HasPrefix(m.what, "git ") }

// effect is a moment that was seen.
type effect struct {
	moment
	bytes int  // of a write
	void  bool // the call failed: nothing happened
}

// watched is how a watched program ended.
type watched struct {
	exit    int // -1 when it was killed
	effects []effect
}

// watch runs a command under observation. It is killed at a moment when one is given, together with the git that
// is at work when all is set, as when a whole container is stopped. Output goes where cmd says, which must be files.
func watch(cmd *exec.Cmd, below string, at *moment, all bool) (watched, error) {
	w := &watcher{below: below, at: at, all: all, ended: make(chan error, 1), threads: map[int]*thread{}, seen: map[string]int{}}
	go func() {
		runtime.LockOSThread() // the tracer is a thread; it ends with this function, when all that it watches is gone
		w.tell(w.run(cmd))
	}()
	err := <-w.ended
	return w.watched, err
}

// thread is one thread that is watched.
type thread struct {
	tgid   int
	who    string // "foundry", or the git command; "" for what may do as it likes
	effect int    // index of the one that is under way, -1 for none
}

type watcher struct {
	watched
	below   string
	at      *moment
	all     bool
	main    int
	dead    bool       // it was killed, or has ended
	ended   chan error // told once
	told    bool
	threads map[int]*thread
	seen    map[string]int
}

const traceOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK |
	unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_EXITKILL

func (w *watcher) tell(err error) {
	if !w.told {
		w.told = true
		w.ended <- err
	}
}

func (w *watcher) run(cmd *exec.Cmd) error {
	filter, err := exec.LookPath(filterVerb)
	if err != nil {
		return err
	}
	cmd.Path, cmd.Args = filter, append([]string{filter}, cmd.Args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.main = cmd.Process.Pid
	defer cmd.Process.Release()
	var ws unix.WaitStatus
	if _, err := unix.Wait4(w.main, &ws, 0, nil); err != nil {
		return err
	}
	if !ws.Stopped() {
		return fmt.Errorf("it did not stop where it began: %v", ws)
	}
	if err := unix.PtraceSetOptions(w.main, traceOptions); err != nil {
		return err
	}
	w.threads[w.main] = &thread{tgid: w.main, effect: -1}
	w.goOn(w.main, 0)
	for {
		tid, err := w.next(&ws)
		switch {
		case err != nil: // nothing is left to be watched
			return fmt.Errorf("%s: %w", cmd.Args[1], err)
		case ws.Stopped():
			w.stopped(tid, ws)
		default:
			delete(w.threads, tid)
			if tid == w.main {
				w.dead = true
				w.exit = ws.ExitStatus() // -1 when a signal ended it
				w.tell(nil)
			}
		}
	}
}

// next waits for something that is watched to stop or to end. This thread may have children that others have started
// on it and wait for: those are left to them.
func (w *watcher) next(ws *unix.WaitStatus) (int, error) {
	for {
		var info struct {
			_   [4]int32
			pid int32
			_   [107]byte
		}
		err := unix.Waitid(unix.P_ALL, 0, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		}
		tid := int(info.pid)
		if w.threads[tid] == nil && statusOf(tid, "TracerPid") != unix.Gettid() {
			time.Sleep(time.Millisecond) // until its own waiter has it
			continue
		}
		tid, err = unix.Wait4(tid, ws, unix.WALL|unix.WNOTHREAD, nil)
		if err == nil {
			return tid, nil
		}
	}
}

// stopped looks why a thread stopped and lets it go on.
func (w *watcher) stopped(tid int, ws unix.WaitStatus) {
	t := w.threads[tid]
	if t == nil { // the first stop of a thread or a process that one of ours has started
		t = &thread{tgid: statusOf(tid, "Tgid"), effect: -1}
		if leader := w.threads[t.tgid]; leader != nil {
			t.who = leader.who
		}
		w.threads[tid] = t
		w.goOn(tid, 0)
		return
	}
	switch sig := ws.StopSignal(); {
	case sig == unix.SIGTRAP|0x80: // the end of a call
		w.result(tid, t)
		w.goOn(tid, 0)
	case sig == unix.SIGTRAP && ws.TrapCause() == unix.PTRACE_EVENT_SECCOMP && t.who != "" && !w.dead:
		w.call(tid, t)
	case sig == unix.SIGTRAP && ws.TrapCause() == unix.PTRACE_EVENT_EXEC:
		if w.threads[tid] = t; tid == w.main {
			t.who = "foundry"
		} else if t.who = gitCommand(tid); t.who == "" && !w.dead && w.comes(effect{moment: moment{what: "foundry start " + program(tid)}}) {
			w.kill()
		}
		w.goOn(tid, 0)
	case sig == unix.SIGTRAP && ws.TrapCause() > 0, sig == unix.SIGSTOP:
		w.goOn(tid, 0)
	default:
		w.goOn(tid, int(sig))
	}
}

// goOn lets a thread run to its next stop. One that has been killed meanwhile cannot: its death is reported by itself.
func (w *watcher) goOn(tid, sig int) { _ = unix.PtraceCont(tid, sig) }

// comes counts an effect that is about to happen, and says whether it is the one.
func (w *watcher) comes(e effect) bool {
	w.seen[e.what]++
	e.nth = w.seen[e.what]
	w.effects = append(w.effects, e)
	return w.at != nil && (w.at.what == e.what && w.at.nth == e.nth || w.at.what == anything && w.at.nth == len(w.effects))
}

func (w *watcher) kill() {
	w.dead = true
	unix.Kill(w.main, unix.SIGKILL)
	if !w.all {
		return
	}
	for _, t := range w.threads {
		if t.tgid != w.main && t.who != "" {
			unix.Kill(t.tgid, unix.SIGKILL)
		}
	}
}

// callInfo is the kernel's struct ptrace_syscall_info.
type callInfo struct {
	op     uint8
	_      [3]uint8
	arch   uint32
	ip, sp uint64
	nr     uint64 // the result at the end of the call
	args   [6]uint64
	_      [8]uint8
}

func callOf(tid int) (callInfo, bool) {
	var info callInfo
	_, _, no := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	return info, no == 0
}

// call looks at a call that is about to be made.
func (w *watcher) call(tid int, t *thread) {
	info, ok := callOf(tid)
	name, path, size := w.changes(tid, info)
	if !ok || name == "" {
		w.goOn(tid, 0)
		return
	}
	e := effect{moment: moment{what: t.who + " " + name + " " + w.place(path)}, bytes: size}
	if name == "append" {
		e.what = t.who + " append " + eventKind(tid, info)
	}
	t.effect = len(w.effects)
	if !w.comes(e) {
		_ = unix.PtraceSyscall(tid, 0) // up to its end
		return
	}
	if w.at.torn {
		tear(tid, info)
	}
	w.kill()
	w.goOn(tid, 0) // what was killed never makes the call; a git that was not is told of the end in its own way
}

// result looks at how a call ended.
func (w *watcher) result(tid int, t *thread) {
	if info, ok := callOf(tid); ok && t.effect >= 0 && int64(info.nr) < 0 {
		w.effects[t.effect].void = true
	}
	t.effect = -1
}

// filterVerb is the name under which this binary puts itself under the filter and becomes another program.
const filterVerb = "crash-filter"

// watchPrograms are the programs that watching needs.
func watchPrograms() map[string]func() { return map[string]func(){filterVerb: underFilter} }

// underFilter is that program: its arguments are the words of the other one.
func underFilter() {
	runtime.LockOSThread()
	path, err := exec.LookPath(os.Args[1])
	if err == nil {
		err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if err == nil {
		program := filterProgram()
		_, _, no := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})))
		if err = syscall.Exec(path, os.Args[1:], os.Environ()); no != 0 {
			err = no
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(125)
}

// filterProgram stops the calls that changes knows, and among those that open a file the ones that may make it.
func filterProgram() []unix.SockFilter {
	var out []unix.SockFilter
	load := func(at uint32) {
		out = append(out, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at})
	}
	is := func(nr int, otherwise uint8) {
		out = append(out, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(nr), Jf: otherwise})
	}
	answer := func(what uint32) {
		out = append(out, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what})
	}
	load(0)
	for _, nr := range []int{unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_FTRUNCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FCHMOD,
		unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINK, unix.SYS_LINKAT, unix.SYS_SYMLINK, unix.SYS_SYMLINKAT, unix.SYS_MKDIR, unix.SYS_MKDIRAT,
		unix.SYS_RMDIR, unix.SYS_UNLINK, unix.SYS_UNLINKAT, unix.SYS_CHMOD, unix.SYS_FCHMODAT, unix.SYS_UTIMENSAT} {
		is(nr, 1)
		answer(unix.SECCOMP_RET_TRACE)
	}
	for nr, flags := range map[int]uint32{unix.SYS_OPEN: 1, unix.SYS_OPENAT: 2} {
		is(nr, 4)
		load(16 + 8*flags) // the argument with the flags
		out = append(out, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.O_CREAT | unix.O_TRUNC, Jf: 1})
		answer(unix.SECCOMP_RET_TRACE)
		answer(unix.SECCOMP_RET_ALLOW)
	}
	answer(unix.SECCOMP_RET_ALLOW)
	return out
}

// changes says what a call would change: a verb and a path below the directory, both empty for nothing.
func (w *watcher) changes(tid int, c callInfo) (name, path string, size int) {
	a := c.args
	at := func(name string, dir, text int) (string, string, int) { return name, pathAt(tid, a[dir], a[text]), 0 }
	here := func(name string, text int) (string, string, int) { return name, pathAt(tid, cwd, a[text]), 0 }
	switch c.nr {
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV:
		name, path, size = "write", opened(tid, a[0]), int(a[2])
		if filepath.Base(path) == "events.jsonl" {
			name = "append"
		}
	case unix.SYS_FTRUNCATE:
		name, path = "truncate", opened(tid, a[0])
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		name, path = "sync", opened(tid, a[0])
	case unix.SYS_FCHMOD:
		name, path = "chmod", opened(tid, a[0])
	case unix.SYS_OPEN:
		if a[1]&(unix.O_CREAT|unix.O_TRUNC) != 0 {
			name, path, _ = here("create", 0)
		}
	case unix.SYS_OPENAT:
		if a[2]&(unix.O_CREAT|unix.O_TRUNC) != 0 {
			name, path, _ = at("create", 0, 1)
		}
	case unix.SYS_RENAME:
		name, path, _ = here("rename to", 1)
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		name, path, _ = at("rename to", 2, 3)
	case unix.SYS_LINK:
		name, path, _ = here("link", 1)
	case unix.SYS_LINKAT:
		name, path, _ = at("link", 2, 3)
	case unix.SYS_SYMLINK:
		name, path, _ = here("symlink", 1)
	case unix.SYS_SYMLINKAT:
		name, path, _ = at("symlink", 1, 2)
	case unix.SYS_MKDIR:
		name, path, _ = here("mkdir", 0)
	case unix.SYS_MKDIRAT:
		name, path, _ = at("mkdir", 0, 1)
	case unix.SYS_RMDIR:
		name, path, _ = here("remove", 0)
	case unix.SYS_UNLINK:
		name, path, _ = here("remove", 0)
	case unix.SYS_UNLINKAT:
		name, path, _ = at("remove", 0, 1)
	case unix.SYS_CHMOD:
		name, path, _ = here("chmod", 0)
	case unix.SYS_FCHMODAT:
		name, path, _ = at("chmod", 0, 1)
	case unix.SYS_UTIMENSAT:
		name, path, _ = at("set the time of", 0, 1)
	}
	if name == "" || !strings.HasPrefix(path, w.below+"/") {
		return "", "", 0
	}
	return name, path, size
}

// tear does the first half of a write, as a kill in its middle would leave it.
func tear(tid int, c callInfo) {
	half := make([]byte, c.args[2]/2)
	readMemory(tid, c.args[1], half)
	fd := fmt.Sprintf("/proc/%d/fd/%d", tid, c.args[0])
	f, err := os.OpenFile(fd, os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	var at int64
	info, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", tid, c.args[0]))
	var flags int
	fmt.Sscanf(string(info), "pos:\t%d\nflags:\t%o", &at, &flags)
	if st, err := f.Stat(); err == nil && flags&os.O_APPEND != 0 {
		at = st.Size()
	}
	if c.nr == unix.SYS_PWRITE64 {
		at = int64(c.args[3])
	}
	if _, err := f.WriteAt(half, at); err != nil {
		panic(err)
	}
}

const cwd = ^uint64(99) // AT_FDCWD

// pathAt resolves a path argument.
func pathAt(tid int, dir, text uint64) string {
	buf := make([]byte, 4096)
	n := readMemory(tid, text, buf)
	name, _, _ := bytes.Cut(buf[:n], []byte{0})
	path := string(name)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	if int32(dir) == unix.AT_FDCWD {
		base, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", tid))
		return filepath.Join(base, path)
	}
	return filepath.Join(opened(tid, dir), path)
}

func opened(tid int, fd uint64) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, int32(fd)))
	return path
}

// readMemory reads as much as can be read at an address of another process.
func readMemory(tid int, at uint64, into []byte) int {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", tid))
	if err != nil {
		return 0
	}
	defer f.Close()
	n, _ := f.ReadAt(into, int64(at)) // less at the end of what is mapped
	return n
}

var kindOf = regexp.MustCompile(`"kind":"([a-z_.]+)"`)

// eventKind says which event a write to the log would append.
func eventKind(tid int, c callInfo) string {
	line := make([]byte, min(c.args[2], 300))
	readMemory(tid, c.args[1], line)
	if m := kindOf.FindSubmatch(line); m != nil {
		return string(m[1])
	}
	return "?"
}

// statusOf is a number in the status of a thread, 0 when there is none.
func statusOf(tid int, name string) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	_, rest, _ := strings.Cut(string(status), "\n"+name+":\t")
	n := 0
	fmt.Sscanf(rest, "%d", &n)
	return n
}

func cmdline(tid int) []string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", tid))
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// gitCommand is "git" and its command, "" for another program.
func gitCommand(tid int) string {
	words := cmdline(tid)
	if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", tid)); filepath.Base(exe) != "git" {
		return ""
	}
	for i := 1; i < len(words); i++ {
		if words[i] == "-c" {
			i++
		} else if !strings.HasPrefix(words[i], "-") {
			return "git " + words[i]
		}
	}
	return "git"
}

// program names what a process runs, by its last word that is a path.
func program(tid int) string {
	name := ""
	for _, word := range cmdline(tid) {
		if !strings.ContainsAny(word, " \n") {
			name = filepath.Base(word)
		}
	}
	return name
}

var (
	aRun    = regexp.MustCompile(`run_\d{6}_[0-9a-f]{6}`)
	anID    = regexp.MustCompile(`objects/[0-9a-f]{2}(/[0-9a-f]{38})?`)
	aNumber = regexp.MustCompile(`(\.tmp-|\.foundry-tmp-|tmp_obj_)([0-9]+\b|[0-9A-Za-z]{6}\b)`)
)

// place is a path as it is the same in each run.
func (w *watcher) place(path string) string {
	rel := strings.TrimPrefix(path, w.below+"/")
	rel = aRun.ReplaceAllString(rel, "RUN")
	rel = anID.ReplaceAllString(rel, "objects/…")
	return aNumber.ReplaceAllString(rel, "${1}…")
}
