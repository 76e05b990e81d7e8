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
