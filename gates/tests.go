package gates

import (
	"fmt"
	"strings"

	"foundry/internal/lazyregexp"
)

// The gate that reads what a test runner reported. Each format has a reader that turns text into a report;
// here the report becomes checks.

// report is what a test runner said.
type report struct {
	ran      int
	skipped  int
	atLeast  bool // the runner does not list all tests: there are ran of them, or more
	none     bool // the runner said that there are no tests
	failures []failure
}

// failure is a failed test, or a failed package without one.
type failure struct {
	name    string
	where   string // file:line, "" when the report does not say
	message string // its first line
}

// readers are the formats by name. A reader says no when the text holds nothing of its format.
var readers = [...]struct {
	name string
	read func(text string) (report, bool)
}{
	{"junit", readJUnit},
	{"go-json", readGoJSON},
	{"tap", readTAP},
	{"go", readGo},
}

// outputTail is a length, in bytes, from which on an output may be only the end of a longer one.
const outputTail = 60 << 10

// maxFailures is how many failed tests are listed.
const maxFailures = 50

func (s Spec) testsRan(e Evidence) []Check {
	text, trouble := s.reportText(e)
	if trouble != nil {
		return []Check{*trouble}
	}
	r, recognised, problem := s.read(text)
	var out []Check
	switch {
	case problem != "":
		return []Check{{Item: s.source(), Note: problem}}
	case !recognised && s.File != "":
		return []Check{{Item: s.source(), Note: "is no test report that is known: go-json, junit, tap, or the output of go test"}}
	case recognised && s.File == "" && len(e.Run.Output) >= outputTail:
		r.atLeast = true // the beginning of the output is not there to be counted
		out = s.reportChecks(r)
	case recognised && (!r.none || r.ran > 0 || len(r.failures) > 0):
		out = s.reportChecks(r)
	}
	if s.File == "" && !e.Run.Passed && len(r.failures) == 0 {
		out = append(out, Check{Item: "exit", Note: fmt.Sprintf("the command exited %d, though no failed test was found in its output", e.Run.Exit)})
	}
	return out
}

// source names what the report was read from.
func (s Spec) source() string {
	if s.File != "" {
		return s.File
	}
	return "output"
}

// reportText is the text of the report, or the check that says why there is none.
func (s Spec) reportText(e Evidence) (string, *Check) {
	bad := func(format string, args ...any) (string, *Check) {
		return "", &Check{Item: s.source(), Note: fmt.Sprintf(format, args...)}
	}
	if s.File == "" {
		switch {
		case e.Run == nil:
			return bad("there is no command whose output could be read")
		case e.Run.Failed != "":
			return bad("the command could not be started: %s", e.Run.Failed)
		case e.Run.TimedOut:
			return bad("the tests timed out after %s", e.Run.took())
		}
		return e.Run.Output, nil
	}
	f, looked := e.Files[s.File]
	switch {
	case !looked:
		return bad("was not looked at")
	case f.Problem != "":
		return bad("%s", f.Problem)
	case !f.Exists:
		return bad("does not exist: run the tests so that they write it")
	case f.Type != "file":
		return bad("is a %s, not a report", f.Type)
	case f.Truncated:
		return bad("%s are more than can be checked", bytesOf(f.Size))
	}
	return string(f.Data), nil
}

// read reads the text in the format that the gate names, or in the first one that knows it.
func (s Spec) read(text string) (r report, recognised bool, problem string) {
	for _, f := range readers {
		if s.Report != "" && s.Report != f.name {
			continue
		}
		if r, ok := f.read(text); ok {
			return r, true, ""
		}
	}
	switch {
	case noGoTests(text):
		return report{none: true}, true, ""
	case s.Report != "":
		return report{}, false, fmt.Sprintf("holds no %s report", s.Report)
	}
	return report{}, false, ""
}

// reportChecks makes one check of each failed test and one of the numbers.
func (s Spec) reportChecks(r report) []Check {
	var out []Check
	for i, f := range r.failures {
		if i == maxFailures {
			out = append(out, Check{Item: "failures", Note: fmt.Sprintf("and %d more failed", len(r.failures)-maxFailures)})
			break
		}
		note := strings.TrimSuffix(f.where+": "+f.message, ": ")
		note = strings.TrimPrefix(note, ": ")
		if note == "" {
			note = "failed"
		}
		out = append(out, Check{Item: f.name, Note: note})
	}
	least := max(s.Min, 1)
	some := ""
	if r.atLeast {
		some = "at least "
	}
	c := Check{Item: "tests", OK: r.ran >= least, Note: fmt.Sprintf("%s%d ran, %d failed, %d skipped", some, r.ran, len(r.failures), r.skipped)}
	if !c.OK {
		c.Note += fmt.Sprintf("; at least %d must run", least)
	}
	return append(out, c)
}

var (
	// fileLine finds a place in a test's output: a name with an extension, then a line.
	fileLine = lazyregexp.New(`[^\s:()'"\[\]]*[^\s:()'"\[\]/\\]\.[A-Za-z]\w*:\d+`)
	atLine   = lazyregexp.New(`\bat (\S+) line (\d+)`) // as Perl says it
	column   = lazyregexp.New(`^\d+: *`)
)

// findPlace is the first place that output names; not a host with its port, and not a frame of the Go
// runtime, which stands above the test's own in a stack.
func findPlace(output string) string {
	for _, place := range fileLine().FindAllString(output, 50) {
		if !strings.HasPrefix(place, "//") && !strings.Contains(place, "/src/testing/") && !strings.Contains(place, "/src/runtime/") {
			return place
		}
	}
	if m := atLine().FindStringSubmatch(output); m != nil {
		return m[1] + ":" + m[2]
	}
	return ""
}

// locate makes the place and the first line of a failed test's output.
func locate(output string) (where, message string) {
	where = findPlace(output)
	for line := range strings.SplitSeq(output, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if where != "" {
			if rest, ok := strings.CutPrefix(line, where+":"); ok {
				if message = strings.TrimSpace(column().ReplaceAllString(rest, "")); message == "" {
					continue
				}
				return where, clipped(message)
			}
		}
		if message == "" {
			message = line
		}
	}
	return where, clipped(message)
}

// clipped keeps a message from filling a note.
func clipped(s string) string {
	if len(s) <= 200 {
		return s
	}
	return strings.ToValidUTF8(s[:197], "") + "..."
}
