package diag

import "strings"

// Unsilenced returns the findings without the warnings that a `# foundry:ignore rule` comment on the line, or
// alone on the line above, silences. Several rules may be named. An error is never silenced.
func Unsilenced(found []Diagnostic) []Diagnostic {
	var out []Diagnostic
	for _, d := range found {
		if d.Severity == Warning && !d.Span.IsZero() && silenced(d) {
			continue
		}
		out = append(out, d)
	}
	return out
}

func silenced(d Diagnostic) bool {
	line := d.Span.Position().Line
	if names(d.Span.Source.Line(line), d.Rule) {
		return true
	}
	above := d.Span.Source.Line(line - 1)
	return strings.HasPrefix(strings.TrimSpace(above), "#") && names(above, d.Rule)
}

// names says whether the line carries an ignore comment that names the rule.
func names(line string, rule Rule) bool {
	const mark = "# foundry:ignore"
	at := strings.Index(line, mark)
	if at < 0 || at > 0 && line[at-1] != ' ' && line[at-1] != '\t' {
		return false
	}
	for _, word := range strings.FieldsFunc(line[at+len(mark):], func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		if word == string(rule) {
			return true
		}
	}
	return false
}
