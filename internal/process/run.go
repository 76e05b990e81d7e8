package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Run is the one way in which Foundry starts a program. The leader gets a session of its own, pipes that are
// read whatever becomes of the log, and a token in its environment by which its descendants are found.

// How long Run waits at the points where a program, or what it left behind, could make it wait for ever.
const (
	drainTime = 500 * time.Millisecond // for output of what is still writing when the leader has ended
	leaveTime = 50 * time.Millisecond  // for the end of what has closed its output
	closeTime = 2 * time.Second        // for the death of what was sent KILL
	pollTime  = 5 * time.Millisecond
	reapLate  = 10 * time.Millisecond // for the end of all output, with which most programs end too, before the leader is waited for
	busyTime  = 2 * time.Second       // for a program file that somebody still has open for writing
)

// ownToken is the variable by which the descendants of one program are found after they left its group. Its value
// begins with the process that started the program, so that what outlives that process is known too: see Abandoned.
const ownToken = "FOUNDRY_PROCESS"

var started atomic.Int64 // makes the tokens of one Foundry process distinct

// newToken is a value of ownToken that no other program has.
func newToken() string {
	return fmt.Sprintf("%d.%d.%d", os.Getpid(), ownStart(), started.Add(1))
}

// ownStart is when this process was started, 0 where the system does not tell.
var ownStart = sync.OnceValue(func() uint64 { return startTime(os.Getpid()) })

// Run runs a program to its end and returns how it ended. It returns only when the program and everything it
// started are gone, or were sent KILL and would not go. Cancelling ctx stops the program in order: TERM, the
// grace, KILL; a deadline of ctx counts as a timeout.
func Run(ctx context.Context, s Spec) Result {
	begin := time.Now()
	r := &running{spec: s, begin: begin, exited: make(chan struct{}), res: Result{Exit: -1}}
	if s.Grace <= 0 {
		r.spec.Grace = DefaultGrace
	}
	r.run(ctx)
	r.res.Elapsed = time.Since(begin)
	return r.res
}

// running is one call of Run.
type running struct {
	spec    Spec
	begin   time.Time
	cmd     *exec.Cmd
	sink    *sink
	token   string
	group   group
	res     Result
	exited  chan struct{} // closed when the leader was reaped
	state   *os.ProcessState
	reading atomic.Int32  // streams that have not ended
	quiet   chan struct{} // closed when all output was read
	ends    []*os.File    // our ends of the pipes
}

func (r *running) run(ctx context.Context) {
	if reason, over := expired(ctx, r.spec.Kill); over {
		r.res.Reason = reason
		return
	}
	var limit <-chan time.Time
	if r.spec.Timeout > 0 {
		t := time.NewTimer(r.spec.Timeout - time.Since(r.begin))
		defer t.Stop()
		limit = t.C
	}
	if err := r.start(ctx); err != nil {
		r.res.Reason, r.res.Err = NotStarted, err
		if reason, over := expired(ctx, r.spec.Kill); over && errors.Is(err, os.ErrDeadlineExceeded) {
			r.res.Reason, r.res.Err = reason, nil
		}
		return
	}
	r.wait(ctx, limit)
	r.leftovers()
	r.drain()
	r.outcome()
}

// expired reports whether a program need not be started any more.
func expired(ctx context.Context, kill <-chan struct{}) (Reason, bool) {
	select {
	case <-kill:
		return Cancelled, true
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return TimedOut, true
		}
		return Cancelled, true
	default:
		return 0, false
	}
}

// start finds the program, makes the pipes, and starts the leader with its readers.
func (r *running) start(ctx context.Context) error {
	s := &r.spec
	if s.Env == nil {
		s.Env = Environ(os.Environ())
	}
	if s.Dir != "" {
		s.Env = append(s.Env[:len(s.Env):len(s.Env)], "PWD="+s.Dir) // exec.Cmd takes the last of two
	}
	token := newToken()
	s.Env = append(s.Env[:len(s.Env):len(s.Env)], ownToken+"="+token)
	if !s.Trusted {
		r.token = token
	}
	argv, direct, err := command(*s)
	if err != nil {
		return err
	}
	k, err := newSink(*s)
	if err != nil {
		e := classify(argv[0], "", "", err)
		e.Program = argv[0]
		return e
	}
	r.sink = k
	err = r.launch(ctx, argv)
	missing := direct && alsoProgram(argv[0]) && errors.Is(err, fs.ErrNotExist)
	if missing || direct && notAProgram(err) { // a script without a first line that names its interpreter: a shell's business
		err = r.launch(ctx, []string{shellPath, "-c", s.Shell})
	}
	if err != nil {
		k.finish()
	}
	return err
}

// command returns the argv to execute, and whether it stands for a shell text that needs no shell.
func command(s Spec) (argv []string, direct bool, err error) {
	switch {
	case len(s.Argv) > 0 && s.Shell != "":
		panic("BUG: process: a Spec with both Argv and Shell")
	case len(s.Argv) > 0:
		argv = s.Argv
	case s.Shell != "":
		if argv, direct = Words(s.Shell); !direct {
			return []string{shellPath, "-c", s.Shell}, false, nil
		}
	default:
		panic("BUG: process: a Spec with neither Argv nor Shell")
	}
	for _, a := range argv {
		if strings.IndexByte(a, 0) >= 0 {
			return nil, false, &StartError{Failure: OtherStartFailure, Program: argv[0], Err: errors.New("an argument has a NUL byte")}
		}
	}
	return argv, direct, nil
}

// launch starts argv. It may be called again when it has failed.
func (r *running) launch(ctx context.Context, argv []string) error {
	s := r.spec
	path, err := find(argv[0], s.Dir, s.Env)
	if err != nil {
		return classify(argv[0], "", s.Dir, err)
	}
	deadline := time.Now().Add(busyTime)
	for {
		err = r.try(ctx, path, argv)
		if err == nil || !textBusy(err) || time.Now().After(deadline) || ctx.Err() != nil {
			break
		}
		time.Sleep(pollTime)
	}
	if err != nil {
		return classify(argv[0], path, s.Dir, err)
	}
	return nil
}

// try starts the leader once.
func (r *running) try(ctx context.Context, path string, argv []string) (err error) {
	s := r.spec
	c := &exec.Cmd{Path: path, Args: argv, Dir: s.Dir, Env: s.Env, SysProcAttr: ownGroup()}
	if s.Trusted {
		endWithParent(c.SysProcAttr)
	}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
		if err != nil {
			for _, f := range r.ends {
				f.Close()
			}
			r.ends = nil
		}
	}()
	pipe := func(write bool) (*os.File, *os.File, error) {
		ours, their, err := newPipe(write)
		if err != nil {
			return nil, nil, err
		}
		r.ends, theirs = append(r.ends, ours), append(theirs, their)
		return ours, their, nil
	}
	var in, out, errs *os.File
	if s.Stdin != nil || s.Feed != nil {
		ours, their, err := pipe(true)
		if err != nil {
			return err
		}
		in, c.Stdin = ours, their
	} else if c.Stdin, err = nothing(); err != nil {
		return err
	}
	ours, their, err := pipe(false)
	if err != nil {
		return err
	}
	out, c.Stdout, c.Stderr = ours, their, their
	if s.Capture > 0 {
		ours, their, err := pipe(false)
		if err != nil {
			return err
		}
		errs, c.Stderr = ours, their
	}
	var confined *confinement
	if s.Confine != nil {
		if err := CanConfine(); err != nil {
			return &StartError{Failure: NotConfined, Program: argv[0], Err: err}
		}
		if confined, err = confine(c, s.Confine); err != nil {
			return err
		}
		defer confined.close()
	}
	release, err := startLeader(c)
	if err != nil {
		return err
	}
	guarded := error(nil)
	if s.Guard != nil {
		guarded = s.Guard.Add(c.Process.Pid)
	}
	if confined != nil {
		if err := confined.await(ctx, s.Kill); err != nil {
			c.Process.Kill()
			c.Wait()
			release()
			if s.Guard != nil && guarded == nil {
				s.Guard.Remove(c.Process.Pid)
			}
			return err
		}
	}
	r.cmd, r.res.Pid = c, c.Process.Pid
	r.group = newGroup(c.Process)
	if guarded != nil {
		r.res.Notes = append(r.res.Notes, "the guard does not know this process: "+guarded.Error())
	}
	if s.Started != nil {
		s.Started(c.Process.Pid)
	}
	reap := func() {
		awaitEnd(c.Process.Pid)
		c.Wait()
		r.state = c.ProcessState
		release()
		close(r.exited)
	}
	late := time.AfterFunc(reapLate, reap)
	if in != nil {
		var feed io.Reader = bytes.NewReader(s.Stdin)
		if s.Feed != nil {
			feed = s.Feed
		}
		go func() { // ends with the feed or when the program reads no more, at the latest when drain closes the pipe
			io.Copy(in, feed)
			in.Close()
		}()
	}
	r.quiet = make(chan struct{})
	silent := func() {
		close(r.quiet)
		if late.Stop() {
			reap()
		}
	}
	if errs == nil {
		r.reading.Store(1)
		r.read(Merged, out, silent)
	} else {
		r.reading.Store(2)
		r.read(Stdout, out, silent)
		r.read(Stderr, errs, silent)
	}
	return nil
}

// nothing is what programs read whose input is empty. It stays open.
var nothing = sync.OnceValues(func() (*os.File, error) { return os.Open(os.DevNull) })

// sip is how much output is read at once in the beginning, piece how much once a program has written that much at once,
// in bytes, and muchOutput how much makes a program a loud one.
const (
	sip        = 4 << 10
	piece      = 256 << 10
	muchOutput = 1 << 20
)

// sips and pieces are what output is read into. One for each program would keep the garbage collector busy.
var (
	sips   = sync.Pool{New: func() any { return new([sip]byte) }}
	pieces = sync.Pool{New: func() any { return new([piece]byte) }}
)

// read takes a stream until its end, or until drain closes the pipe. After the last stream it calls silent.
func (r *running) read(s Stream, f *os.File, silent func()) {
	go func() {
		defer func() {
			if r.reading.Add(-1) == 0 {
				silent()
			}
		}()
		first := sips.Get().(*[sip]byte)
		defer sips.Put(first)
		buf := first[:]
		seen, wide := 0, false
		for {
			n, err := f.Read(buf)
			if seen += n; seen >= muchOutput && !wide {
				wide = true
				widen(f)
			}
			if n > 0 {
				r.sink.take(s, buf[:n])
			}
			if n == sip && len(buf) == sip {
				more := pieces.Get().(*[piece]byte)
				defer pieces.Put(more)
				buf = more[:]
			}
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
					r.sink.failed(fmt.Errorf("read the output: %w", err))
				}
				r.sink.ended(s)
				return
			}
		}
	}()
}
