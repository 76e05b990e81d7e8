package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"foundry/runner"
)

// Duration is a length of time as people say it: 0.4s, 8.1s, 42s, 1m12s, 2h05m.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "0.0s"
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	s := int64((d + 500*time.Millisecond) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
}

// clock is a time since the start of a run: 0:08, 12:34, 1:02:03.
func clock(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s%3600/60, s%60)
}

// Ago says how long ago something was.
func Ago(at, now time.Time) string {
	d := now.Sub(at)
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	case d < 60*24*time.Hour:
		return count(int(d.Hours()/24), "day") + " ago"
	}
	return at.Format("2006-01-02")
}

// count is a number with its noun, in the plural where that is due.
func count(n int, noun string) string {
	if n != 1 {
		switch {
		case strings.HasSuffix(noun, "ch") || strings.HasSuffix(noun, "s"):
			noun += "es"
		case strings.HasSuffix(noun, "y"):
			noun = strings.TrimSuffix(noun, "y") + "ies"
		default:
			noun += "s"
		}
	}
	return thousands(n) + " " + noun
}

// thousands writes a number with commas: 12,400.
func thousands(n int) string {
	s := strconv.Itoa(n)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// short is a commit as people write it.
func short(commit string) string { return commit[:min(len(commit), 10)] }

// list joins the first n items and counts the rest.
func list(items []string, n int) string {
	if len(items) <= n+1 {
		return strings.Join(items, ", ")
	}
	return strings.Join(items[:n], ", ") + fmt.Sprintf(" and %d more", len(items)-n)
}

// statusWord is a status as people read it, and how it is drawn.
func statusWord(status string) (string, Paint) {
	switch status {
	case "success":
		return "passed", Green
	case "accepted":
		return "accepted", Green
	case "unverified":
		return "unverified", Yellow
	case "fail":
		return "failed", Red
	case "failed", "rejected", "killed":
		return status, Red
	case "not_run":
		return "not run", Dim
	case "skipped", "queued":
		return status, Dim
	case "running":
		return "running", Cyan
	}
	return status, Yellow // waiting, paused, interrupted, blocked, stopped
}

// WordColumns is how many columns a column of words needs that holds the status of a phase.
func WordColumns() int {
	n := 0
	for s := runner.Queued; s.String() != "invalid"; s++ {
		word, _ := statusWord(s.String())
		n = max(n, width(word))
	}
	return n
}

// reasonText says a phase's or a run's reason in words.
func reasonText(reason string) string {
	if limit, ok := strings.CutPrefix(reason, "budget:"); ok {
		return "the " + limit + " budget is used up"
	}
	switch reason {
	case "exit":
		return "the command failed"
	case "timeout":
		return "timed out"
	case "envelope":
		return "no usable report"
	case "truncated":
		return "the report was cut off twice"
	case "boundary":
		return "wrote where it may not"
	case "gate":
		return "a gate failed"
	case "reported":
		return "the agent reported a failure"
	case "harness":
		return "the agent could not be driven"
	case "rejected":
		return "not approved"
	case "review":
		return "the review failed"
	case "conflict":
		return "its work conflicts with what came in first"
	case "expression":
		return "an expression had no value"
	case "acceptance":
		return "acceptance is false"
	case "abort":
		return "a route aborted it"
	case "spent":
		return "a loop is used up"
	case "no_progress":
		return "a loop made no progress"
	case "unmatched":
		return "a failure that no rule took"
	case "criterion":
		return "a criterion is not met"
	case "orphaned":
		return "the process that ran it is gone"
	case "setup":
		return "the workspace could not be set up"
	case "journal":
		return "its log cannot be trusted"
	case "infrastructure":
		return "something of the machine failed"
	}
	return reason
}
