package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkParallel runs 1,000 independent commands that do nothing, eight at a time, with the journal on. The floor is
// ninja on the same commands: it has no journal, no worktree, and keeps none of them from outliving it. Foundry executes
// a program directly, `true` too; ninja starts a shell, which knows `true` by itself. For what only a shell knows both
// start one. x-spent is the ratio of the processor time that each used with all that it started.
func BenchmarkParallel(b *testing.B) {
	ninja, err := exec.LookPath("ninja")
	if err != nil {
		b.Skip("ninja is not installed")
	}
	program, err := exec.LookPath("true")
	if err != nil {
		b.Skip("no program `true`: ", err)
	}
	for _, c := range []struct{ name, command string }{{"program", program}, {"true", "true"}, {"shell", ":"}} {
		b.Run(c.name, func(b *testing.B) { parallel(b, ninja, c.command) })
	}
}

func parallel(b *testing.B, ninja, command string) {
	const many, jobs = 1000, "8"
	var rules, phases strings.Builder
	fmt.Fprintf(&rules, "rule step\n  command = %s\n", command)
	phases.WriteString("version: 1\nproject: {merge: never}\npipelines:\n  p:\n    request: none\n    phases:\n")
	for i := range many {
		fmt.Fprintf(&rules, "build p%d: step\n", i)
		fmt.Fprintf(&phases, "      - {id: p%d, needs: [], run: %q}\n", i, command)
	}
	theirs := b.TempDir()
	if err := os.WriteFile(filepath.Join(theirs, "build.ninja"), []byte(rules.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	files := map[string]string{"foundry.yaml": phases.String()}
	floor, ours := never(), never()
	var spentFloor, spentOurs time.Duration
	measure := func(q *quickest, spent *time.Duration, program, dir string, args ...string) {
		from, _ := childrenTime()
		q.time(func() { run(b, dir, program, args...) })
		until, _ := childrenTime()
		*spent += until - from
	}
	rounds(b, 7, func() {
		// Each run has a repository to itself. To remove what the one before has left would make this one slower: ext4
		// goes a long way around what was removed a moment ago for each file that is made.
		dir := repository(b, files)
		measure(&floor, &spentFloor, ninja, theirs, "-j", jobs)
		measure(&ours, &spentOurs, foundry(), dir, "up", "p", "-j", jobs, "--output", "json")
	})
	report(b, floor.ms(), ours.ms())
	if spentFloor > 0 {
		b.ReportMetric(float64(spentOurs)/float64(spentFloor), "x-spent")
	}
}
