package runner_test

import (
	"testing"

	. "foundry/runner"
)

// TestMessageOfACommit holds what a commit without a message of its own is about.
func TestMessageOfACommit(t *testing.T) {
	t.Parallel()
	did := func(text string) string { return `{"status": "success", "summary": "` + text + `"}` }
	planned := `{"status": "success", "summary": "a plan with steps", "steps": [{"id": "a", "title": "parse flags"}, {"id": "b", "title": "print help"}]}`
	for _, c := range []struct {
		name, phases string
		replies      [][2]string
		want         string
	}{
		{"of nothing", "{id: test, run: make}", [][2]string{{"test", ""}}, "do it"},
		{"of an agent", "{id: build, agent: coder}", [][2]string{{"build", did("added flags\\nand more")}}, "added flags"},
		{"of the work, not of its review", "{id: build, agent: coder}, {id: look, agent: critic}",
			[][2]string{{"build", did("added flags")}, {"look", `{"status": "success", "approved": true, "summary": "fine"}`}}, "added flags"},
		{"of a call", "{id: sub, call: inner}", [][2]string{{"sub/plan", did("a plan")}, {"sub/build", did("added flags")}, {"sub/test", ""}}, "added flags"},
		{"of a list", "{id: plan, agent: coder, envelope: plan}, {id: do, agent: coder, each: {in: phases.plan.envelope.steps, limit: 4}}",
			[][2]string{{"plan", planned}, {"do[a]", did("flags are parsed")}, {"do[b]", did("help is printed")}},
			"parse flags, print help\n\n- parse flags: flags are parsed\n- print help: help is printed"},
		{"of some of a list", "{id: plan, agent: coder, envelope: plan}, {id: do, agent: coder, each: {in: phases.plan.envelope.steps, limit: 4, require: any}}",
			[][2]string{{"plan", planned}, {"do[a]", `{"status": "fail"}`}, {"do[b]", did("help is printed")}}, "1 of 2 items: print help\n\n- print help: help is printed"},
		{"of a list of one", `{id: do, agent: coder, each: {in: lines("docs"), limit: 4}}`, [][2]string{{"do[docs]", did("wrote docs")}}, "wrote docs"},
		{"of a list of commands", `{id: do, run: make, each: {in: lines("docs\nsite"), limit: 4}}`, [][2]string{{"do[docs]", ""}, {"do[site]", ""}}, "docs, site\n\n- docs\n- site"},
		{"of a list with nothing in it", `{id: plan, agent: coder, envelope: plan}, {id: do, agent: coder, each: {in: phases.plan.envelope.steps, limit: 4}}`,
			[][2]string{{"plan", did("nothing to do")}}, "nothing to do"},
		{"of a list of calls", `{id: do, call: inner, each: {in: lines("docs"), limit: 4}}`, [][2]string{{"do[docs]/plan", did("a plan")}, {"do[docs]/build", did("wrote docs")}, {"do[docs]/test", ""}}, "wrote docs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sc := begin(t, "    phases: ["+c.phases+`, {id: commit, builtin: git_commit}]
  inner:
    phases: [{id: plan, agent: coder}, {id: build, agent: coder}, {id: test, run: make}]
`, RunInfo{Request: "do it\nwell"})
			for _, r := range c.replies {
				sc.g = sc.s.Graph(sc.g)
				if r[1] == "" {
					sc.exit(r[0], 0)
				} else {
					sc.agent(r[0], r[1])
				}
			}
			id, _ := sc.g.Lookup("commit")
			got, err := Resolve(sc.g, sc.s, id, World{})
			if err != nil || got.Message != c.want {
				t.Errorf("%v: got  %q\nwant %q", err, got.Message, c.want)
			}
		})
	}
}
