package live

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"foundry/runner"
)

// buffer is what a program writes to.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestProgram puts a question on a terminal that a person answers by keys, and gives the terminal back.
func TestProgram(t *testing.T) {
	t.Parallel()
	in, keys := io.Pipe()
	var out buffer
	interrupted := make(chan struct{}, 1)
	p := Start(in, &out, Options{Graph: repair(), Run: id}, Controls{Interrupt: func() { interrupted <- struct{}{} }}, 0)
	p.Tell(Event{runner.Event{Kind: runner.RunStarted, At: noon, Run: &runner.RunInfo{ID: id, Pipeline: "fix"}}})
	answers := make(chan Answer)
	go func() {
		a, _ := p.Ask(context.Background(), Question{Phase: "ship", Text: "Ship it?"})
		answers <- a
	}()
	for p.asking() != "ship" {
		runtime.Gosched()
	}
	io.WriteString(keys, "\x03aapprove fine\r")
	if a := <-answers; !a.Approve || a.Note != "fine" {
		t.Errorf("answer %+v", a)
	}
	<-interrupted
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, ok := p.Ask(ctx, Question{Phase: "ship"}); ok || p.asking() != "" {
		t.Error("a question that was taken away was answered, or still stands")
	}
	keys.Close()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, ok := p.Ask(context.Background(), Question{Phase: "ship"}); ok {
		t.Error("a view that has ended answered")
	}
	text := out.String()
	if on, off := strings.LastIndex(text, "\x1b[?1049h"), strings.LastIndex(text, "\x1b[?1049l"); on < 0 || off < on {
		t.Errorf("the screen was not taken, or not given back: %q", text)
	}
	// What the view has switched on is what GiveBack switches off.
	for _, set := range regexp.MustCompile(`\x1b\[\?(\d+)h`).FindAllStringSubmatch(text, -1) {
		if set[1] != "25" && !strings.Contains(GiveBack, "\x1b[?"+set[1]+"l") {
			t.Errorf("mode %s is not given back", set[1])
		}
	}
}

func (p *Program) asking() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.model.asked == nil {
		return ""
	}
	return p.model.asked.Phase
}

// TestNoFlash: a run that is over before the delay leaves the terminal alone.
func TestNoFlash(t *testing.T) {
	t.Parallel()
	in, _ := io.Pipe()
	var out buffer
	p := Start(in, &out, Options{}, Controls{}, time.Hour)
	if err := p.Close(); err != nil || out.String() != "" {
		t.Errorf("%v, %q", err, out.String())
	}
}
