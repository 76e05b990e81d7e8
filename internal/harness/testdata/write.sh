#!/bin/sh
# Changes the workspace that it is started in.
mkdir -p deep/er && printf 'new\n' >deep/er/new.txt && rm old.txt && echo written
