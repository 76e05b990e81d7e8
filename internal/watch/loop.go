package watch

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// This file waits for quiet. Hints start a timer and push it back, though never beyond the longest wait; when it
// fires, and nothing goes on in the repository that has to end first, the disk is compared with what is known.

const (
	busyEvery = 20 * time.Millisecond // how often the end of what goes on in the repository is looked for
	busySaid  = 3 * time.Second       // when it is told that this is waited for
)

// hint is what the source brought.
type hint struct {
	paths []string
	all   bool
	err   error
}

// burst is what was hinted at since the last comparison.
type burst struct {
	paths map[string]bool
	all   bool
	first time.Time // when the first of it came
	busy  time.Time // since when something in the repository is waited for
	said  bool
}

func (b *burst) empty() bool { return len(b.paths) == 0 && !b.all }

// ask brings the hints of a source, one after the other.
func ask(ctx context.Context, s source) <-chan hint {
	hints := make(chan hint)
	go func() {
		for {
			paths, all, err := s.next(ctx)
			select {
			case hints <- hint{paths, all, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return hints
}

func (w *Watcher) loop(ctx context.Context) {
	defer close(w.ended)
	hints := ask(ctx, w.source)
	b := &burst{paths: map[string]bool{}}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	for {
		var asked chan struct{} // by Take
		select {
		case <-ctx.Done():
			return
		case h := <-hints:
			if h.err != nil {
				if !w.goBlind(ctx, h.err) {
					return
				}
				hints = ask(ctx, w.source)
				h = hint{all: true}
			}
			if wait, ok := w.hinted(b, h); ok {
				timer.Reset(wait)
			}
			continue
		case <-timer.C:
			if again := w.repositoryBusy(b); again > 0 {
				timer.Reset(again)
				continue
			}
		case asked = <-w.settle:
			timer.Stop()
			b.all = b.all || w.Mode() == Poll
		}
		if !b.empty() && !w.compare(ctx, b) {
			hints = ask(ctx, w.source)
		}
		if !b.empty() { // files in the middle of a save
			b.first = time.Now()
			timer.Reset(w.o.Quiet)
		}
		if asked != nil {
			close(asked)
		}
	}
}

// hinted takes hints in, and says how long is waited for more.
func (w *Watcher) hinted(b *burst, h hint) (time.Duration, bool) {
	fresh := b.empty()
	for _, p := range h.paths {
		b.paths[p] = true
	}
	b.all = b.all || h.all
	if b.empty() {
		return 0, false
	}
	now := time.Now()
	if fresh {
		b.first = now
	}
	if w.Mode() == Poll {
		return 0, true
	}
	return max(min(w.o.Quiet, b.first.Add(w.o.MaxWait).Sub(now)), 0), true
}

// repositoryBusy says how long to wait when something goes on that leaves the tree half changed: until it ends, and
// then for quiet.
func (w *Watcher) repositoryBusy(b *burst) time.Duration {
	why := w.o.Busy()
	now := time.Now()
	switch {
	case why == "" && b.busy.IsZero():
		return 0
	case why == "":
		b.busy, b.said = time.Time{}, false
		return w.o.Quiet
	case b.busy.IsZero():
		b.busy = now
	case !b.said && now.Sub(b.busy) > busySaid:
		b.said = true
		w.o.Note("waiting: " + why)
	}
	return busyEvery
}

// goBlind goes on by polling when events cannot be had any more, and says whether watching goes on.
func (w *Watcher) goBlind(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	if w.o.Mode == Events || !errors.As(err, new(*blind)) {
		w.mu.Lock()
		w.err = err
		w.mu.Unlock()
		w.wake()
		return false
	}
	w.source.close()
	w.mu.Lock()
	w.mode, w.source = Poll, &poller{every: w.o.Every}
	w.mu.Unlock()
	w.o.Note(fmt.Sprintf("polling every %s from now on (%s)", w.o.Every, err))
	return true
}

// compare looks at the disk for what was hinted at, and tells what differs. It is false when the source is another
// one from now on.
func (w *Watcher) compare(ctx context.Context, b *burst) bool {
	all, same := b.all, true
	if e, ok := w.source.(*events); ok && all {
		if err := e.again(ctx); err != nil {
			same = false
			if !w.goBlind(ctx, err) {
				return true
			}
		}
	}
	var files []File
	var err error
	switch {
	case w.Mode() == Poll:
		files, err = w.poll(ctx)
	case all:
		files, err = w.tree.compareAll(ctx)
	default:
		files, err = w.tree.compare(ctx, b.paths)
	}
	clear(b.paths)
	b.all = false
	for _, rel := range w.tree.unsettled() {
		b.paths[rel] = true
	}
	if err != nil {
		w.goBlind(ctx, err)
	}
	w.add(files, all && w.Mode() == Events)
	return same
}

// poll looks at everything, and again until a look finds nothing new: what one look sees may be half of it.
func (w *Watcher) poll(ctx context.Context) ([]File, error) {
	p, begin := w.source.(*poller), time.Now()
	var all []File
	for {
		from := time.Now()
		files, err := w.tree.compareAll(ctx)
		p.took.Store(int64(time.Since(from)))
		if err != nil {
			return all, err
		}
		if all = append(all, files...); len(files) == 0 || time.Since(begin) > w.o.MaxWait {
			return all, nil
		}
		select {
		case <-time.After(w.o.Quiet):
		case <-ctx.Done():
			return all, ctx.Err()
		}
	}
}
