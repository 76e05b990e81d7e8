package lsp

// JSON-RPC 2.0 as far as a language server meets it: what a message is, how it is answered, and which error says
// what.

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The codes of errors that a reply can have.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeNotInitialized = -32002
)

// rpcError is an answer that is no result.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

func failed(code int, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// message is what arrives. Without an id it is a notification, which has no answer; without a method it is an
// answer, of which this server expects none.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type reply struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type notification struct {
	Version string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

// parseMessage reads the body of a frame.
func parseMessage(body []byte) (message, *rpcError) {
	var m message
	if !json.Valid(body) {
		return m, failed(codeParse, "the message is not JSON")
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		return m, failed(codeInvalidRequest, "several messages in one are not understood")
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, failed(codeInvalidRequest, "the message is no request: %v", err)
	}
	if len(m.ID) > 0 && (m.ID[0] == '{' || m.ID[0] == '[' || m.ID[0] == 't' || m.ID[0] == 'f') {
		m.ID = nil
		return m, failed(codeInvalidRequest, "an id is a number or a string")
	}
	if m.Version != "2.0" {
		return m, failed(codeInvalidRequest, "the message is not JSON-RPC 2.0")
	}
	return m, nil
}

// send writes an answer or a notification. The first failure is kept: a client that is gone hears nothing more.
func (s *server) send(what any) {
	body, err := json.Marshal(what)
	if err != nil {
		panic("BUG: a message is no JSON: " + err.Error())
	}
	if s.broken == nil {
		s.broken = writeFrame(s.out, body)
	}
}

func (s *server) answer(id json.RawMessage, result any, err *rpcError) {
	r := reply{Version: "2.0", ID: id, Error: err}
	if len(id) == 0 {
		r.ID = json.RawMessage("null")
	}
	if err == nil {
		body, bad := json.Marshal(result)
		if bad != nil {
			panic("BUG: a result is no JSON: " + bad.Error())
		}
		r.Result = body
	}
	s.send(r)
}

func (s *server) notify(method string, params any) {
	s.send(notification{Version: "2.0", Method: method, Params: params})
}
