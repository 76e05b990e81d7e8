//go:build unix

package bench

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// peakMemory is the largest resident size, in bytes, that a program or one of its children had.
func peakMemory(s *os.ProcessState) int64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}

// processorTime is what this process has had of the processors so far, its collector of garbage included.
func processorTime() (time.Duration, bool) { return used(syscall.RUSAGE_SELF) }

// childrenTime is what the programs that it started, and that have ended, have had.
func childrenTime() (time.Duration, bool) { return used(syscall.RUSAGE_CHILDREN) }

func used(who int) (time.Duration, bool) {
	var usage syscall.Rusage
	if syscall.Getrusage(who, &usage) != nil {
		return 0, false
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), true
}
