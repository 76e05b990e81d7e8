package harness

import (
	"strconv"
	"strings"
	"time"

	"foundry/internal/lazyregexp"
)

// This file knows a usage limit when it sees one. Providers say it with a status, agents with words; some say when it
// ends, in one of several ways. A run pauses for it instead of failing.

// overloaded are the HTTP statuses by which a provider says: not now.
func overloaded(status int) bool { return status == 429 || status == 529 }

// limitWords are what agents and providers write when a limit is reached. They are only looked for in the text of an
// error, never in a reply.
var limitWords = lazyregexp.New(`(?i)\b(usage limit|rate[-_ ]limit|ratelimited|hit your (\w+ )?limit|limit reached|quota (exceeded|exhausted)|exceeded your current quota|too many requests|resource.?exhausted|overloaded|insufficient_quota)|\b(status|error|code|http)[ :(]{1,2}(429|529)\b`)

// resetWords find when a limit ends: Claude's "limit reached|1735689600", "retry after 30 seconds", "try again in 1h 5m", an
// RFC 3339 time.
var (
	resetUnix  = lazyregexp.New(`\|\s*(\d{10})\b`)
	resetIn    = lazyregexp.New(`(?i)(?:retry|try again|resets?|available|wait)(?:[ -]?(?:after|in|for))?:?\s+((?:\d+(?:\.\d+)?\s*(?:days?|d|hours?|h|minutes?|min|m|seconds?|sec|s)[ ,]*(?:and )?)+)\b`)
	resetAt    = lazyregexp.New(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`)
	resetPiece = lazyregexp.New(`(?i)(\d+(?:\.\d+)?)\s*(d|h|m|s)`)
)

// limitIn says whether the text of an error speaks of a limit, and when that ends if the text says so. now is what
// "in an hour" counts from.
func limitIn(text string, now time.Time) (at time.Time, limit bool) {
	if !limitWords().MatchString(text) {
		return time.Time{}, false
	}
	if m := resetUnix().FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err == nil {
			return time.Unix(n, 0).UTC(), true
		}
	}
	if m := resetAt().FindString(text); m != "" {
		if at, err := time.Parse(time.RFC3339Nano, m); err == nil {
			return at.UTC(), true
		}
	}
	if m := resetIn().FindStringSubmatch(text); m != nil {
		if d := spoken(m[1]); d > 0 {
			return now.Add(d).UTC(), true
		}
	}
	return time.Time{}, true
}

// spoken reads "1 hour and 5 minutes", "90s", "2h 3m".
func spoken(text string) time.Duration {
	units := map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second}
	var sum time.Duration
	for _, m := range resetPiece().FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(n * float64(units[strings.ToLower(m[2])]))
	}
	return sum
}

// refused is the reply for an error that an agent or its provider reported: Limit when it is one, else Failed. status
// is the HTTP status, 0 when there is none.
func refused(text string, status int, resets, now time.Time) Reply {
	at, limit := limitIn(text, now)
	if !limit && !overloaded(status) {
		return Reply{Stop: Failed, Error: text}
	}
	if !resets.IsZero() {
		at = resets
	}
	return Reply{Stop: Limit, Error: text, ResetAt: at}
}
