package gates

import (
	"encoding/json"
	"strings"

	"foundry/internal/lazyregexp"
)

// Readers of what go test prints: as JSON events, and as text.

// goEvent is a line of go test -json, as far as it is needed. Events of a failed build have ImportPath.
type goEvent struct {
	Action      string
	Package     string
	Test        string
	Output      string
	ImportPath  string
	FailedBuild string
}

type goTest struct{ pkg, name string }

// goRun collects the events of a run.
type goRun struct {
	order  []goTest // in the order they appeared; name "" is the package itself
	action map[goTest]string
	output map[goTest]*strings.Builder
	build  map[string]*strings.Builder // output of builds, by import path
	failed map[string]string           // package -> the import path whose build failed
}

func readGoJSON(text string) (report, bool) {
	run := goRun{action: map[goTest]string{}, output: map[goTest]*strings.Builder{}, build: map[string]*strings.Builder{}, failed: map[string]string{}}
	events := 0
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var e goEvent
		// Other programs write to the same stream, and the tail of an output begins in mid-line.
		if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" || e.Package == "" && e.ImportPath == "" {
			continue
		}
		events++
		run.add(e)
	}
	if events == 0 {
		return report{}, false
	}
	return run.report(), true
}

func (r *goRun) add(e goEvent) {
	if e.ImportPath != "" {
		if r.build[e.ImportPath] == nil {
			r.build[e.ImportPath] = new(strings.Builder)
		}
		r.build[e.ImportPath].WriteString(e.Output)
		return
	}
	t := goTest{e.Package, e.Test}
	if _, seen := r.action[t]; !seen {
		r.order = append(r.order, t)
		r.action[t] = ""
		r.output[t] = new(strings.Builder)
	}
	switch e.Action {
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") && !strings.HasPrefix(strings.TrimSpace(e.Output), "--- ") {
			r.output[t].WriteString(e.Output)
		}
	case "pass", "fail", "skip":
		r.action[t] = e.Action
		if e.FailedBuild != "" {
			r.failed[e.Package] = e.FailedBuild
		}
	}
}

func (r *goRun) report() report {
	var out report
	blamed := map[string]bool{} // packages with a failed test
	packages, without := 0, 0
	for _, t := range r.order {
		action := r.action[t]
		switch {
		case t.name == "":
			packages++
			if action == "skip" || strings.Contains(r.output[t].String(), "[no test files]") {
				without++
			}
		case action == "skip":
			out.skipped++
		case action == "pass":
			out.ran++
		case action == "fail" || action == "" && r.action[goTest{pkg: t.pkg}] == "fail":
			// Without an end of its own the test was running when its package failed.
			out.ran++
			blamed[t.pkg] = true
			if !r.failedBelow(t) {
				where, message := locate(r.output[t].String())
				out.failures = append(out.failures, failure{t.pkg + "." + t.name, where, message})
			}
		}
	}
	for _, t := range r.order {
		if t.name == "" && r.action[t] == "fail" && !blamed[t.pkg] {
			text := r.output[t].String()
			if b := r.build[r.failed[t.pkg]]; b != nil {
				text = b.String()
			}
			where, message := locate(text)
			out.failures = append(out.failures, failure{t.pkg, where, message})
		}
	}
	out.none = out.ran == 0 && out.skipped == 0 && packages > 0 && packages == without
	return out
}

// failedBelow says that a subtest of the test failed, which then is the one to name.
func (r *goRun) failedBelow(t goTest) bool {
	for _, o := range r.order {
		if o.pkg == t.pkg && strings.HasPrefix(o.name, t.name+"/") && r.action[o] == "fail" {
			return true
		}
	}
	return false
}

var (
	goResult  = lazyregexp.New(`^\s*--- (PASS|FAIL|SKIP): (\S+) \(`)
	goPackage = lazyregexp.New(`^(ok  |FAIL|\?   )\t(\S+)(.*)$`)
	goBroken  = lazyregexp.New(`^FAIL\s+(\S+) \[(build|setup) failed\]`)
	goRunning = lazyregexp.New(`^=== (?:RUN|NAME|CONT)\s+(\S+)`)
	goHeading = lazyregexp.New(`^# (\S+)`)
)

// goText collects the lines of one package of go test's text, which come before its result.
type goText struct {
	report  report
	current string              // the test that lines belong to
	output  map[string][]string // what tests of this package printed, "" what belongs to none
	compile string              // the package whose compiler errors are being listed
	build   map[string][]string // compiler errors by package; they come before all results
	listed  int                 // tests listed for this package
	failed  []string            // those that failed
	seen    bool                // something of go test was there
	tests   bool                // a package with tests was there
}

func readGo(text string) (report, bool) {
	g := &goText{output: map[string][]string{}, build: map[string][]string{}}
	for line := range strings.SplitSeq(text, "\n") {
		g.line(strings.TrimRight(line, "\r"))
	}
	if len(g.failed) > 0 { // the result of the last package is missing
		g.close("", false)
	}
	g.report.none = !g.tests && g.report.ran == 0 && len(g.report.failures) == 0
	return g.report, g.seen
}

func (g *goText) line(line string) {
	if m := goHeading().FindStringSubmatch(line); m != nil {
		g.compile = m[1]
		return
	}
	if m := goBroken().FindStringSubmatch(line); m != nil {
		g.seen, g.tests = true, true
		g.close(m[1], true)
		return
	}
	if m := goPackage().FindStringSubmatch(line); m != nil {
		g.seen = true
		none := strings.Contains(m[3], "[no test files]") || strings.Contains(m[3], "[no tests to run]")
		g.tests = g.tests || !none
		if m[1] == "ok  " && g.listed == 0 && !none {
			g.report.ran++ // go test lists no test that passes unless it is asked to
			g.report.atLeast = true
		}
		g.close(m[2], m[1] == "FAIL")
		return
	}
	if m := goResult().FindStringSubmatch(line); m != nil {
		g.seen, g.tests = true, true
		g.listed++
		g.current, g.compile = m[2], ""
		switch m[1] {
		case "SKIP":
			g.report.skipped++
		case "FAIL":
			g.failed = append(g.failed, m[2])
			g.report.ran++
		case "PASS":
			g.report.ran++
		}
		return
	}
	if m := goRunning().FindStringSubmatch(line); m != nil {
		g.seen = true
		g.current, g.compile = m[1], ""
		return
	}
	if g.compile != "" {
		g.build[g.compile] = append(g.build[g.compile], line)
		return
	}
	g.output[g.current] = append(g.output[g.current], line)
}

// close ends a package: its failed tests are named, the deepest ones only, or the package itself.
func (g *goText) close(pkg string, failed bool) {
	for _, name := range g.failed {
		below := false
		for _, other := range g.failed {
			below = below || strings.HasPrefix(other, name+"/")
		}
		if below {
			continue
		}
		where, message := locate(strings.Join(g.output[name], "\n"))
		full := name
		if pkg != "" {
			full = pkg + "." + name
		}
		g.report.failures = append(g.report.failures, failure{full, where, message})
	}
	if failed && len(g.failed) == 0 {
		// The compiler, or what the package printed last, says why.
		lines := g.build[pkg]
		if lines == nil {
			lines = g.output[g.current]
		}
		where, message := locate(strings.Join(lines, "\n"))
		g.report.failures = append(g.report.failures, failure{pkg, where, message})
	}
	g.current, g.compile, g.output, g.listed, g.failed = "", "", map[string][]string{}, 0, nil
}

// noGoTests says that go test found nothing to test.
func noGoTests(text string) bool {
	return strings.Contains(text, "no packages to test") || strings.Contains(text, "matched no packages") || strings.Contains(text, "[no test files]")
}
