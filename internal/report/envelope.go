package report

import (
	"encoding/json"
	"fmt"
	"strings"
)

// report is what views read of an envelope, whatever its kind.
type report struct {
	Summary  string   `json:"summary"`
	Approved *bool    `json:"approved"`
	Blocking []string `json:"blocking"`
	Findings []any    `json:"findings"`
	Notes    string   `json:"notes_for_next_agent"`
	Blocked  struct {
		Reason string `json:"reason"`
		Needs  string `json:"needs"`
	} `json:"blocked"`
}

// report reads the visit's envelope. Fields of another type than expected are left at their zero value: an
// envelope of a user's own kind may use these names for something else.
func (v *Visit) report() report {
	var fields map[string]json.RawMessage
	var r report
	if json.Unmarshal(v.Envelope, &fields) != nil {
		return r
	}
	for name, into := range map[string]any{"summary": &r.Summary, "approved": &r.Approved, "blocking": &r.Blocking,
		"findings": &r.Findings, "notes_for_next_agent": &r.Notes, "blocked": &r.Blocked} {
		if raw, ok := fields[name]; ok {
			_ = json.Unmarshal(raw, into)
		}
	}
	return r
}

// limits are the sentences of the request by which a plan forbids changes, with their paths.
func (v *Visit) limits() []string {
	var plan struct {
		Limits []struct {
			Quote string   `json:"quote"`
			Paths []string `json:"paths"`
		} `json:"change_limits"`
	}
	if v.Status != "success" || json.Unmarshal(v.Envelope, &plan) != nil {
		return nil
	}
	var out []string
	for _, l := range plan.Limits {
		out = append(out, fmt.Sprintf("%s: %q", strings.Join(flatPaths(l.Paths), ", "), firstLine(strings.Join(strings.Fields(l.Quote), " "))))
	}
	return out
}

// summary is what the agent said of its work in a line.
func (v *Visit) summary() string {
	r := v.report()
	switch {
	case v.Status == "blocked":
		return first(r.Blocked.Reason, r.Blocked.Needs, r.Summary)
	case r.Approved != nil && *r.Approved:
		return "approved" + prefixed(": ", r.Summary)
	}
	return r.Summary
}

// complaint is what a reviewer found wrong, in a line.
func (v *Visit) complaint() string {
	r := v.report()
	if len(r.Blocking) > 0 {
		return firstLine(r.Blocking[0]) + more(len(r.Blocking)-1)
	}
	var unmet []string
	for _, f := range r.Findings {
		switch f := f.(type) {
		case string:
			unmet = append(unmet, f)
		case map[string]any:
			if met, ok := f["met"].(bool); ok && !met {
				if s, ok := f["requirement"].(string); ok {
					unmet = append(unmet, s)
				}
			}
		}
	}
	if len(unmet) > 0 {
		return firstLine(strings.Join(unmet, "\n")) + more(len(unmet)-1)
	}
	return first(firstLine(r.Summary), "not approved")
}
