package bench

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// BenchmarkLog runs one phase that writes 1 GB of lines, all of which Foundry logs. The floor is the same program with
// its output led through a pipe and `cat` into a file; x-straight is against that program writing into the file itself,
// which the kernel does without showing the bytes to anybody. What a run costs beside is part of Foundry's time.
func BenchmarkLog(b *testing.B) {
	big := filepath.Join(b.TempDir(), "lines")
	size := writeLines(b, big, 1<<30)
	text := strings.Replace(light(1, "cat "+big), "project:\n", "project:\n  keep: {log: 2GB}\n", 1)
	dir := repository(b, map[string]string{"foundry.yaml": text})
	ours := foundry()
	copied := filepath.Join(b.TempDir(), "copy")
	peak := int64(0)
	debug.FreeOSMemory() // what other benchmarks left in this process would be counted as well
	straight, floor, took := never(), never(), never()
	rounds(b, 5, func() {
		straight.time(func() { run(b, dir, "sh", "-c", `cat "$0" > "$1"`, big, copied) })
		os.Remove(copied)
		floor.time(func() { run(b, dir, "sh", "-c", `cat "$0" | cat > "$1"`, big, copied) })
		os.Remove(copied)
		took.time(func() {
			peak = max(peak, peakMemory(run(b, dir, ours, "up", "p", "--output", "json")))
		})
		logs, _ := filepath.Glob(filepath.Join(dir, ".foundry", "runs", "*", "logs", "*"))
		for _, name := range logs {
			if st, err := os.Stat(name); err != nil || st.Size() != size {
				b.Fatalf("the log %s is not whole", name)
			}
			os.Remove(name)
		}
	})
	report(b, floor.ms(), took.ms())
	b.ReportMetric(took.ms()/straight.ms(), "x-straight")
	if peak > 0 {
		b.ReportMetric(float64(peak)/(1<<20), "peak-MB")
	}
}

// writeLines makes a file of lines, of about the given size, and returns the exact one. This process stays small
// meanwhile, since what the system tells of a child's memory begins with that of its parent.
func writeLines(b *testing.B, name string, size int) int64 {
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	const line = "ok  \tfoundry/internal/process\t0.012s\tcoverage: 91.2% of statements\n"
	w := bufio.NewWriterSize(f, 64<<10)
	for range size / len(line) {
		w.WriteString(line)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	return int64(size / len(line) * len(line))
}
