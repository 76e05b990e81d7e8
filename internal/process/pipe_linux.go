package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// widePipe is what a pipe holds that much output comes through, in bytes: a program and its reader take turns less
// often. The system bounds what all pipes of a user hold together, so no pipe is wide from the start.
const widePipe = 512 << 10

// widen makes a pipe hold more. When the system does not allow it, the pipe stays as it is.
func widen(f *os.File) {
	if c, err := f.SyscallConn(); err == nil { // Fd would make the pipe a blocking one, which Close does not end
		c.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, widePipe) })
	}
}

// newPipe makes a pipe between Foundry and a program; write says that Foundry writes. Only Foundry's end is made so that
// it can be waited for without a thread: the program's would have to be made as it was before it is handed on.
func newPipe(write bool) (ours, theirs *os.File, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	mine, other := ends[0], ends[1]
	if write {
		mine, other = other, mine
	}
	if err := unix.SetNonblock(mine, true); err != nil {
		unix.Close(mine)
		unix.Close(other)
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(mine), "|"), os.NewFile(uintptr(other), "|"), nil
}

// awaitEnd returns when a child of this process has ended, or cannot be waited for in this way. Unlike a wait for its
// status it needs no thread meanwhile. Nobody else may take the child's status before.
func awaitEnd(pid int) {
	if ended, err := hasEnded(unix.P_PID, pid); ended || err != nil {
		return
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return // a kernel older than 5.10
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	c, err := f.SyscallConn()
	if err != nil {
		return
	}
	c.Read(func(fd uintptr) bool {
		ended, err := hasEnded(unix.P_PIDFD, int(fd))
		return ended || err != nil
	})
}

// hasEnded reports whether a child has ended, or any with P_ALL, without taking its status.
func hasEnded(kind, id int) (bool, error) {
	var info unix.Siginfo
	err := unix.Waitid(kind, id, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
	if err == unix.EAGAIN || err == unix.EINTR {
		return false, nil
	}
	return info.Signo != 0, err
}
