package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkLog runs one phase that writes 200 MB of lines, all of which Foundry logs. The floor is `cat` of the
// same bytes into a file. What a run costs without them is part of Foundry's time.
func BenchmarkLog(b *testing.B) {
	const size = 200 << 20
	big := filepath.Join(b.TempDir(), "lines")
	line := "ok  \tfoundry/internal/process\t0.012s\tcoverage: 91.2% of statements\n"
	if err := os.WriteFile(big, bytes.Repeat([]byte(line), size/len(line)), 0o644); err != nil {
		b.Fatal(err)
	}
	text := strings.Replace(light(1, "cat "+big), "project:\n", "project:\n  keep: {log: 1GB}\n", 1)
	dir := repository(b, map[string]string{"foundry.yaml": text})
	ours := foundry()
	copied := filepath.Join(b.TempDir(), "copy")
	peak := int64(0)
	against(b, 5, func() {
		run(b, dir, "sh", "-c", `cat "$0" > "$1"`, big, copied)
		os.Remove(copied)
	}, func() {
		peak = max(peak, peakMemory(run(b, dir, ours, "up", "p", "--output", "json")))
		logs, _ := filepath.Glob(filepath.Join(dir, ".foundry", "runs", "*", "logs", "*"))
		for _, name := range logs {
			if st, err := os.Stat(name); err != nil || st.Size() != int64(size/len(line)*len(line)) {
				b.Fatalf("the log %s is not whole", name)
			}
			os.Remove(name)
		}
	})
	if peak > 0 {
		b.ReportMetric(float64(peak)/(1<<20), "peak-MB")
	}
}
