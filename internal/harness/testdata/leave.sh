#!/bin/sh
# Ends well, but leaves a child that holds its output open.
sleep 60 &
echo done
