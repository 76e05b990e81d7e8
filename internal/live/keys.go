package live

import (
	"strings"
	"unicode"
)

// This file says what keys do. No key ends a run or answers a question by itself: a kill is confirmed, an answer is a
// whole word in a line that a key opens after the question is on the screen. So nothing that was typed before counts.

// mode says what keys act on.
type mode uint8

const (
	browsing   mode = iota + 1 // the list of phases
	evidence                   // one visit, on the whole screen
	answering                  // the line with the answer
	confirming                 // whether the run is to be killed
	helping                    // the list of keys
)

// binding is a row of the list of keys.
type binding struct{ key, what, short string }

// bindings are the keys of the list, in the order of their use. Those with a short text stand in the last line.
var bindings = []binding{
	{"up, down, k, j", "select a phase; pgup, pgdn, home, end go further", "↑↓ select"},
	{"enter", "what the phase did: checks, report, output", "enter evidence"},
	{"left, right", "an earlier or later visit, while that is open", ""},
	{"esc", "back; the selection goes with the run again", ""},
	{"a", "answer the question that waits", ""},
	{"K", "kill the run, after a question", "K kill"},
	{"q", "leave the view: the run goes on in plain lines", "q plain"},
	{"ctrl-c", "stop in order; once more kills what runs", "ctrl-c stop"},
	{"ctrl-z", "suspend; fg comes back", ""},
	{"?", "this list", "? keys"},
}

// key carries out a key.
func (m *Model) key(k Key) Effect {
	switch k.Name {
	case "ctrl+c":
		return Effect{Kind: Interrupt}
	case "ctrl+z":
		return Effect{Kind: Suspend}
	}
	switch m.mode {
	case answering:
		return m.answer(k)
	case confirming:
		m.mode = browsing
		if k.Name == "y" {
			m.notice = "killing the run"
			return Effect{Kind: Kill}
		}
		return Effect{}
	case helping:
		m.mode = browsing
		return Effect{}
	}
	switch k.Name {
	case "a":
		if m.asked != nil {
			m.mode, m.line, m.wrong = answering, nil, false
		}
	case "K", "shift+k":
		if !m.watch.on || m.trace.Status == "running" {
			m.mode = confirming
		}
	case "?":
		m.mode = helping
	case "q":
		if m.mode == evidence {
			m.mode = browsing
			break
		}
		return Effect{Kind: Leave}
	default:
		if m.mode == evidence {
			m.turnPages(k.Name)
		} else {
			m.browse(k.Name)
		}
	}
	return Effect{}
}

// browse moves in the list.
func (m *Model) browse(name string) {
	page := max(m.layout().list-1, 1)
	to := m.cursor
	switch name {
	case "up", "k":
		to--
	case "down", "j":
		to++
	case "pgup":
		to -= page
	case "pgdown", "space":
		to += page
	case "home", "g":
		to = 0
	case "end", "G", "shift+g":
		to = len(m.rows) - 1
	case "esc", "f":
		m.follow = true
		m.keepUp()
		return
	case "enter":
		r, _ := m.selected()
		if p := m.trace.Phase(r.name); p != nil && p.Newest() != nil {
			m.mode, m.shown, m.scroll = evidence, Visit{r.name, p.Newest().N}, 0
		}
		return
	default:
		return
	}
	m.follow, m.cursor = false, to
}

// turnPages moves in the evidence of a visit.
func (m *Model) turnPages(name string) {
	page := m.evidenceRoom()
	switch name {
	case "up", "k":
		m.scroll--
	case "down", "j":
		m.scroll++
	case "pgup":
		m.scroll -= page
	case "pgdown", "space":
		m.scroll += page
	case "home", "g":
		m.scroll = 0
	case "end", "G", "shift+g":
		m.scroll = 1 << 20
	case "left", "h":
		if m.shown.N > 1 {
			m.shown.N, m.scroll = m.shown.N-1, 0
		}
	case "right", "l":
		if p := m.trace.Phase(m.shown.Phase); m.shown.N < p.Newest().N {
			m.shown.N, m.scroll = m.shown.N+1, 0
		}
	case "esc", "enter", "backspace":
		m.mode = browsing
	}
}

// evidenceRoom is how many lines of evidence there is room for.
func (m *Model) evidenceRoom() int { return max(m.height-m.layout().head-2, 1) }

// answer edits the line with the answer. Only a whole word counts, approve or reject; the rest is the note.
func (m *Model) answer(k Key) Effect {
	switch k.Name {
	case "esc":
		m.mode = browsing
	case "backspace":
		m.line = m.line[:max(0, len(m.line)-1)]
	case "ctrl+u":
		m.line = nil
	case "ctrl+w":
		text := strings.TrimRight(string(m.line), " ")
		m.line = []rune(text[:strings.LastIndex(text, " ")+1])
	case "enter":
		word, note, _ := strings.Cut(strings.TrimSpace(string(m.line)), " ")
		if m.wrong = word != "approve" && word != "reject"; m.wrong {
			m.line = nil
			break
		}
		m.mode, m.asked, m.line = browsing, nil, nil
		return Effect{Kind: Answered, Answer: Answer{Approve: word == "approve", Note: strings.TrimSpace(note)}}
	default:
		for _, r := range k.Text {
			if unicode.IsPrint(r) {
				m.line, m.wrong = append(m.line, r), false
			}
		}
	}
	return Effect{}
}
