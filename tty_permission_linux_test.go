package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const askingPipeline = `version: 1
project: {merge: never}
agents:
  coder: {harness: acp, argv: [./agent.sh], envelope: generic, permissions: ask}
pipelines:
  p:
    accept: passed("check")
    phases:
      - {id: build, agent: coder, prompt: go}
      - {id: check, run: "test -e first && ! test -e second"}
`

// askingAgent asks whether it may run two commands, one after the other, and runs those that it may.
const askingAgent = `#!/bin/sh
id=0
say() { printf '%s\n' "$1"; }
options='[{"optionId":"yes","kind":"allow_once","name":"Yes"},{"optionId":"no","kind":"reject_once","name":"No"}]'
ask() {
	say "{\"jsonrpc\":\"2.0\",\"id\":\"q$1\",\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"s\",\"options\":$options,\"toolCall\":{\"toolCallId\":\"$1\",\"kind\":\"execute\",\"title\":\"Shell\",\"rawInput\":{\"command\":\"touch $1\"}}}}"
	read -r answer
	case $answer in *'"optionId":"yes"'*) touch "$1" ;; esac
}
while read -r line; do
	id=$((id + 1))
	case $line in
	*'"initialize"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{}}}" ;;
	*'"session/new"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"sessionId\":\"s\"}}" ;;
	*'"session/prompt"'*)
		ask first
		ask second
		say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"{\"status\":\"success\",\"changed_files\":[\"first\"]}"}}}}'
		say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"stopReason\":\"end_turn\"}}" ;;
	esac
done
`

// An agent with permissions: ask has its requests put to whoever is at the terminal, and gets their word.
func TestAgentAsksAtTheTerminal(t *testing.T) {
	t.Parallel()
	x := upIn(t, map[string]string{"foundry.yaml": askingPipeline, "agent.sh": askingAgent}, false)
	x.wait("touch first?")
	x.keys("a")
	x.wait("approve or reject")
	x.keys("approve just once\r")
	x.wait("second?") // the view draws only what is different from the question before
	x.keys("a")
	x.keys("reject never that\r")
	if after := x.end(0); !strings.Contains(after, "accepted") {
		t.Errorf("the final block is not there: %q", after)
	}
	logs, err := filepath.Glob(filepath.Join(x.cmd.Dir, ".foundry", "runs", "*", "events.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("the logs are %v, %v", logs, err)
	}
	events, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"kind":"permission.asked"`, `"command":"touch first"`, `"text":"just once"`, `"answer":"approve","who":"tester"`, `"text":"never that"`, `"answer":"reject","who":"tester"`,
		`"outcome":"allowed"`, `"outcome":"refused"`} {
		if !strings.Contains(string(events), want) {
			t.Errorf("the log does not have %s:\n%s", want, events)
		}
	}
}
