package lsp_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"foundry/internal/cli"
)

const small = `version: 1
commands: {test: go test ./...}
pipelines:
  fix:
    phases:
      - id: build
        agent: builder
      - id: test
        command: test
        route: |
          on fail -> build retry 2
`

// TestConversation is one sitting: greet, open, break, mend, close, leave.
func TestConversation(t *testing.T) {
	t.Parallel()
	c := open(t)
	uri := repository(t, nil)("foundry.yaml")
	c.didOpen(uri, strings.ReplaceAll(small, "-> build", "-> biuld"))
	found := c.findings(uri, 1)
	at := slices.IndexFunc(found, func(f finding) bool { return f.Code == "unknown-phase" })
	if at < 0 {
		t.Fatalf("findings: %+v", found)
	}
	f := found[at]
	if f.Range.String() != "10:21-10:26" || f.Severity != 1 || f.Source != "foundry" {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(f.Message, `"biuld" is not defined`) || !strings.Contains(f.Message, `hint: did you mean "build"?`) {
		t.Errorf("message %q", f.Message)
	}
	c.didChange(uri, "version: [1\n", 2)
	if found := c.findings(uri, 2); len(found) != 1 || found[0].Code != "yaml-syntax" {
		t.Errorf("a broken text has the findings %+v", found)
	}
	c.didChange(uri, small, 3)
	for _, f := range c.findings(uri, 3) {
		if f.Severity == 1 && f.Code != "unknown-harness" {
			t.Errorf("a good text has %+v", f)
		}
	}
	c.tell("textDocument/didClose", `{"textDocument":{"uri":"`+uri+`"}}`)
	if found := c.findings(uri, -1); len(found) != 0 {
		t.Errorf("a closed document has %+v", found)
	}
	if a := c.ask("textDocument/hover", `{"textDocument":{"uri":"`+uri+`"},"position":{"line":0,"character":0}}`); a.Error == nil || a.Error.Code != -32602 {
		t.Errorf("hover in a closed document: %+v", a)
	}
	var null any
	c.call("shutdown", `null`, &null)
	if a := c.ask("textDocument/hover", `{}`); a.Error == nil || a.Error.Code != -32600 {
		t.Errorf("hover after shutdown: %+v", a)
	}
	c.tell("exit", `null`)
	if status := c.ended(); status != 0 {
		t.Errorf("exit %d\n%s", status, c.log)
	}
}

// TestRelatedPlaces: the other place of a finding is a related place.
func TestRelatedPlaces(t *testing.T) {
	t.Parallel()
	c := open(t)
	uri := repository(t, nil)("foundry.yaml")
	c.didOpen(uri, "version: 1\ndefault: a\ndefault: b\n")
	for _, f := range c.findings(uri, 1) {
		if f.Code != "duplicate-key" {
			continue
		}
		if len(f.Related) != 1 || f.Related[0].Location.URI != uri || f.Related[0].Location.Range.String() != "1:0-1:7" {
			t.Errorf("related: %+v", f.Related)
		}
		return
	}
	t.Error("no finding")
}

// TestErrors: what cannot be done is answered, and nothing of it ends the conversation.
func TestErrors(t *testing.T) {
	t.Parallel()
	c := start(t)
	code := func(body string) int {
		t.Helper()
		c.send(body)
		a, ok := c.receive()
		if !ok || a.Error == nil {
			t.Fatalf("%s: %+v", body, a)
		}
		return a.Error.Code
	}
	for _, tc := range []struct {
		body string
		want int
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":{}}`, -32002},
		{`{"jsonrpc":"2.0","id":2,"method":"initialize"}`, -32602},
		{`{"jsonrpc":"2.0","id":3,"method":"initialize","params":[]}`, -32602},
		{`{`, -32700},
		{``, -32700},
		{`[]`, -32600},
		{`"x"`, -32600},
		{`{}`, -32600},
		{`{"jsonrpc":"1.0","id":4,"method":"shutdown"}`, -32600},
		{`{"jsonrpc":"2.0","id":{"a":1},"method":"shutdown"}`, -32600},
		{`{"jsonrpc":"2.0","id":5,"method":7}`, -32600},
	} {
		if got := code(tc.body); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.body, got, tc.want)
		}
	}
	var nothing struct{}
	c.call("initialize", `{"capabilities":{}}`, &nothing)
	for _, tc := range []struct {
		body string
		want int
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, -32600},
		{`{"jsonrpc":"2.0","id":"a","method":"workspace/symbol","params":{}}`, -32601},
		{`{"jsonrpc":"2.0","id":null,"method":"nothing"}`, -32601},
		{`{"jsonrpc":"2.0","id":2,"method":"textDocument/completion"}`, -32602},
		{`{"jsonrpc":"2.0","id":3,"method":"textDocument/completion","params":{"textDocument":{"uri":"file:///x"},"position":{"line":"a"}}}`, -32602},
		{`{"jsonrpc":"2.0","id":4,"method":"textDocument/definition","params":{"textDocument":{"uri":"file:///x"},"position":{"line":1,"character":1}}}`, -32602},
	} {
		if got := code(tc.body); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.body, got, tc.want)
		}
	}
	// None of these has an answer.
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":"off"}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`,
		`{"jsonrpc":"2.0","id":9,"result":null}`,
		`{"jsonrpc":"2.0","method":"textDocument/didOpen"}`,
		`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///x"},"contentChanges":[]}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didChange","params":7}`,
		`{"jsonrpc":"2.0","method":"textDocument/didClose","params":{"textDocument":{"uri":"file:///x"}}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didSave"}`,
	} {
		c.send(body)
	}
	var null json.RawMessage
	c.call("shutdown", `null`, &null)
	c.tell("exit", `null`)
	if status := c.ended(); status != 0 {
		t.Errorf("exit %d", status)
	}
}

// TestEndings: what a client does instead of leaving politely.
func TestEndings(t *testing.T) {
	t.Parallel()
	t.Run("exit without shutdown", func(t *testing.T) {
		t.Parallel()
		c := open(t)
		c.tell("exit", `null`)
		if status := c.ended(); status != 1 {
			t.Errorf("exit %d", status)
		}
	})
	t.Run("the stream ends", func(t *testing.T) {
		t.Parallel()
		c := open(t)
		c.to.Close()
		if status := c.ended(); status != 0 {
			t.Errorf("exit %d: %s", status, c.log)
		}
	})
	t.Run("the stream ends in a message", func(t *testing.T) {
		t.Parallel()
		c := open(t)
		c.raw("Content-Length: 100\r\n\r\n{")
		c.to.Close()
		if status := c.ended(); status != 3 || !strings.Contains(c.log.String(), "unexpected EOF") {
			t.Errorf("exit %d: %s", status, c.log)
		}
	})
	t.Run("no frame", func(t *testing.T) {
		t.Parallel()
		c := open(t)
		c.raw("{\"jsonrpc\":\"2.0\"}\r\n\r\n")
		if status := c.ended(); status != 3 || !strings.Contains(c.log.String(), "no header") && !strings.Contains(c.log.String(), "Content-Length") {
			t.Errorf("exit %d: %s", status, c.log)
		}
	})
}

// TestArguments: the command takes none, but some editors say --stdio to every server.
func TestArguments(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]int{"--stdio": 0, "--socket=1": 2, "foundry.yaml": 2} {
		var out, log bytes.Buffer
		if status := cli.Main(t.Context(), []string{"foundry", "lsp", arg}, cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &log}); status != want || out.Len() > 0 {
			t.Errorf("%s: exit %d, %q", arg, status, out.String())
		}
	}
}

// TestEncodings: a character outside the basic plane stands before the mistake.
func TestEncodings(t *testing.T) {
	t.Parallel()
	text := "version: 1\nx-a: {\"\U0001d11e\": é, b: *zzz}\ncommands: {\"\U0001d11e\": a}\n"
	for encoding, want := range map[string]string{"utf-16": "2:11-2:15", "utf-8": "2:11-2:17", "utf-32": "2:11-2:14"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			var c *client
			if encoding == "utf-16" {
				c = open(t)
			} else {
				c = open(t, encoding, "utf-16")
			}
			uri := repository(t, nil)("foundry.yaml")
			c.didOpen(uri, strings.Replace(text, "*zzz", "c", 1))
			for _, f := range c.findings(uri, 1) {
				if f.Code == "bad-id" {
					if f.Range.String() != want {
						t.Errorf("%s, want %s", f.Range, want)
					}
					return
				}
			}
			t.Error("no finding")
		})
	}
}
