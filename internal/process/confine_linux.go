package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// leastLandlock is the version of Landlock without which files could still be cut to nothing.
const leastLandlock = 3

// CanConfine says why this system cannot confine programs; nil when it can.
func CanConfine() error {
	version, err := landlocksys.LandlockGetABIVersion()
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return errors.New("this kernel has Landlock switched off")
	case err != nil:
		return fmt.Errorf("this kernel has no Landlock, or something forbids its use: %w", err)
	case version < leastLandlock:
		return fmt.Errorf("this kernel has version %d of Landlock, and %d is needed (Linux 6.2)", version, leastLandlock)
	}
	return nil
}

// confineSelf gives up the right to write anything but these paths, for this process and all that come of it. That
// takes effect as a whole or not at all.
func confineSelf(paths []string) error {
	var dirs, files []string
	for _, p := range paths {
		// What is granted is what was found here, whatever becomes of the path meanwhile.
		fd, err := unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EACCES) {
			continue
		}
		if err != nil {
			return fmt.Errorf("open %s: %w", p, err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return fmt.Errorf("look at %s: %w", p, err)
		}
		at := fmt.Sprintf("/proc/self/fd/%d", fd)
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			dirs = append(dirs, at)
		} else {
			files = append(files, at)
		}
	}
	return landlock.V3.RestrictPaths(landlock.RODirs("/"), landlock.RWDirs(dirs...).WithRefer(), landlock.RWFiles(files...))
}

// become executes the program in place of this one. It returns only with an error.
func become(path string, argv []string) error {
	unix.CloseOnExec(answerFD)
	return syscall.Exec(path, argv, os.Environ())
}
