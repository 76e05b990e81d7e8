#!/bin/sh
# Begins a reply and dies.
echo '{"status":"success"}'
echo "fatal: the model hung up" >&2
exit 3
