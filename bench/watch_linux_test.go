package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// watched is a pipeline with one check, a program that writes down when it was started.
const watched = `version: 1
pipelines:
  p:
    phases:
      - {id: mark, run: [%q, %q], sources: [%q]}
`

// marking is the source of that program. The line is there as a whole or not at all.
const marking = `package main

import (
	"os"
	"strconv"
	"time"
)

func main() {
	now := strconv.FormatInt(time.Now().UnixNano(), 10)
	f, err := os.OpenFile(os.Args[1], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(now + "\n")
	}
	if err != nil {
		panic(err)
	}
}
`

// BenchmarkWatch is how long after a save the check that it concerns begins, in a tree of 20,000 directories. The floor
// is the quiet period; ms-over-quiet is what Foundry adds to it, with the start of the program that looks at the clock.
// idle-percent is of one processor while nothing changes, MB what Foundry holds.
// The check names one directory as its sources, or all 20,000 files.
func BenchmarkWatch(b *testing.B) {
	b.Run("one-source", func(b *testing.B) { watching(b, "src/**") })
	b.Run("20000-sources", func(b *testing.B) { watching(b, "**") })
}

func watching(b *testing.B, sources string) {
	const directories = 20000
	source, marks := filepath.Join(programs, "mark.go"), filepath.Join(b.TempDir(), "marks")
	if err := os.WriteFile(source, []byte(marking), 0o644); err != nil {
		b.Fatal(err)
	}
	content := map[string]string{"foundry.yaml": fmt.Sprintf(watched, build("mark", programs, source), marks, sources), "src/a.go": "one\n"}
	for i := range directories - 1 {
		content[fmt.Sprintf("d%03d/e%03d/file.txt", i%150, i/150)] = fmt.Sprintln("file", i)
	}
	dir := repository(b, content)
	w := exec.Command(foundry(), "watch", "--output", "plain")
	var said bytes.Buffer
	w.Dir, w.Stderr = dir, &said
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		w.Process.Signal(syscall.SIGTERM)
		w.Wait()
	}()
	awaitMark(b, marks, 1, &said)
	idle := spentIn(b, w.Process.Pid, 3*time.Second) // the files are read in the background at first
	over, n := never(), 1
	rounds(b, 10, func() {
		time.Sleep(300 * time.Millisecond) // the run before has ended
		saved := time.Now()
		if err := os.WriteFile(filepath.Join(dir, "src/a.go"), fmt.Appendln(nil, "text", n), 0o644); err != nil {
			b.Fatal(err)
		}
		n++
		over = min(over, quickest(awaitMark(b, marks, n, &said).Sub(saved)-100*time.Millisecond))
	})
	time.Sleep(time.Second) // as has the last one
	idle = min(idle, spentIn(b, w.Process.Pid, 5*time.Second))
	b.ReportMetric(over.ms(), "ms-over-quiet")
	b.ReportMetric(idle*100, "idle-percent")
	b.ReportMetric(residentMB(b, w.Process.Pid), "MB")
}

// awaitMark waits for the n-th start of the check, and says when it was.
func awaitMark(b *testing.B, marks string, n int, said *bytes.Buffer) time.Time {
	b.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(marks)
		if bytes.Count(text, []byte("\n")) < n {
			continue
		}
		at, err := strconv.ParseInt(strings.Split(string(text), "\n")[n-1], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		return time.Unix(0, at)
	}
	b.Fatalf("start %d of the check never came", n)
	return time.Time{}
}

// spentIn is the part of one processor that a process uses for a time.
func spentIn(b *testing.B, pid int, wait time.Duration) float64 {
	b.Helper()
	from, begin := ticks(b, pid), time.Now()
	time.Sleep(wait)
	return float64(ticks(b, pid)-from) / 100 / time.Since(begin).Seconds()
}

// ticks are the hundredths of a second that a process has had of the processors.
func ticks(b *testing.B, pid int) int {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	return user + system
}

// residentMB is what a process holds in memory.
func residentMB(b *testing.B, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return float64(kb) / 1024
}
