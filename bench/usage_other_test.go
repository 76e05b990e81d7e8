//go:build !unix

package bench

import (
	"os"
	"time"
)

// peakMemory is not known on this system.
func peakMemory(*os.ProcessState) int64 { return 0 }

// processorTime is not known on this system.
func processorTime() (time.Duration, bool) { return 0, false }

// childrenTime is not known on this system.
func childrenTime() (time.Duration, bool) { return 0, false }
