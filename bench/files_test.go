package bench

import (
	"fmt"
	"strings"
)

// light is a pipeline file of n phases of one line each, which the schema knows and little else has to look at.
func light(n int, command string) string {
	var b strings.Builder
	b.WriteString("version: 1\nproject:\n  merge: never\npipelines:\n  p:\n    request: none\n    phases:\n")
	for i := range n {
		fmt.Fprintf(&b, "      - {id: p%d, run: %q}\n", i, command)
	}
	return b.String()
}

// full is a pipeline file of n phases as people write them: agents, commands, conditions, jumps back, gates
// and prompts.
func full(n int) string {
	var b strings.Builder
	b.WriteString("version: 1\nproject:\n  harness: script\ncommands: {test: make test}\nagents:\n" +
		"  coder: {envelope: build, script: [{reply: {status: success}}], prompt: \"{{request}}\"}\n" +
		"  critic: {envelope: review, writes: [], script: [{reply: {status: success, approved: true}}], prompt: look at it}\n" +
		"pipelines:\n  p:\n    phases:\n")
	for i := range n {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, "      - id: build_%d\n        agent: coder\n        inputs: [request, feedback]\n        gates: [diff_matches_claims]\n        retries: 1\n"+
				"        prompt: |\n          Do {{request}} as the plan says.\n          Then report what you changed, file by file.\n", i)
		case 1:
			fmt.Fprintf(&b, "      - id: test_%d\n        command: test\n        route: |\n          on fail when exit == 2 -> build_%d retry 2 with tail(output, 20)\n"+
				"          on fail -> build_%d retry 1   // anything else\n", i, i-1, i-1)
		case 2:
			fmt.Fprintf(&b, "      - id: lint_%d\n        run: make lint\n        timeout: 10m\n        env: {STRICT: \"1\"}\n        when: phases.build_%d.envelope.summary != \"\"\n", i, i-2)
		case 3:
			fmt.Fprintf(&b, "      - id: review_%d\n        agent: critic\n        route:\n          - on reject -> build_%d retry 1\n", i, i-3)
		case 4:
			fmt.Fprintf(&b, "      - id: commit_%d\n        builtin: git_commit\n        message: \"{{envelope:build_%d.commit_message}}\"\n", i, i-4)
		}
	}
	return b.String()
}
