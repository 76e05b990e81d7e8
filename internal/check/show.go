package check

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"foundry/diag"
	"foundry/internal/terminal"
	"foundry/runner"
)

// This file shows results: as text for people, as JSON for scripts, as JUnit's XML for build servers.

// shower writes text with or without colours.
type shower struct {
	b     strings.Builder
	color bool
}

func (s *shower) paint(style terminal.Style, text string) string {
	if !s.color {
		return text
	}
	return style.Paint(text)
}

// Text shows results for people: the failed ones in full and, when verbose, a line for each other one.
func Text(results []Result, verbose, color bool) string {
	s := &shower{color: color}
	for i := range results {
		r := &results[i]
		switch {
		case !r.Passed():
			s.failed(r)
		case verbose:
			fmt.Fprintf(&s.b, "%s %s %s\n", s.paint(terminal.Green, "ok  "), r.Case.Name, s.paint(terminal.Dim, "("+strings.Join(r.Run.Path, " ")+")"))
		}
	}
	return s.b.String()
}

func (s *shower) failed(r *Result) {
	fmt.Fprintf(&s.b, "%s %s\n", s.paint(terminal.BoldRed, "FAIL"), r.Case.Name)
	s.b.WriteString(indented(s.detail(r)))
}

// detail is what is wrong with a result, each problem with its place, and the two paths.
func (s *shower) detail(r *Result) string {
	d := &shower{color: s.color}
	for _, p := range r.Problems {
		if p.What == "path" {
			d.paths(r)
			continue
		}
		lead := place(p.At)
		if lead != "" {
			lead += ": "
		}
		fmt.Fprintf(&d.b, "%s%s\n", lead, strings.ReplaceAll(p.Text, "\n", "\n  "))
	}
	return d.b.String()
}

func place(at diag.Span) string {
	if at.IsZero() {
		return ""
	}
	p := at.Position()
	return fmt.Sprintf("%s:%d:%d", at.Source.Name, p.Line, p.Column)
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// paths puts the expected and the actual path side by side, and says what led to where they part.
func (s *shower) paths(r *Result) {
	want, got, fork := r.Case.Expect.Path.Values(), r.Run.Path, r.fork()
	width := len("expected")
	for _, name := range want {
		width = max(width, len(name))
	}
	fmt.Fprintf(&s.b, "%s: the path is another one:\n      %-*s    %s\n", place(r.Case.Expect.Path.Span), width, "expected", "actual")
	for i := range max(len(want), len(got)) {
		left, right, mark := at(want, i), at(got, i), " "
		if left != right {
			mark = "|"
		}
		line := strings.TrimRight(fmt.Sprintf("  %3d %-*s %s  %s", i+1, width, left, mark, right), " ")
		if i == fork {
			line = s.paint(terminal.BoldRed, line)
		}
		s.b.WriteString(line + "\n")
	}
	if fork == 0 {
		fmt.Fprintf(&s.b, "  before the first visit:\n")
	} else {
		fmt.Fprintf(&s.b, "  after visit %d, of %s:\n", fork, got[fork-1])
	}
	for _, step := range r.atFork(fork) {
		fmt.Fprintf(&s.b, "    %s\n", strings.ReplaceAll(step.Text, "\n", "\n      "))
		for _, seen := range step.Seen {
			fmt.Fprintf(&s.b, "      %s is %s\n", seen.Term, seen.Value)
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// resultJSON is a result as scripts read it.
type resultJSON struct {
	Name     string        `json:"name"`
	Pipeline string        `json:"pipeline"`
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Passed   bool          `json:"passed"`
	Status   string        `json:"status"`
	Reason   string        `json:"reason"`
	Text     string        `json:"text"`
	Exit     int           `json:"exit"`
	Path     []string      `json:"path"`
	Routes   []string      `json:"routes"`
	Problems []problemJSON `json:"problems"`
	Fork     *forkJSON     `json:"fork"`
}

type problemJSON struct {
	What   string `json:"what"`
	Text   string `json:"text"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// forkJSON is where the path is not the expected one, and what led there.
type forkJSON struct {
	Visit    int        `json:"visit"` // from 1
	Expected []string   `json:"expected"`
	Steps    []stepJSON `json:"steps"`
}

type stepJSON struct {
	Text string        `json:"text"`
	Seen []runner.Seen `json:"seen"`
}

func newResultJSON(r *Result) resultJSON {
	v := r.Run.State.View()
	out := resultJSON{Name: r.Case.Name, Pipeline: r.Case.Graph.Pipeline, Passed: r.Passed(), Status: v.Status.String(), Reason: v.Reason, Text: v.Text, Exit: exitCode(v),
		Path: append([]string{}, r.Run.Path...), Routes: append([]string{}, taken(r.Run.Events)...), Problems: []problemJSON{}}
	if at := r.Case.At; !at.IsZero() {
		out.File, out.Line = at.Source.Name, at.Position().Line
	}
	for _, p := range r.Problems {
		at := p.At.Position()
		out.Problems = append(out.Problems, problemJSON{What: p.What, Text: p.Text, Line: at.Line, Column: at.Column})
		if p.What != "path" {
			continue
		}
		fork := &forkJSON{Visit: r.fork() + 1, Expected: r.Case.Expect.Path.Values(), Steps: []stepJSON{}}
		for _, s := range r.atFork(r.fork()) {
			fork.Steps = append(fork.Steps, stepJSON{Text: s.Text, Seen: append([]runner.Seen{}, s.Seen...)})
		}
		out.Fork = fork
	}
	return out
}

// reportJSON is the whole of what `test --json` prints.
type reportJSON struct {
	Passed  int            `json:"passed"`
	Failed  int            `json:"failed"`
	Tests   []resultJSON   `json:"tests"`
	Explore []coverageJSON `json:"explore,omitempty"`
}

// JSON shows results and what an exploration found for scripts.
func JSON(w io.Writer, results []Result, explored []*Exploration) error {
	report := reportJSON{Tests: []resultJSON{}}
	for i := range results {
		if results[i].Passed() {
			report.Passed++
		} else {
			report.Failed++
		}
		report.Tests = append(report.Tests, newResultJSON(&results[i]))
	}
	for _, x := range explored {
		report.Explore = append(report.Explore, x.json())
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(report)
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr,omitempty"`
	Line    int           `xml:"line,attr,omitempty"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit shows results for build servers: a suite for each file of tests, in the order of the results. took is how
// long all of them took together.
func JUnit(w io.Writer, results []Result, took time.Duration) error {
	all := junitSuites{Tests: len(results), Time: fmt.Sprintf("%.3f", took.Seconds())}
	for i := range results {
		r := &results[i]
		c := junitCase{Name: r.Case.Name, Class: r.Case.Graph.Pipeline}
		if at := r.Case.At; !at.IsZero() {
			c.File, c.Line = at.Source.Name, at.Position().Line
		}
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != c.File {
			all.Suites = append(all.Suites, junitSuite{Name: c.File})
		}
		suite := &all.Suites[len(all.Suites)-1]
		suite.Tests++
		if !r.Passed() {
			all.Failures++
			suite.Failures++
			c.Failure = &junitFailure{Message: r.Problems[0].Text, Text: (&shower{}).detail(r)}
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
