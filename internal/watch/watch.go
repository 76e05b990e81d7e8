// Package watch says when the files of a directory tree have changed, and which: once things are quiet, and only
// when content differs. Events of the file system are hints; what counts is what is on the disk afterwards. It
// never goes on half blind: where events cannot be had for the whole tree it looks at all of it at intervals, and
// says so.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Mode is how changes are noticed.
type Mode uint8

// The modes; the zero value leaves the choice to Start.
const (
	Auto   Mode = iota
	Events      // the file system tells
	Poll        // all is looked at, at intervals
)

func (m Mode) String() string { return [...]string{"auto", "events", "poll"}[m] }

// Rules says which paths are not watched. Paths are relative to the root, with slashes.
type Rules interface {
	// Ignored answers for each path in order. An ignored directory is not looked into.
	Ignored(paths []string) ([]bool, error)
	// Governs says whether a change of a path may change the answers.
	Governs(path string) bool
	// Reload forgets what was read of the rules.
	Reload()
}

// Options say what is watched and how. Only Root is required.
type Options struct {
	Root    string        // absolute, without symbolic links
	Rules   Rules         // nil: nothing is ignored but what Skips names
	Mode    Mode          // how changes are noticed
	Quiet   time.Duration // how long nothing may happen before a change is told; 0 is 100 ms
	MaxWait time.Duration // a change is told after this long although it is not quiet; 0 is 2 s
	Every   time.Duration // the interval of polling; 0 is 1 s. It grows with the time that one look takes
	Busy    func() string // what goes on in the repository that has to end first, "" for nothing; may be nil
	Probe   string        // an existing directory that is not watched otherwise, in which a file may be written to try the events; "": not tried
	Note    func(string)  // is told what a person should know, such as the mode that was chosen; may be nil
}

// Kind says how a file changed.
type Kind uint8

// The kinds of changes; the zero value is invalid.
const (
	Created Kind = iota + 1
	Modified
	Deleted
)

func (k Kind) String() string { return [...]string{"invalid", "created", "modified", "deleted"}[k] }

// File is one changed file. Path is relative to the root, with slashes.
type File struct {
	Path string
	Kind Kind
	Last time.Time // when the last of its changes was noticed

	was, is content
}

// content is what a file held; the zero value is that of a file that is not there.
type content struct {
	there bool
	read  bool // sum is known
	sum   uint64
	mode  fs.FileMode
}

func (c content) same(o content) bool { return c == o && c.read == c.there }

// Change is what differs since the change before. Rescan says that events were lost and the whole tree was compared.
type Change struct {
	Files  []File // sorted by path
	Rescan bool
}

// Watcher watches one tree. Its methods may be called from any goroutine.
type Watcher struct {
	o      Options
	mode   Mode
	tree   *tree
	source source
	cancel context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	pending map[string]File
	rescan  bool
	err     error
	ready   chan struct{} // has one element when there is something to take
	settle  chan chan struct{}
}

// source brings hints: paths that may have changed.
type source interface {
	// next waits for hints; one that ends in a slash stands for all below a directory. all says that hints were lost, or are not made: everything is to be compared.
	next(ctx context.Context) (hints []string, all bool, err error)
	close() error
}

// Start begins to watch. What is there now is the state that changes are told against; the files are read in the
// background, so a file that is rewritten with the same bytes in the first moments may count as changed. The
// caller closes the watcher.
func Start(ctx context.Context, o Options) (*Watcher, error) {
	o.Quiet, o.MaxWait, o.Every = orElse(o.Quiet, 100*time.Millisecond), orElse(o.MaxWait, 2*time.Second), orElse(o.Every, time.Second)
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Busy == nil {
		o.Busy = func() string { return "" }
	}
	if !filepath.IsAbs(o.Root) {
		return nil, fmt.Errorf("watch %s: the path must be absolute", o.Root)
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &Watcher{o: o, cancel: cancel, ended: make(chan struct{}), pending: map[string]File{}, ready: make(chan struct{}, 1), settle: make(chan chan struct{})}
	w.tree = newTree(o.Root, o.Rules, o.Quiet)
	if err := w.open(ctx); err != nil {
		cancel()
		return nil, err
	}
	go w.tree.readAll(ctx)
	go w.loop(ctx)
	return w, nil
}

func orElse(d, other time.Duration) time.Duration {
	if d == 0 {
		return other
	}
	return d
}

// open finds out how changes can be noticed here, and takes the first look.
func (w *Watcher) open(ctx context.Context) error {
	why := ""
	switch {
	case w.o.Mode == Auto:
		why = Remote(w.o.Root)
	case w.o.Mode == Poll:
		why = "as asked for"
	}
	if why == "" {
		source, err := openEvents(ctx, w.tree, w.o.Probe)
		switch {
		case err == nil:
			w.mode, w.source = Events, source
			return nil
		case w.o.Mode == Events || !errors.As(err, new(*blind)):
			return err
		}
		why = err.Error()
	}
	w.mode = Poll
	w.o.Note(fmt.Sprintf("polling every %s (%s)", w.o.Every, why))
	p := &poller{every: w.o.Every}
	w.source = p
	begin := time.Now()
	err := w.tree.load(ctx, func(string) error { return nil })
	p.took.Store(int64(time.Since(begin)))
	return err
}

// Mode is how changes are noticed here: Events or Poll.
func (w *Watcher) Mode() Mode {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mode
}

// Next waits until something has changed and things are quiet, and takes it. Changes that nobody takes are put
// together. The error is the context's, or says why watching cannot go on.
func (w *Watcher) Next(ctx context.Context) (Change, error) {
	for {
		if c, err := w.take(); err != nil || len(c.Files) > 0 {
			return c, err
		}
		select {
		case <-w.ready:
		case <-ctx.Done():
			return Change{}, ctx.Err()
		}
	}
}

// Take looks at what hints were got for so far, without waiting for quiet, and takes all that has changed.
func (w *Watcher) Take(ctx context.Context) (Change, error) {
	done := make(chan struct{})
	select {
	case w.settle <- done:
		<-done
	case <-w.ended:
	case <-ctx.Done():
		return Change{}, ctx.Err()
	}
	return w.take()
}

// Return gives changes back that were taken and are still to be told, such as those that a run interrupted.
func (w *Watcher) Return(c Change) {
	w.mu.Lock()
	for _, f := range c.Files {
		if newer, ok := w.pending[f.Path]; ok {
			f.is, f.Last = newer.is, newer.Last
		}
		w.put(f)
	}
	w.rescan = w.rescan || c.Rescan
	w.mu.Unlock()
	w.wake()
}

func (w *Watcher) take() (Change, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) == 0 {
		return Change{}, w.err
	}
	c := Change{Rescan: w.rescan}
	for _, f := range w.pending {
		c.Files = append(c.Files, f)
	}
	slices.SortFunc(c.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	clear(w.pending)
	w.rescan = false
	return c, nil
}

// add tells changes.
func (w *Watcher) add(files []File, rescan bool) {
	if len(files) > 0 {
		w.merge(files, rescan)
		w.wake()
	}
}

// merge puts changes with those that nobody has taken yet.
func (w *Watcher) merge(files []File, rescan bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range files {
		if old, ok := w.pending[f.Path]; ok {
			f.was = old.was
		}
		w.put(f)
	}
	w.rescan = w.rescan || rescan && len(files) > 0
}

// put keeps a change, unless the file holds again what it held when changes were last taken.
func (w *Watcher) put(f File) {
	switch {
	case f.was.same(f.is):
		delete(w.pending, f.Path)
		return
	case !f.was.there:
		f.Kind = Created
	case !f.is.there:
		f.Kind = Deleted
	default:
		f.Kind = Modified
	}
	w.pending[f.Path] = f
}

func (w *Watcher) wake() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// Close ends the watching and frees what it holds.
func (w *Watcher) Close() error {
	w.cancel()
	<-w.ended
	return w.source.close()
}

// skipped are the paths that no setting brings back: version control, what Foundry keeps, and what editors leave
// beside a file while they have it open.
func skipped(rel string) bool {
	first, _, _ := strings.Cut(rel, "/")
	switch first {
	case ".foundry", ".foundry-worktrees", ".foundry-handoff":
		return true
	}
	name := path.Base(rel)
	switch {
	case name == ".git", name == "4913", strings.HasSuffix(name, "~"), strings.HasPrefix(name, ".#"):
		return true
	case strings.HasPrefix(name, ".") && len(name) > 5 && strings.HasPrefix(name[len(name)-4:], ".sw"):
		return true // .NAME.swp, .NAME.swo, …
	case strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#"):
		return true
	}
	return strings.HasSuffix(name, "___jb_tmp___") || strings.HasSuffix(name, "___jb_old___")
}
