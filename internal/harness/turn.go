package harness

import (
	"context"
	"fmt"
	"os"
	"strings"

	"foundry/internal/process"
	"foundry/internal/terminal"
)

// This file holds what every harness keeps to when it runs a program for a turn: the clocks are Foundry's, an
// exit code alone is never believed to be more than it says, and what is left behind is named.

// replyLimit is how many bytes of a reply are read. A longer one is an error that says so, never cut silently.
const replyLimit = 16 << 20

// stderrShown is how many lines of an agent's stderr are evidence for a failure.
const stderrShown = 20

// run starts a program for a turn and waits for its end. It fills in where the program runs and what ends it; spec
// says what runs, and hear, which may be nil, gets what it prints, piece by piece, with an empty piece at the end of a
// stream. The reply is complete unless the program ended well, which is the caller's to judge: then Stop is 0.
func run(ctx context.Context, spec process.Spec, c Config, t Turn, activity func(Activity), hear func(*watch, process.Stream, []byte)) (process.Result, Reply) {
	if err := makeDirs(c, t); err != nil {
		return process.Result{Exit: -1}, failed("%v", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newWatch(t, activity, cancel)
	defer w.stop()
	if hear == nil {
		hear = func(w *watch, _ process.Stream, piece []byte) {
			if len(piece) > 0 {
				w.printed(cleanText(string(piece)))
			}
		}
	}
	spec.Dir, spec.Env = t.Dir, environment(c, t, spec.Env)
	spec.LogPath, spec.LogLimit, spec.Mask = t.LogPath, t.LogLimit, t.Mask
	spec.Kill, spec.Guard, spec.Confine = t.Kill, t.Guard, t.Confine
	spec.Observe = func(s process.Stream, piece []byte) {
		w.heard()
		hear(w, s, piece)
	}
	res := process.Run(ctx, spec)
	var r Reply
	switch {
	case res.Reason == process.NotStarted:
		r.Stop, r.Error = Failed, res.Err.Error()
	case res.Reason == process.Cancelled || res.Reason == process.TimedOut:
		r = w.stopped(context.Cause(ctx))
	case res.Reason == process.Signalled:
		r.Stop, r.Error = Failed, "it was ended by a signal ("+res.Signal+")"
	case res.Exit != 0:
		r.Stop, r.Error = Failed, fmt.Sprintf("it ended with exit code %d", res.Exit)
	case res.StdoutCut > 0:
		r.Stop, r.Error = Failed, fmt.Sprintf("it printed more than %d MiB, which is the limit of a reply", replyLimit>>20)
	}
	w.account(&r)
	r.Left, r.Notes = res.Left, res.Notes
	if res.LogErr != nil {
		r.Notes = append(r.Notes, "the log is incomplete: "+res.LogErr.Error())
	}
	return res, r
}

// makeDirs makes the directories that an agent is told of.
func makeDirs(c Config, t Turn) error {
	for _, dir := range []string{t.SessionDir, t.HandoffDir} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make a directory for agent %q: %w", c.Agent, err)
		}
	}
	return nil
}

// evidence adds the end of a failed program's error output to what is said of the failure.
func evidence(sentence, output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if len(lines) > stderrShown {
		lines = lines[len(lines)-stderrShown:]
	}
	if text := strings.TrimSpace(strings.Join(lines, "\n")); text != "" {
		return sentence + "\n" + text
	}
	return sentence
}

func failed(format string, args ...any) Reply {
	return Reply{Stop: Failed, Error: fmt.Sprintf(format, args...)}
}

// cleanText takes out of a text what an agent's terminal habits put there: a byte order mark at its start and
// escape sequences (colours, window titles, cursor moves). Everything else stays as it is, byte by byte. A
// sequence that does not end is taken to end before the next control character, so that it cannot swallow a reply.
func cleanText(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	at := strings.IndexByte(text, 0x1b)
	if at < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for at >= 0 {
		b.WriteString(text[:at])
		text = text[at:]
		text = text[terminal.EscapeLength(text):]
		at = strings.IndexByte(text, 0x1b)
	}
	b.WriteString(text)
	return strings.TrimPrefix(b.String(), "\ufeff")
}
