// Package bench measures Foundry against floors: the cheapest program that does the part of the work that
// cannot be left out. README.md says what each floor is. Floor and Foundry are measured in turns in one run,
// so that their ratio means something on a busy machine; nothing here fails for being slow.
package bench

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	programs string // the directory that the built programs are in
	root     string // the top of this repository
)

func TestMain(m *testing.M) {
	os.Exit(within(m))
}

// within runs the benchmarks with a directory for the built programs, and without the user's git settings.
func within(m *testing.M) int {
	dir, err := os.MkdirTemp("", "foundry-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a directory for the programs:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	programs = dir
	if root, err = filepath.Abs(".."); err != nil {
		fmt.Fprintln(os.Stderr, "find the top of the repository:", err)
		return 1
	}
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "Bench", "GIT_AUTHOR_EMAIL": "bench@example.com",
		"GIT_COMMITTER_NAME": "Bench", "GIT_COMMITTER_EMAIL": "bench@example.com",
	} {
		os.Setenv(name, value)
	}
	return m.Run()
}

// foundry is the path of this repository's program, built once.
var foundry = sync.OnceValue(func() string { return build("foundry", root, ".") })

// hello is the path of the smallest Go program that writes a line, built once.
var hello = sync.OnceValue(func() string {
	source := filepath.Join(programs, "hello.go")
	text := "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"hello, world\\n\") }\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		panic(err)
	}
	return build("hello", programs, source)
})

func build(name, dir, what string) string {
	out := filepath.Join(programs, name)
	c := exec.Command("go", "build", "-buildvcs=false", "-o", out, what)
	c.Dir = dir
	if said, err := c.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build %s: %v\n%s", name, err, said))
	}
	return out
}

// rounds repeats a measurement for the benchmark's time, and at least so many times. The time of one
// round of the benchmark would mean nothing, and is not printed.
func rounds(b *testing.B, least int, round func()) {
	b.Helper()
	n := 0
	for b.Loop() {
		round()
		n++
	}
	for ; n < least; n++ {
		round()
	}
	b.ReportMetric(0, "ns/op")
}

// quickest is the smallest of some times: what the work costs when nobody is in the way.
type quickest time.Duration

func never() quickest { return math.MaxInt64 }

func (q *quickest) time(work func()) {
	from := time.Now()
	work()
	*q = min(*q, quickest(time.Since(from)))
}

func (q quickest) ms() float64 { return float64(q) / float64(time.Millisecond) }

// against measures Foundry and its floor in turns and reports the quickest of each with their ratio.
func against(b *testing.B, least int, floor, ours func()) {
	b.Helper()
	f, o := never(), never()
	rounds(b, least, func() {
		f.time(floor)
		o.time(ours)
	})
	report(b, f.ms(), o.ms())
}

// computing is against for work inside this process. Beside the ratio of times it reports that of the time that the
// processors spent: on a busy machine others get their turns in the middle of the longer work, and never in that of
// a floor of a millisecond.
func computing(b *testing.B, least int, floor, ours func()) {
	b.Helper()
	var spentFloor, spentOurs time.Duration
	spending := func(sum *time.Duration, work func()) func() {
		return func() {
			from, _ := processorTime()
			work()
			until, _ := processorTime()
			*sum += until - from
		}
	}
	against(b, least, spending(&spentFloor, floor), spending(&spentOurs, ours))
	if spentFloor > 0 {
		b.ReportMetric(float64(spentOurs)/float64(spentFloor), "x-spent")
	}
}

func report(b *testing.B, floor, ours float64) {
	b.ReportMetric(floor, "floor-ms")
	b.ReportMetric(ours, "ms")
	b.ReportMetric(ours/floor, "x-floor")
}

// run runs a program to its success, without its output, and returns how it was.
func run(b *testing.B, dir, program string, args ...string) *os.ProcessState {
	c := exec.Command(program, args...)
	var said strings.Builder
	c.Dir, c.Stderr = dir, &said
	if err := c.Run(); err != nil {
		b.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, said.String())
	}
	return c.ProcessState
}

// repository makes a git repository with one commit of the given files.
func repository(b *testing.B, files map[string]string) string {
	dir := b.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	run(b, dir, "git", "init", "-q", "-b", "main")
	run(b, dir, "git", "add", "-A")
	run(b, dir, "git", "-c", "gc.auto=0", "commit", "-q", "-m", "files") // nothing may go on behind a measurement
	return dir
}
