package gates

import (
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
)

// readJUnit reads the XML that most test runners can write: test cases in suites of any depth.
func readJUnit(text string) (report, bool) {
	trimmed := strings.TrimLeft(strings.TrimPrefix(text, "\ufeff"), " \t\r\n")
	if !strings.HasPrefix(trimmed, "<") {
		return report{}, false
	}
	d := xml.NewDecoder(strings.NewReader(trimmed))
	j := junit{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if !j.rooted {
				return report{}, false
			}
			j.out.failures = append(j.out.failures, failure{name: "report", message: "cannot be read: " + err.Error()})
			break
		}
		switch t := token.(type) {
		case xml.StartElement:
			if !j.rooted && t.Name.Local != "testsuites" && t.Name.Local != "testsuite" {
				return report{}, false
			}
			j.start(t)
		case xml.EndElement:
			j.end(t)
		case xml.CharData:
			if j.in != "" {
				j.text.Write(t)
			}
		}
	}
	if missing := j.said - len(j.out.failures); j.rooted && missing > 0 {
		j.out.failures = append(j.out.failures, failure{name: "report", message: "counts " + strconv.Itoa(missing) + " more failures than it lists"})
	}
	return j.out, j.rooted
}

// junit is the state of reading one report.
type junit struct {
	out    report
	rooted bool
	said   int // failures and errors that the root counts
	test   *failure
	failed bool
	skip   bool
	in     string // failure or error, while its text is read
	text   strings.Builder
}

func (j *junit) start(e xml.StartElement) {
	attr := func(name string) string {
		for _, a := range e.Attr {
			if a.Name.Local == name {
				return a.Value
			}
		}
		return ""
	}
	if !j.rooted {
		j.rooted = true
		for _, name := range [...]string{"failures", "errors"} {
			if n, err := strconv.Atoi(attr(name)); err == nil {
				j.said += n
			}
		}
	}
	switch name := e.Name.Local; {
	case name == "testcase":
		j.test, j.failed, j.skip = &failure{name: attr("name")}, false, false
		if class := attr("classname"); class != "" {
			j.test.name = class + "." + j.test.name
		}
		if file, line := attr("file"), attr("line"); file != "" {
			j.test.where = strings.TrimSuffix(file+":"+line, ":")
		}
	case j.test == nil:
	case name == "skipped":
		j.skip = true
	case name == "failure" || name == "error":
		if !j.failed {
			j.failed, j.in = true, name
			j.test.message = attr("message")
			j.text.Reset()
		}
	}
}

func (j *junit) end(e xml.EndElement) {
	switch {
	case j.test == nil:
	case e.Name.Local == j.in:
		where, message := locate(j.text.String())
		if j.test.where == "" || !strings.Contains(j.test.where, ":") && where != "" {
			j.test.where = where
		}
		if first, _, _ := strings.Cut(strings.TrimSpace(j.test.message), "\n"); first != "" {
			message = clipped(first)
		}
		j.test.message, j.in = message, ""
	case e.Name.Local == "testcase":
		switch {
		case j.skip: // also one that was expected to fail, and did
			j.out.skipped++
		case j.failed:
			j.out.ran++
			j.out.failures = append(j.out.failures, *j.test)
		default:
			j.out.ran++
		}
		j.test = nil
	}
}
