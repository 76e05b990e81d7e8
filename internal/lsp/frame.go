package lsp

// The framing: each message is a header that says how many bytes follow, an empty line, and those bytes. A header
// that cannot be read ends the conversation, since nobody knows where the next message begins; a message that is
// too large is read past and reported, and the conversation goes on.

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	maxMessage = 64 << 20 // bytes; the largest pipeline file takes a fraction of it
	maxHeader  = 8 << 10  // bytes, of all header lines of a message together
)

// errTooLarge says that a message was left out. Reading can go on.
var errTooLarge = errors.New("the message is too large")

// frames reads messages from a stream.
type frames struct{ in *bufio.Reader }

func newFrames(in io.Reader) *frames { return &frames{bufio.NewReaderSize(in, maxHeader)} }

// next returns the bytes of the next message. At the end of the stream it returns io.EOF; within a message that
// is io.ErrUnexpectedEOF. After errTooLarge it can be called again, after any other error not.
func (f *frames) next() ([]byte, error) {
	size, err := f.header()
	if err != nil {
		return nil, err
	}
	if size > maxMessage {
		if _, err := io.CopyN(io.Discard, f.in, size); err != nil {
			return nil, cutShort(err)
		}
		return nil, fmt.Errorf("%w: %d bytes, and %d are the most", errTooLarge, size, maxMessage)
	}
	var body bytes.Buffer // grows with what arrives, whatever the header promised
	if _, err := io.CopyN(&body, f.in, size); err != nil {
		return nil, cutShort(err)
	}
	return body.Bytes(), nil
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// header reads up to the empty line and returns the length of the message.
func (f *frames) header() (int64, error) {
	size, read := int64(-1), 0
	for {
		line, err := f.in.ReadSlice('\n')
		read += len(line)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) || read > maxHeader:
			return 0, fmt.Errorf("the header of a message is longer than %d bytes", maxHeader)
		case errors.Is(err, io.EOF) && read == 0:
			return 0, io.EOF
		case err != nil:
			return 0, cutShort(err)
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			if size < 0 {
				return 0, errors.New("the header of a message has no Content-Length")
			}
			return size, nil
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return 0, fmt.Errorf("the header of a message has the line %.80q, which is no header", text)
		}
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 62)
		if err != nil {
			return 0, fmt.Errorf("Content-Length is %.80q, which is no number of bytes", strings.TrimSpace(value))
		}
		if size >= 0 && int64(n) != size {
			return 0, errors.New("the header of a message has two lengths")
		}
		size = int64(n)
	}
}

// writeFrame writes one message in one write.
func writeFrame(out io.Writer, body []byte) error {
	head := "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	_, err := out.Write(append([]byte(head), body...))
	return err
}
