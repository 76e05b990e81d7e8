#!/bin/sh
# Does not read its prompt.
echo "heard nothing"
