//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import "golang.org/x/sys/unix"

const (
	flushRequest = unix.TIOCFLUSH
	getModes     = unix.TIOCGETA
	setModes     = unix.TIOCSETA
)
