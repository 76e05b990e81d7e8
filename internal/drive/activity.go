package drive

import (
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"foundry/internal/harness"
	"foundry/runner"
	"foundry/secret"
)

// This file tells what an agent is seen to do while its turn runs, and what the turn has spent so far. Each use of a
// tool is told at once; words and figures are gathered, so that an agent that streams does not fill the log:
// all that it printed is in the turn's own log. Nothing is told any more once the turn has ended.

// How long words and figures are gathered, and how many bytes of them a note has at most.
const (
	gatherTime  = 500 * time.Millisecond
	mostOfWords = 400
)

// teller turns the activity of one turn into notes in the run's log.
type teller struct {
	note  runner.Event // what every note of the turn has
	root  string       // the top of the workspace: paths in it are told from there
	mask  *secret.Mask
	tell  func(runner.Event)
	spend func(harness.Usage)

	mu    sync.Mutex
	said  strings.Builder // words that nobody was told yet
	used  *harness.Usage  // what nobody was told yet
	later *time.Timer     // tells it; nil when nothing is to be told
	over  bool
}

func newTeller(note runner.Event, root string, mask *secret.Mask, tell func(runner.Event), spend func(harness.Usage)) *teller {
	return &teller{note: note, root: root, mask: mask, tell: tell, spend: spend}
}

// activity takes what the harness saw.
func (t *teller) activity(a harness.Activity) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	switch a.Kind {
	case harness.SaidText:
		t.said.WriteString(a.Text + "\n")
	case harness.Metered:
		t.used = &a.Usage
	case harness.CalledTool:
		t.flush()
		t.use(a.Tool, "", t.doing(a))
		return
	case harness.HasSession:
		e := t.note
		e.Kind, e.Session = runner.SessionKnown, a.Text
		t.tell(e)
		return
	case harness.GotResult:
		if a.Failed {
			t.flush()
			t.use(a.Tool, "failed", strings.TrimSuffix(t.doing(a)+" failed: "+t.mask.Text(firstLine(a.Text)), ": "))
		}
		return
	case harness.GoesRound:
		t.flush()
		e := t.note
		e.Kind, e.Text = runner.Warned, t.mask.Text(a.Text)
		t.tell(e)
		return
	case harness.AskedPermission:
		t.flush()
		word := "allowed"
		if a.Failed {
			word = "refused"
		}
		t.use(a.Tool, word, word+": "+t.doing(a))
		return
	default: // output is in the log of the turn
		return
	}
	if t.later == nil {
		t.later = time.AfterFunc(gatherTime, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if !t.over {
				t.flush()
			}
		})
	}
}

// end tells what was said last. What the turn has spent is told by its end.
func (t *teller) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used = nil
	t.flush()
	t.over = true
}

// flush is for a holder of mu.
func (t *teller) flush() {
	if t.later != nil {
		t.later.Stop()
		t.later = nil
	}
	if text := oneLine(t.mask.Text(t.said.String())); text != "" {
		e := t.note
		e.Text = text
		t.tell(e)
	}
	t.said.Reset()
	if t.used != nil {
		t.spend(*t.used)
		t.used = nil
	}
}

// use tells of a tool.
func (t *teller) use(tool harness.Tool, outcome, text string) {
	e := t.note
	e.Outcome, e.Text, e.Tool = outcome, oneLine(text), t.toolOf(tool)
	t.tell(e)
}

// toolOf is a tool as the log has it.
func (t *teller) toolOf(tool harness.Tool) *runner.Tool {
	out := &runner.Tool{Name: t.mask.Text(tool.Name), Kind: tool.Kind.String(), Command: cutText(t.mask.Text(tool.Command), 10*mostOfWords)}
	for _, path := range tool.Paths {
		out.Paths = append(out.Paths, t.mask.Text(within(t.root, path)))
	}
	return out
}

// doing says what a tool is used for: its command, else its files, else what the agent says of it.
func (t *teller) doing(a harness.Activity) string {
	what := a.Tool.Command
	if what == "" && len(a.Tool.Paths) > 0 {
		paths := make([]string, len(a.Tool.Paths))
		for i, path := range a.Tool.Paths {
			paths[i] = within(t.root, path)
		}
		what = strings.Join(paths, ", ")
	}
	if what == "" && a.Kind != harness.GotResult {
		what = strings.TrimSpace(strings.TrimPrefix(a.Text, a.Tool.Name))
	}
	return t.mask.Text(strings.TrimSpace(a.Tool.Name + " " + what))
}

// within is a path as it is called from the top of the workspace, and as it stands when it is not in there.
func within(root, path string) string {
	for _, top := range []string{root, resolved(root)} {
		if rel, err := filepath.Rel(top, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return path
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// oneLine is a text as it fits a note.
func oneLine(text string) string {
	return cutText(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "), mostOfWords)
}

// cutText is the text, or as much of it as has so many bytes.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
