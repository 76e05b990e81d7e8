package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// This file is the part around the model that has the terminal. It takes the whole screen: a list with evidence to
// look into needs it, a terminal that changes its size tears what is drawn between other lines, and what stood on the
// screen before comes back as it was, with all that can be scrolled to.

// frame is how often the clock, and what came in between, is drawn.
const frame = 100 * time.Millisecond

// GiveBack is what has to be written to a terminal when a process has died that had a view on it: what the view had
// switched on is switched off, and the screen from before comes back.
const GiveBack = ansi.ResetModeSynchronizedOutput + ansi.ResetModeBracketedPaste + ansi.ResetModeUnicodeCore + ansi.ResetModifyOtherKeys +
	popKeyboard + ansi.ResetStyle + ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable

// popKeyboard takes the view's keyboard protocol from the stack of the terminal.
const popKeyboard = "\x1b[<1u"

// Controls are what keys do beyond the view. They are called from goroutines that Close waits for.
type Controls struct {
	Interrupt func()
	Suspend   func(context.Context) // the terminal is as it was before the view until it returns, at the latest when the context ends
	Kill      func()
}

// Program is a view on a terminal. Its methods may be called from several goroutines.
type Program struct {
	mu      sync.Mutex // for the model and what goes with it
	model   *Model
	answers chan Answer // to the question that is on the screen

	controls Controls
	calls    sync.WaitGroup
	over     context.Context // ended by Close
	end      context.CancelFunc
	tea      *tea.Program
	closing  context.CancelFunc
	done     chan struct{}
	err      error // why the view ended by itself; to be read after done
}

// Start shows a view on a terminal until Close, or until somebody leaves it. Nothing is drawn before delay is over: a run
// that is over by then does not make the screen flash.
func Start(in io.Reader, out io.Writer, o Options, c Controls, delay time.Duration) *Program {
	open, closing := context.WithCancel(context.Background())
	running, stop := context.WithCancel(context.Background())
	p := &Program{model: New(o), answers: make(chan Answer, 1), controls: c, closing: closing, done: make(chan struct{})}
	p.over, p.end = context.WithCancel(open)
	profile := colorprofile.ASCII
	if o.Color {
		profile = colorprofile.ANSI
	}
	p.tea = tea.NewProgram(screen{p}, tea.WithContext(running), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler(),
		tea.WithColorProfile(profile), tea.WithFPS(30))
	go func() {
		defer close(p.done)
		defer stop()
		select {
		case <-open.Done():
			return
		case <-time.After(delay):
		}
		context.AfterFunc(open, p.tea.Quit)
		if _, err := p.tea.Run(); err != nil {
			p.err = fmt.Errorf("show the live view: %w", err)
		}
	}()
	return p
}

// Tell gives the view a message.
func (p *Program) Tell(msg Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.model.Update(msg)
}

// Running are the visits that go on now.
func (p *Program) Running() []Visit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.model.Running()
}

// Ask puts a question and waits for its answer. It is false when ctx or the view ends before.
func (p *Program) Ask(ctx context.Context, q Question) (Answer, bool) {
	p.mu.Lock()
	select {
	case <-p.answers: // of a question that was withdrawn in that moment
	default:
	}
	p.model.Update(Asked{q})
	p.mu.Unlock()
	defer p.Tell(Withdrawn{})
	select {
	case a := <-p.answers:
		return a, true
	case <-ctx.Done():
	case <-p.done:
	}
	return Answer{}, false
}

// Done is closed when the view has ended and the terminal is as it was before.
func (p *Program) Done() <-chan struct{} { return p.done }

// Close ends the view and gives the terminal back. It returns why the view had ended by itself, if it did.
func (p *Program) Close() error {
	p.end()
	p.calls.Wait() // what is suspended would take the terminal again
	p.closing()
	<-p.done
	return p.err
}

// Release gives the terminal back at once, for a process that is about to die.
func (p *Program) Release() error { return p.tea.ReleaseTerminal() }

// do carries an effect out. It is called with the lock held.
func (p *Program) do(e Effect) tea.Cmd {
	switch e.Kind {
	case Answered:
		p.answers <- e.Answer
	case Leave:
		return tea.Quit
	case Kill:
		p.calls.Go(p.controls.Kill)
	case Interrupt:
		p.calls.Go(p.controls.Interrupt)
	case Suspend:
		p.calls.Go(p.suspend)
	}
	return nil
}

func (p *Program) suspend() {
	if p.tea.ReleaseTerminal() != nil {
		return
	}
	p.controls.Suspend(p.over)
	if p.over.Err() != nil {
		return
	}
	if err := p.tea.RestoreTerminal(); err != nil {
		p.tea.Send(lost{err})
	}
}

// lost is told when the terminal could not be taken again.
type lost struct{ err error }

// screen is the program as the library wants it.
type screen struct{ p *Program }

type tick time.Time

func next() tea.Cmd { return tea.Tick(frame, func(at time.Time) tea.Msg { return tick(at) }) }

func (s screen) Init() tea.Cmd { return next() }

func (s screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	m := s.p.model
	switch msg := msg.(type) {
	case tick:
		m.Update(Tick{time.Time(msg).UTC()})
		return s, next()
	case tea.WindowSizeMsg:
		m.Update(Size{msg.Width, msg.Height})
	case tea.KeyPressMsg:
		return s, s.p.do(m.Update(Key{Name: msg.String(), Text: msg.Text}))
	case tea.PasteMsg:
		m.Update(Key{Name: "paste", Text: msg.Content})
	case lost:
		s.p.err = errors.Join(s.p.err, msg.err)
		return s, tea.Quit
	}
	return s, nil
}

func (s screen) View() tea.View {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	v := tea.NewView(s.p.model.View())
	v.AltScreen = true
	return v
}
