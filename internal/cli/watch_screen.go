package cli

import (
	"bytes"
	"crypto/rand"
	"os"
	"strings"
	"time"

	"foundry/diag"
	"foundry/graph"
	"foundry/internal/journal"
	"foundry/internal/live"
	"foundry/internal/process"
)

// This file puts a watch on the screen of a terminal: one view for all its runs. Whoever leaves it gets the lines that a
// watch without it prints, from then on.

// toScreen takes the terminal, if the watch is to be shown on it. The guard gives it back should this process be killed.
func (x *watching) toScreen(form string) error {
	if form != "tty" {
		return nil
	}
	x.guard = &process.Guard{Token: journal.NewID(time.Now(), rand.Reader)}
	x.guard.Terminal, _ = x.s.out.(*os.File)
	self, err := selfPath()
	if err == nil {
		err = x.guard.Start(self)
	}
	if err == nil {
		err = x.guard.Screen(true)
	}
	if err != nil {
		return failure(err)
	}
	v := x.s.openScreen(live.Options{Graph: x.g, Color: x.s.colored(x.s.out), Watch: true, Agents: x.agents, Zone: time.Local})
	x.mu.Lock()
	x.screen = v
	x.mu.Unlock()
	x.left.Go(func() {
		<-v.view.Done()
		v.stop()
		v.tailing.Wait()
		x.guard.Screen(false)
		x.mu.Lock()
		x.screen = nil
		x.mu.Unlock()
		if err := v.view.Close(); err != nil {
			x.s.note("foundry: %v", err)
		}
	})
	return nil
}

// fromScreen gives the terminal back.
func (x *watching) fromScreen() {
	if v := x.onScreen(); v != nil {
		v.view.Close()
	}
	x.left.Wait()
	if x.guard != nil {
		x.guard.Close()
	}
}

// onScreen is the view, nil when there is none or somebody has left it.
func (x *watching) onScreen() *screen {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.screen
}

// showFindings puts what is wrong with the pipeline file into the view; nothing takes it away.
func (v *screen) showFindings(x *watching, list []diag.Diagnostic) error {
	f := live.Findings{Title: x.p.name + " does not compile; the last good pipeline stays in force"}
	if x.g == nil {
		f.Title = x.p.name + " does not compile; waiting for a good one"
	}
	if !hasErrors(list) {
		f.Title = "findings of " + x.p.name
	}
	if len(list) > 0 {
		var b bytes.Buffer
		if err := diag.RenderText(&b, list, false); err != nil {
			return failure(err)
		}
		f.Lines = strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	}
	v.view.Tell(f)
	return nil
}

func hasErrors(list []diag.Diagnostic) bool {
	for _, d := range list {
		if d.Rule.Severity() == diag.Error {
			return true
		}
	}
	return false
}

// follow shows the next run of a watch in the view.
func (v *screen) follow(id, dir string, g *graph.Graph) {
	v.mu.Lock()
	v.dir, v.g = dir, g
	v.mu.Unlock()
	v.view.Tell(live.Next{Graph: g, Run: id, Records: v.s.display(dir)})
}
