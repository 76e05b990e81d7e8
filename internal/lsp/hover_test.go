package lsp_test

import (
	"strings"
	"testing"
)

// TestHover looks at one place after the other: what is said of it. The words of a case all stand in the text; those
// behind a - do not. An empty want is a place about which nothing is said.
func TestHover(t *testing.T) {
	t.Parallel()
	c := open(t)
	uri := repository(t, nil)("foundry.yaml")
	version := 0
	cases := []struct{ name, text, of, want string }{
		{"a key at the top", whole, "def‸ault: fix", "**default**|key at the top|the pipeline that runs|-Default:"},
		{"a key of a phase", in(t, "        agent: builder", "        retries: 1"), "ret‸ries: 1", "**retries**|with agent|further attempts|whole number|Default: `0`"},
		{"its end", in(t, "        agent: builder", "        retries: 1"), "retries‸: 1", "**retries**"},
		{"a key with words", in(t, "    accept: passed(\"test\")", "    request: none"), "req‸uest: none", "optional, required, none|Default: `optional`"},
		{"a required key", whole, "i‸d: build", "Required"},
		{"an argument of a gate", whole, "fi‸les: 3", "**files**|max_diff"},
		{"a value without a meaning of its own", in(t, "        command: test", "        timeout: 30m"), "30‸m", "**timeout**|how long"},
		{"a word of a key", whole, "type: cho‸ice", "**choice**|type"},
		{"prose", in(t, "        agent: builder", "        description: builds it"), "build‸s it", "**description**"},

		{"an agent", whole, "agent: sor‸ter", "**sorter** (agent)|envelope: `triage`|writes nothing|harness: `command`"},
		{"an agent that ships", whole, "agent: bui‸lder", "**builder** (agent, ships with Foundry)|Makes the change|envelope: `build`"},
		{"an agent where it is defined", whole, "  sor‸ter: {", "**sorter** (agent)"},
		{"a command", whole, "command: te‸st", "**test** (command)|go test ./..."},
		{"a command that is a list", whole, "  ve‸t: [", "go vet ./..."},
		{"a gate of the file", whole, "gates: [sm‸all]", "**small** (gate)|max_diff"},
		{"a gate that ships", whole, "gates: [verdict_‸consistent]", "part of Foundry"},
		{"a kind of gate", whole, "{max_‸diff:", "**max_diff**|files"},
		{"an envelope", whole, "envelope: tri‸age", "**triage** (envelope)|`severity`: string, one of `low`, `high`, required|`summary`"},
		{"a pipeline", whole, "default: fi‸x", "**fix** (pipeline)|sort, build, test"},

		{"a phase's id", whole, "id: bui‸ld", "**build** (phase of fix)|agent builder"},
		{"a target", whole, "on fail -> bui‸ld", "**build** (phase of fix)|agent builder"},
		{"a detour", whole, "on reject -> un‸do", "**undo** (detour of fix)|runs ./undo.sh"},
		{"a phase in a predicate", whole, "passed(\"te‸st\")", "**test** (phase of fix)|command test"},
		{"a predicate", whole, "pas‸sed(\"test\")", "**passed**|whether the phase stands at success"},
		{"a trigger", whole, "on fa‸il", "**fail**|it failed"},
		{"a word of a rule", whole, "build re‸try 2", "**retry**|jumps back"},
		{"a function", in(t, "          on fail -> build retry 2", "          on timeout -> build retry 1 with tail(output, 4)"), "ta‸il(", "**tail**|last n lines"},
		{"a name", in(t, "          on fail -> build retry 2", "          on timeout -> build retry 1 with tail(output, 4)"), "out‸put, 4", "**output** (string)"},
		{"a field", in(t, "        agent: sorter", "        route: |\n          on pass when envelope.severity == \"low\" -> look"), "envelope.sev‸erity", "**severity** (string)|`low`, `high`"},
		{"a phase in a path", in(t, "        command: test", "        when: phases.sort.envelope.summary != \"\""), "phases.so‸rt", "**sort** (phase of fix)"},
		{"a template", swap(t, "\"Ship it?\"", "\"Ship {{envelope:build.summary}}?\""), "envelope:build.sum‸mary", "**summary** (string)"},
		{"a phase in a template", swap(t, "\"Ship it?\"", "\"Ship {{envelope:build.summary}}?\""), "envelope:bui‸ld", "**build**"},
		{"an input", in(t, "        agent: builder", "        inputs: [sort.summary]"), "so‸rt.summary", "**sort**"},
		{"a field of an input", in(t, "        agent: builder", "        inputs: [sort.summary]"), "sort.sum‸mary", "**summary**"},

		{"nothing", whole, "accept‸", "**accept**"},
		{"a name that is nobody's", swap(t, "agent: builder", "agent: nobody"), "no‸body", "**agent**"},
		{"a comment", in(t, "version: 1", "# default: fix"), "# def‸ault", ""},
		{"a number of a rule", whole, "retry ‸2", ""},
		{"an unknown key", in(t, "version: 1", "nonsense: 1"), "non‸sense", ""},
		{"a text that does not parse", strings.Replace(whole, "default: fix", "default: \"fix", 1), "agent: sor‸ter", "**sorter** (agent)"},
	}
	for _, tc := range cases {
		plain := strings.Replace(tc.of, "‸", "", 1)
		if strings.Count(tc.text, plain) < 1 {
			t.Fatalf("%s: %q is not in the text", tc.name, plain)
		}
		text, p := cut(t, strings.Replace(tc.text, plain, tc.of, 1))
		version++
		if version == 1 {
			c.didOpen(uri, text)
		} else {
			c.didChange(uri, text, version)
		}
		got, r := c.hover(uri, p)
		for _, w := range strings.Split(tc.want, "|") {
			absent, not := strings.CutPrefix(w, "-")
			if not && strings.Contains(got, absent) || !not && !strings.Contains(got, w) {
				t.Errorf("%s: %q is what is said, want %q", tc.name, got, w)
			}
		}
		if (got == "") != (tc.want == "") {
			t.Errorf("%s: %q is said", tc.name, got)
		}
		if got != "" && (r.Start.Line != p.Line || r.Start.Character > p.Character || r.End.Character < p.Character) {
			t.Errorf("%s: it is about %s, and the cursor is at %v", tc.name, r, p)
		}
	}
}

// TestPlainText: a client that lists no Markdown gets none.
func TestPlainText(t *testing.T) {
	t.Parallel()
	c := start(t)
	var nothing struct{}
	c.call("initialize", `{"capabilities":{}}`, &nothing)
	uri := repository(t, nil)("foundry.yaml")
	c.didOpen(uri, whole)
	text, p := cut(t, strings.Replace(whole, "command: test", "command: te‸st", 1))
	_ = text
	got, _ := c.hover(uri, p)
	if got == "" || strings.ContainsAny(got, "*`") {
		t.Errorf("hover says %q", got)
	}
}
