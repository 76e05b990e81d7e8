package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// This file turns the events of the file system into hints. Directories are watched, never files: a watch on a file
// ends with the first editor that saves by renaming. A directory is watched before it is listed.

const (
	queue     = 4096            // events that are taken from the kernel before they are looked at
	trialTime = 2 * time.Second // within which a file that is written for trial must be noticed
)

// blind says why events cannot be had for the whole tree, and what would help.
type blind struct{ why string }

func (b *blind) Error() string { return b.why }

// events is the source that the file system feeds.
type events struct {
	t *tree

	mu      sync.Mutex // over w, watched and closed
	w       *fsnotify.Watcher
	watched map[string]bool
	closed  bool

	lost     chan struct{} // something may have been lost
	draining sync.WaitGroup
}

// openEvents watches every directory of the tree, and takes the first look at its files on the way.
func openEvents(ctx context.Context, t *tree, probe string) (*events, error) {
	w, err := newWatcher()
	if err != nil {
		return nil, err
	}
	e := &events{t: t, w: w, watched: map[string]bool{}, lost: make(chan struct{}, 1)}
	if err := try(ctx, w, probe); err != nil {
		w.Close()
		return nil, err
	}
	e.draining.Go(func() { e.drain(w) })
	if err := t.load(ctx, e.add); err != nil {
		e.close()
		return nil, e.explain(ctx, err)
	}
	return e, nil
}

func newWatcher() (*fsnotify.Watcher, error) {
	w, err := fsnotify.NewBufferedWatcher(queue)
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return nil, &blind{"no more watchers may be made: " + instanceLimit()}
	case err != nil:
		return nil, &blind{"events cannot be had: " + err.Error()}
	}
	return w, nil
}

// try writes a file and waits for the event.
func try(ctx context.Context, w *fsnotify.Watcher, dir string) error {
	if dir == "" {
		return nil
	}
	if err := w.Add(dir); err != nil {
		return limit(err)
	}
	defer w.Remove(dir)
	f, err := os.CreateTemp(dir, ".watch-*")
	if err != nil {
		return nil // a directory that may not be written says nothing about events
	}
	f.Close()
	defer os.Remove(f.Name())
	timer := time.NewTimer(trialTime)
	defer timer.Stop()
	select {
	case <-w.Events:
		return nil
	case err := <-w.Errors:
		return &blind{"events cannot be had: " + err.Error()}
	case <-timer.C:
		return &blind{"this file system does not tell of changes: one was made and not seen"}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// add watches one directory, unless it is watched already.
func (e *events) add(rel string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.watched[rel] || e.closed {
		return nil
	}
	if err := e.w.Add(e.t.abs(rel)); err != nil {
		if rel != "" && (gone(err) || errors.Is(err, fs.ErrPermission)) {
			return nil
		}
		return limit(err)
	}
	e.watched[rel] = true
	return nil
}

// errLimit stands for the limit of watches until the directories are counted.
var errLimit = errors.New("the limit of watches is reached")

func limit(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return errLimit
	}
	return &blind{"a directory cannot be watched: " + err.Error()}
}

// explain counts what would be needed when the limit of watches is reached.
func (e *events) explain(ctx context.Context, err error) error {
	if !errors.Is(err, errLimit) {
		return err
	}
	n := 0
	if err := e.t.directories(ctx, "", func(string) error { n++; return nil }); err != nil {
		return err
	}
	return &blind{"not every directory may be watched: " + watchLimit(n)}
}

// next waits for an event and takes all that have come with it.
func (e *events) next(ctx context.Context) (hints []string, all bool, err error) {
	e.mu.Lock()
	w := e.w
	e.mu.Unlock()
	select {
	case ev, ok := <-w.Events:
		if !ok {
			return nil, false, e.ended(w)
		}
		if hints, err = e.hint(ctx, hints, ev); err != nil {
			return nil, false, err
		}
	case <-e.lost:
		return nil, true, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	for range queue {
		select {
		case ev, ok := <-w.Events:
			if !ok {
				return hints, false, nil
			}
			if hints, err = e.hint(ctx, hints, ev); err != nil {
				return hints, false, err
			}
			continue
		default:
		}
		break
	}
	return hints, false, nil
}

// drain takes the errors of a watcher as they come. The library holds its lock until somebody has taken one; whoever adds
// or removes a directory meanwhile would wait for ever if he were the one to take it. Whatever an error is, something may
// have been lost.
func (e *events) drain(w *fsnotify.Watcher) {
	for range w.Errors {
		select {
		case e.lost <- struct{}{}:
		default: // that is known already
		}
	}
}

// ended: the events of a watcher end when another one took its place, and when all is over.
func (e *events) ended(w *fsnotify.Watcher) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.w != w && !e.closed {
		return nil
	}
	return fs.ErrClosed
}

// hint is what one event says. A directory that appeared is watched at once, and all below it.
func (e *events) hint(ctx context.Context, hints []string, ev fsnotify.Event) ([]string, error) {
	rel, err := filepath.Rel(e.t.root, ev.Name)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return hints, nil
	}
	rel = filepath.ToSlash(rel)
	if rel == "." {
		if ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) {
			return hints, fmt.Errorf("watch: %s is not there any more", e.t.root)
		}
		return hints, nil
	}
	if skipped(rel) {
		return hints, nil
	}
	if ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) {
		e.forget(rel, ev.Has(fsnotify.Rename))
	}
	if ev.Has(fsnotify.Create) {
		if info, err := os.Lstat(ev.Name); err == nil && info.IsDir() {
			ignored, err := e.t.ignored([]string{rel})
			if err != nil || ignored[0] {
				return hints, err
			}
			e.forget(rel, true) // another directory of this name may have been watched
			if err := e.t.directories(ctx, rel, e.add); err != nil {
				return hints, e.explain(ctx, err)
			}
			rel += "/"
		}
	}
	return append(hints, rel), nil
}

// forget stops watching a directory; with below, also all that is in it, which moved away with it.
func (e *events) forget(rel string, below bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.watched[rel] {
		return
	}
	drop := func(d string) {
		e.w.Remove(e.t.abs(d))
		delete(e.watched, d)
	}
	drop(rel)
	if !below {
		return
	}
	for d := range e.watched {
		if strings.HasPrefix(d, rel+"/") {
			drop(d)
		}
	}
}

// again watches everything anew, after events were lost.
func (e *events) again(ctx context.Context) error {
	w, err := newWatcher()
	if err != nil {
		return err
	}
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		w.Close()
		return fs.ErrClosed
	}
	old := e.w
	e.w, e.watched = w, map[string]bool{}
	e.draining.Go(func() { e.drain(w) })
	e.mu.Unlock()
	old.Close()
	if err := e.t.directories(ctx, "", e.add); err != nil {
		return e.explain(ctx, err)
	}
	return nil
}

func (e *events) close() error {
	e.mu.Lock()
	e.closed = true
	err := e.w.Close()
	e.mu.Unlock()
	e.draining.Wait()
	return err
}
