package harness

import (
	"testing"
	"time"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"Claude AI usage limit reached|1925002800":                           time.Unix(1925002800, 0).Sub(now),
		"API Error: Request rejected (429) · slow down; rate limited":        0,
		"rate_limit_exceeded: Rate limit reached for x. Try again in 1m30s.": 90 * time.Second,
		"You've hit your usage limit. Try again in 2 hours and 5 minutes.":   2*time.Hour + 5*time.Minute,
		"You have hit your limit; resets at 2031-01-02T00:00:00Z":            24 * time.Hour,
		"exceeded your current quota, please retry in 7.5s":                  7500 * time.Millisecond,
		"Too Many Requests, retry after: 30 s":                               30 * time.Second,
		"unexpected status 529: overloaded_error":                            0,
		"RESOURCE_EXHAUSTED": 0,
	} {
		at, limit := limitIn(text, now)
		switch {
		case !limit:
			t.Errorf("%q is taken for no limit", text)
		case want == 0 && !at.IsZero(), want != 0 && !at.Equal(now.Add(want)):
			t.Errorf("%q ends at %s, want %s later", text, at, want)
		}
	}
	for _, text := range []string{"", "401 Unauthorized", "no such file: ratelimit.go:429", "the context limit is 200000 tokens", "delimited", "line 529 of 600"} {
		if _, limit := limitIn(text, now); limit {
			t.Errorf("%q is taken for a limit", text)
		}
	}
	for _, c := range []struct {
		text   string
		status int
		stop   Stop
	}{{"refused", 429, Limit}, {"refused", 529, Limit}, {"refused", 500, Failed}, {"refused", 0, Failed}} {
		if r := refused(c.text, c.status, time.Time{}, now); r.Stop != c.stop {
			t.Errorf("%+v is %s", c, r.Stop)
		}
	}
}
