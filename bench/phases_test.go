package bench

import (
	"os/exec"
	"testing"
	"time"
)

// BenchmarkPhases runs pipelines of phases that do nothing, one after another, with the journal on. The floor
// is a Go program that executes `true` as often. What a run costs before its first phase and after its last is
// taken off, by a run of two phases. `growth` is the cost of a phase among 1,000 over that of one among 100: a
// runner whose phases become dearer the more of them are over has more than 1 there.
func BenchmarkPhases(b *testing.B) {
	const few, some, many = 2, 100, 1000
	ours := foundry()
	dirs := map[int]string{}
	best := map[int]*quickest{}
	for _, n := range []int{few, some, many} {
		dirs[n] = repository(b, map[string]string{"foundry.yaml": light(n, "true")})
		q := never()
		best[n] = &q
	}
	path, err := exec.LookPath("true")
	if err != nil {
		b.Skip("no program `true`: ", err)
	}
	floor := never()
	up := func(n int) { best[n].time(func() { run(b, dirs[n], ours, "up", "p", "--output", "json") }) }
	rounds(b, 5, func() {
		floor.time(func() {
			for range many {
				run(b, "", path)
			}
		})
		up(many)
		for range 3 { // short ones, of which each is easily disturbed
			up(some)
			up(few)
		}
	})
	per := func(n int) float64 { return float64(*best[n]-*best[few]) / float64(n-few) / float64(time.Millisecond) }
	floorPer := floor.ms() / many
	b.ReportMetric(floorPer, "floor-ms/phase")
	b.ReportMetric(per(many), "ms/phase")
	b.ReportMetric(per(many)-floorPer, "ms-over-floor/phase")
	b.ReportMetric(per(many)/floorPer, "x-floor")
	b.ReportMetric(per(many)/per(some), "growth")
	b.ReportMetric(best[few].ms(), "ms/run-of-2")
}
