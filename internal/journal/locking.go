package journal

import (
	"errors"
	"fmt"
	"os"

	"github.com/gofrs/flock"
)

// ErrNoLocks says that a file system lets two processes have the same lock: two could then carry out one run.
var ErrNoLocks = errors.New("locks on files do not keep two processes apart here")

// TryLocks tries, on a file that is there, what the records of runs rely on: a lock that one process has is refused to
// another. It writes nothing. A file system on which that cannot be tried without writing passes.
func TryLocks(path string) error {
	one, other := flock.New(path, flock.SetFlag(os.O_RDONLY)), flock.New(path, flock.SetFlag(os.O_RDONLY))
	got, err := one.TryRLock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	if !got {
		return nil // another process has it
	}
	defer one.Unlock()
	if got, err = other.TryLock(); err == nil && got {
		return errors.Join(ErrNoLocks, other.Unlock())
	}
	return nil
}
