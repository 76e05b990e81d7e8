#!/bin/sh
# Says a word, then nothing, and does not end.
echo ready
sleep 60
