package drive

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"foundry/runner"
)

// controlEvery is how often a live run looks whether another process wants it ended.
const controlEvery = 100 * time.Millisecond

// killFile is how `foundry kill` speaks to a live run: a file in its record, which only somebody who may
// write there can make. Its text says who asked.
const killFile = "kill"

// RequestKill asks the process that drives a run to end it.
func RequestKill(recordDir, who string) error {
	return os.WriteFile(filepath.Join(recordDir, killFile), []byte(who+"\n"), 0o600)
}

// WithdrawKill takes a request back that nobody answered: the run came to rest by itself before it looked.
func WithdrawKill(recordDir string) { os.Remove(filepath.Join(recordDir, killFile)) }

// killAsked says whether somebody asked, and takes the request away.
func (d *driver) killAsked() (runner.Event, bool) {
	path := filepath.Join(d.Record.Dir(), killFile)
	who, err := os.ReadFile(path)
	if err != nil {
		return runner.Event{}, false
	}
	os.Remove(path)
	return runner.Event{Kind: runner.RunKilled, Who: strings.TrimSpace(string(who))}, true
}
