package lsp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"foundry/internal/cli"
)

// client is an editor as a script: it speaks the protocol with the server of the program, in this process. It has
// its own idea of frames and messages, so that what the two sides share is the protocol and nothing else.
type client struct {
	t      testing.TB
	to     *io.PipeWriter
	got    chan answer // what the server sent; closed at its end
	log    *safeBuffer
	status chan int
	id     int
	queue  []note // notifications that nobody has asked for yet
}

type note struct {
	Method string
	Params json.RawMessage
}

// safeBuffer is what the server says on its standard error.
type safeBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start starts a server without greeting it.
func start(t testing.TB) *client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	in, to := io.Pipe()
	from, out := io.Pipe()
	c := &client{t: t, to: to, got: make(chan answer, 1000), log: &safeBuffer{}, status: make(chan int, 1)}
	go c.listen(bufio.NewReader(from))
	go func() {
		status := cli.Main(ctx, []string{"foundry", "lsp"}, cli.Stdio{In: in, Out: out, Err: c.log})
		out.Close()
		c.status <- status
	}()
	t.Cleanup(func() {
		to.Close()
		from.Close()
		cancel()
		for range c.got { // to its end
		}
	})
	return c
}

// open starts a server and greets it with what an editor of today can do.
func open(t testing.TB, encodings ...string) *client {
	t.Helper()
	c := start(t)
	list, _ := json.Marshal(encodings)
	var result struct {
		Capabilities struct{ PositionEncoding string }
	}
	c.call("initialize", `{"processId":1,"capabilities":{"general":{"positionEncodings":`+string(list)+`},"textDocument":{
		"publishDiagnostics":{"relatedInformation":true},"hover":{"contentFormat":["markdown","plaintext"]},
		"completion":{"completionItem":{"documentationFormat":["markdown"]}}}}}`, &result)
	want := "utf-16"
	if len(encodings) > 0 {
		want = encodings[0]
	}
	if result.Capabilities.PositionEncoding != want {
		t.Fatalf("the encoding is %q, want %q", result.Capabilities.PositionEncoding, want)
	}
	c.tell("initialized", `{}`)
	return c
}

func (c *client) raw(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.to, text); err != nil {
		c.t.Fatalf("the server does not listen: %v\n%s", err, c.log)
	}
}

func (c *client) send(body string) {
	c.t.Helper()
	c.raw(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
}

func (c *client) tell(method, params string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// answer is what the server sends.
type answer struct {
	Version string `json:"jsonrpc"`
	ID      json.RawMessage
	Method  string
	Params  json.RawMessage
	Result  json.RawMessage
	Error   *struct {
		Code    int
		Message string
	}
}

// listen reads what the server sends, as editors do, whether or not anyone waits for it.
func (c *client) listen(from *bufio.Reader) {
	defer close(c.got)
	for {
		head, err := textproto.NewReader(from).ReadMIMEHeader()
		if err != nil {
			if err != io.EOF && !errors.Is(err, io.ErrClosedPipe) {
				c.t.Errorf("no frame: %v %v", head, err)
			}
			return
		}
		n, err := strconv.Atoi(head.Get("Content-Length"))
		if err != nil {
			c.t.Errorf("no length: %v", head)
			return
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(from, body); err != nil {
			c.t.Errorf("a message is cut short: %v", err)
			return
		}
		var a answer
		if err := json.Unmarshal(body, &a); err != nil || a.Version != "2.0" {
			c.t.Errorf("no message: %v\n%s", err, body)
			return
		}
		c.got <- a
	}
}

// receive is the next message; false when the server has ended.
func (c *client) receive() (answer, bool) {
	c.t.Helper()
	select {
	case a, ok := <-c.got:
		return a, ok
	case <-time.After(30 * time.Second):
		c.t.Fatalf("the server says nothing\n%s", c.log)
		return answer{}, false
	}
}

// ask sends a request and waits for its answer; notifications are kept.
func (c *client) ask(method, params string) answer {
	c.t.Helper()
	c.id++
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.id, method, params))
	for {
		a, ok := c.receive()
		switch {
		case !ok:
			c.t.Fatalf("%s: the server has ended\n%s", method, c.log)
		case a.Method != "":
			c.queue = append(c.queue, note{a.Method, a.Params})
		case string(a.ID) != strconv.Itoa(c.id):
			c.t.Fatalf("%s: the answer is for %s, and %d was asked", method, a.ID, c.id)
		default:
			return a
		}
	}
}

// call is ask for a request that must succeed.
func (c *client) call(method, params string, result any) {
	c.t.Helper()
	a := c.ask(method, params)
	if a.Error != nil {
		c.t.Fatalf("%s: %s\n%s", method, a.Error.Message, c.log)
	}
	if err := json.Unmarshal(a.Result, result); err != nil {
		c.t.Fatalf("%s: %v\n%s", method, err, a.Result)
	}
}

// next is the next notification of a method.
func (c *client) next(method string) json.RawMessage {
	c.t.Helper()
	for i, n := range c.queue {
		if n.Method == method {
			c.queue = append(c.queue[:i], c.queue[i+1:]...)
			return n.Params
		}
	}
	for {
		a, ok := c.receive()
		if !ok {
			c.t.Fatalf("the server has ended before %s\n%s", method, c.log)
		}
		if a.Method == method {
			return a.Params
		}
		c.queue = append(c.queue, note{a.Method, a.Params})
	}
}

// ended waits for the end of the server and returns its exit code.
func (c *client) ended() int {
	c.t.Helper()
	for {
		if _, ok := c.receive(); !ok {
			break
		}
	}
	select {
	case status := <-c.status:
		return status
	case <-time.After(20 * time.Second):
		c.t.Fatal("the server does not end")
		return 0
	}
}

type pos struct{ Line, Character int }

type span struct{ Start, End pos }

func (s span) String() string {
	return fmt.Sprintf("%d:%d-%d:%d", s.Start.Line, s.Start.Character, s.End.Line, s.End.Character)
}

type finding struct {
	Range    span
	Severity int
	Code     string
	Source   string
	Message  string
	Related  []struct {
		Location struct {
			URI   string
			Range span
		}
		Message string
	} `json:"relatedInformation"`
}

// findings waits for those of a version of a document.
func (c *client) findings(uri string, version int) []finding {
	c.t.Helper()
	for {
		var p struct {
			URI         string
			Version     *int
			Diagnostics []finding
		}
		if err := json.Unmarshal(c.next("textDocument/publishDiagnostics"), &p); err != nil {
			c.t.Fatal(err)
		}
		if p.URI == uri && (version < 0 || p.Version != nil && *p.Version == version) {
			return p.Diagnostics
		}
	}
}

func quote(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func (c *client) didOpen(uri, text string) {
	c.t.Helper()
	c.tell("textDocument/didOpen", fmt.Sprintf(`{"textDocument":{"uri":%q,"languageId":"yaml","version":1,"text":%s}}`, uri, quote(text)))
}

func (c *client) didChange(uri, text string, version int) {
	c.t.Helper()
	c.tell("textDocument/didChange", fmt.Sprintf(`{"textDocument":{"uri":%q,"version":%d},"contentChanges":[{"text":%s}]}`, uri, version, quote(text)))
}

// at are the parameters of a request about a position.
func at(uri string, p pos) string {
	return fmt.Sprintf(`{"textDocument":{"uri":%q},"position":{"line":%d,"character":%d}}`, uri, p.Line, p.Character)
}

type item struct {
	Label         string
	Detail        string
	Documentation *struct{ Value string }
	TextEdit      struct {
		Range   span
		NewText string
	}
}

func (c *client) complete(uri string, p pos) []item {
	c.t.Helper()
	var list struct{ Items []item }
	c.call("textDocument/completion", at(uri, p), &list)
	return list.Items
}

func labels(items []item) []string {
	var out []string
	for _, i := range items {
		out = append(out, i.Label)
	}
	return out
}

func (c *client) hover(uri string, p pos) (text string, r span) {
	c.t.Helper()
	var h *struct {
		Contents struct{ Value string }
		Range    span
	}
	c.call("textDocument/hover", at(uri, p), &h)
	if h == nil {
		return "", span{}
	}
	return h.Contents.Value, h.Range
}

type link struct {
	URI   string
	Range span
}

func (c *client) definition(uri string, p pos) []link {
	c.t.Helper()
	var out []link
	c.call("textDocument/definition", at(uri, p), &out)
	return out
}

// cut takes the cursor, written ‸, out of a text. Positions count UTF-16, as the tests' own ASCII texts do anyway.
func cut(t testing.TB, text string) (string, pos) {
	t.Helper()
	before, after, ok := strings.Cut(text, "‸")
	if !ok {
		t.Fatalf("there is no cursor in %q", text)
	}
	line := strings.Count(before, "\n")
	return before + after, pos{line, len(before) - strings.LastIndex(before, "\n") - 1}
}

// repository is a directory that looks like one, with a file in it for each name; it returns the URI of a name.
func repository(t testing.TB, files map[string]string) func(name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) string {
		return "file://" + filepath.ToSlash(filepath.Join(dir, filepath.FromSlash(name)))
	}
}
