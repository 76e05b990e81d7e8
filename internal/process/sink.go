package process

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"foundry/secret"
)

// A sink is where the readers of a program's output meet. It writes the log up to its cap, feeds the tails,
// and remembers the first thing that went wrong, but always takes everything: a program must never wait for
// its log.

type sink struct {
	mu      sync.Mutex
	log     io.Writer
	close   func() error
	limit   int64
	written int64 // to the log, below the cap
	total   int64
	logErr  error
	after   *ring // what came when the cap was reached
	tail    *Tail // of both streams; nil for a trusted program
	stdout  *ring // with Capture
	stderr  *Tail // with Capture
	observe func(Stream, []byte)
	masks   [Stderr + 1]*secret.Stream // of each stream; nil without a mask
	closed  bool
}

func newSink(s Spec) (*sink, error) {
	k := &sink{log: s.Log, limit: s.LogLimit, observe: s.Observe}
	if s.Mask != nil {
		for i := range k.masks {
			k.masks[i] = s.Mask.Stream()
		}
	}
	if !s.Trusted {
		k.tail = NewTail(TailSize)
	}
	if s.Capture > 0 {
		k.stdout, k.stderr = newRing(s.Capture), NewTail(TailSize)
	}
	if k.log == nil && s.LogPath != "" {
		f, err := os.OpenFile(s.LogPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, &StartError{Failure: LogUnwritable, Detail: s.LogPath, Err: err}
		}
		k.log, k.close = f, f.Close
	}
	return k, nil
}

// take is called by the readers.
func (k *sink) take(s Stream, p []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed { // a reader that was given up
		return
	}
	k.total += int64(len(p))
	if m := k.masks[s]; m != nil {
		p = m.Write(p)
	}
	k.pass(s, p)
}

// pass hands output on to all that take it.
func (k *sink) pass(s Stream, p []byte) {
	if len(p) == 0 {
		return
	}
	k.toLog(p)
	if k.tail != nil {
		k.tail.Write(p)
	}
	switch {
	case s == Stdout && k.stdout != nil:
		k.stdout.write(p)
	case s == Stderr && k.stderr != nil:
		k.stderr.Write(p)
	}
	if k.observe != nil {
		k.observe(s, p)
	}
}

// ended is called by a reader whose stream has ended.
func (k *sink) ended(s Stream) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	k.release(s)
	if k.observe != nil {
		k.observe(s, nil)
	}
}

// release hands on what was held back since it could have been the beginning of a secret.
func (k *sink) release(s Stream) {
	if m := k.masks[s]; m != nil {
		k.pass(s, m.Flush())
	}
}

func (k *sink) toLog(p []byte) {
	if k.log == nil {
		return
	}
	if k.limit > 0 && k.written+int64(len(p)) > k.limit {
		n := k.limit - k.written
		if k.after == nil {
			k.after = newRing(min(TailSize, max(k.limit, 1)))
		}
		k.after.write(p[n:])
		p = p[:n]
	}
	if len(p) == 0 || k.logErr != nil {
		return
	}
	n, err := k.log.Write(p)
	k.written += int64(n)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		k.logErr = fmt.Errorf("write the log: %w", err)
	}
}

// failed records that the output could not be read to its end.
func (k *sink) failed(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.logErr == nil && !k.closed {
		k.logErr = err
	}
}

// finish writes what belongs at the end of a capped log and closes it. What comes later is dropped.
func (k *sink) finish() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for s := range k.masks {
		k.release(Stream(s)) // of a stream that somebody still holds open
	}
	k.closed = true
	if k.after != nil && k.logErr == nil {
		mark := ""
		if d := k.after.dropped(); d > 0 {
			mark = fmt.Sprintf("\n[foundry: cut here: %d bytes dropped]\n", d)
		}
		if _, err := io.WriteString(k.log, mark+string(k.after.bytes())); err != nil {
			k.logErr = fmt.Errorf("write the log: %w", err)
		}
	}
	if k.close != nil {
		if err := k.close(); err != nil && k.logErr == nil {
			k.logErr = fmt.Errorf("close the log: %w", err)
		}
	}
}

// result copies what was kept into a result; only after finish.
func (k *sink) result(r *Result) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r.Bytes, r.LogErr = k.total, k.logErr
	if k.after != nil && k.after.dropped() > 0 && k.logErr == nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the log has the first and the last bytes of the output; %d of %d between them were dropped", k.after.dropped(), k.total))
	}
	if k.tail != nil {
		r.Tail = k.tail.Text()
		nuls, invalid := k.tail.Binary()
		switch {
		case nuls > 0:
			r.Notes = append(r.Notes, fmt.Sprintf("the output is binary: %d bytes, %d of them NUL", k.total, nuls))
		case invalid > 0:
			r.Notes = append(r.Notes, fmt.Sprintf("the output is not valid UTF-8: %d of %d bytes", invalid, k.total))
		}
	}
	if k.stdout != nil {
		r.Stdout, r.StdoutCut = k.stdout.bytes(), k.stdout.dropped()
		r.Stderr = k.stderr.Text()
	}
}

// A ring keeps the last bytes that were written to it, exactly, in no more memory than these take.
type ring struct {
	buf   []byte // grows up to size, then is written over from at
	at    int
	size  int
	total int64
}

func newRing(n int64) *ring { return &ring{size: int(n)} }

func (r *ring) write(p []byte) {
	r.total += int64(len(p))
	if over := len(p) - r.size; over > 0 {
		p = p[over:]
	}
	if free := r.size - len(r.buf); free > 0 {
		n := min(free, len(p))
		if need := len(r.buf) + n; need > cap(r.buf) {
			r.buf = append(make([]byte, 0, min(r.size, max(need, 2*cap(r.buf)))), r.buf...)
		}
		r.buf = append(r.buf, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(r.buf[r.at:], p)
		p = p[n:]
		r.at = (r.at + n) % r.size
	}
}

// bytes returns what was kept, in order. The slice is good until the next write.
func (r *ring) bytes() []byte {
	if r.at > 0 {
		slices.Reverse(r.buf[:r.at])
		slices.Reverse(r.buf[r.at:])
		slices.Reverse(r.buf)
		r.at = 0
	}
	return r.buf
}

func (r *ring) dropped() int64 { return r.total - int64(len(r.buf)) }
