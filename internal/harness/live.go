package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"foundry/internal/process"
)

// This file keeps an agent's program running for a whole session and talks with it. The program ends with Close, in
// order: its input ends, then TERM, then KILL, for it and all that it started.

func (c Config) bye() time.Duration       { return cmp.Or(c.Bye, 2*time.Second) }
func (c Config) interrupt() time.Duration { return cmp.Or(c.Interrupt, 5*time.Second) }

// errClosed is why nothing more comes from a program that ended, or that closed its output.
var errClosed = errors.New("it closed its output")

// live is a program that is talked with. One goroutine at a time sends and takes; Write is for several.
type live struct {
	feed *feed
	log  *turnLog
	bye  time.Duration
	kill context.CancelFunc
	done chan struct{} // closed when the program and all that it started are gone
	res  process.Result

	mu    sync.Mutex
	queue [][]byte      // lines that nobody has taken yet
	more  chan struct{} // has room for one: something came
	deaf  error         // why no further line will come, once there is a reason
	watch *watch        // of the turn under way; nil between turns
	fresh bool          // no turn has begun yet
}

// startLive starts argv for the session c. t, the first turn, says in which environment, with which guard, and where
// its output is logged until another turn begins. The program runs at the top of the workspace.
func startLive(c Config, t Turn, argv, preset []string) (*live, error) {
	if err := makeDirs(c, t); err != nil {
		return nil, err
	}
	ctx, kill := context.WithCancel(context.Background())
	l := &live{feed: newFeed(), log: &turnLog{}, bye: c.bye(), kill: kill, done: make(chan struct{}), more: make(chan struct{}, 1), fresh: true}
	lines := &splitter{limit: lineLimit, line: l.push}
	spec := process.Spec{Argv: argv, Dir: workDir(c, t), Env: environment(c, t, preset), Feed: l.feed, Log: l.log, Capture: process.TailSize, Mask: t.Mask,
		Kill: t.Kill, Guard: t.Guard, Confine: t.Confine, Observe: func(s process.Stream, piece []byte) { l.hear(lines, s, piece) }}
	go func() {
		l.res = process.Run(ctx, spec)
		l.feed.end()
		close(l.done)
		l.fail(errClosed)
	}()
	return l, nil
}

// workDir is where a program that serves a whole session runs: at the top of the workspace, whichever directory a
// phase is about.
func workDir(c Config, t Turn) string {
	if c.Dir != "" {
		return c.Dir
	}
	return t.Dir
}

// hear takes output of the program.
func (l *live) hear(lines *splitter, s process.Stream, piece []byte) {
	l.mu.Lock()
	w := l.watch
	l.mu.Unlock()
	if w != nil {
		w.heard()
	}
	if s != process.Stdout {
		return
	}
	if len(piece) == 0 {
		lines.flush()
		l.fail(errClosed)
		return
	}
	lines.write(piece)
	if lines.long != nil {
		l.fail(lines.long)
	}
}

func (l *live) push(line []byte) {
	l.mu.Lock()
	l.queue = append(l.queue, line)
	l.mu.Unlock()
	l.wake()
}

// fail says that no further line will come. The first reason counts.
func (l *live) fail(why error) {
	l.mu.Lock()
	if l.deaf == nil {
		l.deaf = why
	}
	l.mu.Unlock()
	l.wake()
}

func (l *live) wake() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// next waits for a line. When none will come any more it returns the reason.
func (l *live) next(ctx context.Context) ([]byte, error) {
	for {
		l.mu.Lock()
		if len(l.queue) > 0 {
			line := l.queue[0]
			l.queue = l.queue[1:]
			l.mu.Unlock()
			return line, nil
		}
		deaf := l.deaf
		l.mu.Unlock()
		if deaf != nil {
			return nil, deaf
		}
		select {
		case <-l.more:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// send writes a message as a line of JSON. That the program is gone is seen when nothing more comes from it.
func (l *live) send(message any) {
	line, err := json.Marshal(message)
	if err != nil {
		panic("BUG: harness: a message to an agent is no JSON: " + err.Error())
	}
	l.Write(append(line, '\n'))
}

// Write sends bytes to the program. It never waits: a program that does not read must not stop Foundry from reading
// what it prints.
func (l *live) Write(p []byte) (int, error) { return l.feed.Write(p) }

// begin makes a turn the one under way: its watch hears of every sign of life, its log gets the raw output. What the
// program printed since the last turn is logged but means nothing any more.
func (l *live) begin(w *watch, t Turn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch = w
	if !l.fresh {
		l.queue = nil
	}
	l.fresh = false
	return l.log.open(t.LogPath, t.LogLimit)
}

// finish ends what begin began. It returns what is to be noted of the log.
func (l *live) finish() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch = nil
	if err := l.log.close(); err != nil {
		return []string{"the log is incomplete: " + err.Error()}
	}
	return nil
}

// gone reports whether the program can serve no further turn.
func (l *live) gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deaf != nil
}

// end ends the program: softly says that it may take leave by itself. It returns when everything is gone.
func (l *live) end(softly bool) process.Result {
	l.feed.end()
	if softly {
		t := time.NewTimer(l.bye)
		defer t.Stop()
		select {
		case <-l.done:
		case <-t.C:
		}
	}
	l.kill()
	<-l.done
	return l.res
}

// converse hands the messages of a turn to take until one ends the turn. When the turn is to be given up first, ask
// asks the agent for it; one that does not do so in time is ended with its program.
func (l *live) converse(ctx context.Context, c Config, t Turn, w *watch, take func(json.RawMessage) (Reply, bool), ask func()) Reply {
	r, err := l.until(ctx, w, take)
	if err == nil && ctx.Err() == nil {
		return r
	}
	if ctx.Err() == nil {
		return l.died(c, err)
	}
	stopped := w.stopped(context.Cause(ctx))
	if err == nil {
		return stopped
	}
	ask()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.interrupt())
	defer cancel()
	if _, err := l.until(patience, w, take); err != nil {
		res := l.end(false)
		stopped.Notes = append(res.Notes, "it did not give up the turn when it was asked to, and was ended")
	}
	return stopped
}

// until hands messages to take until one ends the turn; an error says why none will.
func (l *live) until(ctx context.Context, w *watch, take func(json.RawMessage) (Reply, bool)) (Reply, error) {
	for {
		line, err := l.next(ctx)
		if err != nil {
			return Reply{}, err
		}
		found := messages(line)
		if len(found) == 0 {
			w.printed(cleanText(string(line)))
		}
		for _, m := range found {
			if r, done := take(m); done {
				return r, nil
			}
		}
	}
}

// died ends the program after it broke off in the middle of a turn for the reason why, and is the reply of that turn.
func (l *live) died(c Config, why error) Reply {
	if errors.Is(why, errClosed) { // most likely it is about to end, and its exit code says more
		t := time.NewTimer(l.bye)
		defer t.Stop()
		select {
		case <-l.done:
		case <-t.C:
		}
	}
	ended := false
	select {
	case <-l.done:
		ended = true
	default:
	}
	res := l.end(false)
	if res.Reason == process.NotStarted {
		return Reply{Stop: Failed, Error: res.Err.Error()}
	}
	how := why.Error()
	switch {
	case ended && res.Reason == process.Signalled:
		how = "it was ended by a signal (" + res.Signal + ")"
	case ended:
		how = fmt.Sprintf("it ended with exit code %d", res.Exit)
	}
	r := Reply{Stop: Failed, Error: evidence(fmt.Sprintf("agent %q (%s) failed: %s in the middle of the turn", c.Agent, c.Argv[0], how), res.Stderr)}
	r.Notes = res.Notes
	return r
}

// feed is what is still to be sent to a program: an unbounded pipe.
type feed struct {
	mu    sync.Mutex
	some  *sync.Cond
	bytes []byte
	ended bool
}

func newFeed() *feed {
	f := &feed{}
	f.some = sync.NewCond(&f.mu)
	return f
}

func (f *feed) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return 0, io.ErrClosedPipe
	}
	f.bytes = append(f.bytes, p...)
	f.some.Signal()
	return len(p), nil
}

func (f *feed) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.bytes) == 0 {
		if f.ended {
			return 0, io.EOF
		}
		f.some.Wait()
	}
	n := copy(p, f.bytes)
	f.bytes = f.bytes[n:]
	return n, nil
}

func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.some.Broadcast()
}

// heldLimit is how many bytes that come between two turns are kept for the log of the next one.
const heldLimit = 1 << 20

// turnLog is the log of a program that outlives its turns: the file of the turn under way. It has at most so many
// bytes as its turn allows, and says at its end what was left out.
type turnLog struct {
	mu      sync.Mutex
	file    *os.File
	limit   int64
	written int64
	dropped int64
	held    []byte
	err     error
}

func (l *turnLog) open(path string, limit int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit, l.written, l.dropped, l.err = limit, 0, 0, nil
	held := l.held
	l.held = nil
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of the turn: %w", err)
	}
	l.file = f
	l.put(held)
	return nil
}

// Write never fails: a program must not stand still for its log.
func (l *turnLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		l.held = append(l.held, p[:min(len(p), heldLimit-len(l.held))]...)
	} else {
		l.put(p)
	}
	return len(p), nil
}

func (l *turnLog) put(p []byte) {
	keep := p
	if l.limit > 0 {
		keep = p[:min(int64(len(p)), max(l.limit-l.written, 0))]
	}
	l.dropped += int64(len(p) - len(keep))
	l.written += int64(len(keep))
	if len(keep) > 0 && l.err == nil {
		_, l.err = l.file.Write(keep)
	}
}

func (l *turnLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	if l.dropped > 0 && l.err == nil {
		_, l.err = fmt.Fprintf(l.file, "\n[foundry: cut here: %d bytes dropped]\n", l.dropped)
	}
	err := errors.Join(l.err, l.file.Close())
	l.file = nil
	return err
}
