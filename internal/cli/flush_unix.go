//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// flushInput throws away what was typed before a question stood on the screen.
func flushInput(in any) {
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		_ = unix.IoctlSetInt(int(f.Fd()), flushRequest, unix.TCIFLUSH)
	}
}
