package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity ranks a finding: an error keeps a pipeline from running, a warning does not.
type Severity uint8

// The severities; the zero value is invalid.
const (
	Error Severity = iota + 1
	Warning
)

func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	}
	return "invalid"
}

// Diagnostic is one finding. The message is lower case, without a full stop, names the thing in quotes and
// says what was expected; the hint says what to write instead.
type Diagnostic struct {
	Rule     Rule
	Severity Severity
	Span     Span
	Message  string
	Hint     string
	Notes    []Note
}

// Note is a second place that belongs to a finding: where the other definition stands, for instance.
type Note struct {
	Span    Span
	Message string
}

// List collects findings. The zero List is ready to use; it is not safe for concurrent use.
type List struct{ items []Diagnostic }

// Report adds a finding with the severity that the rule's table row says and returns it, so that a hint or
// a note can be put on it. The pointer is good until the next Report.
func (l *List) Report(rule Rule, at Span, format string, args ...any) *Diagnostic {
	l.items = append(l.items, Diagnostic{Rule: rule, Severity: rule.Severity(), Span: at, Message: fmt.Sprintf(format, args...)})
	return &l.items[len(l.items)-1]
}

// Hintf sets the hint and returns the diagnostic.
func (d *Diagnostic) Hintf(format string, args ...any) *Diagnostic {
	d.Hint = fmt.Sprintf(format, args...)
	return d
}

// Notef adds a second place and returns the diagnostic; a place that is nowhere is left out.
func (d *Diagnostic) Notef(at Span, format string, args ...any) *Diagnostic {
	if !at.IsZero() {
		d.Notes = append(d.Notes, Note{Span: at, Message: fmt.Sprintf(format, args...)})
	}
	return d
}

// As changes the severity from the table's: for the few rules that are an error in one case and a warning
// in another.
func (d *Diagnostic) As(s Severity) *Diagnostic {
	d.Severity = s
	return d
}

// Merge adds the findings of another list.
func (l *List) Merge(other List) { l.items = append(l.items, other.items...) }

// Without is the list without the findings for which leave holds.
func (l *List) Without(leave func(Diagnostic) bool) List {
	return List{items: slices.DeleteFunc(slices.Clone(l.items), leave)}
}

// Len is the number of findings.
func (l *List) Len() int { return len(l.items) }

// HasErrors says whether one of the findings is an error.
func (l *List) HasErrors() bool {
	return slices.ContainsFunc(l.items, func(d Diagnostic) bool { return d.Severity == Error })
}

// Sorted returns the findings by file, offset and rule, exact repetitions left out.
func (l *List) Sorted() []Diagnostic {
	out := slices.Clone(l.items)
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(strings.Compare(name(a.Span), name(b.Span)), cmp.Compare(a.Span.Start, b.Span.Start),
			strings.Compare(string(a.Rule), string(b.Rule)), strings.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(out, func(a, b Diagnostic) bool {
		return a.Rule == b.Rule && a.Span == b.Span && a.Message == b.Message
	})
}

func name(s Span) string {
	if s.Source == nil {
		return ""
	}
	return s.Source.Name
}
