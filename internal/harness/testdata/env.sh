#!/bin/sh
# Shows what it was started with.
env | grep -E '^(FOUNDRY_(RUN_ID|PHASE|AGENT|VISIT|ATTEMPT|TURN|MODEL|ITEM|HANDOFF_DIR)|GIT_DIR|CLAUDECODE|WHO|FROM)=' | sort
