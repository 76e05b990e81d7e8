//go:build unix

package bench

import (
	"os"
	"runtime"
	"syscall"
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
