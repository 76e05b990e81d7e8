package gates

import (
	"fmt"
	"strconv"
	"strings"

	"foundry/internal/lazyregexp"
)

var (
	tapLine = lazyregexp.New(`^(\s*)(not )?ok(?: +(\d+))?(?: +-)?(?: +((?:[^#\\\n]|\\.)*?))?\s*(#.*)?$`)
	tapPlan = lazyregexp.New(`^1\.\.(\d+)(?:\s*#\s*(.*))?$`)
	tapSign = lazyregexp.New(`(?m)^(?:TAP version \d+|1\.\.\d+|(?:not )?ok \d+)\b`)
)

// tap is the state of reading the Test Anything Protocol. A subtest is indented and comes before the line
// of the test it belongs to.
type tap struct {
	out    report
	plan   int // of the outermost level; -1 until it is seen
	seen   int // tests at the outermost level
	detail []string
	open   bool // detail belongs to the last failure
	indent []int
}

// readTAP reads the Test Anything Protocol, versions 12 to 14.
func readTAP(text string) (report, bool) {
	if !tapSign().MatchString(text) {
		return report{}, false
	}
	t := &tap{plan: -1}
	for line := range strings.SplitSeq(text, "\n") {
		t.line(strings.TrimRight(line, "\r"))
	}
	t.settle()
	if t.plan > t.seen {
		t.out.failures = append(t.out.failures, failure{name: "plan", message: fmt.Sprintf("%d tests were planned, %d ran", t.plan, t.seen)})
	}
	t.out.none = t.plan == 0 && t.out.ran == 0
	return t.out, true
}

func (t *tap) line(line string) {
	if m := tapPlan().FindStringSubmatch(line); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			t.plan = n
		}
		return
	}
	if reason, ok := strings.CutPrefix(line, "Bail out!"); ok {
		t.settle()
		t.out.failures = append(t.out.failures, failure{name: "bail out", message: strings.TrimSpace(reason)})
		t.indent = append(t.indent, 0)
		return
	}
	m := tapLine().FindStringSubmatch(line)
	if m == nil {
		if t.open {
			t.detail = append(t.detail, line)
		}
		return
	}
	t.settle()
	t.result(len(m[1]), m[2] != "", m[3], m[4], strings.ToUpper(strings.TrimSpace(strings.TrimLeft(m[5], "# "))))
}

// result counts one test. directive is what follows the "#".
func (t *tap) result(indent int, failed bool, number, name, directive string) {
	if indent == 0 {
		t.seen++
	}
	switch {
	case strings.HasPrefix(directive, "SKIP"):
		t.out.skipped++
		return
	case strings.HasPrefix(directive, "TODO"):
		t.out.ran++ // expected to fail, and not held against anybody
		return
	}
	t.out.ran++
	if !failed {
		return
	}
	// A test fails because one below it did, and that one is already there.
	if last := len(t.indent) - 1; last >= 0 && t.indent[last] > indent {
		for last >= 0 && t.indent[last] > indent {
			t.indent[last] = indent
			last--
		}
		return
	}
	if name == "" {
		name = "test " + number
	}
	t.out.failures = append(t.out.failures, failure{name: strings.TrimSpace(name)})
	t.indent = append(t.indent, indent)
	t.open = true
}

// settle gives the last failure the place and the message of the lines that followed it.
func (t *tap) settle() {
	if t.open {
		f := &t.out.failures[len(t.out.failures)-1]
		f.where, f.message = t.diagnosis()
	}
	t.open, t.detail = false, nil
}

// diagnosis reads the YAML block or the comments after a failed test: by their keys when there are any.
func (t *tap) diagnosis() (where, message string) {
	text := strings.Join(t.detail, "\n")
	where = findPlace(text)
	for _, line := range t.detail {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "# "))
		for _, key := range [...]string{"message:", "error:"} {
			if rest, ok := strings.CutPrefix(line, key); ok {
				if rest = strings.Trim(strings.TrimSpace(rest), `'"|->`); rest != "" {
					return where, clipped(strings.TrimSpace(rest))
				}
			}
		}
		if message == "" && line != "---" && line != "..." && line != "" && !strings.Contains(line, ": ") {
			message = clipped(line)
		}
	}
	return where, message
}
