package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"foundry/glob"
)

// This file takes away what agents have left in the handoff area of a checkout. That of a run's worktree goes with the
// worktree.

// SweepHandoff removes what nothing has touched since a time, entry by entry: a directory goes when all that is in it is
// that old. It returns the names of what went. Nothing is followed through links.
func (r *Repo) SweepHandoff(untouched time.Time) (gone []string, err error) {
	dir := filepath.Join(r.root, glob.Handoff)
	if st, err := os.Lstat(dir); err != nil || !st.IsDir() {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the handoff area: %w", err)
	}
	var errs []error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		newest, err := newestIn(path)
		if err == nil && newest.After(untouched) {
			continue
		}
		if err == nil {
			err = os.RemoveAll(path)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("remove old scratch: %w", err))
			continue
		}
		gone = append(gone, e.Name())
	}
	return gone, errors.Join(errs...)
}

// newestIn is when anything at or below a path was last written.
func newestIn(path string) (newest time.Time, err error) {
	err = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		return err
	})
	return newest, err
}
