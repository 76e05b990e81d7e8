//go:build !linux

package process

import "os"

// widen does nothing: only Linux can change what a pipe holds.
func widen(*os.File) {}

// newPipe makes a pipe between Foundry and a program; write says that Foundry writes.
func newPipe(write bool) (ours, theirs *os.File, err error) {
	ours, theirs, err = os.Pipe()
	if write {
		return theirs, ours, err
	}
	return ours, theirs, err
}

// awaitEnd returns at once: who waits for the child's status waits in a thread.
func awaitEnd(int) {}
