package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"

	"foundry/graph"
	"foundry/internal/drive"
	"foundry/internal/live"
	"foundry/internal/process"
)

// This file puts a run on the screen of a terminal: it decides whether there is one, hands the live view what the run
// tells and what its programs print, and carries out what keys ask for. Whoever leaves the view gets the lines that a
// run without it prints, from the first one on.

const (
	liveDelay = 200 * time.Millisecond // how long a run goes on before the screen is taken
	tailEvery = 200 * time.Millisecond
	tailBytes = 16 << 10
)

// runForm is the form in which a run is shown: tty, plain or json.
func (s *session) runForm(c *cli.Context) (string, error) {
	form := c.String("output")
	if err := oneOf("--output", form, runForms()); err != nil {
		return "", err
	}
	screen := isTerminal(s.in) && isTerminal(s.out) && s.getenv("TERM") != "dumb"
	switch {
	case form == "tty" && !screen:
		return "", badUsage("--output tty needs a terminal on standard input and output that is not dumb").hintf("--output plain prints lines")
	case form == "auto" && screen && s.getenv("CI") == "" && !s.quiet && foreground(s.in):
		return "tty", nil
	case form == "auto":
		return "plain", nil
	}
	return form, nil
}

// runForms are the words that --output takes where a run is driven.
func runForms() []string { return []string{"auto", "tty", "plain", "json"} }

// screen is the live view of a run, until it is closed or left.
type screen struct {
	s    *session
	view *live.Program

	mu  sync.Mutex // over the run that is shown
	dir string     // of its record; "" before there is one
	g   *graph.Graph

	interrupts atomic.Int32 // how often ctrl-c was pressed
	stop       context.CancelFunc
	tailing    sync.WaitGroup
}

// openScreen takes the terminal.
func (s *session) openScreen(o live.Options) *screen {
	ctx, stop := context.WithCancel(context.Background())
	x := &screen{s: s, g: o.Graph, stop: stop}
	flushInput(s.in)
	x.view = live.Start(s.in, s.out, o,
		live.Controls{Interrupt: x.interrupt, Suspend: func(ctx context.Context) { stopSelf(ctx, s.in) }, Kill: x.kill}, liveDelay)
	x.tailing.Go(func() { x.tail(ctx) })
	return x
}

// interrupt does what ctrl-c does outside of a view. The third one ends this process, which then cannot give the
// terminal back any more.
func (x *screen) interrupt() {
	if x.interrupts.Add(1) > 2 {
		x.view.Release()
	}
	if err := interruptSelf(); err != nil {
		x.view.Tell(live.Notice{Text: "ctrl-c could not be carried out: " + err.Error()})
	}
}

func (x *screen) kill() {
	dir, _ := x.run()
	if err := drive.RequestKill(dir, who()); err != nil {
		x.view.Tell(live.Notice{Text: "the run could not be killed: " + err.Error()})
	}
}

// run is the run that is shown: the directory of its record, and its pipeline.
func (x *screen) run() (dir string, g *graph.Graph) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.dir, x.g
}

// ask puts a question in the view; when the view is left meanwhile, by plain lines.
func (x *screen) ask(ctx context.Context, q drive.Question) (drive.Answer, bool) {
	a, ok := x.view.Ask(ctx, live.Question{Phase: q.Phase, Text: process.Clean([]byte(q.Text)), Diff: q.Diff})
	return drive.Answer{Approve: a.Approve, Note: a.Note, Who: who()}, ok
}

// tail tells the view the last lines of what runs, as its log in the record grows.
func (x *screen) tail(ctx context.Context) {
	sizes := map[string]int64{}
	look := time.NewTicker(tailEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.view.Done():
			return
		case <-look.C:
		}
		dir, g := x.run()
		for _, v := range x.view.Running() {
			if !readable(g, v.Phase) {
				continue
			}
			names := logNames(dir, []string{"logs"}, v.Phase, v.N)
			if len(names) == 0 {
				continue
			}
			name := names[len(names)-1]
			text, size := lastBytes(filepath.Join(dir, name), sizes[dir+name])
			if size != sizes[dir+name] {
				sizes[dir+name] = size
				x.view.Tell(live.Output{Phase: v.Phase, Visit: v.N, Lines: strings.Split(text, "\n")})
			}
		}
	}
}

// readable says whether the log of a phase is for people: that of an agent that is any program is, those of the others
// are the messages of their protocols.
func readable(g *graph.Graph, name string) bool {
	ph, ok := g.Expect(name)
	if !ok {
		return true
	}
	return ph.Kind != graph.AgentWork || ph.Agent >= 0 && g.Agents[ph.Agent].Harness == "command"
}

// lastBytes reads the end of a file whose size is not the one known, and its size. A line that was cut is left out.
func lastBytes(name string, known int64) (text string, size int64) {
	f, err := os.Open(name)
	if err != nil {
		return "", known
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == known {
		return "", known
	}
	from := max(0, info.Size()-tailBytes)
	data := make([]byte, info.Size()-from)
	n, err := f.ReadAt(data, from)
	if err != nil && err != io.EOF {
		return "", known
	}
	data = data[:n]
	if from > 0 {
		_, rest, _ := strings.Cut(string(data), "\n")
		data = []byte(rest)
	}
	return process.Clean(data), info.Size()
}

// toScreen puts a view on the terminal, if it is to be there, and waits for the moment in which somebody leaves it.
// The guard gives the terminal back should this process be killed.
func (v *show) toScreen(id, dir string, g *graph.Graph, guard *process.Guard) error {
	if v.watch != nil {
		if v.screen = v.watch.onScreen(); v.screen != nil {
			v.screen.follow(id, dir, g)
		}
		return nil
	}
	if v.format != "tty" {
		return nil
	}
	if err := guard.Screen(true); err != nil {
		return err
	}
	x := v.s.openScreen(live.Options{Graph: g, Run: id, Color: v.s.colored(v.s.out), Records: v.s.display(dir), Worst: v.s.worst(g)})
	x.dir = dir
	v.screen = x
	v.left.Go(func() {
		<-x.view.Done()
		x.stop()
		x.tailing.Wait()
		guard.Screen(false)
		v.mu.Lock()
		defer v.mu.Unlock()
		v.screen = nil
		if err := x.view.Close(); err != nil {
			v.s.note("foundry: %v", err)
		}
		if !v.over {
			v.s.print(v.held.String())
		}
	})
	return nil
}

// fromScreen gives the terminal back. What was held back for somebody who might leave the view is not needed any more.
func (v *show) fromScreen() {
	v.mu.Lock()
	x := v.screen
	v.over = true
	v.mu.Unlock()
	if x != nil && v.watch == nil {
		x.view.Close()
	}
	v.left.Wait()
}

// ask puts a question where the run is shown.
func (v *show) ask(ctx context.Context, q drive.Question) (drive.Answer, bool) {
	v.mu.Lock()
	x := v.screen
	v.mu.Unlock()
	if x != nil {
		if a, ok := x.ask(ctx, q); ok || ctx.Err() != nil {
			return a, ok
		}
		v.left.Wait() // the lines before the question
	}
	if !isTerminal(v.s.err) {
		return drive.Answer{}, false
	}
	return v.s.askPerson(ctx, q)
}

// say shows a line for people where the run is shown.
func (v *show) say(text string) {
	v.mu.Lock()
	x := v.screen
	v.mu.Unlock()
	if x != nil {
		x.view.Tell(live.Notice{Text: strings.TrimPrefix(text, "foundry: ")})
		return
	}
	v.s.note("%s", text)
}
