package report

import (
	"fmt"
	"strings"
)

// Why says why a phase of a run was entered, or was not, how its visit ended, and where the run went from
// there. visit 0 is the newest. An error says that the run has no such phase or visit.
func (t *Trace) Why(name string, visit int, s Style) (string, error) {
	p, v, err := t.Lookup(name, visit)
	if err != nil && (p == nil || visit != 0) {
		return "", err
	}
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if v == nil {
		word, paint := statusWord(p.Status)
		say("%s of %s: %s", s.Paint(Bold, p.Name), t.ID, s.Paint(paint, word))
		if p.Why != "" {
			say("  because   %s", clean(p.Why))
		}
		return b.String(), nil
	}
	word, paint := statusWord(v.Status)
	say("%s of %s: %s", s.Paint(Bold, fmt.Sprintf("%s@%d", p.Name, v.N)), t.ID, s.Paint(paint, word))
	if v.From != nil {
		say("  entered   by a rule of %s: %s%s", clean(v.From.From), clean(v.From.Rule), countOf(v.From))
		sayTerms(say, v.From)
	} else if v.JudgedAgain != "" {
		say("  entered   since %s", clean(v.JudgedAgain))
	} else {
		say("  entered   in the order of the pipeline: what it depends on had ended")
	}
	if v.Reused != nil {
		say("  not started %s", upToDate(v.Reused))
	}
	if v.Because != "" {
		say("  started   because %s", clean(v.Because))
	}
	if v.Feedback != "" {
		say("  given     %s", strings.ReplaceAll(clean(v.Feedback), "\n", "\n            "))
	}
	if v.Status != "running" && v.Status != "waiting" {
		ended := word
		if v.Reason != "" {
			ended += ", " + v.Reason
		}
		if v.Text != "" {
			ended += ": " + strings.ReplaceAll(clean(v.Text), "\n", "\n            ")
		}
		say("  ended     %s", ended)
	}
	for i := range v.Spent {
		say("  used up   %s (%d of %d)", clean(v.Spent[i].Rule), v.Spent[i].Used, v.Spent[i].Of)
	}
	if v.Route != nil {
		say("  then      to %s: %s%s", clean(v.Route.To), clean(v.Route.Rule), countOf(v.Route))
		sayTerms(say, v.Route)
	}
	if v.Invalid {
		say("  void      the workspace was edited afterwards")
	}
	return b.String(), nil
}

func countOf(r *Route) string {
	if r.Of == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of %d)", r.Used, r.Of)
}

func sayTerms(say func(string, ...any), r *Route) {
	for _, term := range r.Seen {
		say("            where %s is %s", clean(term.Term), clean(term.Value))
	}
}
