package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"foundry/internal/atomicfile"
	"foundry/internal/filestat"
	"foundry/runner"
	"foundry/secret"
)

// flushDelay bounds how long an appended event may be without being on the disk.
const flushDelay = 100 * time.Millisecond

// Record is the open record of one run. It holds the record's lock until Close. Its methods may be called from
// several goroutines; events are in the log in the order in which Append was called.
type Record struct {
	id, dir string
	lock    *flock.Flock
	mask    *secret.Mask
	dirty   chan struct{} // holds one token while an append waits for its fsync
	closing chan struct{}
	flushed chan struct{} // closed when the flusher has ended

	mu      sync.Mutex
	file    *os.File
	events  []runner.Event
	outline runner.Outline
	size    int64     // how many bytes of the file are ours
	sum     hash.Hash // over them
	own     os.FileInfo
	stamp   stamp // of the file after our last write
	broken  error // a write or an fsync that failed: nothing can be relied on any more
	closed  bool
}

// stamp is what tells that a file was written to.
type stamp struct {
	written time.Time // a program can set it back
	changed int64
}

func stampOf(info os.FileInfo) stamp { return stamp{info.ModTime(), filestat.Changed(info)} }

func (s stamp) is(t stamp) bool { return s.written.Equal(t.written) && s.changed == t.changed }

func newRecord(dir, id string, lock *flock.Flock, file *os.File, data []byte, events []runner.Event) (*Record, error) {
	r := &Record{
		id: id, dir: dir, lock: lock, file: file, events: events,
		outline: runner.OutlineOf(id, events),
		size:    int64(len(data)), sum: sha256.New(),
		dirty: make(chan struct{}, 1), closing: make(chan struct{}), flushed: make(chan struct{}),
	}
	r.sum.Write(data)
	if err := r.restamp(); err != nil {
		return nil, errors.Join(err, file.Close(), lock.Unlock())
	}
	go r.flush()
	return r, nil
}

// ID is the run's id.
func (r *Record) ID() string { return r.id }

// Dir is the record's directory.
func (r *Record) Dir() string { return r.dir }

// Hide has everything that is written into the record from now on masked: events, decisions excepted, which follow from
// events that are, and files. It is to be called before anything else uses the record.
func (r *Record) Hide(m *secret.Mask) { r.mask = m }

// Mask is what Hide was called with; nil masks nothing.
func (r *Record) Mask() *secret.Mask { return r.mask }

// Events are the events of the log. The slice is shared and must not be written to; later appends do not
// change what it holds.
func (r *Record) Events() []runner.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events[:len(r.events):len(r.events)]
}

// Outline is the run as the log has it now.
func (r *Record) Outline() runner.Outline {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outline
}

// Append writes events to the log in one write, a line each, and stamps their Seq in the slice it is given. When it
// returns nil, all of them are in the file, and the events in memory are what a reader will read: bytes that are
// no UTF-8 were replaced in both, and secrets masked (see Hide). They reach the disk within 100 ms, or with Sync. After an error the events up to
// the failed one are in the log, and no part of that one is. An error other than ErrForeign is final.
func (r *Record) Append(events ...runner.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.usable(); err != nil || len(events) == 0 {
		return err
	}
	var lines bytes.Buffer
	ends := make([]int, len(events)) // of their lines
	for i := range events {
		if err := r.line(&lines, &events[i], len(r.events)+1+i); err != nil {
			return err
		}
		ends[i] = lines.Len()
	}
	if err := r.foreign(false); err != nil {
		return err
	}
	n, failed := r.file.Write(lines.Bytes())
	if failed == nil && n < lines.Len() {
		failed = io.ErrShortWrite
	}
	whole := 0 // events of which nothing is missing
	for whole < len(ends) && ends[whole] <= n {
		whole++
	}
	if failed != nil {
		failed = r.cutBack(&events[min(whole, len(events)-1)], ends[:whole], n, failed)
	}
	return errors.Join(failed, r.written(events[:whole], lines.Bytes()[:end(ends[:whole])]))
}

// end is where the last of some lines ends.
func end(ends []int) int {
	if len(ends) == 0 {
		return 0
	}
	return ends[len(ends)-1]
}

// line adds an event's line to the lines that are to be written, and makes the event what a reader will read.
func (r *Record) line(lines *bytes.Buffer, e *runner.Event, seq int) error {
	e.Seq = seq
	if r.mask != nil && !e.Decision() {
		*e = e.Rewrite(r.mask.Text)
	}
	from := lines.Len()
	if err := encode(lines, e); err != nil {
		return err
	}
	if line := lines.Bytes()[from:]; bytes.Contains(line, []byte(`\ufffd`)) {
		*e = runner.Event{}
		if err := json.Unmarshal(line, e); err != nil {
			return fmt.Errorf("read back event %d of %s: %w", seq, r.id, err)
		}
	}
	return nil
}

// written takes in events that are in the file.
func (r *Record) written(events []runner.Event, lines []byte) error {
	if len(events) == 0 {
		return nil
	}
	r.size += int64(len(lines))
	r.sum.Write(lines)
	if err := r.restamp(); err != nil {
		r.broken = errors.Join(r.broken, err)
		return err
	}
	save := false
	if len(r.events)+len(events) > cap(r.events) { // by more than append would: an event is large, and a run has thousands
		r.events = slices.Grow(r.events, len(r.events)+len(events))
	}
	for i := range events {
		e := &events[i]
		r.events = append(r.events, *e)
		r.outline.Add(e)
		switch e.Kind {
		case runner.RunStarted, runner.RunInterrupted, runner.RunKilled, runner.RunEnded, runner.RunSettled,
			runner.RunMerged, runner.RunDiscarded, runner.AskRaised:
			save = true
		}
	}
	select {
	case r.dirty <- struct{}{}:
	default:
	}
	if save {
		r.saveCache()
	}
	return nil
}

func (r *Record) usable() error {
	if r.closed {
		return fmt.Errorf("append to the log of %s: the record is closed", r.id)
	}
	return r.broken
}

// cutBack removes the part of a line that a full disk let through, so that the log still ends at a whole event. n bytes
// were written, of which those up to the last end are whole lines; e is the event that is not there.
func (r *Record) cutBack(e *runner.Event, ends []int, n int, err error) error {
	r.broken = fmt.Errorf("write event %d (%s) to the log of %s: %w", e.Seq, e.Kind, r.id, err)
	if whole := end(ends); n > whole {
		if err := r.file.Truncate(r.size + int64(whole)); err != nil {
			r.broken = errors.Join(r.broken, fmt.Errorf("take back the part that was written: %w", err))
		}
	}
	return r.broken
}

// restamp notes the file's times after a write of ours.
func (r *Record) restamp() error {
	info, err := r.file.Stat()
	if err != nil {
		return fmt.Errorf("look at the log of %s: %w", r.id, err)
	}
	r.own, r.stamp = info, stampOf(info)
	return nil
}

// foreign returns ErrForeign when the log is not what this record wrote. The whole content is compared when
// asked for, or when the file's times say that it was written to; else its identity and its length.
func (r *Record) foreign(whole bool) error {
	info, err := os.Lstat(filepath.Join(r.dir, logName))
	if err != nil {
		return r.meddled("it cannot be found: %v", err)
	}
	if !os.SameFile(info, r.own) {
		return r.meddled("it was replaced by another file")
	}
	if info.Size() != r.size {
		return r.meddled("it has %d bytes, foundry wrote %d", info.Size(), r.size)
	}
	if !whole && stampOf(info).is(r.stamp) {
		return nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(r.file, 0, r.size)); err != nil {
		return fmt.Errorf("read back the log of %s: %w", r.id, err)
	}
	if !bytes.Equal(sum.Sum(nil), r.sum.Sum(nil)) {
		return r.meddled("it was changed in place")
	}
	r.stamp = stampOf(info)
	return nil
}

func (r *Record) meddled(format string, args ...any) error {
	return failf(ErrForeign, "something other than foundry wrote to the log of %s: "+format, append([]any{r.id}, args...)...)
}

// Sync puts all that was appended on the disk and compares the whole log with what was written to it. It is to
// be called before anything that is seen from outside, and after each turn that was paid for.
func (r *Record) Sync() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.usable(); err != nil {
		return err
	}
	if err := r.foreign(true); err != nil {
		return err
	}
	return r.sync()
}

// sync is fatal for the record when it fails: the kernel may have dropped what it could not write.
func (r *Record) sync() error {
	if err := r.file.Sync(); err != nil {
		r.broken = fmt.Errorf("put the log of %s on the disk: %w", r.id, err)
		return r.broken
	}
	select {
	case <-r.dirty:
	default:
	}
	return nil
}

// flush is the record's own goroutine: it puts each append on the disk within flushDelay. A failure is told by
// the next Append, Sync or Close.
func (r *Record) flush() {
	defer close(r.flushed)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-r.closing:
			return
		case <-r.dirty:
		}
		timer.Reset(flushDelay)
		select {
		case <-r.closing:
			return // Close syncs
		case <-timer.C:
		}
		if err := r.file.Sync(); err != nil { // not under the lock: an append need not wait for the disk
			r.mu.Lock()
			r.broken = errors.Join(r.broken, fmt.Errorf("put the log of %s on the disk: %w", r.id, err))
			r.mu.Unlock()
		}
	}
}

// SetAside is the way on after ErrForeign: the log as it was found is kept beside the log under the name that is
// returned, and the log is written anew with the events of this record, so that the end of the run can be
// appended to it.
func (r *Record) SetAside() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.usable(); err != nil {
		return "", err
	}
	var lines bytes.Buffer
	for i := range r.events {
		if err := encode(&lines, &r.events[i]); err != nil {
			return "", err
		}
	}
	path := filepath.Join(r.dir, logName)
	kept := ""
	if found, err := os.ReadFile(path); err == nil {
		if kept, err = r.write("events.foreign.jsonl", found); err != nil {
			return "", err
		}
	}
	data := lines.Bytes()
	if err := atomicfile.WriteSynced(path, data, 0o600); err != nil {
		return "", fmt.Errorf("write the log of %s anew: %w", r.id, err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return "", fmt.Errorf("open the log of %s anew: %w", r.id, err)
	}
	r.stopFlush()
	_ = r.file.Close() // the file that was set aside: nothing of it is needed any more
	r.file, r.size = file, int64(len(data))
	r.sum.Reset()
	r.sum.Write(data)
	r.closing, r.flushed = make(chan struct{}), make(chan struct{})
	if err := r.restamp(); err != nil {
		r.broken = err
	}
	go r.flush()
	return kept, r.broken
}

// stopFlush ends the flusher and waits for it; the mutex is held, which the flusher may need.
func (r *Record) stopFlush() {
	close(r.closing)
	r.mu.Unlock()
	<-r.flushed
	r.mu.Lock()
}

// Close puts the log on the disk, brings run.json up to date and gives the lock back. The error is that of an
// append or an fsync that was not told yet. A second Close does nothing.
func (r *Record) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	r.stopFlush()
	err := r.broken
	if err == nil {
		err = r.sync()
	}
	r.saveCache()
	return errors.Join(err, r.file.Close(), r.lock.Unlock())
}
