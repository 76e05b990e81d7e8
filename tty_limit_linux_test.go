package main

import (
	"strings"
	"testing"
)

// limitedAgent is Claude Code whose first turn meets a limit that ends soon.
const limitedAgent = `#!/bin/sh
while read -r line; do
	case $line in
	*'"type":"user"'*)
		echo '{"type":"system","subtype":"init","session_id":"s-1"}'
		if [ ! -e ../../../met ]; then
			touch ../../../met
			echo "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"resetsAt\":$(($(date +%s) + 3))}}"
			echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"session_id":"s-1","result":"You have hit your limit"}'
		else
			echo '{"type":"result","subtype":"success","session_id":"s-1","result":"{\"status\":\"success\"}","stop_reason":"end_turn","total_cost_usd":0.1}'
		fi ;;
	esac
done
`

// Somebody who is there does not have to come back when a usage limit has ended: the run goes on by itself.
func TestLimitIsWaitedForAtTheTerminal(t *testing.T) {
	t.Parallel()
	x := upIn(t, map[string]string{"agent.sh": limitedAgent, "foundry.yaml": `version: 1
project: {merge: never}
agents:
  coder: {harness: claude, argv: [./agent.sh], envelope: generic}
pipelines:
  p:
    phases:
      - {id: build, agent: coder, prompt: go}
`}, false)
	x.wait("waits for the usage limit to end")
	if after := x.end(0); !strings.Contains(after, "accepted") {
		t.Errorf("the final block is not there: %q", after)
	}
}
