// Package atomicfile puts a file in its place in one step: whoever reads sees the old file or the whole new one, also when
// the writer was killed in between. What such a writer leaves is a file beside it, which IsTemporary knows.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// temporary begins the names of files that are not whole yet.
const temporary = ".foundry-tmp-"

// IsTemporary says whether a file is one that is being written, or that a killed writer has left.
func IsTemporary(e fs.DirEntry) bool {
	return e.Type().IsRegular() && strings.HasPrefix(e.Name(), temporary)
}

// Write puts data at path, in a directory that is there, with exactly the permissions perm. A symbolic link at path is
// replaced, not followed. On an error path is as it was, and nothing is left beside it.
func Write(path string, data []byte, perm fs.FileMode) error {
	return write(path, temporary+"*", data, perm, false)
}

// WriteSynced is Write, and on the disk before it returns: what is at path then outlives a crash of the system.
func WriteSynced(path string, data []byte, perm fs.FileMode) error {
	if err := write(path, temporary+"*", data, perm, true); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// WriteAmong is Write in a directory whose owner removes files that somebody has left under a name of pattern, as of
// os.CreateTemp.
func WriteAmong(pattern, path string, data []byte, perm fs.FileMode) error {
	return write(path, pattern, data, perm, false)
}

func write(path, pattern string, data []byte, perm fs.FileMode, sync bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), pattern) // beside it, so that it is on the same file system
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// SyncDir puts the entries of a directory on the disk: files that were made in it are found there after a crash of
// the system.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, fs.ErrPermission) {
		err = nil // a system that cannot sync directories keeps their order by itself
	}
	return errors.Join(err, d.Close())
}
