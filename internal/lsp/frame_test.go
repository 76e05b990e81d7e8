package lsp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFrames(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in string
		want     []string
		end      string
	}{
		{"nothing", "", nil, "EOF"},
		{"two", "Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]", []string{"{}", "[1]"}, "EOF"},
		{"other headers", "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:2\r\n\r\n{}", []string{"{}"}, "EOF"},
		{"plain line breaks", "Content-Length: 2\n\n{}", []string{"{}"}, "EOF"},
		{"an empty message", "Content-Length: 0\r\n\r\n", []string{""}, "EOF"},
		{"the same length twice", "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", []string{"{}"}, "EOF"},
		{"no length", "Content-Type: x\r\n\r\n{}", nil, "no Content-Length"},
		{"no header", "{}\r\n\r\n", nil, "no header"},
		{"no number", "Content-Length: two\r\n\r\n{}", nil, "no number of bytes"},
		{"a negative number", "Content-Length: -2\r\n\r\n{}", nil, "no number of bytes"},
		{"a number with a sign", "Content-Length: +2\r\n\r\n{}", nil, "no number of bytes"},
		{"two lengths", "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", nil, "two lengths"},
		{"a header without end", strings.Repeat("A: b\r\n", 2000), nil, "longer than"},
		{"a line without end", "A: " + strings.Repeat("b", 20_000), nil, "longer than"},
		{"a header cut short", "Content-Length: 2\r\n", nil, "unexpected EOF"},
		{"a body cut short", "Content-Length: 5\r\n\r\n{}", nil, "unexpected EOF"},
		{"a promise that is not kept", "Content-Length: 60000000\r\n\r\n{}", nil, "unexpected EOF"},
		{"too large and cut short", "Content-Length: 70000000\r\n\r\n{}", nil, "unexpected EOF"},
	} {
		for _, slow := range []bool{false, true} {
			var in io.Reader = strings.NewReader(tc.in)
			if slow {
				in = iotest.OneByteReader(in)
			}
			f := newFrames(in)
			var got []string
			var err error
			for {
				var body []byte
				if body, err = f.next(); err != nil {
					break
				}
				got = append(got, string(body))
			}
			if fmt.Sprint(got) != fmt.Sprint(tc.want) || !strings.Contains(err.Error(), tc.end) {
				t.Errorf("%s: %q and %v", tc.name, got, err)
			}
			if tc.end == "EOF" && err != io.EOF {
				t.Errorf("%s: the end is %v", tc.name, err)
			}
		}
	}
}

// TestLargeMessage: one that is too large is read past.
func TestLargeMessage(t *testing.T) {
	t.Parallel()
	const size = maxMessage + 1
	in := io.MultiReader(strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n", size)), io.LimitReader(zeros{}, size),
		strings.NewReader("Content-Length: 2\r\n\r\n{}"))
	f := newFrames(in)
	if _, err := f.next(); !errors.Is(err, errTooLarge) {
		t.Fatalf("%v", err)
	}
	if body, err := f.next(); err != nil || string(body) != "{}" {
		t.Errorf("behind it stands %q, %v", body, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestWriteFrame: what is written can be read, and is written at once.
func TestWriteFrame(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, body := range []string{"{}", "", "äöü"} {
		if err := writeFrame(&out, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	f := newFrames(&out)
	for _, want := range []string{"{}", "", "äöü"} {
		if body, err := f.next(); err != nil || string(body) != want {
			t.Errorf("%q, %v", body, err)
		}
	}
	if err := writeFrame(errWriter{}, nil); err == nil {
		t.Error("a writer that fails is no error")
	}
}

type errWriter struct{}

func (errWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// FuzzFrames: whatever arrives, reading ends; every message is as long as its header says, and stands in the
// input.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		"Content-Length: 2\r\n\r\n{}", "Content-Length: 2\r\nContent-Type: x\r\n\r\n{}Content-Length: 0\n\n", "\r\n\r\n", "Content-Length: 9223372036854775807\r\n\r\n",
		"Content-Length: 18446744073709551615\r\n\r\n", "content-length : 1\r\n\r\n ", ":\r\n\r\n", "Content-Length: 5\r\n\r\n{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		frames := newFrames(bytes.NewReader(in))
		rest := in
		for range len(in) + 1 {
			body, err := frames.next()
			if errors.Is(err, errTooLarge) {
				t.Fatal("an input of this size holds no message that is too large")
			}
			if err != nil {
				return
			}
			at := bytes.Index(rest, body)
			if at < 0 {
				t.Fatalf("%q is not in %q", body, rest)
			}
			rest = rest[at+len(body):]
		}
		t.Fatal("reading does not end")
	})
}

// FuzzMessage: whatever a frame holds, it is a message or an error.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{`{"jsonrpc":"2.0","id":1,"method":"x"}`, `[]`, `{`, `null`, `{"jsonrpc":"2.0","id":[]}`, `"x"`, `{"id":{},"id":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := parseMessage(body)
		if err == nil && m.Version != "2.0" {
			t.Errorf("%s is taken for a message", body)
		}
	})
}
