package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// This file reads protocols of one JSON message a line, from programs that also print other things: banners,
// colours, two messages on one line, a last line without its end.

// lineLimit is how many bytes a line of a protocol may have. Agents put whole files into one.
const lineLimit = 64 << 20

// splitter cuts a stream into lines at LF, and at LF only: other ends of lines may stand inside a message.
type splitter struct {
	limit int
	part  []byte
	line  func([]byte) // gets each line without its LF; it may keep the slice
	long  error        // set once a line was longer than limit; what follows is dropped
}

func (s *splitter) write(p []byte) {
	for len(p) > 0 && s.long == nil {
		end := bytes.IndexByte(p, '\n')
		piece, rest := p, []byte(nil)
		if end >= 0 {
			piece, rest = p[:end], p[end+1:]
		}
		if len(s.part)+len(piece) > s.limit {
			s.part, s.long = nil, fmt.Errorf("it printed a line of more than %d MiB, which is the limit of a message", s.limit>>20)
			return
		}
		s.part = append(s.part, piece...)
		if end >= 0 {
			s.flush()
		}
		p = rest
	}
}

// flush hands out what has come of a line, as at the end of the stream.
func (s *splitter) flush() {
	if len(s.part) > 0 && s.long == nil {
		s.line(s.part)
	}
	s.part = nil
}

// guesses is how many braces of one line are tried as the beginning of a message, so that a line of nothing but
// braces is not read again and again.
const guesses = 64

// messages finds the JSON objects on a line. What stands around them, a banner, colours, the rest of a message that
// was cut off, is passed over.
func messages(line []byte) []json.RawMessage {
	line = bytes.TrimSpace(line)
	if len(line) > 0 && line[0] == '{' && json.Valid(line) { // nearly every line
		return []json.RawMessage{line}
	}
	line = []byte(cleanText(string(line)))
	var out []json.RawMessage
	for range guesses {
		at := bytes.IndexByte(line, '{')
		if at < 0 {
			break
		}
		line = line[at:]
		dec := json.NewDecoder(bytes.NewReader(line))
		var m json.RawMessage
		if err := dec.Decode(&m); err != nil {
			line = line[1:]
			continue
		}
		out = append(out, m)
		line = line[dec.InputOffset():]
	}
	return out
}
