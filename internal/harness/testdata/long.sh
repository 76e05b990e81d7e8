#!/bin/sh
# One line of 10 MB.
head -c 10485760 /dev/zero | tr '\0' x
