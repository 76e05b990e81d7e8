#!/bin/sh
# Remembers in its session directory what it was told, and says all of it.
{ cat; echo; } >>"$FOUNDRY_SESSION_DIR/heard"
echo "turn $FOUNDRY_TURN: $(tr '\n' ' ' <"$FOUNDRY_SESSION_DIR/heard")"
