package envelope

import (
	"fmt"
	"slices"
	"strings"
)

// Result is what came of reading a reply. Envelope is nil unless the reply was accepted; then there are no
// Problems.
type Result struct {
	Envelope   Object
	Problems   []Problem
	Truncated  bool     // the reply ended in the middle: a shorter one is needed, not a corrected one
	Notes      []string // repairs, ignored keys, which of several objects was used, disagreements
	Candidates int      // JSON objects at the top level of the reply, reasoning left out
}

// Parse finds the envelope in a reply and checks it: the last object that satisfies the kind is the
// envelope. A later one that is evidently meant as the report, but cannot be read or does not satisfy the
// kind, takes back what stands before it: an agent that corrects its report badly has not confirmed the
// first. truncated says that the harness knows the reply to be cut off.
func Parse(k *Kind, reply string, truncated bool) Result {
	found := scan(k, reply)
	result := Result{Candidates: found.count}
	if truncated || found.cut {
		where := "the reply was cut off"
		if !truncated {
			where = "the text ends inside " + found.where
		}
		result.Truncated = true
		result.Problems = []Problem{{"", where + ", send a shorter report"}}
		return result
	}
	if found.exhausted {
		result.Problems = []Problem{{"", "the reply has too many unbalanced brackets to be read, send the report alone"}}
		return result
	}
	choose(k, reply, found, &result)
	return result
}

// choose takes the last candidate that satisfies the kind, or says what is wrong with the one that was meant.
func choose(k *Kind, reply string, found findings, result *Result) {
	for i := len(found.candidates) - 1; i >= 0; i-- {
		c := found.candidates[i]
		if found.brokenAfter(c.start) {
			break
		}
		checked := check(k, c.object)
		if len(checked.problems) > 0 {
			if !meantAsReport(k, c.object) {
				continue
			}
			result.Problems = checked.problems
			return
		}
		result.Envelope = k.Fill(checked.object)
		result.Notes = append(c.repaired.notes(), notes(k, found, i, checked)...)
		return
	}
	switch {
	case len(found.broken) > 0:
		result.Problems = []Problem{{"", found.broken[len(found.broken)-1].message}}
	case found.count > 0:
		result.Problems = check(k, found.last.object).problems
	default:
		result.Problems = []Problem{{"", nothingFound(reply, found)}}
	}
}

// brokenAfter says that a report that cannot be read begins after a place.
func (f *findings) brokenAfter(at int) bool {
	return len(f.broken) > 0 && f.broken[len(f.broken)-1].start > at
}

// complete says that an object has each key that the kind requires.
func complete(k *Kind, n node) bool {
	return !slices.ContainsFunc(k.Fields, func(f Field) bool { return f.Required && !slices.Contains(n.keys, f.Name) })
}

func nothingFound(reply string, found findings) string {
	const missing = "there is no JSON object in the reply, end it with the report"
	if found.reach == 0 {
		return missing
	}
	return missing + "; the nearest to one: " + found.nearest.describe(reply)
}

// meantAsReport says that an object which does not satisfy the kind is a report all the same, and not some
// JSON that the agent shows: at least two of its keys are the kind's, one of them required.
func meantAsReport(k *Kind, n node) bool {
	keys, required := 0, false
	for _, f := range k.Fields {
		if slices.ContainsFunc(n.keys, func(key string) bool { return strings.EqualFold(key, f.Name) }) {
			keys++
			required = required || f.Required
		}
	}
	return keys >= 2 && required
}

// maxListed is how many keys or disagreements the notes list.
const maxListed = 10

// notes says how candidate number used, which came out as final, came to be used.
func notes(k *Kind, found findings, used int, final checked) []string {
	var out []string
	if keys := final.unknown; len(keys) > maxListed {
		out = append(out, fmt.Sprintf("unknown keys ignored: %s and %d more", strings.Join(keys[:maxListed], ", "), len(keys)-maxListed))
	} else if len(keys) > 0 {
		out = append(out, "unknown keys ignored: "+strings.Join(keys, ", "))
	}
	if found.count > 1 {
		out = append(out, fmt.Sprintf("%d JSON objects in the reply, number %d was used", found.count, found.candidates[used].number))
	}
	disagree := 0
	for _, c := range found.candidates[:used] {
		said := disagreement(k, c, final)
		if said != "" {
			disagree++
		}
		if said != "" && disagree <= maxListed {
			out = append(out, said)
		}
	}
	if disagree > maxListed {
		out = append(out, fmt.Sprintf("and %d more that disagree", disagree-maxListed))
	}
	return out
}

// disagreement says where another report that satisfies the kind has another verdict than the one used; ""
// when it has not.
func disagreement(k *Kind, c candidate, final checked) string {
	if !complete(k, c.object) {
		return ""
	}
	other := check(k, c.object)
	if len(other.problems) > 0 {
		return ""
	}
	for _, key := range [...]string{"approved", "status"} {
		a, b := fmt.Sprint(other.object[key]), fmt.Sprint(final.object[key])
		if _, ok := k.Lookup(key); ok && a != b {
			return fmt.Sprintf("JSON object %d says %s %s, the one used says %s", c.number, key, a, b)
		}
	}
	return ""
}
