package process

import (
	"context"
	"fmt"
	"os"
	"time"
)

// Lock takes a lock between processes on a file, which is made when it is missing and is never removed. The
// system gives the lock up when this process ends, however it ends. Lock waits until it has it or ctx ends.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	for wait := pollTime; ; wait = min(2*wait, 200*time.Millisecond) {
		got, err := lockFile(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if got {
			return func() { f.Close() }, nil
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			f.Close()
			return nil, fmt.Errorf("lock %s: another process has it: %w", path, context.Cause(ctx))
		}
	}
}
