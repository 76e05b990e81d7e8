package gates

import (
	"fmt"
	"strings"
	"time"
)

// The gates that look at one answer: a review's, and a command's.

func verdictConsistent(envelope map[string]any) []Check {
	approved, ok := envelope["approved"].(bool)
	if !ok {
		return []Check{{Item: "approved", Note: "must be true or false"}}
	}
	var out []Check
	problems := 0
	blocking, _ := envelope["blocking"].([]any)
	for i, b := range blocking {
		text, _ := b.(string)
		if strings.TrimSpace(text) != "" {
			problems++
		}
		if approved {
			out = append(out, Check{Item: fmt.Sprintf("blocking[%d]", i),
				Note: fmt.Sprintf("approved, but this blocks: %s; reject, or take it out", text)})
		}
	}
	findings, _ := envelope["findings"].([]any)
	for i, f := range findings {
		finding, _ := f.(map[string]any)
		met, ok := finding["met"].(bool)
		if !ok || met {
			continue
		}
		problems++
		if approved {
			out = append(out, Check{Item: fmt.Sprintf("findings[%d]", i),
				Note: fmt.Sprintf("approved, but not met: %v; reject, or say why it is met", finding["requirement"])})
		}
	}
	switch {
	case len(out) > 0:
	case approved:
		out = append(out, Check{Item: "approved", OK: true, Note: counted(len(findings), "finding") + ", all met, nothing blocking"})
	case problems == 0:
		out = append(out, Check{Item: "approved", Note: "rejected, but neither blocking nor a finding that is not met names a problem: name it"})
	default:
		out = append(out, Check{Item: "approved", OK: true, Note: "rejected for " + counted(problems, "problem")})
	}
	return out
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// tailLines is how much of a failed command's output a note shows.
const tailLines = 40

func (s Spec) commandPasses(run *Run) []Check {
	c := Check{Item: s.Label}
	if c.Item == "" {
		c.Item = s.Name
	}
	switch {
	case run == nil:
		c.Note = "the command was not run"
	case run.Failed != "":
		c.Note = "could not be started: " + run.Failed
	case run.TimedOut:
		c.Note = "timed out after " + run.took() + run.tail()
	case run.Passed:
		c.OK = true
		c.Note = fmt.Sprintf("exit %d in %s", run.Exit, run.took())
	case run.Exit < 0:
		c.Note = "was ended by a signal after " + run.took() + run.tail()
	default:
		c.Note = fmt.Sprintf("exit %d in %s", run.Exit, run.took()) + run.tail()
	}
	return []Check{c}
}

func (r *Run) took() string { return (time.Duration(r.Millis) * time.Millisecond).String() }

// tail is the end of the output, on lines of its own.
func (r *Run) tail() string {
	text := strings.TrimRight(r.Output, " \t\r\n")
	if text == "" {
		return ", without output"
	}
	lines := strings.Split(text, "\n")
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return ":\n" + strings.Join(lines, "\n")
}
