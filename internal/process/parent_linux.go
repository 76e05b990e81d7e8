package process

import "syscall"

// endWithParent has a program asked to end when Foundry dies, so that a git that was started for a moment does
// not go on writing beside the Foundry that comes after. It is bound to the thread that starts the program; the
// runtime keeps its threads, and nothing here ends one.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGTERM }
