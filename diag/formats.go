package diag

// The findings for machines: a JSON array, GitHub's workflow commands, and SARIF.

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

type record struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line"`
	EndColumn int    `json:"end_column"`
	Rule      string `json:"rule"`
	Severity  string `json:"severity"`
	Message   string `json:"message"`
	Hint      string `json:"hint"`
}

func recordOf(d Diagnostic) record {
	from, to := d.Span.Position(), d.Span.endPosition()
	return record{name(d.Span), from.Line, from.Column, to.Line, to.Column, string(d.Rule), d.Severity.String(), d.Message, d.Hint}
}

// RenderJSON writes the findings as one JSON array, empty when there are none. Lines and columns count from 1,
// columns in characters; the end is the place after the last character. A finding without a place has the
// file "" and zeros.
func RenderJSON(w io.Writer, found []Diagnostic) error {
	out := make([]record, 0, len(found))
	for _, d := range found {
		out = append(out, recordOf(d))
	}
	return encode(w, out)
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// RenderGitHub writes the findings as workflow commands, which GitHub shows beside the lines of a pull request.
func RenderGitHub(w io.Writer, found []Diagnostic) error {
	var b strings.Builder
	for _, d := range found {
		r := recordOf(d)
		b.WriteString("::" + r.Severity + " ")
		if r.File != "" {
			fmt.Fprintf(&b, "file=%s,line=%d,", escapeProperty.Replace(r.File), r.Line)
			if r.EndLine == r.Line { // GitHub refuses columns that span lines
				fmt.Fprintf(&b, "endLine=%d,col=%d,endColumn=%d,", r.EndLine, r.Column, r.EndColumn)
			} else {
				fmt.Fprintf(&b, "endLine=%d,", r.EndLine)
			}
		}
		text := r.Message + " [" + r.Rule + "]"
		if r.Hint != "" {
			text += "\nhint: " + r.Hint
		}
		fmt.Fprintf(&b, "title=%s::%s\n", escapeProperty.Replace(r.Rule), escapeData.Replace(text))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

type (
	sarifText struct {
		Text string `json:"text"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifRule struct {
		ID      string      `json:"id"`
		Short   sarifText   `json:"shortDescription"`
		Default sarifConfig `json:"defaultConfiguration"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifLocation struct {
		ID       int           `json:"id,omitempty"`
		Physical sarifPhysical `json:"physicalLocation"`
		Message  *sarifText    `json:"message,omitempty"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
		Related   []sarifLocation `json:"relatedLocations,omitempty"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
)

var escapeURI = strings.NewReplacer("%", "%25", " ", "%20", "#", "%23", "?", "%3F")

// RenderSARIF writes the findings as a SARIF 2.1.0 log with the whole table of rules; version is the program's,
// or "".
func RenderSARIF(w io.Writer, found []Diagnostic, version string) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "foundry", Version: version}}, ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	for _, r := range table {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{string(r.Name), sarifText{r.Summary}, sarifConfig{r.Severity.String()}})
	}
	for _, d := range found {
		text := d.Message
		if d.Hint != "" {
			text += "; hint: " + d.Hint
		}
		index := slices.IndexFunc(table[:], func(r RuleInfo) bool { return r.Name == d.Rule })
		result := sarifResult{RuleID: string(d.Rule), RuleIndex: index, Level: d.Severity.String(), Message: sarifText{text}}
		if !d.Span.IsZero() {
			result.Locations = []sarifLocation{location(d.Span)}
		}
		for i, n := range d.Notes {
			at := location(n.Span)
			at.ID, at.Message = i+1, &sarifText{n.Message}
			result.Related = append(result.Related, at)
		}
		run.Results = append(run.Results, result)
	}
	return encode(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

func location(s Span) sarifLocation {
	from, to := s.Position(), s.endPosition()
	return sarifLocation{Physical: sarifPhysical{sarifArtifact{escapeURI.Replace(name(s))}, sarifRegion{from.Line, from.Column, to.Line, to.Column}}}
}
