package cli

import "golang.org/x/sys/unix"

const flushRequest = unix.TCFLSH
