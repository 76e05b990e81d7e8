//go:build linux || darwin

package journal

import (
	"os/signal"
	"syscall"
	"testing"
)

func limitFiles(t *testing.T, bytes uint64) {
	signal.Ignore(syscall.SIGXFSZ)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
}
