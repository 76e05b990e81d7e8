//go:build !linux

package process

import "syscall"

// endWithParent does nothing: the system cannot be asked for it.
func endWithParent(*syscall.SysProcAttr) {}
