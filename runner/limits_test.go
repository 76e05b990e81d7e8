package runner_test

import (
	"strings"
	"testing"

	. "foundry/runner"
)

func TestLimitsMustBeTrue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, limits, says string }{
		{"word for word", `[{"quote": "leave the public API  alone", "paths": ["api/"]}]`, ""},
		{"over the end of a line", `[{"quote": "API alone, and", "paths": ["api/"]}]`, ""},
		{"none", `[]`, ""},
		{"paraphrased", `[{"quote": "do not touch the API", "paths": ["api/"]}]`, `change_limits[0].quote: "do not touch the API" does not stand in the request`},
		{"no quote", `[{"quote": " ", "paths": ["api/"]}]`, "change_limits[0].quote: is empty"},
		{"no paths", `[{"quote": "leave the public API alone"}]`, "change_limits[0].paths: is empty"},
		{"a path that is none", `[{"quote": "leave the public API alone", "paths": ["api/", "../x"]}]`, "change_limits[0].paths[1]: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sc := begin(t, `    phases: [{id: plan, agent: coder, envelope: plan}]
`, RunInfo{Request: "add subtraction; leave the public API\nalone, and the tests too"})
			start := sc.about("plan", SnapshotTaken)
			start.Tree = "tree"
			sc.feed(start)
			sc.reply("plan", 1, `{"status": "success", "change_limits": `+c.limits+`}`)
			got := strings.Join(picked(sc.log, EnvelopeRejected).Problems, "\n")
			if c.says == "" {
				sc.want("boundary plan")
			} else {
				sc.want("turn plan")
			}
			if c.says == "" && got != "" || !strings.Contains(got, c.says) {
				t.Errorf("%q, want %q", got, c.says)
			}
		})
	}
}

func TestLimitsHoldForWhatLiesBehind(t *testing.T) {
	t.Parallel()
	sc := begin(t, `    phases:
      - {id: plan, agent: coder, envelope: plan}
      - {id: beside, run: make, needs: []}
      - {id: build, agent: coder, needs: [plan], route: ["on fail -> plan retry 1"]}
      - {id: last, run: make, needs: [build]}
`, RunInfo{Request: "leave a alone; leave b alone", Jobs: 4})
	reply := func(quote, path string) string {
		return `{"status": "success", "change_limits": [{"quote": "` + quote + `", "paths": ["` + path + `"]}]}`
	}
	allows := func(name, path string) bool {
		id, _ := sc.g.Lookup(name)
		_, ok := Boundary(sc.g, sc.s, id).Check(path)
		return ok
	}
	sc.agent("plan", reply("leave a alone", "a"))
	for _, c := range []struct {
		phase, path string
		ok          bool
	}{
		{"build", "a", false}, {"build", "a/deep/x", false}, {"build", "ab", true}, {"build", "b", true}, {"last", "a", false},
		{"beside", "a", true}, {"plan", "a", true},
	} {
		if allows(c.phase, c.path) != c.ok {
			t.Errorf("%s may write %s: %t", c.phase, c.path, !c.ok)
		}
	}
	id, _ := sc.g.Lookup("build")
	if why, _ := Boundary(sc.g, sc.s, id).Check("a"); why != `protected (a in the request: "leave a alone")` {
		t.Errorf("the reason is %s", why)
	}
	// A later plan takes the place of the one before it.
	sc.exit("beside", 0)
	sc.agent("build", `{"status": "fail"}`)
	sc.feed(Event{Kind: SnapshotTaken, Tree: "two"})
	sc.agent("plan", reply("leave b alone", "b"))
	if !allows("build", "a") || allows("build", "b") {
		t.Error("the limits of the first plan hold still, or those of the second do not")
	}
}
