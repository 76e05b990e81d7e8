// Package lsp owns the language server: what an editor is told about a pipeline file while it is being written.
//
// The server speaks JSON-RPC over two streams (frame.go, rpc.go) and handles one message after the other. It keeps
// the text of each open document (documents.go), publishes every finding of lint for it (publish.go), and answers
// what stands at a place, where that is defined, and what could stand there (answer.go). A file is at its most
// interesting while it does not parse, so places are found in an outline that never fails (outline.go), followed
// through the table of keys (table.go, view.go) to what could stand there (offer.go and its kind). It starts
// nothing, writes nothing but messages, and reads no file itself.
package lsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
)

// server is one conversation. It is used by one goroutine.
type server struct {
	config Config
	out    io.Writer
	table  *table
	broken error // the first failure of writing

	stage         stage
	encoding      encoding
	relates       bool // the client shows related places
	markdownHover bool
	markdownItems bool

	documents map[string]*document
	findings  map[key][]diagnostic
}

// stage is how far a conversation has come.
type stage uint8

const (
	starting stage = iota + 1 // nothing but initialize is answered
	running
	closing // shutdown was asked for; nothing but exit is left
	ended
)

// ErrNoShutdown says that a client told the server to exit without having asked it to shut down.
var ErrNoShutdown = errors.New("the client ended the conversation without a shutdown")

// Serve carries on a conversation until the client ends it, closes the stream, or ctx is cancelled. It returns nil
// when the client ended it as it should or closed the stream between two messages.
func Serve(ctx context.Context, c Config) error {
	s := &server{config: c, out: c.Out, table: newTable(c.Words), stage: starting, encoding: utf16,
		documents: map[string]*document{}, findings: map[key][]diagnostic{}}
	incoming := make(chan frame)
	stop := make(chan struct{})
	defer close(stop)
	go receive(newFrames(c.In), incoming, stop) // ends with the stream, or with the next message after stop
	for s.stage != ended {
		f, err := s.next(ctx, incoming)
		if err != nil {
			return err
		}
		switch {
		case errors.Is(f.err, io.EOF):
			s.protect("check", s.checkDue) // a client may send everything first and read then
			return s.broken
		case errors.Is(f.err, errTooLarge):
			s.answer(nil, nil, failed(codeInvalidRequest, "%v", f.err))
		case f.err != nil:
			return fmt.Errorf("read a message: %w", f.err)
		default:
			if err := s.handle(f.body); err != nil {
				return err
			}
		}
		if s.broken != nil {
			return fmt.Errorf("write a message: %w", s.broken)
		}
	}
	return nil
}

// frame is a message, or why there is none.
type frame struct {
	body []byte
	err  error
}

// receive reads messages until there are no more.
func receive(in *frames, to chan<- frame, stop <-chan struct{}) {
	for {
		body, err := in.next()
		select {
		case to <- frame{body, err}:
		case <-stop:
			return
		}
		if err != nil && !errors.Is(err, errTooLarge) {
			return
		}
	}
}

// next waits for a message. While none is waiting, the documents that have changed are checked, so that a client
// that types faster than that is not kept waiting for findings that nobody will see.
func (s *server) next(ctx context.Context, incoming <-chan frame) (frame, error) {
	select {
	case f := <-incoming:
		return f, nil
	default:
	}
	s.protect("check", s.checkDue)
	select {
	case f := <-incoming:
		return f, nil
	case <-ctx.Done():
		return frame{}, ctx.Err()
	}
}

// checkDue publishes the findings of all documents that have changed.
func (s *server) checkDue() {
	for _, uri := range s.openURIs() {
		if d := s.documents[uri]; d.due {
			s.check(d)
		}
	}
}

// handle carries out one message. The error ends the conversation.
func (s *server) handle(body []byte) error {
	m, bad := parseMessage(body)
	if bad != nil {
		s.answer(m.ID, nil, bad)
		return nil
	}
	if m.Method == "exit" {
		if s.stage != closing {
			return ErrNoShutdown
		}
		s.stage = ended
		return nil
	}
	if m.ID == nil {
		if m.Method != "" {
			s.protect(m.Method, func() { s.notified(m) })
		}
		return nil
	}
	if m.Method == "" {
		return nil // an answer, and nothing was asked
	}
	var result any
	err := failed(codeInternal, "%s failed; the server's log says more", m.Method)
	s.protect(m.Method, func() { result, err = s.request(m) })
	s.answer(m.ID, result, err)
	return nil
}

// protect keeps the editor's other documents alive when one message meets a mistake in this program.
func (s *server) protect(what string, do func()) {
	defer func() {
		if r := recover(); r != nil {
			s.logf("%s: %v\n%s", what, r, debug.Stack())
		}
	}()
	do()
}

// logf writes a line to the log, which a client shows to those who look for it.
func (s *server) logf(format string, args ...any) {
	fmt.Fprintf(s.config.Log, "foundry lsp: %s\n", fmt.Sprintf(format, args...))
}
