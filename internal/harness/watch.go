package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// This file watches a turn: its two clocks, the tools that are at work, what was spent, and the way on of what is
// seen to the engine. Every harness tells it what its agent does, and leaves the rest to it.

// The causes of a turn that Foundry's own clocks ended.
var (
	errTimedOut = errors.New("turn timeout")
	errStalled  = errors.New("stalled")
)

// watch is what is known of one turn while it runs. Its methods may be called from several goroutines.
type watch struct {
	t      Turn
	tell   func(Activity) // nil: nobody listens
	end    func(cause error)
	mu     sync.Mutex
	clock  countdown // turn_timeout
	quiet  countdown // stall_timeout
	tools  map[string]Tool
	began  map[string]time.Time // by tool that is at work
	calls  int
	counts bool // the agent tells of its tools, so that calls is a number
	usage  Usage
	notes  []string
	over   bool

	repeats repeats
	circle  string // the call for which the turn was ended
}

// newWatch starts the clocks of a turn. end is called at most once for each, in a goroutine of its own.
func newWatch(t Turn, activity func(Activity), end func(cause error)) *watch {
	w := &watch{t: t, tell: activity, end: end, tools: map[string]Tool{}, began: map[string]time.Time{}}
	w.clock.start(t.Timeout, func() { end(errTimedOut) })
	w.quiet.start(t.Stall, func() { end(errStalled) })
	return w
}

// stop ends the clocks; nothing is told any more.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.clock.stop()
	w.quiet.stop()
}

// heard notes a sign of life that means nothing by itself.
func (w *watch) heard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.quiet.restart()
}

// printed passes on output that is no message.
func (w *watch) printed(text string) { w.pass(Activity{Kind: PrintedOutput, Text: text}) }

// said passes on words of the agent.
func (w *watch) said(text string) {
	if text != "" {
		w.pass(Activity{Kind: SaidText, Text: text})
	}
}

func (w *watch) pass(a Activity) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.quiet.restart()
	w.send(a)
}

// send is for a holder of mu.
func (w *watch) send(a Activity) {
	if w.tell != nil && !w.over {
		w.tell(a)
	}
}

// counting says that the agent tells of every tool that it uses.
func (w *watch) counting() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts = true
}

// called notes that a tool has begun. Until its result has come the agent is at work, however quiet it is. A tool
// without an ID is over at once.
func (w *watch) called(tool Tool, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.quiet.restart()
	if tool.ID != "" {
		if _, again := w.tools[tool.ID]; again {
			w.tools[tool.ID] = tool
			return
		}
		w.tools[tool.ID], w.began[tool.ID] = tool, time.Now()
		w.quiet.hold()
	}
	w.calls++
	w.counts = true
	w.send(Activity{Kind: CalledTool, Tool: tool, Text: text})
	if tool.ID == "" {
		w.goesRound(tool, "", 0)
	}
}

// result notes that a tool has ended, with all that it answered; one that was not called, or has ended before, is let by.
func (w *watch) result(id, text string, failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.quiet.restart()
	tool, ok := w.tools[id]
	if !ok {
		return
	}
	delete(w.tools, id)
	w.quiet.release()
	w.send(Activity{Kind: GotResult, Tool: tool, Text: shown(text), Failed: failed})
	w.goesRound(tool, text, time.Since(w.began[id]))
	delete(w.began, id)
}

// spent notes what the turn has spent so far.
func (w *watch) spent(u Usage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.quiet.restart()
	w.usage = u
	w.send(Activity{Kind: Metered, Usage: u})
}

// permit asks the engine. The clocks stand still until it has answered.
func (w *watch) permit(ctx context.Context, r Request) Decision {
	d := Decision{Reason: "nobody answers permission requests here"}
	if w.t.Permit != nil {
		w.mu.Lock()
		w.clock.hold()
		w.quiet.hold()
		w.mu.Unlock()
		d = w.t.Permit(ctx, r)
		w.mu.Lock()
		w.clock.release()
		w.quiet.release()
		w.mu.Unlock()
	}
	w.pass(Activity{Kind: AskedPermission, Tool: r.Tool, Text: r.Title, Failed: !d.Allow})
	return d
}

// conversation notes by which id another process can go on with the conversation.
func (w *watch) conversation(id string) { w.pass(Activity{Kind: HasSession, Text: id}) }

// account puts what was spent, and what was noted, into a reply.
func (w *watch) account(r *Reply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.Notes = append(r.Notes, w.notes...)
	r.Usage = w.usage
	if w.counts {
		n := w.calls
		r.Calls = &n
	}
}

// stopped is the reply of a turn that a clock or the engine ended.
func (w *watch) stopped(cause error) Reply {
	switch {
	case errors.Is(cause, errTimedOut):
		return Reply{Stop: TimedOut, Error: fmt.Sprintf("the turn did not end within %s (turn_timeout)", w.t.Timeout)}
	case errors.Is(cause, errRepeats):
		return Reply{Stop: TimedOut, Error: fmt.Sprintf("the same call was made %d times with the same answer and without a change in between: %s", mostRepeats, w.circle)}
	case errors.Is(cause, errStalled):
		return Reply{Stop: TimedOut, Error: fmt.Sprintf("nothing was heard of the agent for %s (stall_timeout)", w.t.Stall)}
	}
	return Reply{Stop: Cancelled, Error: "the turn was stopped"}
}

// countdown is a clock that can be started anew and can stand still. It is not for concurrent use; the zero value
// never expires.
type countdown struct {
	limit, left time.Duration
	since       time.Time
	held        int
	timer       *time.Timer // nil: no limit
}

func (c *countdown) start(limit time.Duration, expired func()) {
	if limit <= 0 {
		return
	}
	c.limit, c.left, c.since = limit, limit, time.Now()
	c.timer = time.AfterFunc(limit, expired)
}

func (c *countdown) restart() {
	if c.timer == nil {
		return
	}
	c.left, c.since = c.limit, time.Now()
	if c.held == 0 {
		c.timer.Reset(c.left)
	}
}

func (c *countdown) hold() {
	c.held++
	if c.timer == nil || c.held > 1 {
		return
	}
	c.timer.Stop()
	c.left -= time.Since(c.since)
}

func (c *countdown) release() {
	c.held--
	if c.timer == nil || c.held > 0 {
		return
	}
	c.since = time.Now()
	c.timer.Reset(c.left)
}

func (c *countdown) stop() {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}
