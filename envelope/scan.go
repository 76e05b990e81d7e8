package envelope

import (
	"slices"
	"strings"
)

// A reply is prose with objects in it: templates that the agent repeats, drafts, files it shows, and the
// report. The scan finds every object at the top level, in order, whether it stands in a fence or not, and
// looks into none of them: a fence or a tag inside a string is data. It goes through the text once; a brace
// that begins no object costs a step, and a budget ends the few texts that would cost more.

// candidate is a JSON object at the top level of a reply, or the only element of a list there.
type candidate struct {
	object   node
	number   int // among all of them, from 1
	start    int
	repaired repairs
}

// trouble is an object that is evidently meant as a report and cannot be read.
type trouble struct {
	start   int
	message string
}

// findings is what a reply holds.
type findings struct {
	candidates []candidate // those that can be the report, however wrong
	count      int         // of all objects
	last       candidate   // the last of all objects, when count is not 0
	broken     []trouble
	cut        bool   // after the last candidate something begins that the text does not end
	where      string // what it was cut in
	nearest    syntax // of all that is no object, the one that came furthest
	reach      int    // how far that was; 0: there is none
	exhausted  bool   // the scan gave up
}

// scanner goes through one reply.
type scanner struct {
	kind    *Kind
	text    string
	pos     int
	fence   fence
	noClose map[string]bool // reasoning tags that nothing closes any more
	work    int             // bytes read by attempts
	found   findings
}

// fence is the code fence that the scan is in; width 0 is none.
type fence struct {
	mark  byte
	width int
	start int
	body  int  // where its content begins
	info  bool // something follows the opening marks
}

const byteOrderMark = "\ufeff"

// scan finds what text holds; the kind tells a broken report from other broken objects.
func scan(k *Kind, text string) findings {
	s := &scanner{kind: k, text: text, noClose: make(map[string]bool)}
	if strings.HasPrefix(text, byteOrderMark) {
		s.pos = len(byteOrderMark)
	}
	s.line()
	for s.pos < len(text) && !s.stopped() {
		switch text[s.pos] {
		case '\n':
			s.pos++
			s.line()
		case '{':
			s.object()
		case '[':
			s.list()
		case '<':
			s.tag()
		default:
			s.pos++
		}
	}
	s.unfinishedFence()
	return s.found
}

func (s *scanner) stopped() bool { return s.found.cut || s.found.exhausted }

// attempt makes a reader at the current place, unless the budget is used up: what was read and thrown away
// may be a few times the text, not its square.
func (s *scanner) attempt() *reader {
	if s.work > 16*len(s.text)+1<<16 {
		s.found.exhausted = true
		return nil
	}
	return &reader{source: s.text, pos: s.pos, lenient: true, fields: s.kind.Fields}
}

// object tries to read an object at the current place.
func (s *scanner) object() {
	r := s.attempt()
	if r == nil {
		return
	}
	start := s.pos
	var n node
	ok := r.object(&n)
	s.work += r.pos - start
	switch {
	case ok:
		s.add(n, r)
	case r.bad.fault == endOfText:
		s.cutIn("an object")
	case r.sawField:
		s.found.broken = append(s.found.broken, trouble{start, "the report is not valid JSON: " + r.bad.describe(s.text)})
		s.skip(start)
	default:
		s.skipWrong(r)
	}
}

// list tries to read a list at the current place: one that holds nothing but an object counts as the object.
func (s *scanner) list() {
	r := s.attempt()
	if r == nil {
		return
	}
	start := s.pos
	var n node
	ok := r.list(&n)
	s.work += r.pos - start
	switch {
	case ok && len(n.kids) == 1 && n.kids[0].shape == object:
		s.add(n.kids[0], r)
	case ok:
		if slices.ContainsFunc(n.kids, func(e node) bool { return meantAsReport(s.kind, e) }) {
			s.found.broken = append(s.found.broken, trouble{start, "the report stands in a list with other things, send one object"})
		}
		s.pos = r.pos
	case r.bad.fault == endOfText && len(n.kids) > 0 && n.kids[0].shape == object:
		s.cutIn("a list of objects")
	default:
		s.skipWrong(r)
	}
}

// add counts an object that r has read, and steps over it.
func (s *scanner) add(n node, r *reader) {
	s.found.count++
	s.found.last = candidate{n, s.found.count, s.pos, r.repaired}
	if meantAsReport(s.kind, n) || complete(s.kind, n) {
		s.found.candidates = append(s.found.candidates, s.found.last)
	}
	s.pos = r.pos
}

func (s *scanner) cutIn(what string) {
	s.found.cut, s.found.where = true, what
}

// skipWrong steps over a bracket that begins nothing.
func (s *scanner) skipWrong(r *reader) {
	if r.bad.fault != endOfText && r.pos-s.pos > s.found.reach {
		s.found.nearest, s.found.reach = r.bad, r.pos-s.pos
	}
	if r.bad.fault == tooDeep {
		s.pos = r.bad.at // a run of brackets is as wrong from each of them
		return
	}
	s.pos++
}

// skip steps over a broken object, by its brackets, so that nothing inside it is taken for a report. When
// they do not balance the rest of the text may be inside.
func (s *scanner) skip(start int) {
	depth, quoted := 0, false
	for i := start; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				s.pos = i + 1
				return
			}
		}
	}
	s.pos = len(s.text)
}

// line looks for a fence at the start of a line.
func (s *scanner) line() {
	i := s.pos
	for i < len(s.text) && (s.text[i] == ' ' || s.text[i] == '\t') {
		i++
	}
	if i == len(s.text) || s.text[i] != '`' && s.text[i] != '~' {
		return
	}
	mark, start := s.text[i], i
	for i < len(s.text) && s.text[i] == mark {
		i++
	}
	width := i - start
	if width < 3 {
		return
	}
	end := strings.IndexByte(s.text[i:], '\n')
	if end < 0 {
		end = len(s.text) - i
	}
	info := strings.TrimSpace(s.text[i : i+end])
	switch {
	case s.fence.width == 0:
		if mark == '`' && strings.Contains(info, "`") {
			return // code within a line
		}
		s.fence = fence{mark: mark, width: width, start: start, body: i + end, info: info != ""}
	case mark == s.fence.mark && width >= s.fence.width && info == "":
		s.fence = fence{}
	default:
		return
	}
	s.pos = i // what follows the marks is scanned: an object may stand on the same line
}

// unfinishedFence notices that the text ends inside a fence that began after the last candidate. Bare marks
// at the very end are a closing fence too many, not the beginning of something.
func (s *scanner) unfinishedFence() {
	f := s.fence
	if f.width == 0 || s.stopped() || s.found.count > 0 && f.start < s.found.last.start {
		return
	}
	if f.info || strings.TrimSpace(s.text[f.body:]) != "" {
		s.cutIn("a fence")
	}
}
