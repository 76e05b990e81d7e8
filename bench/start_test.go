package bench

import "testing"

// BenchmarkStart is how long somebody waits at the prompt. The floor is a Go program that writes one line.
func BenchmarkStart(b *testing.B) {
	dir := repository(b, map[string]string{"foundry.yaml": full(50)})
	for _, c := range []struct {
		name string
		args []string
	}{
		{"version", []string{"version"}},
		{"lint-50-phases", []string{"lint"}},
		{"complete-names", []string{"__complete", "--", "up", ""}},
	} {
		b.Run(c.name, func(b *testing.B) {
			floor, ours := hello(), foundry()
			against(b, 20, func() { run(b, dir, floor) }, func() { run(b, dir, ours, c.args...) })
		})
	}
}
