package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A confined program may read everything and write only what was listed, and so may all that it starts, for as
// long as they live: the kernel keeps to it, and nobody in there can undo it. Only a process itself can give up
// its rights, so Foundry starts its own binary, which does that and then becomes the program. The pid stays the
// same, so the guard, the group and the log know no difference.

// Confine lists what a program may write.
type Confine struct {
	// Paths are files, and directories that stand for all below them. They are absolute and lead through no
	// symbolic link: one that does, and one that is not there, grants nothing.
	Paths []string
}

// ConfineVerb is the hidden argument with which the binary must call ConfineMain.
const ConfineVerb = "__confine"

// confineTime is how long Foundry's own binary may take until it has become the program.
const confineTime = time.Minute

// The file descriptors of the process between Foundry and the program.
const (
	orderFD  = 3 // the order is read from here
	answerFD = 4 // what came of it is written here; the start of the program closes it
)

// order is what ConfineMain is told.
type order struct {
	Path  string   // of the program
	Argv  []string // its arguments, the first its name
	Write []string // what it may write
}

// answer is what ConfineMain says: first that it has confined itself, or why it has not, and then only why the
// program could not be started.
type answer struct {
	Confined bool
	Errno    syscall.Errno // why the program could not be started
	Text     string        // why there is no confinement
}

// confinement is Foundry's end of the start of a confined program.
type confinement struct {
	order   order
	tell    *os.File
	hear    *os.File
	foreign []*os.File // the ends of the child
}

// confine makes c start the program confined.
func confine(c *exec.Cmd, what *Confine) (*confinement, error) {
	orders, tell, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	hear, answers, err := os.Pipe()
	if err != nil {
		orders.Close()
		tell.Close()
		return nil, err
	}
	n := &confinement{order: order{Path: c.Path, Argv: c.Args, Write: what.Paths}, tell: tell, hear: hear, foreign: []*os.File{orders, answers}}
	// The file may have been replaced since Foundry was started; its process still has the one that it runs.
	c.Path, c.Args, c.ExtraFiles = "/proc/self/exe", []string{os.Args[0], ConfineVerb}, n.foreign
	return n, nil
}

// close closes what is left of the pipes.
func (n *confinement) close() {
	for _, f := range append(n.foreign, n.tell, n.hear) {
		f.Close()
	}
}

// await returns when the program has been started, or says why it was not. It ends early, with
// os.ErrDeadlineExceeded, when the program need not be started any more.
func (n *confinement) await(ctx context.Context, kill <-chan struct{}) error {
	for _, f := range n.foreign {
		f.Close()
	}
	n.foreign = nil
	done := make(chan struct{})
	defer close(done)
	n.hear.SetReadDeadline(time.Now().Add(confineTime))
	go func() {
		select {
		case <-ctx.Done():
		case <-kill:
		case <-done:
			return
		}
		n.hear.SetReadDeadline(time.Unix(1, 0))
	}()
	go func() { // ends at the latest when the child has
		json.NewEncoder(n.tell).Encode(n.order)
		n.tell.Close()
	}()
	in := json.NewDecoder(n.hear)
	var first, second answer
	if err := in.Decode(&first); err != nil {
		return &StartError{Failure: NotConfined, Program: n.order.Argv[0], Err: fmt.Errorf("foundry's own process did not answer: %w", err)}
	}
	if !first.Confined {
		return &StartError{Failure: NotConfined, Program: n.order.Argv[0], Err: errors.New(first.Text)}
	}
	switch err := in.Decode(&second); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return &StartError{Failure: NotConfined, Program: n.order.Argv[0], Err: fmt.Errorf("foundry's own process did not become the program: %w", err)}
	}
	return second.Errno
}

// ConfineMain is the process that becomes a confined program: it reads from Foundry which one, gives up its rights,
// and executes it. It returns only when that failed, which Foundry is told as well.
func ConfineMain() error {
	in, out := os.NewFile(orderFD, "order"), os.NewFile(answerFD, "answer")
	if in == nil || out == nil {
		return errors.New("this command is for foundry itself")
	}
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("this command is for foundry itself: %w", err)
	}
	in.Close()
	say := json.NewEncoder(out)
	if err := confineSelf(o.Write); err != nil {
		say.Encode(answer{Text: err.Error()})
		return err
	}
	if err := say.Encode(answer{Confined: true}); err != nil {
		return fmt.Errorf("answer foundry: %w", err)
	}
	err := become(o.Path, o.Argv)
	var number syscall.Errno
	if !errors.As(err, &number) {
		number = syscall.EINVAL
	}
	say.Encode(answer{Errno: number})
	return fmt.Errorf("start %s: %w", o.Path, err)
}
