package bench

import (
	"os/exec"
	"testing"
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
	up := func(n, times int) {
		best[n].time(func() {
			for range times {
				run(b, dirs[n], ours, "up", "p", "--output", "json")
			}
		})
	}
	rounds(b, 5, func() {
		floor.time(func() {
			for range many {
				run(b, "", path)
			}
		})
		up(many, 1)
		up(some, many/some) // as long as the other, so that both are disturbed as often
		for range 10 {
			up(few, 1)
		}
	})
	none := best[few].ms() // of a run without phases, nearly
	floorPer := floor.ms() / many
	perMany := (best[many].ms() - none) / (many - few)
	perSome := (best[some].ms()*some/many - none) / (some - few)
	b.ReportMetric(floorPer, "floor-ms/phase")
	b.ReportMetric(perMany, "ms/phase")
	b.ReportMetric(perMany-floorPer, "ms-over-floor/phase")
	b.ReportMetric(perMany/floorPer, "x-floor")
	b.ReportMetric(perMany/perSome, "growth")
	b.ReportMetric(none, "ms/run-of-2")
}
