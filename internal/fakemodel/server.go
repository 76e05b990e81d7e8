// Package fakemodel is a model provider for tests: a server on the loopback that speaks as much of the APIs of
// Anthropic (messages), OpenAI (responses, chat completions) and Google (generateContent) as real coding agents need,
// answers by a script, and counts what it has served, so that a test can compare. Nothing but tests uses it.
package fakemodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server is a running provider.
type Server struct {
	// URL is its root, http://127.0.0.1:PORT.
	URL string

	script func(Request) Answer
	http   *http.Server
	done   chan struct{}

	mu       sync.Mutex
	counted  Counts
	failures []string
	serial   int
}

// Counts is what a server has served. Input has cached tokens in it, as far as they are counted at all.
type Counts struct {
	Requests   int // answered with a status of 200
	Refused    int // answered with another status
	Input      int
	CacheRead  int
	CacheWrite int
	Output     int
}

// start starts a server on a free port. script, which is called by several goroutines, says what is answered; nil is
// Markers.
func start(script func(Request) Answer) (*Server, error) {
	if script == nil {
		script = Markers
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the fake model: %w", err)
	}
	s := &Server{URL: "http://" + listener.Addr().String(), script: script, done: make(chan struct{})}
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.fail("serve: " + err.Error())
		}
	}()
	return s, nil
}

// close ends the server and every answer under way.
func (s *Server) close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// Counted is what was served so far.
func (s *Server) Counted() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counted
}

// failed are requests that the server did not understand: a test that sees one has a fake that is out of date.
func (s *Server) failed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.failures...)
}

func (s *Server) fail(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, text)
}

// object is a piece of JSON.
type object = map[string]any

// dialect is how one API writes: what of a request means what, and how an answer is sent.
type dialect struct {
	read   func(body object) Request
	refuse func(status int) object
	answer func(*reply)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return // the agent went away
	}
	path := r.URL.Path
	switch {
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK)
		return
	case strings.HasSuffix(path, "/count_tokens"):
		send(w, http.StatusOK, object{"input_tokens": 1000})
		return
	case strings.Contains(path, ":countTokens"):
		send(w, http.StatusOK, object{"totalTokens": 1000})
		return
	case r.Method == http.MethodGet && strings.HasSuffix(path, "/models"):
		send(w, http.StatusOK, object{"object": "list", "data": []object{{"id": "fake-model", "object": "model", "type": "model", "display_name": "Fake", "created": 1, "owned_by": "fake"}}})
		return
	}
	d, known := dialectOf(r.Method, path)
	var in object
	if !known || json.Unmarshal(body, &in) != nil {
		s.fail(fmt.Sprintf("%s %s, %d bytes", r.Method, path, len(body)))
		send(w, http.StatusNotFound, object{"error": object{"type": "not_found_error", "message": "the fake model has no such path"}})
		return
	}
	req := d.read(in)
	req.Model, _ = in["model"].(string)
	a := s.script(req)
	s.mu.Lock()
	s.serial++
	serial := s.serial
	if a.Status != 0 {
		s.counted.Refused++
	}
	s.mu.Unlock()
	if a.Status != 0 {
		for name, value := range a.Headers {
			w.Header().Set(name, value)
		}
		send(w, a.Status, d.refuse(a.Status))
		return
	}
	p := &reply{s: s, w: w, r: r, id: strconv.Itoa(serial), model: req.Model, answer: a, stream: in["stream"] == true || strings.Contains(path, ":stream")}
	p.call = a.Call.fit(req.offered)
	p.usage = Counts{Requests: 1, Input: 1012 + 10*len(req.Messages), CacheRead: 7, CacheWrite: 5, Output: 42}
	d.answer(p)
}

func dialectOf(method, path string) (dialect, bool) {
	switch {
	case method != http.MethodPost:
	case strings.HasSuffix(path, "/messages"):
		return anthropic, true
	case strings.HasSuffix(path, "/responses"):
		return responses, true
	case strings.HasSuffix(path, "/chat/completions"):
		return chat, true
	case strings.Contains(path, "enerateContent"):
		return gemini, true
	}
	return dialect{}, false
}

func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // an agent that went away is no concern of the test
}

// reply is an answer under way.
type reply struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	id     string
	model  string
	answer Answer
	call   *call // nil: none, or no tool that could do it was offered
	stream bool
	usage  Counts
	begun  bool
}

// whole sends an answer that is not streamed.
func (p *reply) whole(v object) {
	if p.answer.HangUp {
		panic(http.ErrAbortHandler)
	}
	p.count()
	send(p.w, http.StatusOK, v)
}

// event sends a piece of a stream. name "" is none.
func (p *reply) event(name string, v any) {
	if !p.begun {
		p.begun = true
		p.w.Header().Set("Content-Type", "text/event-stream")
		p.w.WriteHeader(http.StatusOK)
	}
	line, err := json.Marshal(v)
	if err != nil {
		panic("BUG: fakemodel: " + err.Error())
	}
	if name != "" {
		fmt.Fprintf(p.w, "event: %s\n", name)
	}
	fmt.Fprintf(p.w, "data: %s\n\n", line)
	p.flush()
}

func (p *reply) flush() {
	if f, ok := p.w.(http.Flusher); ok {
		f.Flush()
	}
}

// text streams the answer's words in pieces, and says whether the stream goes on after them. A slow answer first
// waits, with a word now and then; one that hangs up breaks off in the middle.
func (p *reply) text(piece func(string)) bool {
	for end := time.Now().Add(p.answer.Slow); time.Now().Before(end); {
		select {
		case <-p.r.Context().Done():
			return false
		case <-time.After(100 * time.Millisecond):
			piece("… ")
		}
	}
	text := p.answer.Text
	for len(text) > 0 {
		n := min(len(text), 24)
		piece(text[:n])
		text = text[n:]
		if p.answer.HangUp {
			panic(http.ErrAbortHandler) // cuts the connection without an end
		}
	}
	return p.r.Context().Err() == nil
}

// count adds the answer to what was served.
func (p *reply) count() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	c := &p.s.counted
	c.Requests++
	c.Input += p.usage.Input
	c.CacheRead += p.usage.CacheRead
	c.CacheWrite += p.usage.CacheWrite
	c.Output += p.usage.Output
}
