// Package process runs programs so that they always end: every program is in a session of its own, has no
// terminal, cannot block on a full pipe, is stopped with all it started, and is told apart by how it ended.
package process

import (
	"io"
	"time"

	"foundry/secret"
)

// DefaultGrace is the time between TERM and KILL when a Spec names none.
const DefaultGrace = 5 * time.Second

// TailSize is how many bytes of cleaned output a Result keeps for expressions and evidence.
const TailSize = 64 << 10

// Spec says what to run. Exactly one of Argv and Shell is set.
type Spec struct {
	// Argv is a program and its arguments. A program without a slash is looked up in the PATH of Env.
	Argv []string
	// Shell is a text for sh -c. It is executed directly when it is words and nothing else.
	Shell string
	// Dir is the working directory; empty is Foundry's own.
	Dir string
	// Env is the whole environment. Nil is Foundry's own, cleaned as Environ does.
	Env []string
	// Stdin is what the program reads; nil is an empty input (the null device).
	Stdin []byte
	// Feed is read until its end for a program that is talked to while it runs; Stdin is not set then. The
	// caller ends it at the latest when Run has returned.
	Feed io.Reader

	// LogPath names a file that gets both streams in arrival order, appended; Log is used instead when it is
	// set. LogLimit caps what Run writes there, in bytes; 0 is no cap. Past the cap the last bytes are still
	// written, after a line that says how many were dropped.
	LogPath  string
	Log      io.Writer
	LogLimit int64

	// Timeout counts from the call of Run; 0 is none. Grace is the time between TERM and KILL; 0 is
	// DefaultGrace.
	Timeout, Grace time.Duration
	// Kill, when it is closed, ends the program at once, without a grace.
	Kill <-chan struct{}

	// Capture above 0 keeps stdout by itself in Result.Stdout, its last Capture bytes, and a tail of stderr in
	// Result.Stderr. The streams then have a pipe each, and their order in log and tail is only nearly that
	// of arrival.
	Capture int64
	// Observe is called with each piece of output, and with an empty piece when a stream has ended, from one
	// goroutine at a time; it must not keep the slice and must not block.
	Observe func(s Stream, piece []byte)

	// Mask takes secrets out of the output before anybody sees it: log, tails, what is captured and observed.
	Mask *secret.Mask

	// Guard, when it is set, knows the program's group while it runs, and ends it should Foundry die.
	Guard *Guard
	// Started is called with the leader's pid, which is also its group, before any output is read.
	Started func(pid int)

	// Confine, when it is set, is all that the program and what it starts may write. Where that cannot be had,
	// see CanConfine, the program is not started.
	Confine *Confine

	// Trusted is for programs that are known to leave nothing behind (git): no combined tail is kept, and
	// no search is made for processes that left the group.
	Trusted bool
}

// Stream names one of the two outputs of a program.
type Stream uint8

// The streams. Merged is both in one pipe.
const (
	Merged Stream = iota + 1
	Stdout
	Stderr
)

// Reason says which party ended a program.
type Reason uint8

// The reasons; the zero Reason is invalid.
const (
	Exited     Reason = iota + 1 // it ended by itself, with the exit code in Result.Exit
	Signalled                    // a signal that Foundry did not send ended it
	TimedOut                     // the time limit was reached, whatever the program then answered
	Cancelled                    // the context or Spec.Kill ended it
	NotStarted                   // it never ran; Result.Err is a *StartError
)

// String returns the name of the reason in lower case.
func (r Reason) String() string {
	switch r {
	case Exited:
		return "exited"
	case Signalled:
		return "signalled"
	case TimedOut:
		return "timed out"
	case Cancelled:
		return "cancelled"
	case NotStarted:
		return "not started"
	}
	return "invalid reason"
}

// Result is how a program ended.
type Result struct {
	// Exit is the exit code, and -1 when there was none (a signal, or not started). It is recorded after a
	// timeout too, but Reason decides.
	Exit   int
	Signal string // "killed", "segmentation fault"; empty without one
	Reason Reason
	// Err is a *StartError when Reason is NotStarted, and nil otherwise.
	Err error
	// LogErr is set when output could not be written to the log: the evidence is then incomplete.
	LogErr error
	// Tail is the last TailSize bytes of both streams, fit for a person or a prompt (see Tail). It is empty
	// for a trusted program.
	Tail string
	// Stdout is the last Spec.Capture bytes as they came, and StdoutCut how many were dropped before them.
	Stdout    []byte
	StdoutCut int64
	// Stderr is a tail like Tail of stderr alone; only with Spec.Capture.
	Stderr string
	// Left lists the processes that were still there when the leader had ended, as `sleep (pid 123)`. They
	// have been ended.
	Left []string
	// Notes are sentences for the record about what went differently from what one would expect.
	Notes   []string
	Bytes   int64 // how much output there was
	Pid     int   // of the leader; 0 when it was not started
	Elapsed time.Duration
}

// OK reports whether the program ended by itself with exit code 0.
func (r Result) OK() bool { return r.Reason == Exited && r.Exit == 0 }
