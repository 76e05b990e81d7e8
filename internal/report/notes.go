package report

import (
	"fmt"
	"strings"
	"time"

	"foundry/runner"
)

// This file says in a few words what became of a visit, a command or a turn.

// note is what is worth saying of a visit in a few words.
func (v *Visit) note() string {
	switch {
	case v.Status == "running" || v.Status == "waiting":
		return firstLine(v.Question)
	case v.Commit != "":
		return short(v.Commit)
	case v.Answer == "approve":
		return "approved" + prefixed(" by ", v.Who) + prefixed(": ", firstLine(v.Note))
	case v.Answer == "reject":
		return "rejected" + prefixed(" by ", v.Who) + prefixed(": ", firstLine(v.Note))
	case v.Envelope != nil && v.Status == "rejected":
		return v.complaint()
	case v.Reused != nil:
		return upToDate(v.Reused)
	case v.Envelope != nil:
		return firstLine(v.summary())
	case v.Result != nil:
		return howEnded(v.Result)
	}
	return firstLine(v.Text)
}

// failNote says why a visit failed.
func failNote(v *Visit) string {
	if v.Result != nil && (v.Reason == "exit" || v.Reason == "timeout") {
		return howEnded(v.Result)
	}
	text := reasonText(v.Reason)
	if v.Reason == "review" {
		return text + prefixed(": ", firstLine(v.Text))
	}
	if said := strings.TrimPrefix(firstLine(v.Text), "- "); said != "" && said != text { // the first of a list
		text = said
	}
	return text
}

// upToDate says that nothing was started, and where the evidence is from.
func upToDate(r *runner.Reused) string {
	return fmt.Sprintf("up to date, from %s %s@%d", r.Run, r.Phase, r.Visit)
}

// howEnded says how a command ended.
func howEnded(r *runner.CommandResult) string {
	how := fmt.Sprintf("exit %d", r.Exit)
	switch {
	case r.Timeout:
		how = "timed out after " + millis(r)
	case r.Signal != "":
		how = "ended by signal " + r.Signal
	case r.Exit < 0:
		how = "no exit code"
	}
	if r.Of > 1 {
		how += fmt.Sprintf(" in run %d of %d", r.Round, r.Of)
	}
	return how
}

func millis(r *runner.CommandResult) string {
	return Duration(time.Duration(r.Millis) * time.Millisecond)
}

// limitTime is how the end of a usage limit is told.
const limitTime = "15:04 MST on 2 January"

// stopText says why a turn brought no report.
func stopText(r *runner.Reply) string {
	said := prefixed(": ", firstLine(r.Error))
	switch r.Stop {
	case runner.StopTruncated:
		return "the reply was cut off"
	case runner.StopCancelled:
		return "stopped"
	case runner.StopLimit:
		if !r.ResetAt.IsZero() {
			return "usage limit until " + r.ResetAt.Format("15:04 MST") + said
		}
		return "usage limit" + said
	case runner.StopTimeout:
		return "timed out" + said
	case runner.StopPermission:
		return "stopped to ask for a permission"
	}
	return "failed" + said
}

// word is the answer in the past.
func (p Permit) word() string {
	switch p.Answer {
	case "approve":
		return "approved"
	case "reject":
		return "rejected"
	}
	return "not answered"
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func more(n int) string {
	if n < 1 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}
