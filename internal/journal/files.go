package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"foundry/internal/atomicfile"
)

// WriteFile puts a file beside the log, on the disk before it returns, and gives the name by which an event is
// to name it: name itself, or one with a number when that is taken, for nothing in a record is ever overwritten.
// name is a slash path inside the record.
func (r *Record) WriteFile(name string, data []byte) (rel string, err error) {
	return r.write(name, data)
}

func (r *Record) write(name string, data []byte) (string, error) {
	rel, full, err := r.reserve(name)
	if err != nil {
		return "", err
	}
	if err := atomicfile.WriteSynced(full, r.mask.Bytes(data), 0o600); err != nil {
		return "", fmt.Errorf("write %s of %s: %w", rel, r.id, err)
	}
	return rel, nil
}

// LogPath makes an empty file for the output of a process, under another name when that is taken. name is a slash
// path inside the record, as logs/test.1.log; rel is for events, full for the process.
func (r *Record) LogPath(name string) (rel, full string, err error) {
	return r.reserve(name)
}

// Log is a file for the output of a process, which is made when there is something to write: a process that
// prints nothing leaves no file behind. One goroutine at a time may use it.
type Log struct {
	record    *Record
	name, rel string
	file      *os.File
}

// Log is a log of that name, or of one with a number when it is taken. name is as for LogPath.
func (r *Record) Log(name string) *Log { return &Log{record: r, name: name} }

// Write appends to the file.
func (l *Log) Write(p []byte) (n int, err error) {
	if l.file == nil {
		if l.rel, l.file, err = l.record.create(l.name); err != nil {
			return 0, err
		}
	}
	return l.file.Write(p)
}

// Close closes the file and returns its name for events, "" when nothing was written.
func (l *Log) Close() (rel string, err error) {
	if l.file == nil {
		return "", nil
	}
	return l.rel, l.file.Close()
}

// reserve creates an empty file of a free name, and the directories above it.
func (r *Record) reserve(name string) (rel, full string, err error) {
	rel, f, err := r.create(name)
	if err != nil {
		return "", "", err
	}
	return rel, f.Name(), f.Close()
}

// create creates a file of a free name, and the directories above it.
func (r *Record) create(name string) (rel string, f *os.File, err error) {
	if name != path.Clean(name) || !filepath.IsLocal(filepath.FromSlash(name)) || name == "." {
		return "", nil, fmt.Errorf("write into the record of %s: %q leads out of it", r.id, name)
	}
	if dir := path.Dir(name); dir != "." {
		if err := os.MkdirAll(filepath.Join(r.dir, filepath.FromSlash(dir)), 0o700); err != nil {
			return "", nil, fmt.Errorf("write %s of %s: %w", name, r.id, err)
		}
	}
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	rel = name
	for n := 2; ; n++ {
		f, err = os.OpenFile(filepath.Join(r.dir, filepath.FromSlash(rel)), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
		if err == nil {
			return rel, f, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", nil, fmt.Errorf("write %s of %s: %w", rel, r.id, err)
		}
		rel = stem + "-" + strconv.Itoa(n) + ext
	}
}
