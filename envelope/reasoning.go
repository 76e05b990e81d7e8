package envelope

import "strings"

// What a model thinks aloud is not its report. Some agents leave it in the reply between tags; sometimes the
// opening one is lost, sometimes the closing one.

// reasoning are the names of the tags.
var reasoning = [...]string{"think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad"}

// tag looks at a "<": reasoning is skipped whole. Inside a fence a tag is text.
func (s *scanner) tag() {
	start := s.pos
	s.pos++
	if s.fence.width > 0 {
		return
	}
	name, closing, end := reasoningTag(s.text[start:])
	if name == "" {
		return
	}
	end += start
	if closing {
		// Its opening tag is missing: all before it is reasoning. In the middle of a line it is a word.
		if atLineStart(s.text, start) || atLineEnd(s.text, end) {
			s.found, s.fence = findings{}, fence{}
			s.pos = end
		}
		return
	}
	if after := s.closingTag(name, end); after >= 0 {
		s.pos = after
	} else if atLineStart(s.text, start) {
		s.cutIn("its reasoning")
	}
}

// reasoningTag reads a tag at the start of text: its name, "" when it is no tag of reasoning, whether it
// closes, and where it ends.
func reasoningTag(text string) (name string, closing bool, end int) {
	i := 1
	if i < len(text) && text[i] == '/' {
		closing = true
		i++
	}
	from := i
	for i < len(text) && i-from < 16 && ('a' <= text[i]|0x20 && text[i]|0x20 <= 'z') {
		i++
	}
	for _, n := range reasoning {
		if !strings.EqualFold(text[from:i], n) {
			continue
		}
		rest := text[i:min(len(text), i+200)]
		close := strings.IndexAny(rest, "<>\n")
		if close < 0 || rest[close] != '>' || close > 0 && rest[0] != ' ' {
			return "", false, 0
		}
		return n, closing, i + close + 1
	}
	return "", false, 0
}

// closingTag is the place after the next tag that closes name; -1 when there is none.
func (s *scanner) closingTag(name string, from int) int {
	if s.noClose[name] {
		return -1
	}
	for {
		i := strings.Index(s.text[from:], "</")
		if i < 0 {
			s.noClose[name] = true
			return -1
		}
		from += i
		if n, _, end := reasoningTag(s.text[from:]); n == name {
			return from + end
		}
		from += 2
	}
}

func atLineStart(text string, i int) bool {
	before := strings.TrimRight(text[:i], " \t\r\ufeff")
	return before == "" || strings.HasSuffix(before, "\n")
}

func atLineEnd(text string, i int) bool {
	after := strings.TrimLeft(text[i:], " \t\r")
	return after == "" || after[0] == '\n'
}
