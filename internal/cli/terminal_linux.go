package cli

import "golang.org/x/sys/unix"

const (
	flushRequest = unix.TCFLSH
	getModes     = unix.TCGETS
	setModes     = unix.TCSETS
)
