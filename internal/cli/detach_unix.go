//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// background puts a process into a session of its own, so that the terminal's end is not its end.
func background(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
