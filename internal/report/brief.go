package report

import (
	"strings"

	"foundry/runner"
)

// Brief is a run in one line: each phase that was entered with how it ended, and where to look for the first that did
// not end well.
func (t *Trace) Brief(s Style) string {
	var parts []string
	look := ""
	for _, p := range t.Phases {
		v := p.Newest()
		if v == nil {
			continue
		}
		word, paint := statusWord(v.Status)
		text := p.Name + " " + s.Paint(paint, word)
		switch {
		case v.Reused != nil:
			text += " (up to date)"
		case v.Status == "fail":
			text += " (" + failNote(v) + ")"
			if look == "" {
				look = "foundry logs " + t.ID + " " + runner.Typed(p.Name)
			}
		}
		parts = append(parts, text)
	}
	line := strings.Join(parts, ", ")
	if line == "" {
		line = t.Status
	}
	if look != "" {
		line += "; " + look
	}
	return line
}
