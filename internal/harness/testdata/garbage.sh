#!/bin/sh
# A mark, a banner, a window title that is glued to the reply, colours, a bare CRLF, and no end of line.
printf '\357\273\277migrating db... ok\n\033]0;agent: ready\007{"a": "\033[31mred\033[0m"}\r\n\r\nlast \377 word'
