// Package journal owns the record of a run: one directory that holds its events, one a line, and the files
// that they name. The log is the only truth; run.json is a cache of it. Whoever writes a record holds its lock,
// and a run is alive exactly as long as that lock is held: no pid is ever consulted.
package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"foundry/internal/atomicfile"
	"foundry/runner"
)

// The files of a record.
const (
	logName   = "events.jsonl"
	lockName  = "lock"
	cacheName = "run.json"
)

// Failures that a caller tells apart with errors.Is. The errors that carry them are sentences of their own.
var (
	ErrLive    = errors.New("the run is live")
	ErrExists  = errors.New("the run exists already")
	ErrUnknown = errors.New("no such run")
	ErrForeign = errors.New("foreign bytes in the log")
)

// failure is a sentence for people that errors.Is finds to be one of the failures above.
type failure struct {
	text string
	is   error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.is }

func failf(is error, format string, args ...any) error {
	return &failure{fmt.Sprintf(format, args...), is}
}

// Store is the directory of all records of one repository. The zero Store is not usable; see At.
type Store struct{ dir string }

// At is the store of the repository whose top directory is root. Nothing is created before the first record.
func At(root string) Store { return Store{filepath.Join(root, ".foundry", "runs")} }

// Dir is the directory of one record, whether it exists or not.
func (s Store) Dir(id string) string { return filepath.Join(s.dir, id) }

// File is the path of a file beside the log, by the name that an event gives it.
func (s Store) File(id, rel string) string { return filepath.Join(s.dir, id, filepath.FromSlash(rel)) }

// NewID makes the id of a run: the day, and six hexadecimal digits from random.
func NewID(now time.Time, random io.Reader) string {
	var b [3]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		panic("BUG: the source of randomness ended: " + err.Error())
	}
	return fmt.Sprintf("run_%s_%x", now.Format("060102"), b)
}

// validID says whether a name can be a run's: it is a directory name, so it must not be able to lead elsewhere.
func validID(id string) bool {
	rest, ok := strings.CutPrefix(id, "run_")
	if !ok || rest == "" || len(id) > 100 {
		return false
	}
	for _, c := range []byte(rest) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// Create makes the record of a new run and takes its lock. It returns ErrExists when the id is taken.
func (s Store) Create(id string) (*Record, error) {
	if !validID(id) {
		return nil, fmt.Errorf("create the record of a run: %q is no run id", id)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of run records: %w", err)
	}
	dir := s.Dir(id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, failf(ErrExists, "create the record of %s: it exists already", id)
		}
		return nil, fmt.Errorf("create the record of %s: %w", id, err)
	}
	lock, err := takeLock(dir, id)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, logName), os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create the log of %s: %w", id, err), lock.Unlock())
	}
	if err := errors.Join(atomicfile.SyncDir(dir), atomicfile.SyncDir(s.dir)); err != nil {
		return nil, errors.Join(fmt.Errorf("create the record of %s: %w", id, err), file.Close(), lock.Unlock())
	}
	return newRecord(dir, id, lock, file, nil, nil)
}

// Open takes the lock of a run's record to write on. A torn last line, which only a crash in the middle of a
// write leaves, is cut off; any other damage is a *DamageError and leaves the file as it is. It returns ErrLive
// when another process holds the lock and ErrUnknown when there is no such run.
func (s Store) Open(id string) (*Record, error) {
	if err := s.known(id); err != nil {
		return nil, err
	}
	dir := s.Dir(id)
	lock, err := takeLock(dir, id)
	if err != nil {
		return nil, err
	}
	r, err := openLog(dir, id, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return r, nil
}

func openLog(dir, id string, lock *flock.Flock) (*Record, error) {
	file, err := os.OpenFile(filepath.Join(dir, logName), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", id, err)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the log of %s: %w", id, err), file.Close())
	}
	events, good, err := parse(data)
	if err != nil {
		return nil, errors.Join(damaged(dir, err), file.Close())
	}
	sweepTemporary(dir)
	if good < len(data) {
		if err := file.Truncate(int64(good)); err != nil {
			return nil, errors.Join(fmt.Errorf("cut the torn last line of %s: %w", id, err), file.Close())
		}
		data = data[:good]
	}
	if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) { // all of the line was written but its end
		if _, err := file.Write([]byte("\n")); err != nil {
			return nil, errors.Join(fmt.Errorf("end the last line of %s: %w", id, err), file.Close())
		}
		data = append(data, '\n')
	}
	return newRecord(dir, id, lock, file, data, events)
}

// sweepTemporary removes what a process that was killed has left half written in a record: nothing names it.
func sweepTemporary(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "sessions" {
			return fs.SkipDir // the agents' own
		}
		if err == nil && atomicfile.IsTemporary(d) {
			_ = os.Remove(path) // it is in nobody's way
		}
		return nil
	})
}

// Read is the log of a run as far as it is written, without its lock and without changing anything; a torn
// last line is left out.
func (s Store) Read(id string) ([]runner.Event, error) {
	if err := s.known(id); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(s.Dir(id), logName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the run died before its first event
	}
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", id, err)
	}
	events, _, err := parse(data)
	if err != nil {
		return nil, damaged(s.Dir(id), err)
	}
	return events, nil
}

// Live says whether a process holds the lock of the run's record.
func (s Store) Live(id string) bool {
	if !validID(id) {
		return false
	}
	path := filepath.Join(s.Dir(id), lockName)
	if _, err := os.Lstat(path); err != nil {
		return false
	}
	lock := flock.New(path)
	free, err := lock.TryRLock()
	if free {
		_ = lock.Unlock() // the descriptor is closed whatever the call says
	}
	return err == nil && !free
}

func (s Store) known(id string) error {
	if validID(id) {
		if info, err := os.Stat(s.Dir(id)); err == nil && info.IsDir() {
			return nil
		}
	}
	return unknown(id)
}

func unknown(arg string) error {
	return failf(ErrUnknown, "no run is called %q; `foundry runs` lists them", arg)
}

// ids are the ids of all records, sorted.
func (s Store) ids() ([]string, error) {
	names, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the run records: %w", err)
	}
	var ids []string
	for _, n := range names {
		if n.IsDir() && validID(n.Name()) {
			ids = append(ids, n.Name())
		}
	}
	sort.Strings(ids)
	return ids, nil
}

// lockWait bounds how long takeLock waits. Live takes the lock for a moment to find out whether it is free, and must not
// make an Open fail that falls into that moment. A process that was killed while it started another still holds the
// lock until that one has become a program of its own, which takes a while on a busy machine.
const lockWait = 500 * time.Millisecond

func takeLock(dir, id string) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(dir, lockName))
	deadline := time.Now().Add(lockWait)
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		got, err := lock.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lock the record of %s: %w", id, err)
		}
		if got {
			return lock, nil
		}
		if time.Now().After(deadline) {
			return nil, failf(ErrLive, "run %s is live: another foundry process holds its record", id)
		}
		time.Sleep(wait)
	}
}
