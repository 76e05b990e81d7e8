package secret

import "bytes"

// Stream masks what comes in pieces, with the outcome that the whole at once would have. What may be the beginning
// of a value is held back until it is known. It is not for concurrent use.
type Stream struct {
	mask *Mask
	held []byte
}

// Stream begins a stream; of a nil Mask it lets everything through.
func (m *Mask) Stream() *Stream { return &Stream{mask: m} }

// Write takes a piece and returns what can be passed on, which is good until the next call and may be p itself.
func (s *Stream) Write(p []byte) []byte {
	if s.mask == nil {
		return p
	}
	if len(s.held) > 0 {
		p = append(s.held, p...)
	}
	until := s.mask.undecided(p)
	out := s.mask.Bytes(p[:until])
	s.held = append([]byte(nil), p[until:]...)
	return out
}

// Flush returns what was held back, at the end of the stream.
func (s *Stream) Flush() []byte {
	rest := s.held
	s.held = nil
	return s.mask.Bytes(rest)
}

// undecided returns from where on it takes more to say what p holds: the first place, of those that no value before it
// covers, at which a form begins and does not end.
func (m *Mask) undecided(p []byte) int {
	near := max(0, len(p)-m.longest+1) // before it, every form that begins has its end in p
	for i := 0; i < len(p); {
		if i < near {
			if i = m.next(p, i); i >= near {
				i = near // what next passed over begins no form
				continue
			}
		} else if m.begins(p[i:]) {
			return i
		}
		if i+1 < len(p) && m.starts[start(p[i:])] {
			if f := m.at(p[i:]); f != nil {
				i += len(f.text)
				continue
			}
		}
		i++
	}
	return len(p)
}

// begins reports whether p is the beginning of a form and shorter than it.
func (m *Mask) begins(p []byte) bool {
	if len(p) > 1 && !m.starts[start(p)] {
		return false
	}
	for _, f := range m.forms {
		if len(f.text) <= len(p) {
			return false // the forms that follow are no longer
		}
		if bytes.HasPrefix(f.text, p) {
			return true
		}
	}
	return false
}
