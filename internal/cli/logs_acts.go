package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"foundry/internal/harness"
	"foundry/internal/process"
	"foundry/internal/report"
	"foundry/runner"
)

// This file prints what agents said and did in place of the messages of their protocols, which are for programs. It is
// in the log of the run.

// acts is what the agents of a run were seen to do, by the log of the turn.
type acts struct {
	pl   *place
	id   string
	raw  bool // nobody wants to know
	size int64
	text map[string]string // by the name of the log in the record
}

// look reads what has come since it was called last.
func (a *acts) look() error {
	if a.raw {
		return nil
	}
	info, err := os.Stat(filepath.Join(a.pl.store.Dir(a.id), "events.jsonl"))
	if err != nil || info.Size() == a.size {
		return nil // a run without events has printed nothing either
	}
	a.size = info.Size()
	events, err := a.pl.store.Read(a.id)
	if err != nil {
		return failure(err)
	}
	a.text = map[string]string{}
	speaks := map[string]bool{} // the turns of agents that speak a protocol
	for i := range events {
		e := &events[i]
		rel := turnLog(e)
		switch e.Kind {
		case runner.TurnStarted:
			info, _ := harness.Find(e.Harness)
			if speaks[rel] = info.Permits; info.Permits {
				a.text[rel] = ""
			}
		case runner.Activity:
			if speaks[rel] {
				a.text[rel] += fmt.Sprintf("%-8s %s\n", report.Acting(e), process.Clean([]byte(e.Text)))
			}
		case runner.TurnEnded:
			if speaks[rel] && a.text[rel] == "" {
				delete(a.text, rel) // all that there is to see are the messages
			}
		}
	}
	return nil
}

// turnLog is the name of the log of a turn.
func turnLog(e *runner.Event) string {
	return filepath.Join("logs", fmt.Sprintf("%s@%d.%d.log", runner.FileName(e.Phase), e.Visit, e.Turn))
}

// of is what is to be printed in place of a log.
func (a *acts) of(rel string) (string, bool) {
	text, ok := a.text[rel]
	return text, ok
}

func (s *session) printActs(f *logFile, text string) error {
	if int(f.done) >= len(text) {
		return nil
	}
	if !f.head && !s.quiet {
		fmt.Fprintf(s.out, "== %s ==\n", filepath.ToSlash(f.rel))
	}
	f.head = true
	n, err := io.WriteString(s.out, text[f.done:])
	f.done += int64(n)
	if err != nil && !isClosedPipe(err) {
		return failure(fmt.Errorf("print what an agent did: %w", err))
	}
	return nil
}
