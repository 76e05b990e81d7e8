package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Remove deletes the record of a run that is not live: it takes the lock first, and moves the directory out of the
// list before anything in it goes. It returns ErrLive when a process holds the lock and ErrUnknown when there is no
// such run.
func (s Store) Remove(id string) error {
	if err := s.known(id); err != nil {
		return err
	}
	dir := s.Dir(id)
	lock, err := takeLock(dir, id)
	if err != nil {
		return err
	}
	gone := filepath.Join(s.dir, ".removed-"+id)
	err = os.RemoveAll(gone) // what a removal that was cut off has left
	if err == nil {
		err = os.Rename(dir, gone)
	}
	if err == nil {
		err = os.RemoveAll(gone)
	}
	if err = errors.Join(err, lock.Unlock()); err != nil {
		return fmt.Errorf("remove the record of %s: %w", id, err)
	}
	return nil
}
