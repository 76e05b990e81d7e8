// Package live owns the live view: a run drawn on a whole terminal while it goes on. What is drawn is a pure function of
// the messages that came: the run's events, lines of output, the clock, the size of the terminal, keys. Program is the
// thin part around it that has the terminal.
package live

import (
	"strings"
	"time"

	"foundry/graph"
	"foundry/internal/report"
	"foundry/runner"
)

// Options say what is drawn and how. Nothing of them changes while a view is on.
type Options struct {
	Graph   *graph.Graph // may be nil: phases then appear as the events name them
	Run     string       // the id
	Color   bool
	Records string         // the directory of the run's record, as the user would type it
	Worst   string         // what the run takes at most; may be empty
	Watch   bool           // it is a watch, whose runs follow each other
	Agents  bool           // a watch that runs agents, too: no phase is left out
	Zone    *time.Location // of clock times; nil is UTC
}

// Message is what a view is told.
type Message interface{ message() }

// Event is the next event of the run.
type Event struct{ runner.Event }

// Tick is the clock.
type Tick struct{ Now time.Time }

// Size is the size of the terminal, in columns and lines.
type Size struct{ Width, Height int }

// Key is a key that was pressed: its name ("up", "ctrl+c", "a") and the characters that it types, if any.
type Key struct{ Name, Text string }

// Output is the end of what a visit of a phase has printed up to now. Lines replaces what was told before.
type Output struct {
	Phase string
	Visit int
	Lines []string
}

// Asked is a question that is put to whoever is there; Withdrawn takes it away again.
type Asked struct{ Question }

// Withdrawn says that the question needs no answer any more.
type Withdrawn struct{}

// Notice is a line for people that stays on the screen until the next one.
type Notice struct{ Text string }

func (Event) message()     {}
func (Tick) message()      {}
func (Size) message()      {}
func (Key) message()       {}
func (Output) message()    {}
func (Asked) message()     {}
func (Withdrawn) message() {}
func (Notice) message()    {}

// Question is an ask phase's question.
type Question struct {
	Phase, Text string
	Diff        string // the command that shows what is asked about
}

// Answer is what a person said to a question.
type Answer struct {
	Approve bool
	Note    string
}

// Effect is what a key asks for beyond the view. Answer belongs to Answered.
type Effect struct {
	Kind   EffectKind
	Answer Answer
}

// EffectKind says what is asked for. The zero value asks for nothing.
type EffectKind uint8

// The effects.
const (
	Answered  EffectKind = iota + 1 // the question has its answer
	Kill                            // end the run for good
	Leave                           // go on without the view
	Interrupt                       // what ctrl-c asks of a program
	Suspend                         // what ctrl-z asks of a program
)

// Visit names a visit of a phase.
type Visit struct {
	Phase string
	N     int
}

// Model is the view of one run. Its methods are for one goroutine at a time.
type Model struct {
	o     Options
	style report.Style
	trace *report.Trace
	rows  []row

	now           time.Time
	width, height int
	stage         string // what goes on while no phase does
	path          []Visit
	jump          *report.Route      // the last rule that led elsewhere than on
	output        map[Visit][]string // of commands, and of agents that are programs
	acts          map[Visit][]string // what agents were seen to do
	notice        string

	cursor int  // the row that is selected
	follow bool // the selection goes with the run
	top    int  // the first row on the screen
	mode   mode
	shown  Visit // whose evidence is open
	scroll int
	watch  watching
	asked  *Question
	line   []rune // the answer as far as it is typed
	wrong  bool   // what was typed before was no answer
}

// keepActs is how many signs of life of a visit are kept.
const keepActs = 100

// New makes the view of a run of which nothing is known yet.
func New(o Options) *Model {
	m := &Model{o: o, style: report.Style{Color: o.Color}, trace: report.NewTrace(o.Run), follow: true, mode: browsing,
		output: map[Visit][]string{}, acts: map[Visit][]string{}, width: 80, height: 24, rows: rowsOf(o.Graph)}
	if o.Zone == nil {
		m.o.Zone = time.UTC
	}
	if m.watch.on = o.Watch; o.Watch {
		m.inForce(o.Graph)
	}
	return m
}

// rowsOf are the phases of a pipeline, which may be nil.
func rowsOf(g *graph.Graph) []row {
	var out []row
	if g != nil {
		for i := range g.Phases {
			ph := &g.Phases[i]
			out = append(out, row{name: ph.Name, label: ph.Local, depth: strings.Count(ph.Name, "/"), detour: ph.Detour})
		}
	}
	return out
}

// Update takes a message and says what is to be done for it outside of the view.
func (m *Model) Update(msg Message) Effect {
	switch msg := msg.(type) {
	case Event:
		m.event(&msg.Event)
	case Tick:
		m.now = msg.Now
	case Size:
		m.width, m.height = max(msg.Width, 1), max(msg.Height, 1)
	case Output:
		m.output[Visit{msg.Phase, msg.Visit}] = report.Lines(strings.Join(msg.Lines, "\n"))
	case Asked:
		m.asked, m.line, m.wrong = &msg.Question, nil, false
	case Withdrawn:
		m.asked = nil
		if m.mode == answering {
			m.mode = browsing
		}
	case Notice:
		m.notice = report.Line(msg.Text)
	case Next:
		m.next(msg)
	case InForce:
		m.inForce(msg.Graph)
	case Cause:
		m.watch.cause, m.notice = report.Line(msg.Text), ""
	case Findings:
		m.watch.findings = Findings{report.Line(msg.Title), report.Lines(strings.Join(msg.Lines, "\n"))}
		if len(msg.Lines) == 0 {
			m.watch.findings.Lines = nil
		}
	case Key:
		effect := m.key(msg)
		m.inSight()
		return effect
	}
	m.keepUp()
	m.inSight()
	return Effect{}
}

// Running are the visits that go on now, without those that are of other phases.
func (m *Model) Running() []Visit {
	var out []Visit
	for _, p := range m.trace.Phases {
		if v := p.Newest(); v != nil && p.Status == "running" && !v.Holds() {
			out = append(out, Visit{p.Name, v.N})
		}
	}
	return out
}

func (m *Model) event(e *runner.Event) {
	m.trace.Add(e)
	if e.At.After(m.now) {
		m.now = e.At
	}
	if e.Phase != "" {
		m.know(e.Phase)
	}
	switch e.Kind {
	case runner.RunStarted:
		m.stage = "making the workspace"
	case runner.SetupRan:
		if e.Result != nil {
			m.stage = "setting up the workspace: " + report.Line(e.Result.Command) + " is done"
		}
	case runner.WorkspaceReady, runner.RunResumed:
		m.stage = ""
	case runner.PhaseStarted:
		m.stage = ""
		if e.Calls == "" && e.Each == "" { // of a call its phases show the way, of an each its items
			m.path = append(m.path, Visit{e.Phase, e.Visit})
		}
	case runner.RouteTaken:
		if p := m.trace.Phase(e.Phase); e.Target != "next" && p.Newest() != nil {
			m.jump = p.Newest().Route
		}
	case runner.Activity:
		if text := report.Line(e.Text); text != "" {
			v := Visit{e.Phase, e.Visit}
			acts := append(m.acts[v], text)
			m.acts[v] = acts[max(0, len(acts)-keepActs):]
		}
	case runner.AfterStarted:
		m.stage = "after the run: " + e.After
	case runner.AfterEnded:
		m.stage = ""
	case runner.CriterionDone:
		m.stage = "checking criteria: " + e.Criterion + " " + e.Outcome
	}
}

// know gives a phase that the graph does not have a row: an item stands behind the phase that repeats.
func (m *Model) know(name string) {
	if m.index(name) >= 0 {
		return
	}
	r, at := row{name: name, label: report.Line(name)}, len(m.rows)
	if base, _, item := strings.Cut(name, "["); item {
		if i := m.index(base); i >= 0 {
			r.label, r.depth = strings.TrimPrefix(r.label, base), m.rows[i].depth+1
			for at = i + 1; at < len(m.rows) && strings.HasPrefix(m.rows[at].name, base+"["); at++ {
			}
		}
	}
	m.rows = append(m.rows[:at:at], append([]row{r}, m.rows[at:]...)...)
	if m.cursor >= at && len(m.rows) > 1 {
		m.cursor++
	}
}

func (m *Model) index(name string) int {
	for i := range m.rows {
		if m.rows[i].name == name {
			return i
		}
	}
	return -1
}

// keepUp moves the selection to what goes on, unless somebody has moved it: to the question, else to the phase that
// started last of those that run.
func (m *Model) keepUp() {
	if !m.follow || m.mode == evidence {
		return
	}
	if m.asked != nil {
		if i := m.index(m.asked.Phase); i >= 0 {
			m.cursor = i
		}
		return
	}
	for i := len(m.path) - 1; i >= 0; i-- {
		p := m.trace.Phase(m.path[i].Phase)
		if p.Status == "running" {
			m.cursor = m.index(p.Name)
			return
		}
	}
}

// inSight moves the list and the evidence so that what is selected is on the screen.
func (m *Model) inSight() {
	height := m.layout().list
	m.cursor = max(0, min(m.cursor, len(m.rows)-1))
	ahead := 0 // a run that is followed shows what comes next
	if m.follow {
		ahead = min(2, height/4)
	}
	m.top = max(0, min(m.top, len(m.rows)-height), min(m.cursor+ahead, len(m.rows)-1)-height+1)
	m.top = min(m.top, m.cursor)
	if m.mode == evidence {
		m.scroll = max(0, min(m.scroll, len(m.evidenceLines())-m.evidenceRoom()))
	}
}

// selected is the phase that is selected: its row, and what the log has of it, nil before that.
func (m *Model) selected() (row, *report.Phase) {
	if len(m.rows) == 0 {
		return row{}, nil
	}
	r := m.rows[min(m.cursor, len(m.rows)-1)]
	p, _ := m.shownAs(r.name)
	return r, p
}
